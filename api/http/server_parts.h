/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structs and functions that the files of the HTTP server share. Each file has one job, and
 * alone writes the members below its name, except where a comment names another file.
 *
 *   server.c           start and stop, libmicrohttpd's callbacks
 *   server_accept.c    new clients: a seat, or a refusal; the lack of descriptors; MHD_run()
 *   server_exchange.c  one request: head, body, dispatch, end
 *   server_answer.c    answers: documents, streams, feeds; how long requests took
 *   server_park.c      parked requests, feeds without bytes, descriptors for a client; suspend,
 *                      resume
 *   server_client.c    clients: address or uid, deadlines, hang-ups
 *   server_tls.c       clients of HTTPS: handshakes in turn, their certificates
 *   server_refuse.c    answers in MHD's place; clients that have not read their answers yet
 *
 * A file calls only files below it in this list.
 *
 * A client is an HTTP connection, an exchange is one request of a client with its answer, MHD is
 * libmicrohttpd. Comments describe the behaviour of MHD 0.9.75 unless they name another version.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_SERVER_PARTS_H
#define VBD_API_HTTP_SERVER_PARTS_H

#include "api/http/server.h"
#include "base/addr.h"

#include <netinet/in.h>

struct MHD_Connection;
struct MHD_Daemon;

/* Bytes of a body or an answer for each progress_timeout_ms: 2 KiB/s at 30 s. */
#define VBD_PROGRESS_BYTES UINT64_C(65536)

/* MHD's buffer of a client, zeroed for each request. It holds the head of the request, a struct of
 * MHD for each header field, up to 3 KiB that were read beyond, and the head of the answer. */
#define VBD_CLIENT_MEMORY_BYTES 40960u
/* The most for the head of a request and MHD's structs; the head of the answer has the rest. */
#define VBD_HEAD_BYTES_MAX 35840u
#define VBD_FIELD_BYTES	   64u

/* Each client skips an interim answer that it has not asked for (RFC 9110, 15.2). */
#define VBD_INTERIM "HTTP/1.1 100 Continue\r\n\r\n"

/* How often a client that has ended its stream and waits gets an interim answer, to see whether it
 * is there; HTTP/1.0 has no interim answers. */
#define VBD_ASK_MS 1000

/* Descriptors that are kept back, to accept clients when no other is left. */
#define VBD_SERVER_SPARE_FDS 4

/* server_refuse.c: clients that were answered before the whole request was read. */
struct vbd_linger {
	struct vbd_loop *loop;
	struct vbd_link sockets;
	unsigned int count;
};

/* A listening socket, and the MHD behind it, which gets its accepted clients. */
struct vbd_server_endpoint {
	/* server.c */
	struct vbd_server *server;
	struct MHD_Daemon *mhd;
	bool is_unix;
	bool tls;
	struct vbd_fd_watch *watch;
	struct vbd_timer *timer; /* server_accept.c and vbd_server_run_soon() set it */
	int listen_fd;		 /* -1: none */

	/* server_accept.c */
	struct vbd_fd_watch *listening; /* NULL: it rests */
	struct vbd_timer *rest_timer;
	struct vbd_client *arriving; /* server.c takes it when MHD has taken the client */

	bool run_soon; /* the timer is set for the next turn, as by vbd_server_run_soon() */

	struct vbd_link suspects; /* server_refuse.c: of struct vbd_client */

	/* server_tls.c */
	struct vbd_link turns; /* of struct vbd_client, by tls.turn: bytes of a handshake wait */
};

struct vbd_server {
	/* server.c */
	struct vbd_loop *loop;
	struct vbd_server_config config;
	struct vbd_dispatch *dispatch;
	struct vbd_linger linger;
	struct vbd_admission *admission;
	struct vbd_tls *tls; /* NULL: no endpoint has TLS */
	struct vbd_server_endpoint endpoints[VBD_SERVER_SOCKETS_MAX];
	bool stopping;
	struct vbd_timer *stop_timer; /* server_client.c arms it when the last client is gone */
	void (*stopped)(void *arg);   /* NULL once it was called */
	void *stopped_arg;

	/* server_accept.c */
	int spares[VBD_SERVER_SPARE_FDS];
	unsigned int n_spares;

