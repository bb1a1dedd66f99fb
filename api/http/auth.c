/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/auth.h"

#include "base/text.h"

#include <gnutls/gnutls.h>

#include <strings.h>
#include <unistd.h>

#define HOST_BYTES 256

struct vbd_credentials {
	struct vbd_callers *callers;
	struct vbd_caller_list list;
	struct vbd_caller *control, *read;
	struct vbd_caller *of_entry[]; /* references, by index in list.entries */
};

static struct vbd_caller *caller_named(const struct vbd_credentials *credentials, const char *name)
{
	for (size_t i = 0; i < credentials->list.n_entries; i++) {
		if (strcmp(credentials->list.entries[i].name, name) == 0)
			return credentials->of_entry[i];
	}
	return NULL;
}

enum vbd_status vbd_credentials_create(struct vbd_callers *callers, struct vbd_caller_list *list,
	struct vbd_credentials **ret_credentials, struct vbd_error *err)
{
	struct vbd_credentials *credentials =
		calloc(1, sizeof(*credentials) + list->n_entries * sizeof(struct vbd_caller *));
	bool complete = credentials != NULL;

	if (!complete)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	credentials->callers = callers;
	credentials->list = *list;
	for (size_t i = 0; i < list->n_entries && complete; i++) {
		credentials->of_entry[i] = vbd_callers_get(callers, list->entries[i].name);
		complete = credentials->of_entry[i] != NULL;
	}
	credentials->control = caller_named(credentials, VBD_CALLER_CONTROL);
	credentials->read = caller_named(credentials, VBD_CALLER_READ);
	if (!complete) {
		credentials->list = (struct vbd_caller_list){.n_entries = list->n_entries};
		vbd_credentials_destroy(credentials);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	}
	*list = (struct vbd_caller_list){0};
	*ret_credentials = credentials;
	return VBD_OK;
}

void vbd_credentials_use(
	const struct vbd_credentials *credentials, const struct vbd_credentials *before)
{
	for (size_t i = 0; before && i < before->list.n_entries; i++) {
		before->of_entry[i]->role = VBD_ROLE_NONE;
		before->of_entry[i]->change = VBD_CALLER_REMOVED;
	}
	for (size_t i = 0; i < credentials->list.n_entries; i++) {
		const struct vbd_caller_entry *entry = &credentials->list.entries[i];
		struct vbd_caller *caller = credentials->of_entry[i];

		caller->change = !caller->sum		     ? VBD_CALLER_ADDED
				 : caller->sum != entry->sum ? VBD_CALLER_CHANGED
							     : VBD_CALLER_UNCHANGED;
		caller->sum = entry->sum;
		caller->role = entry->role;
		caller->quotas = entry->quotas;
	}
	for (size_t i = 0; before && i < before->list.n_entries; i++) {
		if (before->of_entry[i]->change == VBD_CALLER_REMOVED)
			before->of_entry[i]->sum = 0;
	}
}

const struct vbd_caller *vbd_credentials_at(const struct vbd_credentials *credentials, size_t at)
{
	return at < credentials->list.n_entries ? credentials->of_entry[at] : NULL;
}

void vbd_credentials_destroy(struct vbd_credentials *credentials)
{
	if (!credentials)
		return;
	for (size_t i = 0; i < credentials->list.n_entries; i++)
		vbd_caller_unref(credentials->of_entry[i]);
	vbd_caller_list_fini(&credentials->list);
	free(credentials);
}

static bool has_no_credentials(const struct vbd_credentials *credentials)
{
	for (size_t i = 0; i < credentials->list.n_credentials; i++) {
		enum vbd_credential_kind kind = credentials->list.credentials[i].kind;

		if (kind == VBD_CREDENTIAL_TOKEN || kind == VBD_CREDENTIAL_CERT)
			return false;
	}
	return true;
}

/* The digest is compared with those of all callers, each in constant time, so the time tells
 * neither which one matched nor how much of it. */
