/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that several kinds of objects share, put as the member @name; @name is NULL in an array.
 *
 * Control thread.
 */
#ifndef VBD_API_CORE_COMMON_JSON_H
#define VBD_API_CORE_COMMON_JSON_H

#include "api/core/task.h"
#include "api/json/codec.h"
#include "api/json/decode.h"
#include "rdma/device/private_data.h"

struct vbd_connection;
struct vbd_verdict;
struct vbd_failures;
struct vbd_gid;
struct vbd_qp;
struct vbd_why;

/* --- members of objects ---------------------------------------------------------------------- */

/** vbd_put_labels - put the member `labels`: {"job": "x"}; {} for NULL */
void vbd_put_labels(struct vbd_encoder *out, const struct vbd_labels *labels);

/** vbd_put_owner - put the member `owner`, the name of a caller; null: the daemon itself */
void vbd_put_owner(struct vbd_encoder *out, const struct vbd_object *object);

/** vbd_put_object - put the members `id`, `name` (null if there is none), `owner` and `labels` */
void vbd_put_object(struct vbd_encoder *out, const struct vbd_object *object);

/** vbd_put_address - put "192.0.2.1" or "fe80::1%eth0"; an empty address gives null */
void vbd_put_address(
	struct vbd_encoder *out, const char *name, const struct sockaddr_storage *address);

/** vbd_gid_text - a GID in the notation of an IPv6 address; returns @text */
#define VBD_GID_TEXT_BYTES 46
const char *vbd_gid_text(const uint8_t raw[16], char text[VBD_GID_TEXT_BYTES]);

/** vbd_put_reference - put schema Reference; null for id 0. @text: the name, "" for null */
void vbd_put_reference(struct vbd_encoder *out, const char *name, uint64_t id, const char *text);

/** vbd_put_ref - put schema Reference: `id` and `name` of an object; null for id 0. `name` is null
 * if the object has none or is gone. */
void vbd_put_ref(struct vbd_encoder *out, const char *name, const struct vbd_registry *registry,
	uint64_t id);

/**
 * vbd_put_error - put schema Error: code, detail, hint, first, explain; null for VBD_OK
 * @object: whose error it is; NULL: none that has a connection
 * @first:  record of the first error; NULL if there is none, then `first` is @err itself if it has
 *          the source of a call, an event or a completion
 */
void vbd_put_error(struct vbd_encoder *out, const char *name, const struct vbd_object *object,
	const struct vbd_error *err, const struct vbd_first_error *first);

/** vbd_put_task - put the members `id`, `owner`, `labels` and `state`: a task has no name */
void vbd_put_task(struct vbd_encoder *out, const struct vbd_object *object, const char *state);

/** vbd_put_task_error - vbd_put_error() with the error of a task, null unless it has @failed;
 * @first: its status is VBD_OK if there was no first error */
void vbd_put_task_error(struct vbd_encoder *out, const struct vbd_object *object, bool failed,
	const struct vbd_first_error *first);

/** vbd_put_sentence - put a clause as a sentence */
void vbd_put_sentence(struct vbd_encoder *out, const char *name, const char *clause);

/** vbd_put_cause - put the members of schema Cause */
void vbd_put_cause(struct vbd_encoder *out, const struct vbd_verdict *cause);

/** vbd_put_explain - put `explain`, the path of the explanation of a connection */
void vbd_put_explain(struct vbd_encoder *out, uint64_t connection_id);

/** vbd_put_failures - put an array of schema Failure */
void vbd_put_failures(
	struct vbd_encoder *out, const char *name, const struct vbd_failures *failures);

/** vbd_put_end - put `end_code`, null until the object has ended, and `error`, null if nothing went
 * wrong, of the object with this QP */
void vbd_put_end(struct vbd_encoder *out, const struct vbd_object *object, const struct vbd_qp *qp);

/** vbd_put_op_counters - put schema OpCounters */
void vbd_put_op_counters(
	struct vbd_encoder *out, const char *name, const struct vbd_op_counters *counters);

/** vbd_put_latency - put schema Latency; null for an empty histogram */
void vbd_put_latency(
	struct vbd_encoder *out, const char *name, const struct vbd_histogram *times_ns);

/** vbd_put_remote - put schema RemoteMemory; null if the operation needs no memory of the peer */
void vbd_put_remote(
	struct vbd_encoder *out, const char *name, enum vbd_op op, uint64_t addr, uint32_t rkey);

