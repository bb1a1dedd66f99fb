/* SPDX-License-Identifier: Apache-2.0 */
/* status: the readiness of verbsd, and who asks; daemon: its drain; config: its configuration. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

static void print_object(struct vbd_ctl *ctl, json_t *object)
{
	(void)ctl;
	vbd_ctl_object_put(object, "");
}

/* An answer of status 503 is printed too: its body lists the checks that fail. */
static json_t *get_health(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = "/readyz?verbose"};
	const struct vbd_ctl_answer answer = vbd_ctl_http_perform(&ctl->http, &request);

	if (!vbd_ctl_json_text(answer.json, "status"))
		vbd_ctl_http_fail(&ctl->http, &answer);
	vbd_ctl_json_set(answer.json, "url", json_string(ctl->http.shown));
	return answer.json;
}

struct status {
	struct vbd_ctl *ctl;
	json_t *json;
};

/* Adds the other parts of the status. Stops with an error at a part that the caller may not see;
 * the parts before it stay. */
static void get_parts(void *arg)
{
	const struct status *status = arg;
	static const struct {
		const char *member, *path;
	} parts[] = {{"server", "/v1"}, {"drain", "/v1/drain"}, {"caller", "/v1/caller"}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(parts); i++) {
		json_t *part =
			vbd_ctl_call(status->ctl, "GET", parts[i].path, NULL, VBD_CTL_NO_WAIT);

		vbd_ctl_json_set(status->json, parts[i].member, json_incref(part));
	}
}

/* The index lists all paths, which say nothing of the state. */
static void put_status(struct vbd_ctl *ctl, json_t *status)
{
	json_t *server = json_object_get(status, "server");

	(void)json_object_del(server, "links");
	(void)json_object_del(server, "routes");
	print_object(ctl, status);
}

void vbd_ctl_status(struct vbd_ctl *ctl)
{
	struct status status = {.ctl = ctl, .json = get_health(ctl)};
	enum vbd_ctl_exit exit_status = vbd_ctl_try(get_parts, &status);

	vbd_ctl_answer_put(ctl, status.json, put_status);
	if (exit_status == VBD_CTL_OK && vbd_ctl_json_is(status.json, "status", "failing")) {
		exit_status = VBD_CTL_FAILED;
		if (!ctl->json)
			vbd_ctl_note("verbsd at %s is not ready", ctl->http.shown);
	}
	vbd_ctl_end(exit_status);
}

static void get_index(void *arg)
{
	struct status *status = arg;

	status->json = vbd_ctl_call(status->ctl, "GET", "/v1", NULL, VBD_CTL_NO_WAIT);
}

void vbd_ctl_version(struct vbd_ctl *ctl)
{
	struct status index = {.ctl = ctl};
	enum vbd_ctl_exit exit_status;

	if (!ctl->json)
		puts("verbsctl " VBD_VERSION);
	exit_status = vbd_ctl_try(get_index, &index);
	if (ctl->json)
		vbd_ctl_json_put(stdout,
			vbd_ctl_json_keep(vbd_ctl_must(json_pack("{s:s, s:s?}", "verbsctl",
				VBD_VERSION, "verbsd", vbd_ctl_json_text(index.json, "version")))));
	else if (exit_status == VBD_CTL_OK)
		printf("verbsd %s\n", vbd_ctl_cell_text(vbd_ctl_json_at(index.json, "version")));
	vbd_ctl_end(exit_status);
}

void vbd_ctl_put_changes(struct vbd_ctl *ctl, json_t *changes)
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
		print_object(ctl, changes);
	else
		puts("no key and no caller has changed");
}

/* The server ends a wait of its own accord: ask again. */
static json_t *wait_until_drained(struct vbd_ctl *ctl, json_t *drain)
{
	size_t kept = vbd_ctl_kept();

	while (vbd_ctl_json_is(drain, "state", "draining")) {
		vbd_ctl_release(kept);
		drain = vbd_ctl_call(ctl, "GET", "/v1/drain?wait_ms=60000", NULL, VBD_CTL_NO_WAIT);
	}
	if (vbd_ctl_json_is(drain, "state", "serving"))
		vbd_ctl_fail("the drain was taken back");
	return drain;
}

void vbd_ctl_daemon_drain(struct vbd_ctl *ctl)
{
	json_t *drain = vbd_ctl_call(
		ctl, "POST", "/v1/drain", vbd_ctl_args_body(&ctl->args), VBD_CTL_NO_WAIT);

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_DRAIN_WAIT))
		drain = wait_until_drained(ctl, drain);
	vbd_ctl_answer_put(ctl, drain, print_object);
}
