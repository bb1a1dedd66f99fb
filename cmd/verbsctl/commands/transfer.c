/* SPDX-License-Identifier: Apache-2.0 */
/* transfers; transfer-batches, connection-batches and connections create --count: objects made
 * together. */
#include "cmd/verbsctl/commands/commands.h"

#include "base/text.h"
#include "cmd/verbsctl/common/json.h"

#define TRANSFERS     "/v1/transfers"
#define WINDOW_PREFIX "windows/" /* prefix of memory windows behind the # of --remote */

static void put_brief(struct vbd_ctl *ctl, json_t *transfer)
{
	(void)ctl;
	vbd_ctl_sentence_put("transfer", transfer,
		vbd_ctl_json_at(transfer, "wire_ns")
			? "{op} of {length_bytes:text} bytes {state}, {wire_ns} on the wire, "
			  "{bytes_done,wire_ns:rate}"
			: "{op} of {length_bytes:text} bytes {state}");
	vbd_ctl_line_put("old value", transfer, "{old_value}");
	vbd_ctl_line_put("received", transfer, "{received.length_bytes:text}");
	vbd_ctl_line_put("immediate", transfer, "{received.imm}");
}

void vbd_ctl_transfer_run(struct vbd_ctl *ctl, const char *path, json_t *body)
{
	/* With a progress bar the request waits for a moment only, in which most transfers end, and
	 * the progress is polled after that. */
	int wait_s =
		vbd_ctl_unless_no_wait(ctl, vbd_ctl_progress_is_seen() ? 1 : VBD_CTL_WAIT_MAX_S);
	json_t *transfer = vbd_ctl_start(ctl, path, body, wait_s, vbd_ctl_noun_row("transfers"));

	if (wait_s != VBD_CTL_NO_WAIT && !vbd_ctl_json_is(transfer, "state", "done"))
		vbd_ctl_end(vbd_ctl_report_problem(ctl, vbd_ctl_problem_of(TRANSFERS, transfer)));
	vbd_ctl_answer_put(ctl, transfer, put_brief);
}

/* Fetches the description of the peer's memory from the peer's verbsd. */
static json_t *fetch_remote(struct vbd_ctl *ctl, const char *remote)
{
	const char *window = strstr(remote, "#" WINDOW_PREFIX);

	if (!window)
		return vbd_ctl_get_at(ctl, "--remote", remote, "/v1/buffers");
	return vbd_ctl_get_at(ctl, "--remote",
		vbd_ctl_format("%.*s#%s", (int)(window - remote), remote,
			window + strlen("#" WINDOW_PREFIX)),
		"/v1/windows");
}

/* Checks that the peer granted this access. Otherwise its device refuses the request and the
 * connection breaks. */
static bool grants_access(const json_t *buffer, const char *access)
{
	const json_t *list = vbd_ctl_json_at(buffer, "access");
	const json_t *granted;
	size_t i;

	json_array_foreach(list, i, granted)
	{
		if (vbd_ctl_json_is(granted, "", access))
			return true;
	}
	return !list;
}

/* Parses one piece of --sges, "BUFFER[:OFFSET[:LENGTH]]", into @sge. Returns false if it is
 * malformed. */
static bool set_sge(json_t *sge, char *piece)
{
	static const char *const members[] = {"offset_bytes", "length_bytes"};
	uint64_t number;

	vbd_ctl_json_set(sge, "buffer", vbd_ctl_json_ref("buffer", strsep(&piece, ":")));
	for (size_t i = 0; i < VBD_ARRAY_LEN(members) && piece; i++) {
		if (!vbd_parse_size(strsep(&piece, ":"), &number))
			return false;
		vbd_ctl_json_set(sge, members[i], json_integer((json_int_t)number));
	}
	return !piece;
}

void vbd_ctl_transfer_set_local(const struct vbd_ctl_args *args, json_t *body)
{
	const char *text = args->text[VBD_CTL_OPT_SGES];
	char *rest;

	if (!!text + vbd_ctl_args_has(args, VBD_CTL_OPT_BUFFER) != 1)
		vbd_ctl_refuse(args, "needs one of --buffer and --sges");
	if (!text)
		return;
	vbd_ctl_json_set(body, "sges", json_array());
	for (rest = vbd_ctl_format("%s", text); rest && *rest;) {
		json_t *sge = vbd_ctl_must(json_object());

		if (json_array_append_new(json_object_get(body, "sges"), sge) < 0)
			vbd_ctl_must(NULL);
		if (!set_sge(sge, strsep(&rest, ",")))
			vbd_ctl_refuse(
				args, "--sges must be BUFFER:OFFSET:LENGTH,..., not \"%s\"", text);
	}
}

static void set_member(json_t *body, const char *member, const json_t *object, const char *from)
{
	json_t *value = vbd_ctl_json_at(object, from);

	if (value)
		vbd_ctl_json_set(body, member, json_incref(value));
}

