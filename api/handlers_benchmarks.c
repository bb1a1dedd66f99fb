/* SPDX-License-Identifier: Apache-2.0 */
#include "api/encode.h"
#include "api/handlers.h"
#include "api/page.h"
#include "api/waiter.h"
#include "base/clock.h"
#include "daemon/benchmarks.h"

#include <stdlib.h>
#include <string.h>

/* --- one benchmark --------------------------------------------------------------------------- */

static json_t *encode_error(const struct vbd_benchmark *benchmark)
{
	struct vbd_error error = {0};

	if (benchmark->state == VBD_BENCHMARK_FAILED)
		vbd_benchmark_problem(benchmark, &error);
	return vbd_encode_error(&error);
}

static uint64_t per_second(uint64_t what, uint64_t elapsed_ns)
{
	return (uint64_t)((double)what * (double)VBD_NS_PER_S / (double)elapsed_ns);
}

static void put_result(struct vbd_encoder *out, const struct vbd_benchmark *benchmark)
{
	const struct vbd_benchmark_result result = vbd_benchmark_result(benchmark);
	bool began = result.elapsed_ns != 0;

	vbd_put_u64(out, "messages", result.messages);
	vbd_put_u64(out, "bytes", result.bytes);
	vbd_put_u64_or_null(out, "elapsed_ns", began, result.elapsed_ns);
	vbd_put_u64_or_null(
		out, "bytes_per_s", began, began ? per_second(result.bytes, result.elapsed_ns) : 0);
	vbd_put_u64_or_null(out, "messages_per_s", began,
		began ? per_second(result.messages, result.elapsed_ns) : 0);
	vbd_put(out, "latency_ns", vbd_encode_latency(&benchmark->latency_ns));
}

static json_t *encode_benchmark(const struct vbd_benchmark *benchmark)
{
	bool by_time = benchmark->duration_ms != 0;
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "id", benchmark->object.id);
	vbd_put_text(&out, "state", vbd_benchmark_state_name(benchmark->state));
	vbd_put_u64(&out, "connection", benchmark->connection_id);
	vbd_put_u64(&out, "transfer", benchmark->transfer_id);
	vbd_put_text(&out, "op", vbd_op_name(benchmark->op));
	vbd_put_u64(&out, "size_bytes", benchmark->size_bytes);
	vbd_put_u64(&out, "window", benchmark->window);
	vbd_put_u64_or_null(&out, "count", !by_time, benchmark->count);
	vbd_put_u64_or_null(&out, "duration_ms", by_time, benchmark->duration_ms);
	vbd_put_u64_or_null(&out, "buffer", benchmark->buffer_id != 0, benchmark->buffer_id);
	vbd_put_u64(&out, "timeout_ms", benchmark->timeout_ms);
	put_result(&out, benchmark);
	vbd_put_time(&out, "created_at", benchmark->created_ns);
	vbd_put_time(&out, "ended_at", benchmark->ended_ns);
	vbd_put(&out, "error", encode_error(benchmark));
	return vbd_encode_end(&out);
}

static struct vbd_benchmark *find(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_benchmark *benchmark =
		vbd_benchmark_find(vbd_request_daemon(req), req->ref, &err);

	if (!benchmark)
		vbd_reply_problem(req, &err);
	return benchmark;
}

void vbd_get_benchmark(struct vbd_request *req)
{
	struct vbd_benchmark *benchmark = find(req);

	if (benchmark)
		vbd_reply_json(req, 200, encode_benchmark(benchmark));
}

void vbd_delete_benchmark(struct vbd_request *req)
{
	struct vbd_benchmark *benchmark = find(req);

	if (!benchmark)
		return;
	if (benchmark->state != VBD_BENCHMARK_RUNNING) {
		vbd_benchmark_forget(benchmark);
		vbd_reply_empty(req, 204);
	} else {
		vbd_benchmark_cancel(benchmark);
		vbd_reply_json(req, 202, encode_benchmark(benchmark));
	}
}

/* --- waiting for the end --------------------------------------------------------------------- */

struct end_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_benchmark *benchmark;
};

