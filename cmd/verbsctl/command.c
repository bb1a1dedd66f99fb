/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/command.h"

#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/top/top.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

#define O(sym) VBD_CTL_OPT_##sym

#define COUNTED(...)              \
	.options = {__VA_ARGS__}, \
	.option_count = sizeof((enum vbd_ctl_opt[]){__VA_ARGS__}) / sizeof(enum vbd_ctl_opt)

/* The options of a queue pair, each followed by a comma. */
#define QP_OPTION(option, ...) option,
#define QP_OPTIONS	       VBD_CTL_QP_OPT_MAP(QP_OPTION)
#define PRIVATE_DATA_OPTIONS   O(PRIVATE_DATA), O(PRIVATE_ENCODING)

#define REMOTE_OPTIONS \
	O(REMOTE), O(REMOTE_OFFSET), O(PEER_TOKEN_FILE), O(REMOTE_ADDR), O(REMOTE_RKEY)
#define ONE_SIDED_OPTIONS                                                                  \
	O(CONNECTION), O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), REMOTE_OPTIONS, O(CHUNK), \
		O(WINDOW), O(INLINE), O(TIMEOUT), O(NO_WAIT)

/* Rows for listing, showing and deleting one kind of object. */
#define RESOURCE(name_, operand_, plural_, ...)                          \
	{.name = name_,                                                  \
		.usage = "",                                             \
		.summary = "List " plural_,                              \
		COUNTED(__VA_ARGS__),                                    \
		.run = vbd_ctl_resources},                               \
		{.name = name_,                                          \
			.verb = "show",                                  \
			.usage = operand_,                               \
			.summary = "Show one of the " plural_,           \
			.run = vbd_ctl_resource_show},                   \
	{                                                                \
		.name = name_, .verb = "rm", .usage = operand_ "...",    \
		.summary = "Delete " plural_, .run = vbd_ctl_resource_rm \
	}

#define ONE_SIDED_TEXT                                                                            \
	"Needs --connection, --buffer or --sges, and the peer's memory: either --remote\n"        \
	"URL#BUFFER (URL#windows/WINDOW for a memory window), which asks the peer's verbsd for\n" \
	"its address and key, or --remote-addr and --remote-rkey.\n"                              \
	"Waits until the transfer is done. Interrupting verbsctl does not cancel the transfer;\n" \
	"`verbsctl transfers rm ID` does."

const enum vbd_ctl_opt vbd_ctl_common_options[] = {
	O(SERVER), O(TOKEN_FILE), O(JSON), O(HELP), O(VERSION)};
const size_t vbd_ctl_common_option_count = VBD_ARRAY_LEN(vbd_ctl_common_options);

