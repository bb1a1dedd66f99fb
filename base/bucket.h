/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket: so many a second, and so many at once. All that is kept of one is the time at
 * which it is full again.
 *
 * Any thread; never blocks.
 */
#ifndef VBD_BASE_BUCKET_H
#define VBD_BASE_BUCKET_H

#include <stdint.h>

/**
 * vbd_bucket_take - when would the bucket be full again after one is taken out?
 * @full_ns: when it is full again now; 0 at first
 * @per_s:   1 or more
 * @burst:   what a full bucket holds, 1 or more
 * @now_ns:  of the monotonic clock
 *
 * Returns the new @full_ns, which the caller keeps to take one; 0 if the bucket is empty.
 */
uint64_t vbd_bucket_take(uint64_t full_ns, uint32_t per_s, uint32_t burst, uint64_t now_ns);

/** vbd_bucket_taken - how many are missing in the bucket */
uint64_t vbd_bucket_taken(uint64_t full_ns, uint32_t per_s, uint64_t now_ns);

#endif
