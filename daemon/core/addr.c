/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/addr.h"

#include "rdma/device/source.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

bool vbd_addr_parse(const char *text, uint16_t port, struct sockaddr_storage *ret_addr)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;

	if (getaddrinfo(text, NULL, &hints, &found) != 0)
		return false;
	memset(ret_addr, 0, sizeof(*ret_addr));
	memcpy(ret_addr, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	vbd_addr_set_port(ret_addr, port);
	return true;
}

enum vbd_status vbd_addr_parse_own(const char *text, const char *pointer,
	struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	struct sockaddr_storage addr;

	if (!vbd_addr_parse(text, 0, &addr))
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"'%.80s' is not a numeric IPv4 or IPv6 address of this host", text);
	if (vbd_sockaddr_needs_scope((const struct sockaddr *)&addr))
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"'%.80s' is link-local: name the interface as well, as in fe80::1%%eth0",
			text);
	*ret_addr = addr;
	return VBD_OK;
}

char *vbd_addr_format(const struct sockaddr_storage *addr, char text[VBD_ADDR_TEXT_BYTES])
{
	socklen_t bytes = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						      : sizeof(struct sockaddr_in);

	text[0] = '\0';
	if (addr->ss_family != AF_INET && addr->ss_family != AF_INET6)
		return text;
	if (getnameinfo((const struct sockaddr *)addr, bytes, text, VBD_ADDR_TEXT_BYTES, NULL, 0,
		    NI_NUMERICHOST) != 0)
		text[0] = '\0';
	return text;
}

char *vbd_addr_format_gid(const uint8_t gid[16], char text[VBD_ADDR_TEXT_BYTES])
{
	(void)inet_ntop(AF_INET6, gid, text, VBD_ADDR_TEXT_BYTES);
	return text;
}

uint16_t vbd_addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return 0;
}

void vbd_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}