const struct vbd_ctl_command vbd_ctl_commands[] = {
	{.name = "status",
		.usage = "",
		.summary = "Show whether verbsd is ready, and what is missing",
		.text = "Exits with 1 when verbsd is not ready.",
		.run = vbd_ctl_status},
	{.name = "devices",
		.usage = "",
		.summary = "List RDMA devices and their ports",
		COUNTED(O(STATE), O(SORT), O(LIMIT)),
		.run = vbd_ctl_devices},
	{.name = "devices",
		.verb = "show",
		.usage = "DEVICE",
		.summary = "Show one device: ports, GIDs, limits, counters",
		.run = vbd_ctl_device_show},
	RESOURCE("pds", "PD", "protection domains", O(SORT), O(LIMIT)),
	{.name = "pds",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Create a protection domain",
		COUNTED(O(DEVICE)),
		.run = vbd_ctl_resource_create},
	RESOURCE("cqs", "CQ", "completion queues", O(SORT), O(LIMIT)),
	{.name = "cqs",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Create a completion queue",
		COUNTED(O(DEVICE), O(DEPTH_CQE), O(MODERATION_COUNT), O(MODERATION_PERIOD)),
		.run = vbd_ctl_resource_create},
	{.name = "cqs",
		.verb = "set",
		.usage = "CQ",
		.summary = "Resize a completion queue, or change its moderation",
		COUNTED(O(DEPTH_CQE), O(MODERATION_COUNT), O(MODERATION_PERIOD)),
		.run = vbd_ctl_resource_set},
	RESOURCE("srqs", "SRQ", "shared receive queues", O(SORT), O(LIMIT)),
	{.name = "srqs",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Create a shared receive queue",
		COUNTED(O(DEVICE), O(PD), O(CQ), O(SRQ_DEPTH), O(SRQ_RECV_SIZE), O(SRQ_LIMIT)),
		.run = vbd_ctl_resource_create},
	{.name = "srqs",
		.verb = "set",
		.usage = "SRQ",
		.summary = "Change the limit below which receives are posted again",
		COUNTED(O(SRQ_LIMIT)),
		.run = vbd_ctl_resource_set},
	{.name = "listen",
		.usage = "ADDR[:PORT]",
		.summary = "Listen for connections",
		.text = "ADDR is numeric; 0.0.0.0 or [::] means every RDMA device. Without a port "
			"the "
			"kernel\npicks one. The options describe what accepted connections get.",
		COUNTED(O(NAME), O(SERVICE), O(ACCEPT), O(ACCEPT_TIMEOUT), O(BACKLOG), O(DEVICE),
			O(TOS), O(REUSE_ADDR), O(V6_ONLY), PRIVATE_DATA_OPTIONS, QP_OPTIONS),
		.run = vbd_ctl_listen},
	{.name = "listeners",
		.usage = "",
		.summary = "List listeners",
		COUNTED(O(STATE), O(SORT), O(LIMIT)),
		.run = vbd_ctl_listeners},
	{.name = "listeners",
		.verb = "show",
		.usage = "LISTENER",
		.summary = "Show one listener",
		.run = vbd_ctl_listener_show},
	{.name = "listeners",
		.verb = "set",
		.usage = "LISTENER",
		.summary = "Change how a listener accepts from now on",
		COUNTED(O(ACCEPT), O(ACCEPT_TIMEOUT)),
		.run = vbd_ctl_listener_set},
	{.name = "listeners",
		.verb = "rm",
		.usage = "LISTENER...",
		.summary = "Stop listening; accepted connections stay",
		.run = vbd_ctl_listener_rm},
	{.name = "connect",
		.usage = "HOST:PORT",
		.summary = "Connect to a listener",
		.text = "Waits until the connection is established or has failed. HOST is an "
			"address "
			"or a name;\nIPv6 addresses stand in brackets.",
		COUNTED(O(NAME), O(SERVICE), O(TIMEOUT), O(DEVICE), O(SRC), O(SRC_PORT),
			O(REUSE_ADDR), O(TOS), PRIVATE_DATA_OPTIONS, QP_OPTIONS O(NO_WAIT)),
		.run = vbd_ctl_connect},
	{.name = "prepare",
		.usage = "[NAME]",
		.summary = "Create a queue pair that is brought up by hand",
		.text = "Prints the values for the peer. Give the peer's values with `verbsctl "
			"remote`.",
		COUNTED(O(TRANSPORT), O(SERVICE), O(DEVICE), O(PORT_NUM), O(GID_INDEX),
			O(PKEY_INDEX), O(SL), O(PSN), O(INITIAL_STATE), QP_OPTIONS),
		.run = vbd_ctl_prepare},
	{.name = "remote",
		.usage = "CONNECTION",
		.summary = "Give a queue pair its peer's values, and move it to RTR and RTS",
		.text = "Needs --from URL#CONNECTION, which asks the peer's verbsd, or the peer's "
			"values.",
		COUNTED(O(FROM), O(PEER_TOKEN_FILE), O(GID), O(LID), O(QPN), O(PSN), O(MTU), O(SL),
			O(BRING_TO)),
		.run = vbd_ctl_remote},
	{.name = "modify",
		.usage = "CONNECTION STATE",
		.summary = "Move a queue pair that is brought up by hand to another state",
		.text = "STATE is RESET, INIT, RTR, RTS, SQD or ERR.",
		.run = vbd_ctl_modify},
	{.name = "ls",
		.usage = "",
		.summary = "List connections, ended ones included",
		.text = "--state open leaves out ended connections. SENT and RECV are the payload "
			"of "
			"completed\nwork requests: sends and writes, receives and reads. What a "
			"peer "
			"writes or reads here\nis not counted.",
		COUNTED(O(STATE), O(SORT), O(LIMIT)),
		.run = vbd_ctl_connections},
	{.name = "history",
		.usage = "",
		.summary = "List ended connections, the latest first, and why they ended",
		COUNTED(O(HISTORY_SORT), O(LIMIT)),
		.run = vbd_ctl_history},
	{.name = "top",
		.usage = "",
		.summary = "Watch connections: rates, completion queues, round trips",
		.text = "Uses the whole terminal; q quits and ? lists the keys. Continues after a "
			"restart\nof verbsd.",
		COUNTED(O(TOP_INTERVAL), O(TOP_SORT), O(FILTER), O(ALL)),
		.run = vbd_ctl_top},
	{.name = "show",
		.usage = "CONNECTION",
		.summary = "Show one connection: QP, counters, timeline, why it ended",
		.run = vbd_ctl_connection_show},
	{.name = "accept",
		.usage = "CONNECTION",
		.summary = "Accept a waiting connect request",
		COUNTED(O(NAME), O(SERVICE), PRIVATE_DATA_OPTIONS, O(NO_WAIT)),
		.run = vbd_ctl_connection_accept},
	{.name = "reject",
		.usage = "CONNECTION...",
		.summary = "Reject waiting connect requests",
		COUNTED(O(REJECT_REASON), PRIVATE_DATA_OPTIONS),
		.run = vbd_ctl_connection_reject},
	{.name = "close",
		.usage = "CONNECTION...",
		.summary = "Disconnect, and keep the record in the history",
		COUNTED(O(NO_WAIT)),
		.run = vbd_ctl_connection_close},
	{.name = "forget",
		.usage = "CONNECTION...",
		.summary = "Disconnect if still open, and delete the record",
		.run = vbd_ctl_connection_delete},
	{.name = "buf",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Register memory",
		.text = "Needs --size. Peers can't reach the memory unless --access allows it.",
		COUNTED(O(SIZE), O(ACCESS), O(KIND), O(PAGE_BYTES), O(DEVICE), O(PD), O(RELAXED),
			O(ON_DEMAND)),
		.run = vbd_ctl_buffer_create},
	{.name = "buf",
		.verb = "ls",
		.usage = "",
		.summary = "List buffers",
		COUNTED(O(STATE), O(SORT), O(LIMIT)),
		.run = vbd_ctl_buffers},
	{.name = "buf",
		.verb = "show",
		.usage = "BUFFER",
		.summary = "Show one buffer with its remote address and key",
		.run = vbd_ctl_buffer_show},
	{.name = "buf",
		.verb = "put",
		.usage = "BUFFER FILE",
		.summary = "Copy a file into a buffer",
		.text = "FILE - is standard input. The buffer must exist and be long enough; what "
			"the "
			"file does\nnot cover is not changed.",
		COUNTED(O(OFFSET)),
		.run = vbd_ctl_buffer_put},
	{.name = "buf",
		.verb = "get",
		.usage = "BUFFER",
		.summary = "Copy a buffer's bytes into a file",
		.text = "Writes to standard output unless -o names a file; to a terminal only with "
			"-o -.",
		COUNTED(O(OUTPUT), O(RANGE)),
		.run = vbd_ctl_buffer_get},
	{.name = "buf",
		.verb = "sum",
		.usage = "BUFFER",
		.summary = "Print the checksum of a buffer, or of a part of it",
		COUNTED(O(ALGORITHM), O(OFFSET), O(LENGTH)),
		.run = vbd_ctl_buffer_sum},
	{.name = "buf",
		.verb = "rm",
		.usage = "BUFFER...",
		.summary = "Deregister and free buffers",
		.run = vbd_ctl_buffer_rm},
	{.name = "send",
		.usage = "CONNECTION [TEXT]",
		.summary = "Send one message",
		.text = "The message is TEXT, the bytes of --file, standard input if TEXT is -, or "
			"a "
			"range of\n--buffer. Only a range of --buffer can be longer than 16384 "
			"bytes.",
		COUNTED(O(FILE), O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), O(MESSAGE_BYTES),
			O(WINDOW), O(INLINE), O(IMM), O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_send},
	{.name = "recv",
		.usage = "CONNECTION",
		.summary = "Take messages out of a connection's inbox",
		.text = "Prints the messages, one on each line, and deletes each when it is "
			"printed. With\n--count, --follow or --timeout, waits for messages. Bytes "
			"that are "
			"not "
			"text are printed as\n\"base64:...\".",
		COUNTED(O(FOLLOW_MESSAGES), O(COUNT), O(KEEP), O(RAW), O(WAIT)),
		.run = vbd_ctl_recv},
	{.name = "write",
		.usage = "",
		.summary = "Write a local buffer into the peer's memory (RDMA write)",
		.text = ONE_SIDED_TEXT,
		COUNTED(ONE_SIDED_OPTIONS, O(IMM)),
		.run = vbd_ctl_write},
	{.name = "read",
		.usage = "",
		.summary = "Read the peer's memory into a local buffer (RDMA read)",
		.text = ONE_SIDED_TEXT,
		COUNTED(ONE_SIDED_OPTIONS),
		.run = vbd_ctl_read},
	{.name = "fetch-add",
		.usage = "",
		.summary = "Add to eight bytes of the peer's memory, and print the old value",
		COUNTED(O(CONNECTION), REMOTE_OPTIONS, O(ADD), O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_fetch_add},
	{.name = "compare-swap",
		.usage = "",
		.summary =
			"Replace eight bytes of the peer's memory if they have the expected value",
		.text = "Prints the old value; if that is --compare, it has been replaced.",
		COUNTED(O(CONNECTION), REMOTE_OPTIONS, O(COMPARE), O(SWAP), O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_compare_swap},
	{.name = "post-recv",
		.usage = "",
		.summary = "Receive one message into buffers",
		.text = "The connection's service must be none: then the client posts all "
			"receives.",
		COUNTED(O(CONNECTION), O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), O(TIMEOUT),
			O(NO_WAIT)),
		.run = vbd_ctl_post_recv},
	RESOURCE("endpoints", "ENDPOINT", "datagram endpoints", O(STATE), O(SORT), O(LIMIT)),
	{.name = "endpoints",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Create an unreliable-datagram queue pair",
		.text = "With --addr and --port, peers can find it by `verbsctl peers resolve`.",
		COUNTED(O(ADDR), O(PORT), O(SERVICE), O(DEVICE), O(PORT_NUM), O(GID_INDEX),
			O(PKEY_INDEX), O(QKEY), O(PSN), PRIVATE_DATA_OPTIONS, O(SQ_DEPTH),
			O(RQ_DEPTH), O(RECV_SIZE), O(SEND_SGES), O(RECV_SGES), O(INLINE_BYTES),
			O(SIGNAL_EVERY)),
		.run = vbd_ctl_resource_create},
	{.name = "endpoints",
		.verb = "send",
		.usage = "ENDPOINT [TEXT]",
		.summary = "Send one datagram to --peer or --group",
		.text = "The datagram must fit into the path MTU.",
		COUNTED(O(PEER), O(GROUP), O(FILE), O(BUFFER), O(OFFSET), O(LENGTH), O(IMM),
			O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_send},
	{.name = "endpoints",
		.verb = "recv",
		.usage = "ENDPOINT",
		.summary = "Take datagrams out of an endpoint's inbox",
		COUNTED(O(FOLLOW_MESSAGES), O(COUNT), O(KEEP), O(RAW), O(WAIT)),
		.run = vbd_ctl_recv},
	RESOURCE("peers", "PEER", "peers of endpoints", O(STATE), O(SORT), O(LIMIT)),
	{.name = "peers",
		.verb = "resolve",
		.usage = "HOST:PORT",
		.summary = "Ask a peer's CM for its queue pair (SIDR)",
		.text = "Needs --endpoint.",
		COUNTED(O(NAME), O(ENDPOINT), PRIVATE_DATA_OPTIONS, O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_peer_resolve},
	{.name = "peers",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Create a peer from known values, or from the sender of a message",
		.text = "Needs --endpoint, and --gid or --lid with --qpn and --qkey, or --message.",
		COUNTED(O(ENDPOINT), O(GID), O(LID), O(QPN), O(QKEY), O(SL), O(GID_INDEX),
			O(PEER_MESSAGE)),
		.run = vbd_ctl_resource_create},
	RESOURCE("groups", "GROUP", "multicast groups", O(STATE), O(SORT), O(LIMIT)),
	{.name = "groups",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Join a multicast group",
		.text = "Needs --endpoint and --addr. Deleting the group object leaves the group.",
		COUNTED(O(ENDPOINT), O(ADDR), O(GROUP_MODE), O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_resource_create},
	RESOURCE("windows", "WINDOW", "memory windows", O(STATE), O(SORT), O(LIMIT)),
	{.name = "windows",
		.verb = "create",
		.usage = "[NAME]",
		.summary = "Open a part of a buffer to peers, until the window is deleted",
		.text = "Needs --buffer, created with --access mw_bind and what the window grants, "
			"and "
			"--connection.",
		COUNTED(O(BUFFER), O(CONNECTION), O(WINDOW_TYPE), O(OFFSET), O(LENGTH),
			O(WINDOW_ACCESS), O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_resource_create},
	RESOURCE("probes", "PROBE", "probes", O(STATE), O(SORT), O(LIMIT)),
	{.name = "probes",
		.verb = "create",
		.usage = "",
		.summary = "Measure round trips over a connection",
		.text = "Runs until it is removed. Its kind is rping where the connection's "
			"service is\n"
			"rping_client and the peer runs `rping -s`; otherwise ack.",
		COUNTED(O(CONNECTION), O(PROBE_KIND), O(PROBE_COUNT), O(INTERVAL), O(PROBE_SIZE),
			O(TIMEOUT), O(NO_WAIT)),
		.run = vbd_ctl_resource_create},
	{.name = "probe",
		.usage = "CONNECTION",
		.summary = "Time round trips over a connection, as ping does",
		.text = "Pings once a second, until interrupted or --count is reached. Only the "
			"peer's\ndevice takes part, no program there: see --kind in verbsctl(1).",
		COUNTED(O(PROBE_KIND), O(PROBE_COUNT), O(INTERVAL), O(PROBE_SIZE), O(TIMEOUT)),
		.run = vbd_ctl_probe},
	RESOURCE("benchmarks", "BENCHMARK", "benchmarks", O(STATE), O(SORT), O(LIMIT)),
	{.name = "bench",
		.usage = "",
		.summary = "Measure rate and latency of a connection",
		.text = "Needs --connection and --size; a write or read also needs the peer's "
			"memory: --remote,\nor --remote-addr and --remote-rkey. A send needs the "
			"service sink at the peer. Messages\nof more than 16384 bytes need "
			"--buffer.",
		COUNTED(O(CONNECTION), O(BENCH_OP), O(PROBE_SIZE), O(WINDOW), O(BENCH_COUNT),
			O(DURATION), O(BUFFER), O(REMOTE), O(REMOTE_OFFSET), O(REMOTE_ADDR),
			O(REMOTE_RKEY), O(PEER_TOKEN_FILE), O(TIMEOUT)),
		.run = vbd_ctl_bench},
	{.name = "transfers",
		.usage = "",
		.summary = "List transfers, running and ended",
		COUNTED(O(STATE), O(SORT), O(LIMIT)),
		.run = vbd_ctl_transfers},
	{.name = "transfers",
		.verb = "show",
		.usage = "TRANSFER",
		.summary = "Show one transfer",
		.run = vbd_ctl_transfer_show},
	{.name = "transfers",
		.verb = "rm",
		.usage = "TRANSFER...",
		.summary = "Cancel running transfers, delete ended ones",
		.run = vbd_ctl_transfer_rm},
	{.name = "events",
		.usage = "",
		.summary = "Print the event log; with -f also new events",
		.text = "-f begins with the last 10 events; use -n 0 for new events only. It "
			"continues "
			"when\nverbsd was restarted or out of reach, and reports lost events.",
		COUNTED(O(FOLLOW), O(LINES), O(AFTER), O(TYPE), O(OBJECT), O(SEVERITY)),
		.run = vbd_ctl_events},
	{.name = "explain",
		.usage = "[CONNECTION|NAME]",
		.summary = "Say why a connection ended, or what a name means, and what to do",
		.text = "CONNECTION is an id or a name. NAME is a CM event, reject reason, "
			"completion status,\nasync event, QP state or reason of an end, as in "
			"IBV_WC_RETRY_EXC_ERR or rnr_exceeded.\n--dst explains which "
			"device and route a\nconnection to HOST would use, and what prevents it.",
		COUNTED(O(DST), O(DST_SRC), O(DEVICE)),
		.run = vbd_ctl_explain},
	{.name = "stats",
		.usage = "",
		.summary = "Print every counter and gauge, or with -w the changes",
		.text = "--watch continues when verbsd was restarted or out of reach. With --json "
			"it prints\none object for each reading, with all values.",
		COUNTED(O(WATCH)),
		.run = vbd_ctl_stats},
	/* For the completion script: without a summary --help leaves the row out. main.c runs the
	 * command, because completion reads this table. */
	{.name = "__complete", .usage = "WORD..."},
};
const size_t vbd_ctl_command_count = VBD_ARRAY_LEN(vbd_ctl_commands);

const struct vbd_ctl_command *vbd_ctl_command_find(
	char *const *words, size_t word_count, size_t *ret_used)
{
	const struct vbd_ctl_command *found = NULL;

	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];

		if (word_count == 0 || strcmp(command->name, words[0]) != 0)
			continue;
		if (!command->verb) {
			found = command;
			*ret_used = 1;
		} else if (word_count > 1 && strcmp(command->verb, words[1]) == 0) {
			*ret_used = 2;
			return command;
		}
	}
	return found;
}

/* Number of edits between two words: letters added, removed or changed. SIZE_MAX for long words. */
static size_t distance(const char *a, const char *b)
{
	size_t row[24];
	size_t len = strlen(b);

	if (len + 1 > VBD_ARRAY_LEN(row) || strlen(a) > VBD_ARRAY_LEN(row))
		return SIZE_MAX;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[len];
}

const char *vbd_ctl_command_like(const char *group, const char *word)
{
	const char *like = NULL;
	size_t best = 3;

	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];
		const char *name = group ? command->verb : command->name;
		size_t d;

		if (!command->summary || !name || (group && strcmp(command->name, group) != 0))
			continue;
		d = strncmp(name, word, strlen(word)) == 0 ? 1 : distance(word, name);
		/* Three edits turn "rm" into any other short word. */
		if (d < best && d < strlen(name)) {
			best = d;
			like = name;
		}
	}
	return like;
}

bool vbd_ctl_command_is_group(const char *word)
{
	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		if (vbd_ctl_commands[i].verb && strcmp(vbd_ctl_commands[i].name, word) == 0)
			return true;
	}
	return false;
}

