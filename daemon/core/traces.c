/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/traces.h"

#include "base/attr.h"
#include "base/clock.h"
#include "rdma/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES	    16
#define INTERVAL_NS VBD_NS_PER_S

/* A sample that is taken this long after a beginning still is of the beginning. */
#define SOON_NS (200 * VBD_NS_PER_MS)

struct vbd_traces {
	struct vbd_trace_sample samples[SAMPLES]; /* a ring */
	unsigned int next;
	/* The sample being taken; the pool thread has it while `reading`. */
	bool reading;
	char ibdev_path[256];
	unsigned int ports;
	struct vbd_trace_sample taken;
};

/* A set of counters that is being read. */
struct reading {
	enum vbd_counter_set set;
	uint64_t *counters;
};

static void on_counter(const char *name, uint64_t value, void *arg)
{
	const struct reading *reading = arg;
	enum vbd_trace trace = vbd_trace_of(reading->set, name);

	if (trace < VBD_TRACE_COUNT)
		reading->counters[trace] += value;
}

void vbd_traces_read(
	const char *ibdev_path, unsigned int ports, uint64_t ret_counters[VBD_TRACE_COUNT])
{
	static const enum vbd_counter_set sets[] = {
		VBD_COUNTER_SET_HW, VBD_COUNTER_SET_CM_TX_RETRIES, VBD_COUNTER_SET_CM_RX_MSGS};

	memset(ret_counters, 0, sizeof(uint64_t[VBD_TRACE_COUNT]));
	for (unsigned int port = 1; port <= ports; port++) {
		for (size_t i = 0; i < VBD_ARRAY_LEN(sets); i++) {
			struct reading reading = {.set = sets[i], .counters = ret_counters};

			vbd_port_counters_read(ibdev_path, port, sets[i], on_counter, &reading);
		}
	}
}

/* Pool thread. */
static void take(void *arg)
{
	struct vbd_traces *traces = arg;

	vbd_traces_read(traces->ibdev_path, traces->ports, traces->taken.counters);
	traces->taken.at_ns = vbd_clock_mono_ns();
}

static void taken(void *arg)
{
	struct vbd_traces *traces = arg;

	traces->reading = false;
	traces->samples[traces->next++ % SAMPLES] = traces->taken;
}

void vbd_traces_mark(struct vbd_daemon *daemon, struct vbd_device *device)
{
	struct vbd_traces *traces = daemon->traces;
	uint64_t now_ns = vbd_clock_mono_ns();

	if (traces->reading || now_ns - device->traced_ns < INTERVAL_NS)
		return;
	device->traced_ns = now_ns;
	(void)snprintf(traces->ibdev_path, sizeof(traces->ibdev_path), "%s", device->ibdev_path);
	traces->ports = device->attr.phys_port_cnt;
	traces->taken = (struct vbd_trace_sample){0};
	(void)snprintf(traces->taken.device, sizeof(traces->taken.device), "%s", device->name);
	traces->reading = vbd_loop_work(daemon->loop, take, taken, traces, NULL) == VBD_OK;
}

const struct vbd_trace_sample *vbd_traces_before(
	const struct vbd_daemon *daemon, const char *device, uint64_t since_ns)
{
	const struct vbd_trace_sample *before = NULL;
	const struct vbd_trace_sample *after = NULL;

	for (size_t i = 0; i < SAMPLES; i++) {
		const struct vbd_trace_sample *sample = &daemon->traces->samples[i];
		bool early = sample->at_ns <= since_ns;

		if (!sample->at_ns || strcmp(sample->device, device) != 0)
			continue;
		if (early && (!before || sample->at_ns > before->at_ns))
			before = sample;
		else if (!early && (!after || sample->at_ns < after->at_ns))
			after = sample;
	}
	if (before && since_ns - before->at_ns <= INTERVAL_NS)
		return before;
	return after && after->at_ns - since_ns <= SOON_NS ? after : before;
}

enum vbd_status vbd_traces_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	daemon->traces = calloc(1, sizeof(*daemon->traces));
	if (!daemon->traces)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for samples of counters");
	return VBD_OK;
}

void vbd_traces_destroy(struct vbd_daemon *daemon)
{
	free(daemon->traces);
	daemon->traces = NULL;
}
