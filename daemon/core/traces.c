/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/traces.h"

#include "base/clock.h"
#include "rdma/device/device.h"
#include "rdma/fabric/fabric.h"

#include <math.h>

#define SAMPLES		    64
#define SAMPLES_OF_A_DEVICE 12
#define INTERVAL_NS	    VBD_NS_PER_S

struct vbd_traces {
	struct vbd_daemon *daemon;
	struct vbd_trace_sample samples[SAMPLES];
	/* The sample that is being taken; only the pool thread uses it while `reading`. */
	bool reading;
	char ibdev_path[256];
	unsigned int ports;
	struct vbd_trace_sample taken;
};

/* The counters that a call of vbd_traces_read() adds up. */
struct reading {
	enum vbd_counter_set set;
	uint64_t *counters;
};

static void add_counter(const char *name, uint64_t value, void *arg)
{
	const struct reading *reading = arg;
	enum vbd_trace trace = vbd_trace_of(reading->set, name);

	if (trace < VBD_TRACE_COUNT)
		reading->counters[trace] += value;
}

void vbd_traces_read(
	const char *ibdev_path, unsigned int ports, uint64_t ret_counters[VBD_TRACE_COUNT])
{
	static const enum vbd_counter_set sets[] = {VBD_COUNTER_SET_HW, VBD_COUNTER_SET_CM_RX_MSGS};

	memset(ret_counters, 0, sizeof(uint64_t[VBD_TRACE_COUNT]));
	for (unsigned int port = 1; port <= ports; port++) {
		for (size_t i = 0; i < VBD_ARRAY_LEN(sets); i++) {
			struct reading reading = {.set = sets[i], .counters = ret_counters};

			vbd_port_counters_read(ibdev_path, port, sets[i], add_counter, &reading);
		}
	}
}

/* Pool thread. */
static void take_sample(void *arg)
{
	struct vbd_traces *traces = arg;

	vbd_traces_read(traces->ibdev_path, traces->ports, traces->taken.counters);
	traces->taken.at_ns = vbd_clock_mono_ns();
}

static bool is_sample_of(const struct vbd_trace_sample *sample, const char *device)
{
	return sample->at_ns && strcmp(sample->device, device) == 0;
}

/* How much @sample would be missed: the time between the device's samples before and after it, as a
 * part of its age. The device's first and newest samples are always kept. */
static double get_worth(
	const struct vbd_traces *traces, const struct vbd_trace_sample *sample, uint64_t now_ns)
{
	uint64_t before_ns = 0;
	uint64_t after_ns = UINT64_MAX;

	for (size_t i = 0; i < SAMPLES; i++) {
		uint64_t at_ns = traces->samples[i].at_ns;

		if (!is_sample_of(&traces->samples[i], sample->device))
			continue;
		if (at_ns < sample->at_ns && at_ns > before_ns)
			before_ns = at_ns;
		else if (at_ns > sample->at_ns && at_ns < after_ns)
			after_ns = at_ns;
	}
	if (!before_ns || after_ns == UINT64_MAX)
		return HUGE_VAL;
	return (double)(after_ns - before_ns) / (double)(now_ns - sample->at_ns);
}

/* The place of the next sample of a device that has many: the older its samples are, the wider
 * apart those are that stay. */
static struct vbd_trace_sample *least_worth_sample(
	struct vbd_traces *traces, const char *device, uint64_t now_ns)
{
	struct vbd_trace_sample *least = NULL;
	double least_worth = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		struct vbd_trace_sample *sample = &traces->samples[i];
		double worth = is_sample_of(sample, device) ? get_worth(traces, sample, now_ns) : 0;

		if (is_sample_of(sample, device) && (!least || worth < least_worth)) {
			least = sample;
			least_worth = worth;
		}
	}
	return least;
}

/* For a device with few samples find a free place, else the oldest sample of any device. */
static struct vbd_trace_sample *place_for_sample(
	struct vbd_traces *traces, const struct vbd_trace_sample *next)
{
	struct vbd_trace_sample *oldest = &traces->samples[0];
	size_t count = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		if (traces->samples[i].at_ns < oldest->at_ns)
			oldest = &traces->samples[i];
		count += is_sample_of(&traces->samples[i], next->device);
	}
	return count < SAMPLES_OF_A_DEVICE ? oldest
					   : least_worth_sample(traces, next->device, next->at_ns);
}

void vbd_traces_add(struct vbd_daemon *daemon, const struct vbd_trace_sample *sample)
{
	*place_for_sample(daemon->traces, sample) = *sample;
}

/* Devices that came meanwhile have no sample yet. */
static void on_sample_taken(void *arg)
{
	struct vbd_traces *traces = arg;
	struct vbd_daemon *daemon = traces->daemon;

	traces->reading = false;
	vbd_traces_add(daemon, &traces->taken);
	/* Without `hotplug` the daemon is being destroyed. */
	if (!daemon->hotplug)
		return;
	vbd_list_for_each_of (struct vbd_device, device, link, &daemon->fabric->devices) {
		if (!device->traced_ns && device->state == VBD_DEVICE_PRESENT)
			vbd_traces_sample(daemon, device);
	}
}

void vbd_traces_sample(struct vbd_daemon *daemon, struct vbd_device *device)
{
	struct vbd_traces *traces = daemon->traces;
	uint64_t now_ns = vbd_clock_mono_ns();

	if (traces->reading || (device->traced_ns && now_ns - device->traced_ns < INTERVAL_NS))
		return;
	device->traced_ns = now_ns;
	(void)snprintf(traces->ibdev_path, sizeof(traces->ibdev_path), "%s", device->ibdev_path);
	traces->ports = device->attr.phys_port_cnt;
	traces->taken = (struct vbd_trace_sample){0};
	(void)snprintf(traces->taken.device, sizeof(traces->taken.device), "%s", device->name);
	traces->reading = vbd_loop_work(daemon->loop, VBD_WORK_OBSERVE, NULL, take_sample,
				  on_sample_taken, traces, NULL) == VBD_OK;
}

const struct vbd_trace_sample *vbd_traces_before(
	const struct vbd_daemon *daemon, const char *device, uint64_t since_ns)
{
	const struct vbd_trace_sample *before = NULL;

	for (size_t i = 0; i < SAMPLES; i++) {
		const struct vbd_trace_sample *sample = &daemon->traces->samples[i];

		if (is_sample_of(sample, device) && sample->at_ns <= since_ns &&
			(!before || sample->at_ns > before->at_ns))
			before = sample;
	}
	return before;
}

enum vbd_status vbd_traces_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	daemon->traces = calloc(1, sizeof(*daemon->traces));
	if (!daemon->traces)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for samples of counters");
	daemon->traces->daemon = daemon;
	return VBD_OK;
}

void vbd_traces_destroy(struct vbd_daemon *daemon)
{
	free(daemon->traces);
	daemon->traces = NULL;
}