/* The word at index @i of @usage, and its length; NULL behind the last. */
static const char *usage_word(const char *usage, size_t i, size_t *ret_len)
{
	for (;;) {
		usage += strspn(usage, " ");
		*ret_len = strcspn(usage, " ");
		if (*ret_len == 0)
			return NULL;
		if (i-- == 0)
			return usage;
		usage += *ret_len;
	}
}

char *vbd_ctl_command_operand(const struct vbd_ctl_command *command, size_t i)
{
	size_t len;
	size_t min, max;
	const char *word = usage_word(command->usage, i, &len);

	vbd_ctl_command_operand_limits(command, &min, &max);
	if (!word && min > 0 && max == VBD_CTL_OPERANDS_MAX)
		word = usage_word(command->usage, min - 1, &len);
	if (!word)
		return NULL;
	word += *word == '[';
	len = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	return vbd_ctl_must(strndup(word, len));
}

void vbd_ctl_command_operand_limits(
	const struct vbd_ctl_command *command, size_t *ret_min, size_t *ret_max)
{
	size_t len;
	const char *word;

	*ret_min = 0;
	*ret_max = 0;
	while ((word = usage_word(command->usage, *ret_max, &len))) {
		(*ret_max)++;
		if (*word != '[')
			(*ret_min)++;
		if (len > 3 && strncmp(word + len - 3, "...", 3) == 0) {
			*ret_max = VBD_CTL_OPERANDS_MAX;
			return;
		}
	}
}
