/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's table of channels by index. Every wr_id contains an index and the generation of its
 * use, so that a late completion does not find the index's next owner. A shared receive queue
 * reserves an index too, whose channel is NULL.
 *
 * The control thread reserves indexes; only the worker uses the channels.
 */
#ifndef VBD_RDMA_DATA_CHANNEL_TABLE_H
#define VBD_RDMA_DATA_CHANNEL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct vbd_channel;

/* Zeroed, it is an empty table. */
struct vbd_channel_table {
	/* control */
	uint32_t *free_indexes;
	uint16_t *generations; /* of each index, incremented at every use */
	uint32_t free_count;
	uint32_t index_count;

	/* worker */
	struct vbd_channel **channels; /* by index */
	uint32_t channels_len;
};

/** vbd_channel_table_fini - free its memory; no thread uses the table any more */
void vbd_channel_table_fini(struct vbd_channel_table *table);

/** vbd_channel_table_reserve - control; an index and its generation; false without memory */
bool vbd_channel_table_reserve(
	struct vbd_channel_table *table, uint32_t *ret_index, uint16_t *ret_generation);

/** vbd_channel_table_renew - control; the next generation of a reserved index */
uint16_t vbd_channel_table_renew(struct vbd_channel_table *table, uint32_t index);

/** vbd_channel_table_release - control; nothing uses the index any more */
void vbd_channel_table_release(struct vbd_channel_table *table, uint32_t index);

/** vbd_channel_table_set - worker; route completions with @index to @channel; false: no memory */
bool vbd_channel_table_set(
	struct vbd_channel_table *table, uint32_t index, struct vbd_channel *channel);

/** vbd_channel_table_clear - worker; ignore completions with @index from now on */
void vbd_channel_table_clear(struct vbd_channel_table *table, uint32_t index);

/** vbd_channel_table_at - worker; the channel that posted @wr_id; NULL if it is gone */
struct vbd_channel *vbd_channel_table_at(const struct vbd_channel_table *table, uint64_t wr_id);

#endif