/** vbd_put_received - put `op`, `length_bytes`, `written_bytes` and `imm` of a message */
void vbd_put_received(struct vbd_encoder *out, const struct vbd_received *received);

/* The names of the bits of enum vbd_mem_access. */
#define VBD_ACCESS_NAME_COUNT 4
extern const char *const vbd_access_names[VBD_ACCESS_NAME_COUNT];

/** vbd_put_access - put the names of the bits of @access as an array */
void vbd_put_access(struct vbd_encoder *out, const char *name, unsigned int access);

/** vbd_put_gid - put schema Gid */
void vbd_put_gid(struct vbd_encoder *out, const char *name, const struct vbd_gid *gid);

/** vbd_put_event - put the members of schema Event */
void vbd_put_event(
	struct vbd_encoder *out, const struct vbd_daemon *daemon, const struct vbd_event *event);

/** vbd_put_glossary_why - put schema GlossaryEntry */
void vbd_put_glossary_why(struct vbd_encoder *out, const char *name, const struct vbd_why *why);

#define VBD_TAG_BYTES 96

/** vbd_task_version - the number of changes of an object's state and parameters */
uint64_t vbd_task_version(const struct vbd_task_kind *kind, const void *task);

/** vbd_task_tag - write the quoted ETag of an object; returns @tag */
char *vbd_task_tag(const struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, char tag[VBD_TAG_BYTES]);

/** vbd_task_unchanged - vbd_condition_check() with the object's ETag */
enum vbd_status vbd_task_unchanged(struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_tag_unchanged - as vbd_task_unchanged(), for a record or a kept object; @singular: the kind;
 * @tag: the ETag, NULL if nothing has one now */
enum vbd_status vbd_tag_unchanged(struct vbd_request *req, const char *singular, const char *tag,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_task_reply - answer with an object and its ETag */
void vbd_task_reply(struct vbd_request *req, unsigned int status, const struct vbd_task_kind *kind,
	const void *task);

/** vbd_task_created - answer 201 with an object of a registry, its ETag and its Location */
void vbd_task_created(
	struct vbd_request *req, const struct vbd_task_kind *kind, const struct vbd_object *task);

/* Decoded with VBD_PRIVATE_DATA_FIELD. */
struct vbd_private_data_input {
	const char *data; /* points into the document; NULL: absent */
	uint32_t encoding;
};

#define VBD_PRIVATE_DATA_FIELD_COUNT 2
extern const struct vbd_field vbd_private_data_fields[VBD_PRIVATE_DATA_FIELD_COUNT];

/* The member `private_data` of a struct that has `struct vbd_private_data_input private_data`. */
#define VBD_PRIVATE_DATA_FIELD(type_)                                   \
	{                                                               \
		VBD_FIELD(OBJECT, "private_data", type_, private_data), \
			.fields = vbd_private_data_fields,              \
			.n_fields = VBD_PRIVATE_DATA_FIELD_COUNT        \
	}

/** vbd_private_data_decode - decode the bytes; length 0 if absent. vbd_private_data_check() checks
 * the length for a CM message. */
enum vbd_status vbd_private_data_decode(const struct vbd_private_data_input *input,
	struct vbd_private_data *ret_data, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_put_private_data - put schema PrivateDataFull of the first @shown_bytes: text if printable,
 * else hex; null if there are none */
void vbd_put_private_data(struct vbd_encoder *out, const char *name,
	const struct vbd_private_data *data, uint8_t shown_bytes);

/* --- labels of requests ---------------------------------------------------------------------- */

/** vbd_labels_decode - the member `labels`; NULL for an absent one
 * @ret_labels: a reference; NULL for no labels */
enum vbd_status vbd_labels_decode(
	const json_t *json, struct vbd_labels **ret_labels, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_labels_check_patch - whether the object @patch has labels and nulls only, as in RFC
 * 7396: null takes a label away */
enum vbd_status vbd_labels_check_patch(const json_t *patch, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_labels_patch - @labels with the changes of @patch, which vbd_labels_check_patch() allowed;
 * VBD_E_OUT_OF_RANGE for too many labels
 * @ret_labels: a reference; NULL for no labels */
enum vbd_status vbd_labels_patch(const struct vbd_labels *labels, const json_t *patch,
	struct vbd_labels **ret_labels, struct vbd_error *err) VBD_MUST_CHECK;

#endif
