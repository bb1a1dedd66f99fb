/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe: timed pings over a connection, one under way at a time; a number of them, or until it is
 * stopped; back to back, or at an interval.
 *
 * The control thread makes it, passes it to the connection's worker, and gets it back ended,
 * exactly once. While the worker has it, control reads only the counters and the fixed members. The
 * worker keeps the time of the next ping: no command or notification is sent for a ping.
 */
#ifndef VBD_RDMA_DATA_PROBE_H
#define VBD_RDMA_DATA_PROBE_H

#include "base/histogram.h"
#include "rdma/data/worker.h"

struct vbd_channel;
struct vbd_recv_slot;

/* X(SYMBOL, json name) */
#define VBD_PROBE_KIND_MAP(X)                                                                      \
	X(VBD_PROBE_ACK, "ack")	    /* a write of 0 bytes, which the peer's device acknowledges */ \
	X(VBD_PROBE_RPING, "rping") /* rping: the peer reads the bytes and writes them back */     \
	X(VBD_PROBE_ECHO, "echo")   /* a message that the peer's service sends back */

/* ECHO: size of the mark and the number that identify a ping. */
#define VBD_ECHO_BYTES_MIN 16
/* The bytes are inline in the work request. */
#define VBD_ECHO_BYTES_MAX 1024

enum vbd_probe_kind { VBD_PROBE_KIND_MAP(VBD_ENUM_ROW) VBD_PROBE_KIND_COUNT };

/** vbd_probe_kind_name - "ack" */
const char *vbd_probe_kind_name(enum vbd_probe_kind kind);

/* The worker writes, any thread reads. */
struct vbd_probe_counters {
	struct vbd_counter sent;
	struct vbd_counter completed;
	struct vbd_counter late; /* still under way when the next was due, which is skipped then */
	struct vbd_counter lost; /* never came back */
	struct vbd_histogram rtt_ns;
};

/** vbd_probe_counters_add - add @counters to a sum; @counters is the caller's own */
void vbd_probe_counters_add(
	struct vbd_probe_counters *counters, const struct vbd_probe_counters *other);

struct vbd_probe {
	/* fixed before it is handed over */
	uint64_t id;
	enum vbd_probe_kind kind;
	struct vbd_channel
		*channel;     /* RPING: its service is RPING_CLIENT. ECHO: SINK. ACK: it is RC. */
	uint32_t count;	      /* pings; 0: until it is stopped */
	uint64_t interval_ns; /* from ping to ping; 0: the next follows at once */
	uint32_t size_bytes;  /* RPING: VBD_RPING_BYTES_MIN to _MAX. ECHO: as above, and at most the
				 channel's inline_bytes. */
	void (*ended)(struct vbd_probe *probe, void *arg); /* the caller may free @probe */
	void *arg;

	/* control */
	bool stop_sent; /* stop_command is on its way or back */
	bool stop_back;
	bool ended_back;

	/* mailbox items */
	struct vbd_mailbox_item start_command;
	struct vbd_mailbox_item stop_command;
	struct vbd_mailbox_item ended_notification;

	/* worker */
	struct vbd_heap_node due; /* the worker's heap while the next ping waits for its time */
	uint32_t begun;		  /* pings, with the owed one */
	bool owed;		  /* a ping waits for a send slot */
	bool under_way;		  /* a ping has not come back yet */
	bool counted_late;	  /* the ping under way is counted as late */
	uint64_t number;	  /* of the ping under way, over all pings of the channel */
	uint64_t posted_ns;	  /* of the ping under way */
	uint64_t jitter_16;	  /* 16 times the jitter */
	bool stopping;

	/* the worker writes, any thread reads; complete once the probe has ended */
	struct vbd_probe_counters counters;
	struct vbd_counter mismatched; /* completed, but other bytes came back */
	struct vbd_counter last_ns;    /* the newest round trip; 0 before the first */
	struct vbd_counter jitter_ns;  /* of the round trips, smoothed as in RFC 3550, 6.4.1 */
	struct vbd_counter ended_ns;
	struct vbd_error error; /* read it after the end; none: all pings have ended */
};

/** vbd_probe_start - control; pass it to the worker of the attached channel without a probe */
void vbd_probe_start(struct vbd_probe *probe);

/** vbd_probe_stop - control; RPING ends after the ping that is under way, the others at once.
 * Harmless after the end. */
void vbd_probe_stop(struct vbd_probe *probe);

/** vbd_probe_on_notification - called by the fabric: PROBE_ENDED or PROBE_STOP_SEEN */
void vbd_probe_on_notification(struct vbd_probe *probe, enum vbd_notification notification);

/*
 * The channel's worker.
 */

/** vbd_probe_started - handle the start command: send the first ping */
void vbd_probe_started(struct vbd_probe *probe);

/** vbd_probe_stopping - handle the stop command */
void vbd_probe_stopping(struct vbd_probe *probe);

/** vbd_probe_received - a message for the service SINK: maybe an ECHO ping that came back */
void vbd_probe_received(struct vbd_channel *channel, const struct vbd_recv_slot *slot);

/** vbd_probes_run_due - send the pings that are due */
void vbd_probes_run_due(struct vbd_worker *worker);

#endif
