/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_parts.h"
#include "daemon/config/secret_file.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

static bool is_loopback(const struct sockaddr *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;

	if (addr->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == 127);
	return addr->sa_family == AF_UNIX;
}

enum vbd_status vbd_config_check_addr(
	const struct vbd_config *config, const struct sockaddr *addr, struct vbd_error *err)
{
	if (config->control_token_file[0] || is_loopback(addr))
		return VBD_OK;
	return vbd_error_input(err, VBD_E_PERMISSION_DENIED, "listen",
		"listen: an address that other hosts reach needs control_token_file, since a "
		"client with the role control can read and write the memory of peers");
}

/* A token is the first line of its file. */
static enum vbd_status read_token(const char *key, const char *path,
	char token[VBD_TOKEN_MAX_CHARS + 1], struct vbd_error *err)
{
	struct vbd_error cause = {0};
	char text[VBD_TOKEN_MAX_CHARS + 512];
	size_t len = 0;
	enum vbd_status status;

	token[0] = '\0';
	if (path[0] == '\0')
		return VBD_OK;
	status = vbd_secret_file_read(path, text, sizeof(text), &len, &cause);
	if (status != VBD_OK)
		return vbd_error_input(err, status, key, "%s: %s", key, cause.text);
	len = strcspn(text, "\r\n");
	if (len < VBD_TOKEN_MIN_CHARS || len > VBD_TOKEN_MAX_CHARS)
		return vbd_error_input(err, VBD_E_BAD_VALUE, key,
			"%s: the first line of %.100s has %zu characters, a token has %d to %d",
			key, path, len, VBD_TOKEN_MIN_CHARS, VBD_TOKEN_MAX_CHARS);
	text[len] = '\0';
	for (const char *c = text; *c; c++) {
		if (*c <= ' ' || *c > '~')
			return vbd_error_input(err, VBD_E_BAD_VALUE, key,
				"%s: the first line of %.100s has a character that is not "
				"printable "
				"ASCII",
				key, path);
	}
	memcpy(token, text, len + 1);
	return VBD_OK;
}

static enum vbd_status check_pairs(const struct vbd_config *config, struct vbd_error *err)
{
	if (config->control_token[0] && strcmp(config->control_token, config->read_token) == 0)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "read_token_file",
			"read_token_file: its token is the same as that of control_token_file");
	if (config->drain_timeout_ms > config->shutdown_timeout_ms)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "shutdown_timeout_ms",
			"shutdown_timeout_ms: %llu is below drain_timeout_ms, %llu",
			(unsigned long long)config->shutdown_timeout_ms,
			(unsigned long long)config->drain_timeout_ms);
	if (config->limits.waiting_requests + config->limits.event_streams >=
		config->limits.http_connections)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "limits.waiting_requests",
			"limits.waiting_requests (%llu) and limits.event_streams (%llu) together "
			"must be "
			"below limits.http_connections (%llu)",
			(unsigned long long)config->limits.waiting_requests,
			(unsigned long long)config->limits.event_streams,
			(unsigned long long)config->limits.http_connections);
	return VBD_OK;
}

enum vbd_status vbd_config_check(struct vbd_config *config, struct vbd_error *err)
{
	enum vbd_status status;

	status = read_token(
		"control_token_file", config->control_token_file, config->control_token, err);
	if (status == VBD_OK)
		status = read_token(
			"read_token_file", config->read_token_file, config->read_token, err);
	if (status == VBD_OK)
		status = check_pairs(config, err);
	if (status == VBD_OK && config->listen_addr_bytes)
		status = vbd_config_check_addr(
			config, (const struct sockaddr *)&config->listen_addr, err);
	return status;
}
