/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

/* Offset of an IPv4 address in the IPv6 address that it is mapped into. */
#define MAPPED_OFFSET 12

static const uint8_t mapped_prefix[MAPPED_OFFSET] = {[10] = 0xff, [11] = 0xff};

static const struct sockaddr_in6 *in6(const struct sockaddr *addr)
{
	return (const struct sockaddr_in6 *)(const void *)addr;
}

static const struct sockaddr_in *in4(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)(const void *)addr;
}

/* --- texts ----------------------------------------------------------------------------------- */

bool vbd_addr_parse_gid(const char *text, uint8_t ret_gid[16])
{
	return inet_pton(AF_INET6, text, ret_gid) == 1;
}

bool vbd_addr_parse_bytes(const char *text, uint8_t ret_bytes[16])
{
	if (inet_pton(AF_INET, text, ret_bytes + MAPPED_OFFSET) != 1)
		return vbd_addr_parse_gid(text, ret_bytes);
	memcpy(ret_bytes, mapped_prefix, sizeof(mapped_prefix));
	return true;
}

struct sockaddr_storage vbd_addr_of_bytes(const uint8_t bytes[16])
{
	struct sockaddr_storage addr = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&addr;

	if (memcmp(bytes, mapped_prefix, sizeof(mapped_prefix)) == 0) {
		addr.ss_family = AF_INET;
		memcpy(&four->sin_addr, bytes + MAPPED_OFFSET, sizeof(four->sin_addr));
	} else {
		addr.ss_family = AF_INET6;
		memcpy(&six->sin6_addr, bytes, sizeof(six->sin6_addr));
	}
	return addr;
}

void vbd_addr_to_bytes(const struct sockaddr *addr, uint8_t ret_bytes[16])
{
	memset(ret_bytes, 0, 16);
	if (addr->sa_family == AF_INET6) {
		memcpy(ret_bytes, &in6(addr)->sin6_addr, 16);
	} else if (addr->sa_family == AF_INET) {
		memcpy(ret_bytes, mapped_prefix, sizeof(mapped_prefix));
		memcpy(ret_bytes + MAPPED_OFFSET, &in4(addr)->sin_addr, 4);
	}
}

void vbd_addr_copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, vbd_sockaddr_bytes(from));
}

/* Parse @text up to its interface, which @ret_scope points to; NULL: it names none. */
static bool parse_unscoped(
	const char *text, struct sockaddr_storage *ret_addr, const char **ret_scope)
{
	const char *percent = strchr(text, '%');
	size_t len = percent ? (size_t)(percent - text) : strlen(text);
	char bare[INET6_ADDRSTRLEN];
	uint8_t bytes[16];

	if (len >= sizeof(bare) || (percent && !percent[1]))
		return false;
	memcpy(bare, text, len);
	bare[len] = '\0';
	if (!vbd_addr_parse_bytes(bare, bytes))
		return false;
	*ret_addr = vbd_addr_of_bytes(bytes);
	*ret_scope = percent ? percent + 1 : NULL;
	return !percent || vbd_sockaddr_is_link_local((const struct sockaddr *)ret_addr) ||
	       (ret_addr->ss_family == AF_INET6 && IN6_IS_ADDR_MC_LINKLOCAL(bytes));
}

/* The index of the interface with this name or number; 0: there is none. */
static uint32_t scope_id_by_name(const char *scope)
{
	uint32_t id = if_nametoindex(scope);
	char name[IF_NAMESIZE];
	char *end;
	unsigned long number;

	if (id || strspn(scope, "0123456789") != strlen(scope))
		return id;
	number = strtoul(scope, &end, 10);
	return number <= UINT32_MAX && if_indextoname((unsigned int)number, name) ? (uint32_t)number
										  : 0;
}

bool vbd_addr_parse(const char *text, uint16_t port, struct sockaddr_storage *ret_addr)
{
	struct sockaddr_storage addr;
	const char *scope;
	uint32_t id = 0;

	if (!parse_unscoped(text, &addr, &scope))
		return false;
	if (scope)
		id = scope_id_by_name(scope);
	if (scope && !id)
		return false;
	if (scope)
		((struct sockaddr_in6 *)&addr)->sin6_scope_id = id;
	vbd_addr_set_port(&addr, port);
	*ret_addr = addr;
	return true;
}

