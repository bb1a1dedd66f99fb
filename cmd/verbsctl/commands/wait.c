/* SPDX-License-Identifier: Apache-2.0 */
/* wait, for all kinds of objects that have a state. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/problem.h"

#include "base/clock.h"

#define EARLY_MS                                                                                 \
	20 /* an answer that comes earlier than this before the end is not the server's time-out \
	    */

/* State of one `verbsctl NOUN wait`. */
struct waiter {
	struct vbd_ctl *ctl;
	const char *until;
	uint64_t expires_ns; /* 0 for no limit */
};

/* The meaning of an answer for the wait. */
enum verdict {
	HOLDS,
	NEVER, /* the state can't come any more */
	NOT_YET,
};

/*
 * The server answers when the state has come, when it can't come any more, or when the time is
 * over.
 * @early: the time was not over
 */
static enum verdict judge(const struct waiter *waiter, const json_t *object, bool early)
{
	bool has_ended = vbd_ctl_json_at(object, "ended_at");

	if (vbd_ctl_json_is(object, "state", waiter->until))
		return HOLDS;
	if (strcmp(waiter->until, "ended") == 0 && (has_ended || early))
		return HOLDS;
	if (strcmp(waiter->until, "open") == 0 && !has_ended)
		return HOLDS;
	if (!early)
		return NOT_YET;
	return strcmp(waiter->until, "changed") == 0 ? HOLDS : NEVER;
}

static void put_state(const struct vbd_ctl *ctl, json_t *object)
{
	if (ctl->json)
		vbd_ctl_json_put_line(stdout, object);
	else
		vbd_ctl_object_put_state(ctl, object);
}

/* Prints the object, or why its state did not come. */
static enum vbd_ctl_exit report(const struct waiter *waiter, json_t *object, enum verdict verdict)
{
	const struct vbd_ctl_object *kind = waiter->ctl->args.command->object;
	char *text = vbd_ctl_fill(object, "{id} is {state}");

	if (verdict == HOLDS)
		put_state(waiter->ctl, object);
	else if (verdict == NOT_YET)
		vbd_ctl_note("%s/%s, and not yet %s", kind->kind, text, waiter->until);
	else if (vbd_ctl_json_at(object, "error"))
		(void)vbd_ctl_report_problem(
			waiter->ctl, vbd_ctl_problem_of(kind->collection, object));
	else
		vbd_ctl_note("%s/%s, and will not be %s", kind->kind, text, waiter->until);
	(void)fflush(stdout);
	free(text);
	return verdict == HOLDS	    ? VBD_CTL_OK
	       : verdict == NOT_YET ? VBD_CTL_TIMED_OUT
				    : VBD_CTL_FAILED;
}

/* Makes one long poll. Sets @ret_over unless another one is due. */
static enum vbd_ctl_exit poll_once(struct waiter *waiter, const char *ref, bool *ret_over)
{
	unsigned int wait_ms = vbd_ctl_patience_ms(waiter->expires_ns);
	char *object = vbd_ctl_path(waiter->ctl->args.command->object->collection, ref, "");
	char *path = vbd_ctl_format("%s?until=%s&wait_ms=%u", object, waiter->until, wait_ms);
	const struct vbd_ctl_request request = {
		.method = "GET", .path = path, .wait_s = wait_ms / 1000 + 1};
	uint64_t asked_ns = vbd_clock_mono_ns();
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_http_call(&waiter->ctl->http, &request, &answer);
	uint64_t took_ms = (vbd_clock_mono_ns() - asked_ns) / VBD_NS_PER_MS;
	enum verdict verdict;

	*ret_over = true;
	if (exit_status == VBD_CTL_OK) {
		verdict = judge(waiter, answer.json, took_ms + EARLY_MS < wait_ms);
		*ret_over = verdict != NOT_YET || vbd_ctl_patience_ms(waiter->expires_ns) == 0;
		if (*ret_over)
			exit_status = report(waiter, answer.json, verdict);
	}
	vbd_ctl_answer_fini(&answer);
	free(path);
	free(object);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_object_wait(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_args *args = &ctl->args;
	const char *until = args->text[VBD_CTL_OPT_UNTIL];
	struct waiter waiter = {
		.ctl = ctl, .until = until ? until : args->command->object->good_state};
	enum vbd_ctl_exit first = VBD_CTL_OK;

	if (waiter.until[strspn(waiter.until, "abcdefghijklmnopqrstuvwxyz_")])
		return vbd_ctl_refuse(args, "--until must be a state, not \"%s\"", waiter.until);
	if (vbd_ctl_args_has(args, VBD_CTL_OPT_WAIT_TIMEOUT))
		waiter.expires_ns = vbd_clock_mono_ns() +
				    args->number[VBD_CTL_OPT_WAIT_TIMEOUT] * VBD_NS_PER_MS + 1;
	for (size_t i = 0; i < args->operand_count; i++) {
		enum vbd_ctl_exit exit_status;
		bool over;

		do {
			exit_status = poll_once(&waiter, args->operands[i], &over);
		} while (!over);
		if (first == VBD_CTL_OK)
			first = exit_status;
	}
	return first;
}
