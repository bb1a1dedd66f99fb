/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between two snapshots of a flat object of numbers. Pure.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_WATCH_H
#define VBD_CMD_VERBSCTL_COMMON_WATCH_H

#include <jansson.h>
#include <stdbool.h>

/**
 * vbd_ctl_watch_changes - build rows for a table of the members that changed
 * @first:   the first snapshot of the run
 * @before:  the last snapshot but one
 * @now:     the last snapshot
 * @seconds: between @before and @now; more than 0
 * @lately:  true for the members that changed since @before, false for those that changed since
 *           @first
 *
 * Each row is {name, value, change, per_second}. `change` is the difference to @before, or to
 * @first unless @lately ("+12"); `per_second` is the rate since @before ("+6.0"). Members that are
 * not integers, that a snapshot lacks, or that only measure time are left out. The order is that of
 * @now. Returns an array that the caller owns.
 */
json_t *vbd_ctl_watch_changes(
	json_t *first, json_t *before, json_t *now, double seconds, bool lately);

#endif
