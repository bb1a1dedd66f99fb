/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/command.h"

#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/top/top.h"

#include "base/attr.h"
#include "base/similar.h"

#include <stdlib.h>
#include <string.h>

#define O(sym) VBD_CTL_OPT_##sym

#define OPTIONS(...)              \
	.options = {__VA_ARGS__}, \
	.option_count = sizeof((enum vbd_ctl_opt[]){__VA_ARGS__}) / sizeof(enum vbd_ctl_opt)

/* The options of a queue pair, each followed by a comma. */
#define QP_OPTIONS	     VBD_CTL_QP_OPT_MAP(VBD_CTL_OPT_ROW)
#define PRIVATE_DATA_OPTIONS O(PRIVATE_DATA), O(PRIVATE_ENCODING)

#define REMOTE_OPTIONS \
	O(REMOTE), O(REMOTE_OFFSET), O(PEER_TOKEN_FILE), O(REMOTE_ADDR), O(REMOTE_RKEY)
#define ONE_SIDED_OPTIONS                                                                  \
	O(CONNECTION), O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), REMOTE_OPTIONS, O(CHUNK), \
		O(TX_DEPTH), O(INLINE), O(TIMEOUT), O(NO_WAIT)

#define COMMAND(name_, verb_, usage_, summary_, ...)                                            \
	{                                                                                       \
		.name = name_, .verb = verb_, .usage = usage_, .summary = summary_, __VA_ARGS__ \
	}

#define OBJECT(object_, run_) .object = &vbd_ctl_object_##object_, .run = vbd_ctl_object_##run_

/* Rows for listing, showing and deleting one kind of object. */
#define RESOURCE(name_, object_, operand_, plural_, ...)                                        \
	COMMAND(name_, NULL, "", "List " plural_, OBJECT(object_, list), OPTIONS(__VA_ARGS__)), \
		COMMAND(name_, "show", operand_, "Show one of the " plural_,                    \
			OBJECT(object_, show)),                                                 \
		COMMAND(name_, "rm", operand_ "...", "Delete " plural_, OBJECT(object_, rm))

#define ONE_SIDED_TEXT                                                                            \
	"Needs --connection, --buffer or --sges, and the peer's memory: either --remote\n"        \
	"URL#BUFFER (URL#windows/WINDOW for a memory window), which asks the peer's verbsd for\n" \
	"its address and key, or --remote-addr and --remote-rkey.\n"                              \
	"Waits until the transfer is done. Interrupting verbsctl does not cancel the transfer;\n" \
	"`verbsctl transfers cancel ID` does."

const enum vbd_ctl_opt vbd_ctl_common_options[] = {
	O(SERVER), O(TOKEN_FILE), O(JSON), O(HELP), O(VERSION)};
const size_t vbd_ctl_common_option_count = VBD_ARRAY_LEN(vbd_ctl_common_options);

