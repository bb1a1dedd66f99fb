/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/kernel_objects.h"

#include "base/clock.h"
#include "rdma/fabric/fabric.h"

#include <stdlib.h>

/* Between two counts passes at least this many times as long as the last one took. */
#define REST 10

/* A count that took less is waited for: nobody notices. */
#define QUICK_NS (50 * VBD_NS_PER_MS)

/* A count on the thread pool, which alone uses the struct meanwhile. */
struct job {
	bool known;
	uint64_t kernel[VBD_PV_OBJECT_COUNT];
};

struct vbd_kernel_objects {
	struct vbd_daemon *daemon;
	void (*counted)(void *arg);
	void *arg;
	struct vbd_object_counts counts;
	struct job job;
	bool running;
	bool is_second; /* counting again, since the first count found an excess */
	uint64_t begun_ns, ended_ns;
	uint64_t held_before[VBD_PV_OBJECT_COUNT];
	uint64_t excess_before[VBD_PV_OBJECT_COUNT];
};

static unsigned int count_devices(const struct vbd_fabric *fabric)
{
	unsigned int count = 0;

	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		count += device->state != VBD_DEVICE_REMOVED;
	}
	return count;
}

/* For a listener on all devices the kernel lists a cm_id per device, but not the listener's own
 * cm_id. */
static void count_held(const struct vbd_daemon *daemon, uint64_t *ret_counts)
{
	const struct vbd_fabric *fabric = daemon->fabric;

	vbd_account_held(ret_counts);
	ret_counts[VBD_PV_CM_ID] += (uint64_t)fabric->listeners_everywhere * count_devices(fabric);
	ret_counts[VBD_PV_CM_ID] -= fabric->listeners_everywhere;
}

static void count_kernel(void *arg)
{
	struct job *job = arg;

	job->known = vbd_account_kernel(job->kernel, NULL) == VBD_OK;
}

/*
 * Objects created or destroyed while the kernel is queried are counted on one side only. So use the
 * greater of the counts before and after, and count an excess only if a second count has it too.
 */
static uint64_t compare(struct vbd_kernel_objects *objects)
{
	struct vbd_object_counts *counts = &objects->counts;
	uint64_t total = 0;

	counts->known = objects->job.known;
	count_held(objects->daemon, counts->held);
	vbd_account_librdmacm(counts->librdmacm);
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++) {
		uint64_t held = counts->held[i] > objects->held_before[i] ? counts->held[i]
									  : objects->held_before[i];
		uint64_t known = held + counts->librdmacm[i];
		uint64_t excess = 0;

		counts->kernel[i] = objects->job.kernel[i];
		if (counts->known && counts->kernel[i] != VBD_PV_UNKNOWN &&
			counts->kernel[i] > known)
			excess = counts->kernel[i] - known;
		if (objects->is_second && excess > objects->excess_before[i])
			excess = objects->excess_before[i];
		objects->excess_before[i] = excess;
		total += excess;
	}
	return total;
}

static void finish(struct vbd_kernel_objects *objects)
{
	objects->ended_ns = vbd_clock_mono_ns();
	objects->counts.counted_ns = objects->begun_ns;
	objects->counts.took_ns = objects->ended_ns - objects->begun_ns;
	objects->running = false;
	objects->counted(objects->arg);
}

static bool count(struct vbd_kernel_objects *objects);

static void kernel_counted(void *arg)
{
	struct vbd_kernel_objects *objects = VBD_CONTAINER_OF(arg, struct vbd_kernel_objects, job);

	/* The daemon is being destroyed, and its objects with it. */
	if (!objects->daemon->hotplug)
		return;
	objects->counts.leaked = compare(objects);
	if (objects->counts.leaked && !objects->is_second) {
		objects->is_second = true;
		if (count(objects))
			return;
	}
	finish(objects);
}

static bool count(struct vbd_kernel_objects *objects)
{
	count_held(objects->daemon, objects->held_before);
	return vbd_loop_work(objects->daemon->loop, VBD_WORK_OBSERVE, NULL, count_kernel,
		       kernel_counted, &objects->job, NULL) == VBD_OK;
}

bool vbd_kernel_objects_refresh(struct vbd_kernel_objects *objects)
{
	const struct vbd_object_counts *counts = &objects->counts;
	uint64_t now_ns = vbd_clock_mono_ns();

	if (!objects->running) {
		if (counts->counted_ns && now_ns - objects->ended_ns < REST * counts->took_ns)
			return false;
		objects->begun_ns = now_ns;
		objects->is_second = false;
		objects->running = count(objects);
	}
	return objects->running && counts->took_ns < QUICK_NS;
}

const struct vbd_object_counts *vbd_kernel_objects_counts(const struct vbd_kernel_objects *objects)
{
	return &objects->counts;
}

enum vbd_status vbd_kernel_objects_create(struct vbd_daemon *daemon, void (*counted)(void *arg),
	void *arg, struct vbd_kernel_objects **ret_objects, struct vbd_error *err)
{
	struct vbd_kernel_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the kernel's objects");
	objects->daemon = daemon;
	objects->counted = counted;
	objects->arg = arg;
	*ret_objects = objects;
	return VBD_OK;
}

void vbd_kernel_objects_destroy(struct vbd_kernel_objects *objects)
{
	free(objects);
}
