/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three sources name objects to keep: `keep: true` in a request that makes a listener, buffer or
 * connection, the lists of the configuration file, and the rows of earlier runs in state_dir. All
 * are decoded like the body of the request.
 *
 * Control thread, unless it says otherwise.
 */
#ifndef VBD_API_CORE_KEEP_H
#define VBD_API_CORE_KEEP_H

#include "api/http/request.h"
#include "api/json/decode.h"
#include "daemon/kept/kept.h"

struct vbd_buffer_spec;
struct vbd_encoder;
struct vbd_listener_spec;

/** vbd_keep_check - whether the lists of a configuration file can be decoded; the error's text
 * begins with "path:line: "; any thread */
enum vbd_status vbd_keep_check(
	const struct vbd_config_specs *specs, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_keep_use - keep what checked lists have from now on, and nothing of earlier lists besides;
 * have their exports as well */
void vbd_keep_use(struct vbd_daemon *daemon, const struct vbd_config_specs *specs);

/** vbd_keep_begin - keep what earlier runs were asked to keep, and begin to make all of it; once,
 * after vbd_keep_use() */
void vbd_keep_begin(struct vbd_daemon *daemon);

/** vbd_put_desired - put the member `desired` of an object, if it is kept */
void vbd_put_desired(struct vbd_encoder *out, const struct vbd_object *object);

/* Answer, or wait for something else. @object: NULL if none was given, or if it has gone */
typedef void (*vbd_keep_answer_fn)(struct vbd_request *req, struct vbd_object *object, void *arg);

/**
 * vbd_keep_answer - call @answer when the row of @ticket is written to state_dir
 * @ticket: see vbd_keeper_has(); VBD_TICKET_NONE: there is no row
 * @object: to which the answer is; NULL: none
 * @arg:    for @answer, which is called exactly once
 *
 * @answer is called now if nothing waits to be written, or if the store fails: the daemon serves on
 * without it, and `outlives_restart` tells. Else @answer is called within VBD_WRITTEN_MS.
 */
void vbd_keep_answer(struct vbd_request *req, uint64_t ticket, struct vbd_object *object,
	vbd_keep_answer_fn answer, void *arg);

/** vbd_keep_answer_deleted - for vbd_keep_answer(): answer 204; @arg: NULL */
void vbd_keep_answer_deleted(struct vbd_request *req, struct vbd_object *object, void *arg);

/** vbd_keep_drop_record - the caller of @req deletes @record: if it is the newest object under a
 * kept name, keep that no longer; returns the ticket of the deletion in state_dir */
uint64_t vbd_keep_drop_record(const struct vbd_request *req, const struct vbd_record *record);

/** vbd_keep_remove - if the path has the name of a kept object of this kind, and no object has the
 * name, keep it no longer and answer; else return false */
bool vbd_keep_remove(struct vbd_request *req, enum vbd_object_kind of);

/** vbd_buffer_decode - a BufferCreate; arguments: see vbd_listener_decode() */
enum vbd_status vbd_buffer_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, struct vbd_buffer_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_listener_decode - a ListenerCreate
 * @daemon: NULL: do not look for the objects to which it refers
 * @origin: of the listener
 * @faults: see vbd_decode_all()
 */
enum vbd_status vbd_listener_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, struct vbd_listener_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
