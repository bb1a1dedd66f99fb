/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at what surrounds a connection: the route and the neighbour of its peer, and the counters
 * of its device; the TCP socket of Soft-iWARP; whether a peer that is silent lives, and what its
 * verbsd reports on the connection. The thread pool looks, since all may block.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_LOOK_H
#define VBD_DAEMON_OBSERVE_LOOK_H

#include "daemon/connections/connections.h"
#include "daemon/core/context.h"
#include "rdma/diagnose/facts.h"
#include "rdma/fabric/report.h"
#include "rdma/provider/ask.h"
#include "rdma/provider/netroute.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The TCP socket below a connection over Soft-iWARP, from the kernel's table. */
struct vbd_tcp_socket {
	uint64_t unread_bytes; /* came from the peer, and siw has not taken them */
	bool hung_up;	       /* the peer has closed its side */
};

struct vbd_look {
	bool netroute_known;
	struct vbd_pv_netroute netroute;
	struct vbd_pv_knock knock; /* at a peer that is silent; all false: nobody knocked */
	bool asked, answered;	   /* a question to the peer's verbsd has left; its host answered */
	bool replied;		   /* a verbsd at the peer's host did; `report` is set */
	struct vbd_report report;  /* not `known`: it does not know the connection */
	bool tcp_found; /* the socket of Soft-iWARP below a connection that is not established */
	struct vbd_tcp_socket tcp;
	uint64_t transfer; /* the one that waited before the look, for some time; 0: not watched */
	uint64_t transfer_done; /* its bytes then */
	bool counted;		/* the two members below are set */
	uint64_t counted_ns;
	uint64_t counters[VBD_TRACE_COUNT];
};

typedef void (*vbd_look_cb)(const struct vbd_look *look, void *arg);

/**
 * vbd_look_begin - begin to look at what surrounds @connection
 * @cb: called exactly once, unless this function returns an error; also while the daemon is being
 *      destroyed, when it must not access the daemon
 */
enum vbd_status vbd_look_begin(const struct vbd_connection *connection, vbd_look_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_look_take - set the facts that follow from @look for @connection: its route, and by how much
 * the counters rose since its incident began */
void vbd_look_take(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts);

/** vbd_look_take_reply - set the facts that follow from the reply of the peer's verbsd, if any
 * came: at once, while the reply is new */
void vbd_look_take_reply(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts);

/** vbd_tcp_socket_read - take the socket from @line of /proc/net/tcp or /proc/net/tcp6. False if it
 * is not the one between @local and @peer, or is neither open nor left by the peer alone. Pure. */
bool vbd_tcp_socket_read(const char *line, const struct sockaddr *local,
	const struct sockaddr *peer, struct vbd_tcp_socket *ret_socket);

/** vbd_tcp_socket_find - the socket between @local and @peer, both with their ports; false if there
 * is none. May block: the kernel goes through its table of sockets. */
bool vbd_tcp_socket_find(const struct sockaddr *local, const struct sockaddr *peer,
	struct vbd_tcp_socket *ret_socket);

/** vbd_netroute_cb - @netroute is NULL if the query failed; @err then has the reason */
typedef void (*vbd_netroute_cb)(
	const struct vbd_pv_netroute *netroute, const struct vbd_error *err, void *arg);

/**
 * vbd_netroute_find - find route and neighbour of an address; nothing is sent to it
 * @dst: IPv4 or IPv6
 * @src: source address; NULL or ss_family 0 for any
 * @cb:  called exactly once, unless this function returns an error; also while the daemon is being
 *       destroyed, when it must not access the daemon
 */
enum vbd_status vbd_netroute_find(struct vbd_daemon *daemon, const struct sockaddr_storage *dst,
	const struct sockaddr_storage *src, vbd_netroute_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
