/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: libmicrohttpd on the control loop. The server also refuses the malformed
 * requests that libmicrohttpd accepts, and detects slow clients and hang-ups of waiting clients.
 *
 * Control thread; nothing here blocks. No periodic wake-ups: an idle server sleeps.
 */
#ifndef VBD_API_HTTP_SERVER_H
#define VBD_API_HTTP_SERVER_H

#include "api/http/admission.h"
#include "api/http/dispatch.h"
#include "api/http/tls.h"
#include "base/histogram.h"

struct vbd_server;

/* How long requests took, by operation and HTTP status. */
struct vbd_duration {
	struct vbd_duration *next;
	const char *operation; /* operationId in openapi.yaml; "none": the request had no route */
	unsigned int status;
	struct vbd_histogram times;
};

/* All zero: no requests yet. */
struct vbd_durations {
	struct vbd_duration *first; /* in the order of their first requests */
	struct vbd_histogram all;   /* of all pairs */
};

/**
 * vbd_durations_add - count a request
 * @operation: static; NULL for a request without a route
 *
 * Without memory the request is counted in `all` only.
 */
void vbd_durations_add(struct vbd_durations *durations, const char *operation, unsigned int status,
	uint64_t took_ns);

/** vbd_durations_fini - free all pairs */
void vbd_durations_fini(struct vbd_durations *durations);

/* Seats besides those of `limits`, for the role "control" and for health checks. */
#define VBD_SERVER_RESERVE 16

#define VBD_SERVER_SOCKETS_MAX 16

/* A listening socket. */
struct vbd_server_socket {
	int fd;
	bool is_unix; /* a client is named by its uid */
	bool tls;
};

struct vbd_server_config {
	struct vbd_dispatch_config dispatch;
	/* Owned by the server on success. */
	struct vbd_server_socket sockets[VBD_SERVER_SOCKETS_MAX];
	size_t sockets_count;
	const struct vbd_config_tls *tls; /* read once; for sockets with `tls` */
	/* Seats, waiting requests and feeds of all sockets together. */
	struct vbd_admission_limits limits;
	uint32_t header_timeout_ms;   /* from accept to the end of the headers */
	uint32_t progress_timeout_ms; /* for each VBD_PROGRESS_BYTES of a body or an answer */
	uint32_t answer_timeout_ms;   /* for an answer that takes memory until it is sent */
	uint32_t idle_timeout_ms;     /* between two requests of a client */
	/* Both, for a client that has shown no credential; header_timeout_ms may be less. */
	uint32_t stranger_timeout_ms;
	/* A client was refused or disconnected since there are too many; may be NULL. @context: of
	 * `dispatch`. @err: why, VBD_E_TOO_MANY_CLIENTS, _FD_LIMIT or _NO_MEMORY. */
	void (*on_turned_away)(void *context, const char *client, const struct vbd_error *err);
};

/* Counts since the start. */
struct vbd_server_stats {
	struct vbd_durations durations; /* from the head of a request to the head of its answer */
	uint64_t connections, connections_open, parked, feeds;
	uint64_t too_slow;	   /* clients disconnected at a deadline */
	uint64_t refused;	   /* clients without a seat, answered 503 */
	uint64_t sent_away;	   /* strangers disconnected in favour of another client */
	uint64_t idempotency_keys; /* remembered now */
	uint64_t runs;		   /* calls of MHD_run(); none while nothing happens */
};

/** vbd_server_config_default - a configuration with deadlines and the reserve; it has no sockets,
 * no routes and no other limits */
struct vbd_server_config vbd_server_config_default(void);

/**
 * vbd_server_create - serve from the next turn of the loop on
 * @config: copied; its strings and routes must outlive the server
 */
enum vbd_status vbd_server_create(struct vbd_loop *loop, const struct vbd_server_config *config,
	struct vbd_server **ret_server, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_server_stop - begin to stop: accept no clients, end parked requests (503 unless they reply),
 * complete the other requests
 * @grace_ms: time until @stopped is called even if clients are left
 * @stopped:  called once, in a later turn, when no client is left; may destroy the server
 */
void vbd_server_stop(
	struct vbd_server *server, uint64_t grace_ms, void (*stopped)(void *arg), void *arg);

/**
 * vbd_server_set_tls - use other credentials, for the handshakes that begin afterwards
 * @tls: of vbd_tls_load(); the server has the caller's reference from now on
 */
void vbd_server_set_tls(struct vbd_server *server, struct vbd_tls *tls);

/**
 * vbd_server_set_credentials - let requests be those of other callers from now on
 * @credentials: outlive their use
 *
 * What the sender of an open request may no longer do ends: a request that waits is answered 401, a
 * feed is cut off. So is one whose token or certificate expires.
 */
void vbd_server_set_credentials(
	struct vbd_server *server, const struct vbd_credentials *credentials);

/** vbd_server_destroy - close all connections and free; not from a handler; @server may be NULL */
void vbd_server_destroy(struct vbd_server *server);

/** vbd_server_stats - counters of the server; valid as long as the server */
const struct vbd_server_stats *vbd_server_stats(struct vbd_server *server);

#endif
