/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of objects that a caller may know of, counted as objects come and go, so that a list
 * need not be walked to be counted.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_TALLY_H
#define VBD_DAEMON_CORE_TALLY_H

#include <stdint.h>

struct vbd_caller;
struct vbd_registry;

struct vbd_tally {
	uint64_t objects; /* in a registry */
	uint64_t open;	  /* objects that have not ended */
};

/** vbd_tally_of - the numbers of an owner's objects in @registry, which object.c alone changes;
 * @owner: NULL: the daemon itself */
struct vbd_tally *vbd_tally_of(struct vbd_registry *registry, struct vbd_caller *owner);

/** vbd_tally_seen - the numbers of the objects in @registry that callers of @scope may know of; see
 * vbd_caller_scope() */
struct vbd_tally vbd_tally_seen(
	const struct vbd_registry *registry, const struct vbd_caller *scope);

#endif
