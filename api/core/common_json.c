/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that several kinds of objects have: counters, errors, ends, latencies, access flags.
 */
#include "api/core/common_json.h"

#include "api/core/context.h"
#include "api/http/idempotency.h"
#include "base/text.h"
#include "daemon/core/batch.h"
#include "rdma/diagnose/judge.h"
#include "rdma/diagnose/why.h"
#include "rdma/qp/qp.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>

void vbd_put_op_counters(
	struct vbd_encoder *out, const char *name, const struct vbd_op_counters *counters)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "posted", vbd_counter_get(&counters->posted));
	vbd_put_u64(out, "completed", vbd_counter_get(&counters->completed));
	vbd_put_u64(out, "errors", vbd_counter_get(&counters->errors));
	vbd_put_u64(out, "flushed", vbd_counter_get(&counters->flushed));
	vbd_put_u64(out, "bytes", vbd_counter_get(&counters->bytes));
	vbd_put_u64(out, "signalled", vbd_counter_get(&counters->signalled));
	vbd_end(out);
}

void vbd_put_remote(
	struct vbd_encoder *out, const char *name, enum vbd_op op, uint64_t addr, uint32_t rkey)
{
	if (!vbd_begin_object_if(out, name, vbd_ops[op].needs_remote))
		return;
	vbd_put_hex(out, "addr", addr, 1);
	vbd_put_hex(out, "rkey", rkey, 8);
	vbd_end(out);
}

void vbd_put_received(struct vbd_encoder *out, const struct vbd_received *received)
{
	vbd_put_text(out, "op", vbd_op_name(received->op));
	vbd_put_u64(out, "length_bytes", received->length_bytes);
	vbd_put_u64_or_null(
		out, "written_bytes", received->op == VBD_OP_WRITE_IMM, received->written_bytes);
	vbd_put_u64_or_null(out, "imm", received->has_imm, received->imm);
}

void vbd_put_latency(
	struct vbd_encoder *out, const char *name, const struct vbd_histogram *times_ns)
{
	if (!vbd_begin_object_if(out, name, vbd_counter_get(&times_ns->count) != 0))
		return;
	vbd_put_u64(out, "min", vbd_counter_get(&times_ns->min));
	vbd_put_u64(out, "mean", vbd_histogram_mean(times_ns));
	vbd_put_u64(out, "p50", vbd_histogram_permille(times_ns, 500));
	vbd_put_u64(out, "p90", vbd_histogram_permille(times_ns, 900));
	vbd_put_u64(out, "p99", vbd_histogram_permille(times_ns, 990));
	vbd_put_u64(out, "p999", vbd_histogram_permille(times_ns, 999));
	vbd_put_u64(out, "max", vbd_counter_get(&times_ns->max));
	vbd_end(out);
}

/* Index: bit number in enum vbd_mem_access. */
const char *const vbd_access_names[VBD_ACCESS_NAME_COUNT] = {
	"remote_write", "remote_read", "remote_atomic", "mw_bind"};
static_assert(VBD_ACCESS_REMOTE_WRITE == 1 << 0 && VBD_ACCESS_REMOTE_READ == 1 << 1 &&
		      VBD_ACCESS_REMOTE_ATOMIC == 1 << 2 && VBD_ACCESS_MW_BIND == 1 << 3,
	"the decoder sets the bit of the name's index");

void vbd_put_access(struct vbd_encoder *out, const char *name, unsigned int access)
{
	vbd_begin_array(out, name);
	for (unsigned int i = 0; i < VBD_ACCESS_NAME_COUNT; i++) {
		if (access & 1u << i)
			vbd_put_text(out, NULL, vbd_access_names[i]);
	}
	vbd_end(out);
}

/* --- members of objects ---------------------------------------------------------------------- */

void vbd_put_labels(struct vbd_encoder *out, const struct vbd_labels *labels)
{
	vbd_begin_object(out, "labels");
	for (size_t i = 0; labels && i < labels->count; i++)
		vbd_put_text(out, labels->items[i].key, labels->items[i].value);
	vbd_end(out);
}