static void answer_end(struct vbd_waiter *base, enum vbd_wake why)
{
	const struct end_waiter *waiter = VBD_CONTAINER_OF(base, struct end_waiter, waiter);
	const struct vbd_benchmark *benchmark = waiter->benchmark;
	struct vbd_request *req = base->req;
	struct vbd_error err = {0};

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "the benchmark was deleted meanwhile");
		vbd_reply_problem(req, &err);
		return;
	}
	/* Without a wait the state is told as it is; with one, what ended it is the answer. */
	if (benchmark->state == VBD_BENCHMARK_FAILED && req->wait_asked) {
		vbd_benchmark_problem(benchmark, &err);
		vbd_reply_problem(req, &err);
		return;
	}
	if (benchmark->state == VBD_BENCHMARK_RUNNING && why != VBD_WAKE_TIMEOUT)
		return;
	vbd_request_add_location(req, "benchmarks", benchmark->object.id);
	vbd_reply_json(req, benchmark->state == VBD_BENCHMARK_DONE ? 201 : 202,
		encode_benchmark(benchmark));
}

static void answer_when_ended(struct vbd_request *req, struct vbd_benchmark *benchmark)
{
	struct end_waiter *waiter = calloc(1, sizeof(*waiter));
	struct vbd_error err = {0};

	if (!waiter) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory to wait");
		vbd_reply_problem(req, &err);
		return;
	}
	waiter->waiter.answer = answer_end;
	waiter->benchmark = benchmark;
	vbd_waiter_run(&waiter->waiter, req, &benchmark->watches, (uint64_t)req->wait_s * 1000);
}

/* --- creation -------------------------------------------------------------------------------- */

#define DURATION_MS 1000  /* when nothing is said */
#define SLACK_MS    30000 /* beyond the duration, until its deadline */

static const struct {
	const char *name;
	enum vbd_op op;
} ops[] = {{"write", VBD_OP_WRITE}, {"read", VBD_OP_READ}, {"send", VBD_OP_SEND}};

static const char *const op_names[] = {"write", "read", "send"};

struct benchmark_create {
	struct vbd_json_ref connection;
	uint32_t op; /* index in ops */
	uint32_t size_bytes;
	uint32_t window;
	uint32_t count;
	uint32_t duration_ms;
	struct vbd_json_ref buffer;
	bool buffer_seen;
	struct vbd_remote_input remote;
	bool remote_seen;
	uint32_t timeout_ms;
};

static const struct vbd_field create_fields[] = {
	{.name = "connection",
		.type = VBD_FIELD_REF,
		.required = true,
		VBD_FIELD_AT(struct benchmark_create, connection)},
	{.name = "op",
		.type = VBD_FIELD_ENUM,
		.required = true,
		VBD_FIELD_AT(struct benchmark_create, op),
		.names = op_names,
		.n_names = VBD_ARRAY_LEN(op_names)},
	{.name = "size_bytes",
		.type = VBD_FIELD_UINT,
		.required = true,
		VBD_FIELD_AT(struct benchmark_create, size_bytes),
		.max = VBD_BENCHMARK_SIZE_MAX},
	{.name = "window",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct benchmark_create, window),
		.min = 1,
		.max = 16384},
	{.name = "count",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct benchmark_create, count),
		.min = 1,
		.max = VBD_BENCHMARK_COUNT_MAX},
	{.name = "duration_ms",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct benchmark_create, duration_ms),
		.min = 1,
		.max = VBD_BENCHMARK_DURATION_MAX},
	{.name = "buffer",
		.type = VBD_FIELD_REF,
		VBD_FIELD_AT(struct benchmark_create, buffer),
		VBD_FIELD_SEEN(struct benchmark_create, buffer_seen)},
	{.name = "remote",
		.type = VBD_FIELD_OBJECT,
		VBD_FIELD_AT(struct benchmark_create, remote),
		.fields = vbd_remote_fields,
		.n_fields = VBD_REMOTE_FIELDS,
		VBD_FIELD_SEEN(struct benchmark_create, remote_seen)},
	{.name = "timeout_ms",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct benchmark_create, timeout_ms),
		.min = 1,
		.max = 3600000},
};

static enum vbd_status check_input(const struct benchmark_create *input, struct vbd_error *err)
{
	bool remote = ops[input->op].op != VBD_OP_SEND;

