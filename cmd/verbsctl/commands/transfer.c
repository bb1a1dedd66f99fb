/* SPDX-License-Identifier: Apache-2.0 */
/* transfers. */
#include "cmd/verbsctl/commands/commands.h"

#include "base/text.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/problem.h"

#define TRANSFERS	   "/v1/transfers"
#define DEFAULT_TIMEOUT_MS 30000 /* default of TransferCreate and MessageSend in openapi.yaml */
#define WINDOW_PREFIX	   "windows/" /* prefix of memory windows behind the # of --remote */

static bool is_under_way(const json_t *transfer)
{
	return vbd_ctl_json_is(transfer, "state", "queued") ||
	       vbd_ctl_json_is(transfer, "state", "running") ||
	       vbd_ctl_json_is(transfer, "state", "cancelling");
}

static void put_brief(const struct vbd_ctl *ctl, json_t *transfer)
{
	(void)ctl;
	vbd_ctl_sentence_put("transfer", transfer,
		vbd_ctl_json_at(transfer, "wire_ns")
			? "{op} of {length_bytes:text} bytes {state}, {wire_ns} on the wire, "
			  "{bytes_done,wire_ns:rate}"
			: "{op} of {length_bytes:text} bytes {state}");
	VBD_CTL_LINES_PUT(transfer, {"old value", "{old_value}"},
		{"received", "{received.length_bytes:text}"}, {"immediate", "{received.imm}"});
}

/*
 * Without a progress bar the request waits for the end of the transfer. With one it waits for a
 * moment only, in which most transfers end, and the progress is polled after that.
 */
static int wait_s_of(const struct vbd_ctl *ctl, const struct vbd_ctl_progress *progress)
{
	int wait_s = vbd_ctl_wait_s(ctl, DEFAULT_TIMEOUT_MS);

	return progress->enabled && wait_s != VBD_CTL_NO_WAIT ? 1 : wait_s;
}

enum vbd_ctl_exit vbd_ctl_transfer_run(struct vbd_ctl *ctl, const char *path, json_t *body)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	struct vbd_ctl_progress progress;
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;

	vbd_ctl_progress_init(&progress, ctl->args.command->verb);
	exit_status = vbd_ctl_call(ctl, "POST", path, body, wait_s_of(ctl, &progress), &answer);
	if (exit_status == VBD_CTL_OK && wait)
		exit_status = vbd_ctl_follow(ctl, TRANSFERS, is_under_way, &progress, &answer);
	vbd_ctl_progress_fini(&progress);
	if (exit_status == VBD_CTL_OK && wait && !vbd_ctl_json_is(answer.json, "state", "done"))
		exit_status =
			vbd_ctl_report_problem(ctl, vbd_ctl_problem_of(TRANSFERS, answer.json));
	else if (exit_status == VBD_CTL_OK)
		vbd_ctl_answer_put(ctl, &answer, put_brief);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

/* Fetches the description of the peer's memory from the peer's verbsd. */
static enum vbd_ctl_exit fetch_remote(
	struct vbd_ctl *ctl, const char *remote, struct vbd_ctl_answer *ret_answer)
{
	const char *window = strstr(remote, "#" WINDOW_PREFIX);
	enum vbd_ctl_exit exit_status;
	char *where;

	if (!window)
		return vbd_ctl_get_at(ctl, "--remote", remote, "/v1/buffers", ret_answer);
	where = vbd_ctl_format(
		"%.*s#%s", (int)(window - remote), remote, window + strlen("#" WINDOW_PREFIX));
	exit_status = vbd_ctl_get_at(ctl, "--remote", where, "/v1/windows", ret_answer);
	free(where);
	return exit_status;
}

/* Checks that the peer granted this access. Otherwise its device refuses the request and the
 * connection breaks. */
static bool grants(const json_t *buffer, const char *access)
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

/* Parses one piece of --sges, "BUFFER[:OFFSET[:LENGTH]]", of @len bytes; NULL if it is
 * malformed. */
static json_t *sge_of(const char *text, size_t len)
{
	static const char *const members[] = {"offset_bytes", "length_bytes"};
	char *piece = vbd_ctl_must(strndup(text, len));
	char *rest = piece;
	const char *word = strsep(&rest, ":");
	json_t *sge = vbd_ctl_must(json_object());
	uint64_t number;
	bool good = true;

	vbd_ctl_json_set(sge, "buffer", vbd_ctl_json_ref(word));
	for (size_t i = 0; i < VBD_ARRAY_LEN(members) && good && rest; i++) {
		good = vbd_parse_size(strsep(&rest, ":"), &number);
		if (good)
			vbd_ctl_json_set(
				sge, members[i], vbd_ctl_must(json_integer((json_int_t)number)));
	}
	good = good && !rest;
	free(piece);
	if (good)
		return sge;
	json_decref(sge);
	return NULL;
}

