/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/problem.h"

#include "base/attr.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

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

/* A fault of the request, by the option or operand that sets the member: "--size: must be 1 at
 * least", "--buffer is missing". The caller frees the text; NULL if @fault does not say where it
 * is. */
static char *fault_text(const struct vbd_ctl_args *args, const json_t *fault)
{
	const char *pointer = vbd_ctl_json_text(fault, "pointer");
	const char *name = pointer ? pointer : vbd_ctl_json_text(fault, "parameter");
	const char *detail = vbd_ctl_json_text(fault, "detail");
	char *setter, *text;

	if (!name || !detail)
		return name ? vbd_ctl_format("%s", name) : NULL;
	setter = vbd_ctl_args_setter(args, name);
	if (strncmp(detail, name, strlen(name)) == 0)
		text = vbd_ctl_format("%s%s", setter ? setter : name, detail + strlen(name));
	else
		text = vbd_ctl_format("%s: %s", setter ? setter : name, detail);
	free(setter);
	return text;
}

/* Prints the object, or else the command, and what happened. */
static void put_head(const struct vbd_ctl_args *args, const json_t *problem)
{
	const char *path = vbd_ctl_json_text(problem, "instance");
	const char *code = vbd_ctl_json_text(problem, "code");
	const char *title = vbd_ctl_json_text(problem, "title");
	const char *detail = vbd_ctl_json_text(problem, "detail");
	char *fault = fault_text(args, json_array_get(vbd_ctl_json_at(problem, "errors"), 0));
	char *where = path ? vbd_ctl_problem_object(path) : vbd_ctl_format("%s", args->called);
	const char *what = fault ? fault : detail ? detail : title;

	vbd_ctl_note("%s%s%s%s%s", where, *where ? ": " : "", code ? code : "refused",
		what ? ": " : "", what ? what : "");
	free(where);
	free(fault);
}

json_t *vbd_ctl_problem_of(const char *collection, const json_t *object)
{
	/* A later row sets a member that no earlier row has set. */
	static const struct {
		const char *name, *path;
	} rows[] = {{"code", "end_code"}, {"code", "error.code"}, {"code", "state"},
		{"detail", "error.detail"}, {"hint", "error.hint"}, {"explain", "error.explain"}};
	json_t *first = vbd_ctl_json_at(object, "error.first");
	json_t *problem = vbd_ctl_must(json_object());
	char *path = vbd_ctl_format(
		"%s/%llu", collection, (unsigned long long)vbd_ctl_json_uint(object, "id"));

	vbd_ctl_json_set(problem, "instance", vbd_ctl_must(json_string(path)));
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		json_t *value = vbd_ctl_json_at(object, rows[i].path);

		if (value && !json_object_get(problem, rows[i].name))
			vbd_ctl_json_set(problem, rows[i].name, json_incref(value));
	}
	if (json_is_object(first) && json_object_update_missing(problem, first) < 0)
		vbd_ctl_must(NULL);
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
static void put_faults(const struct vbd_ctl_args *args, const json_t *problem)
{
	const json_t *errors = vbd_ctl_json_at(problem, "errors");
	size_t shown = json_array_size(errors);
	uint64_t total = vbd_ctl_json_uint(problem, "errors_total");

	for (size_t i = 1; i < shown; i++) {
		char *text = fault_text(args, json_array_get(errors, i));

		if (text)
			vbd_ctl_label_put("also", text);
		free(text);
	}
	if (total > shown && shown) {
		char *line =
			vbd_ctl_format("%llu more faults", (unsigned long long)(total - shown));

		vbd_ctl_label_put("also", line);
		free(line);
	}
}

/* Prints the cause, what to do about that rather than about the error, and the command that tells
 * more. */
static void put_cause(const json_t *problem)
{
	const char *cause = vbd_ctl_json_text(problem, "cause.detail");
	const char *hint = vbd_ctl_json_text(problem, cause ? "cause.hint" : "hint");
	const char *explain = vbd_ctl_json_text(problem, "explain");
	unsigned long long id;

	if (cause)
		vbd_ctl_label_put("cause", cause);
	if (hint && *hint)
		vbd_ctl_label_put("hint", hint);
	if (explain && sscanf(explain, "/v1/connections/%llu/explain", &id) == 1) {
		char *command = vbd_ctl_format("verbsctl explain %llu", id);

		vbd_ctl_label_put("explain", command);
		free(command);
	}
}

void vbd_ctl_problem_put(const struct vbd_ctl_args *args, json_t *problem)
{
	put_head(args, problem);
	vbd_ctl_view_to(stderr);
	put_faults(args, problem);
	vbd_ctl_object_put(problem,
		"type title status code detail instance errors errors_total hint at source cause "
		"explain");
	put_cause(problem);
	vbd_ctl_view_to(NULL);
}
