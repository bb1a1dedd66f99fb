/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion of socket addresses from and to text.
 *
 * Any thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_ADDR_H
#define VBD_DAEMON_CORE_ADDR_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Room for "fe80::1234:5678:9abc:def0%interface-name1" and its NUL. */
#define VBD_ADDR_TEXT_BYTES 64

/** vbd_addr_parse - parse a numeric IPv4 or IPv6 address (with a scope, as in fe80::1%eth0); false
 * if @text is no address */
bool vbd_addr_parse(const char *text, uint16_t port, struct sockaddr_storage *ret_addr);

/** vbd_addr_parse_own - parse a numeric address of this host; a link-local address needs its
 * interface. Else VBD_E_BAD_VALUE at @pointer. */
enum vbd_status vbd_addr_parse_own(const char *text, const char *pointer,
	struct sockaddr_storage *ret_addr, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_addr_format - format the address without its port ("" for no address); returns @text */
char *vbd_addr_format(const struct sockaddr_storage *addr, char text[VBD_ADDR_TEXT_BYTES]);

/** vbd_addr_format_gid - format a GID as an IPv6 address; returns @text */
char *vbd_addr_format_gid(const uint8_t gid[16], char text[VBD_ADDR_TEXT_BYTES]);

/** vbd_addr_port - the port in host order; 0 for no address */
uint16_t vbd_addr_port(const struct sockaddr_storage *addr);

/** vbd_addr_set_port - @port in host order */
void vbd_addr_set_port(struct sockaddr_storage *addr, uint16_t port);

#endif
