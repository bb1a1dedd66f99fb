/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/kernel.h"

#include "rdma/fabric/fabric.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void read_memory(struct vbd_process *process)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long pages, resident_pages;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return;
	if (fscanf(file, "%llu %llu", &pages, &resident_pages) == 2) {
		process->virtual_bytes = pages * page_bytes;
		process->resident_bytes = resident_pages * page_bytes;
	}
	(void)fclose(file);
}

/* The folder has an entry for each file descriptor, that of the folder itself included. */
static uint64_t count_fds(void)
{
	const struct dirent *entry;
	uint64_t count = 0;
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	(void)closedir(dir);
	return count ? count - 1 : 0;
}

static void read_process(struct vbd_process *ret_process)
{
	struct rlimit limit = {0};
	struct timespec cpu = {0};

	*ret_process = (struct vbd_process){.open_fds = count_fds()};
	read_memory(ret_process);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	ret_process->max_fds = limit.rlim_cur;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	ret_process->cpu_ns = (uint64_t)cpu.tv_sec * VBD_NS_PER_S + (uint64_t)cpu.tv_nsec;
}

/* A device whose counters are read: a copy, since the device may be removed meanwhile. */
struct source {
	char name[64];
	char ibdev_path[256];
	unsigned int ports;
};

/* A snapshot that is being taken. Until it is done only the pool thread uses the struct. */
struct job {
	struct source *sources;
	size_t source_count;
	struct vbd_kernel_counter next; /* device, port and set that are being read */
	size_t room;
	struct vbd_kernel_view view;
};

/* A count of the objects. Until it is done only the pool thread uses the struct. */
struct object_count {
	bool known;
	uint64_t kernel[VBD_PV_OBJECT_COUNT];
};

struct vbd_kernel {
	struct vbd_daemon *daemon;
	struct vbd_link watches;
	struct vbd_kernel_view view;
	struct job job;
	bool reading;	   /* the counters */
	bool with_objects; /* the last snapshot has counted them, or tried */
	bool waits_for_objects;
	uint64_t last_begun, last_taken;
	uint64_t taken_ns;
	uint64_t started_ns;

	struct vbd_object_counts counts;
	struct object_count under_way;
	bool counting;	/* the objects */
	bool is_second; /* counting again, since the first count found an excess */
	uint64_t count_begun_ns, count_ended_ns;
	uint64_t held_before[VBD_PV_OBJECT_COUNT];
	uint64_t excess_before[VBD_PV_OBJECT_COUNT];
};

static void notify_if_complete(struct vbd_kernel *kernel)
{
	if (kernel->reading || kernel->waits_for_objects ||
		kernel->last_taken == kernel->last_begun)
		return;
	kernel->last_taken = kernel->last_begun;
	kernel->taken_ns = vbd_clock_mono_ns();
	vbd_watch_notify(&kernel->watches, false);
}

/* --- the objects ------------------------------------------------------------------------------ */

/* The pause between two counts is at least so many times as long as the last count took. */
#define REST 10

/* A snapshot waits for a count if the last one took less than this. */
#define QUICK_NS (50 * VBD_NS_PER_MS)

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
static void count_known_objects(const struct vbd_daemon *daemon, uint64_t *ret_counts)
{
	const struct vbd_fabric *fabric = daemon->fabric;

	vbd_account_held(ret_counts);
	ret_counts[VBD_PV_CM_ID] += (uint64_t)fabric->listeners_everywhere * count_devices(fabric);
	ret_counts[VBD_PV_CM_ID] -= fabric->listeners_everywhere;
}

/* Pool thread. */
static void count_kernel_objects(void *arg)
{
	struct object_count *under_way = arg;

	under_way->known = vbd_pv_count_objects(under_way->kernel, NULL) == VBD_OK;
}

/*
 * Objects created or destroyed while the kernel is queried are counted on one side only. So use the
 * greater of the counts before and after, and count an excess only if a second count has it too.
 */
static uint64_t compare_counts(struct vbd_kernel *kernel)
{
	struct vbd_object_counts *counts = &kernel->counts;
	uint64_t total = 0;

	counts->known = kernel->under_way.known;
	count_known_objects(kernel->daemon, counts->held);
	vbd_pv_own_objects(counts->librdmacm);
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++) {
		uint64_t held = counts->held[i] > kernel->held_before[i] ? counts->held[i]
									 : kernel->held_before[i];
		uint64_t known = held + counts->librdmacm[i];
		uint64_t excess = 0;

		counts->kernel[i] = kernel->under_way.kernel[i];
		if (counts->known && counts->kernel[i] != VBD_PV_UNKNOWN &&
			counts->kernel[i] > known)
			excess = counts->kernel[i] - known;
		if (kernel->is_second && excess > kernel->excess_before[i])
			excess = kernel->excess_before[i];
		kernel->excess_before[i] = excess;
		total += excess;
	}
	return total;
}

