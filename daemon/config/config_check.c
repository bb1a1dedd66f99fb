/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/config/callers.h"
#include "daemon/config/config_parts.h"

#include <assert.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>

bool vbd_config_is_loopback(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;

	/* An inherited socket may have such an address. */
	if (addr->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET;
	return addr->sa_family == AF_UNIX || vbd_sockaddr_is_loopback(addr);
}

static bool asks_certificate(const struct vbd_config_tls *tls)
{
	return tls->client_ca[0] && tls->client_certificate != VBD_CLIENT_CERTIFICATE_NONE;
}

enum vbd_status vbd_config_check_addr(const struct vbd_config *config, const struct sockaddr *addr,
	enum vbd_config_scheme scheme, bool *ret_tls, struct vbd_error *err)
{
	bool loopback = vbd_config_is_loopback(addr);
	bool has_tls = config->tls.certificate[0];
	bool tls = scheme == VBD_CONFIG_SCHEME_HTTPS ||
		   (scheme == VBD_CONFIG_SCHEME_DEFAULT && !loopback && has_tls);

	if (tls && !has_tls)
		return vbd_error_input(err, VBD_E_PERMISSION_DENIED, "listen",
			"listen: an address with https:// needs tls.certificate and tls.key");
	if (!tls && !loopback && !config->insecure)
		return vbd_error_input(err, VBD_E_PERMISSION_DENIED, "listen",
			"listen: an address that other hosts reach is served by TLS and needs "
			"tls.certificate and tls.key (or `insecure: true`, which shows tokens and "
			"contents to whoever sees the network)");
	if (!loopback && !config->control_token_file[0] && !config->callers_file[0] &&
		!(tls && asks_certificate(&config->tls)))
		return vbd_error_input(err, VBD_E_PERMISSION_DENIED, "listen",
			"listen: an address that other hosts reach needs callers_file, "
			"control_token_file or tls.client_ca, since a client with the control role "
			"can read and write "
			"the memory of peers");
	*ret_tls = tls;
	return VBD_OK;
}

static enum vbd_status check_listen(const struct vbd_config *config, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;
	bool unused;

	for (size_t i = 0; i < config->listen_count && status == VBD_OK; i++)
		status = vbd_config_check_addr(config,
			(const struct sockaddr *)&config->listen[i].addr, config->listen[i].scheme,
			&unused, err);
	return status;
}

/* Only the keys are checked: the HTTP server loads the files. */
static enum vbd_status check_tls(const struct vbd_config_tls *tls, struct vbd_error *err)
{
	if (!tls->certificate[0] != !tls->key[0])
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			tls->key[0] ? "tls.certificate" : "tls.key",
			"tls.certificate and tls.key: one of them is missing");
	if (tls->client_ca[0] && !tls->certificate[0])
		return vbd_error_input(err, VBD_E_BAD_VALUE, "tls.certificate",
			"tls.client_ca needs tls.certificate and tls.key");
	if (!tls->client_ca[0] && tls->client_certificate == VBD_CLIENT_CERTIFICATE_REQUIRED)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "tls.client_ca",
			"tls.client_certificate: required needs tls.client_ca");
	if (!tls->client_ca[0] && tls->client_crl[0])
		return vbd_error_input(err, VBD_E_BAD_VALUE, "tls.client_ca",
			"tls.client_crl needs tls.client_ca");
	return VBD_OK;
}

