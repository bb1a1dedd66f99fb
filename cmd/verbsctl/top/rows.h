/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `top` knows of the connections: one row each, out of the lists that the server answered,
 * with rates from this look and the one before. Pure: no server, no terminal, no clock.
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

/* One connection. Texts are harmless for a terminal, never NULL, and the row's own. */
struct vbd_ctl_row {
	uint64_t id;
	char *name; /* "-" for none, as in every text here */
	char *state;
	char *peer;
	char *device;
	char *reason;
	bool ended;

	uint64_t sent_bytes; /* by completed work requests of this side, as `verbsctl ls` has it */
	uint64_t received_bytes;
	uint64_t completed;

	/* Per second, between two looks; unknown at the first one. */
	struct vbd_ctl_maybe sent_rate;
	struct vbd_ctl_maybe received_rate;
	struct vbd_ctl_maybe completed_rate;

	struct vbd_ctl_maybe cq_share; /* 0 to 1: outstanding of its CQ's capacity */
	struct vbd_ctl_maybe rtt_ns;   /* the last round trip of a probe */
	struct vbd_ctl_maybe rtt_p99_ns;
};

/* One look at all of them, ordered by id. */
struct vbd_ctl_rows {
	struct vbd_ctl_row *items;
	size_t count;
	uint64_t at_ns;	  /* monotonic, when the answer came */
	double sent_rate; /* sums, per second */
	double received_rate;
};

/**
 * vbd_ctl_rows_init - rows of what the server answered
 * @connections: array of connections; anything that is none is left out
 * @cqs:         array of completion queues, or NULL
 * @at_ns:       when it answered, monotonic
 * @before:      the look before this one, of the same run of the daemon, not later; NULL for none.
 *               One of just now has its rates taken over.
 * @ret_rows:    fini it
 */
void vbd_ctl_rows_init(const json_t *connections, const json_t *cqs, uint64_t at_ns,
	const struct vbd_ctl_rows *before, struct vbd_ctl_rows *ret_rows);

/** vbd_ctl_rows_fini - takes one that is zeroed, too */
void vbd_ctl_rows_fini(struct vbd_ctl_rows *rows);

/** vbd_ctl_rows_find - the row of a connection; NULL if there is none */
const struct vbd_ctl_row *vbd_ctl_rows_find(const struct vbd_ctl_rows *rows, uint64_t id);

/**
 * vbd_ctl_row_matches - does any text of the row, or its id, contain @filter?
 * @filter: "" matches all; capitals and small letters are the same
 */
bool vbd_ctl_row_matches(const struct vbd_ctl_row *row, const char *filter);

#endif
