/* SPDX-License-Identifier: Apache-2.0 */
/* The option or operand that sets a member of the request. */
#include "tests/unit/unit.h"

#include "cmd/verbsctl/common/args.h"

static const struct vbd_ctl_command commands[] = {
	{.noun = "benchmarks",
		.verb = "run",
		.usage = "CONNECTION",
		.members = "connection",
		.options = {VBD_CTL_OPT_BUFFER, VBD_CTL_OPT_TIMEOUT, VBD_CTL_OPT_REMOTE,
			VBD_CTL_OPT_REMOTE_RKEY}},
	{.noun = "connections",
		.verb = "create",
		.usage = "HOST:PORT",
		.members = "dst_addr,dst_port",
		.options = {VBD_CTL_OPT_SQ_DEPTH}},
};

static void assert_setter(size_t command, const char *name, const char *wanted)
{
	static struct vbd_ctl_args args;
	char *setter;

	args = (struct vbd_ctl_args){.command = &commands[command], .called = "bench"};
	setter = vbd_ctl_args_setter(&args, name);
	if (wanted)
		assert_string_equal(setter, wanted);
	else
		assert_null(setter);
}

TEST(test_setter__a_pointer_is_an_option_or_an_operand)
{
	assert_setter(0, "/buffer", "--buffer");
	assert_setter(0, "/connection", "CONNECTION");
	assert_setter(0, "/remote/rkey", "--remote-rkey");
	assert_setter(0, "/remote/nothing", "--remote");
	assert_setter(0, "/qp/sq_depth", NULL);
	assert_setter(0, "", NULL);
	assert_setter(0, "/", NULL);
	assert_setter(0, "timeout_ms", "--timeout");
	assert_setter(0, "timeout", "--timeout");
	assert_setter(1, "/qp/sq_depth", "--sq-depth");
	assert_setter(1, "/dst_port", "HOST:PORT");
	assert_setter(1, "/dst_addr", "HOST:PORT");
	assert_setter(1, "/dst", NULL);
	assert_setter(1, "/dst_addr,dst_port", NULL);
}

TEST(test_setter__without_a_command_there_is_none)
{
	static const struct vbd_ctl_args none;

	assert_null(vbd_ctl_args_setter(&none, "/buffer"));
}

TEST(test_word__is_whole)
{
	assert_true(vbd_ctl_is_word("id name state", "id"));
	assert_true(vbd_ctl_is_word("id,name,state", "name"));
	assert_true(vbd_ctl_is_word("id name state", "state"));
	assert_false(vbd_ctl_is_word("id name state", "nam"));
	assert_false(vbd_ctl_is_word("id name state", "names"));
	assert_false(vbd_ctl_is_word("id name state", ""));
	assert_false(vbd_ctl_is_word("", "id"));
}
