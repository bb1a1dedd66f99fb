/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the scenes of api_answers.golden over the fake provider, and compares each answer with the
 * one that stands there. A scene has a title, and a line for each request, which is followed by the
 * answer of the run that was reviewed:
 *
 *	=== a buffer has a name
 *	POST /v1/buffers {"name":"b","size_bytes":64}
 *	 201
 *	 id: 1
 *	...
 *
 * To add a scene, write its title and its requests there. `test_api_answers --write` then writes
 * the answers of all scenes into the file; review the difference. Other lines of a scene:
 *
 *	pair HERE | THERE	a listener "l" and a connection "c" to it, with more members
 *	header LINE		the next request has this header, and does not wait
 *	fail CALL ERRNO		the next CALL of the provider fails: fail ibv_reg_mr EINVAL
 *	only MEMBER...		what is told of the next answer; without members: the status
 *	whole			the next answer is told whole, also if it is a problem
 *	until MEMBER VALUE	the next request is repeated until its answer has this member
 *	LIST PATH		a GET of a list, of which only the ids are told
 *	# COMMENT
 *
 * In a request $NAME.MEMBER is a member of the object of that name, as last answered. Values that
 * differ from run to run are "some" in the file.
 */
#include "tests/unit/rest.h"

#define GOLDEN	   VBD_SOURCE_DIR "/tests/unit/api_answers.golden"
#define SCENES_MAX 200
#define TEXT_BYTES 4096

static struct scene {
	struct unit_test test;
	char title[128];
	char *text;   /* as in the file */
	char *played; /* with the answers of this run; NULL if it was not played */
	struct rest *rest;
	FILE *out;
	json_t *named;
	/* of the next request */
	const char *only, *header;
	char until[64], value[64];
	bool whole;
} scenes[SCENES_MAX];
static size_t scene_count;

/* --- what is the same in each run ------------------------------------------------------------- */

/* Times, addresses and what the threads count as they please. */
static bool is_of_this_run(const char *name, const json_t *value)
{
	static const char *const names[] = {"since_start_ns", "queue_ns", "wire_ns", "elapsed_ns",
		"last_ns", "jitter_ns", "min", "mean", "p50", "p90", "p99", "p999", "max", "p50_ns",
		"p90_ns", "p99_ns", "p999_ns", "now_ns", "uptime_ms", "polls", "empty_polls",
		"events_armed", "events_taken", "bytes_per_s", "messages_per_s", "server_id",
		"memlock", "high_water_cqe", "outstanding_cqe", "version", "psn", "sq_psn",
		"rq_psn", "routes", "links", "client"};
	const char *text = json_string_value(value);

	if (text && strlen(text) == strlen("2026-01-02T03:04:05.000000006Z") && text[10] == 'T')
		return true;
	if (text &&
		(strstr(name, "addr") ? strncmp(text, "0x", 2) == 0 : strcmp(name, "next") == 0))
		return true;
	for (size_t i = 0; i < VBD_ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return !json_is_null(value);
	}
	return false;
}

static void make_comparable(json_t *json)
{
	const char *name;
	json_t *value;
	size_t at;

	json_object_foreach(json, name, value)
	{
		if (is_of_this_run(name, value))
			assert_int_equal(json_object_set_new(json, name, json_string("some")), 0);
		else
			make_comparable(value);
	}
	json_array_foreach(json, at, value) make_comparable(value);
}

