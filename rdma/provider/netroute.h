/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Route and neighbour of an address, from the kernel's tables. A part of the provider (see
 * rdma/provider/provider.h) that does not use the libraries.
 */
#ifndef VBD_RDMA_PROVIDER_NETROUTE_H
#define VBD_RDMA_PROVIDER_NETROUTE_H

#include "base/attr.h"
#include "base/error.h"

#include <sys/socket.h>

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
 * News of the kernel's table of neighbours. Nothing wakes anybody: who is about to rely on an entry
 * asks whether one was lost since.
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
