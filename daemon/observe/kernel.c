/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/kernel.h"

#include "base/clock.h"
#include "rdma/fabric/fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device whose counters are read: a copy, since the device may be removed meanwhile. */
struct source {
	char name[64];
	char ibdev_path[256];
	unsigned int ports;
};

/* A snapshot being taken. Meanwhile only the pool thread uses the struct. */
struct job {
	struct source *sources;
	size_t source_count;
	struct vbd_kernel_counter next; /* device, port and set that are being read */
	size_t room;
	struct vbd_kernel_view view;
};

struct vbd_kernel {
	struct vbd_daemon *daemon;
	struct vbd_link watches;
	struct vbd_kernel_view view;
	struct job job;
	bool running;
	bool is_second; /* taking the second snapshot of the objects */
	uint64_t last_begun, last_taken;
	uint64_t started_ns;
	uint64_t held_before[VBD_PV_OBJECT_COUNT];
	uint64_t excess_before[VBD_PV_OBJECT_COUNT];
};

/* --- counts of verbsd's objects --------------------------------------------------------------- */

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

/* --- the snapshot, on the thread pool --------------------------------------------------------- */

static void on_counter(const char *name, uint64_t value, void *arg)
{
	struct job *job = arg;
	struct vbd_kernel_view *view = &job->view;
	struct vbd_kernel_counter *counters;
	size_t room = job->room ? job->room * 2 : 256;

	if (view->counter_count == job->room) {
		counters = room > VBD_KERNEL_COUNTERS_MAX
				   ? NULL
				   : reallocarray(view->counters, room, sizeof(*counters));
		if (!counters)
			return;
		view->counters = counters;
		job->room = room;
	}
	job->next.value = value;
	(void)snprintf(job->next.name, sizeof(job->next.name), "%s", name);
	view->counters[view->counter_count++] = job->next;
}

static void read_source(struct job *job, const struct source *source)
{
	memcpy(job->next.device, source->name, sizeof(source->name));
	for (unsigned int port = 1; port <= source->ports; port++) {
		for (enum vbd_counter_set set = 0; set < VBD_COUNTER_SET_COUNT; set++) {
			job->next.port_num = port;
			job->next.set = set;
			vbd_port_counters_read(source->ibdev_path, port, set, on_counter, job);
		}
	}
}

static int compare_counters(const void *left, const void *right)
{
	const struct vbd_kernel_counter *a = left;
	const struct vbd_kernel_counter *b = right;
	int order;

	if (a->set != b->set)
		return a->set < b->set ? -1 : 1;
	order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->device, b->device);
	return order ? order : (int)a->port_num - (int)b->port_num;
}

static void take_snapshot(void *arg)
{
	struct job *job = arg;

	for (size_t i = 0; i < job->source_count; i++)
		read_source(job, &job->sources[i]);
	if (job->view.counter_count)
		qsort(job->view.counters, job->view.counter_count, sizeof(job->next),
			compare_counters);
	vbd_process_read(&job->view.process);
	job->view.objects_known = vbd_account_kernel(job->view.objects, NULL) == VBD_OK;
}

static void take_second_snapshot(void *arg)
{
	struct job *job = arg;

	job->view.objects_known = vbd_account_kernel(job->view.objects, NULL) == VBD_OK;
}

/* --- before and after the snapshot ------------------------------------------------------------ */

static void end_job(struct job *job)
{
	free(job->sources);
	*job = (struct job){0};
}

static void list_sources(struct vbd_kernel *kernel)
{
	const struct vbd_fabric *fabric = kernel->daemon->fabric;
	struct job *job = &kernel->job;

	job->sources = calloc(count_devices(fabric) + 1, sizeof(*job->sources));
	if (!job->sources)
		return;
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);
		struct source *source = &job->sources[job->source_count];

		if (!device->context)
			continue;
		(void)snprintf(source->name, sizeof(source->name), "%s", device->name);
		(void)snprintf(
			source->ibdev_path, sizeof(source->ibdev_path), "%s", device->ibdev_path);
		source->ports = device->attr.phys_port_cnt;
		job->source_count++;
	}
}

