/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Prefer header (RFC 7240), of which verbsd honours wait=N and respond-async.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_PREFER_H
#define VBD_API_HTTP_PREFER_H

#include <stdbool.h>

#define VBD_PREFER_WAIT_MAX_S 60

/**
 * vbd_prefer_wait - parse wait=N
 * @value:      the header's value; NULL if there is none
 * @ret_wait_s: 0 to VBD_PREFER_WAIT_MAX_S; a longer wait is cut to that
 *
 * Returns false, and sets nothing, if there is no valid wait=N: an invalid preference is ignored
 * (RFC 7240, section 2).
 */
bool vbd_prefer_wait(const char *value, unsigned int *ret_wait_s);

/** vbd_prefer_async - true if the client prefers an immediate answer; @value: as above */
bool vbd_prefer_async(const char *value);

#endif
