/* SPDX-License-Identifier: Apache-2.0 */
/* connections create --count, and connection-batches: connections that are made together. */
#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/common/json.h"

#define CONNECTION_BATCHES "/v1/connection_batches"

static const struct vbd_ctl_column batch_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_NUMBER("QUEUED", "counts.queued"),
	VBD_CTL_NUMBER("CONNECTING", "counts.connecting"),
	VBD_CTL_NUMBER("ESTABLISHED", "counts.established"),
	VBD_CTL_NUMBER("FAILED", "counts.failed"), VBD_CTL_WIDE("ERROR", "error.detail")};

static bool is_under_way(const json_t *batch)
{
	return vbd_ctl_json_is(batch, "state", "running");
}

static void put_line(const struct vbd_ctl *ctl, json_t *batch)
{
	(void)ctl;
	vbd_ctl_sentence_put("connection_batch", batch,
		"{state}: {counts.established} established, {counts.failed} failed, "
		"{counts.connecting} connecting, {counts.queued} queued");
}

static void put_failures(const json_t *batch)
{
	const json_t *failure;
	size_t i;

	json_array_foreach(json_object_get(batch, "failures"), i, failure) vbd_ctl_fail(
		"connection/%llu: %s", (unsigned long long)vbd_ctl_json_uint(failure, "id"),
		vbd_ctl_json_text(failure, "detail"));
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

/* The POST is not waited for: the answer to a batch with failures would be a problem, which tells
 * the first of them only. */
enum vbd_ctl_exit vbd_ctl_connect_many(struct vbd_ctl *ctl, json_t *body)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_call(
		ctl, "POST", CONNECTION_BATCHES, batch_of(body), VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK && wait)
		exit_status = vbd_ctl_follow(ctl, CONNECTION_BATCHES, is_under_way, NULL, &answer);
	if (exit_status == VBD_CTL_OK) {
		vbd_ctl_answer_put(ctl, &answer, put_line);
		put_failures(answer.json);
		if (wait && !vbd_ctl_json_is(answer.json, "state", "done"))
			exit_status = VBD_CTL_FAILED;
	}
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

const struct vbd_ctl_object vbd_ctl_object_connection_batch = {CONNECTION_BATCHES,
	"connection_batch", VBD_CTL_COLUMNS(batch_columns), .delete_wait_s = VBD_CTL_END_WAIT_S,
	.good_state = "done"};