/*
 * Objects created or destroyed while the kernel is queried are counted on one side only. So use the
 * greater of the counts before and after, and count an excess only if a second snapshot has it too.
 */
static uint64_t compare(struct vbd_kernel *kernel)
{
	struct vbd_kernel_view *view = &kernel->job.view;
	uint64_t total = 0;

	count_held(kernel->daemon, view->held);
	vbd_account_librdmacm(view->librdmacm);
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++) {
		uint64_t held = view->held[i] > kernel->held_before[i] ? view->held[i]
								       : kernel->held_before[i];
		uint64_t known = held + view->librdmacm[i];
		uint64_t excess = 0;

		if (view->objects_known && view->objects[i] != VBD_PV_UNKNOWN &&
			view->objects[i] > known)
			excess = view->objects[i] - known;
		if (kernel->is_second && excess > kernel->excess_before[i])
			excess = kernel->excess_before[i];
		kernel->excess_before[i] = excess;
		total += excess;
	}
	return total;
}

static void finish(struct vbd_kernel *kernel)
{
	free(kernel->view.counters);
	kernel->view = kernel->job.view;
	kernel->view.took_ns = vbd_clock_mono_ns() - kernel->started_ns;
	end_job(&kernel->job);
	kernel->running = false;
	kernel->last_taken = kernel->last_begun;
	vbd_watch_notify(&kernel->watches, false);
}

static void snapshot_taken(void *arg)
{
	struct vbd_kernel *kernel = VBD_CONTAINER_OF(arg, struct vbd_kernel, job);

	/* The daemon is being destroyed, and its objects with it. */
	if (!kernel->daemon->hotplug) {
		free(kernel->job.view.counters);
		end_job(&kernel->job);
		return;
	}
	kernel->job.view.leaked = compare(kernel);
	if (kernel->job.view.leaked && !kernel->is_second) {
		kernel->is_second = true;
		count_held(kernel->daemon, kernel->held_before);
		if (vbd_loop_work(kernel->daemon->loop, take_second_snapshot, snapshot_taken,
			    &kernel->job, NULL) == VBD_OK)
			return;
	}
	finish(kernel);
}

uint64_t vbd_kernel_snapshot_begin(struct vbd_daemon *daemon)
{
	struct vbd_kernel *kernel = daemon->kernel;

	if (kernel->running)
		return kernel->last_begun;
	kernel->last_begun++;
	kernel->started_ns = vbd_clock_mono_ns();
	kernel->is_second = false;
	list_sources(kernel);
	count_held(daemon, kernel->held_before);
	kernel->running = true;
	if (vbd_loop_work(daemon->loop, take_snapshot, snapshot_taken, &kernel->job, NULL) !=
		VBD_OK)
		finish(kernel);
	return kernel->last_begun;
}

uint64_t vbd_kernel_snapshots_taken(const struct vbd_daemon *daemon)
{
	return daemon->kernel->last_taken;
}

struct vbd_link *vbd_kernel_watches(struct vbd_daemon *daemon)
{
	return &daemon->kernel->watches;
}

const struct vbd_kernel_view *vbd_kernel_view(const struct vbd_daemon *daemon)
{
	return &daemon->kernel->view;
}

enum vbd_status vbd_kernel_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	struct vbd_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the kernel's counters");
	kernel->daemon = daemon;
	vbd_list_init(&kernel->watches);
	daemon->kernel = kernel;
	return VBD_OK;
}

void vbd_kernel_destroy(struct vbd_daemon *daemon)
{
	struct vbd_kernel *kernel = daemon->kernel;

	if (!kernel)
		return;
	free(kernel->view.counters);
	free(kernel);
	daemon->kernel = NULL;
}
