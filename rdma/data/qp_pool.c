/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/qp_pool.h"

#include "base/clock.h"
#include "base/log.h"
#include "rdma/data/calls.h"
#include "rdma/data/srq.h"
#include "rdma/device/cq.h"
#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/provider/provider.h"

#include <stdlib.h>

/* One call makes or destroys at most so many, so that others on its lane wait little. */
#define CALL_QPS 4

/* No connection has opened for so long: another one will hardly meet a call of the pool. */
#define QUIET_NS (100 * VBD_NS_PER_MS)

/* After the device refused something. */
#define REST_NS (10 * VBD_NS_PER_S)

struct vbd_qp_pool {
	struct vbd_qp_pools *pools;
	struct vbd_device *device;
	struct vbd_qp_kinds kinds;
	uint64_t rest_until_ns; /* nothing is made before */

	struct vbd_call call; /* one at a time */
	bool calling;
	struct vbd_pooled_qp *work[CALL_QPS]; /* of the call */
	unsigned int work_count;
	struct vbd_error error; /* the first one that the call met */
};

/* The total over all pools follows the count of this one. */
static void count(struct vbd_qp_pool *pool, unsigned int before)
{
	pool->pools->queue_pairs = pool->pools->queue_pairs - before + pool->kinds.count;
}

static struct vbd_pooled_qp *new_pooled(struct vbd_device *device, const struct vbd_qp_kind *kind)
{
	struct vbd_pooled_qp *pooled = calloc(1, sizeof(*pooled));

	if (!pooled)
		return NULL;
	vbd_list_init(&pooled->link);
	pooled->shape = kind->shape;
	pooled->init = kind->init;
	pooled->shape.cq->pooled++;
	if (pooled->shape.srq)
		pooled->shape.srq->pooled++;
	vbd_device_ref(device);
	return pooled;
}

static void free_pooled(struct vbd_device *device, struct vbd_pooled_qp *pooled)
{
	pooled->shape.cq->pooled--;
	if (pooled->shape.srq)
		pooled->shape.srq->pooled--;
	free(pooled);
	vbd_device_unref(device);
}

/* The queue pair is destroyed, or was not made; the CQ and the SRQ may have waited for that. */
static void release(struct vbd_qp_pool *pool, struct vbd_pooled_qp *pooled)
{
	struct vbd_device *device = pool->device;
	const struct vbd_qp_pools *pools = pool->pools;
	struct vbd_srq *srq = pooled->shape.srq;
	struct vbd_cq *cq = pooled->shape.cq;

	vbd_device_ref(device);
	free_pooled(device, pooled);
	pools->given_back(device, cq, srq, pools->arg);
	vbd_device_unref(device);
}

/* Call thread. A queue pair that can't move to INIT would fail an open as well: it is not kept. */
static enum vbd_status make_qp(
	const struct vbd_device *device, struct vbd_pooled_qp *pooled, struct vbd_error *err)
{
	struct ibv_qp_init_attr init = vbd_qp_shape_attr(&pooled->shape);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = pooled->init.pkey_index,
		.port_num = pooled->init.port_num,
		.qp_access_flags = pooled->init.access,
	};
	enum vbd_status status =
		vbd_pv_create_qp(NULL, device->pd->ibv_pd, &init, &pooled->ibv_qp, err);

	if (status || !pooled->init.mask)
		return status;
	status = vbd_pv_modify_qp(pooled->ibv_qp, &attr, pooled->init.mask, err);
	if (status) {
		vbd_pv_destroy_qp(NULL, pooled->ibv_qp);
		pooled->ibv_qp = NULL;
	}
	return status;
}

/* Call thread. */
static void make_work(struct vbd_call *call)
{
	struct vbd_qp_pool *pool = VBD_CONTAINER_OF(call, struct vbd_qp_pool, call);
	enum vbd_status status = VBD_OK;

	for (unsigned int i = 0; i < pool->work_count && !status; i++)
		status = make_qp(pool->device, pool->work[i], &pool->error);
}

/* Call thread. */
static void destroy_work(struct vbd_call *call)
{
	struct vbd_qp_pool *pool = VBD_CONTAINER_OF(call, struct vbd_qp_pool, call);

	for (unsigned int i = 0; i < pool->work_count; i++) {
		vbd_pv_destroy_qp(NULL, pool->work[i]->ibv_qp);
		pool->work[i]->ibv_qp = NULL;
	}
}

