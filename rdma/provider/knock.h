/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the host at an address live, does it take RDMA packets, and do large packets reach it?
 * Datagrams to it, and what ICMP answers; and a question to its connection manager
 * (rdma/provider/ask.h). A part of the provider (see rdma/provider/provider.h).
 */
#ifndef VBD_RDMA_PROVIDER_KNOCK_H
#define VBD_RDMA_PROVIDER_KNOCK_H

#include "rdma/provider/ask.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* An answer proves what it says; no answer proves nothing, since a firewall may drop either. */
struct vbd_pv_knock {
	bool done;	   /* somebody knocked */
	bool answered;	   /* the host answered that a port is closed: it is up */
	uint64_t rtt_ns;   /* of the first answer */
	bool refused;	   /* that port was 4791, which every device of RoCE v2 has */
	bool forbidden;	   /* this host let no datagram out to that port */
	char firewall[48]; /* somebody at this address forbids datagrams to that port; "": nobody */
	bool large_lost;   /* a small datagram was answered, and none of the large ones */
	bool asked;	   /* a question to its connection manager has left */
	bool cm_answered;
};

/**
 * vbd_pv_knock - ask the connection manager of a host; send an empty datagram to its UDP port 4791,
 * which a device of RoCE v2 drops, and one to a port that is hardly ever open
 * @question:    from where, to which host, and what its verbsd is asked
 * @own:         the host is this one, which lives: the connection manager is asked, and no more
 * @large_bytes: two of this length go to another closed port, and are not to be cut in parts; 0:
 *               none
 *
 * Any thread; blocks for 1.5 s at most.
 */
void vbd_pv_knock(const struct vbd_pv_question *question, bool own, size_t large_bytes,
	struct vbd_pv_knock *ret_knock, struct vbd_pv_answer *ret_answer);

#endif