void vbd_put_owner(struct vbd_encoder *out, const struct vbd_object *object)
{
	vbd_put_text(out, "owner", object->owner ? object->owner->name : NULL);
}

void vbd_put_object(struct vbd_encoder *out, const struct vbd_object *object)
{
	vbd_put_u64(out, "id", object->id);
	vbd_put_text_or_null(out, "name", object->name);
	vbd_put_owner(out, object);
	vbd_put_labels(out, object->labels);
}

void vbd_put_task(struct vbd_encoder *out, const struct vbd_object *object, const char *state)
{
	vbd_put_u64(out, "id", object->id);
	vbd_put_owner(out, object);
	vbd_put_labels(out, object->labels);
	vbd_put_text(out, "state", state);
}

void vbd_put_address(
	struct vbd_encoder *out, const char *name, const struct sockaddr_storage *address)
{
	char text[VBD_ADDR_TEXT_BYTES];

	vbd_put_text_or_null(out, name, vbd_addr_format(address, text));
}

const char *vbd_gid_text(const uint8_t raw[16], char text[VBD_GID_TEXT_BYTES])
{
	return inet_ntop(AF_INET6, raw, text, VBD_GID_TEXT_BYTES);
}

/* --- references ------------------------------------------------------------------------------ */

void vbd_put_reference(struct vbd_encoder *out, const char *name, uint64_t id, const char *text)
{
	if (!vbd_begin_object_if(out, name, id))
		return;
	vbd_put_u64(out, "id", id);
	vbd_put_text_or_null(out, "name", text);
	vbd_end(out);
}

void vbd_put_ref(
	struct vbd_encoder *out, const char *name, const struct vbd_registry *registry, uint64_t id)
{
	const struct vbd_object *object = id ? vbd_registry_find_id(registry, id) : NULL;

	vbd_put_reference(out, name, id, object ? object->name : "");
}

/* --- errors and the end ---------------------------------------------------------------------- */

static const char *error_text(const struct vbd_error *error)
{
	return *error->text ? error->text : vbd_status_text(error->status);
}

static const char *const source_names[] = {
	[VBD_SOURCE_NONE] = "call",
	[VBD_SOURCE_ERRNO] = "call",
	[VBD_SOURCE_CM_EVENT] = "cm_event",
	[VBD_SOURCE_WC] = "wc",
	[VBD_SOURCE_ASYNC] = "async_event",
	[VBD_SOURCE_GAI] = "resolver",
	[VBD_SOURCE_DEADLINE] = "deadline",
	[VBD_SOURCE_INPUT] = "call",
};

static void put_cm_event(struct vbd_encoder *out, const struct vbd_error *error)
{
	bool seen = error->source == VBD_SOURCE_CM_EVENT;

	vbd_put_text(out, "cm_event", seen ? vbd_cm_event_name(error->kind) : NULL);
	if (seen)
		vbd_put_i64(out, "cm_status", error->raw);
	else
		vbd_put_null(out, "cm_status");
	vbd_put_text(out, "reject_reason", vbd_why_reject_name(error));
}

static void put_completion(struct vbd_encoder *out, const struct vbd_error *error)
{
	bool seen = error->source == VBD_SOURCE_WC;

	vbd_put_text(out, "wc_status", seen ? vbd_wc_status_name(error->kind) : NULL);
	vbd_put_u64_or_null(out, "vendor_err", seen, (uint64_t)error->raw);
}

static void put_failure(struct vbd_encoder *out, const struct vbd_failure *failure)
{
	const struct vbd_error *err = &failure->err;

	vbd_begin_object(out, NULL);
	vbd_put_text(out, "kind", failure->kind);
	vbd_put_u64(out, "id", failure->id);
	vbd_put_text_or_null(out, "name", failure->name);
	vbd_put_text(out, "code", vbd_status_code(err->status));
	vbd_put_text(out, "detail", *err->text ? err->text : vbd_status_text(err->status));
	vbd_end(out);
}

void vbd_put_failures(
	struct vbd_encoder *out, const char *name, const struct vbd_failures *failures)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < failures->count; i++)
		put_failure(out, &failures->items[i]);
	vbd_end(out);
}

