/* SPDX-License-Identifier: Apache-2.0 */
#include "api/copies/exports.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "base/addr.h"
#include "base/clock.h"
#include "daemon/copies/copy.h"

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_end(
	struct vbd_encoder *out, const char *name, const struct vbd_copy *copy, bool own)
{
	const char *path = own ? copy->path : copy->peer_path;

	vbd_begin_object(out, name);
	vbd_put_text(out, "export", own ? copy->export_name : copy->peer_export);
	vbd_put_file_name(out, "path", path, path ? strlen(path) : 0);
	vbd_put_text_or_null(out, "addr", own ? "" : copy->peer_addr);
	vbd_put_u64_or_null(out, "port", !own, copy->peer_port);
	vbd_end(out);
}

static void put_problems(struct vbd_encoder *out, const struct vbd_copy *copy)
{
	vbd_begin_array(out, "problems");
	for (uint32_t i = 0; i < copy->problem_count; i++) {
		const struct vbd_copy_problem *problem = &copy->problems[i];

		vbd_begin_object(out, NULL);
		vbd_put_file_name(out, "path", problem->path, strlen(problem->path));
		vbd_put_text(out, "fault", vbd_copy_fault_name(problem->fault));
		vbd_put_sentence(out, "text", vbd_copy_fault_text(problem->fault));
		vbd_end(out);
	}
	vbd_end(out);
}

static void put_progress(struct vbd_encoder *out, const struct vbd_copy *copy)
{
	const struct vbd_copy_progress *progress = &copy->progress;
	uint64_t until_ns = copy->object.ended ? copy->object.ended_ns : vbd_clock_mono_ns();
	uint64_t elapsed_ns = copy->started_ns ? until_ns - copy->started_ns : 0;
	uint64_t moved = progress->bytes_sent > progress->bytes_done ? progress->bytes_sent
								     : progress->bytes_done;
	uint64_t rate =
		elapsed_ns ? (uint64_t)((double)moved * VBD_NS_PER_S / (double)elapsed_ns) : 0;
	bool foreseen = rate && progress->counted && progress->bytes >= moved;

	vbd_put_u64(out, "files", progress->files);
	vbd_put_u64(out, "files_done", progress->files_done);
	vbd_put_u64(out, "files_skipped", progress->skipped);
	vbd_put_u64(out, "files_failed", progress->failed);
	vbd_put_u64(out, "bytes", progress->bytes);
	vbd_put_u64(out, "bytes_moved", moved);
	vbd_put_u64(out, "bytes_done", progress->bytes_done);
	vbd_put_bool(out, "counted", progress->counted);
	vbd_put_u64_or_null(out, "elapsed_ns", elapsed_ns != 0, elapsed_ns);
	vbd_put_u64_or_null(out, "bytes_per_s", elapsed_ns != 0, rate);
	vbd_put_u64_or_null(out, "left_ms", foreseen && !copy->object.ended,
		foreseen ? (progress->bytes - moved) * 1000 / rate : 0);
}

static void put_copy(struct vbd_encoder *out, const void *item)
{
	const struct vbd_copy *copy = item;
	const struct vbd_daemon *daemon = copy->object.registry->daemon;

	vbd_put_task(out, &copy->object, vbd_copy_state_name(copy->state));
	vbd_put_text(out, "role", copy->server ? "server" : "client");
	put_end(out, "source", copy, copy->sends);
	put_end(out, "destination", copy, !copy->sends);
	vbd_put_ref(out, "connection", daemon->connections, copy->connection_id);
	vbd_put_bool(out, "recursive", copy->options & VBD_COPY_RECURSIVE);
	vbd_put_text(out, "overwrite", vbd_copy_overwrite_name(copy->overwrite));
	vbd_begin_array(out, "preserve");
	if (copy->options & VBD_COPY_PRESERVE_MODE)
		vbd_put_text(out, NULL, "mode");
	if (copy->options & VBD_COPY_PRESERVE_MTIME)
		vbd_put_text(out, NULL, "mtime");
	vbd_end(out);
	put_progress(out, copy);
	put_problems(out, copy);
	vbd_put_u64_or_null(out, "timeout_ms", copy->timeout_ms != 0, copy->timeout_ms);
	vbd_put_time(out, "created_at", copy->object.created_ns);
	vbd_put_time(out, "started_at", copy->started_ns);
	vbd_put_time(out, "ended_at", copy->object.ended ? copy->object.ended_ns : 0);
	vbd_put_text_or_null(out, "fault", copy->fault ? vbd_copy_fault_name(copy->fault) : "");
	vbd_put_task_error(out, &copy->object, copy->object.ended && copy->state != VBD_COPY_DONE,
		&copy->first_error);
}

/* --- creation -------------------------------------------------------------------------------- */

/* Where a copy comes from or goes to. */
struct end_input {
	struct vbd_json_ref export;
	const char *path, *addr;
	uint32_t port;
};

struct copy_create {
	struct end_input source, destination;
	struct vbd_copy_spec spec;
	bool recursive;
	uint32_t preserve; /* bits: 1 << index in preserve_names */
	char source_path[VBD_COPY_PATH_BYTES + 1], destination_path[VBD_COPY_PATH_BYTES + 1];
};

static const char *const preserve_names[] = {"mode", "mtime"};
static const char *const overwrite_names[] = {VBD_COPY_OVERWRITE_MAP(VBD_ENUM_NAME)};

