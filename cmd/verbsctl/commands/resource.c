/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects with the same commands: pds, cqs, srqs, endpoints, peers, groups, windows, probes,
 * benchmarks. Each kind has a row here, and its commands have options of their own.
 */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_WAIT_S	  30
#define COLUMNS(columns_) .columns = (columns_), .column_count = VBD_ARRAY_LEN(columns_)

struct resource {
	const char *name; /* first word of the commands, and last part of the path */
	const char *kind; /* name of one object */
	const struct vbd_ctl_column *columns;
	size_t column_count;
};

static const struct vbd_ctl_column pd_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"DEVICE", "device", vbd_ctl_cell_text, 0},
	{"DEFAULT", "default", vbd_ctl_cell_text, 0},
	{"USERS", "users", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
};

static const struct vbd_ctl_column cq_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"DEVICE", "device", vbd_ctl_cell_text, 0},
	{"WORKER", "worker", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"CQE", "capacity_cqe", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"RESERVED", "reserved_cqe", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"OUTSTANDING", "outstanding_cqe", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"HIGH", "high_water_cqe", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"COMPLETIONS", "completions", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"ERRORS", "error_completions", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"POLLS", "polls", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"EMPTY", "empty_polls", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"ARMED", "events_armed", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"TAKEN", "events_taken", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"CONNS", "connections", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
};

static const struct vbd_ctl_column srq_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"DEVICE", "device", vbd_ctl_cell_text, 0},
	{"PD", "pd", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"CQ", "cq", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"DEPTH", "depth", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"POSTED", "posted", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"LIMIT", "limit", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"EVENTS", "limit_events", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"REFILLS", "refills", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"USERS", "users", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
};

static const struct vbd_ctl_column endpoint_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"DEVICE", "device", vbd_ctl_cell_text, 0},
	{"QPN", "qpn", vbd_ctl_cell_hex, VBD_CTL_COLUMN_RIGHT},
	{"GID", "gid", vbd_ctl_cell_text, 0},
	{"MTU", "mtu_bytes", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"ADDR", "addr", vbd_ctl_cell_text, 0},
	{"PORT", "port", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"SERVICE", "qp.service", vbd_ctl_cell_text, 0},
};

static const struct vbd_ctl_column peer_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"ENDPOINT", "endpoint", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"QPN", "qpn", vbd_ctl_cell_hex, VBD_CTL_COLUMN_RIGHT},
	{"GID", "path.gid", vbd_ctl_cell_text, 0},
	{"LID", "path.lid", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"ASKED AT", "dst", vbd_ctl_cell_text, 0},
};

static const struct vbd_ctl_column group_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"ENDPOINT", "endpoint", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"ADDR", "addr", vbd_ctl_cell_text, 0},
	{"MODE", "mode", vbd_ctl_cell_text, 0},
	{"MGID", "mgid", vbd_ctl_cell_text, 0},
};

static const struct vbd_ctl_column window_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"TYPE", "type", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"BUFFER", "buffer", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"CONN", "connection", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"OFFSET", "offset", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"LENGTH", "length_bytes", vbd_ctl_cell_bytes, VBD_CTL_COLUMN_RIGHT},
	{"ACCESS", "access", vbd_ctl_cell_list, 0},
};

static const struct vbd_ctl_column probe_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"KIND", "kind", vbd_ctl_cell_text, 0},
	{"CONN", "connection", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"SENT", "sent", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"COMPLETED", "completed", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"MISMATCHED", "mismatched", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"P50", "rtt_ns.p50", vbd_ctl_cell_ns, VBD_CTL_COLUMN_RIGHT},
	{"P99", "rtt_ns.p99", vbd_ctl_cell_ns, VBD_CTL_COLUMN_RIGHT},
};