/* Checks the access, which the peer's device would only check by breaking the connection. Sets
 * `remote` from the peer's buffer or window; the server checks the range. */
static void set_remote(const char *remote, const json_t *buffer, const char *access, json_t *body)
{
	if (!grants_access(buffer, access))
		vbd_ctl_fail("%s: the buffer does not grant %s; create it with --access %s", remote,
			access, access);
	if (!vbd_ctl_json_text(buffer, "addr") || !vbd_ctl_json_text(buffer, "rkey"))
		vbd_ctl_fail("%s: that verbsd does not show address and key; the read role does "
			     "not see them (--peer-token-file)",
			remote);
	set_member(body, "remote.addr", buffer, "addr");
	set_member(body, "remote.rkey", buffer, "rkey");
	set_member(body, "remote.size_bytes", buffer, "size_bytes");
}

/* The access that the peer must have granted. */
static const char *access_for(const char *op)
{
	if (strcmp(op, "read") == 0)
		return "remote_read";
	return strncmp(op, "write", strlen("write")) == 0 ? "remote_write" : "remote_atomic";
}

void vbd_ctl_transfer_set_remote(struct vbd_ctl *ctl, json_t *body)
{
	const struct vbd_ctl_args *args = &ctl->args;
	bool addr = vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE_ADDR);
	bool rkey = vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE_RKEY);
	const char *remote = args->text[VBD_CTL_OPT_REMOTE];

	if (remote ? addr || rkey : !addr || !rkey)
		vbd_ctl_refuse(args, "needs --remote, or --remote-addr and --remote-rkey instead");
	if (remote)
		set_remote(remote, fetch_remote(ctl, remote),
			access_for(vbd_ctl_json_text(body, "op")), body);
}

void vbd_ctl_transfer_create(struct vbd_ctl *ctl)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_IMM))
		vbd_ctl_json_set(body, "op", json_string("write_imm"));
	/* An atomic moves eight bytes, for which the server has room itself. */
	if (vbd_ctl_takes(&ctl->args, VBD_CTL_OPT_BUFFER))
		vbd_ctl_transfer_set_local(&ctl->args, body);
	if (vbd_ctl_takes(&ctl->args, VBD_CTL_OPT_REMOTE))
		vbd_ctl_transfer_set_remote(ctl, body);
	vbd_ctl_transfer_run(ctl, TRANSFERS, body);
}

/* --- batches ------------------------------------------------------------------------------- */

/* The POST is not waited for: the answer to a batch with failures would be a problem, which tells
 * the first of them only. */
static void create_batch(struct vbd_ctl *ctl, const struct vbd_ctl_noun *kind, json_t *body)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	json_t *batch = vbd_ctl_start(ctl, kind->collection, body, VBD_CTL_NO_WAIT, kind);
	/* The error of the batch is its first failure, with the cause. */
	bool explained = wait && vbd_ctl_json_text(batch, "error.explain");

	if (ctl->json)
		vbd_ctl_json_put(stdout, batch);
	else
		vbd_ctl_sentence_put(kind->kind, batch, kind->brief);
	if (explained)
		(void)vbd_ctl_report_problem(ctl, vbd_ctl_problem_of(kind->collection, batch));
	vbd_ctl_object_tell_failures(batch, explained);
	if (wait && !vbd_ctl_json_is(batch, "state", "done"))
		vbd_ctl_end(VBD_CTL_FAILED);
}

/* Reads the transfers, an array or an object that has it as `transfers`. */
static json_t *read_body(const char *name)
{
	json_error_t error;
	json_t *json = vbd_ctl_json_keep(
		json_loadf(vbd_ctl_open_file(name), JSON_REJECT_DUPLICATES, &error));

	if (!json)
		vbd_ctl_fail("%s: line %d: %s", name, error.line, error.text);
	if (json_is_array(json))
		json = vbd_ctl_json_keep(vbd_ctl_must(json_pack("{s:O}", "transfers", json)));
	return json;
}

void vbd_ctl_batch_create(struct vbd_ctl *ctl)
{
	create_batch(ctl, ctl->args.kind, read_body(ctl->args.operands[0]));
}

void vbd_ctl_connect_many(struct vbd_ctl *ctl, json_t *connection)
{
	/* Members of ConnectionBatchCreate; the others are of the connections in it. */
	static const char *const of_batch[] = {"count", "labels"};
	json_t *batch = vbd_ctl_json_new();

	for (size_t i = 0; i < VBD_ARRAY_LEN(of_batch); i++) {
		json_t *value = json_object_get(connection, of_batch[i]);

		if (value)
			vbd_ctl_json_set(batch, of_batch[i], json_incref(value));
		(void)json_object_del(connection, of_batch[i]);
	}
	vbd_ctl_json_set(batch, "connections", json_pack("[O]", connection));
	create_batch(ctl, vbd_ctl_noun_row("connection-batches"), batch);
}
