/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes between two looks at a flat object of numbers. Pure.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_WATCH_H
#define VBD_CMD_VERBSCTL_COMMON_WATCH_H

#include <jansson.h>
#include <stdbool.h>

/**
 * vbd_ctl_watch_changes - the members that changed, as rows for a table
 * @first:   the first look of all
 * @before:  the one before this one
 * @now:     this one
 * @seconds: between the last two; more than 0
 * @lately:  only those that changed between the last two; else all that changed since @first
 *
 * Each row is {name, value, change, per_second}: the change since @before or, unless @lately, since
 * @first ("+12"), and the rate of the last one ("+6.0"). Members that are no integers, that are
 * missing in one of them, or that are nothing but the time are left out. The order is that of @now.
 * The caller owns the array.
 */
json_t *vbd_ctl_watch_changes(
	json_t *first, json_t *before, json_t *now, double seconds, bool lately);

#endif