static const struct vbd_ctl_column benchmark_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"OP", "op", vbd_ctl_cell_text, 0},
	{"CONN", "connection", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"SIZE", "size_bytes", vbd_ctl_cell_bytes, VBD_CTL_COLUMN_RIGHT},
	{"WINDOW", "window", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"MESSAGES", "messages", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"BYTES/S", "bytes_per_s", vbd_ctl_cell_bytes, VBD_CTL_COLUMN_RIGHT},
	{"P50", "latency_ns.p50", vbd_ctl_cell_ns, VBD_CTL_COLUMN_RIGHT},
	{"P99", "latency_ns.p99", vbd_ctl_cell_ns, VBD_CTL_COLUMN_RIGHT},
};

static const struct resource resources[] = {
	{"pds", "pd", COLUMNS(pd_columns)},
	{"cqs", "cq", COLUMNS(cq_columns)},
	{"srqs", "srq", COLUMNS(srq_columns)},
	{"endpoints", "endpoint", COLUMNS(endpoint_columns)},
	{"peers", "peer", COLUMNS(peer_columns)},
	{"groups", "group", COLUMNS(group_columns)},
	{"windows", "window", COLUMNS(window_columns)},
	{"probes", "probe", COLUMNS(probe_columns)},
	{"benchmarks", "benchmark", COLUMNS(benchmark_columns)},
};

static const struct resource *resource_of(const struct vbd_ctl *ctl)
{
	const struct resource *resource = resources;

	while (strcmp(resource->name, ctl->args.command->name) != 0)
		resource++;
	return resource;
}

static bool ends_with(const char *text, const char *tail)
{
	size_t len = strlen(text);
	size_t tail_len = strlen(tail);

	return len >= tail_len && strcmp(text + len - tail_len, tail) == 0;
}

/* Suffixes of member names that the formatted value shows as a unit. */
static const struct {
	const char *tail;
	vbd_ctl_cell_fn cell;
} units[] = {
	{"_at", vbd_ctl_cell_time},
	{"_bytes", vbd_ctl_cell_bytes},
	{"_ns", vbd_ctl_cell_ns},
};

/* Chooses the format of a value. Returns the length of the suffix of @name that is its unit. */
static size_t cell_for(const char *name, const json_t *value, vbd_ctl_cell_fn *ret_cell)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(units); i++) {
		if (ends_with(name, units[i].tail)) {
			*ret_cell = units[i].cell;
			return strlen(units[i].tail);
		}
	}
	*ret_cell = json_is_array(value)     ? vbd_ctl_cell_list
		    : ends_with(name, "qpn") ? vbd_ctl_cell_hex
					     : vbd_ctl_cell_text;
	return 0;
}

/*
 * Prints every member that has a value; members of an inner object follow the name of the object.
 * @inherited: format for all members, taken from a unit in the object's name; NULL to choose by
 *             member
 */
static void put_members(json_t *object, const char *prefix, vbd_ctl_cell_fn inherited)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		bool told = strcmp(name, "id") == 0 || strcmp(name, "name") == 0 ||
			    strcmp(name, "state") == 0;
		vbd_ctl_cell_fn cell;
		size_t unit_len = cell_for(name, value, &cell);
		char *label = vbd_ctl_format("%s%s%.*s", prefix, *prefix ? " " : "",
			(int)(strlen(name) - unit_len), name);

		for (char *c = label; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		if (json_is_object(value)) {
			put_members(value, label, unit_len ? cell : NULL);
		} else if (!json_is_null(value) && (*prefix || !told)) {
			char *text = inherited ? inherited(value) : cell(value);

			vbd_ctl_line_put(label, "%s", text);
			free(text);
		}
		free(label);
	}
}

static void put_one(struct vbd_ctl *ctl, json_t *object)
{
	if (ctl->json) {
		vbd_ctl_json_put(stdout, object);
		return;
	}
	vbd_ctl_title_put(resource_of(ctl)->kind, object, ctl->color);
	put_members(object, "", NULL);
}

static char *collection_of(const struct vbd_ctl *ctl)
{
	return vbd_ctl_format("/v1/%s", resource_of(ctl)->name);
}

