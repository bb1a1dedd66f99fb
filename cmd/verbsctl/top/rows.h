/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of `top`: one for each connection, built from the server's lists, with rates from this
 * snapshot and the one before. Pure: no server, no terminal, no clock.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_ROWS_H
#define VBD_CMD_VERBSCTL_TOP_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that may be unknown. */
struct vbd_ctl_maybe {
	bool known;
	double value;
};

/* One connection. The row owns its texts, which are safe for a terminal and never NULL. */
struct vbd_ctl_row {
	uint64_t id;
	char *name; /* "-" if there is none; also for the other texts */
	char *state;
	char *peer;
	char *device;
	char *end_code;
	bool ended;

	uint64_t sent_bytes; /* of this side's completed work requests, as in `verbsctl ls` */
	uint64_t received_bytes;
	uint64_t completed;

	/* Per second, since the snapshot before; unknown in the first one. */
	struct vbd_ctl_maybe sent_rate;
	struct vbd_ctl_maybe received_rate;
	struct vbd_ctl_maybe completed_rate;

	struct vbd_ctl_maybe cq_share; /* outstanding part of the capacity of its CQ, 0 to 1 */
	struct vbd_ctl_maybe rtt_ns;   /* last round trip of a probe */
	struct vbd_ctl_maybe rtt_p99_ns;
};

/* One snapshot of all connections, ordered by id. */
struct vbd_ctl_rows {
	struct vbd_ctl_row *items;
	size_t count;
	uint64_t at_ns;	  /* monotonic time of the answer */
	double sent_rate; /* sum over all rows, per second */
	double received_rate;
};

/**
 * vbd_ctl_rows_init - build the rows of a snapshot
 * @connections: array of connections; an item without an id is left out
 * @cqs:         array of completion queues, or NULL
 * @at_ns:       monotonic time of the answer
 * @before:      the snapshot before, of the same run of the daemon; NULL for none. If it is very
 *               recent, its rates are copied.
 * @ret_rows:    free it with vbd_ctl_rows_fini()
 */
void vbd_ctl_rows_init(const json_t *connections, const json_t *cqs, uint64_t at_ns,
	const struct vbd_ctl_rows *before, struct vbd_ctl_rows *ret_rows);

/** vbd_ctl_rows_fini - free; a zeroed struct is allowed */
void vbd_ctl_rows_fini(struct vbd_ctl_rows *rows);

/** vbd_ctl_rows_find - the row of a connection; NULL if there is none */
const struct vbd_ctl_row *vbd_ctl_rows_find(const struct vbd_ctl_rows *rows, uint64_t id);

/**
 * vbd_ctl_row_matches - whether any text of the row, or its id, contains @filter
 * @filter: case is ignored; "" matches every row
 */
bool vbd_ctl_row_matches(const struct vbd_ctl_row *row, const char *filter);

#endif
