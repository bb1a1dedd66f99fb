/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters with one writer and any number of readers. The writer is on the data path and pays only
 * for a relaxed load and a relaxed store. A locked read-modify-write is not needed, because no
 * other thread writes.
 *
 * No function here blocks.
 */
#ifndef VBD_BASE_COUNTER_H
#define VBD_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

struct vbd_counter {
	_Atomic uint64_t value;
};

/** vbd_counter_get - read the value; any thread */
static inline uint64_t vbd_counter_get(const struct vbd_counter *counter)
{
	return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

/** vbd_counter_set - replace the value; only the thread that writes this counter */
static inline void vbd_counter_set(struct vbd_counter *counter, uint64_t value)
{
	atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

/** vbd_counter_add - add @n to the value; only the thread that writes this counter */
static inline void vbd_counter_add(struct vbd_counter *counter, uint64_t n)
{
	vbd_counter_set(counter, vbd_counter_get(counter) + n);
}

#endif