/* A token is the first line of its file. */
static enum vbd_status read_token(const char *key, const char *path,
	char token[VBD_TOKEN_MAX_CHARS + 1], struct vbd_error *err)
{
	struct vbd_error cause = {0};
	char text[VBD_TOKEN_MAX_CHARS + 512];
	size_t file_len = 0, len;
	enum vbd_status status;
	bool printable;

	token[0] = '\0';
	if (path[0] == '\0')
		return VBD_OK;
	status = vbd_secret_file_read(path, text, sizeof(text), &file_len, &cause);
	if (status != VBD_OK)
		return vbd_error_input(err, status, key, "%s: %s", key, cause.text);
	len = strcspn(text, "\r\n");
	if (len < VBD_TOKEN_MIN_CHARS || len > VBD_TOKEN_MAX_CHARS)
		return vbd_error_input(err, VBD_E_BAD_VALUE, key,
			"%s: the first line of %s has %zu characters, a token has %d to %d", key,
			vbd_text_path(path).text, len, VBD_TOKEN_MIN_CHARS, VBD_TOKEN_MAX_CHARS);
	/* The line must not have a NUL, which would hide the rest of it. */
	printable = text[len] || len == file_len;
	text[len] = '\0';
	for (const char *c = text; *c; c++)
		printable &= *c > ' ' && *c <= '~';
	if (!printable)
		return vbd_error_input(err, VBD_E_BAD_VALUE, key,
			"%s: the first line of %s has a character that is not printable ASCII", key,
			vbd_text_path(path).text);
	memcpy(token, text, len + 1);
	return VBD_OK;
}

static enum vbd_status check_combined_keys(const struct vbd_config *config, struct vbd_error *err)
{
	if (config->control_token[0] && strcmp(config->control_token, config->read_token) == 0)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "read_token_file",
			"read_token_file: its token is the same as that of control_token_file");
	if (config->drain_timeout_ms > config->shutdown_timeout_ms)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "shutdown_timeout_ms",
			"shutdown_timeout_ms: %llu is below drain_timeout_ms, %llu",
			(unsigned long long)config->shutdown_timeout_ms,
			(unsigned long long)config->drain_timeout_ms);
	return VBD_OK;
}

static enum vbd_status find_socket_group(struct vbd_config *config, struct vbd_error *err)
{
	config->unix_socket_gid = (gid_t)-1;
	return config->unix_socket_group[0]
		       ? vbd_callers_find_group("unix_socket_group", config->unix_socket_group,
				 &config->unix_socket_gid, err)
		       : VBD_OK;
}

/* Try it: run this thread there for a moment. A sandbox may refuse the call, a cpuset some
 * processors. */
static enum vbd_status check_cpus(const struct vbd_cpus *cpus, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;
	cpu_set_t before, one;

	if (!cpus->count || sched_getaffinity(0, sizeof(before), &before) < 0)
		return VBD_OK;
	for (size_t i = 0; i < cpus->count && status == VBD_OK; i++) {
		CPU_ZERO(&one);
		CPU_SET(cpus->numbers[i], &one);
		if (sched_setaffinity(0, sizeof(one), &one) < 0)
			status = vbd_error_input(err, VBD_E_BAD_VALUE, "cpu_affinity",
				"cpu_affinity: this process may not run on processor %u: %s%s",
				cpus->numbers[i], strerror(errno),
				errno == EPERM ? "; in a unit of systemd, the line "
						 "SystemCallFilter=sched_setaffinity allows it"
					       : "");
	}
	(void)sched_setaffinity(0, sizeof(before), &before);
	return status;
}

/* systemd names the directories of StateDirectory=, by colons (systemd.exec(5)). */
static enum vbd_status find_state_dir(struct vbd_config *config, struct vbd_error *err)
{
	const char *given = getenv("STATE_DIRECTORY");

	if (!config->state_dir[0] && given && strcspn(given, ":") < sizeof(config->state_dir))
		(void)snprintf(config->state_dir, sizeof(config->state_dir), "%.*s",
			(int)strcspn(given, ":"), given);
	if (config->state_dir[0] && config->state_dir[0] != '/')
		return vbd_error_input(err, VBD_E_BAD_VALUE, "state_dir",
			"state_dir: %s does not begin with a slash",
			vbd_text_path(config->state_dir).text);
	return VBD_OK;
}

enum vbd_status vbd_config_check(struct vbd_config *config, struct vbd_error *err)
{
	enum vbd_status status = find_socket_group(config, err);