enum vbd_ctl_exit vbd_ctl_resources(struct vbd_ctl *ctl)
{
	const struct resource *resource = resource_of(ctl);
	char *collection = collection_of(ctl);
	enum vbd_ctl_exit exit_status =
		vbd_ctl_list(ctl, collection, resource->columns, resource->column_count);

	free(collection);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_resource_show(struct vbd_ctl *ctl)
{
	char *path = collection_of(ctl);
	char *object = vbd_ctl_path(path, ctl->args.operands[0], "");
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "GET", object, NULL, VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK)
		put_one(ctl, answer.json);
	vbd_ctl_answer_fini(&answer);
	free(object);
	free(path);
	return exit_status;
}

/* Resolving a peer and joining a group take time, and have --no-wait. */
static int wait_s_of(const struct vbd_ctl *ctl)
{
	const struct vbd_ctl_command *command = ctl->args.command;

	for (size_t i = 0; i < command->option_count; i++) {
		if (command->options[i] == VBD_CTL_OPT_NO_WAIT)
			return vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT) ? VBD_CTL_NO_WAIT
										 : DEFAULT_WAIT_S;
	}
	return VBD_CTL_NO_WAIT;
}

static enum vbd_ctl_exit make(
	struct vbd_ctl *ctl, const char *method, const char *path, json_t *body)
{
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, method, path, body, wait_s_of(ctl), &answer);

	if (exit_status == VBD_CTL_OK)
		put_one(ctl, answer.json);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_resource_create(struct vbd_ctl *ctl)
{
	const char *name = ctl->args.operand_count ? ctl->args.operands[0] : NULL;
	char *path = collection_of(ctl);
	json_t *body = vbd_ctl_args_body(&ctl->args);
	enum vbd_ctl_exit exit_status;

	if (name && !vbd_ctl_text_is_utf8(name, strlen(name))) {
		json_decref(body);
		free(path);
		return vbd_ctl_usage("%s create: the name must be UTF-8", resource_of(ctl)->name);
	}
	if (name)
		vbd_ctl_json_set(body, "name", vbd_ctl_must(json_string(name)));
	exit_status = make(ctl, "POST", path, body);
	free(path);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_peer_resolve(struct vbd_ctl *ctl)
{
	const char *where = ctl->args.operands[0];
	enum vbd_ctl_exit exit_status;
	uint64_t port = 0;
	bool has_port;
	json_t *body;
	char *host;

	if (!vbd_ctl_text_is_utf8(where, strlen(where)) ||
		!vbd_ctl_split_host(where, true, &host, &has_port, &port))
		return vbd_ctl_usage(
			"peers resolve: \"%s\" is not HOST:PORT (or [ADDR]:PORT for IPv6)", where);
	body = vbd_ctl_args_body(&ctl->args);
	vbd_ctl_json_set(body, "dst_addr", vbd_ctl_must(json_string(host)));
	vbd_ctl_json_set(body, "dst_port", vbd_ctl_must(json_integer((json_int_t)port)));
	exit_status = make(ctl, "POST", "/v1/peers", body);
	free(host);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_resource_set(struct vbd_ctl *ctl)
{
	char *collection = collection_of(ctl);
	char *path = vbd_ctl_path(collection, ctl->args.operands[0], "");
	enum vbd_ctl_exit exit_status = make(ctl, "PATCH", path, vbd_ctl_args_body(&ctl->args));

	free(path);
	free(collection);
	return exit_status;
}

static enum vbd_ctl_exit rm_one(struct vbd_ctl *ctl, const char *ref)
{
	char *collection = collection_of(ctl);
	enum vbd_ctl_exit exit_status =
		vbd_ctl_delete(ctl, collection, resource_of(ctl)->kind, ref, VBD_CTL_NO_WAIT);

	free(collection);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_resource_rm(struct vbd_ctl *ctl)
{
	return vbd_ctl_each(ctl, rm_one);
}
