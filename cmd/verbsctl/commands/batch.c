/* SPDX-License-Identifier: Apache-2.0 */
/* transfer-batches, connection-batches and connections create --count: objects made together. */
#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/common/json.h"

#define TRANSFERS   "/v1/transfer_batches"
#define CONNECTIONS "/v1/connection_batches"

static const struct vbd_ctl_column transfer_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_NUMBER("QUEUED", "counts.queued"),
	VBD_CTL_NUMBER("RUNNING", "counts.running"), VBD_CTL_NUMBER("DONE", "counts.done"),
	VBD_CTL_NUMBER("FAILED", "counts.failed"), VBD_CTL_NUMBER("CANCELLED", "counts.cancelled"),
	VBD_CTL_NUMBER("TIMEDOUT", "counts.timed_out"), VBD_CTL_WIDE("ERROR", "error.code")};

static const struct vbd_ctl_column connection_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_NUMBER("QUEUED", "counts.queued"),
	VBD_CTL_NUMBER("CONNECTING", "counts.connecting"),
	VBD_CTL_NUMBER("ESTABLISHED", "counts.established"),
	VBD_CTL_NUMBER("FAILED", "counts.failed"), VBD_CTL_WIDE("ERROR", "error.detail")};

static bool is_under_way(const json_t *batch)
{
	return vbd_ctl_json_is(batch, "state", "running");
}

static void put_transfers(const struct vbd_ctl *ctl, json_t *batch)
{
	(void)ctl;
	vbd_ctl_sentence_put("transfer_batch", batch,
		"{state}: {counts.done} done, {counts.failed} failed, {counts.cancelled} "
		"cancelled, "
		"{counts.timed_out} timed out, {counts.running} running");
}

static void put_connections(const struct vbd_ctl *ctl, json_t *batch)
{
	(void)ctl;
	vbd_ctl_sentence_put("connection_batch", batch,
		"{state}: {counts.established} established, {counts.failed} failed, "
		"{counts.connecting} connecting, {counts.queued} queued");
}

/* The POST is not waited for: the answer to a batch with failures would be a problem, which tells
 * the first of them only. */
static enum vbd_ctl_exit create(
	struct vbd_ctl *ctl, const char *path, json_t *body, vbd_ctl_put_fn put)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "POST", path, body, VBD_CTL_NO_WAIT, &answer);
	const json_t *failure;
	size_t i;

	if (exit_status == VBD_CTL_OK && wait)
		exit_status = vbd_ctl_follow(ctl, path, is_under_way, NULL, &answer);
	if (exit_status == VBD_CTL_OK) {
		vbd_ctl_answer_put(ctl, &answer, put);
		json_array_foreach(json_object_get(answer.json, "failures"), i, failure)
			vbd_ctl_fail("%s/%llu: %s", vbd_ctl_json_text(failure, "kind"),
				(unsigned long long)vbd_ctl_json_uint(failure, "id"),
				vbd_ctl_json_text(failure, "detail"));
		if (wait && !vbd_ctl_json_is(answer.json, "state", "done"))
			exit_status = VBD_CTL_FAILED;
	}
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

/* Reads the transfers, an array or an object that has it as `transfers`. NULL after an error. */
static json_t *read_body(const char *name)
{
	bool is_stdin = strcmp(name, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(name, "re");
	json_error_t error;
	json_t *json, *body;

	if (!file) {
		vbd_ctl_fail("%s: %s", name, strerror(errno));
		return NULL;
	}
	json = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	if (!is_stdin)
		(void)fclose(file);
	if (!json)
		vbd_ctl_fail("%s: line %d: %s", name, error.line, error.text);
	if (!json_is_array(json))
		return json;
	body = vbd_ctl_must(json_object());
	vbd_ctl_json_set(body, "transfers", json);
	return body;
}

enum vbd_ctl_exit vbd_ctl_batch_create(struct vbd_ctl *ctl)
{
	json_t *body = read_body(ctl->args.operands[0]);

	return body ? create(ctl, TRANSFERS, body, put_transfers) : VBD_CTL_FAILED;
}

/* ConnectionBatchCreate of a connection with `count` and `labels`; takes the reference. */
static json_t *batch_of(json_t *connection)
{
	static const char *const of_batch[] = {"count", "labels"};
	json_t *batch = vbd_ctl_must(json_object());

	for (size_t i = 0; i < VBD_ARRAY_LEN(of_batch); i++) {
		json_t *value = json_object_get(connection, of_batch[i]);

		if (value && json_object_set(batch, of_batch[i], value) != 0)
			vbd_ctl_must(NULL);
		(void)json_object_del(connection, of_batch[i]);
	}
	if (json_object_set_new(batch, "connections", json_pack("[o]", connection)) != 0)
		vbd_ctl_must(NULL);
	return batch;
}

enum vbd_ctl_exit vbd_ctl_connect_many(struct vbd_ctl *ctl, json_t *body)
{
	return create(ctl, CONNECTIONS, batch_of(body), put_connections);
}

const struct vbd_ctl_object vbd_ctl_object_batch = {TRANSFERS, "transfer_batch",
	VBD_CTL_COLUMNS(transfer_columns), .delete_wait_s = VBD_CTL_END_WAIT_S,
	.good_state = "done"};
const struct vbd_ctl_object vbd_ctl_object_connection_batch = {CONNECTIONS, "connection_batch",
	VBD_CTL_COLUMNS(connection_columns), .delete_wait_s = VBD_CTL_END_WAIT_S,
	.good_state = "done"};
