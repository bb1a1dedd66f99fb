/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/slab.h"

#include "base/counter.h"
#include "rdma/device/device.h"
#include "rdma/device/mem.h"
#include "rdma/device/pd.h"

#include <pthread.h>

struct vbd_slab {
	struct vbd_link link; /* the PD's list: those with room before the full ones */
	struct vbd_mem mem;   /* without a reference to the PD: its users have them */
	size_t grain_count, free_count;
	size_t all_taken; /* every grain before this one is taken */
	bool taken[];	  /* of each grain */
};

struct vbd_slabs {
	pthread_mutex_t lock;
	struct vbd_pd *pd;
	size_t slab_bytes; /* a range above half of it has a slab of its own size */
	struct vbd_link list;
	/* written inside the lock, read by any thread */
	struct vbd_counter count, registered_bytes, taken_bytes;
};

static size_t grains_for_bytes(size_t size_bytes)
{
	return (size_bytes + VBD_SLAB_GRAIN_BYTES - 1) / VBD_SLAB_GRAIN_BYTES;
}

static bool is_slab_empty(const struct vbd_slab *slab)
{
	return slab->free_count == slab->grain_count;
}

static void change_counter(struct vbd_counter *counter, size_t less, size_t more)
{
	vbd_counter_set(counter, vbd_counter_get(counter) - less + more);
}

static void remove_slab(struct vbd_slabs *slabs, struct vbd_slab *slab)
{
	vbd_list_remove(&slab->link);
	change_counter(&slabs->count, 1, 0);
	change_counter(&slabs->registered_bytes, slab->mem.size_bytes, 0);
}

static void free_slab(struct vbd_slab *slab)
{
	vbd_mem_unprepare(&slab->mem);
	free(slab);
}

static enum vbd_status make_slab(const struct vbd_slabs *slabs, size_t grains,
	struct vbd_slab **ret_slab, struct vbd_error *err)
{
	struct vbd_slab *slab = calloc(1, sizeof(*slab) + grains * sizeof(slab->taken[0]));
	enum vbd_status status;

	if (!slab)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for receives");
	slab->grain_count = slab->free_count = grains;
	slab->mem.size_bytes = grains * VBD_SLAB_GRAIN_BYTES;
	slab->mem.pd = slabs->pd;
	vbd_list_init(&slab->link);
	status = vbd_mem_prepare(&slab->mem, err);
	if (status)
		free(slab);
	else
		*ret_slab = slab;
	return status;
}

static void add_slab(struct vbd_slabs *slabs, struct vbd_slab *slab)
{
	change_counter(&slabs->count, 0, 1);
	change_counter(&slabs->registered_bytes, 0, slab->mem.size_bytes);
	vbd_list_prepend(&slabs->list, &slab->link);
}

/* The first of @grains free ones in a row; grain_count if there are not so many. */
static size_t find_free_grains(const struct vbd_slab *slab, size_t grains)
{
	size_t row = 0;

	if (slab->free_count < grains)
		return slab->grain_count;
	for (size_t i = slab->all_taken; i < slab->grain_count; i++) {
		row = slab->taken[i] ? 0 : row + 1;
		if (row == grains)
			return i + 1 - grains;
	}
	return slab->grain_count;
}

static bool take_from_slab(struct vbd_slabs *slabs, struct vbd_slab *slab, size_t size_bytes,
	struct vbd_slab_range *ret_range)
{
	size_t grains = grains_for_bytes(size_bytes);
	size_t first = find_free_grains(slab, grains);

	if (first == slab->grain_count)
		return false;
	memset(&slab->taken[first], true, grains);
	if (first == slab->all_taken)
		slab->all_taken += grains;
	slab->free_count -= grains;
	change_counter(&slabs->taken_bytes, 0, grains * VBD_SLAB_GRAIN_BYTES);
	if (slab->free_count == 0) {
		vbd_list_remove(&slab->link);
		vbd_list_append(&slabs->list, &slab->link);
	}
	*ret_range = (struct vbd_slab_range){
		.slab = slab,
		.addr = vbd_mem_own(&slab->mem) + first * VBD_SLAB_GRAIN_BYTES,
		.size_bytes = size_bytes,
		.lkey = slab->mem.lkey,
	};
	return true;
}

static bool take_room(struct vbd_slabs *slabs, size_t size_bytes, struct vbd_slab_range *ret_range)
{
	vbd_list_for_each_of (struct vbd_slab, slab, link, &slabs->list) {
		if (slab->free_count == 0)
			break;
		if (take_from_slab(slabs, slab, size_bytes, ret_range))
			return true;
	}
	return false;
}

static bool needs_own_slab(const struct vbd_slabs *slabs, size_t size_bytes)
{
	return size_bytes > slabs->slab_bytes / 2;
}

/* Large memory takes long to register: outside the lock. */
static enum vbd_status take_own(struct vbd_slabs *slabs, size_t size_bytes,
	struct vbd_slab_range *ret_range, struct vbd_error *err)
{
	struct vbd_slab *slab;
	enum vbd_status status = make_slab(slabs, grains_for_bytes(size_bytes), &slab, err);

	if (status)
		return status;
	(void)pthread_mutex_lock(&slabs->lock);
	add_slab(slabs, slab);
	(void)take_from_slab(slabs, slab, size_bytes, ret_range);
	(void)pthread_mutex_unlock(&slabs->lock);
	return VBD_OK;
}

