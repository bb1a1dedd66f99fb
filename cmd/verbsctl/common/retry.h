/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a server that is away, for commands that run until interrupted: prints the loss once,
 * waits for growing intervals, and prints the return.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_RETRY_H
#define VBD_CMD_VERBSCTL_COMMON_RETRY_H

#include "cmd/verbsctl/common/http.h"

/* Initialize to zero. */
struct vbd_ctl_retry {
	unsigned int pause_ms; /* before the next attempt; 0 while the server answers */
};

/**
 * vbd_ctl_may_pass - whether a later attempt may succeed: the server is away, stopping or
 * overloaded
 */
bool vbd_ctl_may_pass(enum vbd_ctl_outcome outcome, const struct vbd_ctl_answer *answer);

/**
 * vbd_ctl_retry_wait - sleep until the next attempt
 * @why: error text of vbd_ctl_http_perform(); NULL if the server answered with an error
 */
void vbd_ctl_retry_wait(
	struct vbd_ctl_retry *retry, const struct vbd_ctl_http *http, const char *why);

/** vbd_ctl_retry_over - note that the server has answered; returns whether it was away before */
bool vbd_ctl_retry_over(struct vbd_ctl_retry *retry, const struct vbd_ctl_http *http);

#endif
