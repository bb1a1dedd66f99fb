/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of earlier runs, parsed from the JSON in state_dir: an answer has their members and
 * `server_id`, as far as the request asks for them; lists sort and select them by their members.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_ARCHIVE_H
#define VBD_API_HTTP_ARCHIVE_H

#include "daemon/core/registry.h"

#include <jansson.h>

struct vbd_encoder;

struct vbd_archived {
	const struct vbd_record *record;
	json_t *body;	     /* an object, with `server_id` */
	json_t *explanation; /* of a connection that had failed, with `server_id`; else NULL */
};

/** vbd_archived_open - parse the body of a record; false if that is no JSON object, or without
 * memory. An object that was open when its run was killed gets an end. */
bool vbd_archived_open(
	struct vbd_archived *ret_archived, const struct vbd_record *record) VBD_MUST_CHECK;

/** vbd_archived_close - free the body; zeros are fine */
void vbd_archived_close(struct vbd_archived *archived);

/** vbd_put_json - put a value as it was read; NULL gives null */
void vbd_put_json(struct vbd_encoder *out, const char *name, json_t *value);

/** vbd_put_json_members - put the members of an object */
void vbd_put_json_members(struct vbd_encoder *out, json_t *object);

/** vbd_archived_time_ns - a time of the object in ns since 1970-01-01T00:00:00Z; 0 for null */
uint64_t vbd_archived_time_ns(const struct vbd_archived *archived, const char *name);

/** vbd_archived_number - an integer of the object, or the id of the object to which a member
 * refers; 0 for none */
uint64_t vbd_archived_number(const struct vbd_archived *archived, const char *name);

/** vbd_archived_text - a text of the object, or the name of the object to which a member refers; ""
 * for null */
const char *vbd_archived_text(const struct vbd_archived *archived, const char *name);

/** vbd_archived_refers - does a member of the name, at any depth, refer to the object with @id? */
bool vbd_archived_refers(const struct vbd_archived *archived, const char *name, uint64_t id);

#endif
