/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/worker.h"

#include "rdma/device/cq.h"
#include "rdma/names/wr_id.h"

/* The table of channels grows in steps of this many indexes. */
#define INDEX_STEP 64

/* The table of channels. */

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

static bool lengthen_table(struct vbd_channel_table *table, uint32_t index)
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
	if (index >= table->channels_len && !lengthen_table(table, index))
		return false;
	table->channels[index] = channel;
	return true;
}

void vbd_channel_table_clear(struct vbd_channel_table *table, uint32_t index)
{
	if (index < table->channels_len)
		table->channels[index] = NULL;
}

/* The worker. */

void vbd_worker_send(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command)
{
	item->kind = command;
	vbd_mailbox_send(&worker->inbox, item);
}

/* The control thread is the only sender of a worker's inbox, as vbd_mailbox_leave() demands. */
void vbd_worker_leave(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command)
{
	item->kind = command;
	vbd_mailbox_leave(&worker->inbox, item);
}

void vbd_worker_notify(struct vbd_worker *worker, struct vbd_mailbox_item *item,
	enum vbd_notification notification)
{
	item->kind = notification;
	vbd_mailbox_send(worker->control, item);
}

void vbd_worker_faults_ended(struct vbd_worker *worker)
{
	if (!atomic_exchange(&worker->release_sent, true))
		vbd_worker_send(worker, &worker->release_command, VBD_WORKER_RELEASE_WITHHELD);
}

void vbd_worker_poll_on(struct vbd_worker *worker, struct vbd_cq *cq)
{
	vbd_list_remove(&cq->active_link);
	vbd_list_append(&worker->active_cqs, &cq->active_link);
}