static struct vbd_caller *caller_of_token(const struct vbd_credentials *credentials,
	const char *token, uint64_t now_wall_s, uint64_t *ret_expires_wall_s, struct vbd_error *err)
{
	const struct vbd_credential *found = NULL;
	uint8_t digest[VBD_SHA256_BYTES];

	if (!vbd_token_hash(token, digest)) {
		(void)vbd_error_set(err, VBD_E_INTERNAL, "there is no SHA-256");
		return NULL;
	}
	for (size_t i = 0; i < credentials->list.n_credentials; i++) {
		const struct vbd_credential *at = &credentials->list.credentials[i];
		bool same = gnutls_memcmp(at->sha256, digest, sizeof(digest)) == 0;

		found = same && at->kind == VBD_CREDENTIAL_TOKEN ? at : found;
	}
	if (!found) {
		(void)vbd_error_hint(err,
			vbd_error_set(err, VBD_E_UNAUTHORIZED, "the token is unknown"),
			"Check that the token is one of this verbsd; a changed file of tokens "
			"needs a reload.");
		return NULL;
	}
	if (found->expires_wall_s && found->expires_wall_s <= now_wall_s) {
		(void)vbd_error_set(err, VBD_E_UNAUTHORIZED, "the token of %s has expired",
			credentials->of_entry[found->caller]->name);
		return NULL;
	}
	*ret_expires_wall_s = found->expires_wall_s;
	return credentials->of_entry[found->caller];
}

static struct vbd_caller *caller_of_cert(const struct vbd_credentials *credentials,
	const char *const *names, size_t n_names, const char **ret_name)
{
	for (size_t i = 0; i < n_names; i++) {
		for (size_t k = 0; k < credentials->list.n_credentials; k++) {
			const struct vbd_credential *at = &credentials->list.credentials[k];

			if (at->kind != VBD_CREDENTIAL_CERT || strcmp(at->cert_name, names[i]) != 0)
				continue;
			*ret_name = names[i];
			return credentials->of_entry[at->caller];
		}
	}
	return NULL;
}

static bool has_gid(const gid_t *gids, size_t n_gids, uint32_t gid)
{
	for (size_t i = 0; i < n_gids; i++) {
		if (gids[i] == gid)
			return true;
	}
	return false;
}

static bool is_member(const struct vbd_caller_group *group, const gid_t *gids, size_t n_gids)
{
	return group->is_set && has_gid(gids, n_gids, group->gid);
}

/* A uid goes before a group, whatever the order in the file. */
static struct vbd_caller *caller_of_uid_or_gid(
	const struct vbd_credentials *credentials, uid_t uid, const gid_t *gids, size_t n_gids)
{
	struct vbd_caller *of_group = NULL;

	for (size_t i = 0; i < credentials->list.n_credentials; i++) {
		const struct vbd_credential *at = &credentials->list.credentials[i];

		if (at->kind == VBD_CREDENTIAL_UID && at->id == uid)
			return credentials->of_entry[at->caller];
		if (!of_group && at->kind == VBD_CREDENTIAL_GID && has_gid(gids, n_gids, at->id))
			of_group = credentials->of_entry[at->caller];
	}
	return of_group;
}

/* Each member of operate_group has its own objects. */
static struct vbd_caller *make_uid_caller(
	const struct vbd_credentials *credentials, uid_t uid, struct vbd_error *err)
{
	struct vbd_caller *caller;
	char name[VBD_NAME_BYTES];

	(void)snprintf(name, sizeof(name), VBD_CALLER_UID_PREFIX "%u", uid);
	caller = vbd_callers_get(credentials->callers, name);
	if (caller)
		caller->role = VBD_ROLE_OPERATE;
	else
		(void)vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the caller");
	return caller;
}

/* The first of these that applies: (1) root and the daemon's own user: "control"; (2) the caller
 * with the uid; (3) the first caller with one of the groups; (4) control_group; (5) operate_group,
 * each of whose members is a caller "uid-N"; (6) read_group, or everybody if there is none. */
