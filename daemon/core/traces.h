/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's counters of each device before something began, so that a failure can be explained
 * by those that have risen since. The thread pool reads them when a device comes, and when
 * something begins on it, at most once a second. More samples are kept of recent time. An incident
 * is compared with a sample from before its beginning: a later one may count the incident already.
 *
 * Control thread, unless a function says otherwise.
 */
#ifndef VBD_DAEMON_CORE_TRACES_H
#define VBD_DAEMON_CORE_TRACES_H

#include "daemon/core/context.h"
#include "rdma/diagnose/facts.h"

struct vbd_device;

/* The counters of all ports of a device at one moment. */
struct vbd_trace_sample {
	char device[64];
	uint64_t at_ns; /* 0: there is none */
	uint64_t counters[VBD_TRACE_COUNT];
};

/** vbd_traces_create - create the daemon's `traces`, without a sample */
enum vbd_status vbd_traces_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_traces_destroy - free it, after the loop, so that no sample is being taken */
void vbd_traces_destroy(struct vbd_daemon *daemon);

/** vbd_traces_sample - something begins on @device: take a sample, unless one is a second old at
 * most or cannot be taken now */
void vbd_traces_sample(struct vbd_daemon *daemon, struct vbd_device *device);

/** vbd_traces_add - keep a sample that was taken elsewhere */
void vbd_traces_add(struct vbd_daemon *daemon, const struct vbd_trace_sample *sample);

/** vbd_traces_before - the last sample of the device that was complete at @since_ns; NULL if there
 * is none. Valid until the next turn of the loop. */
const struct vbd_trace_sample *vbd_traces_before(
	const struct vbd_daemon *daemon, const char *device, uint64_t since_ns);

/** vbd_traces_read - any thread; read the counters of @ports ports now. Blocks while the driver
 * fetches them. @ibdev_path: the device's folder in sysfs */
void vbd_traces_read(
	const char *ibdev_path, unsigned int ports, uint64_t ret_counters[VBD_TRACE_COUNT]);

#endif