/* --- what is told of an answer ---------------------------------------------------------------- */

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word)) {
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* A line for each member. */
static void tell_members(const struct scene *scene, const json_t *answer, const char *without)
{
	json_t *copy = json_deep_copy(answer);
	const char *name;
	json_t *value;

	make_comparable(copy);
	json_object_foreach(copy, name, value)
	{
		char *text;

		if (scene->only ? !has_word(scene->only, name) : has_word(without, name))
			continue;
		text = json_dumps(value, JSON_ENCODE_ANY);
		assert_non_null(text);
		(void)fprintf(scene->out, " %s: %s\n", name, text);
		free(text);
	}
	json_decref(copy);
}

/* A line for each fault, or the detail; then what is special to the problem. */
static void tell_problem(const struct scene *scene, const json_t *problem)
{
	json_t *faults = json_object_get(problem, "errors");
	const json_t *fault;
	size_t i;

	(void)fprintf(scene->out, " %s", rest_text(problem, "code"));
	if (!faults)
		(void)fprintf(scene->out, ": %s", rest_text(problem, "detail"));
	(void)fputc('\n', scene->out);
	json_array_foreach(faults, i, fault)
	{
		const char *pointer = json_string_value(json_object_get(fault, "pointer"));
		const char *parameter = json_string_value(json_object_get(fault, "parameter"));

		(void)fprintf(scene->out, "  %s %s: %s\n",
			pointer	    ? pointer
			: parameter ? parameter
				    : "-",
			rest_text(fault, "code"), rest_text(fault, "detail"));
	}
	tell_members(scene, problem,
		"type title status code detail hint errors errors_total instance now now_ns");
}

static void tell_ids(const struct scene *scene, const json_t *list)
{
	const json_t *item;
	size_t at;

	(void)fputs(" ids:", scene->out);
	json_array_foreach(json_object_get(list, "items"), at, item)(void)
		fprintf(scene->out, " %d", (int)rest_number(item, "id"));
	(void)fputc('\n', scene->out);
}

static bool has_one_of(const char *line, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strstr(line, words[i]))
			return true;
	}
	return false;
}

/* Each sample of the metrics but for those of the host, some with their value; or only their
 * number. */
static void tell_metrics(const struct scene *scene)
{
	static const char *const of_host[] = {
		"#", "process_", "collector", "kernel", "build_info", "_bucket{"};
	static const char *const with_value[] = {"verbsd_connection_", "verbsd_listeners ",
		"verbsd_buffers ", "verbsd_buffers_bytes ", "verbsd_pds ", "verbsd_devices{",
		"verbsd_transfers_ended", "verbsd_connections{", "capacity_cqe", "reserved_cqe"};
	unsigned int count = 0;
	char *line, *rest = NULL;

	line = strtok_r(strstr(scene->rest->reply, "\r\n\r\n"), "\r\n", &rest);
	for (; line; line = strtok_r(NULL, "\r\n", &rest)) {
		size_t len = strlen(line);

		if (has_one_of(line, of_host, VBD_ARRAY_LEN(of_host)))
			continue;
		if (!has_one_of(line, with_value, VBD_ARRAY_LEN(with_value)))
			len = (size_t)(strrchr(line, ' ') - line);
		if (!scene->only)
			(void)fprintf(scene->out, " %.*s\n", (int)len, line);
		count++;
	}
	(void)fprintf(scene->out, " %u samples\n", count);
}

static void tell(const struct scene *scene, int status, const json_t *answer, bool is_list)
{
	const char *body = strstr(scene->rest->reply, "\r\n\r\n") + 4;

	(void)fprintf(scene->out, " %d", status);
	if (status >= 400 && answer && !scene->whole) {
		tell_problem(scene, answer);
		return;
	}
	(void)fputc('\n', scene->out);
	if (answer && is_list)
		tell_ids(scene, answer);
	else if (answer)
		tell_members(scene, answer, "");
	else if (strstr(scene->rest->reply, "# HELP "))
		tell_metrics(scene);
	else if (*body)
		(void)fprintf(scene->out, " body: %s\n", body);
}

/* --- requests -------------------------------------------------------------------------------- */

