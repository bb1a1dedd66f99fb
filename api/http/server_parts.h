/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the HTTP server share. Each has one job and owns the members that stand below
 * its name: others read them, and write none but where it says so.
 *
 *   server.c           start and stop, listening, libmicrohttpd's callbacks
 *   server_exchange.c  one request: head, body, dispatch, end
 *   server_answer.c    answers: documents, streams, feeds
 *   server_park.c      what waits: parked requests, feeds with nothing to say; suspend and resume
 *   server_client.c    clients: who they are, their deadlines
 *   server_run.c       when libmicrohttpd runs
 *
 * Each calls those below it in this list only.
 *
 * Names here: a client is a connection of the HTTP kind; an exchange is one request on it with its
 * answer; MHD is libmicrohttpd, "0.9.75" the one whose behaviour is described.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_SERVER_PARTS_H
#define VBD_API_HTTP_SERVER_PARTS_H

#include "api/http/linger.h"
#include "api/http/server.h"
#include "api/http/wire.h"
#include "base/list.h"

#include <netinet/in.h>

struct MHD_Connection;
struct MHD_Daemon;

/* What a body must bring, or an answer take, in each progress_timeout_ms: 2 KiB/s at 30 s. */
#define VBD_PROGRESS_BYTES UINT64_C(65536)

/* A listening socket, and the MHD behind it. */
struct vbd_server_endpoint {
	/* server.c */
	struct vbd_server *server;
	struct MHD_Daemon *mhd;
	bool is_unix;
	struct vbd_fd_watch *watch;
	struct vbd_timer *timer; /* server_run.c sets it */

	/* server_run.c */
	bool run_again; /* something that MHD notices only when it runs; anybody sets it */
};

struct vbd_server {
	/* server.c */
	struct vbd_loop *loop;
	struct vbd_server_config config;
	struct vbd_dispatch *dispatch;
	struct vbd_linger *linger;
	struct vbd_server_endpoint endpoints[2];
	bool stopping;
	bool stopped_notified;
	struct vbd_timer *stop_timer; /* server_client.c sets it when the last client is gone */
	void (*stopped)(void *arg);
	void *stopped_arg;

	/* server_client.c */
	struct vbd_link clients;

	/* server_park.c */
	struct vbd_link parked; /* of struct vbd_exchange */
	struct vbd_link feeds;	/* of struct vbd_exchange */

	struct vbd_server_stats stats; /* each counts what it does */
};

struct vbd_client {
	/* server_client.c */
	struct vbd_link link;
	struct vbd_server_endpoint *endpoint;
	int fd;
	struct vbd_exchange
		*exchange; /* the request at hand, from its first line on; NULL between two */
	struct vbd_timer *timer;
	uint64_t deadline_ns; /* 0: none */
	uint64_t armed_ns;    /* when the timer fires; 0: not set */
	struct vbd_auth_peer peer;
	char local_addr[INET6_ADDRSTRLEN];
	char name[72];

	/* server_exchange.c */
	bool unread; /* was answered before its request was read to the end */
};

struct vbd_exchange {
	/* server_exchange.c; the reply in it is the dispatch's, and server_answer.c takes it */
	struct vbd_request req; /* first */
	struct vbd_client *client;
	struct MHD_Connection *mhd;
	bool begun; /* the head has been looked at */
	bool ran;   /* the handler has been called, or was not needed */
	uint64_t got_bytes;
	uint64_t unwanted_bytes; /* of got_bytes, after there was an answer */
	uint64_t progress_bytes; /* got_bytes when the deadline was set */

	/* server_park.c */
	bool suspended;	      /* MHD does not look at the connection */
	bool gone;	      /* the client left */
	bool is_feed;	      /* its answer goes on as it comes */
	struct vbd_link link; /* parked, or a feed */
	struct vbd_fd_watch *hangup;
	struct vbd_timer *timeout;
	vbd_request_cb on_timeout;
	vbd_request_cb on_gone;
	void *park_arg;