static struct vbd_caller *caller_of_user(const struct vbd_credentials *credentials, uid_t uid,
	const gid_t *gids, size_t n_gids, struct vbd_error *err)
{
	const struct vbd_caller_list *list = &credentials->list;
	struct vbd_caller *caller;

	if (uid == 0 || uid == geteuid())
		return vbd_caller_ref(credentials->control);
	caller = caller_of_uid_or_gid(credentials, uid, gids, n_gids);
	if (caller)
		return vbd_caller_ref(caller);
	if (is_member(&list->control_group, gids, n_gids))
		return vbd_caller_ref(credentials->control);
	if (is_member(&list->operate_group, gids, n_gids))
		return make_uid_caller(credentials, uid, err);
	if (!list->read_group.is_set || is_member(&list->read_group, gids, n_gids))
		return vbd_caller_ref(credentials->read);
	return NULL;
}

VBD_ENUM_NAMES(vbd_auth_means_name, enum vbd_auth_means, VBD_AUTH_MAP)

static void identify_by_token(const struct vbd_auth_rules *rules, const char *authorization,
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
	ret_identity->caller = vbd_caller_ref(caller_of_token(
		rules->credentials, authorization, now_wall_s, &ret_identity->expires_wall_s, err));
}

/* A TLS session outlives the certificate that it began with. */
static void identify_by_cert(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	uint64_t now_wall_s, struct vbd_identity *ret_identity, struct vbd_error *err)
{
	if (peer->cert_expires_wall_s && peer->cert_expires_wall_s <= now_wall_s) {
		(void)vbd_error_set(err, VBD_E_UNAUTHORIZED, "the certificate of %.64s has expired",
			peer->cert_names[0]);
		return;
	}
	ret_identity->means = VBD_AUTH_CERTIFICATE;
	ret_identity->expires_wall_s = peer->cert_expires_wall_s;
	ret_identity->caller = vbd_caller_ref(caller_of_cert(rules->credentials, peer->cert_names,
		peer->n_cert_names, &ret_identity->cert_name));
}

enum vbd_status vbd_auth_caller(const struct vbd_auth_rules *rules,
	const struct vbd_auth_peer *peer, const char *authorization, uint64_t now_wall_s,
	struct vbd_identity *ret_identity, struct vbd_error *err)
{
	const struct vbd_credentials *credentials = rules->credentials;
	struct vbd_identity identity = {0};
	struct vbd_error cause = {0};
	bool open = has_no_credentials(credentials);

	if (!open && authorization) {
		identify_by_token(rules, authorization, now_wall_s, &identity, &cause);
	} else if (peer->unix_socket) {
		identity.means = VBD_AUTH_UNIX_SOCKET;
		identity.caller =
			caller_of_user(credentials, peer->uid, peer->gids, peer->n_gids, &cause);
	} else if (open && peer->loopback) {
		identity.means = VBD_AUTH_LOOPBACK;
		identity.caller = vbd_caller_ref(credentials->control);
	} else if (peer->n_cert_names) {
		identify_by_cert(rules, peer, now_wall_s, &identity, &cause);
	}
	if (cause.status)
		return vbd_error_hint(
			err, vbd_error_set(err, cause.status, "%s", cause.text), cause.hint);
	*ret_identity = identity;
	return VBD_OK;
}

/* RFC 3986, 3.2.2: of a reg-name, of which an IPv4 address is one. */
#define NAME_MARKS "-._~%!$&'()*+,;="

/* Find the host in "name:port", "[::1]:port" or either without port, and write it to @name, without
 * brackets; false if @host has another form. */
static bool parse_host_name(const char *host, char name[HOST_BYTES])
{
	const bool literal = host[0] == '[';
	const char *start = host + literal;
	const size_t len = strcspn(start, literal ? "]" : ":");
	const char *port = start + len;
	uint8_t addr[16];

	if (len >= HOST_BYTES || (literal && *port++ != ']'))
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	if (literal ? !vbd_addr_parse_gid(name, addr) : !vbd_text_has_only(name, len, NAME_MARKS))
		return false;
	if (*port == ':')
		port += 1 + strspn(port + 1, "0123456789");
	return *port == '\0';
}

