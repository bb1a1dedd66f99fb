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
	struct vbd_kernel_objects *objects;
	bool reading;  /* the counters */
	bool counting; /* the objects, and the snapshot waits for it */
	uint64_t last_begun, last_taken;
	uint64_t taken_ns;
	uint64_t started_ns;
};

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

static void read_counters(void *arg)
{
	struct job *job = arg;

	for (size_t i = 0; i < job->source_count; i++)
		read_source(job, &job->sources[i]);
	if (job->view.counter_count)
		qsort(job->view.counters, job->view.counter_count, sizeof(job->next),
			compare_counters);
	vbd_process_read(&job->view.process);
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
	size_t room = 1;

	vbd_list_for_each (link, &fabric->devices)
		room++;
	job->sources = calloc(room, sizeof(*job->sources));
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

static void check_complete(struct vbd_kernel *kernel)
{
	if (kernel->reading || kernel->counting || kernel->last_taken == kernel->last_begun)
		return;
	kernel->last_taken = kernel->last_begun;
	kernel->taken_ns = vbd_clock_mono_ns();
	vbd_watch_notify(&kernel->watches, false);
}

static void objects_counted(void *arg)
{
	struct vbd_kernel *kernel = arg;

	kernel->counting = false;
	check_complete(kernel);
}

static void finish(struct vbd_kernel *kernel)
{
	free(kernel->view.counters);
	kernel->view = kernel->job.view;
	kernel->view.took_ns = vbd_clock_mono_ns() - kernel->started_ns;
	end_job(&kernel->job);
	kernel->reading = false;
	check_complete(kernel);
}

static void counters_read(void *arg)
{
	struct vbd_kernel *kernel = VBD_CONTAINER_OF(arg, struct vbd_kernel, job);

	/* The daemon is being destroyed. */
	if (!kernel->daemon->hotplug) {
		free(kernel->job.view.counters);
		end_job(&kernel->job);
		return;
	}
	finish(kernel);
}

uint64_t vbd_kernel_snapshot_begin(struct vbd_daemon *daemon)
{
	struct vbd_kernel *kernel = daemon->kernel;

	if (kernel->last_taken < kernel->last_begun ||
		(kernel->last_taken &&
			vbd_clock_mono_ns() - kernel->taken_ns < VBD_KERNEL_FRESH_NS))
		return kernel->last_begun;
	kernel->last_begun++;
	kernel->started_ns = vbd_clock_mono_ns();
	kernel->counting = vbd_kernel_objects_refresh(kernel->objects);
	list_sources(kernel);
	kernel->reading = true;
	if (vbd_loop_work(daemon->loop, VBD_WORK_OBSERVE, NULL, read_counters, counters_read,
		    &kernel->job, NULL) != VBD_OK)
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

const struct vbd_object_counts *vbd_kernel_object_counts(const struct vbd_daemon *daemon)
{
	return vbd_kernel_objects_counts(daemon->kernel->objects);
}

enum vbd_status vbd_kernel_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	struct vbd_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the kernel's counters");
	kernel->daemon = daemon;
	vbd_list_init(&kernel->watches);
	daemon->kernel = kernel;
	return vbd_kernel_objects_create(daemon, objects_counted, kernel, &kernel->objects, err);
}

void vbd_kernel_destroy(struct vbd_daemon *daemon)
{
	struct vbd_kernel *kernel = daemon->kernel;

	if (!kernel)
		return;
	vbd_kernel_objects_destroy(kernel->objects);
	free(kernel->view.counters);
	free(kernel);
	daemon->kernel = NULL;
}