/* Others that need room wait for the slab, instead of making one each. */
static enum vbd_status take_common(struct vbd_slabs *slabs, size_t size_bytes,
	struct vbd_slab_range *ret_range, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;
	struct vbd_slab *slab;

	(void)pthread_mutex_lock(&slabs->lock);
	if (!take_room(slabs, size_bytes, ret_range)) {
		status = make_slab(slabs, grains_for_bytes(slabs->slab_bytes), &slab, err);
		if (!status) {
			add_slab(slabs, slab);
			(void)take_from_slab(slabs, slab, size_bytes, ret_range);
		}
	}
	(void)pthread_mutex_unlock(&slabs->lock);
	return status;
}

enum vbd_status vbd_slabs_take(struct vbd_slabs *slabs, size_t size_bytes,
	struct vbd_slab_range *ret_range, struct vbd_error *err)
{
	return needs_own_slab(slabs, size_bytes) ? take_own(slabs, size_bytes, ret_range, err)
						 : take_common(slabs, size_bytes, ret_range, err);
}

bool vbd_slabs_try_take(
	struct vbd_slabs *slabs, size_t size_bytes, struct vbd_slab_range *ret_range)
{
	bool taken;

	if (needs_own_slab(slabs, size_bytes) || pthread_mutex_trylock(&slabs->lock) != 0)
		return false;
	taken = take_room(slabs, size_bytes, ret_range);
	(void)pthread_mutex_unlock(&slabs->lock);
	return taken;
}

static bool has_other_empty_slab(const struct vbd_slabs *slabs, const struct vbd_slab *slab)
{
	vbd_list_for_each_of (struct vbd_slab, other, link, &slabs->list) {
		if (other != slab && is_slab_empty(other))
			return true;
	}
	return false;
}

void vbd_slabs_give(struct vbd_slabs *slabs, struct vbd_slab_range *range)
{
	struct vbd_slab *slab = range->slab;
	size_t grains = grains_for_bytes(range->size_bytes);
	bool is_spare;
	size_t first;

	if (!slab)
		return;
	/* The next owner must not find the messages of this one. */
	memset(range->addr, 0, range->size_bytes);
	(void)pthread_mutex_lock(&slabs->lock);
	first = (size_t)(range->addr - vbd_mem_own(&slab->mem)) / VBD_SLAB_GRAIN_BYTES;
	memset(&slab->taken[first], false, grains);
	if (first < slab->all_taken)
		slab->all_taken = first;
	slab->free_count += grains;
	change_counter(&slabs->taken_bytes, grains * VBD_SLAB_GRAIN_BYTES, 0);
	vbd_list_remove(&slab->link);
	vbd_list_prepend(&slabs->list, &slab->link);
	/* Slabs of messages stay: the control thread would have to register another one. */
	is_spare = slabs != slabs->pd->messages && is_slab_empty(slab) &&
		   (needs_own_slab(slabs, range->size_bytes) || has_other_empty_slab(slabs, slab));
	if (is_spare)
		remove_slab(slabs, slab);
	(void)pthread_mutex_unlock(&slabs->lock);
	if (is_spare)
		free_slab(slab);
	*range = (struct vbd_slab_range){0};
}

struct vbd_slab_use vbd_slabs_use(const struct vbd_slabs *slabs)
{
	return (struct vbd_slab_use){
		.slabs = (unsigned int)vbd_counter_get(&slabs->count),
		.registered_bytes = vbd_counter_get(&slabs->registered_bytes),
		.taken_bytes = vbd_counter_get(&slabs->taken_bytes),
	};
}

static void destroy_slabs(struct vbd_slabs *slabs)
{
	vbd_list_for_each_of (struct vbd_slab, slab, link, &slabs->list) {
		vbd_list_remove(&slab->link);
		free_slab(slab);
	}
	(void)pthread_mutex_destroy(&slabs->lock);
	free(slabs);
}

static enum vbd_status create_slabs(
	struct vbd_pd *pd, size_t slab_bytes, struct vbd_slabs **slabs, struct vbd_error *err)
{
	if (*slabs)
		return VBD_OK;
	*slabs = calloc(1, sizeof(**slabs));
	if (!*slabs)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for receives");
	(void)pthread_mutex_init(&(*slabs)->lock, NULL);
	vbd_list_init(&(*slabs)->list);
	(*slabs)->pd = pd;
	(*slabs)->slab_bytes = slab_bytes;
	pd->destroy_slabs = destroy_slabs;
	return VBD_OK;
}

enum vbd_status vbd_slabs_create(struct vbd_pd *pd, struct vbd_error *err)
{
	return create_slabs(pd, VBD_SLAB_BYTES, &pd->slabs, err);
}

enum vbd_status vbd_message_take(struct vbd_pd *pd, size_t size_bytes,
	struct vbd_slab_range *ret_range, struct vbd_error *err)
{
	enum vbd_status status = create_slabs(pd, VBD_MESSAGE_SLAB_BYTES, &pd->messages, err);

	if (status)
		return status;
	if (pd->messages_in_flight == VBD_MESSAGES_MAX) {
		if (err && err->status == VBD_OK)
			err->limit = VBD_MESSAGES_MAX;
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS,
			"device %s has %d messages in flight, the limit", pd->device->name,
			VBD_MESSAGES_MAX);
	}
	status = vbd_slabs_take(pd->messages, size_bytes, ret_range, err);
	if (!status)
		pd->messages_in_flight++;
	return status;
}

void vbd_message_give(struct vbd_pd *pd, struct vbd_slab_range *range)
{
	if (!range->slab)
		return;
	vbd_slabs_give(pd->messages, range);
	pd->messages_in_flight--;
}