	if (status == VBD_OK)
		status = find_state_dir(config, err);
	if (status == VBD_OK)
		status = check_cpus(&config->cpu_affinity, err);
	if (status == VBD_OK)
		status = read_token("control_token_file", config->control_token_file,
			config->control_token, err);
	if (status == VBD_OK)
		status = read_token(
			"read_token_file", config->read_token_file, config->read_token, err);
	if (status == VBD_OK)
		status = check_combined_keys(config, err);
	if (status == VBD_OK)
		status = check_tls(&config->tls, err);
	if (status == VBD_OK)
		status = check_listen(config, err);
	return status;
}

/* Descriptors for all but HTTP clients: devices, channels, workers, files; and for HTTP connections
 * beyond the limit, in reserve or lingering. */
#define KEPT_BACK 160

static uint64_t descriptor_soft_limit(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

void vbd_descriptors_raise(const struct vbd_config *config)
{
	const uint64_t needed = config->limits.http_connections + KEPT_BACK;
	struct rlimit limit = {0};

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			vbd_log(VBD_LOG_WARNING, NULL, "can't raise RLIMIT_NOFILE: %s",
				strerror(errno));
	}
	if (descriptor_soft_limit() >= needed)
		return;
	vbd_log(VBD_LOG_WARNING, NULL,
		"RLIMIT_NOFILE is %llu; limits.http_connections (%llu) and RDMA objects need "
		"%llu, so at most %llu HTTP connections are served (LimitNOFILE= in the unit)",
		(unsigned long long)descriptor_soft_limit(),
		(unsigned long long)config->limits.http_connections, (unsigned long long)needed,
		(unsigned long long)vbd_descriptors_for_http(config));
}

uint64_t vbd_descriptors_for_http(const struct vbd_config *config)
{
	const uint64_t limit = descriptor_soft_limit();
	const uint64_t room = limit < 2 * KEPT_BACK ? limit / 2 : limit - KEPT_BACK;

	return room < config->limits.http_connections ? room : config->limits.http_connections;
}

/* --- keys that differ ------------------------------------------------------------------------ */

/* Can the key change while the daemon runs? */
static bool can_change_live(const struct vbd_config_key *key, const struct vbd_config *config,
	const struct vbd_config *fresh)
{
	/* Whether an address is served by TLS is decided when it is opened. */
	bool is_tls = strncmp(key->name, "tls.", strlen("tls.")) == 0;

	return key->is_live &&
	       (!is_tls || (config->tls.certificate[0] && fresh->tls.certificate[0]));
}

void vbd_config_compare(const struct vbd_config *config, const struct vbd_config *fresh,
	struct vbd_config_changes *ret_changes)
{
	*ret_changes = (struct vbd_config_changes){0};
	assert(vbd_config_key_count <= VBD_CONFIG_CHANGES_MAX);
	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const struct vbd_config_key *key = &vbd_config_keys[i];

		/* Equal values have equal bytes, since each is zeroed before it is set. */
		if (memcmp((const char *)config + key->offset, (const char *)fresh + key->offset,
			    key->size_bytes) == 0)
			continue;
		if (can_change_live(key, config, fresh))
			ret_changes->taken[ret_changes->n_taken++] = key->name;
		else
			ret_changes->left[ret_changes->n_left++] = key->name;
	}
}

void vbd_config_take(struct vbd_config *config, const struct vbd_config *fresh)
{
	const struct vbd_config before = *config;

	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const struct vbd_config_key *key = &vbd_config_keys[i];

		if (can_change_live(key, &before, fresh))
			memcpy((char *)config + key->offset, (const char *)fresh + key->offset,
				key->size_bytes);
	}
	memcpy(config->control_token, fresh->control_token, sizeof(config->control_token));
	memcpy(config->read_token, fresh->read_token, sizeof(config->read_token));
}
