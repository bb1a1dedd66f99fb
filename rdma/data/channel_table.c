/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/worker.h"

#include "rdma/data/channel.h"
#include "rdma/names/wr_id.h"

#include <stdlib.h>

/* The table grows in steps of this many indexes. */
#define INDEX_STEP 64

void vbd_channel_table_fini(struct vbd_channel_table *table)
{
	free(table->free_indexes);
	free(table->generations);
	free(table->channels);
}

static bool add_indexes(struct vbd_channel_table *table)
{
	uint32_t count = table->index_count + INDEX_STEP;
	uint16_t *generations;
	uint32_t *indexes;

	if (count > VBD_WR_INDEX_MAX)
		return false;
	indexes = reallocarray(table->free_indexes, count, sizeof(*indexes));
	if (!indexes)
		return false;
	table->free_indexes = indexes;
	generations = reallocarray(table->generations, count, sizeof(*generations));
	if (!generations)
		return false;
	table->generations = generations;
	for (uint32_t i = count; i-- > table->index_count;) {
		generations[i] = 0;
		indexes[table->free_count++] = i;
	}
	table->index_count = count;
	return true;
}

bool vbd_channel_table_reserve(
	struct vbd_channel_table *table, uint32_t *ret_index, uint16_t *ret_generation)
{
	uint32_t index;

	if (!table->free_count && !add_indexes(table))
		return false;
	index = table->free_indexes[--table->free_count];
	*ret_index = index;
	*ret_generation = ++table->generations[index];
	return true;
}

uint16_t vbd_channel_table_renew(struct vbd_channel_table *table, uint32_t index)
{
	return ++table->generations[index];
}

void vbd_channel_table_release(struct vbd_channel_table *table, uint32_t index)
{
	table->free_indexes[table->free_count++] = index;
}

static bool lengthen(struct vbd_channel_table *table, uint32_t index)
{
	uint32_t len = (index / INDEX_STEP + 1) * INDEX_STEP;
	struct vbd_channel **channels =
		reallocarray(table->channels, len, sizeof(struct vbd_channel *));

	if (!channels)
		return false;
	for (uint32_t i = table->channels_len; i < len; i++)
		channels[i] = NULL;
	table->channels = channels;
	table->channels_len = len;
	return true;
}

bool vbd_channel_table_set(
	struct vbd_channel_table *table, uint32_t index, struct vbd_channel *channel)
{
	if (index >= table->channels_len && !lengthen(table, index))
		return false;
	table->channels[index] = channel;
	return true;
}

void vbd_channel_table_clear(struct vbd_channel_table *table, uint32_t index)
{
	if (index < table->channels_len)
		table->channels[index] = NULL;
}

struct vbd_channel *vbd_channel_table_at(const struct vbd_channel_table *table, uint64_t wr_id)
{
	uint32_t index = vbd_wr_id_index(wr_id);
	struct vbd_channel *channel = index < table->channels_len ? table->channels[index] : NULL;

	if (!channel || channel->generation != vbd_wr_id_generation(wr_id))
		return NULL;
	return channel;
}