	/* server_exchange.c */
	struct vbd_wire wire;
	char *path;    /* raw, without the query; behind target */
	char target[]; /* decoded in place */
};

/* --- server_exchange.c ----------------------------------------------------------------------- */

/**
 * vbd_exchange_create - a request begins: its first line is there
 * @target: as it came, not decoded; copied
 *
 * NULL without memory.
 */
struct vbd_exchange *vbd_exchange_create(
	struct vbd_client *client, struct MHD_Connection *mhd, const char *target);

/**
 * vbd_exchange_go_on - what MHD says of the request: first that its head is there, then each piece
 * of the body, then, with no bytes, that it is complete; that again when it is resumed
 * @method, @version: of the request line
 * @bytes: all of them are taken
 *
 * False: the connection is to be cut.
 */
bool vbd_exchange_go_on(struct vbd_exchange *exchange, const char *method, const char *version,
	const char *bytes, size_t len_bytes);

/** vbd_exchange_destroy - its answer is sent, or nobody wants it any more */
void vbd_exchange_destroy(struct vbd_exchange *exchange);

/* --- server_answer.c ------------------------------------------------------------------------- */

/** vbd_exchange_send_answer - hand the reply over to MHD; false: the connection is to be cut */
bool vbd_exchange_send_answer(struct vbd_exchange *exchange);

/* --- server_park.c --------------------------------------------------------------------------- */

/* What a request asks of whoever carries it. */
extern const struct vbd_transport vbd_server_transport;

/** vbd_exchange_suspend - MHD is not to look at the connection; from MHD's callbacks only */
void vbd_exchange_suspend(struct vbd_exchange *exchange);

/** vbd_exchange_unpark - nothing is waited for any more; harmless for what was not parked */
void vbd_exchange_unpark(struct vbd_exchange *exchange);

/** vbd_exchange_follow - its answer is a feed from now on */
void vbd_exchange_follow(struct vbd_exchange *exchange);

/**
 * vbd_exchange_rest - a feed has nothing to say: MHD is not to ask again before it has
 *
 * False if the client's hang-up can't be listened for; nothing is suspended then.
 */
bool vbd_exchange_rest(struct vbd_exchange *exchange);

/** vbd_server_end_parked - each parked request gets its answer: `stopping` if it has no other */
void vbd_server_end_parked(struct vbd_server *server);

/** vbd_server_wake_feeds - they find that the server stops, and end */
void vbd_server_wake_feeds(struct vbd_server *server);

/* --- server_client.c ------------------------------------------------------------------------- */

/** vbd_client_create - a connection is there; NULL without memory */
struct vbd_client *vbd_client_create(
	struct vbd_server_endpoint *endpoint, struct MHD_Connection *mhd);

/** vbd_client_destroy - its connection is about to be closed */
void vbd_client_destroy(struct vbd_client *client);

/** vbd_client_begin - a request begins on it; its head has header_timeout_ms at most */
void vbd_client_begin(struct vbd_client *client, struct vbd_exchange *exchange);

/** vbd_client_end - the request has ended, the next one has idle_timeout_ms to begin */
void vbd_client_end(struct vbd_client *client);

/** vbd_client_set_deadline - cut the connection in @timeout_ms unless this is called anew */
void vbd_client_set_deadline(struct vbd_client *client, uint64_t timeout_ms);

/** vbd_client_clear_deadline - the client has all the time there is */
void vbd_client_clear_deadline(struct vbd_client *client);

/** vbd_server_cut_idle - cut the clients of which no request's head is there */
void vbd_server_cut_idle(struct vbd_server *server);

/* --- server_run.c ---------------------------------------------------------------------------- */

/** vbd_server_run_soon - run MHD in the next turn of the loop */
void vbd_server_run_soon(struct vbd_server_endpoint *endpoint);

/** vbd_server_on_ready - run MHD: something happened on its sockets; @arg: the endpoint */
void vbd_server_on_ready(unsigned int events, void *arg);

/** vbd_server_on_timer - run MHD: it asked for that, or somebody did; @arg: the endpoint */
void vbd_server_on_timer(void *arg);

#endif