static const struct vbd_field end_fields[] = {
	{VBD_FIELD(REF, "export", struct end_input, export), .required = true},
	{VBD_FIELD(STRING, "path", struct end_input, path), .min = 1, .max = VBD_COPY_PATH_BYTES},
	{VBD_FIELD(STRING, "addr", struct end_input, addr), .min = 1, .max = 255,
		.check = vbd_addr_is_host, .check_text = VBD_ADDR_NO_HOST},
	{VBD_FIELD(UINT, "port", struct end_input, port), .min = 1, .max = 65535},
};

#define END(name_)                                            \
	VBD_FIELD(OBJECT, #name_, struct copy_create, name_), \
		.fields = end_fields, .n_fields = VBD_ARRAY_LEN(end_fields), .required = true

static const struct vbd_field create_fields[] = {
	{END(source)},
	{END(destination)},
	{VBD_FIELD(BOOL, "recursive", struct copy_create, recursive)},
	{VBD_FIELD(ENUM, "overwrite", struct copy_create, spec.overwrite),
		VBD_NAMES(overwrite_names)},
	{VBD_FIELD(ENUM_SET, "preserve", struct copy_create, preserve), VBD_NAMES(preserve_names)},
	{VBD_FIELD(DEVICE, "device", struct copy_create, spec.device)},
	{VBD_FIELD(UINT, "timeout_ms", struct copy_create, spec.timeout_ms), .min = 1,
		.max = 604800000, .nullable = true},
};

static enum vbd_status check_ends(const struct copy_create *input, struct vbd_error *err)
{
	const struct end_input *peer = input->source.addr ? &input->source : &input->destination;
	const struct end_input *own = input->source.addr ? &input->destination : &input->source;

	if (!peer->addr)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/destination/addr",
			"source or destination is at another host: give addr and port of it");
	if (own->addr)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/destination/addr",
			"source and destination are both at other hosts; a copy has one end here");
	if (!peer->port)
		return vbd_error_input(err, VBD_E_MISSING_FIELD,
			peer == &input->source ? "/source/port" : "/destination/port",
			"the port of the peer's listener is missing");
	if (own->port)
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			own == &input->source ? "/source/port" : "/destination/port",
			"a port without addr");
	if (!peer->export.name)
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			peer == &input->source ? "/source/export" : "/destination/export",
			"the export of the peer is given by its name");
	return VBD_OK;
}

/* The export itself, unless the end has a path. */
static enum vbd_status decode_path(
	const struct end_input *end, const char *pointer, char *ret_path, struct vbd_error *err)
{
	return vbd_file_name_decode(
		end->path ? end->path : ".", pointer, ret_path, VBD_COPY_PATH_BYTES + 1, err);
}

static enum vbd_status fill_spec(
	struct vbd_request *req, struct copy_create *input, struct vbd_error *err)
{
	struct vbd_copy_spec *spec = &input->spec;
	bool pull = input->source.addr != NULL;
	const struct end_input *peer = pull ? &input->source : &input->destination;
	const struct end_input *own = pull ? &input->destination : &input->source;

	spec->pull = pull;
	spec->export = vbd_member_find(vbd_request_daemon(req)->exports, req->caller, &own->export,
		pull ? "/destination/export" : "/source/export", err);
	if (!spec->export)
		return err->status;
	if (!(spec->export->spec.access & (pull ? VBD_EXPORT_WRITE : VBD_EXPORT_READ)))
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			pull ? "/destination/export" : "/source/export",
			"the export %s does not allow to %s", spec->export->object.name,
			pull ? "write" : "read");
	spec->path = pull ? input->destination_path : input->source_path;
	spec->peer_path = pull ? input->source_path : input->destination_path;
	vbd_copy_text(spec->peer_addr, sizeof(spec->peer_addr), peer->addr);
	vbd_copy_text(spec->peer_export, sizeof(spec->peer_export), peer->export.name);
	spec->peer_port = (uint16_t)peer->port;
	spec->options = (input->recursive ? VBD_COPY_RECURSIVE : 0U) |
			(input->preserve & 1 ? VBD_COPY_PRESERVE_MODE : 0U) |
			(input->preserve & 2 ? VBD_COPY_PRESERVE_MTIME : 0U);
	return VBD_OK;
}

static void *create_copy(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_copy *copy = NULL;
	struct copy_create input = {
		.spec = {.origin = vbd_request_origin(req),
			.overwrite = VBD_COPY_OVERWRITE_IF_DIFFERENT},
		.preserve = 3,
	};
	enum vbd_status status =
		vbd_request_decode_found(req, VBD_FIELDS(create_fields), &input, err);

	if (!status)
		status = check_ends(&input, err);
	if (!status)
		status = decode_path(&input.source, "/source/path", input.source_path, err);
	if (!status)
		status = decode_path(
			&input.destination, "/destination/path", input.destination_path, err);
	if (!status)
		status = fill_spec(req, &input, err);
	if (!status)
		(void)!vbd_copy_create(vbd_request_daemon(req), &input.spec, &copy, err);
	return copy;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_copy, state)
VBD_PAGE_NUMBER(by_connection, struct vbd_copy, connection_id)
VBD_PAGE_NUMBER(by_bytes, struct vbd_copy, progress.bytes_done)

static const struct vbd_page_column copy_columns[] = {
	{"state", VBD_SORTS, .number = by_state},
	{"connection", VBD_SELECTS, .kind = VBD_KIND_CONNECTION, .number = by_connection},
	{"bytes_done", VBD_SORTS, .number = by_bytes},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

const struct vbd_task_kind vbd_copy_task = {
	.kind = VBD_KIND_COPY,
	.create = create_copy,
	.done = VBD_STATES(VBD_COPY_DONE),
	.page.members = vbd_copy_members,
	.page.columns = copy_columns,
	.page.states = VBD_PAGE_STATES(VBD_COPY_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = put_copy,
};
