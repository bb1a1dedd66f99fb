/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: libmicrohttpd on the control loop. What libmicrohttpd lets through and should
 * not is refused here; what it does not notice is watched here.
 *
 * Control thread; nothing here blocks. No periodic wake-ups: an idle server sleeps.
 */
#ifndef VBD_API_HTTP_SERVER_H
#define VBD_API_HTTP_SERVER_H

#include "api/http/dispatch.h"
#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/loop.h"

#include <stdint.h>

struct vbd_server;

struct vbd_server_config {
	struct vbd_dispatch_config dispatch;
	int tcp_fd;  /* listening socket, taken over by a successful create; -1 for none */
	int unix_fd; /* the same, of a unix socket; clients are known by their uid */
	unsigned int connections_max; /* for each of the two; more wait in the backlog */
	unsigned int parked_max;      /* requests that wait for something, in all */
	unsigned int feeds_max;	      /* answers that go on as it comes, in all */
	uint32_t header_timeout_ms;   /* from the connection's begin to the end of its headers */
	uint32_t progress_timeout_ms; /* in which a body must bring, or an answer take, some KiB */
	uint32_t idle_timeout_ms;     /* between requests on one connection */
};

/* Counts since the start. */
struct vbd_server_stats {
	uint64_t requests;
	uint64_t responses_2xx, responses_3xx, responses_4xx, responses_5xx;
	uint64_t connections, connections_open, parked, feeds;
	uint64_t too_slow; /* connections that were cut because of a deadline */
};

/** vbd_server_config_default - no sockets, no routes; limits and deadlines set */
struct vbd_server_config vbd_server_config_default(void);

/**
 * vbd_server_create - serve from the next turn of the loop on
 * @config: copied; what its rules and routes point to must outlive the server
 */
enum vbd_status vbd_server_create(struct vbd_loop *loop, const struct vbd_server_config *config,
	struct vbd_server **ret_server, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_server_stop - begin to stop: no new connections, parked requests are ended (503 unless they
 * have an answer), requests under way get their answer
 * @grace_ms: after which connections that are still busy are cut
 * @stopped:  called once, in a later turn, when no connection is left; the server may be destroyed
 *            there
 */
void vbd_server_stop(
	struct vbd_server *server, uint64_t grace_ms, void (*stopped)(void *arg), void *arg);

/** vbd_server_destroy - cut what is left and free; not from inside a handler. NULL is fine. */
void vbd_server_destroy(struct vbd_server *server);

/** vbd_server_stats - borrowed */
const struct vbd_server_stats *vbd_server_stats(const struct vbd_server *server);

#endif