static void on_objects_counted(void *arg);

static bool start_object_count(struct vbd_kernel *kernel)
{
	count_known_objects(kernel->daemon, kernel->held_before);
	return vbd_loop_work(kernel->daemon->loop, VBD_WORK_OBSERVE, NULL, count_kernel_objects,
		       on_objects_counted, &kernel->under_way, NULL) == VBD_OK;
}

static void on_objects_counted(void *arg)
{
	struct vbd_kernel *kernel = VBD_CONTAINER_OF(arg, struct vbd_kernel, under_way);

	/* Without `hotplug` the daemon is being destroyed, and its objects with it. */
	if (!kernel->daemon->hotplug)
		return;
	kernel->counts.leaked = compare_counts(kernel);
	if (kernel->counts.leaked && !kernel->is_second) {
		kernel->is_second = true;
		if (start_object_count(kernel))
			return;
	}
	kernel->count_ended_ns = vbd_clock_mono_ns();
	kernel->counts.counted_ns = kernel->count_begun_ns;
	kernel->counts.took_ns = kernel->count_ended_ns - kernel->count_begun_ns;
	kernel->counting = kernel->waits_for_objects = false;
	notify_if_complete(kernel);
}

/* The snapshot waits for the count if it is the first, or if the last one was quick. */
static void refresh_object_count(struct vbd_kernel *kernel)
{
	const struct vbd_object_counts *counts = &kernel->counts;
	uint64_t now_ns = vbd_clock_mono_ns();

	if (!kernel->counting && (!counts->counted_ns || now_ns - kernel->count_ended_ns >=
								 REST * counts->took_ns)) {
		kernel->count_begun_ns = now_ns;
		kernel->is_second = false;
		kernel->counting = start_object_count(kernel);
	}
	kernel->waits_for_objects = kernel->counting && counts->took_ns < QUICK_NS;
}

/* --- the counters ----------------------------------------------------------------------------- */

static void add_counter(const char *name, uint64_t value, void *arg)
{
	struct job *job = arg;
	struct vbd_kernel_view *view = &job->view;
	struct vbd_kernel_counter *counters;
	size_t room = job->room ? job->room * 2 : 256;

	if (view->counter_count == job->room) {
		counters = reallocarray(view->counters, room, sizeof(*counters));
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
			vbd_port_counters_read(source->ibdev_path, port, set, add_counter, job);
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

/* Pool thread. */
static void read_counters(void *arg)
{
	struct job *job = arg;

	for (size_t i = 0; i < job->source_count; i++)
		read_source(job, &job->sources[i]);
	if (job->view.counter_count)
		qsort(job->view.counters, job->view.counter_count, sizeof(job->next),
			compare_counters);
	read_process(&job->view.process);
}

static void reset_job(struct job *job)
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

static void finish_counters(struct vbd_kernel *kernel)
{
	free(kernel->view.counters);
	kernel->view = kernel->job.view;
	kernel->view.took_ns = vbd_clock_mono_ns() - kernel->started_ns;
	reset_job(&kernel->job);
	kernel->reading = false;
	notify_if_complete(kernel);
}

static void on_counters_read(void *arg)
{
	struct vbd_kernel *kernel = VBD_CONTAINER_OF(arg, struct vbd_kernel, job);

	/* The daemon is being destroyed. */
	if (!kernel->daemon->hotplug) {
		free(kernel->job.view.counters);
		reset_job(&kernel->job);
		return;
	}
	finish_counters(kernel);
}

/* Can a request share the last snapshot, which may be under way? */
static bool can_join_snapshot(const struct vbd_kernel *kernel, bool with_objects)
{
	if (kernel->last_taken < kernel->last_begun)
		return true;
	return kernel->last_taken && (kernel->with_objects || !with_objects) &&
	       vbd_clock_mono_ns() - kernel->taken_ns < VBD_KERNEL_FRESH_NS;
}

static void begin_counter_read(struct vbd_kernel *kernel)
{
	kernel->started_ns = vbd_clock_mono_ns();
	list_sources(kernel);
	kernel->reading = true;
	if (vbd_loop_work(kernel->daemon->loop, VBD_WORK_OBSERVE, NULL, read_counters,
		    on_counters_read, &kernel->job, NULL) != VBD_OK)
		finish_counters(kernel);
}

uint64_t vbd_kernel_snapshot_begin(struct vbd_daemon *daemon, bool with_objects)
{
	struct vbd_kernel *kernel = daemon->kernel;
	bool begins = !can_join_snapshot(kernel, with_objects);

	if (begins) {
		kernel->last_begun++;
		kernel->with_objects = false;
	}
	if (with_objects && !kernel->with_objects) {
		kernel->with_objects = true;
		refresh_object_count(kernel);
	}
	if (begins)
		begin_counter_read(kernel);
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
	return &daemon->kernel->counts;
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