/* Put schema FirstError; null if there was no error. */
static void put_first_error(
	struct vbd_encoder *out, const char *name, const struct vbd_first_error *first)
{
	const struct vbd_error *error = &first->error;

	if (!vbd_begin_object_if(out, name, error->status != VBD_OK))
		return;
	vbd_put_time(out, "at", first->at_ns);
	vbd_put_text(out, "source", source_names[error->source]);
	vbd_put_text(out, "code", vbd_status_code(error->status));
	vbd_put_text(out, "detail", error_text(error));
	vbd_put_text(out, "hint", vbd_why_hint(error));
	vbd_put_text(out, "op", first->op >= 0 ? vbd_op_name((enum vbd_op)first->op) : NULL);
	put_cm_event(out, error);
	put_completion(out, error);
	vbd_put_text(out, "async_event",
		error->source == VBD_SOURCE_ASYNC ? vbd_async_event_name(error->kind) : NULL);
	vbd_put_text(out, "call", error->call);
	vbd_put_text_or_null(out, "errno",
		error->source == VBD_SOURCE_ERRNO ? vbd_errno_name((int)error->raw) : "");
	vbd_put_u64_or_null(out, "transfer", first->transfer != 0, first->transfer);
	vbd_end(out);
}

/* Without a record of the first error, @err itself may be the first error. */
static void put_own_source(struct vbd_encoder *out, const char *name, const struct vbd_error *err)
{
	const struct vbd_first_error first = {.error = *err, .op = -1};

	if (err->source == VBD_SOURCE_NONE || err->source == VBD_SOURCE_INPUT)
		vbd_put_null(out, name);
	else
		put_first_error(out, name, &first);
}

void vbd_put_sentence(struct vbd_encoder *out, const char *name, const char *clause)
{
	char text[VBD_VERDICT_BYTES + 1];
	/* "fd00:76::2 answered" begins with an address. */
	bool address = strcspn(clause, ":") < strcspn(clause, " ");
	int first = (unsigned char)*clause;

	(void)snprintf(text, sizeof(text), "%c%s.", address ? first : toupper(first), clause + 1);
	vbd_put_text(out, name, text);
}

void vbd_put_cause(struct vbd_encoder *out, const struct vbd_verdict *cause)
{
	vbd_put_text(out, "code", cause->row->name);
	vbd_put_sentence(out, "detail", cause->text);
	vbd_put_text(out, "hint", cause->advice);
}

void vbd_put_explain(struct vbd_encoder *out, uint64_t connection_id)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/v1/connections/%" PRIu64 "/explain", connection_id);
	vbd_put_text(out, "explain", path);
}

void vbd_put_error(struct vbd_encoder *out, const char *name, const struct vbd_object *object,
	const struct vbd_error *err, const struct vbd_first_error *first)
{
	uint64_t connection = object ? vbd_object_connection(object) : 0;

	if (!vbd_begin_object_if(out, name, err->status != VBD_OK))
		return;
	vbd_put_text(out, "code", vbd_status_code(err->status));
	vbd_put_text(out, "detail", error_text(err));
	vbd_put_text(out, "hint", vbd_why_hint(err));
	if (first)
		put_first_error(out, "first", first);
	else
		put_own_source(out, "first", err);
	if (connection)
		vbd_put_explain(out, connection);
	vbd_end(out);
}

void vbd_put_task_error(struct vbd_encoder *out, const struct vbd_object *object, bool failed,
	const struct vbd_first_error *first)
{
	struct vbd_error error = {0};

	if (failed)
		vbd_object_problem(object, &error);
	vbd_put_error(out, "error", object, &error, first->error.status ? first : NULL);
}

void vbd_put_end(struct vbd_encoder *out, const struct vbd_object *object, const struct vbd_qp *qp)
{
	struct vbd_error error = qp->first_error.error;

	vbd_put_text(out, "end_code", object->ended ? vbd_reason_name(qp->reason) : NULL);
	if (!vbd_reason_clean(qp->reason))
		vbd_qp_end_error(qp, &error);
	vbd_put_error(out, "error", object, &error, &qp->first_error);
}

