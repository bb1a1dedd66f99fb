/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: ended objects of earlier runs, as the store has kept them. A record has the object's
 * JSON as text, as a reader saw it.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_RECORD_H
#define VBD_DAEMON_CORE_RECORD_H

#include "base/attr.h"

struct vbd_caller;
struct vbd_labels;

struct vbd_record {
	uint64_t id;
	struct vbd_labels *labels; /* referenced; NULL without labels */
	struct vbd_caller *owner;  /* referenced; NULL: the daemon itself */
	uint64_t created_wall_ns, ended_wall_ns;
	const char *name, *end_code; /* "" for none */
	const char *state;
	const char *server_id; /* of its run */
	const char *body;      /* JSON */
	void *row;	       /* from malloc; has the texts */
};

/* In the order of ids. All zero without records. */
struct vbd_records {
	struct vbd_record **items;
	size_t first, end; /* the records are items[first] to items[end - 1] */
};

/** vbd_record_free - free a record that is in no set; NULL is fine */
void vbd_record_free(struct vbd_record *record);

/** vbd_records_fini - free all records */
void vbd_records_fini(struct vbd_records *records);

/** vbd_records_append - add a record, whose id is above those of all others; false without memory
 */
bool vbd_records_append(struct vbd_records *records, struct vbd_record *record) VBD_MUST_CHECK;

/** vbd_records_count - the number of records */
size_t vbd_records_count(const struct vbd_records *records);

/** vbd_records_find - the record with @id; NULL if there is none */
struct vbd_record *vbd_records_find(const struct vbd_records *records, uint64_t id);

/** vbd_records_find_name - the newest record of the name that @caller may know of; NULL if there is
 * none */
struct vbd_record *vbd_records_find_name(
	const struct vbd_records *records, const char *name, const struct vbd_caller *caller);

/** vbd_records_after - the record with the lowest id above @id; NULL if there is none */
struct vbd_record *vbd_records_after(const struct vbd_records *records, uint64_t id);

/** vbd_records_before - the record with the highest id below @id; NULL if there is none */
struct vbd_record *vbd_records_before(const struct vbd_records *records, uint64_t id);

/** vbd_records_remove - take a record out, and free it */
void vbd_records_remove(struct vbd_records *records, struct vbd_record *record);

#endif
