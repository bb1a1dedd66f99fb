/* SPDX-License-Identifier: Apache-2.0 */
#include "api/encode.h"
#include "api/handlers.h"
#include "api/page.h"
#include "api/waiter.h"
#include "daemon/probes.h"
#include "rdma/rping.h"

#include <stdlib.h>
#include <string.h>

/* --- one probe ------------------------------------------------------------------------------- */

static json_t *encode_rtt(const struct vbd_histogram *rtt_ns)
{
	struct vbd_encoder out;

	if (!vbd_counter_get(&rtt_ns->count))
		return json_null();
	out = vbd_encode_begin();
	vbd_put_u64(&out, "min", vbd_counter_get(&rtt_ns->min));
	vbd_put_u64(&out, "mean", vbd_histogram_mean(rtt_ns));
	vbd_put_u64(&out, "p50", vbd_histogram_percentile(rtt_ns, 50));
	vbd_put_u64(&out, "p99", vbd_histogram_percentile(rtt_ns, 99));
	vbd_put_u64(&out, "max", vbd_counter_get(&rtt_ns->max));
	return vbd_encode_end(&out);
}

static json_t *encode_error(const struct vbd_probe_record *record)
{
	struct vbd_error error = {0};
	struct vbd_encoder out;

	if (record->state != VBD_PROBE_FAILED)
		return json_null();
	vbd_probe_problem(record, &error);
	out = vbd_encode_begin();
	vbd_put_text(&out, "code", vbd_status_code(error.status));
	vbd_put_text(&out, "text", error.text);
	vbd_put_text(&out, "hint", vbd_status_hint(error.status));
	return vbd_encode_end(&out);
}

static json_t *encode_probe(const struct vbd_probe_record *record)
{
	const struct vbd_probe *probe = &record->probe;
	bool ended = record->state != VBD_PROBE_RUNNING;
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "id", record->object.id);
	vbd_put_text(&out, "state", vbd_probe_state_name(record->state));
	vbd_put_u64(&out, "connection", record->connection_id);
	vbd_put_text(&out, "kind", "rping");
	vbd_put_u64(&out, "count", probe->count);
	vbd_put_u64(&out, "size_bytes", probe->size_bytes);
	vbd_put_u64(&out, "timeout_ms", record->timeout_ms);
	vbd_put_u64(&out, "sent", vbd_counter_get(&probe->sent));
	vbd_put_u64(&out, "completed", vbd_counter_get(&probe->completed));
	vbd_put_u64(&out, "mismatched", vbd_counter_get(&probe->mismatched));
	vbd_put(&out, "rtt_ns", encode_rtt(&probe->rtt_ns));
	vbd_put_time(&out, "created_at", record->created_ns);
	vbd_put_time(&out, "ended_at", ended ? vbd_counter_get(&probe->ended_ns) : 0);
	vbd_put(&out, "error", encode_error(record));
	return vbd_encode_end(&out);
}

static struct vbd_probe_record *find(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_probe_record *record = vbd_probe_find(vbd_request_daemon(req), req->ref, &err);

	if (!record)
		vbd_reply_problem(req, &err);
	return record;
}

void vbd_get_probe(struct vbd_request *req)
{
	struct vbd_probe_record *record = find(req);

	if (record)
		vbd_reply_json(req, 200, encode_probe(record));
}

void vbd_delete_probe(struct vbd_request *req)
{
	struct vbd_probe_record *record = find(req);

	if (!record)
		return;
	if (record->state != VBD_PROBE_RUNNING) {
		vbd_probe_forget(record);
		vbd_reply_empty(req, 204);
	} else {
		vbd_probe_cancel(record);
		vbd_reply_json(req, 202, encode_probe(record));
	}
}

/* --- waiting for the end --------------------------------------------------------------------- */

struct end_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_probe_record *record;
};

static void answer_end(struct vbd_waiter *base, enum vbd_wake why)
{
	const struct end_waiter *waiter = VBD_CONTAINER_OF(base, struct end_waiter, waiter);
	const struct vbd_probe_record *record = waiter->record;
	struct vbd_request *req = base->req;
	struct vbd_error err = {0};

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "the probe was deleted meanwhile");
		vbd_reply_problem(req, &err);
		return;
	}
	/* Without a wait the state is told as it is; with one, what ended it is the answer. */
	if (record->state == VBD_PROBE_FAILED && req->wait_asked) {
		vbd_probe_problem(record, &err);
		vbd_reply_problem(req, &err);
		return;
	}
	if (record->state == VBD_PROBE_RUNNING && why != VBD_WAKE_TIMEOUT)
		return;
	vbd_request_add_location(req, "probes", record->object.id);
	vbd_reply_json(req, record->state == VBD_PROBE_DONE ? 201 : 202, encode_probe(record));
}

