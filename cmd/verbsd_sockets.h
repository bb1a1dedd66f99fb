/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets that verbsd listens on: those that systemd passes, else those of the configuration.
 *
 * At the start only; short system calls.
 */
#ifndef VBD_CMD_VERBSD_SOCKETS_H
#define VBD_CMD_VERBSD_SOCKETS_H

#include "api/http/server.h"
#include "base/attr.h"
#include "base/error.h"
#include "daemon/config/config.h"

#include <stddef.h>

struct vbd_sockets {
	struct vbd_server_socket items[VBD_SERVER_SOCKETS_MAX];
	size_t count;
	char own_path[108]; /* of a unix socket that vbd_sockets_open() made; "" for none */
};

/**
 * vbd_sockets_open - use the inherited sockets, and open the others as configured
 *
 * An inherited TCP socket takes the place of all addresses of `listen`. Logs what is served where,
 * and warns of what is served in clear and of addresses that no interface has yet. The caller owns
 * the sockets.
 */
enum vbd_status vbd_sockets_open(const struct vbd_config *config, struct vbd_sockets *ret_sockets,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_sockets_close - close all of them, and remove the file of the unix socket if it is our own
 */
void vbd_sockets_close(struct vbd_sockets *sockets);

/** vbd_sockets_remove - remove the file of the unix socket, unless systemd passed that socket */
void vbd_sockets_remove(struct vbd_sockets *sockets);

/** vbd_sockets_absent - an address of `listen` that no interface has now, as text; NULL if there is
 * none behind the first @ret_next ones, else @ret_next is behind it */
const char *vbd_sockets_absent(const struct vbd_config *config, size_t *ret_next);

#endif
