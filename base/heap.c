/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <stddef.h>

/* Make the root with the larger key the first child of the other. */
static struct vbd_heap_node *meld_trees(struct vbd_heap_node *a, struct vbd_heap_node *b)
{
	struct vbd_heap_node *top = b->key < a->key ? b : a;
	struct vbd_heap_node *below = top == a ? b : a;

	below->next = top->child;
	if (below->next)
		below->next->before = below;
	below->before = top;
	top->child = below;
	return top;
}

static struct vbd_heap_node *pop_sibling(struct vbd_heap_node **list)
{
	struct vbd_heap_node *node = *list;

	*list = node->next;
	node->next = node->before = NULL;
	return node;
}

/* Meld the siblings into one tree: in pairs from the left, then the pairs from the right. */
static struct vbd_heap_node *meld_siblings(struct vbd_heap_node *list)
{
	struct vbd_heap_node *pairs = NULL;
	struct vbd_heap_node *top;

	if (!list)
		return NULL;
	while (list) {
		struct vbd_heap_node *pair = pop_sibling(&list);

		if (list)
			pair = meld_trees(pair, pop_sibling(&list));
		pair->next = pairs;
		pairs = pair;
	}
	top = pop_sibling(&pairs);
	while (pairs)
		top = meld_trees(top, pop_sibling(&pairs));
	return top;
}

void vbd_heap_add(struct vbd_heap *heap, struct vbd_heap_node *node, uint64_t key)
{
	node->key = key;
	node->queued = true;
	heap->first = heap->first ? meld_trees(heap->first, node) : node;
}

static void unlink_node(struct vbd_heap_node *node)
{
	if (node->before->child == node)
		node->before->child = node->next;
	else
		node->before->next = node->next;
	if (node->next)
		node->next->before = node->before;
}

void vbd_heap_remove(struct vbd_heap *heap, struct vbd_heap_node *node)
{
	struct vbd_heap_node *below;

	if (!node->queued)
		return;
	below = meld_siblings(node->child);
	if (heap->first == node) {
		heap->first = below;
	} else {
		unlink_node(node);
		if (below)
			heap->first = meld_trees(heap->first, below);
	}
	*node = (struct vbd_heap_node){0};
}
