/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/work/transfers.h"
#include "daemon/work/benchmarks.h"

/* --- JSON ------------------------------------------------------------------------------------ */

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
	vbd_put_latency(out, "latency_ns", &benchmark->latency_ns);
}

static void put_benchmark(struct vbd_encoder *out, const void *item)
{
	const struct vbd_benchmark *benchmark = item;
	const struct vbd_daemon *daemon = benchmark->object.registry->daemon;
	bool by_time = benchmark->duration_ms != 0;

	vbd_put_task(out, &benchmark->object, vbd_benchmark_state_name(benchmark->state));
	vbd_put_ref(out, "connection", daemon->connections, benchmark->connection_id);
	vbd_put_ref(out, "transfer", daemon->transfers, benchmark->transfer_id);
	vbd_put_text(out, "op", vbd_op_name(benchmark->op));
	vbd_put_u64(out, "size_bytes", benchmark->size_bytes);
	vbd_put_u64(out, "tx_depth", benchmark->tx_depth);
	vbd_put_u64_or_null(out, "count", !by_time, benchmark->count);
	vbd_put_u64_or_null(out, "duration_ms", by_time, benchmark->duration_ms);
	vbd_put_ref(out, "buffer", daemon->buffers, benchmark->buffer_id);
	vbd_put_remote(out, "remote", benchmark->op, benchmark->remote_addr, benchmark->rkey);
	vbd_put_u64(out, "timeout_ms", benchmark->timeout_ms);
	put_result(out, benchmark);
	vbd_put_time(out, "created_at", benchmark->object.created_ns);
	vbd_put_time(out, "ended_at", benchmark->ended_ns);
	vbd_put_task_error(out, &benchmark->object,
		benchmark->object.ended && benchmark->state != VBD_BENCHMARK_DONE,
		&benchmark->first_error);
}

/* --- creation -------------------------------------------------------------------------------- */

#define DURATION_MS 1000  /* default */
#define SLACK_MS    30000 /* default timeout_ms: this plus the duration */

static const char *const op_names[] = {"write", "read", "send"};
static const enum vbd_op ops[] = {VBD_OP_WRITE, VBD_OP_READ, VBD_OP_SEND};

struct benchmark_create {
	struct vbd_benchmark_spec spec;
	uint32_t op; /* index in ops */
	const json_t *remote;
	struct vbd_remote_input memory; /* from `remote` */
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_OF(CONNECTION, "connection", struct benchmark_create, spec.connection),
		.required = true},
	{VBD_FIELD(ENUM, "op", struct benchmark_create, op), .required = true, VBD_NAMES(op_names)},
	{VBD_FIELD(UINT, "size_bytes", struct benchmark_create, spec.size_bytes), .required = true,
		.max = VBD_BENCHMARK_SIZE_MAX},
	{VBD_FIELD(UINT, "tx_depth", struct benchmark_create, spec.tx_depth), .min = 1,
		.max = 16384},
	{VBD_FIELD(UINT, "count", struct benchmark_create, spec.count), .min = 1,
		.max = VBD_BENCHMARK_COUNT_MAX},
	{VBD_FIELD(UINT, "duration_ms", struct benchmark_create, spec.duration_ms), .min = 1,
		.max = VBD_BENCHMARK_DURATION_MAX},
	{VBD_FIELD_OF(BUFFER, "buffer", struct benchmark_create, spec.buffer)},
	{VBD_FIELD(OPEN, "remote", struct benchmark_create, remote)},
	{VBD_FIELD(UINT, "timeout_ms", struct benchmark_create, spec.timeout_ms), .min = 1,
		.max = 3600000},
};

static enum vbd_status check_input(const struct benchmark_create *input, struct vbd_error *err)
{
	const struct vbd_benchmark_spec *spec = &input->spec;
	bool remote = spec->op != VBD_OP_SEND;

	if (remote && !input->remote)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/remote",
			"/remote is missing: %s needs it", op_names[input->op]);
	if (!remote && input->remote)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/remote",
			"/remote is not allowed for send: the data goes into the peer's receive");
	if (spec->count && spec->duration_ms)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/duration_ms",
			"a benchmark ends after a number of messages or after a time, not both");
	return VBD_OK;
}

static void *create_benchmark(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_benchmark *benchmark = NULL;
	struct benchmark_create input = {.spec.origin = vbd_request_origin(req)};
	struct vbd_benchmark_spec *spec = &input.spec;
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(create_fields), &input, err);

	spec->op = ops[input.op];
	if (!status)
		status = check_input(&input, err);
	if (!status && input.remote)
		status = vbd_remote_decode(input.remote, &input.memory, err);
	if (!status)
		status = vbd_members_find(vbd_request_daemon(req), req->caller, req->json, "",
			VBD_FIELDS(create_fields), &input, err);
	if (status)
		return NULL;
	if (!spec->count && !spec->duration_ms)
		spec->duration_ms = DURATION_MS;
	if (!spec->timeout_ms)
		spec->timeout_ms = spec->duration_ms + SLACK_MS;
	spec->wr.rkey = input.memory.rkey;
	if (input.remote)
		status = vbd_remote_aim(&input.memory, spec->op, spec->size_bytes, "/size_bytes",
			&spec->wr.remote_addr, err);
	if (!status)
		(void)!vbd_benchmark_create(vbd_request_daemon(req), spec, &benchmark, err);
	return benchmark;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_benchmark, state)
VBD_PAGE_NUMBER(by_buffer, struct vbd_benchmark, buffer_id)
VBD_PAGE_NUMBER(by_connection, struct vbd_benchmark, connection_id)

static const struct vbd_page_column benchmark_columns[] = {
	{"state", VBD_SORTS, .number = by_state},
	{"connection", VBD_SORTS_AND_SELECTS, .kind = VBD_KIND_CONNECTION, .number = by_connection},
	VBD_COLUMN_CREATED,
	{"buffer", VBD_SELECTS, .kind = VBD_KIND_BUFFER, .number = by_buffer},
	{.name = NULL},
};

const struct vbd_task_kind vbd_benchmark_task = {
	.kind = VBD_KIND_BENCHMARK,
	.create = create_benchmark,
	.done = VBD_STATES(VBD_BENCHMARK_DONE),
	.page.members = vbd_benchmark_members,
	.page.columns = benchmark_columns,
	.page.states = VBD_PAGE_STATES(VBD_BENCHMARK_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = put_benchmark,
};