/* --- ETag ------------------------------------------------------------------------------------ */

uint64_t vbd_task_version(const struct vbd_task_kind *kind, const void *task)
{
	return kind->version ? kind->version(task) : ((const struct vbd_object *)task)->version;
}

static const char *kind_name(const struct vbd_task_kind *kind, const void *task)
{
	return kind->find ? "device" : ((const struct vbd_object *)task)->registry->singular;
}

char *vbd_task_tag(const struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, char tag[VBD_TAG_BYTES])
{
	uint64_t id = kind->find ? kind->page.id(task) : ((const struct vbd_object *)task)->id;

	(void)snprintf(tag, VBD_TAG_BYTES, "\"%s-%s-%" PRIu64 "-%" PRIu64 "\"",
		vbd_request_daemon(req)->server_id, kind_name(kind, task), id,
		vbd_task_version(kind, task));
	return tag;
}

enum vbd_status vbd_tag_unchanged(
	struct vbd_request *req, const char *singular, const char *tag, struct vbd_error *err)
{
	const struct vbd_condition_of of = {.what = singular, .tag = tag, .absent = !tag};

	return vbd_condition_check(req, &of, err);
}

enum vbd_status vbd_task_unchanged(struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, struct vbd_error *err)
{
	char tag[VBD_TAG_BYTES];

	return vbd_tag_unchanged(
		req, kind_name(kind, task), vbd_task_tag(req, kind, task, tag), err);
}

/* An answer that state_dir keeps has only what the role "read" may see. */
static void add_public_body(
	struct vbd_request *req, const struct vbd_task_kind *kind, const void *task)
{
	struct vbd_encoder out;
	struct vbd_sieve room;
	struct vbd_sieve *sieve;

	if (!req->idem || !vbd_idem_keeps(req->idem))
		return;
	sieve = vbd_view_public_sieve(kind->page.members, &room);
	if (!sieve)
		return;
	out = vbd_encode_begin();
	vbd_encode_through(&out, sieve);
	kind->page.encode(&out, task);
	req->reply.has_secrets = true;
	req->reply.public_body = vbd_encode_end_line(&out, &req->reply.public_bytes);
}

void vbd_task_reply(struct vbd_request *req, unsigned int status, const struct vbd_task_kind *kind,
	const void *task)
{
	struct vbd_encoder out = vbd_request_begin_answer(req);
	struct vbd_sieve sieve;
	char tag[VBD_TAG_BYTES];

	vbd_reply_add_header(&req->reply, "ETag", vbd_task_tag(req, kind, task, tag));
	vbd_encode_through(&out, vbd_view_sieve(kind->find ? req->role : vbd_view_role(req, task),
					 kind->page.members, NULL, &sieve));
	kind->page.encode(&out, task);
	add_public_body(req, kind, task);
	vbd_reply_json(req, status, &out);
}

void vbd_task_created(
	struct vbd_request *req, const struct vbd_task_kind *kind, const struct vbd_object *task)
{
	vbd_request_add_location(req, task->registry->plural, task->id);
	vbd_task_reply(req, 201, kind, task);
}

/* --- private data ---------------------------------------------------------------------------- */

const struct vbd_field vbd_private_data_fields[VBD_PRIVATE_DATA_FIELD_COUNT] = {
	{VBD_FIELD(STRING, "data", struct vbd_private_data_input, data), .required = true,
		.max = 1024, .raw = true},
	{VBD_FIELD(ENUM, "encoding", struct vbd_private_data_input, encoding),
		.names = vbd_encoding_names, .n_names = VBD_ENCODING_AUTO},
};

enum vbd_status vbd_private_data_decode(const struct vbd_private_data_input *input,
	struct vbd_private_data *ret_data, struct vbd_error *err)
{
	enum vbd_status status;
	size_t length_bytes;
	uint8_t *bytes;

