/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of /v1/stats with their names. The rows of the table come in the same order each time,
 * with a few more when a device is added. So the text of a name is made once, and found by its
 * place.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_STAT_NAMES_H
#define VBD_API_RESOURCES_STAT_NAMES_H

#include "daemon/observe/stats.h"

struct vbd_encoder;

/* Rows in the order of the last walk. Zeroed: none. */
struct vbd_stat_names {
	struct vbd_stat_row *rows;
	size_t n_rows, room_rows;
	char *texts; /* of all rows, each with its NUL */
	size_t texts_bytes, room_bytes;
};

/* A walk over all rows. */
struct vbd_stat_writer {
	struct vbd_stat_names *names;
	struct vbd_encoder *out;
	size_t at;    /* the next row */
	uint64_t tag; /* of the names and values that do not change by themselves */
};

/** vbd_stat_write - put the values of a row, and take them into the tag. A lack of memory is a
 * failure of the encoder; for vbd_stats_walk(), @writer is a struct vbd_stat_writer */
void vbd_stat_write(const struct vbd_stat *stat, void *writer);

/** vbd_stat_names_fini - free all names */
void vbd_stat_names_fini(struct vbd_stat_names *names);

#endif