static bool is_open(const struct vbd_qp_pool *pool)
{
	return pool->pools->size > 0 && pool->device->state == VBD_DEVICE_PRESENT;
}

static void keep(struct vbd_qp_pool *pool, struct vbd_pooled_qp *pooled)
{
	struct vbd_qp_kind *kind =
		is_open(pool) ? vbd_qp_kinds_find(&pool->kinds, &pooled->shape) : NULL;
	unsigned int before = pool->kinds.count;

	if (kind)
		vbd_qp_kinds_put(&pool->kinds, kind, pooled);
	else
		vbd_list_append(&pool->kinds.unwanted, &pooled->link);
	count(pool, before);
}

static void give_up(struct vbd_qp_pool *pool, struct vbd_qp_kind *kind, unsigned int qp_count)
{
	unsigned int before = pool->kinds.count;

	vbd_qp_kinds_give_up(&pool->kinds, kind, qp_count);
	count(pool, before);
}

/* The device has little left, which is for others. */
static void rest(struct vbd_qp_pool *pool)
{
	pool->rest_until_ns = vbd_clock_mono_ns() + REST_NS;
}

static void start_next(struct vbd_qp_pool *pool);

/* Control thread, after either kind of work. */
static void on_worked(struct vbd_call *call)
{
	struct vbd_qp_pool *pool = VBD_CONTAINER_OF(call, struct vbd_qp_pool, call);
	struct vbd_device *device = pool->device;

	/* The last reference frees the pool. */
	vbd_device_ref(device);
	for (unsigned int i = 0; i < pool->work_count; i++) {
		if (pool->work[i]->ibv_qp)
			keep(pool, pool->work[i]);
		else
			release(pool, pool->work[i]);
	}
	pool->work_count = 0;
	pool->calling = false;
	if (pool->error.status) {
		vbd_log(VBD_LOG_DEBUG, "qp_pool", "%s: %s", device->name, pool->error.text);
		pool->pools->failures++;
		rest(pool);
	}
	start_next(pool);
	vbd_device_unref(device);
}

static void start(struct vbd_qp_pool *pool, void (*work)(struct vbd_call *call))
{
	if (!pool->work_count)
		return;
	pool->error = (struct vbd_error){0};
	pool->calling = true;
	pool->call.work = work;
	pool->call.done = on_worked;
	vbd_call_start(pool->pools->calls, &pool->call, VBD_LANE_MEMORY);
}

static void start_destroying(struct vbd_qp_pool *pool)
{
	struct vbd_pooled_qp *pooled;

	if (pool->calling)
		return;
	while (pool->work_count < CALL_QPS &&
		(pooled = VBD_LIST_FIRST(&pool->kinds.unwanted, struct vbd_pooled_qp, link))) {
		vbd_list_remove(&pooled->link);
		pool->work[pool->work_count++] = pooled;
	}
	start(pool, destroy_work);
}

static void start_making(
	struct vbd_qp_pool *pool, const struct vbd_qp_kind *kind, unsigned int qp_count)
{
	for (; qp_count && pool->work_count < CALL_QPS; qp_count--) {
		struct vbd_pooled_qp *pooled = new_pooled(pool->device, kind);

		if (!pooled)
			break;
		pool->work[pool->work_count++] = pooled;
	}
	start(pool, make_work);
}

static bool is_quiet(const struct vbd_qp_pool *pool)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	return now_ns - pool->pools->last_open_ns >= QUIET_NS && now_ns >= pool->rest_until_ns;
}

static void fill(struct vbd_qp_pool *pool)
{
	unsigned int size = pool->pools->size;
	const struct vbd_qp_kind *least = vbd_qp_kinds_furthest(&pool->kinds, size, 1);
	struct vbd_qp_kind *most;

	if (!least)
		return;
	if (pool->kinds.count < size) {
		unsigned int room = size - pool->kinds.count;
		unsigned int missing =
			(unsigned int)vbd_qp_kinds_missing(&pool->kinds, least, size);

		start_making(pool, least, missing < room ? missing : room);
		return;
	}
	/* Shares change with each open: only a kind that has none is worth an exchange. */
	most = least->count ? NULL : vbd_qp_kinds_furthest(&pool->kinds, size, -1);
	if (!most)
		return;
	give_up(pool, most, CALL_QPS);
	start_destroying(pool);
}

static void start_next(struct vbd_qp_pool *pool)
{
	start_destroying(pool);
	if (!pool->calling && is_open(pool) && is_quiet(pool))
		fill(pool);
}

/* Interface. */