static void answer_when_ended(struct vbd_request *req, struct vbd_probe_record *record)
{
	struct end_waiter *waiter = calloc(1, sizeof(*waiter));
	struct vbd_error err = {0};

	if (!waiter) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory to wait");
		vbd_reply_problem(req, &err);
		return;
	}
	waiter->waiter.answer = answer_end;
	waiter->record = record;
	vbd_waiter_run(&waiter->waiter, req, &record->watches, (uint64_t)req->wait_s * 1000);
}

/* --- creation -------------------------------------------------------------------------------- */

static const char *const kind_names[] = {"rping"};

struct probe_create {
	struct vbd_json_ref connection;
	uint32_t kind;
	uint32_t count;
	uint32_t size_bytes;
	uint32_t timeout_ms;
};

static const struct vbd_field create_fields[] = {
	{.name = "connection",
		.type = VBD_FIELD_REF,
		.required = true,
		VBD_FIELD_AT(struct probe_create, connection)},
	{.name = "kind",
		.type = VBD_FIELD_ENUM,
		VBD_FIELD_AT(struct probe_create, kind),
		.names = kind_names,
		.n_names = VBD_ARRAY_LEN(kind_names)},
	{.name = "count",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct probe_create, count),
		.min = 1,
		.max = VBD_PROBE_COUNT_MAX},
	{.name = "size_bytes",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct probe_create, size_bytes),
		.min = VBD_RPING_BYTES_MIN,
		.max = VBD_RPING_BYTES_MAX},
	{.name = "timeout_ms",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct probe_create, timeout_ms),
		.min = 1,
		.max = 3600000},
};

static enum vbd_status create(
	const struct vbd_request *req, struct vbd_probe_record **ret_record, struct vbd_error *err)
{
	struct probe_create input = {.count = 10, .size_bytes = 64, .timeout_ms = 30000};
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	char text[VBD_REF_TEXT_BYTES];
	struct vbd_probe_spec spec;
	enum vbd_status status =
		vbd_decode(req->json, create_fields, VBD_ARRAY_LEN(create_fields), &input, err);

	if (status != VBD_OK)
		return status;
	spec = (struct vbd_probe_spec){
		.connection =
			vbd_connection_find(daemon, vbd_ref_text(&input.connection, text), err),
		.count = input.count,
		.size_bytes = input.size_bytes,
		.timeout_ms = input.timeout_ms,
	};
	if (!spec.connection) {
		vbd_blame(err, "/connection");
		return VBD_E_NOT_FOUND;
	}
	return vbd_probe_create(daemon, &spec, ret_record, err);
}

void vbd_create_probe(struct vbd_request *req)
{
	struct vbd_probe_record *record;
	struct vbd_error err = {0};

	if (create(req, &record, &err) == VBD_OK)
		answer_when_ended(req, record);
	else
		vbd_reply_problem(req, &err);
}

/* --- list ------------------------------------------------------------------------------------ */

static json_t *encode_item(const void *item, struct vbd_request *req)
{
	(void)req;
	return encode_probe(item);
}

static void walk_probes(void *context, vbd_page_visit_cb visit, void *visitor)
{
	vbd_walk_registry(((struct vbd_api *)context)->daemon->probes, visit, visitor);
}

static const struct vbd_probe_record *record_of(const void *item)
{
	return item;
}

static bool probe_in_state(const void *item, const char *state)
{
	return strcmp(vbd_probe_state_name(record_of(item)->state), state) == 0;
}

VBD_PAGE_BY(by_state, record_of, state)
VBD_PAGE_BY(by_connection, record_of, connection_id)
VBD_PAGE_BY(by_created, record_of, created_ns)

static const char *const probe_fields[] = {"id", "state", "connection", "kind", "count",
	"size_bytes", "timeout_ms", "sent", "completed", "mismatched", "rtt_ns", "created_at",
	"ended_at", "error", NULL};

static const char *const probe_states[] = {VBD_PROBE_STATE_MAP(VBD_PAGE_STATE) NULL};

static const struct vbd_page_key probe_keys[] = {
	{"state", by_state},
	{"connection", by_connection},
	{"created_at", by_created},
	{NULL, NULL},
};

static const struct vbd_page_source probe_page = {
	.fields = probe_fields,
	.keys = probe_keys,
	.states = probe_states,
	.in_state = probe_in_state,
	.id = vbd_object_id,
	.walk = walk_probes,
	.encode = encode_item,
};

void vbd_list_probes(struct vbd_request *req)
{
	vbd_page_reply(req, &probe_page);
}
