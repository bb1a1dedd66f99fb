/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe: pings over a connection, each timed, one under way at a time; so many, or until it is
 * stopped; one behind the other, or at an interval.
 *
 * The control thread makes it, hands it to the connection's worker, and gets it back ended, exactly
 * once. While the worker has it, control reads only the counters and the fixed members. The worker
 * knows by itself when the next ping is due: no command or notification is sent for it.
 */
#ifndef VBD_RDMA_DATA_PROBE_H
#define VBD_RDMA_DATA_PROBE_H

#include "base/counter.h"
#include "base/enum.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "rdma/data/worker_messages.h"

#include <stdbool.h>
#include <stdint.h>

struct vbd_channel;
struct vbd_recv_slot;

/* X(SYMBOL, json name) */
#define VBD_PROBE_KIND_MAP(X)                                                                    \
	X(VBD_PROBE_ACK, "ack") /* a write of no bytes, which the peer's device acknowledges */  \
	X(VBD_PROBE_RPING, "rping") /* rping's: the peer reads the bytes and writes them back */ \
	X(VBD_PROBE_ECHO, "echo")   /* a message that the peer's service sends back */

/* Of ECHO: what tells a ping from other messages. */
#define VBD_ECHO_BYTES_MIN 16
/* Work requests carry it themselves. */
#define VBD_ECHO_BYTES_MAX 1024

enum vbd_probe_kind { VBD_PROBE_KIND_MAP(VBD_ENUM_ROW) VBD_PROBE_KIND_COUNT };

/** vbd_probe_kind_name - "ack" */
const char *vbd_probe_kind_name(enum vbd_probe_kind kind);

/* The worker writes, anybody reads. */
struct vbd_probe_counters {
	struct vbd_counter sent;
	struct vbd_counter completed;
	struct vbd_counter late; /* not back when the next was due, which is left out then */
	struct vbd_counter lost; /* never came back */
	struct vbd_histogram rtt_ns;
};

/** vbd_probe_counters_add - for a sum of them; @counters is the caller's own */
void vbd_probe_counters_add(
	struct vbd_probe_counters *counters, const struct vbd_probe_counters *other);

struct vbd_probe {
	/* fixed before it is handed over */
	uint64_t id;
	enum vbd_probe_kind kind;
	struct vbd_channel
		*channel;     /* RPING: its service is RPING_CLIENT. ECHO: SINK. ACK: it is RC. */
	uint32_t count;	      /* pings; 0: until it is stopped */
	uint64_t interval_ns; /* from ping to ping; 0: as soon as one is back */
	uint32_t size_bytes; /* RPING: VBD_RPING_BYTES_MIN to _MAX. ECHO: as above, and no more than
			      * the channel carries inline. */
	void (*ended)(struct vbd_probe *probe, void *arg); /* memory is the caller's again */
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
	struct vbd_link due_link; /* the worker's list while a ping is to come at an interval */
	uint64_t due_ns;
	uint32_t begun;	    /* pings, that which is owed too */
	bool owed;	    /* a ping waits for a send slot */
	bool under_way;	    /* a ping is not back */
	bool counted_late;  /* it is counted as late */
	uint64_t number;    /* of the channel's pings: that which is under way */
	uint64_t posted_ns; /* the same */
	uint64_t jitter_16; /* 16 times the jitter */
	bool stopping;

	/* the worker writes, anybody reads; complete once it has ended */
	struct vbd_probe_counters counters;
	struct vbd_counter mismatched; /* completed, but other bytes came back */
	struct vbd_counter last_ns;    /* the newest round trip; 0 before the first */
	struct vbd_counter
		jitter_ns; /* as RFC 3550, 6.4.1 smooths the change from one to another */
	struct vbd_counter ended_ns;
	struct vbd_error error; /* read it once it has ended; none: all pings are over */
};

/** vbd_probe_start - control; hand it over. The channel is attached and no other probe runs on it.
 */
void vbd_probe_start(struct vbd_probe *probe);

/** vbd_probe_stop - control; RPING ends behind the ping that is under way, the others at once.
 * Harmless when it has ended. */
void vbd_probe_stop(struct vbd_probe *probe);

/** vbd_probe_on_notification - the fabric's way in: PROBE_ENDED or PROBE_STOP_SEEN */
void vbd_probe_on_notification(struct vbd_probe *probe, enum vbd_notification notification);

/*
 * The channel's worker.
 */

/** vbd_probe_started - its start command: the first ping */
void vbd_probe_started(struct vbd_probe *probe);

/** vbd_probe_stopping - its stop command */
void vbd_probe_stopping(struct vbd_probe *probe);

/** vbd_probe_received - a message came to the service SINK: maybe a ping of kind ECHO, sent back */
void vbd_probe_received(struct vbd_channel *channel, const struct vbd_recv_slot *slot);

/** vbd_probes_run_due - send the pings whose time has come */
void vbd_probes_run_due(struct vbd_worker *worker);

/** vbd_probes_wait_ms - how long the worker may sleep; -1: no probe wants to wake it */
int vbd_probes_wait_ms(const struct vbd_worker *worker);

#endif
