/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heartbeat of a connection: a write of 0 bytes when the peer has given no sign of life for an
 * interval. If the peer's device does not acknowledge it within two more, the connection has ended
 * with the status peer_silent.
 *
 * A sign of life is a message of the peer, or its acknowledgement of a request. A heartbeat is only
 * sent while nothing else is outstanding: the device itself notices that a request is not
 * acknowledged. It shows that the peer's host and queue pair live, not that its program does.
 *
 * Time is CLOCK_MONOTONIC. The worker keeps it: no command or notification is sent for a heartbeat.
 */
#ifndef VBD_RDMA_DATA_HEARTBEAT_H
#define VBD_RDMA_DATA_HEARTBEAT_H

#include "rdma/data/worker.h"

struct vbd_channel;

/* The shortest interval: a peer under load takes longer to answer than a shorter one allows. */
#define VBD_HEARTBEAT_MS_MIN 100

/* Heartbeats that a worker takes care of in a turn, before completions and commands have theirs. */
#define VBD_HEARTBEATS_A_TURN 64

struct vbd_heartbeat {
	struct vbd_worker *worker;   /* the channel's */
	struct vbd_channel *channel; /* RC, not iWARP */
	uint64_t interval_ns;
	struct vbd_mailbox_item start_command; /* once after each attach, when it is established */

	/* worker */
	struct vbd_heap_node due; /* the worker's heap; its key is the time to look again, in ns */
	uint64_t alive_ns;	  /* when the last sign of life came */
	bool under_way;		  /* a heartbeat is not acknowledged yet */

	struct vbd_heartbeat_counters counters;
};

/*
 * The worker's side. Only the worker calls these.
 */

/** vbd_heartbeat_started - handle the start command */
void vbd_heartbeat_started(struct vbd_heartbeat *heartbeat);

/** vbd_heartbeat_alive - the peer gave a sign of life */
void vbd_heartbeat_alive(struct vbd_heartbeat *heartbeat);

/** vbd_heartbeat_answered - its write has completed */
void vbd_heartbeat_answered(struct vbd_heartbeat *heartbeat);

/** vbd_heartbeat_look_again - let it be due at @at_ns, CLOCK_MONOTONIC; it waits for nothing yet */
void vbd_heartbeat_look_again(struct vbd_heartbeat *heartbeat, uint64_t at_ns);

#endif
