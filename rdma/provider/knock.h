/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the host at an address live, and does it take RDMA packets? Two empty datagrams to it, and
 * what ICMP answers. A part of the provider (see rdma/provider/provider.h) that does not use the
 * libraries.
 */
#ifndef VBD_RDMA_PROVIDER_KNOCK_H
#define VBD_RDMA_PROVIDER_KNOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An answer proves what it says; no answer proves nothing, since a firewall may drop either. */
struct vbd_pv_knock {
	bool done;	 /* somebody knocked */
	bool answered;	 /* the host answered that a port is closed: it is up */
	uint64_t rtt_ns; /* of the first answer */
	bool refused;	 /* that port was 4791, which every device of RoCE v2 has */
	bool forbidden;	 /* this host let no datagram out to that port */
};

/**
 * vbd_pv_knock - send an empty datagram to UDP 4791 of a host, which a device of RoCE v2 drops, and
 * one to a port that is hardly ever open
 * @src: the source address; its port does not count. ss_family 0: any
 *
 * Any thread; blocks for at most a second.
 */
void vbd_pv_knock(const struct sockaddr_storage *src, const struct sockaddr_storage *dst,
	struct vbd_pv_knock *ret_knock);

#endif