	/* server_client.c */
	struct vbd_link clients;

	/* server_park.c */
	struct vbd_link held; /* of struct vbd_exchange: parked requests and feeds */
	struct vbd_timer *expiry;
	uint64_t
		expires_wall_s; /* when the first token or certificate of theirs expires; 0: none */

	struct vbd_server_stats stats; /* each file updates its own counters */
};

enum vbd_handshake {
	VBD_HANDSHAKE_BEGINS,
	VBD_HANDSHAKE_RESTS,   /* suspended, until it is its turn */
	VBD_HANDSHAKE_GOES_ON, /* in its turn */
	VBD_HANDSHAKE_OVER,    /* the first request has begun */
};

/* The part of a client that only HTTPS needs. */
struct vbd_client_tls {
	struct gnutls_session_int *session;
	struct vbd_tls_peer peer;
	enum vbd_handshake handshake;
	bool greeted;		    /* the client has sent something */
	struct vbd_fd_watch *watch; /* while it rests and nothing is there to read */
	struct vbd_link turn;
};

struct vbd_client {
	/* server_client.c */
	struct vbd_link link;
	struct vbd_server_endpoint *endpoint;
	int fd;
	struct vbd_exchange *exchange; /* the current one, from the request line on, or NULL */
	struct vbd_timer *timer;
	uint64_t deadline_ns;	     /* 0: none; other files may clear it */
	uint64_t armed_ns;	     /* when the timer fires; 0: not set */
	bool spared;		     /* a deadline of this request was put off, once */
	struct vbd_fd_watch *hangup; /* for the end of the client's stream, then of its reading */
	bool hung_up;		     /* the client has sent the end of its stream, or is cut */
	bool answered;		     /* the client had an answer, to any request */
	struct vbd_source_key source;
	struct vbd_seat seat;
	struct vbd_auth_peer peer;
	gid_t *gids; /* `peer` points to them */
	char local_addr[VBD_ADDR_TEXT_BYTES];
	char name[72];

	struct MHD_Connection *mhd; /* server.c */
	struct vbd_link suspect;    /* server_refuse.c */

	/* server_exchange.c, server_tls.c */
	bool unread; /* answered before the whole request was read */

	/* server_tls.c */
	struct vbd_client_tls tls;
};

struct vbd_exchange {
	/* server_exchange.c; dispatch sets the reply */
	struct vbd_request req; /* first */
	struct vbd_client *client;
	struct MHD_Connection *mhd;
	uint64_t begun_ns; /* when the head was complete; 0: it is not */
	bool ran;	   /* vbd_dispatch_run() was called */
	bool queued;	   /* server_answer.c: MHD has the answer */
	bool sending;	   /* server_answer.c: MHD has begun to read the body of the answer */
	uint64_t until_ns; /* server_answer.c: when the whole answer must be sent; 0: never */
	uint64_t got_bytes;
	uint64_t unwanted_bytes; /* the part of got_bytes that came after the answer */
	uint64_t progress_bytes; /* got_bytes when the deadline was last set */

	/* server_park.c */
	bool suspended;	      /* MHD ignores the client */
	bool looked_at;	      /* in each run of MHD */
	bool gone;	      /* the client has left */
	bool is_feed;	      /* the answer is without end */
	struct vbd_link link; /* in `held` of the server */
	/* Called when the client has ended its stream, or is @gone; NULL unless the request is
	 * parked or a feed. */
	void (*hang_up)(struct vbd_exchange *exchange, bool gone);
	bool has_share; /* counted by vbd_share_take(); not if `brief` of the request */
	struct vbd_timer *timeout;
	vbd_request_cb on_timeout;
	vbd_request_cb on_gone;
	void *park_arg;

	/* server_exchange.c */
	bool http_1_1;
	size_t target_bytes; /* of the raw target */
	char *path;	     /* raw, without the query; stored behind target */
	char target[];	     /* decoded in place */
};

/** vbd_server_run_soon - run MHD in the next turn of the loop, or in this one; from MHD's
 * callbacks: run it once more */
static inline void vbd_server_run_soon(struct vbd_server_endpoint *endpoint)
{
	if (endpoint->run_soon)
		return;
	endpoint->run_soon = true;
	/* A timer, so that MHD runs from the loop only: its callbacks must not call MHD_run(). */
	vbd_timer_set(endpoint->timer, 0);
}