const struct vbd_ctl_command vbd_ctl_commands[] = {
	COMMAND("status", NULL, "", "Show whether verbsd is ready, and what is missing",
		.run = vbd_ctl_status, .text = "Exits with 1 when verbsd is not ready."),
	COMMAND("devices", NULL, "", "List RDMA devices and their ports", .run = vbd_ctl_devices,
		OPTIONS(O(STATE), O(SORT), O(LIMIT))),
	COMMAND("devices", "show", "DEVICE", "Show one device: ports, GIDs, limits, counters",
		OBJECT(device, show)),
	RESOURCE("pds", pd, "PD", "protection domains", O(SORT), O(LIMIT)),
	COMMAND("pds", "create", "[NAME]", "Create a protection domain", OBJECT(pd, create),
		OPTIONS(O(DEVICE))),
	RESOURCE("cqs", cq, "CQ", "completion queues", O(SORT), O(LIMIT)),
	COMMAND("cqs", "create", "[NAME]", "Create a completion queue", OBJECT(cq, create),
		OPTIONS(O(DEVICE), O(DEPTH_CQE), O(MODERATION_COUNT), O(MODERATION_PERIOD))),
	COMMAND("cqs", "set", "CQ", "Resize a completion queue, or change its moderation",
		OBJECT(cq, set), OPTIONS(O(DEPTH_CQE), O(MODERATION_COUNT), O(MODERATION_PERIOD))),
	RESOURCE("srqs", srq, "SRQ", "shared receive queues", O(SORT), O(LIMIT)),
	COMMAND("srqs", "create", "[NAME]", "Create a shared receive queue", OBJECT(srq, create),
		OPTIONS(O(DEVICE), O(PD), O(CQ), O(SRQ_DEPTH), O(SRQ_RECV_SIZE), O(SRQ_LIMIT))),
	COMMAND("srqs", "set", "SRQ", "Change the limit below which receives are posted again",
		OBJECT(srq, set), OPTIONS(O(SRQ_LIMIT))),
	COMMAND("listen", NULL, "ADDR[:PORT]", "Listen for connections",
		.object = &vbd_ctl_object_listener, .run = vbd_ctl_listen,
		.text = "ADDR is numeric; 0.0.0.0 or [::] means every RDMA device. Without a port "
			"the kernel\npicks one. The options describe what accepted connections "
			"get.",
		OPTIONS(O(NAME), O(SERVICE), O(ACCEPT), O(ACCEPT_TIMEOUT), O(BACKLOG), O(DEVICE),
			O(TOS), O(REUSE_ADDR), O(V6_ONLY), PRIVATE_DATA_OPTIONS, QP_OPTIONS)),
	COMMAND("listeners", NULL, "", "List listeners", OBJECT(listener, list),
		OPTIONS(O(STATE), O(SORT), O(LIMIT))),
	COMMAND("listeners", "show", "LISTENER", "Show one listener", OBJECT(listener, show)),
	COMMAND("listeners", "set", "LISTENER", "Change how a listener accepts from now on",
		.object = &vbd_ctl_object_listener, .run = vbd_ctl_listener_set,
		OPTIONS(O(ACCEPT), O(ACCEPT_TIMEOUT))),
	COMMAND("listeners", "rm", "LISTENER...", "Stop listening; accepted connections stay",
		OBJECT(listener, rm)),
	COMMAND("connect", NULL, "HOST:PORT", "Connect to a listener", .run = vbd_ctl_connect,
		.text = "Waits until the connection is established or has failed. HOST is an "
			"address or a name;\nIPv6 addresses stand in brackets.",
		OPTIONS(O(NAME), O(SERVICE), O(TIMEOUT), O(DEVICE), O(SRC), O(SRC_PORT),
			O(REUSE_ADDR), O(TOS), PRIVATE_DATA_OPTIONS, QP_OPTIONS O(NO_WAIT))),
	COMMAND("prepare", NULL, "[NAME]", "Create a queue pair that is brought up by hand",
		.run = vbd_ctl_prepare,
		.text = "Prints the values for the peer. Give the peer's values with `verbsctl "
			"remote`.",
		OPTIONS(O(TRANSPORT), O(SERVICE), O(DEVICE), O(PORT_NUM), O(GID_INDEX),
			O(PKEY_INDEX), O(SL), O(PSN), O(INITIAL_STATE), QP_OPTIONS)),
	COMMAND("remote", NULL, "CONNECTION",
		"Give a queue pair its peer's values, and move it to RTR and RTS",
		.run = vbd_ctl_remote,
		.text = "Needs --from URL#CONNECTION, which asks the peer's verbsd, or the peer's "
			"values.",
		OPTIONS(O(FROM), O(PEER_TOKEN_FILE), O(GID), O(LID), O(QPN), O(PSN), O(MTU), O(SL),
			O(BRING_TO))),
	COMMAND("modify", NULL, "CONNECTION STATE",
		"Move a queue pair that is brought up by hand to another state",
		.run = vbd_ctl_modify, .text = "STATE is RESET, INIT, RTR, RTS, SQD or ERR."),
	COMMAND("ls", NULL, "", "List connections, ended ones included", OBJECT(connection, list),
		.text = "--state open leaves out ended connections. SENT and RECV are the payload "
			"of completed\nwork requests: sends and writes, receives and reads. What a "
			"peer writes or reads here\nis not counted.",
		OPTIONS(O(STATE), O(SORT), O(LIMIT))),
	COMMAND("history", NULL, "", "List ended connections, the latest first, and why they ended",
		.run = vbd_ctl_history, OPTIONS(O(HISTORY_SORT), O(LIMIT))),
	COMMAND("top", NULL, "", "Watch connections: rates, completion queues, round trips",
		.run = vbd_ctl_top,
		.text = "Uses the whole terminal; q quits and ? lists the keys. Continues after a "
			"restart\nof verbsd.",
		OPTIONS(O(TOP_INTERVAL), O(TOP_SORT), O(FILTER), O(ALL))),
	COMMAND("show", NULL, "CONNECTION",
		"Show one connection: QP, counters, timeline, why it ended",
		OBJECT(connection, show)),
	COMMAND("accept", NULL, "CONNECTION", "Accept a waiting connect request",
		.run = vbd_ctl_connection_accept,
		OPTIONS(O(NAME), O(SERVICE), PRIVATE_DATA_OPTIONS, O(NO_WAIT))),
	COMMAND("reject", NULL, "CONNECTION...", "Reject waiting connect requests",
		.run = vbd_ctl_connection_reject, OPTIONS(O(REJECT_REASON), PRIVATE_DATA_OPTIONS)),
	COMMAND("close", NULL, "CONNECTION...", "Disconnect, and keep the record in the history",
		.run = vbd_ctl_connection_close, OPTIONS(O(NO_WAIT))),
	COMMAND("forget", NULL, "CONNECTION...", "Disconnect if still open, and delete the record",
		OBJECT(connection, rm)),
	COMMAND("buf", "create", "[NAME]", "Register memory", .object = &vbd_ctl_object_buffer,
		.run = vbd_ctl_buffer_create,
		.text = "Needs --size. Peers can't reach the memory unless --access allows it.",
		OPTIONS(O(SIZE), O(ACCESS), O(KIND), O(PAGE_BYTES), O(DEVICE), O(PD), O(RELAXED),
			O(ON_DEMAND))),
	COMMAND("buf", "ls", "", "List buffers", OBJECT(buffer, list),
		OPTIONS(O(STATE), O(SORT), O(LIMIT))),
	COMMAND("buf", "show", "BUFFER", "Show one buffer with its remote address and key",
		OBJECT(buffer, show)),
	COMMAND("buf", "put", "BUFFER FILE", "Copy a file into a buffer", .run = vbd_ctl_buffer_put,
		.text = "FILE - is standard input. The buffer must exist and be long enough; what "
			"the file does\nnot cover is not changed.",
		OPTIONS(O(BUFFER_OFFSET))),
	COMMAND("buf", "get", "BUFFER", "Copy a buffer's bytes into a file",
		.run = vbd_ctl_buffer_get,
		.text = "Writes to standard output unless -o names a file; to a terminal only with "
			"-o -.",
		OPTIONS(O(OUTPUT), O(RANGE))),
	COMMAND("buf", "sum", "BUFFER", "Print the checksum of a buffer, or of a part of it",
		.run = vbd_ctl_buffer_sum, OPTIONS(O(ALGORITHM), O(BUFFER_OFFSET), O(LENGTH))),
	COMMAND("buf", "rm", "BUFFER...", "Deregister and free buffers", OBJECT(buffer, rm)),
	COMMAND("send", NULL, "CONNECTION [TEXT]", "Send one message", .run = vbd_ctl_send,
		.text = "The message is TEXT, the bytes of --file, standard input if TEXT is -, or "
			"a range of\n--buffer. Only a range of --buffer can be longer than 16384 "
			"bytes.",
		OPTIONS(O(FILE), O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), O(MESSAGE_BYTES),
			O(TX_DEPTH), O(INLINE), O(IMM), O(TIMEOUT), O(NO_WAIT))),
	COMMAND("recv", NULL, "CONNECTION", "Take messages out of a connection's inbox",
		.run = vbd_ctl_recv,
		.text = "Prints the messages, one on each line, and deletes each when it is "
			"printed. With\n--count, --follow or --timeout, waits for messages. Bytes "
			"that are not text are printed as\n\"base64:...\".",
		OPTIONS(O(FOLLOW_MESSAGES), O(COUNT), O(KEEP), O(RAW), O(WAIT))),
	COMMAND("write", NULL, "", "Write a local buffer into the peer's memory (RDMA write)",
		.run = vbd_ctl_write, .text = ONE_SIDED_TEXT, OPTIONS(ONE_SIDED_OPTIONS, O(IMM))),
	COMMAND("read", NULL, "", "Read the peer's memory into a local buffer (RDMA read)",
		.run = vbd_ctl_read, .text = ONE_SIDED_TEXT, OPTIONS(ONE_SIDED_OPTIONS)),
	COMMAND("fetch-add", NULL, "",
		"Add to eight bytes of the peer's memory, and print the old value",
		.run = vbd_ctl_fetch_add,
		OPTIONS(O(CONNECTION), REMOTE_OPTIONS, O(ADD), O(TIMEOUT), O(NO_WAIT))),
	COMMAND("compare-swap", NULL, "",
		"Replace eight bytes of the peer's memory if they have the expected value",
		.run = vbd_ctl_compare_swap,
		.text = "Prints the old value; if that is --compare, it has been replaced.",
		OPTIONS(O(CONNECTION), REMOTE_OPTIONS, O(COMPARE), O(SWAP), O(TIMEOUT),
			O(NO_WAIT))),
	COMMAND("post-recv", NULL, "", "Receive one message into buffers", .run = vbd_ctl_post_recv,
		.text = "The connection's service must be none: then the client posts all "
			"receives.",
		OPTIONS(O(CONNECTION), O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), O(TIMEOUT),
			O(NO_WAIT))),
	RESOURCE("endpoints", endpoint, "ENDPOINT", "datagram endpoints", O(STATE), O(SORT),
		O(LIMIT)),
	COMMAND("endpoints", "create", "[NAME]", "Create an unreliable-datagram queue pair",
		OBJECT(endpoint, create),
		.text = "With --addr and --port, peers can find it by `verbsctl peers resolve`.",
		OPTIONS(O(ADDR), O(PORT), O(SERVICE), O(DEVICE), O(PORT_NUM), O(GID_INDEX),
			O(PKEY_INDEX), O(QKEY), O(PSN), PRIVATE_DATA_OPTIONS, O(SQ_DEPTH),
			O(RQ_DEPTH), O(RECV_SIZE), O(SEND_SGES), O(RECV_SGES), O(INLINE_BYTES),
			O(SIGNAL_EVERY))),
	COMMAND("endpoints", "send", "ENDPOINT [TEXT]", "Send one datagram to --peer or --group",
		.run = vbd_ctl_send, .text = "The datagram must fit into the path MTU.",
		OPTIONS(O(PEER), O(GROUP), O(FILE), O(BUFFER), O(OFFSET), O(LENGTH), O(IMM),
			O(TIMEOUT), O(NO_WAIT))),
	COMMAND("endpoints", "recv", "ENDPOINT", "Take datagrams out of an endpoint's inbox",
		.run = vbd_ctl_recv,
		OPTIONS(O(FOLLOW_MESSAGES), O(COUNT), O(KEEP), O(RAW), O(WAIT))),
	RESOURCE("peers", peer, "PEER", "peers of endpoints", O(STATE), O(SORT), O(LIMIT)),
	COMMAND("peers", "resolve", "HOST:PORT", "Ask a peer's CM for its queue pair (SIDR)",
		.object = &vbd_ctl_object_peer, .run = vbd_ctl_peer_resolve,
		.text = "Needs --endpoint.",
		OPTIONS(O(NAME), O(ENDPOINT), PRIVATE_DATA_OPTIONS, O(TIMEOUT), O(NO_WAIT))),
	COMMAND("peers", "create", "[NAME]",
		"Create a peer from known values, or from the sender of a message",
		OBJECT(peer, create),
		.text = "Needs --endpoint, and --gid or --lid with --qpn and --qkey, or --message.",
		OPTIONS(O(ENDPOINT), O(GID), O(LID), O(QPN), O(QKEY), O(SL), O(GID_INDEX),
			O(PEER_MESSAGE))),
	RESOURCE("groups", group, "GROUP", "multicast groups", O(STATE), O(SORT), O(LIMIT)),
	COMMAND("groups", "create", "[NAME]", "Join a multicast group", OBJECT(group, create),
		.text = "Needs --endpoint and --addr. Deleting the group object leaves the group.",
		OPTIONS(O(ENDPOINT), O(ADDR), O(GROUP_MODE), O(TIMEOUT), O(NO_WAIT))),
	RESOURCE("windows", window, "WINDOW", "memory windows", O(STATE), O(SORT), O(LIMIT)),
	COMMAND("windows", "create", "[NAME]",
		"Open a part of a buffer to peers, until the window is deleted",
		OBJECT(window, create),
		.text = "Needs --buffer, created with --access mw_bind and what the window grants, "
			"and --connection.",
		OPTIONS(O(BUFFER), O(CONNECTION), O(WINDOW_TYPE), O(BUFFER_OFFSET), O(LENGTH),
			O(WINDOW_ACCESS), O(TIMEOUT), O(NO_WAIT))),
	RESOURCE("probes", probe, "PROBE", "probes", O(STATE), O(SORT), O(LIMIT)),
	COMMAND("probes", "cancel", "PROBE...", "Stop running probes", OBJECT(probe, cancel)),
	COMMAND("probes", "create", "", "Measure round trips over a connection",
		OBJECT(probe, create),
		.text = "Runs until it is removed. Its kind is rping where the connection's "
			"service is\nrping_client and the peer runs `rping -s`; otherwise ack.",
		OPTIONS(O(CONNECTION), O(PROBE_KIND), O(PROBE_COUNT), O(INTERVAL), O(PROBE_SIZE),
			O(TIMEOUT), O(NO_WAIT))),
	COMMAND("probe", NULL, "CONNECTION", "Time round trips over a connection, as ping does",
		.run = vbd_ctl_probe,
		.text = "Pings once a second, until interrupted or --count is reached. Only the "
			"peer's\ndevice takes part, no program there: see --kind in verbsctl(1).",
		OPTIONS(O(PROBE_KIND), O(PROBE_COUNT), O(INTERVAL), O(PROBE_SIZE), O(TIMEOUT))),
	RESOURCE("benchmarks", benchmark, "BENCHMARK", "benchmarks", O(STATE), O(SORT), O(LIMIT)),
	COMMAND("benchmarks", "cancel", "BENCHMARK...", "Stop running benchmarks",
		OBJECT(benchmark, cancel)),
	COMMAND("bench", NULL, "", "Measure rate and latency of a connection", .run = vbd_ctl_bench,
		.text = "Needs --connection and --size; a write or read also needs the peer's "
			"memory: --remote,\nor --remote-addr and --remote-rkey. A send needs the "
			"service sink at the peer. Messages\nof more than 16384 bytes need "
			"--buffer.",
		OPTIONS(O(CONNECTION), O(BENCH_OP), O(PROBE_SIZE), O(TX_DEPTH), O(BENCH_COUNT),
			O(DURATION), O(BUFFER), O(REMOTE), O(REMOTE_OFFSET), O(REMOTE_ADDR),
			O(REMOTE_RKEY), O(PEER_TOKEN_FILE), O(TIMEOUT))),
	COMMAND("transfers", NULL, "", "List transfers, running and ended", OBJECT(transfer, list),
		OPTIONS(O(STATE), O(SORT), O(LIMIT))),
	COMMAND("transfers", "show", "TRANSFER", "Show one transfer", OBJECT(transfer, show)),
	COMMAND("transfers", "cancel", "TRANSFER...", "Cancel running transfers",
		OBJECT(transfer, cancel)),
	COMMAND("transfers", "rm", "TRANSFER...", "Delete transfers; running ones are cancelled",
		OBJECT(transfer, rm)),
	COMMAND("events", NULL, "", "Print the event log; with -f also new events",
		.run = vbd_ctl_events,
		.text = "-f begins with the last 10 events; use -n 0 for new events only. It "
			"continues when\nverbsd was restarted or out of reach, and reports lost "
			"events.",
		OPTIONS(O(FOLLOW), O(LINES), O(AFTER), O(TYPE), O(OBJECT), O(SEVERITY))),
	COMMAND("explain", NULL, "[CONNECTION|NAME]",
		"Say why a connection ended, or what a name means, and what to do",
		.run = vbd_ctl_explain,
		.text = "CONNECTION is an id or a name. NAME is a CM event, reject reason, "
			"completion status,\nasync event, QP state or reason of an end, as in "
			"IBV_WC_RETRY_EXC_ERR or rnr_exceeded.\n--dst explains which device and "
			"route a\nconnection to HOST would use, and what prevents it.",
		OPTIONS(O(DST), O(DST_SRC), O(DEVICE))),
	COMMAND("stats", NULL, "", "Print every counter and gauge, or with -w the changes",
		.run = vbd_ctl_stats,
		.text = "--watch continues when verbsd was restarted or out of reach. With --json "
			"it prints\none object for each reading, with all values.",
		OPTIONS(O(WATCH))),
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

const char *vbd_ctl_command_like(const char *group, const char *word)
{
	const char *like = NULL;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < vbd_ctl_command_count; i++) {
		const struct vbd_ctl_command *command = &vbd_ctl_commands[i];
		const char *name = group ? command->verb : command->name;
		size_t d;

		if (!command->summary || !name || (group && strcmp(command->name, group) != 0))
			continue;
		d = vbd_edits(word, name);
		if (d < best) {
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
