/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the connection manager of a host answer, and does a verbsd there? A question by SIDR of the
 * InfiniBand Architecture, by which no connection is made: where no program listens at the port,
 * the kernel of the host answers. A part of the provider (see rdma/provider/provider.h).
 *
 * Any thread.
 */
#ifndef VBD_RDMA_PROVIDER_ASK_H
#define VBD_RDMA_PROVIDER_ASK_H

#include "rdma/provider/provider.h"

#include <sys/socket.h>

/* From the beginning to the end: the way to the host is found, and the answer awaited. */
#define VBD_PV_ASK_MS 1500

/* A verbsd listens at the first free one of these ports of RDMA_PS_UDP. */
#define VBD_PV_REPORT_PORT  4794
#define VBD_PV_REPORT_PORTS 4

/* IBTA 12.11: private data of SIDR_REQ, less the CMA's own header, and of SIDR_REP. */
#define VBD_PV_QUESTION_BYTES 180
#define VBD_PV_REPLY_BYTES    136

struct vbd_pv_question {
	/* The source address, whose device asks; its port does not count. ss_family 0: any. */
	struct sockaddr_storage src;
	struct sockaddr_storage dst; /* its port does not count */
	/* For the verbsd there: the ports above are asked in turn. 0 bytes: a port that hardly any
	 * program has is asked, and no other. */
	uint8_t bytes[VBD_PV_QUESTION_BYTES];
	uint8_t count;
	/* Is this the awaited reply? No further port is asked then. */
	bool (*settles)(const uint8_t *bytes, size_t count);
};

struct vbd_pv_reply {
	uint8_t count;
	uint8_t bytes[VBD_PV_REPLY_BYTES];
};

struct vbd_pv_answer {
	/* A question has left. False if nothing leads to the host, or if its device is iWARP, which
	 * has no such question. */
	bool asked;
	bool answered;	 /* by the kernel of the host, or by a program */
	uint64_t rtt_ns; /* of the first answer */
	unsigned int reply_count;
	struct vbd_pv_reply replies[VBD_PV_REPORT_PORTS]; /* the one that settles it is the last */
};

/**
 * vbd_pv_ask - let a thread ask, and wait for the answer
 *
 * Blocks for VBD_PV_ASK_MS at most. Nothing is asked without memory, and while too many threads
 * ask.
 */
void vbd_pv_ask(const struct vbd_pv_question *question, struct vbd_pv_answer *ret_answer);

/**
 * vbd_pv_tell - ask all of @questions at once, for what they tell: no answer is returned
 * @within_ms: until all are answered, and the longest time that this blocks
 *
 * Returns false if a thread goes on after that: nobody waits for it, and the process is to end by
 * _exit(2), since librdmacm's destructor would free what the thread uses.
 */
bool vbd_pv_tell(
	const struct vbd_pv_question *questions, unsigned int count, unsigned int within_ms);

/*
 * Route and neighbour of an address, from the kernel's tables. A part of the provider (see
 * rdma/provider/provider.h) that does not use the libraries.
 */

/* The route that the kernel would use now for an address. */
struct vbd_pv_netroute {
	int route_errnum;	      /* why there is no route: ENETUNREACH; 0: there is a route */
	bool local;		      /* the address is one of this host */
	char netdev[16];	      /* the outgoing interface; "lo" for a local route */
	uint32_t mtu_bytes;	      /* of netdev, or of the route if smaller */
	struct sockaddr_storage src;  /* ss_family 0: the route names none */
	struct sockaddr_storage next; /* the router, or the address itself */
	bool gateway;		      /* next is a router */
	const char *neighbour; /* "reachable", "stale", "failed" …; "none"; NULL: unknown */
	uint8_t hwaddr[32];
	size_t hwaddr_bytes; /* 0: unknown */
};

/**
 * vbd_pv_find_netroute - route and neighbour of an address, without sending anything
 * @dst: IPv4 or IPv6
 * @src: the source address; NULL or ss_family 0 for any
 *
 * Any thread; blocks while another process configures network interfaces (the kernel's rtnl lock).
 * A missing route is no error.
 */
enum vbd_status vbd_pv_find_netroute(const struct sockaddr *dst, const struct sockaddr *src,
	struct vbd_pv_netroute *ret_netroute, struct vbd_error *err) VBD_MUST_CHECK;

/*
 * Changes of the kernel's table of neighbours. They wake no thread: a caller that is about to rely
 * on an entry asks whether one was lost since its last call.
 *
 * Any thread; nothing blocks.
 */

/** vbd_pv_neighbours_watch - begin to watch the table; returns a file descriptor, or -1 if the
 * kernel gives none. close(2) it. */
int vbd_pv_neighbours_watch(void);

/**
 * vbd_pv_neighbours_lost - was an entry deleted, or did one become invalid, since the last call?
 * @watch: of vbd_pv_neighbours_watch(); with -1 the answer is true
 *
 * True also if there were more news than the socket holds.
 */
bool vbd_pv_neighbours_lost(int watch);

#endif
