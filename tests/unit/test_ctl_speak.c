/* SPDX-License-Identifier: Apache-2.0 */
/* The server's texts in the words of the command line. */
#include "tests/unit/unit.h"

#include "cmd/verbsctl/common/problem.h"

static const struct vbd_ctl_command commands[] = {
	{.noun = "benchmarks",
		.verb = "run",
		.usage = "CONNECTION",
		.members = "connection",
		.options = {VBD_CTL_OPT_BUFFER, VBD_CTL_OPT_TIMEOUT, VBD_CTL_OPT_REMOTE,
			VBD_CTL_OPT_REMOTE_RKEY},
		.option_count = 4},
	{.noun = "connections",
		.verb = "create",
		.usage = "HOST:PORT",
		.members = "dst_addr,dst_port",
		.options = {VBD_CTL_OPT_SQ_DEPTH},
		.option_count = 1},
	{.noun = "connections", .verb = "explain", .usage = "CONNECTION"},
	{.noun = "devices", .verb = "ls", .usage = ""},
	{.noun = "probes", .verb = "create", .usage = "CONNECTION"},
	{.noun = "ud-peers", .verb = "rm", .usage = "PEER..."},
};

static void speak_for(size_t command)
{
	static struct vbd_ctl_args args;

	args = (struct vbd_ctl_args){.command = &commands[command], .called = "bench"};
	vbd_ctl_speak_init(&args, commands, VBD_ARRAY_LEN(commands));
}

static void assert_said(const char *text, const char *wanted)
{
	char *said = vbd_ctl_speak(text);

	assert_string_equal(said, wanted);
	free(said);
}

static void assert_member(const char *name, const char *wanted)
{
	char *said = vbd_ctl_speak_member(name);

	if (wanted)
		assert_string_equal(said, wanted);
	else
		assert_null(said);
	free(said);
}

static void test_speak__a_pointer_is_an_option_or_an_operand(void **state)
{
	(void)state;
	speak_for(0);
	assert_member("/buffer", "--buffer");
	assert_member("/connection", "CONNECTION");
	assert_member("/remote/rkey", "--remote-rkey");
	assert_member("/remote/nothing", "--remote");
	assert_member("/qp/sq_depth", NULL);
	assert_member("", NULL);
	speak_for(1);
	assert_member("/qp/sq_depth", "--sq-depth");
	assert_member("/dst_port", "HOST:PORT");
	assert_member("/dst", NULL);
	assert_said("/dst_addr is missing, /buffer too", "HOST:PORT is missing, /buffer too");
}

static void test_speak__a_member_is_an_option_of_some_command(void **state)
{
	(void)state;
	speak_for(0);
	assert_said("Raise timeout_ms.", "Raise --timeout.");
	assert_said("`recv_size_bytes` at the peer", "`--recv-size` at the peer");
	assert_said("qp.retry_count, retry_count", "--retry-count, --retry-count");
	assert_said("the buffer, `buffer`", "the buffer, `--buffer`");
	assert_said("wc_status and first_error stay", "wc_status and first_error stay");
}

static void test_speak__a_path_is_a_command(void **state)
{
	(void)state;
	speak_for(0);
	assert_said("see /v1/devices.", "see `verbsctl devices`.");
	assert_said("or POST /v1/probes.", "or `verbsctl probes create`.");
	assert_said("`DELETE /v1/ud_peers/3`", "`verbsctl ud-peers rm 3`");
	assert_said("GET /v1/connections/{ref}/explain says",
		"`verbsctl connections explain REF` says");
	assert_said("GET /v1 lists, /v1/openapi.yaml",
		"`verbsctl --help` lists, `verbsctl bench --help`");
	assert_said("/v1/nothing, PUT /v1/devices", "/v1/nothing, PUT /v1/devices");
	assert_said("GET /v1/devices?state=present", "GET /v1/devices?state=present");
}

static void test_speak__other_texts_stay(void **state)
{
	static const char *const texts[] = {"", ".", "...", "`", "/", "/dev/infiniband", "a/b",
		"GET", "`rdma link`", "--size", "\xc3\xa4 {", "_", "/v1x", "`/`"};

	(void)state;
	speak_for(0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++)
		assert_said(texts[i], texts[i]);
	vbd_ctl_speak_init(NULL, NULL, 0);
	assert_said("/v1/devices", "/v1/devices");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_speak__a_pointer_is_an_option_or_an_operand),
		cmocka_unit_test(test_speak__a_member_is_an_option_of_some_command),
		cmocka_unit_test(test_speak__a_path_is_a_command),
		cmocka_unit_test(test_speak__other_texts_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