/* Does getaddrinfo(3) take @label, the last one of a name, for a number? */
static bool is_number_label(const char *label, size_t len)
{
	if (len >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
		return strspn(label + 2, "0123456789abcdefABCDEF") >= len - 2;
	return strspn(label, "0123456789") >= len;
}

static bool is_host_name(const char *text)
{
	size_t end = strlen(text), begin;

	if (end > 1 && text[end - 1] == '.')
		end--;
	begin = end;
	while (begin > 0 && text[begin - 1] != '.')
		begin--;
	/* getaddrinfo(3) refuses all other texts that are no host names. */
	return end > begin && !strpbrk(text, ":%/[]@ \t\r\n") &&
	       !is_number_label(text + begin, end - begin);
}

static bool is_host_addr(const struct sockaddr_storage *addr)
{
	return !vbd_sockaddr_is_any((const struct sockaddr *)addr) &&
	       !vbd_sockaddr_is_group((const struct sockaddr *)addr);
}

bool vbd_addr_is_host(const char *text)
{
	struct sockaddr_storage addr;
	const char *scope;

	return parse_unscoped(text, &addr, &scope) ? is_host_addr(&addr) : is_host_name(text);
}

bool vbd_addr_is_own(const char *text)
{
	struct sockaddr_storage addr;
	const char *scope;

	return parse_unscoped(text, &addr, &scope) &&
	       !vbd_sockaddr_is_group((const struct sockaddr *)&addr);
}

/* @text is an address whose interface is missing. */
static enum vbd_status interface_error(const char *text, const char *pointer, struct vbd_error *err)
{
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, pointer, "'%.80s' names no interface of this host", text);
}

enum vbd_status vbd_addr_read_host(const char *text, uint16_t port, const char *pointer,
	struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	if (!vbd_addr_is_host(text))
		return vbd_error_input(
			err, VBD_E_BAD_VALUE, pointer, "'%.80s' " VBD_ADDR_NO_HOST, text);
	if (vbd_addr_parse(text, port, ret_addr))
		return VBD_OK;
	if (strchr(text, '%'))
		return interface_error(text, pointer, err);
	*ret_addr = (struct sockaddr_storage){0};
	return VBD_OK;
}

enum vbd_status vbd_addr_parse_own(const char *text, uint16_t port, const char *pointer,
	struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	struct sockaddr_storage addr;

	if (!vbd_addr_is_own(text))
		return vbd_error_input(
			err, VBD_E_BAD_VALUE, pointer, "'%.80s' " VBD_ADDR_NOT_OWN, text);
	if (!vbd_addr_parse(text, port, &addr))
		return interface_error(text, pointer, err);
	if (vbd_sockaddr_needs_scope((const struct sockaddr *)&addr))
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"'%.80s' is link-local: name the interface as well, as in fe80::1%%eth0",
			text);
	*ret_addr = addr;
	return VBD_OK;
}

char *vbd_addr_format(const struct sockaddr_storage *addr, char text[VBD_ADDR_TEXT_BYTES])
{
	socklen_t bytes = (socklen_t)vbd_sockaddr_bytes((const struct sockaddr *)addr);

	text[0] = '\0';
	if (bytes && getnameinfo((const struct sockaddr *)addr, bytes, text, VBD_ADDR_TEXT_BYTES,
			     NULL, 0, NI_NUMERICHOST) != 0)
		text[0] = '\0';
	return text;
}

char *vbd_addr_format_gid(const uint8_t gid[16], char text[VBD_ADDR_TEXT_BYTES])
{
	(void)inet_ntop(AF_INET6, gid, text, VBD_ADDR_TEXT_BYTES);
	return text;
}

bool vbd_addr_gid_is_group(const uint8_t gid[16])
{
	const struct sockaddr_storage addr = vbd_addr_of_bytes(gid);

	return vbd_sockaddr_is_group((const struct sockaddr *)&addr);
}

/* --- names ----------------------------------------------------------------------------------- */

static bool addrs_contain(const struct vbd_addrs *addrs, const struct sockaddr_storage *addr)
{
	for (size_t i = 0; i < addrs->count; i++) {
		if (vbd_sockaddr_is_same((const struct sockaddr *)&addrs->items[i],
			    (const struct sockaddr *)addr))
			return true;
	}
	return false;
}

/* Add @found, with a mapped address as the IPv4 address that it is. */
static void add_addrinfo(
	struct vbd_addrs *addrs, const struct addrinfo *found, uint16_t port, int family)
{
	struct sockaddr_storage addr = {0};