static struct vbd_qp_pool *pool_of(struct vbd_qp_pools *pools, struct vbd_device *device)
{
	struct vbd_qp_pool *pool = device->qp_pool;

	if (pool)
		return pool;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->pools = pools;
	pool->device = device;
	vbd_qp_kinds_init(&pool->kinds);
	device->qp_pool = pool;
	return pool;
}

struct ibv_qp *vbd_qp_pool_take(struct vbd_qp_pools *pools, struct vbd_device *device,
	const struct vbd_qp_shape *shape, struct vbd_qp_init *ret_init)
{
	struct vbd_qp_pool *pool = pools->size ? pool_of(pools, device) : NULL;
	struct vbd_pooled_qp *pooled;
	struct ibv_qp *ibv_qp;
	unsigned int before;

	*ret_init = (struct vbd_qp_init){0};
	if (!pool)
		return NULL;
	pools->last_open_ns = vbd_clock_mono_ns();
	before = pool->kinds.count;
	pooled = vbd_qp_kinds_take(&pool->kinds, vbd_qp_kinds_open(&pool->kinds, shape));
	count(pool, before);
	if (!pooled) {
		pools->misses++;
		return NULL;
	}
	pools->hits++;
	*ret_init = pooled->init;
	ibv_qp = pooled->ibv_qp;
	free_pooled(device, pooled);
	return ibv_qp;
}

void vbd_qp_pool_learn(const struct vbd_device *device, const struct vbd_qp_shape *shape,
	const struct vbd_qp_init *init)
{
	struct vbd_qp_pool *pool = device->qp_pool;
	struct vbd_qp_kind *kind = pool ? vbd_qp_kinds_find(&pool->kinds, shape) : NULL;

	if (kind)
		kind->init = *init;
}

void vbd_qp_pool_turn(struct vbd_device *device)
{
	if (device->qp_pool)
		start_next(device->qp_pool);
}

/* The queue pair that opens will miss least; NULL if there is none. */
static struct vbd_pooled_qp *least_wanted(struct vbd_qp_pool *pool)
{
	struct vbd_qp_kind *most = vbd_qp_kinds_furthest(&pool->kinds, 0, -1);

	if (vbd_list_empty(&pool->kinds.unwanted) && most)
		give_up(pool, most, 1);
	return VBD_LIST_FIRST(&pool->kinds.unwanted, struct vbd_pooled_qp, link);
}

bool vbd_qp_pool_yield(struct vbd_device *device, enum vbd_status status, struct vbd_error *err)
{
	struct vbd_qp_pool *pool = device->qp_pool;
	struct vbd_pooled_qp *pooled;

	if (!pool || (status != VBD_E_NO_MEMORY && status != VBD_E_DEVICE_LIMIT))
		return false;
	rest(pool);
	/* One for each object that is refused: those that a call thread would destroy later are no
	 * help to the next one that is refused before that. */
	pooled = least_wanted(pool);
	if (!pooled)
		return false;
	vbd_list_remove(&pooled->link);
	vbd_pv_destroy_qp(NULL, pooled->ibv_qp);
	release(pool, pooled);
	if (err)
		*err = (struct vbd_error){0};
	return true;
}

void vbd_qp_pool_drop(struct vbd_device *device, const void *part)
{
	struct vbd_qp_pool *pool = device->qp_pool;
	unsigned int before;

	if (!pool)
		return;
	before = pool->kinds.count;
	vbd_qp_kinds_forget(&pool->kinds, part);
	count(pool, before);
	start_destroying(pool);
}

static void destroy_pooled(struct vbd_device *device, struct vbd_pooled_qp *pooled)
{
	vbd_pv_destroy_qp(NULL, pooled->ibv_qp);
	free_pooled(device, pooled);
}

void vbd_qp_pool_destroy(struct vbd_device *device)
{
	struct vbd_qp_pool *pool = device->qp_pool;
	unsigned int before;

	if (!pool)
		return;
	/* The device may be closed with the last queue pair, and its pool is then destroyed again.
	 */
	device->qp_pool = NULL;
	before = pool->kinds.count;
	vbd_qp_kinds_forget(&pool->kinds, NULL);
	count(pool, before);
	for (unsigned int i = 0; i < pool->work_count; i++)
		destroy_pooled(device, pool->work[i]);
	vbd_list_for_each (link, &pool->kinds.unwanted)
		destroy_pooled(device, VBD_CONTAINER_OF(link, struct vbd_pooled_qp, link));
	free(pool);
}
