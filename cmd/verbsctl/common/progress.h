/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress bar on standard error, only on a terminal, and only for operations longer than half a
 * second.
 *
 * One thread. Blocks only while the terminal does not take output.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_PROGRESS_H
#define VBD_CMD_VERBSCTL_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct vbd_ctl_progress {
	const char *what; /* borrowed */
	bool enabled;
	bool shown;
	uint64_t start_ns;
	uint64_t drawn_ns; /* time of the last drawing */
};

/**
 * vbd_ctl_progress_init - start the clock
 * @what: borrowed; label before the bar ("put source")
 */
void vbd_ctl_progress_init(struct vbd_ctl_progress *progress, const char *what);

/**
 * vbd_ctl_progress_update - redraw, at most ten times a second
 * @total_bytes: 0 if unknown, then only bytes and rate are shown; without bytes, the time of
 * waiting
 */
void vbd_ctl_progress_update(
	struct vbd_ctl_progress *progress, uint64_t done_bytes, uint64_t total_bytes);

/** vbd_ctl_progress_fini - erase the bar */
void vbd_ctl_progress_fini(struct vbd_ctl_progress *progress);

#endif
