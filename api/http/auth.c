/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/auth.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

VBD_ENUM_NAMES(vbd_auth_means_name, enum vbd_auth_means, VBD_AUTH_MAP)

static void by_token(const struct vbd_auth_rules *rules, const char *authorization,
	uint64_t now_wall_s, struct vbd_identity *ret_identity, struct vbd_error *err)
{
	if (strncasecmp(authorization, "Bearer ", 7) != 0) {
		(void)vbd_error_set(err, VBD_E_UNAUTHORIZED,
			"the Authorization header is not of the kind Bearer");
		return;
	}
	authorization += 7;
	authorization += strspn(authorization, " ");
	ret_identity->means = VBD_AUTH_TOKEN;
	ret_identity->caller = vbd_caller_ref(vbd_credentials_of_token(
		rules->credentials, authorization, now_wall_s, &ret_identity->expires_wall_s, err));
}

/* A TLS session outlives the certificate that it began with. */
static void by_certificate(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	uint64_t now_wall_s, struct vbd_identity *ret_identity, struct vbd_error *err)
{
	if (peer->cert_expires_wall_s && peer->cert_expires_wall_s <= now_wall_s) {
		(void)vbd_error_set(err, VBD_E_UNAUTHORIZED, "the certificate of %.64s has expired",
			peer->cert_names[0]);
		return;
	}
	ret_identity->means = VBD_AUTH_CERTIFICATE;
	ret_identity->expires_wall_s = peer->cert_expires_wall_s;
	ret_identity->caller = vbd_caller_ref(vbd_credentials_of_cert(rules->credentials,
		peer->cert_names, peer->n_cert_names, &ret_identity->cert_name));
}

enum vbd_status vbd_auth_caller(const struct vbd_auth_rules *rules,
	const struct vbd_auth_peer *peer, const char *authorization, uint64_t now_wall_s,
	struct vbd_identity *ret_identity, struct vbd_error *err)
{
	const struct vbd_credentials *credentials = rules->credentials;
	struct vbd_identity identity = {0};
	struct vbd_error cause = {0};
	bool open = vbd_credentials_none(credentials);

	if (!open && authorization) {
		by_token(rules, authorization, now_wall_s, &identity, &cause);
	} else if (peer->unix_socket) {
		identity.means = VBD_AUTH_UNIX_SOCKET;
		identity.caller = vbd_credentials_of_user(
			credentials, peer->uid, peer->gids, peer->n_gids, &cause);
	} else if (open && peer->loopback) {
		identity.means = VBD_AUTH_LOOPBACK;
		identity.caller = vbd_caller_ref(vbd_credentials_control(credentials));
	} else if (peer->n_cert_names) {
		by_certificate(rules, peer, now_wall_s, &identity, &cause);
	}
	if (cause.status)
		return vbd_error_set(err, cause.status, "%s", cause.text);
	*ret_identity = identity;
	return VBD_OK;
}

/* Find the host in "name:port", "[::1]:port" or either without port; false if @host has another
 * form. */
static bool host_name(const char *host, const char **ret_name, size_t *ret_len)
{
	const char *port;

	if (host[0] == '[') {
		port = strchr(host, ']');
		if (!port)
			return false;
		*ret_name = host + 1;
		*ret_len = (size_t)(port - host - 1);
		port++;
	} else {
		*ret_name = host;
		*ret_len = strcspn(host, ":");
		port = host + *ret_len;
	}
	if (*port == ':')
		port += 1 + strspn(port + 1, "0123456789");
	return *port == '\0' && *ret_len != 0;
}

static bool is_loopback_name(const char *name)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (strcasecmp(name, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, name, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* Compare the binary form: one IPv6 address has many spellings. */
static bool same_addr(const char *a, const char *b)
{
	unsigned char x[sizeof(struct in6_addr)], y[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, a, x) == 1)
		return inet_pton(AF_INET, b, y) == 1 && memcmp(x, y, 4) == 0;
	return inet_pton(AF_INET6, a, x) == 1 && inet_pton(AF_INET6, b, y) == 1 &&
	       memcmp(x, y, 16) == 0;
}

enum vbd_status vbd_auth_host(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *host, struct vbd_error *err)
{
	char name[256];
	const char *start;
	size_t len;

	if (!host || peer->unix_socket)
		return VBD_OK;
	if (!host_name(host, &start, &len) || len >= sizeof(name))
		return vbd_error_set(
			err, VBD_E_BAD_HOST, "'%.64s' is not a host, with or without a port", host);
	memcpy(name, start, len);
	name[len] = '\0';
	if (is_loopback_name(name) || (peer->local_addr && same_addr(name, peer->local_addr)))
		return VBD_OK;
	for (size_t i = 0; i < rules->n_allowed_hosts; i++) {
		if (strcasecmp(name, rules->allowed_hosts[i]) == 0)
			return VBD_OK;
	}
	return vbd_error_set(err, VBD_E_BAD_HOST,
		"'%.64s' is neither the loopback, nor the address of this connection, nor in "
		"allowed_hosts",
		name);
}

enum vbd_status vbd_auth_origin(const char *origin, const char *host, struct vbd_error *err)
{
	const char *authority;

	if (!origin)
		return VBD_OK;
	authority = strstr(origin, "://");
	if (host && authority && strcasecmp(authority + 3, host) == 0 &&
		(strncasecmp(origin, "http://", 7) == 0 || strncasecmp(origin, "https://", 8) == 0))
		return VBD_OK;
	return vbd_error_set(err, VBD_E_BAD_ORIGIN,
		"the request comes from a page of '%.64s', not from a page of this server", origin);
}
