/* SPDX-License-Identifier: Apache-2.0 */
/* transfer-batches, connection-batches and connections create --count: objects made together. */
#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/problem.h"

static bool is_under_way(const json_t *batch)
{
	return vbd_ctl_json_is(batch, "state", "running");
}

/* The POST is not waited for: the answer to a batch with failures would be a problem, which tells
 * the first of them only. */
static enum vbd_ctl_exit create(
	struct vbd_ctl *ctl, const struct vbd_ctl_object *kind, json_t *body)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	struct vbd_ctl_answer answer;
	bool explained;
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "POST", kind->collection, body, VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK && wait)
		exit_status = vbd_ctl_follow(ctl, kind->collection, is_under_way, NULL, &answer);
	if (exit_status == VBD_CTL_OK) {
		if (ctl->json)
			vbd_ctl_json_put(stdout, answer.json);
		else
			vbd_ctl_sentence_put(kind->kind, answer.json, kind->brief);
		/* The error of the batch is its first failure, with the cause. */
		explained = wait && vbd_ctl_json_text(answer.json, "error.explain");
		if (explained)
			(void)vbd_ctl_report_problem(
				ctl, vbd_ctl_problem_of(kind->collection, answer.json));
		vbd_ctl_object_tell_failures(answer.json, explained);
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

	return body ? create(ctl, &vbd_ctl_object_batch, body) : VBD_CTL_FAILED;
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
	return create(ctl, &vbd_ctl_object_connection_batch, batch_of(body));
}
