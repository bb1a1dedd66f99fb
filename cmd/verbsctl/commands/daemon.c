/* SPDX-License-Identifier: Apache-2.0 */
/* status: the readiness of verbsd, and who asks; daemon: its drain; config: its configuration. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

static void put_all(struct vbd_ctl *ctl, json_t *object)
{
	(void)ctl;
	vbd_ctl_object_put(object, "");
}

/* An answer of status 503 is printed too: its body lists the checks that fail. */
static enum vbd_ctl_exit get_health(struct vbd_ctl *ctl, struct vbd_ctl_answer *ret_answer)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = "/readyz?verbose"};
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	enum vbd_ctl_outcome outcome;
	char *why;

	outcome = vbd_ctl_http_perform(&ctl->http, &request, ret_answer, &why);
	if (outcome == VBD_CTL_ANSWERED)
		ret_answer->json = vbd_ctl_answer_json(ret_answer);
	if (vbd_ctl_json_text(ret_answer->json, "status"))
		vbd_ctl_json_set_text(ret_answer->json, "url", ctl->http.shown);
	else
		exit_status = vbd_ctl_http_report(&ctl->http, outcome, ret_answer, why);
	return exit_status;
}

/* Adds what else there is to say. A part that the caller may not have is told, and those before it
 * are there. */
static enum vbd_ctl_exit get_parts(struct vbd_ctl *ctl, json_t *status)
{
	static const struct {
		const char *member, *path;
	} parts[] = {{"server", "/v1"}, {"drain", "/v1/drain"}, {"caller", "/v1/caller"}};
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;

	for (size_t i = 0; i < VBD_ARRAY_LEN(parts) && exit_status == VBD_CTL_OK; i++) {
		struct vbd_ctl_answer answer;

		exit_status =
			vbd_ctl_call(ctl, "GET", parts[i].path, NULL, VBD_CTL_NO_WAIT, &answer);
		if (exit_status == VBD_CTL_OK)
			vbd_ctl_json_set(status, parts[i].member, json_incref(answer.json));
	}
	return exit_status;
}

/* The index lists all paths, which say nothing of the state. */
static void put_status(struct vbd_ctl *ctl, json_t *status)
{
	json_t *server = json_object_get(status, "server");

	(void)json_object_del(server, "links");
	(void)json_object_del(server, "routes");
	put_all(ctl, status);
}

enum vbd_ctl_exit vbd_ctl_status(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer health;
	enum vbd_ctl_exit exit_status = get_health(ctl, &health);

	if (exit_status == VBD_CTL_OK)
		exit_status = get_parts(ctl, health.json);
	if (vbd_ctl_json_text(health.json, "status"))
		vbd_ctl_answer_put(ctl, &health, put_status);
	if (exit_status == VBD_CTL_OK && vbd_ctl_json_is(health.json, "status", "failing")) {
		exit_status = VBD_CTL_FAILED;
		if (!ctl->json)
			vbd_ctl_note("verbsd at %s is not ready", ctl->http.shown);
	}
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_version(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;

	if (!ctl->json)
		puts("verbsctl " VBD_VERSION);
	exit_status = vbd_ctl_call(ctl, "GET", "/v1", NULL, VBD_CTL_NO_WAIT, &answer);
	if (ctl->json)
		vbd_ctl_json_put(stdout, vbd_ctl_json_keep(vbd_ctl_must(json_pack("{s:s, s:s?}",
						 "verbsctl", VBD_VERSION, "verbsd",
						 vbd_ctl_json_text(answer.json, "version")))));
	else if (exit_status == VBD_CTL_OK)
		printf("verbsd %s\n", vbd_ctl_cell_text(vbd_ctl_json_at(answer.json, "version")));
	return exit_status;
}

static void put_changes(struct vbd_ctl *ctl, json_t *changes)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(changes, next, name, value)
	{
		if (json_is_array(value) && json_array_size(value) == 0)
			(void)json_object_del(changes, name);
	}
	if (json_object_size(changes))
		put_all(ctl, changes);
	else
		puts("no key and no caller has changed");
}

enum vbd_ctl_exit vbd_ctl_config_reload(struct vbd_ctl *ctl)
{
	return vbd_ctl_call_put(ctl, "POST", "/v1/reload", NULL, VBD_CTL_NO_WAIT, put_changes);
}

/* The server ends a wait of its own accord: ask again. */
static enum vbd_ctl_exit wait_until_drained(struct vbd_ctl *ctl, struct vbd_ctl_answer *answer)
{
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	size_t kept = vbd_ctl_kept();

	while (exit_status == VBD_CTL_OK && vbd_ctl_json_is(answer->json, "state", "draining")) {
		vbd_ctl_release(kept);
		exit_status = vbd_ctl_call(
			ctl, "GET", "/v1/drain?wait_ms=60000", NULL, VBD_CTL_NO_WAIT, answer);
	}
	if (exit_status != VBD_CTL_OK || !vbd_ctl_json_is(answer->json, "state", "serving"))
		return exit_status;
	vbd_ctl_note("the drain was taken back");
	return VBD_CTL_FAILED;
}

enum vbd_ctl_exit vbd_ctl_daemon_drain(struct vbd_ctl *ctl)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);
	struct vbd_ctl_answer answer = {0};
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "POST", "/v1/drain", body, VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK && vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_DRAIN_WAIT))
		exit_status = wait_until_drained(ctl, &answer);
	if (exit_status == VBD_CTL_OK)
		vbd_ctl_answer_put(ctl, &answer, put_all);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_daemon_undrain(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer;

	return vbd_ctl_call(ctl, "DELETE", "/v1/drain", NULL, VBD_CTL_NO_WAIT, &answer);
}
