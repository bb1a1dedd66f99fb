/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command that goes on for ever does while the server is away: tell so once, try again at
 * growing intervals, tell when it is back.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_RETRY_H
#define VBD_CMD_VERBSCTL_COMMON_RETRY_H

#include "cmd/verbsctl/common/http.h"

#include <stdbool.h>

/* Zeroed to start with. */
struct vbd_ctl_retry {
	unsigned int pause_ms; /* before the next try; 0 while the server answers */
};

/** vbd_ctl_may_pass - is the trouble one that passes: a server that is away, stops or is
 * overloaded? */
bool vbd_ctl_may_pass(enum vbd_ctl_outcome outcome, const struct vbd_ctl_answer *answer);

/**
 * vbd_ctl_retry_wait - wait for as long as the next try should be put off
 * @why: from vbd_ctl_http_perform(); NULL if the server refused
 */
void vbd_ctl_retry_wait(
	struct vbd_ctl_retry *retry, const struct vbd_ctl_http *http, const char *why);

/** vbd_ctl_retry_over - the server has answered; returns whether it was away */
bool vbd_ctl_retry_over(struct vbd_ctl_retry *retry, const struct vbd_ctl_http *http);

#endif