enum vbd_ctl_exit vbd_ctl_transfer_set_local(const struct vbd_ctl_args *args, json_t *body)
{
	const char *text = args->text[VBD_CTL_OPT_SGES];
	json_t *sges;

	if (!!text + vbd_ctl_args_has(args, VBD_CTL_OPT_BUFFER) != 1)
		return vbd_ctl_refuse(args, "needs one of --buffer and --sges");
	if (!text)
		return VBD_CTL_OK;
	sges = vbd_ctl_must(json_array());
	while (*text) {
		size_t len = strcspn(text, ",");
		json_t *sge = sge_of(text, len);

		if (!sge) {
			json_decref(sges);
			return vbd_ctl_refuse(args,
				"--sges must be BUFFER:OFFSET:LENGTH,..., not \"%s\"",
				args->text[VBD_CTL_OPT_SGES]);
		}
		if (json_array_append_new(sges, sge) < 0)
			vbd_ctl_must(NULL);
		text += len;
		text += *text == ',';
	}
	vbd_ctl_json_set(body, "sges", sges);
	return VBD_CTL_OK;
}

static void set_member(json_t *body, const char *member, const json_t *object, const char *from)
{
	json_t *value = vbd_ctl_json_at(object, from);

	if (value)
		vbd_ctl_json_set(body, member, json_incref(value));
}

/* Checks the access, which the peer's device would only check by breaking the connection. Sets
 * `remote` from the peer's buffer or window; the server checks the range. */
static enum vbd_ctl_exit aim(
	struct vbd_ctl *ctl, const json_t *buffer, const char *access, json_t *body)
{
	const char *remote = ctl->args.text[VBD_CTL_OPT_REMOTE];

	if (!grants(buffer, access))
		return vbd_ctl_fail("%s: the buffer does not grant %s; create it with --access %s",
			remote, access, access);
	if (!vbd_ctl_json_text(buffer, "addr") || !vbd_ctl_json_text(buffer, "rkey"))
		return vbd_ctl_fail("%s: that verbsd does not show address and key; the read role "
				    "does not see them (--peer-token-file)",
			remote);
	set_member(body, "remote.addr", buffer, "addr");
	set_member(body, "remote.rkey", buffer, "rkey");
	set_member(body, "remote.size_bytes", buffer, "size_bytes");
	return VBD_CTL_OK;
}

enum vbd_ctl_exit vbd_ctl_transfer_set_remote(struct vbd_ctl *ctl, const char *access, json_t *body)
{
	const struct vbd_ctl_args *args = &ctl->args;
	bool addr = vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE_ADDR);
	bool rkey = vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE_RKEY);
	const char *remote = args->text[VBD_CTL_OPT_REMOTE];
	struct vbd_ctl_answer answer = {0};
	enum vbd_ctl_exit exit_status;

	if (remote ? addr || rkey : !addr || !rkey)
		return vbd_ctl_refuse(
			args, "needs --remote, or --remote-addr and --remote-rkey instead");
	if (!remote)
		return VBD_CTL_OK;
	exit_status = fetch_remote(ctl, remote, &answer);
	if (exit_status == VBD_CTL_OK)
		exit_status = aim(ctl, answer.json, access, body);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

/* By the verb of the command. */
static const struct {
	const char *verb, *op;
	const char
		*access; /* that the peer must have granted; NULL: no memory of the peer is used */
	bool local;	 /* memory of this side is used; atomics move eight bytes, for which the
			  * server has room itself */
} ops[] = {
	{"write", "write", "remote_write", true},
	{"read", "read", "remote_read", true},
	{"fetch-add", "fetch_add", "remote_atomic", false},
	{"compare-swap", "compare_swap", "remote_atomic", false},
	{"recv", "recv", NULL, true},
};

enum vbd_ctl_exit vbd_ctl_transfer_create(struct vbd_ctl *ctl)
{
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	const char *op;
	json_t *body;
	size_t i = 0;

	while (strcmp(ops[i].verb, ctl->args.command->verb) != 0)
		i++;
	op = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_IMM) ? "write_imm" : ops[i].op;
	body = vbd_ctl_args_body(&ctl->args);
	if (!body)
		return VBD_CTL_USAGE;
	vbd_ctl_json_set(body, "op", vbd_ctl_must(json_string(op)));
	if (ops[i].local)
		exit_status = vbd_ctl_transfer_set_local(&ctl->args, body);
	if (exit_status == VBD_CTL_OK && ops[i].access)
		exit_status = vbd_ctl_transfer_set_remote(ctl, ops[i].access, body);
	if (exit_status == VBD_CTL_OK)
		return vbd_ctl_transfer_run(ctl, TRANSFERS, body);
	json_decref(body);
	return exit_status;
}
