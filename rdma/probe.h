/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe: so many pings, one behind the other, over a connection that is the client of its
 * service.
 *
 * The control thread makes it, hands it to the connection's worker, and gets it back ended, exactly
 * once. While the worker has it, control reads only the counters and the fixed members.
 */
#ifndef VBD_RDMA_PROBE_H
#define VBD_RDMA_PROBE_H

#include "base/counter.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/mailbox.h"
#include "rdma/worker.h"

#include <stdbool.h>
#include <stdint.h>

struct vbd_channel;

struct vbd_probe {
	/* fixed before it is handed over */
	uint64_t id;
	struct vbd_channel *channel;			   /* its service is RPING_CLIENT */
	uint32_t count;					   /* pings, 1 or more */
	uint32_t size_bytes;				   /* 2 to VBD_RPING_BYTES_MAX */
	void (*ended)(struct vbd_probe *probe, void *arg); /* memory is the caller's again */
	void *arg;

	/* control */
	bool stop_sent; /* mail_stop is on its way or back */
	bool stop_back;
	bool ended_back;

	/* letters */
	struct vbd_mail mail_start;
	struct vbd_mail mail_stop;
	struct vbd_mail mail_ended;

	/* worker */
	bool stopping;

	/* the worker writes, anybody reads; complete once it has ended */
	struct vbd_counter sent;
	struct vbd_counter completed;
	struct vbd_counter mismatched; /* completed, but other bytes came back */
	struct vbd_counter ended_ns;
	struct vbd_histogram rtt_ns;
	struct vbd_error error; /* read it once it has ended; none: all pings are done */
};

/** vbd_probe_start - control; hand it over. The channel is attached and no other probe runs on it.
 */
void vbd_probe_start(struct vbd_probe *probe);

/** vbd_probe_stop - control; it ends behind the ping that is under way. Harmless when it has. */
void vbd_probe_stop(struct vbd_probe *probe);

/** vbd_probe_on_letter - the fabric's way in: PROBE_ENDED or PROBE_STOP_SEEN */
void vbd_probe_on_letter(struct vbd_probe *probe, enum vbd_control_letter letter);

#endif
