/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/call.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/problem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_URL "http://127.0.0.1:7480"

/* Half of the largest page of the server: pages that are quick to make, in few round trips. */
#define PAGE_ITEMS 500

enum vbd_ctl_exit vbd_ctl_open(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_token_source token = {
		.file = ctl->args.text[VBD_CTL_OPT_TOKEN_FILE],
		.variable = "VERBSD_TOKEN",
		.file_variable = "VERBSD_TOKEN_FILE",
	};
	const char *url = ctl->args.text[VBD_CTL_OPT_SERVER];
	enum vbd_ctl_exit exit_status;

	if (!url)
		url = getenv("VERBSD_URL");
	if (!url || !*url)
		url = DEFAULT_URL;
	exit_status = vbd_ctl_http_init(&ctl->http, url, &token);
	ctl->http.json = ctl->json;
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_call(struct vbd_ctl *ctl, const char *method, const char *path,
	json_t *body, int wait_s, struct vbd_ctl_answer *ret_answer)
{
	const struct vbd_ctl_request request = {
		.method = method,
		.path = path,
		.body = body,
		.prefer_wait = wait_s >= 0,
		.wait_s = wait_s >= 0 ? (unsigned int)wait_s : 0,
	};
	enum vbd_ctl_exit exit_status = vbd_ctl_http_call(&ctl->http, &request, ret_answer);

	json_decref(body);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_get(struct vbd_ctl *ctl, const char *collection, const char *ref,
	struct vbd_ctl_answer *ret_answer)
{
	char *path = vbd_ctl_path(collection, ref, "");
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "GET", path, NULL, VBD_CTL_NO_WAIT, ret_answer);

	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, ret_answer->json);
	free(path);
	return exit_status;
}

static char *page_path(
	struct vbd_ctl *ctl, const char *collection, uint64_t limit, const json_t *after)
{
	char *path = NULL;
	size_t path_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&path, &path_len));

	fprintf(out, "%s%climit=%llu", collection, strchr(collection, '?') ? '&' : '?',
		(unsigned long long)limit);
	if (after)
		fprintf(out, "&after=%" JSON_INTEGER_FORMAT, json_integer_value(after));
	vbd_ctl_args_put_query(&ctl->args, out, '&');
	(void)fclose(out);
	return vbd_ctl_must(path);
}

enum vbd_ctl_exit vbd_ctl_get_at(struct vbd_ctl *ctl, const char *option, const char *where,
	const char *collection, struct vbd_ctl_answer *ret_answer)
{
	const struct vbd_ctl_token_source token = {
		.file = ctl->args.text[VBD_CTL_OPT_PEER_TOKEN_FILE],
		.variable = "VERBSD_PEER_TOKEN",
		.file_variable = "VERBSD_PEER_TOKEN_FILE",
	};
	const char *hash = strrchr(where, '#');
	struct vbd_ctl_request request = {.method = "GET"};
	struct vbd_ctl_http peer = {0};
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	char *path;
	char *url;

	if (!hash || !hash[1])
		return vbd_ctl_usage("%s: %s must be URL#NAME, not \"%s\"", ctl->args.command->name,
			option, where);
	path = vbd_ctl_path(collection, hash + 1, "");
	request.path = path;
	url = vbd_ctl_must(strndup(where, (size_t)(hash - where)));
	if (*url)
		exit_status = vbd_ctl_http_init(&peer, url, &token);
	peer.json = ctl->json;
	if (exit_status == VBD_CTL_OK)
		exit_status = vbd_ctl_http_call(*url ? &peer : &ctl->http, &request, ret_answer);
	vbd_ctl_http_fini(&peer);
	free(url);
	free(path);
	return exit_status;
}

/* Appends @page to @list. Returns whether to fetch the next page. */
static bool take_page(json_t *list, json_t *page, uint64_t wanted)
{
	json_t *items = json_object_get(list, "items");
	json_t *more = json_object_get(page, "items");
	json_t *next = json_object_get(page, "next");
	bool goes_on = vbd_ctl_json_has_uint(page, "next") && json_array_size(more) > 0 &&
		       !json_equal(next, json_object_get(list, "next"));

	if (json_array_size(more) && json_array_extend(items, more) < 0)
		vbd_ctl_must(NULL);
	if (json_is_null(json_object_get(list, "total")) && json_object_get(page, "total"))
		vbd_ctl_json_set(list, "total", json_incref(json_object_get(page, "total")));
	vbd_ctl_json_set(list, "next", goes_on ? json_incref(next) : json_null());
	return goes_on && json_array_size(items) < wanted;
}

