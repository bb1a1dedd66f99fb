/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_parts.h"

#include "base/addr.h"

#include <ctype.h>

/* Split "HOST:PORT" or "[HOST]:PORT". */
static bool split(const char *value, char host[80], uint16_t *ret_port)
{
	const char *colon = strrchr(value, ':');
	size_t host_len;

	if (!colon || !isdigit((unsigned char)colon[1]) ||
		colon[1 + strspn(colon + 1, "0123456789")] != '\0' || strlen(colon + 1) > 5 ||
		strtoul(colon + 1, NULL, 10) > 65535)
		return false;
	*ret_port = (uint16_t)strtoul(colon + 1, NULL, 10);
	host_len = (size_t)(colon - value);
	if (host_len > 2 && value[0] == '[' && colon[-1] == ']') {
		value++;
		host_len -= 2;
	} else if (memchr(value, ':', host_len)) {
		return false; /* the port of an IPv6 address without brackets is ambiguous */
	}
	if (host_len == 0 || host_len >= 80)
		return false;
	memcpy(host, value, host_len);
	host[host_len] = '\0';
	return true;
}

static const char *take_scheme(const char *text, enum vbd_config_scheme *ret_scheme)
{
	static const char http[] = "http://";
	static const char https[] = "https://";

	*ret_scheme = VBD_CONFIG_SCHEME_DEFAULT;
	if (strncmp(text, http, strlen(http)) == 0) {
		*ret_scheme = VBD_CONFIG_SCHEME_HTTP;
		return text + strlen(http);
	}
	if (strncmp(text, https, strlen(https)) == 0) {
		*ret_scheme = VBD_CONFIG_SCHEME_HTTPS;
		return text + strlen(https);
	}
	return text;
}

bool vbd_config_listen_parse(const char *text, struct vbd_config_listen *ret_listen)
{
	struct vbd_config_listen listen = {0};
	const char *where = take_scheme(text, &listen.scheme);
	char host[80];
	uint16_t port;

	if (strlen(text) >= sizeof(listen.text) || !split(where, host, &port) ||
		!vbd_addr_is_own(host) || !vbd_addr_parse(host, port, &listen.addr))
		return false;
	(void)snprintf(listen.text, sizeof(listen.text), "%s", text);
	listen.addr_bytes = (socklen_t)vbd_sockaddr_bytes((const struct sockaddr *)&listen.addr);
	*ret_listen = listen;
	return true;
}
