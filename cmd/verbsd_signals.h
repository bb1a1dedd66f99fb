/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGTERM and SIGINT. A thread waits for them, so that they end the process also while the control
 * thread or a data worker is stuck: at a second signal, and at a deadline after the first.
 *
 * Main thread.
 */
#ifndef VBD_CMD_VERBSD_SIGNALS_H
#define VBD_CMD_VERBSD_SIGNALS_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/loop.h"

#include <stdint.h>

/**
 * vbd_signals_start - block both signals, and start the thread that waits for them
 *
 * Call it before other threads start: they inherit the mask. Until vbd_signals_watch() a signal
 * ends the process as if nobody caught it. The thread stays until the process ends.
 */
enum vbd_status vbd_signals_start(struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_signals_watch - call back on the control thread at the first signal
 * @cb:          called once
 * @deadline_ms: time from the first signal until the process ends with EXIT_FAILURE, if it still
 *               runs then; a second signal ends it so at once
 *
 * Call it once. Before the loop is destroyed, call vbd_signals_unwatch().
 */
enum vbd_status vbd_signals_watch(struct vbd_loop *loop, uint64_t deadline_ms, vbd_signal_cb cb,
	void *arg, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_signals_unwatch - don't call back any more; a second signal and the deadline stay */
void vbd_signals_unwatch(void);

/** vbd_signals_ignore - a further signal has no effect: all is released, and the process ends */
void vbd_signals_ignore(void);

#endif
