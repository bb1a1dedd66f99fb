/* SPDX-License-Identifier: Apache-2.0 */
/* verbsctl's wait, with answers and a clock that the test makes. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/common/json.h"

#include <unistd.h>

#define ANSWERS_MAX 8

struct scripted {
	uint64_t after_ms;
	const char *json; /* NULL: the request fails */
};

static struct {
	uint64_t now_ns;
	struct scripted answers[ANSWERS_MAX];
	char asked[1024]; /* the requests, a line each: path, and the seconds of their wait */
	size_t n_asked;
	FILE *printed;
	int stdout_fd, stderr_fd;
} test;

uint64_t __wrap_vbd_clock_mono_ns(void);
json_t *__wrap_vbd_ctl_http_call(struct vbd_ctl_http *http, const struct vbd_ctl_request *request);

uint64_t __wrap_vbd_clock_mono_ns(void)
{
	return test.now_ns;
}

json_t *__wrap_vbd_ctl_http_call(struct vbd_ctl_http *http, const struct vbd_ctl_request *request)
{
	const struct scripted *scripted = &test.answers[test.n_asked++];
	size_t used = strlen(test.asked);

	(void)http;
	assert_true(test.n_asked <= ANSWERS_MAX);
	assert_string_equal(request->method, "GET");
	assert_false(request->prefer_wait);
	(void)snprintf(test.asked + used, sizeof(test.asked) - used, "%s %u\n", request->path,
		request->wait_s);
	test.now_ns += scripted->after_ms * VBD_NS_PER_MS;
	if (!scripted->json)
		vbd_ctl_end(VBD_CTL_NOT_FOUND);
	return vbd_ctl_json_keep(json_loads(scripted->json, 0, NULL));
}

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	test.now_ns = 7 * VBD_NS_PER_S;
	test.printed = tmpfile();
	test.stdout_fd = dup(STDOUT_FILENO);
	test.stderr_fd = dup(STDERR_FILENO);
	return test.printed ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)dup2(test.stdout_fd, STDOUT_FILENO);
	(void)dup2(test.stderr_fd, STDERR_FILENO);
	(void)close(test.stdout_fd);
	(void)close(test.stderr_fd);
	(void)fclose(test.printed);
	return 0;
}

#define CTL_WAIT_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

/* Returns the text on standard output and standard error since the last call. */
static const char *printed(void)
{
	static char text[4096];
	size_t len;

	rewind(test.printed);
	len = fread(text, 1, sizeof(text) - 1, test.printed);
	text[len] = '\0';
	assert_int_equal(ftruncate(fileno(test.printed), 0), 0);
	rewind(test.printed);
	return text;
}

struct how {
	const char *until;   /* NULL: not given */
	uint64_t timeout_ms; /* 0: not given */
	bool json;
	const char *refs[4];
};

static void run_wait(void *arg)
{
	vbd_ctl_object_wait(arg);
}

static enum vbd_ctl_exit wait_for(struct how how)
{
	struct vbd_ctl ctl = {.json = how.json};
	enum vbd_ctl_exit exit_status;

	ctl.args.kind = vbd_ctl_noun_row("connections");
	ctl.args.operands = (char **)how.refs;
	while (how.refs[ctl.args.operand_count])
		ctl.args.operand_count++;
	ctl.args.text[VBD_CTL_OPT_UNTIL] = how.until;
	if (how.timeout_ms)
		ctl.args.text[VBD_CTL_OPT_WAIT_TIMEOUT] = "";
	ctl.args.number[VBD_CTL_OPT_WAIT_TIMEOUT] = how.timeout_ms;
	test.n_asked = 0;
	test.asked[0] = '\0';
	(void)fflush(stdout);
	assert_true(dup2(fileno(test.printed), STDOUT_FILENO) >= 0);
	assert_true(dup2(fileno(test.printed), STDERR_FILENO) >= 0);
	exit_status = vbd_ctl_try(run_wait, &ctl);
	assert_true(dup2(test.stdout_fd, STDOUT_FILENO) >= 0);
	assert_true(dup2(test.stderr_fd, STDERR_FILENO) >= 0);
	return exit_status;
}

