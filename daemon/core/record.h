/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: ended objects of earlier runs, as the store has kept them. A record has the object's
 * JSON as text, as a reader saw it. It is in `past` of its registry, where services do not find it.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_RECORD_H
#define VBD_DAEMON_CORE_RECORD_H

#include "daemon/core/registry.h"

struct vbd_record {
	struct vbd_object object; /* without a struct of its service */
	uint64_t created_wall_ns, ended_wall_ns;
	const char *end_code; /* "" for none */
	const char *state;
	const char *server_id; /* of its run */
	const char *body;      /* JSON */
	void *row;	       /* from malloc; has the texts */
};

/** vbd_record_of - the record that an object is; NULL for an object of this run, and for NULL */
struct vbd_record *vbd_record_of(const struct vbd_object *object);

/** vbd_record_create - a record of a kind, all zero but its base; NULL without memory */
struct vbd_record *vbd_record_create(struct vbd_registry *registry);

/** vbd_record_free - free a record that its registry does not have; NULL is fine */
void vbd_record_free(struct vbd_record *record);

/** vbd_record_add - put a record, whose id is above those of all others, into its registry; false
 * without memory */
bool vbd_record_add(struct vbd_record *record) VBD_MUST_CHECK;

/** vbd_record_find - the record with @id; NULL if there is none */
struct vbd_record *vbd_record_find(const struct vbd_registry *registry, uint64_t id);

/** vbd_record_find_name - the newest record of the name that @caller may know of; NULL if there is
 * none */
struct vbd_record *vbd_record_find_name(
	const struct vbd_registry *registry, const char *name, const struct vbd_caller *caller);

/** vbd_records_fini - free all records of a registry */
void vbd_records_fini(struct vbd_registry *registry);

#endif