/* --- server_accept.c ------------------------------------------------------------------------- */

/** vbd_server_accept_start - accept clients from `listen_fd` of the endpoint */
enum vbd_status vbd_server_accept_start(
	struct vbd_server_endpoint *endpoint, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_server_accept_stop - accept no more; @keep_socket: the caller owns `listen_fd` again, which
 * is closed otherwise; allowed twice */
void vbd_server_accept_stop(struct vbd_server_endpoint *endpoint, bool keep_socket);

/** vbd_server_accept_fini - free what all endpoints share */
void vbd_server_accept_fini(struct vbd_server *server);

/** vbd_server_on_ready - run MHD, whose epoll descriptor is readable; @arg: the endpoint */
void vbd_server_on_ready(unsigned int events, void *arg);

/** vbd_server_on_timer - run MHD, at its timeout or as soon as possible; @arg: the endpoint */
void vbd_server_on_timer(void *arg);

/* --- server_exchange.c ----------------------------------------------------------------------- */

/** vbd_exchange_create - begin a request whose request line was read; NULL without memory
 * @target: raw; copied */
struct vbd_exchange *vbd_exchange_create(
	struct vbd_client *client, struct MHD_Connection *mhd, const char *target);

/**
 * vbd_exchange_go_on - continue a request: MHD calls this for the head, for each piece of the body,
 * and with no bytes when the request is complete and after each resume
 * @method, @version: of the request line
 * @bytes: a piece of the body, processed as a whole
 *
 * Returns false if MHD must close the connection.
 */
bool vbd_exchange_go_on(struct vbd_exchange *exchange, const char *method, const char *version,
	const char *bytes, size_t len_bytes);

/** vbd_exchange_fail - MHD gives up a request: answer it if MHD had no memory for the head of its
 * answer */
void vbd_exchange_fail(struct vbd_exchange *exchange);

/** vbd_exchange_destroy - end a request whose answer was sent or whose client has left */
void vbd_exchange_destroy(struct vbd_exchange *exchange);

/* --- server_answer.c ------------------------------------------------------------------------- */

/** vbd_exchange_send_answer - pass the reply to MHD; false if MHD must close the connection */
bool vbd_exchange_send_answer(struct vbd_exchange *exchange);

/* --- server_park.c --------------------------------------------------------------------------- */

/* The functions of this server that a request needs. */
extern const struct vbd_transport vbd_server_transport;

/** vbd_exchange_suspend - make MHD ignore the client; from MHD's callbacks only */
void vbd_exchange_suspend(struct vbd_exchange *exchange);

/**
 * vbd_exchange_look_at - whether MHD is to go on with a connection in each run, before it reads
 *
 * MHD does so with a connection whose timeout differs from the daemon's, which is none. It reads
 * another connection first when that is resumed, and takes the end of the client's stream for a
 * client that has left; it frees another ended connection only when that is the oldest.
 */
void vbd_exchange_look_at(struct vbd_exchange *exchange, bool always);

/** vbd_exchange_unpark - stop waiting; does nothing if the request is not parked */
void vbd_exchange_unpark(struct vbd_exchange *exchange);

/** vbd_exchange_rest - suspend a feed that has no bytes, until it is woken or the client hangs up;
 * false, and not suspended, if the hang-up can't be watched for */
bool vbd_exchange_rest(struct vbd_exchange *exchange);

/** vbd_server_recheck - end open requests and feeds whose senders may no longer stay: a request
 * that waits is answered 401, a feed is cut off */
void vbd_server_recheck(struct vbd_server *server);

/** vbd_server_end_held - answer each parked request, with `stopping` unless it replies itself, and
 * resume all feeds, which end since the server stops */
void vbd_server_end_held(struct vbd_server *server);

/* --- server_client.c ------------------------------------------------------------------------- */

/** vbd_client_create - make a client, not started; @addr: of accept(2); NULL without memory */
struct vbd_client *vbd_client_create(
	struct vbd_server_endpoint *endpoint, int fd, const struct sockaddr_storage *addr);

/** vbd_client_start - count the client, and set its first deadline; false without memory */
bool vbd_client_start(struct vbd_client *client);

/** vbd_client_destroy - free a client and its seat; the caller or MHD closes the socket then */
void vbd_client_destroy(struct vbd_client *client);

/** vbd_client_watch - watch for the end of the client's stream, or, if that has been seen, for the
 * end of its reading */
enum vbd_status vbd_client_watch(struct vbd_client *client, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_client_cut - disconnect; MHD ends the request, if there is one, in a later turn */
void vbd_client_cut(struct vbd_client *client);

/** vbd_client_begin - begin a request, whose head must be complete in header_timeout_ms */
void vbd_client_begin(struct vbd_client *client, struct vbd_exchange *exchange);

/** vbd_client_end - end a request; the next one must begin in idle_timeout_ms */
void vbd_client_end(struct vbd_client *client);

/** vbd_client_set_deadline - disconnect in @timeout_ms, unless the deadline is set anew or taken
 * away (0) */
void vbd_client_set_deadline(struct vbd_client *client, uint64_t timeout_ms);

/** vbd_server_cut - disconnect the clients that have not sent a complete head; @all: all clients */
void vbd_server_cut(struct vbd_server *server, bool all);

/* --- server_tls.c ---------------------------------------------------------------------------- */

/** vbd_client_tls_begin - set up the session of a new client, before its handshake */
void vbd_client_tls_begin(struct vbd_client *client, struct MHD_Connection *mhd);

/** vbd_client_tls_requested - the handshake is over: learn what the client's certificate says */
void vbd_client_tls_requested(struct vbd_client *client);

/** vbd_client_tls_end - forget the session, before MHD closes the connection */
void vbd_client_tls_end(struct vbd_client *client);

/** vbd_client_tls_go_on - let a handshake go on, out of turn: the connection is shut down */
void vbd_client_tls_go_on(struct vbd_client *client);

/** vbd_server_take_turns - let the next handshakes go on in the next MHD_run() */
void vbd_server_take_turns(struct vbd_server_endpoint *endpoint);

/* --- server_refuse.c ------------------------------------------------------------------------- */

/** vbd_refusal_print - a whole answer with a problem, behind which the connection ends; from
 * malloc; NULL without memory; @head: without its body */
char *vbd_refusal_print(const struct vbd_server *server, const struct vbd_error *err, bool head);

/** vbd_client_send - send bytes while MHD sends nothing; they are lost if the client takes none */
void vbd_client_send(struct vbd_client *client, const char *text);

/** vbd_client_refuse - answer in MHD's place, and end the connection; @head: without a body */
void vbd_client_refuse(struct vbd_client *client, const struct vbd_error *err, bool head);

/** vbd_error_head - make @err that of a head beyond VBD_HEAD_BYTES_MAX, whose target may be most of
 * it */
enum vbd_status vbd_error_head(struct vbd_error *err, size_t target_bytes);

/** vbd_server_suspect - MHD is about to answer a request itself; from its log */
void vbd_server_suspect(struct vbd_server_endpoint *endpoint);

/** vbd_server_convict - after MHD_run(): replace the answer that MHD made itself */
void vbd_server_convict(struct vbd_server_endpoint *endpoint);

/*
 * When a socket with unread bytes is closed, the kernel sends a reset, which can overtake the
 * answer at the client. So the rest is read and thrown away for a while.
 */

/** vbd_linger_init - begin without sockets */
void vbd_linger_init(struct vbd_linger *linger, struct vbd_loop *loop);

/** vbd_linger_end - close all lingering sockets */
void vbd_linger_end(struct vbd_linger *linger);

/**
 * vbd_linger_take - as vbd_linger_add(), with @fd itself
 * @fd: owned by the linger from now on; closed at once if it can't linger
 */
void vbd_linger_take(struct vbd_linger *linger, int fd);

/**
 * vbd_linger_add - read from a socket until the client closes it, 2 s have passed or 64 MiB are
 * read
 * @fd: a duplicate of it lingers, so the caller still closes @fd; its sending side is shut already
 *
 * Does nothing if 32 sockets linger already, or without memory or descriptors: the client may see a
 * reset then.
 */
void vbd_linger_add(struct vbd_linger *linger, int fd);

#endif