#define CONNECTING  "{\"id\":7,\"name\":\"a\",\"state\":\"connecting\"}"
#define ESTABLISHED "{\"id\":7,\"name\":\"a\",\"state\":\"established\"}"
#define CLOSED                                                                        \
	"{\"id\":7,\"name\":\"a\",\"state\":\"closed\",\"end_code\":\"local_close\"," \
	"\"ended_at\":\"2026-03-04T05:06:07Z\"}"

CTL_WAIT_TEST(test_wait__asks_again_until_the_state_has_come)
{
	test.answers[0] = (struct scripted){30000, CONNECTING};
	test.answers[1] = (struct scripted){30001, CONNECTING};
	test.answers[2] = (struct scripted){1, ESTABLISHED};
	assert_int_equal(wait_for((struct how){.refs = {"a"}}), VBD_CTL_OK);
	assert_string_equal(test.asked, "/v1/connections/a?until=established&wait_ms=30000 31\n"
					"/v1/connections/a?until=established&wait_ms=30000 31\n"
					"/v1/connections/a?until=established&wait_ms=30000 31\n");
	assert_string_equal(printed(), "connection/7 (a): established\n");
}

CTL_WAIT_TEST(test_wait__an_answer_before_its_time_says_that_the_state_can_not_come)
{
	/* The clocks of two programs differ by some milliseconds. */
	test.answers[0] = (struct scripted){29980, CONNECTING};
	test.answers[1] = (struct scripted){29979, CONNECTING};
	assert_int_equal(wait_for((struct how){.refs = {"a"}}), VBD_CTL_FAILED);
	assert_int_equal(test.n_asked, 2);
	assert_string_equal(
		printed(), "verbsctl: connection/7 is connecting, and will not be established\n");
}

CTL_WAIT_TEST(test_wait__the_last_request_waits_for_the_rest_of_the_timeout)
{
	test.answers[0] = (struct scripted){30000, CONNECTING};
	test.answers[1] = (struct scripted){9999, CONNECTING};
	test.answers[2] = (struct scripted){1, CONNECTING};
	test.answers[3] = (struct scripted){1, CONNECTING};
	assert_int_equal(
		wait_for((struct how){.timeout_ms = 40000, .refs = {"a"}}), VBD_CTL_TIMED_OUT);
	assert_string_equal(test.asked, "/v1/connections/a?until=established&wait_ms=30000 31\n"
					"/v1/connections/a?until=established&wait_ms=10001 11\n"
					"/v1/connections/a?until=established&wait_ms=2 1\n"
					"/v1/connections/a?until=established&wait_ms=1 1\n");
	assert_string_equal(
		printed(), "verbsctl: connection/7 is connecting, and not yet established\n");
}

CTL_WAIT_TEST(test_wait__a_timeout_counts_for_all_objects_together)
{
	test.answers[0] = (struct scripted){61, CONNECTING};
	test.answers[1] = (struct scripted){0, ESTABLISHED};
	test.answers[2] = (struct scripted){0, CONNECTING};
	assert_int_equal(wait_for((struct how){.timeout_ms = 60, .refs = {"a", "b", "c"}}),
		VBD_CTL_TIMED_OUT);
	assert_string_equal(test.asked, "/v1/connections/a?until=established&wait_ms=61 1\n"
					"/v1/connections/b?until=established&wait_ms=0 1\n"
					"/v1/connections/c?until=established&wait_ms=0 1\n");
	assert_string_equal(printed(),
		"verbsctl: connection/7 is connecting, and not yet established\n"
		"connection/7 (a): established\n"
		"verbsctl: connection/7 is connecting, and not yet established\n");
}

