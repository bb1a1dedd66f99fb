/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API of a daemon: its routes on its HTTP server, with the roles, hosts and limits of its
 * configuration.
 *
 * Control thread.
 */
#ifndef VBD_API_API_H
#define VBD_API_API_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/daemon.h"

struct vbd_api;

/**
 * vbd_api_create - serve the daemon's API
 * @tcp_fd:  listening TCP socket, taken over by a success; -1 for none
 * @unix_fd: the same, of a unix socket
 *
 * The sockets come from api/http/listen.h or from whoever started the daemon.
 */
enum vbd_status vbd_api_create(struct vbd_daemon *daemon, int tcp_fd, int unix_fd,
	struct vbd_api **ret_api, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_api_stop - no new connections; requests that wait are answered; then @stopped, in a later
 * turn
 * @grace_ms: for answers that are under way
 *
 * While the daemon still ends its connections the API may answer: stop it after vbd_daemon_stop()
 * has called back.
 */
void vbd_api_stop(struct vbd_api *api, uint64_t grace_ms, void (*stopped)(void *arg), void *arg);

/** vbd_api_destroy - before the daemon; not from inside a handler; NULL is fine */
void vbd_api_destroy(struct vbd_api *api);

#endif