static enum vbd_status check_form(const struct vbd_auth_peer *peer, const char *host,
	char name[HOST_BYTES], struct vbd_error *err)
{
	if (parse_host_name(host, name) && (*name || peer->unix_socket))
		return VBD_OK;
	return vbd_error_hint(err,
		vbd_error_set(err, VBD_E_MALFORMED_REQUEST,
			"'%.64s' is not a host, with or without a port", host),
		"Send the name or address of verbsd as Host, an IPv6 address in brackets.");
}

enum vbd_status vbd_auth_host_form(
	const struct vbd_auth_peer *peer, const char *host, struct vbd_error *err)
{
	char name[HOST_BYTES];

	return host ? check_form(peer, host, name, err) : VBD_OK;
}

enum vbd_status vbd_auth_scheme(
	const struct vbd_auth_peer *peer, const char *scheme, struct vbd_error *err)
{
	const char *own = peer->tls ? "https" : "http";

	if (strcmp(scheme, own) == 0)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_BAD_HOST,
		"the request target begins with %s://, and this connection is one of %s", scheme,
		own);
}

/* A dot for the root may end a name: RFC 3986, 3.2.2. */
static size_t length_without_dot(const char *name)
{
	size_t len = strlen(name);

	return len && name[len - 1] == '.' ? len - 1 : len;
}

static bool same_name(const char *a, const char *b)
{
	size_t len = length_without_dot(a);

	return len == length_without_dot(b) && strncasecmp(a, b, len) == 0;
}

static bool is_loopback_name(const char *name)
{
	struct sockaddr_storage addr;

	return same_name(name, "localhost") ||
	       (vbd_addr_parse(name, 0, &addr) &&
		       vbd_sockaddr_is_loopback((const struct sockaddr *)&addr));
}

/* Compare the binary form: one IPv6 address has many spellings. */
static bool same_host(const char *a, const char *b)
{
	struct sockaddr_storage x, y;

	if (vbd_addr_parse(a, 0, &x) && vbd_addr_parse(b, 0, &y))
		return vbd_sockaddr_is_same(
			(const struct sockaddr *)&x, (const struct sockaddr *)&y);
	return same_name(a, b);
}

static bool is_allowed_host(const struct vbd_auth_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->n_allowed_hosts; i++) {
		if (same_host(name, rules->allowed_hosts[i]))
			return true;
	}
	return false;
}

enum vbd_status vbd_auth_host(const struct vbd_auth_rules *rules, const struct vbd_auth_peer *peer,
	const char *host, struct vbd_error *err)
{
	char name[HOST_BYTES];
	enum vbd_status status = host ? check_form(peer, host, name, err) : VBD_OK;

	if (status != VBD_OK || !host || peer->unix_socket)
		return status;
	if (is_loopback_name(name) || (peer->local_addr && same_host(name, peer->local_addr)) ||
		is_allowed_host(rules, name))
		return VBD_OK;
	return vbd_error_set(err, VBD_E_BAD_HOST,
		"'%.64s' is neither the loopback, nor the address of this connection, nor in "
		"allowed_hosts",
		name);
}

/* Host and port of an Origin; NULL for one of another form, as "null". What a page of http:// shows
 * can be forged on the way, so such a page is not of a server that has TLS (RFC 6454, 5). */
static const char *origin_authority(const char *origin, bool tls)
{
	if (strncasecmp(origin, "http://", 7) == 0)
		return tls ? NULL : origin + 7;
	return strncasecmp(origin, "https://", 8) == 0 ? origin + 8 : NULL;
}

enum vbd_status vbd_auth_origin(const struct vbd_auth_rules *rules, bool tls, const char *origin,
	const char *host, struct vbd_error *err)
{
	const char *authority = origin ? origin_authority(origin, tls) : NULL;

	if (!origin || (authority && host && strcasecmp(authority, host) == 0) ||
		(authority && is_allowed_host(rules, authority)))
		return VBD_OK;
	return vbd_error_set(err, VBD_E_BAD_ORIGIN,
		"the request comes from a page of '%.64s', not from a page of this server", origin);
}