/* The member of the object, as text: @path is NAME.MEMBER, and more members below. */
static void put_member(const struct scene *scene, char *path, FILE *to)
{
	const json_t *value = scene->named;
	char *rest = NULL, *text;

	for (char *name = strtok_r(path, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
		value = json_object_get(value, name);
		if (!value)
			fail_msg("%s: no object has told $%s", scene->title, name);
	}
	text = json_dumps(value, JSON_ENCODE_ANY);
	if (json_is_string(value))
		(void)fputs(json_string_value(value), to);
	else
		(void)fputs(text, to);
	free(text);
}

/* The text, with the values of the members that it names. */
static void substitute(const struct scene *scene, const char *text, char to[TEXT_BYTES])
{
	FILE *out = fmemopen(to, TEXT_BYTES, "w");
	char path[64];
	size_t len;

	assert_non_null(out);
	to[0] = '\0';
	while (*text) {
		if (*text != '$') {
			(void)fputc(*text++, out);
			continue;
		}
		len = strspn(++text, "abcdefghijklmnopqrstuvwxyz_.");
		(void)snprintf(path, sizeof(path), "%.*s", (int)len, text);
		put_member(scene, path, out);
		text += len;
	}
	(void)fclose(out);
}

static json_t *answer_of(const struct scene *scene)
{
	const char *body = strstr(scene->rest->reply, "\r\n\r\n");

	assert_non_null(body);
	return json_loads(body + 4, JSON_REJECT_DUPLICATES, NULL);
}

static bool is_awaited(const struct scene *scene, const json_t *answer)
{
	char *text = json_dumps(json_object_get(answer, scene->until), JSON_ENCODE_ANY);
	bool same = !scene->until[0] || (text && strcmp(text, scene->value) == 0);

	free(text);
	return same;
}

static void request(struct scene *scene, char *line)
{
	char *rest = NULL, target[TEXT_BYTES], body[TEXT_BYTES];
	const char *method = strtok_r(line, " ", &rest), *path = strtok_r(NULL, " ", &rest);
	bool is_list = strcmp(method, "LIST") == 0;
	json_t *answer = NULL;
	const char *name;
	int status = 0;

	substitute(scene, path, target);
	substitute(scene, rest, body);
	scene->rest->headers = scene->header ? scene->header : REST_WAIT;
	UNIT_UNTIL (status &&is_awaited(scene, answer)) {
		svc_turn(scene->rest->svc);
		json_decref(answer);
		status = rest_perform(
			scene->rest, is_list ? "GET" : method, target, *body ? body : NULL);
		answer = answer_of(scene);
	}
	tell(scene, status, answer, is_list);
	name = json_string_value(json_object_get(answer, "name"));
	if (name)
		(void)json_object_set(scene->named, name, answer);
	json_decref(answer);
	scene->only = scene->header = NULL;
	scene->until[0] = '\0';
	scene->whole = false;
}

/* --- lines ----------------------------------------------------------------------------------- */

static void fail_call(const char *line)
{
	static const struct {
		const char *name;
		int number;
	} errnos[] = {{"EINVAL", EINVAL}, {"EIO", EIO}};
	static char call[64]; /* the fake keeps the pointer until a call has failed */
	char name[16];

	assert_int_equal(sscanf(line, "%63s %15s", call, name), 2);
	for (size_t i = 0; i < VBD_ARRAY_LEN(errnos); i++) {
		if (strcmp(errnos[i].name, name) == 0) {
			fake_fail_next(call, errnos[i].number);
			return;
		}
	}
	fail_msg("no errno %s", name);
}

static void make_pair(struct scene *scene, const char *line)
{
	char here[256], there[256];

	here[0] = there[0] = '\0';
	(void)sscanf(line, "%255[^| ] | %255[^|\n]", here, there);
	if (line[0] == '|')
		(void)sscanf(line, "| %255[^|\n]", there);
	(void)rest_pair(scene->rest, here, there);
}

/* Whether @line begins with the word; @ret_rest is what follows. */
static bool is_word(char *line, const char *word, char **ret_rest)
{
	size_t len = strlen(word);

	if (strncmp(line, word, len) != 0 || (line[len] != ' ' && line[len] != '\0'))
		return false;
	*ret_rest = line + len + (line[len] == ' ');
	return true;
}

static void play_line(struct scene *scene, char *line)
{
	static char only[256], header[256];
	char *rest;

	if (is_word(line, "pair", &rest)) {
		make_pair(scene, rest);
	} else if (is_word(line, "fail", &rest)) {
		fail_call(rest);
	} else if (is_word(line, "whole", &rest)) {
		scene->whole = true;
	} else if (is_word(line, "only", &rest)) {
		(void)snprintf(only, sizeof(only), "%s", rest);
		scene->only = only;
	} else if (is_word(line, "header", &rest)) {
		(void)snprintf(header, sizeof(header), "%s\r\n", rest);
		scene->header = header;
	} else if (is_word(line, "until", &rest)) {
		assert_int_equal(sscanf(rest, "%63s %63s", scene->until, scene->value), 2);
	} else if (line[0] >= 'A' && line[0] <= 'Z') {
		request(scene, line);
	} else if (line[0] != '#' && line[0] != '=') {
		fail_msg("%s: %s: no such word", scene->title, line);
	}
}

/* Fails the test at the first line that differs, and names its request. */
static void compare(const struct scene *scene)
{
	const char *seen = scene->played, *golden = scene->text;
	size_t line = 0, answer = 0;

	for (size_t at = 0; seen[at] && seen[at] == golden[at]; at++) {
		if (seen[at] != '\n')
			continue;
		line = at + 1;
		if (seen[line] != ' ')
			answer = line;
	}
	if (strcmp(seen, golden) != 0)
		fail_msg("in %.*s there is\n%.200s\nand not\n%.200s\nif that is right: "
			 "test_api_answers --write",
			(int)strcspn(seen + answer, "\n"), seen + answer, seen + line,
			golden + line);
}

static bool writes; /* the golden file, instead of comparing with it */

static void play(void **state)
{
	struct scene *scene = *state;
	char *text = strdup(scene->text), *rest = NULL;
	size_t len;

	assert_non_null(text);
	scene->out = open_memstream(&scene->played, &len);
	assert_non_null(scene->out);
	scene->named = json_object();
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] == ' ')
			continue;
		(void)fprintf(scene->out, "%s\n", line);
		play_line(scene, line);
	}
	(void)fclose(scene->out);
	json_decref(scene->named);
	free(text);
	if (!writes)
		compare(scene);
}