	if (!vbd_sockaddr_bytes(found->ai_addr))
		return;
	memcpy(&addr, found->ai_addr, found->ai_addrlen);
	vbd_addr_unmap(&addr);
	if (addrs->count == VBD_ADDRS_MAX || !is_host_addr(&addr) || addrs_contain(addrs, &addr) ||
		(family != AF_UNSPEC && family != addr.ss_family))
		return;
	vbd_addr_set_port(&addr, port);
	addrs->items[addrs->count++] = addr;
}

static int ask_resolver(
	const char *host, uint16_t port, int family, struct vbd_addrs *ret_addrs, int *ret_errno)
{
	const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int code = getaddrinfo(host, NULL, &hints, &found);

	*ret_errno = errno;
	if (code)
		return code;
	for (const struct addrinfo *each = found; each; each = each->ai_next)
		add_addrinfo(ret_addrs, each, port, family);
	freeaddrinfo(found);
	return ret_addrs->count ? 0 : EAI_NODATA;
}

int vbd_addr_look_up(
	const char *host, uint16_t port, int family, struct vbd_addrs *ret_addrs, int *ret_errno)
{
	struct sockaddr_storage addr;

	ret_addrs->count = 0;
	if (vbd_addr_parse(host, port, &addr)) {
		ret_addrs->items[0] = addr;
		ret_addrs->count =
			is_host_addr(&addr) && (family == AF_UNSPEC || family == addr.ss_family);
		return ret_addrs->count ? 0 : EAI_NODATA;
	}
	return is_host_name(host) ? ask_resolver(host, port, family, ret_addrs, ret_errno)
				  : EAI_NONAME;
}

/* --- addresses ------------------------------------------------------------------------------- */

uint16_t vbd_addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return 0;
}

void vbd_addr_unmap(struct sockaddr_storage *addr)
{
	const uint16_t port = vbd_addr_port(addr);

	if (addr->ss_family != AF_INET6 ||
		!IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)addr)->sin6_addr))
		return;
	*addr = vbd_addr_of_bytes(((const struct sockaddr_in6 *)addr)->sin6_addr.s6_addr);
	vbd_addr_set_port(addr, port);
}

void vbd_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

size_t vbd_sockaddr_bytes(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return sizeof(struct sockaddr_in6);
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : 0;
}

const uint8_t *vbd_sockaddr_data(const struct sockaddr *addr, size_t *ret_len)
{
	*ret_len = addr->sa_family == AF_INET6 ? 16 : 4;
	return addr->sa_family == AF_INET6 ? in6(addr)->sin6_addr.s6_addr
					   : (const uint8_t *)&in4(addr)->sin_addr;
}

uint32_t vbd_sockaddr_scope(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 ? in6(addr)->sin6_scope_id : 0;
}

bool vbd_sockaddr_is_any(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&in6(addr)->sin6_addr);
	return in4(addr)->sin_addr.s_addr == INADDR_ANY;
}

bool vbd_sockaddr_is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6(addr)->sin6_addr);
	return addr->sa_family == AF_INET &&
	       ntohl(in4(addr)->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

bool vbd_sockaddr_is_group(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_MULTICAST(&in6(addr)->sin6_addr);
	return IN_MULTICAST(ntohl(in4(addr)->sin_addr.s_addr)) ||
	       in4(addr)->sin_addr.s_addr == INADDR_BROADCAST;
}

bool vbd_sockaddr_is_link_local(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6(addr)->sin6_addr);
}

bool vbd_sockaddr_is_of_link(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ntohl(in4(addr)->sin_addr.s_addr) >> IN_CLASSB_NSHIFT == 0xa9fe;
	return vbd_sockaddr_is_link_local(addr);
}

bool vbd_sockaddr_needs_scope(const struct sockaddr *addr)
{
	return vbd_sockaddr_is_link_local(addr) && !vbd_sockaddr_scope(addr);
}

bool vbd_sockaddr_is_same(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family != AF_INET6)
		return in4(a)->sin_addr.s_addr == in4(b)->sin_addr.s_addr;
	return memcmp(&in6(a)->sin6_addr, &in6(b)->sin6_addr, sizeof(struct in6_addr)) == 0 &&
	       (!vbd_sockaddr_is_link_local(a) || vbd_sockaddr_scope(a) == vbd_sockaddr_scope(b));
}
