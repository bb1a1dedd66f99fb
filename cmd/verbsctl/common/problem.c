/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/problem.h"

#include "base/attr.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"

#include <ctype.h>
#include <strings.h>

/* Room for a sentence, not for a page of HTML. */
#define PAGE_TEXT_BYTES 200

char *vbd_ctl_problem_object(const char *path)
{
	static const char prefix[] = "/v1/";
	static const char es[] = "ches"; /* of "batches", whose singular ends with "ch" */
	const char *kind;
	const char *id;
	int singular_len;

	if (strncmp(path, prefix, strlen(prefix)) != 0)
		return vbd_ctl_must(strdup(path));
	kind = path + strlen(prefix);
	id = strchr(kind, '/');
	if (!id || id == kind || id[-1] != 's')
		return vbd_ctl_must(strdup(path));
	singular_len = (int)(id - kind) - 1;
	if (id - kind > (int)strlen(es) && strncmp(id - strlen(es), es, strlen(es)) == 0)
		singular_len--;
	return vbd_ctl_format("%.*s%s", singular_len, kind, id);
}

/* Prints one indented line, safe for a terminal. */
static void put_line(const char *label, const char *text)
{
	char *safe = vbd_ctl_text_safe(text, strlen(text));

	fprintf(stderr, "  %s: %s\n", label, safe);
	free(safe);
}

static void put_text(const json_t *problem, const char *member, const char *label)
{
	const char *text = vbd_ctl_json_text(problem, member);

	if (text && *text)
		put_line(label, text);
}

/* Prints a name and its number: "RDMA_CM_EVENT_REJECTED, status 8". */
static void put_pair(const json_t *problem, const char *member, const char *number,
	const char *label, const char *number_label)
{
	const char *text = vbd_ctl_json_text(problem, member);
	const json_t *value = vbd_ctl_json_at(problem, number);
	char *line;

	if (!text)
		return;
	if (json_is_integer(value))
		line = vbd_ctl_format(
			"%s, %s %lld", text, number_label, (long long)json_integer_value(value));
	else
		line = vbd_ctl_format("%s", text);
	put_line(label, line);
	free(line);
}

static void put_path(const json_t *problem, const char *member, const char *label)
{
	const char *path = vbd_ctl_json_text(problem, member);
	char *object;

	if (!path)
		return;
	object = vbd_ctl_problem_object(path);
	put_line(label, object);
	free(object);
}

static void put_paths(const json_t *problem, const char *member, const char *label)
{
	const json_t *list = vbd_ctl_json_at(problem, member);
	char *line = NULL;
	size_t line_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&line, &line_len));

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		char *object = vbd_ctl_problem_object(text ? text : "?");

		fprintf(out, "%s%s", i ? ", " : "", object);
		free(object);
	}
	(void)fclose(out);
	vbd_ctl_must(line);
	if (*line)
		put_line(label, line);
	free(line);
}

/* Prints an indented line in the words of the command line. */
static void put_said(const char *label, const char *text)
{
	char *said = vbd_ctl_speak(text);

	put_line(label, said);
	free(said);
}

/* A fault of the request in the words of the command line: "--size: must be 1 at least". The caller
 * frees the text; NULL if @fault does not say where it is. */
static char *fault_text(const json_t *fault)
{
	const char *pointer = vbd_ctl_json_text(fault, "pointer");
	const char *name = pointer ? pointer : vbd_ctl_json_text(fault, "parameter");
	const char *detail = vbd_ctl_json_text(fault, "detail");
	char *option, *said, *text;

	if (!name)
		return NULL;
	option = vbd_ctl_speak_member(name);
	said = vbd_ctl_speak(detail ? detail : "");
	if (option && strncmp(said, option, strlen(option)) != 0)
		text = vbd_ctl_format("%s: %s", option, said);
	else if (option || strstr(said, name))
		text = vbd_ctl_format("%s", said);
	else
		text = vbd_ctl_format("%s: %s", name, said);
	free(said);
	free(option);
	return text;
}

/* Prints the object, or else the command, and what happened. */
static void put_head(const json_t *problem)
{
	const char *path = vbd_ctl_json_text(problem, "instance");
	const char *code = vbd_ctl_json_text(problem, "code");
	const char *title = vbd_ctl_json_text(problem, "title");
	const char *detail = vbd_ctl_json_text(problem, "detail");
	char *fault = fault_text(json_array_get(vbd_ctl_json_at(problem, "errors"), 0));
	char *object = path ? vbd_ctl_problem_object(path) : NULL;
	char *said = fault ? fault : detail ? vbd_ctl_speak(detail) : NULL;

	if (!object && *vbd_ctl_speak_called())
		object = vbd_ctl_format("%s", vbd_ctl_speak_called());
	/* A title about members says nothing that the option does not say. Also avoids "The peer
	 * rejected the connection: the peer rejected the connection". */
	if (fault)
		title = NULL;
	else if (title && detail && strncasecmp(title, detail, strlen(detail)) == 0)
		detail = NULL;
	vbd_ctl_note("%s%s%s%s%s%s%s", object ? object : "", object ? ": " : "",
		code ? code : "refused", title ? ": " : "", title ? title : "",
		said && detail ? ": " : "", said && detail ? said : "");
	free(said);
	free(object);
}

