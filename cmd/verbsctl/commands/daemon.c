/* SPDX-License-Identifier: Apache-2.0 */
/* status: the readiness of verbsd, and who asks; daemon: its drain; config: its configuration. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

static const struct vbd_ctl_column check_columns[] = {VBD_CTL_TEXT("CHECK", "name"),
	VBD_CTL_STATE("STATUS", "status"), VBD_CTL_TEXT("DETAIL", "detail")};

static void put_drain(const struct vbd_ctl *ctl, json_t *drain)
{
	const char *deadline = vbd_ctl_json_text(drain, "deadline_at");

	(void)ctl;
	printf("%s; transfers under way: %llu, open connections: %llu",
		vbd_ctl_json_text(drain, "state"),
		(unsigned long long)vbd_ctl_json_uint(drain, "transfer_count"),
		(unsigned long long)vbd_ctl_json_uint(drain, "connection_count"));
	if (deadline && vbd_ctl_json_is(drain, "state", "draining"))
		printf("; transfers are cancelled at %s", deadline);
	(void)putchar('\n');
}

static void put_index(const struct vbd_ctl *ctl, json_t *index)
{
	char *version = vbd_ctl_cell_text(vbd_ctl_json_at(index, "version"));

	(void)ctl;
	printf("verbsd %s, up %.1f s\n", version,
		(double)vbd_ctl_json_uint(index, "uptime_ms") / 1e3);
	free(version);
}

static void put_caller(const struct vbd_ctl *ctl, json_t *caller)
{
	(void)ctl;
	vbd_ctl_heading_put("you are");
	vbd_ctl_object_put(caller, "");
}

static void put_checks(const struct vbd_ctl *ctl, json_t *checks)
{
	vbd_ctl_table_put(check_columns, VBD_ARRAY_LEN(check_columns), checks, ctl->color);
}

/* In the order in which they are printed. The checks are there already. */
static const struct {
	const char *member, *path;
	vbd_ctl_put_fn put;
} parts[] = {
	{"server", "/v1", put_index},
	{"drain", "/v1/drain", put_drain},
	{"checks", NULL, put_checks},
	{"caller", "/v1/caller", put_caller},
};

/* An answer of status 503 is printed too: its body lists the checks that fail. */
static enum vbd_ctl_exit get_health(struct vbd_ctl *ctl, struct vbd_ctl_answer *ret_answer)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = "/readyz?verbose"};
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	enum vbd_ctl_outcome outcome;
	char *why;

	outcome = vbd_ctl_http_perform(&ctl->http, &request, ret_answer, &why);
	if (outcome == VBD_CTL_ANSWERED)
		ret_answer->json = vbd_ctl_json_load(ret_answer->body, ret_answer->body_len, NULL);
	if (!vbd_ctl_json_text(ret_answer->json, "status"))
		exit_status = vbd_ctl_http_report(&ctl->http, outcome, ret_answer, why);
	free(why);
	return exit_status;
}

/* A part that the caller may not have is told, and those before it are printed. */
static enum vbd_ctl_exit get_parts(struct vbd_ctl *ctl, json_t *status)
{
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;

	for (size_t i = 0; i < VBD_ARRAY_LEN(parts) && exit_status == VBD_CTL_OK; i++) {
		struct vbd_ctl_answer answer;

		if (!parts[i].path)
			continue;
		exit_status =
			vbd_ctl_call(ctl, "GET", parts[i].path, NULL, VBD_CTL_NO_WAIT, &answer);
		if (exit_status == VBD_CTL_OK)
			vbd_ctl_json_set(status, parts[i].member, json_incref(answer.json));
		vbd_ctl_answer_fini(&answer);
	}
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_status(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer health;
	enum vbd_ctl_exit exit_status = get_health(ctl, &health);

	if (exit_status == VBD_CTL_OK)
		exit_status = get_parts(ctl, health.json);
	if (ctl->json && health.json)
		vbd_ctl_json_put(stdout, health.json);
	for (size_t i = 0; i < VBD_ARRAY_LEN(parts) && !ctl->json; i++) {
		json_t *part = json_object_get(health.json, parts[i].member);

		if (part)
			parts[i].put(ctl, part);
	}
	if (exit_status == VBD_CTL_OK && vbd_ctl_json_is(health.json, "status", "failing")) {
		exit_status = VBD_CTL_FAILED;
		if (!ctl->json)
			vbd_ctl_note("verbsd at %s is not ready", ctl->http.shown);
	}
	vbd_ctl_answer_fini(&health);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_version(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;
	char *version;
	json_t *both;

	if (!ctl->json)
		puts("verbsctl " VBD_VERSION);
	exit_status = vbd_ctl_call(ctl, "GET", "/v1", NULL, VBD_CTL_NO_WAIT, &answer);
	both = vbd_ctl_must(json_pack("{s:s, s:s?}", "verbsctl", VBD_VERSION, "verbsd",
		vbd_ctl_json_text(answer.json, "version")));
	version = vbd_ctl_cell_text(vbd_ctl_json_at(answer.json, "version"));
	if (ctl->json)
		vbd_ctl_json_put(stdout, both);
	else if (exit_status == VBD_CTL_OK)
		printf("verbsd %s\n", version);
	free(version);
	json_decref(both);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

static void put_keys(const char *what, const json_t *keys)
{
	const json_t *key;
	size_t i;

	json_array_foreach((json_t *)keys, i, key) printf("%s %s\n", what, json_string_value(key));
}

enum vbd_ctl_exit vbd_ctl_config_reload(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer = {0};
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "POST", "/v1/reload", NULL, VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK && ctl->json) {
		vbd_ctl_json_put(stdout, answer.json);
	} else if (exit_status == VBD_CTL_OK) {
		(void)puts("the configuration was read again");
		put_keys("in force:", vbd_ctl_json_at(answer.json, "reloaded"));
		put_keys("needs a restart:", vbd_ctl_json_at(answer.json, "restart_needed"));
	}
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

/* The server ends a wait of its own accord: ask again. */
static enum vbd_ctl_exit wait_until_drained(struct vbd_ctl *ctl, struct vbd_ctl_answer *answer)
{
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;

	while (exit_status == VBD_CTL_OK && vbd_ctl_json_is(answer->json, "state", "draining")) {
		vbd_ctl_answer_fini(answer);
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
		vbd_ctl_answer_put(ctl, &answer, put_drain);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_daemon_undrain(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer = {0};
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "DELETE", "/v1/drain", NULL, VBD_CTL_NO_WAIT, &answer);

	vbd_ctl_answer_fini(&answer);
	return exit_status;
}
