/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec of a kept object: the body of the request that makes the object, with the members that
 * say how it is kept. keep.c has those who give specs.
 *
 * Any thread, unless an object is made.
 */
#ifndef VBD_API_RESOURCES_KEEP_SPEC_H
#define VBD_API_RESOURCES_KEEP_SPEC_H

#include "api/json/decode.h"
#include "daemon/kept/kept.h"

struct vbd_buffer_spec;
struct vbd_daemon;
struct vbd_listener_spec;

/* The members of a body that say how the object is kept. */
struct vbd_keep_input {
	bool keep;
	unsigned int share; /* 0: nobody, 1: all operators */
	enum vbd_reconnect reconnect;
	uint32_t reconnect_min_ms, reconnect_max_ms;
	bool policy_seen[3];
};

/** vbd_keep_take_members - move the members out of @json, and decode them */
enum vbd_status vbd_keep_take_members(json_t *json, enum vbd_object_kind of,
	struct vbd_keep_input *ret_input, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_keep_refuse_policy - bad_value if a body without `keep` says how the object is kept */
enum vbd_status vbd_keep_refuse_policy(
	const struct vbd_keep_input *input, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_keep_check_body - missing_field without a name, bad_value for what the same request can't
 * make again */
enum vbd_status vbd_keep_check_body(const json_t *json, struct vbd_error *err) VBD_MUST_CHECK;

/* Decode @json, which has neither labels nor the members of keep_fields any more, and make the
 * object. @kept: NULL to decode only. @before: what is there of the object; NULL for nothing. */
typedef enum vbd_status (*vbd_keep_make_fn)(struct vbd_kept *kept, const json_t *json,
	struct vbd_object *before, struct vbd_object **ret_object, struct vbd_faults *faults,
	struct vbd_error *err);

/* A kind that can be kept. */
struct vbd_keepable {
	enum vbd_object_kind of;
	const char *list; /* key of the configuration file, and plural of the kind */
	vbd_keep_make_fn make;
};

/** vbd_keepable_of - NULL for a kind that can't be kept */
const struct vbd_keepable *vbd_keepable_of(enum vbd_object_kind of);

/** vbd_keepable_listed - the kind whose list is @list; NULL: none */
const struct vbd_keepable *vbd_keepable_listed(const char *list);

/* A spec with all to which it refers. */
struct vbd_keep_spec {
	struct vbd_kept_spec kept;
	json_t *json;
};

/** vbd_keep_spec_decode - decode all of @body, to which the spec refers; vbd_keep_spec_fini()
 * follows in any case */
enum vbd_status vbd_keep_spec_decode(const struct vbd_keepable *what, const char *body,
	struct vbd_keep_spec *ret_spec, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_keep_spec_fini(struct vbd_keep_spec *spec);

/** vbd_keep_spec_make - make the object that a spec describes: `make` of struct vbd_kept_ops;
 * control thread */
enum vbd_status vbd_keep_spec_make(struct vbd_kept *kept, struct vbd_object *before,
	struct vbd_object **ret_object, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_buffer_decode - a BufferCreate; arguments as of vbd_listener_decode() */
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
