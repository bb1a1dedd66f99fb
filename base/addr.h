/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket addresses: the only reader of their texts, and of host names.
 *
 * An IPv4 address is text as inet_pton(3) takes it. getaddrinfo(3) alone would take "10.76.1" and
 * "010.76.0.2" too, as other addresses than their writers mean. An IPv4-mapped IPv6 address is that
 * IPv4 address, wherever it comes from.
 *
 * Any thread; only vbd_addr_look_up() blocks.
 */
#ifndef VBD_BASE_ADDR_H
#define VBD_BASE_ADDR_H

#include "base/attr.h"
#include "base/error.h"

#include <sys/socket.h>

/* Room for "fe80::1234:5678:9abc:def0%interface-name1" and its NUL. */
#define VBD_ADDR_TEXT_BYTES 64

/* The most addresses of a name; others are left out. */
#define VBD_ADDRS_MAX 16

struct vbd_addrs {
	struct sockaddr_storage items[VBD_ADDRS_MAX];
	size_t count;
};

/* --- texts ----------------------------------------------------------------------------------- */

/** vbd_addr_parse - parse an IPv4 or IPv6 address, link-local IPv6 also with its interface, as in
 * fe80::1%eth0; false if @text is none, or names no interface of this host */
bool vbd_addr_parse(const char *text, uint16_t port, struct sockaddr_storage *ret_addr);

/** vbd_addr_parse_bytes - parse an address without an interface, IPv4 as mapped into IPv6 */
bool vbd_addr_parse_bytes(const char *text, uint8_t ret_bytes[16]);

/** vbd_addr_parse_gid - parse a GID, which is written like an IPv6 address */
bool vbd_addr_parse_gid(const char *text, uint8_t ret_gid[16]);

/** vbd_addr_is_host - is @text an address that a host can have, or else a host name? The interface
 * of an address need not be there. A name does not end in a number (RFC 3696 2). */
bool vbd_addr_is_host(const char *text);

/** vbd_addr_is_own - is @text an address that a socket can be bound to? The interface need not be
 * there. */
bool vbd_addr_is_own(const char *text);

/* For a text that vbd_addr_is_host() or vbd_addr_is_own() refuses: the end of a sentence about it.
 */
#define VBD_ADDR_NO_HOST \
	"is neither the address of a host, as inet_pton(3) takes it, nor a host name"
#define VBD_ADDR_NOT_OWN "is not a numeric IPv4 or IPv6 address of a host, as inet_pton(3) takes it"

/** vbd_addr_read_host - parse the address of a peer; ss_family 0 for a host name. Else
 * VBD_E_BAD_VALUE at @pointer. */
enum vbd_status vbd_addr_read_host(const char *text, uint16_t port, const char *pointer,
	struct sockaddr_storage *ret_addr, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_addr_parse_own - parse an address of this host, or of all its interfaces; a link-local
 * address needs its interface. Else VBD_E_BAD_VALUE at @pointer. */
enum vbd_status vbd_addr_parse_own(const char *text, uint16_t port, const char *pointer,
	struct sockaddr_storage *ret_addr, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_addr_format - format the address without its port ("" for no address); returns @text */
char *vbd_addr_format(const struct sockaddr_storage *addr, char text[VBD_ADDR_TEXT_BYTES]);

/** vbd_addr_format_gid - format a GID as an IPv6 address; returns @text */
char *vbd_addr_format_gid(const uint8_t gid[16], char text[VBD_ADDR_TEXT_BYTES]);

/** vbd_addr_gid_is_group - the GID of many hosts: multicast, also of an IPv4 address */
bool vbd_addr_gid_is_group(const uint8_t gid[16]);

/* --- names ----------------------------------------------------------------------------------- */

/**
 * vbd_addr_look_up - the addresses of a host name or an address, in the order of getaddrinfo(3),
 * which is that of RFC 6724
 * @family:    AF_UNSPEC for all
 * @ret_addrs: each once, and only those that a host can have; none after an error
 *
 * Returns 0 or a code of getaddrinfo(3), with EAI_SYSTEM in @ret_errno the errno. Blocks as long as
 * the resolver does.
 */
int vbd_addr_look_up(const char *host, uint16_t port, int family, struct vbd_addrs *ret_addrs,
	int *ret_errno) VBD_MUST_CHECK;

/* --- addresses ------------------------------------------------------------------------------- */

/** vbd_addr_port - the port in host order; 0 for no address */
uint16_t vbd_addr_port(const struct sockaddr_storage *addr);

/** vbd_addr_unmap - make an IPv4-mapped IPv6 address the IPv4 address that it is, with its port */
void vbd_addr_unmap(struct sockaddr_storage *addr);

/** vbd_addr_set_port - @port in host order */
void vbd_addr_set_port(struct sockaddr_storage *addr, uint16_t port);

/** vbd_sockaddr_bytes - the size of an IPv4 or IPv6 socket address, 0 for any other family */
size_t vbd_sockaddr_bytes(const struct sockaddr *addr);

/** vbd_addr_copy - an IPv4 or IPv6 socket address in a storage, with zeros behind it */
void vbd_addr_copy(struct sockaddr_storage *to, const struct sockaddr *from);

/** vbd_addr_of_bytes - the address, port 0, of 16 bytes, with an IPv4 address mapped into IPv6 */
struct sockaddr_storage vbd_addr_of_bytes(const uint8_t bytes[16]);

/** vbd_addr_to_bytes - the same the other way; zeros for another family */
void vbd_addr_to_bytes(const struct sockaddr *addr, uint8_t ret_bytes[16]);

/** vbd_sockaddr_data - the bytes of the IPv4 or IPv6 address itself, @ret_len of them */
const uint8_t *vbd_sockaddr_data(const struct sockaddr *addr, size_t *ret_len);

/** vbd_sockaddr_scope - the index of the interface of an IPv6 address; 0: none */
uint32_t vbd_sockaddr_scope(const struct sockaddr *addr);

/** vbd_sockaddr_is_any - 0.0.0.0 or :: */
bool vbd_sockaddr_is_any(const struct sockaddr *addr);

/** vbd_sockaddr_is_loopback - 127.0.0.0/8 or ::1 */
bool vbd_sockaddr_is_loopback(const struct sockaddr *addr);

/** vbd_sockaddr_is_group - of many hosts: multicast, or the broadcast address 255.255.255.255 */
bool vbd_sockaddr_is_group(const struct sockaddr *addr);

/** vbd_sockaddr_is_link_local - an IPv6 address of fe80::/10 */
bool vbd_sockaddr_is_link_local(const struct sockaddr *addr);

/** vbd_sockaddr_is_of_link - link-local IPv6, or an IPv4 address of 169.254.0.0/16 (RFC 3927 2.6):
 * no router leads to it */
bool vbd_sockaddr_is_of_link(const struct sockaddr *addr);

/** vbd_sockaddr_is_same - the same IPv4 or IPv6 address, whatever the ports are */
bool vbd_sockaddr_is_same(const struct sockaddr *a, const struct sockaddr *b);

/** vbd_sockaddr_needs_scope - a link-local IPv6 address without its interface */
bool vbd_sockaddr_needs_scope(const struct sockaddr *addr);

#endif