CTL_WAIT_TEST(test_wait__the_first_failure_of_several_is_the_result)
{
	test.answers[0] = (struct scripted){1, ESTABLISHED};
	test.answers[1] = (struct scripted){1, NULL};
	test.answers[2] = (struct scripted){1, CLOSED};
	assert_int_equal(wait_for((struct how){.refs = {"a", "b", "c"}}), VBD_CTL_NOT_FOUND);
	assert_int_equal(test.n_asked, 3);
	assert_string_equal(printed(), "connection/7 (a): established\n"
				       "verbsctl: connection/7 is closed, and will not be "
				       "established\n");
}

CTL_WAIT_TEST(test_wait__each_state_and_each_group_of_states_has_its_verdict)
{
	enum { EARLY = 1, IN_TIME = 61 };
	static const struct {
		const char *until, *json;
		uint64_t after_ms;
		enum vbd_ctl_exit exit_status;
	} cases[] = {
		{"closed", CLOSED, EARLY, VBD_CTL_OK},
		{"closed", CLOSED, IN_TIME, VBD_CTL_OK},
		{"closed", ESTABLISHED, EARLY, VBD_CTL_FAILED},
		{"closed", ESTABLISHED, IN_TIME, VBD_CTL_TIMED_OUT},
		{"ended", CLOSED, EARLY, VBD_CTL_OK},
		{"ended", CLOSED, IN_TIME, VBD_CTL_OK},
		/* A kind of object without ended_at has a state that says so. */
		{"ended", ESTABLISHED, EARLY, VBD_CTL_OK},
		{"ended", ESTABLISHED, IN_TIME, VBD_CTL_TIMED_OUT},
		{"open", CONNECTING, EARLY, VBD_CTL_OK},
		{"open", CONNECTING, IN_TIME, VBD_CTL_OK},
		{"open", CLOSED, EARLY, VBD_CTL_FAILED},
		{"open", CLOSED, IN_TIME, VBD_CTL_TIMED_OUT},
		{"changed", CONNECTING, EARLY, VBD_CTL_OK},
		{"changed", CLOSED, EARLY, VBD_CTL_OK},
		{"changed", CONNECTING, IN_TIME, VBD_CTL_TIMED_OUT},
		{"changed", CLOSED, IN_TIME, VBD_CTL_TIMED_OUT},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		test.answers[0] = (struct scripted){cases[i].after_ms, cases[i].json};
		assert_int_equal(wait_for((struct how){
					 .until = cases[i].until, .timeout_ms = 60, .refs = {"7"}}),
			cases[i].exit_status);
		assert_int_equal(test.n_asked, 1);
	}
}

CTL_WAIT_TEST(test_wait__what_can_not_come_is_told_with_the_error_of_the_object)
{
	test.answers[0] = (struct scripted){1, "{\"id\":7,\"name\":\"a\",\"state\":\"failed\","
					       "\"ended_at\":\"2026-03-04T05:06:07Z\","
					       "\"error\":{\"code\":\"rejected\",\"title\":\"The "
					       "peer rejected\",\"status\":502}}"};
	assert_int_equal(wait_for((struct how){.refs = {"a"}}), VBD_CTL_FAILED);
	assert_string_equal(printed(), "verbsctl: connection/7: rejected\n");
}

CTL_WAIT_TEST(test_wait__prints_the_object_as_it_was_asked_to)
{
	test.answers[0] = (struct scripted){1, CLOSED};
	assert_int_equal(wait_for((struct how){.until = "ended", .refs = {"7"}}), VBD_CTL_OK);
	assert_string_equal(printed(), "connection/7 (a): closed (local_close)\n");
	test.answers[0] = (struct scripted){1, ESTABLISHED};
	assert_int_equal(wait_for((struct how){.json = true, .refs = {"7"}}), VBD_CTL_OK);
	assert_string_equal(printed(), ESTABLISHED "\n");
}

CTL_WAIT_TEST(test_wait__a_state_has_letters_only)
{
	assert_int_equal(wait_for((struct how){.until = "open&x", .refs = {"7"}}), VBD_CTL_USAGE);
	assert_int_equal(test.n_asked, 0);
	assert_non_null(strstr(printed(), "--until must be a state, not \"open&x\""));
}