	*ret_data = (struct vbd_private_data){0};
	if (!input->data)
		return VBD_OK;
	status = vbd_codec_decode(input->data, (enum vbd_encoding)input->encoding,
		VBD_PRIVATE_DATA_MAX, "/private_data/data", &bytes, &length_bytes, err);
	if (status != VBD_OK)
		return status;
	memcpy(ret_data->bytes, bytes, length_bytes);
	ret_data->length_bytes = (uint8_t)length_bytes;
	free(bytes);
	return VBD_OK;
}

void vbd_put_private_data(struct vbd_encoder *out, const char *name,
	const struct vbd_private_data *data, uint8_t shown_bytes)
{
	enum vbd_encoding encoding =
		vbd_utf8_printable(data->bytes, shown_bytes) ? VBD_ENCODING_TEXT : VBD_ENCODING_HEX;

	if (!vbd_begin_object_if(out, name, shown_bytes))
		return;
	vbd_put_text(out, "carried_by", vbd_cm_message_name(data->message));
	vbd_put_data(out, "data", data->bytes, shown_bytes, encoding);
	vbd_put_text(out, "encoding", vbd_encoding_names[encoding]);
	vbd_put_u64(out, "length_bytes", data->length_bytes);
	vbd_end(out);
}

/* --- labels of requests ---------------------------------------------------------------------- */

static enum vbd_status check_label(const char *key, const json_t *value, struct vbd_error *err)
{
	char pointer[VBD_LABEL_BYTES + sizeof("/labels/")];

	(void)snprintf(pointer, sizeof(pointer), "/labels/%s", key);
	if (!vbd_label_key_valid(key))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/labels",
			"the key of a label must start with a letter or '_', go on with letters, "
			"digits, '.', '_', '/' or '-', and have at most 63 characters");
	if (!json_is_string(value))
		return vbd_error_input(
			err, VBD_E_WRONG_TYPE, pointer, "the value of a label must be a string");
	if (json_string_length(value) != strlen(json_string_value(value)) ||
		!vbd_label_value_valid(json_string_value(value)))
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"the value of a label must have at most 63 bytes, no comma, no control "
			"character, and no other character that shows nothing");
	return VBD_OK;
}

enum vbd_status vbd_labels_decode(
	const json_t *json, struct vbd_labels **ret_labels, struct vbd_error *err)
{
	size_t count = json_object_size(json);
	const json_t *value;
	const char *key;

	*ret_labels = NULL;
	if (json && !json_is_object(json) && !json_is_null(json))
		return vbd_error_input(
			err, VBD_E_WRONG_TYPE, "/labels", "/labels must be an object of strings");
	if (count > VBD_LABELS_MAX)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/labels",
			"/labels has %zu labels; an object has at most %d", count, VBD_LABELS_MAX);
	json_object_foreach((json_t *)json, key, value)
	{
		if (check_label(key, value, err) != VBD_OK)
			return err->status;
	}
	if (count == 0)
		return VBD_OK;
	*ret_labels = vbd_labels_create(count);
	if (!*ret_labels)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for labels");
	json_object_foreach((json_t *)json, key, value)
		vbd_labels_add(*ret_labels, key, json_string_value(value));
	return VBD_OK;
}

enum vbd_status vbd_labels_check_patch(const json_t *patch, struct vbd_error *err)
{
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)patch, key, value)
	{
		if (!json_is_null(value) && check_label(key, value, err) != VBD_OK)
			return err->status;
	}
	return VBD_OK;
}

enum vbd_status vbd_labels_patch(const struct vbd_labels *labels, const json_t *patch,
	struct vbd_labels **ret_labels, struct vbd_error *err)
{
	json_t *all = json_object();
	enum vbd_status status;

	for (size_t i = 0; labels && i < labels->count; i++)
		(void)json_object_set_new(
			all, labels->items[i].key, json_string(labels->items[i].value));
	(void)json_object_update(all, (json_t *)patch);
	for (void *at = json_object_iter(all), *next; at; at = next) {
		next = json_object_iter_next(all, at);
		if (json_is_null(json_object_iter_value(at)))
			(void)json_object_del(all, json_object_iter_key(at));
	}
	status = all ? vbd_labels_decode(all, ret_labels, err)
		     : vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for labels");
	json_decref(all);
	return status;
}
