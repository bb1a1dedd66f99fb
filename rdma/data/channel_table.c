/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/worker.h"

#include "rdma/data/channel.h"
#include "rdma/data/channel_parts.h"
#include "rdma/names/wr_id.h"

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

static void posted(struct vbd_op_counters *counters, bool signalled)
{
	vbd_counter_add(&counters->posted, 1);
	if (signalled)
		vbd_counter_add(&counters->signalled, 1);
}

static void completed(struct vbd_op_counters *counters, uint64_t length_bytes)
{
	vbd_counter_add(&counters->completed, 1);
	vbd_counter_add(&counters->bytes, length_bytes);
}

void vbd_channel_count_posted(struct vbd_channel *channel, enum vbd_op op, bool signalled)
{
	posted(&channel->ops[op], signalled);
	if (channel->known)
		posted(&channel->worker->op_totals[op], signalled);
}

void vbd_channel_count_first_receives(struct vbd_channel *channel)
{
	struct vbd_op_counters *totals = &channel->worker->op_totals[VBD_OP_RECV];

	vbd_counter_add(&totals->posted, channel->rq_outstanding);
	vbd_counter_add(&totals->signalled, channel->rq_outstanding);
}

void vbd_channel_count_completed(struct vbd_channel *channel, enum vbd_op op, uint64_t length_bytes)
{
	completed(&channel->ops[op], length_bytes);
	completed(&channel->worker->op_totals[op], length_bytes);
}

void vbd_channel_count_failed(struct vbd_channel *channel, enum vbd_op op)
{
	vbd_counter_add(&channel->ops[op].errors, 1);
	vbd_counter_add(&channel->worker->op_totals[op].errors, 1);
}

void vbd_channel_count_flushed(struct vbd_channel *channel, enum vbd_op op, uint64_t n)
{
	vbd_counter_add(&channel->ops[op].flushed, n);
	if (channel->known)
		vbd_counter_add(&channel->worker->op_totals[op].flushed, n);
}

uint32_t vbd_channel_own_receives(const struct vbd_channel_limits *limits)
{
	return limits->srq ? 0 : limits->rq_depth;
}

static enum vbd_status no_memory(struct vbd_error *err)
{
	return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the queues");
}

enum vbd_status vbd_channel_need_recv_slots(struct vbd_channel *channel, struct vbd_error *err)
{
	uint32_t count = vbd_channel_own_receives(&channel->limits);
	struct vbd_recv_slot *slots;

	if (channel->recv_slots)
		return VBD_OK;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return no_memory(err);
	for (uint32_t i = 0; i < count; i++) {
		slots[i].channel = channel;
		slots[i].index = i;
	}
	channel->recv_slots = slots;
	return VBD_OK;
}

enum vbd_status vbd_channel_need_send_slots(struct vbd_channel *channel, struct vbd_error *err)
{
	if (!channel->send_slots)
		channel->send_slots =
			calloc(channel->limits.sq_depth, sizeof(*channel->send_slots));
	return channel->send_slots ? VBD_OK : no_memory(err);
}

enum vbd_status vbd_channel_make_echo_ring(struct vbd_channel *channel, struct vbd_error *err)
{
	if (channel->limits.service != VBD_SERVICE_ECHO)
		return VBD_OK;
	channel->echo_ring = calloc(channel->limits.rq_depth, sizeof(*channel->echo_ring));
	return channel->echo_ring ? VBD_OK : no_memory(err);
}

void vbd_channel_free_slots(struct vbd_channel *channel)
{
	free(channel->recv_slots);
	free(channel->send_slots);
	free(channel->echo_ring);
}