enum vbd_ctl_exit vbd_ctl_fetch_list(struct vbd_ctl *ctl, const char *collection, json_t **ret_list)
{
	uint64_t wanted = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_LIMIT)
				  ? ctl->args.number[VBD_CTL_OPT_LIMIT]
				  : UINT64_MAX;
	json_t *list = vbd_ctl_must(json_object());
	enum vbd_ctl_exit exit_status;
	bool goes_on;

	vbd_ctl_json_set(list, "total", json_null());
	vbd_ctl_json_set(list, "next", json_null());
	vbd_ctl_json_set(list, "items", vbd_ctl_must(json_array()));
	do {
		size_t have = json_array_size(json_object_get(list, "items"));
		uint64_t limit = wanted - have < PAGE_ITEMS ? wanted - have : PAGE_ITEMS;
		json_t *next = json_object_get(list, "next");
		char *path = page_path(ctl, collection, limit, json_is_integer(next) ? next : NULL);
		struct vbd_ctl_answer answer;

		exit_status = vbd_ctl_call(ctl, "GET", path, NULL, VBD_CTL_NO_WAIT, &answer);
		goes_on = exit_status == VBD_CTL_OK && take_page(list, answer.json, wanted);
		vbd_ctl_answer_fini(&answer);
		free(path);
	} while (goes_on);
	if (exit_status == VBD_CTL_OK)
		*ret_list = json_incref(list);
	json_decref(list);
	return exit_status;
}

void vbd_ctl_tell_empty(const char *collection)
{
	const char *kind = strrchr(collection, '/') + 1;

	if (isatty(STDOUT_FILENO))
		fprintf(stderr, "no %.*s\n", (int)strcspn(kind, "?"), kind);
}

enum vbd_ctl_exit vbd_ctl_list(struct vbd_ctl *ctl, const char *collection,
	const struct vbd_ctl_column *columns, size_t column_count)
{
	enum vbd_ctl_exit exit_status;
	json_t *list;

	exit_status = vbd_ctl_fetch_list(ctl, collection, &list);
	if (exit_status != VBD_CTL_OK)
		return exit_status;
	if (ctl->json)
		vbd_ctl_json_put(stdout, list);
	else if (json_array_size(json_object_get(list, "items")) == 0)
		vbd_ctl_tell_empty(collection);
	else
		vbd_ctl_table_put(
			columns, column_count, json_object_get(list, "items"), ctl->color);
	json_decref(list);
	return VBD_CTL_OK;
}

enum vbd_ctl_exit vbd_ctl_each(
	struct vbd_ctl *ctl, enum vbd_ctl_exit (*one)(struct vbd_ctl *ctl, const char *ref))
{
	enum vbd_ctl_exit first = VBD_CTL_OK;

	for (size_t i = 0; i < ctl->args.operand_count; i++) {
		enum vbd_ctl_exit exit_status = one(ctl, ctl->args.operands[i]);

		if (first == VBD_CTL_OK)
			first = exit_status;
	}
	return first;
}

enum vbd_ctl_exit vbd_ctl_delete(
	struct vbd_ctl *ctl, const char *collection, const char *kind, const char *ref, int wait_s)
{
	char *path = vbd_ctl_path(collection, ref, "");
	char *safe = vbd_ctl_text_safe(ref, strlen(ref));
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_call(ctl, "DELETE", path, NULL, wait_s, &answer);

	if (exit_status == VBD_CTL_OK && ctl->json) {
		if (answer.json)
			vbd_ctl_json_put(stdout, answer.json);
	} else if (exit_status == VBD_CTL_OK && answer.status == 202) {
		char *state = vbd_ctl_cell_text(vbd_ctl_json_at(answer.json, "state"));

		printf("%s/%s: %s\n", kind, safe, state);
		free(state);
	} else if (exit_status == VBD_CTL_OK) {
		printf("%s/%s: gone\n", kind, safe);
	}
	vbd_ctl_answer_fini(&answer);
	free(safe);
	free(path);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_report_problem(struct vbd_ctl *ctl, json_t *problem)
{
	if (ctl->json)
		vbd_ctl_json_put(stderr, problem);
	else
		vbd_ctl_problem_put(problem);
	json_decref(problem);
	return VBD_CTL_FAILED;
}

void vbd_ctl_pause_ms(unsigned int ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	(void)nanosleep(&pause, NULL);
}

bool vbd_ctl_split_host(
	const char *text, bool port_needed, char **ret_host, bool *ret_has_port, uint64_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	const char *host = text;
	size_t len;

	if (*text == '[') {
		const char *end = strchr(text, ']');

		if (!end || (end[1] && end[1] != ':'))
			return false;
		host = text + 1;
		len = (size_t)(end - host);
		colon = end[1] ? end + 1 : NULL;
	} else if (colon && strchr(text, ':') != colon) {
		/* In an IPv6 address without brackets the start of a port can't be told. */
		len = strlen(text);
		colon = NULL;
	} else {
		len = colon ? (size_t)(colon - text) : strlen(text);
	}
	if (len == 0 || (port_needed && !colon))
		return false;
	if (colon && !vbd_ctl_parse_uint(colon + 1, ret_port))
		return false;
	*ret_has_port = colon;
	*ret_host = vbd_ctl_must(strndup(host, len));
	return true;
}