/* --- the file -------------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct scene *scene = *state;

	return rest_setup((void **)&scene->rest);
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	return rest_teardown((void **)&scene->rest);
}

/* A test for each scene. */
static void read_scenes(char *text)
{
	for (char *next, *at = text; at && *at; at = next) {
		struct scene *scene = &scenes[scene_count++];

		assert_true(scene_count < SCENES_MAX);
		next = strstr(at, "\n=== ");
		if (next)
			*next++ = '\0';
		assert_int_equal(sscanf(at, "=== %127[^\n]", scene->title), 1);
		assert_true(asprintf(&scene->text, "%s%s", at, next ? "\n" : "") > 0);
		scene->test = (struct unit_test){
			{scene->title, play, setup, teardown, scene}, (int)scene_count, NULL};
		unit_register(&scene->test);
	}
}

static void write_scenes(void)
{
	FILE *file = fopen(GOLDEN, "we");

	assert_non_null(file);
	for (size_t i = 0; i < scene_count; i++)
		(void)fputs(scenes[i].played ? scenes[i].played : scenes[i].text, file);
	assert_int_equal(fclose(file), 0);
}

int main(int argc, char **argv)
{
	FILE *file = fopen(GOLDEN, "re");
	char *text = NULL;
	size_t room = 0;
	int rc;

	writes = argc > 1 && strcmp(argv[1], "--write") == 0;
	if (!file || getdelim(&text, &room, '\0', file) <= 0)
		return 1;
	(void)fclose(file);
	read_scenes(text);
	rc = unit_run(argc - writes, argv + writes, NULL, NULL);
	if (writes)
		write_scenes();
	for (size_t i = 0; i < scene_count; i++) {
		free(scenes[i].text);
		free(scenes[i].played);
	}
	free(text);
	return rc;
}
