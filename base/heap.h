/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive priority queue, a pairing heap. Adding takes the same time however many nodes there
 * are; removing takes time that grows with the logarithm of their number, on average.
 *
 * Not thread-safe: only the owner of the heap may use it. No function here blocks, allocates or
 * fails.
 */
#ifndef VBD_BASE_HEAP_H
#define VBD_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct vbd_heap_node {
	uint64_t key;		      /* the smallest is the first; fixed while it is in a heap */
	struct vbd_heap_node *child;  /* the first one */
	struct vbd_heap_node *next;   /* sibling */
	struct vbd_heap_node *before; /* the sibling before, or the parent of a first child */
	bool queued;
};

/* Zeroed: empty. */
struct vbd_heap {
	struct vbd_heap_node *first; /* the one with the smallest key; NULL: empty */
};

/** vbd_heap_add - add the zeroed @node, which is in no heap */
void vbd_heap_add(struct vbd_heap *heap, struct vbd_heap_node *node, uint64_t key);

/** vbd_heap_remove - take @node out; does nothing if it is in no heap */
void vbd_heap_remove(struct vbd_heap *heap, struct vbd_heap_node *node);

#endif