	if (remote && !input->remote_seen)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/remote",
			"/remote is missing: %s needs it", ops[input->op].name);
	if (!remote && input->remote_seen)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/remote",
			"/remote has no meaning for send: the peer's receive takes the bytes");
	if (input->count && input->duration_ms)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/duration_ms",
			"a benchmark ends after a count or after a time, not both");
	return VBD_OK;
}

static enum vbd_status find_objects(struct vbd_daemon *daemon, const struct benchmark_create *input,
	struct vbd_benchmark_spec *spec, struct vbd_error *err)
{
	char text[VBD_REF_TEXT_BYTES];

	spec->connection = vbd_connection_find(daemon, vbd_ref_text(&input->connection, text), err);
	if (!spec->connection) {
		vbd_blame(err, "/connection");
		return VBD_E_NOT_FOUND;
	}
	if (!input->buffer_seen)
		return VBD_OK;
	spec->buffer = vbd_buffer_find(daemon, vbd_ref_text(&input->buffer, text), err);
	if (!spec->buffer) {
		vbd_blame(err, "/buffer");
		return VBD_E_NOT_FOUND;
	}
	return VBD_OK;
}

static enum vbd_status create(
	const struct vbd_request *req, struct vbd_benchmark **ret_benchmark, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct benchmark_create input = {0};
	struct vbd_benchmark_spec spec;
	enum vbd_status status =
		vbd_decode(req->json, create_fields, VBD_ARRAY_LEN(create_fields), &input, err);

	if (!status)
		status = check_input(&input, err);
	if (status)
		return status;
	if (!input.count && !input.duration_ms)
		input.duration_ms = DURATION_MS;
	spec = (struct vbd_benchmark_spec){
		.op = ops[input.op].op,
		.size_bytes = input.size_bytes,
		.window = input.window,
		.count = input.count,
		.duration_ms = input.duration_ms,
		.remote_addr = input.remote.addr,
		.rkey = input.remote.rkey,
		.timeout_ms = input.timeout_ms ? input.timeout_ms : input.duration_ms + SLACK_MS,
	};
	status = find_objects(daemon, &input, &spec, err);
	return status ? status : vbd_benchmark_create(daemon, &spec, ret_benchmark, err);
}

void vbd_create_benchmark(struct vbd_request *req)
{
	struct vbd_benchmark *benchmark;
	struct vbd_error err = {0};

	if (create(req, &benchmark, &err) == VBD_OK)
		answer_when_ended(req, benchmark);
	else
		vbd_reply_problem(req, &err);
}

/* --- list ------------------------------------------------------------------------------------ */

static json_t *encode_item(const void *item, struct vbd_request *req)
{
	(void)req;
	return encode_benchmark(item);
}

static void walk_benchmarks(void *context, vbd_page_visit_cb visit, void *visitor)
{
	vbd_walk_registry(((struct vbd_api *)context)->daemon->benchmarks, visit, visitor);
}

static const struct vbd_benchmark *benchmark_of(const void *item)
{
	return item;
}

static bool benchmark_in_state(const void *item, const char *state)
{
	return strcmp(vbd_benchmark_state_name(benchmark_of(item)->state), state) == 0;
}

VBD_PAGE_BY(by_state, benchmark_of, state)
VBD_PAGE_BY(by_connection, benchmark_of, connection_id)
VBD_PAGE_BY(by_created, benchmark_of, created_ns)

static const char *const benchmark_fields[] = {"id", "state", "connection", "transfer", "op",
	"size_bytes", "window", "count", "duration_ms", "buffer", "timeout_ms", "messages", "bytes",
	"elapsed_ns", "bytes_per_s", "messages_per_s", "latency_ns", "created_at", "ended_at",
	"error", NULL};

static const char *const benchmark_states[] = {VBD_BENCHMARK_STATE_MAP(VBD_PAGE_STATE) NULL};

static const struct vbd_page_key benchmark_keys[] = {
	{"state", by_state},
	{"connection", by_connection},
	{"created_at", by_created},
	{NULL, NULL},
};

static const struct vbd_page_source benchmark_page = {
	.fields = benchmark_fields,
	.keys = benchmark_keys,
	.states = benchmark_states,
	.in_state = benchmark_in_state,
	.id = vbd_object_id,
	.walk = walk_benchmarks,
	.encode = encode_item,
};

void vbd_list_benchmarks(struct vbd_request *req)
{
	vbd_page_reply(req, &benchmark_page);
}