/* Prints "limit: 4096 (limits.buffers)". */
static void put_limit(const json_t *problem)
{
	const char *name = vbd_ctl_json_text(problem, "limit_name");
	char *line;

	if (!vbd_ctl_json_has_uint(problem, "limit"))
		return;
	line = vbd_ctl_format("%llu%s%s%s", (unsigned long long)vbd_ctl_json_uint(problem, "limit"),
		name ? " (" : "", name ? name : "", name ? ")" : "");
	put_line("limit", line);
	free(line);
}

json_t *vbd_ctl_problem_of(const char *collection, const json_t *object)
{
	/* A later row sets a member that no earlier row has set. */
	static const struct {
		const char *name, *path;
	} rows[] = {{"code", "end_code"}, {"code", "error.code"}, {"code", "state"},
		{"detail", "error.detail"}, {"hint", "error.hint"}, {"call", "error.first.call"},
		{"errno", "error.first.errno"}, {"cm_event", "error.first.cm_event"},
		{"cm_status", "error.first.cm_status"},
		{"reject_reason", "error.first.reject_reason"},
		{"wc_status", "error.first.wc_status"}, {"vendor_err", "error.first.vendor_err"}};
	json_t *problem = vbd_ctl_must(json_object());
	char *path = vbd_ctl_format(
		"%s/%llu", collection, (unsigned long long)vbd_ctl_json_uint(object, "id"));

	vbd_ctl_json_set(problem, "instance", vbd_ctl_must(json_string(path)));
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		json_t *value = vbd_ctl_json_at(object, rows[i].path);

		if (value && !json_object_get(problem, rows[i].name))
			vbd_ctl_json_set(problem, rows[i].name, json_incref(value));
	}
	free(path);
	return problem;
}

enum vbd_ctl_exit vbd_ctl_problem_exit(const json_t *problem)
{
	if (vbd_ctl_json_is(problem, "code", "not_found"))
		return VBD_CTL_NOT_FOUND;
	if (vbd_ctl_json_is(problem, "code", "timed_out"))
		return VBD_CTL_TIMED_OUT;
	return VBD_CTL_FAILED;
}

/* Prints the faults of the request behind the first, which stands in the first line. */
static void put_faults(const json_t *problem)
{
	const json_t *errors = vbd_ctl_json_at(problem, "errors");
	size_t shown = json_array_size(errors);
	unsigned long long total = vbd_ctl_json_uint(problem, "errors_total");

	for (size_t i = 1; i < shown; i++) {
		char *text = fault_text(json_array_get(errors, i));

		if (text)
			put_line("also", text);
		free(text);
	}
	if (total > shown && shown) {
		char *line = vbd_ctl_format("%llu more faults", total - shown);

		put_line("also", line);
		free(line);
	}
}

void vbd_ctl_problem_put(const json_t *problem)
{
	const char *hint = vbd_ctl_json_text(problem, "hint");

	put_head(problem);
	put_faults(problem);
	put_text(problem, "call", "call");
	put_text(problem, "errno", "errno");
	put_pair(problem, "cm_event", "cm_status", "cm event", "status");
	put_text(problem, "reject_reason", "reject reason");
	put_pair(problem, "wc_status", "vendor_err", "wc status", "vendor error");
	put_limit(problem);
	put_path(problem, "holder", "held by");
	put_paths(problem, "users", "used by");
	put_paths(problem, "allow", "allowed");
	if (vbd_ctl_json_is(problem, "code", "unauthorized"))
		hint = "give the token by --token-file, VERBSD_TOKEN or VERBSD_TOKEN_FILE";
	if (hint && *hint)
		put_said("hint", hint);
}

void vbd_ctl_problem_put_page(const char *server, long status, const char *body)
{
	char text[PAGE_TEXT_BYTES];
	size_t len = 0;
	bool tag = false;

	for (; *body && len + 1 < sizeof(text); body++) {
		bool space = isspace((unsigned char)*body) || *body == '>';

		if (*body == '<')
			tag = true;
		if (!tag && !space)
			text[len++] = *body;
		else if (len && text[len - 1] != ' ')
			text[len++] = ' ';
		if (*body == '>')
			tag = false;
	}
	while (len && text[len - 1] == ' ')
		len--;
	text[len] = '\0';
	vbd_ctl_note("%s answered HTTP %ld%s%s", server, status, len ? ": " : "", text);
	put_line("hint", "verbsd's HTTP library refused the request, or the server is not verbsd");
}
