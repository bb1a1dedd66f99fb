/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of all commands. */
#include "cmd/verbsctl/command.h"

#include "base/attr.h"

#define O(sym) VBD_CTL_OPT_##sym

#define OPTIONS(...) .options = {__VA_ARGS__}

/* The options of a queue pair, each followed by a comma. */
#define QP_OPTIONS	     VBD_CTL_QP_OPT_MAP(VBD_CTL_OPT_ROW)
#define PRIVATE_DATA_OPTIONS O(PRIVATE_DATA), O(PRIVATE_ENCODING)

#define REMOTE_OPTIONS \
	O(REMOTE), O(REMOTE_OFFSET), O(PEER_TOKEN_FILE), O(REMOTE_ADDR), O(REMOTE_RKEY)
#define ONE_SIDED_OPTIONS                                                                     \
	O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), REMOTE_OPTIONS, O(CHUNK_SIZE), O(TX_DEPTH), \
		O(INLINE), O(IF_NOT_ESTABLISHED), O(TIMEOUT), O(NO_WAIT)
#define PROBE_OPTIONS O(PROBE_KIND), O(PROBE_COUNT), O(INTERVAL), O(PROBE_SIZE), O(TIMEOUT)
#define BENCH_OPTIONS                                                                    \
	O(BENCH_OP), O(PROBE_SIZE), O(TX_DEPTH), O(BENCH_COUNT), O(DURATION), O(BUFFER), \
		REMOTE_OPTIONS, O(TIMEOUT)
#define RECV_OPTIONS O(FOLLOW_MESSAGES), O(COUNT), O(KEEP), O(RAW), O(WAIT)
#define GATE_OPTIONS \
	O(ALLOW), O(MAX_CONNECTIONS), O(MAX_PER_PEER), O(CONNECTS_PER_S), O(CONNECTS_BURST)

#define LIST_OPTIONS O(STATE), O(SORT), O(LIMIT)

#define COMMAND(noun_, verb_, usage_, summary_, ...)                                            \
	{                                                                                       \
		.noun = noun_, .verb = verb_, .usage = usage_, .summary = summary_, __VA_ARGS__ \
	}

/* A command that has a short form. */
#define SHORT(alias_, noun_, verb_, usage_, summary_, ...) \
	COMMAND(noun_, verb_, usage_, summary_, .alias = alias_, __VA_ARGS__)

#define RUN(run_)	   .run = vbd_ctl_object_##run_
#define ACT(method_, put_) RUN(act), .method = method_, .put = put_
#define CREATE		   ACT("POST", vbd_ctl_object_put_brief)
#define SET		   ACT("PATCH", vbd_ctl_object_put_brief)

/* Instead of operands. */
#define SELECTING O(SELECTED), O(EVERY), O(DRY_RUN)

/* Rows for listing, showing and deleting one kind of object; KIND takes the options of the list. */
#define KIND(noun_, operand_, what_, plural_, ...)                                            \
	COMMAND(noun_, "ls", "", "List " plural_, RUN(list), OPTIONS(O(LABEL), __VA_ARGS__)), \
		COMMAND(noun_, "show", operand_, "Show one " what_,                           \
			ACT("GET", vbd_ctl_object_put_full))
#define CANCEL_BY(tail_, put_) \
	RUN(cancel), .method = "POST", .tail = tail_, .put = put_, .wait_s = VBD_CTL_END_WAIT_S
#define CANCEL(noun_, operand_, plural_)                                       \
	COMMAND(noun_, "cancel", "[" operand_ "]...", "Stop running " plural_, \
		CANCEL_BY("/cancel", vbd_ctl_object_put_state), OPTIONS(SELECTING))
#define WAIT(noun_, operand_, state_, ...)                                                         \
	COMMAND(noun_, "wait", operand_ "...", "Wait until " noun_ " are " state_, RUN(wait),      \
		.text = "Exits with 3 when --timeout has passed, and with 1 when the state can't " \
			"come any more.",                                                          \
		OPTIONS(O(UNTIL), O(WAIT_TIMEOUT)), __VA_ARGS__)
#define RM(noun_, operand_, what_, ...) \
	COMMAND(noun_, "rm", "[" operand_ "]...", what_, RUN(rm), OPTIONS(SELECTING), __VA_ARGS__)

/* main.c runs commands without @run, which need no server. */
#define SCRIPT(shell_, use_)                                                         \
	COMMAND("completion", shell_, "", "Print the completion script for " shell_, \
		.text = "In " shell_ ", `" use_ "` takes up the script.")

#define REMOTE_TEXT                                                                                \
	"The peer's memory is --remote URL#BUFFER (URL#windows/WINDOW for a memory window), for\n" \
	"which the verbsd at URL is asked for address and key, or --remote-addr and "              \
	"--remote-rkey."
#define ONE_SIDED_TEXT                                                                          \
	"Needs --buffer or --sges, and the peer's memory.\n" REMOTE_TEXT                        \
	"\nWaits until the transfer has ended. An interrupt ends verbsctl, not the transfer:\n" \
	"`verbsctl transfers cancel ID` does."

const enum vbd_ctl_opt vbd_ctl_common_options[] = {O(SERVER), O(TOKEN_FILE), O(CA), O(CERT), O(KEY),
	O(INSECURE), O(JSON), O(FORMAT), O(HELP), O(VERSION), O(NONE)};

const struct vbd_ctl_command vbd_ctl_commands[] = {
	SHORT("ls", "connections", "ls", "", "List connections", RUN(list),
		.text = "--state open,ended lists ended connections too. SENT and RECV are the "
			"payload "
			"of completed\nwork requests: sends and writes, receives and reads. What a "
			"peer writes or reads here\nis not counted.",
		OPTIONS(O(LABEL), LIST_OPTIONS)),
	SHORT("show", "connections", "show", "CONNECTION",
		"Show one connection: QP, counters, timeline, why it ended",
		ACT("GET", vbd_ctl_put_connection)),
	SHORT("connect", "connections", "create", "HOST:PORT", "Connect to a listener",
		.members = "dst_addr,dst_port", .run = vbd_ctl_connect,
		.text = "Waits until the connection is established or has failed. HOST is an "
			"address or a name;\nIPv6 addresses stand in brackets. With --count all "
			"are made, or none; `verbsctl\nconnection-batches show` shows their "
			"outcomes.",
		OPTIONS(O(LABELS), O(NAME), O(ALIKE), O(KEEP_OBJECT), O(SHARE), O(RECONNECT),
			O(SERVICE), O(TIMEOUT), O(DEVICE), O(SRC), O(SRC_PORT), O(REUSE_ADDR),
			O(TOS), PRIVATE_DATA_OPTIONS, QP_OPTIONS O(NO_WAIT))),
	COMMAND("connections", "prepare", "[NAME]",
		"Create a queue pair that is brought up by hand", .members = "name",
		ACT("POST", vbd_ctl_put_connection_state), .fixed = "bringup=manual",
		.text = "Prints the values for the peer. Give the peer's values with `verbsctl "
			"connections remote`.",
		OPTIONS(O(QP_TYPE), O(SERVICE), O(DEVICE), O(PORT_NUM), O(GID_INDEX), O(PKEY_INDEX),
			O(SL), O(PSN), O(INITIAL_STATE), QP_OPTIONS)),
	COMMAND("connections", "remote", "CONNECTION",
		"Give a queue pair its peer's values, and move it to RTR and RTS",
		.run = vbd_ctl_remote, .method = "POST", .tail = "/remote",
		.put = vbd_ctl_put_connection_state,
		.text = "Needs --from URL#CONNECTION, which asks the peer's verbsd, or the peer's "
			"values. Waits\nuntil the queue pair is in the state, or can't get there.",
		OPTIONS(O(FROM), O(PEER_TOKEN_FILE), O(GID), O(LID), O(QPN), O(PSN), O(MTU), O(SL),
			O(BRING_TO), O(NO_WAIT))),
	COMMAND("connections", "qp-state", "CONNECTION STATE",
		"Move a queue pair that is brought up by hand to another state",
		.members = "- state", ACT("POST", vbd_ctl_put_connection_state),
		.tail = "/qp_state",
		.text = "The states are RESET, INIT, RTR, RTS, SQD and ERR. Waits until the queue "
			"pair is in the\nstate, or can't get there.",
		OPTIONS(O(NO_WAIT))),
	SHORT("accept", "connections", "accept", "CONNECTION", "Accept a waiting connect request",
		.run = vbd_ctl_connection_accept,
		OPTIONS(O(NAME), O(SERVICE), PRIVATE_DATA_OPTIONS, O(NO_WAIT))),
	SHORT("reject", "connections", "reject", "CONNECTION...", "Reject waiting connect requests",
		ACT("POST", vbd_ctl_put_connection_state), .tail = "/reject",
		OPTIONS(O(REJECT_REASON), PRIVATE_DATA_OPTIONS)),
	SHORT("send", "connections", "send", "CONNECTION [TEXT]", "Send one message",
		.run = vbd_ctl_send,
		.text = "The message is TEXT, the bytes of --file, standard input if TEXT is -, or "
			"a range of\n--buffer. Only a range of --buffer can be longer than 16384 "
			"bytes.",
		OPTIONS(O(FILE), O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), O(MESSAGE_SIZE),
			O(TX_DEPTH), O(INLINE), O(IMM), O(TIMEOUT), O(NO_WAIT))),
	SHORT("recv", "connections", "recv", "CONNECTION",
		"Take messages out of a connection's inbox", .run = vbd_ctl_recv,
		.text = "Prints the messages, one on each line, and deletes each when it is "
			"printed. With\n--count, --follow or --timeout, waits for messages. Bytes "
			"that are not text are printed as\n\"base64:...\".",
		OPTIONS(RECV_OPTIONS)),
	SHORT("close", "connections", "close", "[CONNECTION]...",
		"Disconnect, and keep the record in the history",
		CANCEL_BY("/close", vbd_ctl_put_connection_state), OPTIONS(SELECTING, O(NO_WAIT))),
	WAIT("connections", "CONNECTION", "established", .alias = "wait"),
	RM("connections", "CONNECTION", "Disconnect if still open, and delete the record",
		.alias = "rm"),
	SHORT("explain", "connections", "explain", "CONNECTION",
		"Say what happened to a connection, why, and what to do",
		ACT("GET", vbd_ctl_put_explanation), .tail = "/explain",
		.text = "`verbsctl glossary show NAME` explains the codes and names in it, and\n"
			"`verbsctl reachability show HOST[:PORT]` a connection that is not made "
			"yet."),
	COMMAND("connections", "timeline", "CONNECTION",
		"Print what a connection did, call by call, in milliseconds",
		ACT("GET", vbd_ctl_put_timeline), .tail = "/timeline"),
	SHORT("history", "connections", "history", "",
		"List ended connections, the latest first, and why they ended",
		.run = vbd_ctl_history, OPTIONS(O(HISTORY_SORT), O(LIMIT))),
	SHORT("top", "connections", "top", "",
		"Watch connections: rates, completion queues, round trips", .run = vbd_ctl_top,
		.text = "Uses the whole terminal; q quits and ? lists the keys. Continues after a "
			"restart\nof verbsd.",
		OPTIONS(O(TOP_INTERVAL), O(TOP_SORT), O(FILTER), O(ALL))),
	KIND("listeners", "LISTENER", "listener", "listeners", LIST_OPTIONS),
	SHORT("listen", "listeners", "create", "ADDR[:PORT]", "Listen for connections",
		.members = "addr,port", CREATE,
		.text = "ADDR is numeric; 0.0.0.0 or [::] means every RDMA device. Without a port "
			"the kernel\npicks one. The options describe what accepted connections "
			"get.",
		OPTIONS(O(LABELS), O(NAME), O(KEEP_OBJECT), O(SHARE), O(LISTENER_SERVICE),
			O(ACCEPT), O(ACCEPT_TIMEOUT), GATE_OPTIONS, O(BACKLOG), O(DEVICE), O(TOS),
			O(REUSE_ADDR), O(V6_ONLY), PRIVATE_DATA_OPTIONS, QP_OPTIONS)),
	COMMAND("listeners", "set", "LISTENER", "Change how a listener accepts from now on", SET,
		OPTIONS(O(ACCEPT), O(ACCEPT_TIMEOUT), GATE_OPTIONS)),
	WAIT("listeners", "LISTENER", "listening"),
	RM("listeners", "LISTENER", "Stop listening; accepted connections stay"),
	KIND("buffers", "BUFFER", "buffer", "buffers", LIST_OPTIONS),
	COMMAND("buffers", "create", "[NAME]", "Register memory", .members = "name", CREATE,
		.text = "Needs --size. Peers can't reach the memory unless --access allows it.",
		OPTIONS(O(LABELS), O(KEEP_OBJECT), O(SHARE), O(SIZE), O(ACCESS), O(KIND),
			O(PAGE_SIZE), O(DEVICE), O(PD), O(RELAXED), O(ON_DEMAND))),
	COMMAND("buffers", "put", "BUFFER FILE", "Copy a file into a buffer", .members = "name",
		.run = vbd_ctl_buffer_put,
		.text = "FILE - is standard input. Without --create the buffer must exist and be "
			"long enough; the\nrest of a longer buffer is not changed. The other "
			"options describe the new buffer.",
		OPTIONS(O(OFFSET), O(CREATE), O(ACCESS), O(KIND), O(PAGE_SIZE), O(DEVICE), O(PD))),
	COMMAND("buffers", "get", "BUFFER", "Copy a buffer's bytes into a file",
		.run = vbd_ctl_buffer_get,
		.text = "Writes to standard output unless -o names a file; to a terminal only with "
			"-o -.",
		OPTIONS(O(OUTPUT), O(OFFSET), O(LENGTH))),
	COMMAND("buffers", "map", "BUFFER COMMAND...", "Run a command that can map a shared buffer",
		.run = vbd_ctl_buffer_map,
		.text = "The command gets a descriptor of the memory, whose number is in the "
			"environment variable\nVERBSD_BUFFER_FD. Needs the unix socket: -s "
			"unix:/PATH. Options of the command stand behind --.",
		OPTIONS(O(READ_ONLY))),
	COMMAND("buffers", "sum", "BUFFER", "Print the checksum of a buffer, or of a part of it",
		.run = vbd_ctl_buffer_sum, OPTIONS(O(ALGORITHM), O(OFFSET), O(LENGTH))),
	WAIT("buffers", "BUFFER", "ready"),
	RM("buffers", "BUFFER", "Deregister and free buffers"),
	KIND("windows", "WINDOW", "memory window", "memory windows", LIST_OPTIONS),
	COMMAND("windows", "create", "[NAME]",
		"Open a part of a buffer to peers, until the window is deleted", .members = "name",
		CREATE,
		.text = "Needs --buffer, created with --access mw_bind and all access of the "
			"window, "
			"and --connection.",
		OPTIONS(O(LABELS), O(BUFFER), O(CONNECTION), O(WINDOW_TYPE), O(WINDOW_OFFSET),
			O(WINDOW_SIZE), O(WINDOW_ACCESS), O(TIMEOUT), O(NO_WAIT))),
	WAIT("windows", "WINDOW", "ready"),
	RM("windows", "WINDOW", "Delete windows: peers can't use them any more"),
	KIND("transfers", "TRANSFER", "transfer", "transfers", LIST_OPTIONS),
	SHORT("write", "transfers", "write", "CONNECTION",
		"Write a local buffer into the peer's memory (RDMA write)", .members = "connection",
		.fixed = "op=write", .run = vbd_ctl_transfer_create, .text = ONE_SIDED_TEXT,
		OPTIONS(ONE_SIDED_OPTIONS, O(IMM))),
	SHORT("read", "transfers", "read", "CONNECTION",
		"Read the peer's memory into a local buffer (RDMA read)", .members = "connection",
		.fixed = "op=read", .run = vbd_ctl_transfer_create, .text = ONE_SIDED_TEXT,
		OPTIONS(ONE_SIDED_OPTIONS)),
	COMMAND("transfers", "fetch-add", "CONNECTION",
		"Add to eight bytes of the peer's memory, and print the old value",
		.members = "connection", .fixed = "op=fetch_add", .run = vbd_ctl_transfer_create,
		.text = "Needs --add and the peer's memory.\n" REMOTE_TEXT,
		OPTIONS(REMOTE_OPTIONS, O(ADD), O(TIMEOUT), O(NO_WAIT))),
	COMMAND("transfers", "compare-swap", "CONNECTION",
		"Replace eight bytes of the peer's memory if they have the expected value",
		.members = "connection", .fixed = "op=compare_swap", .run = vbd_ctl_transfer_create,
		.text = "Needs --compare, --swap and the peer's memory.\n" REMOTE_TEXT
			"\nPrints the old value; if that is --compare, it has been replaced.",
		OPTIONS(REMOTE_OPTIONS, O(COMPARE), O(SWAP), O(TIMEOUT), O(NO_WAIT))),
	COMMAND("transfers", "recv", "CONNECTION", "Receive one message into buffers",
		.members = "connection", .fixed = "op=recv", .run = vbd_ctl_transfer_create,
		.text = "The connection's service must be none: then the client posts all "
			"receives.",
		OPTIONS(O(BUFFER), O(OFFSET), O(LENGTH), O(SGES), O(TIMEOUT), O(NO_WAIT))),
	CANCEL("transfers", "TRANSFER", "transfers"),
	WAIT("transfers", "TRANSFER", "done"),
	RM("transfers", "TRANSFER", "Delete transfers; running ones are cancelled"),
	KIND("transfer-batches", "BATCH", "batch", "batches of transfers", LIST_OPTIONS),
	COMMAND("transfer-batches", "create", "FILE", "Start several transfers together",
		.run = vbd_ctl_batch_create,
		.text = "FILE, - for standard input, has a JSON array of transfers, each as POST "
			"/v1/transfers\ntakes it. If one of them is wrong, none is started. Waits "
			"until all have ended.",
		OPTIONS(O(NO_WAIT))),
	CANCEL("transfer-batches", "BATCH", "batches"),
	WAIT("transfer-batches", "BATCH", "done"),
	RM("transfer-batches", "BATCH", "Delete batches; their running transfers are cancelled"),
	KIND("kept-objects", "KEPT", "kept object", "the objects that verbsd keeps", LIST_OPTIONS),
	WAIT("kept-objects", "KEPT", "up"),
	RM("kept-objects", "KEPT", "Keep objects no longer; they stay as they are"),
	KIND("exports", "EXPORT", "export", "the directories that copies may use", LIST_OPTIONS),
	KIND("faults", "FAULT", "fault, and how often it has fired", "faults that are injected",
		O(SORT), O(LIMIT)),
	COMMAND("faults", "create", "EFFECT", "Inject a fault, to test how programs recover",
		.members = "effect", CREATE,
		.text = "EFFECT is hold_receives, delay_completions (with --delay), "
			"drop_completions, qp_error,\nrefuse_accepts or fail_call (with --call). "
			"verbsd must have fault_injection in its\nconfiguration.",
		OPTIONS(O(LABELS), O(NAME), O(FAULT_TARGET), O(FAULT_SELECTOR), O(FAULT_CALL),
			O(FAULT_ERRNO), O(FAULT_DELAY), O(FAULT_AFTER), O(FAULT_COUNT),
			O(FAULT_PROBABILITY), O(FAULT_EXPIRES))),
	RM("faults", "FAULT",
		"End faults; delayed completions are delivered, held receives posted"),
	KIND("connection-batches", "CONNECTION_BATCH", "batch of connections",
		"batches of connections", LIST_OPTIONS),
	CANCEL("connection-batches", "CONNECTION_BATCH",
		"batches: close connections that are not established yet"),
	WAIT("connection-batches", "CONNECTION_BATCH", "done"),
	RM("connection-batches", "CONNECTION_BATCH",
		"Delete batches; their established connections stay"),
	KIND("copies", "COPY", "copy of files", "copies of files", LIST_OPTIONS),
	SHORT("cp", "copies", "create", "SOURCE DESTINATION",
		"Copy files between an export here and one of another host", .members = "- -",
		.run = vbd_ctl_copy,
		.text = "SOURCE and DESTINATION are EXPORT:PATH for this host, and "
			"HOST:EXPORT/PATH "
			"or\nHOST:PORT:EXPORT/PATH (port 7474) for another host, where a listener "
			"has "
			"the service\nfiles. Waits until the copy has ended. An interrupt ends "
			"verbsctl, "
			"not the copy:\n`verbsctl copies cancel ID` does.",
		OPTIONS(O(LABELS), O(RECURSIVE), O(OVERWRITE), O(DEVICE), O(TIMEOUT), O(NO_WAIT))),
	CANCEL("copies", "COPY", "copies"),
	WAIT("copies", "COPY", "done"),
	RM("copies", "COPY", "Delete the records of copies; those that move are cancelled"),
	KIND("probes", "PROBE", "probe", "probes", LIST_OPTIONS),
	COMMAND("probes", "create", "CONNECTION", "Measure round trips over a connection",
		.members = "connection", CREATE,
		.text = "Runs until it is cancelled. Its kind is rping where the connection's "
			"service is\nrping_client and the peer runs `rping -s`; otherwise ack.",
		OPTIONS(O(LABELS), PROBE_OPTIONS, O(NO_WAIT))),
	SHORT("probe", "probes", "run", "CONNECTION",
		"Time round trips over a connection, as ping does", .members = "connection",
		.run = vbd_ctl_probe,
		.text = "Pings once a second, until interrupted or --count is reached, and deletes "
			"the probe.\nOnly the peer's device takes part, no program there: see "
			"--kind in verbsctl(1).",
		OPTIONS(PROBE_OPTIONS)),
	CANCEL("probes", "PROBE", "probes"),
	WAIT("probes", "PROBE", "done"),
	RM("probes", "PROBE", "Delete probes; running ones are stopped"),
	KIND("benchmarks", "BENCHMARK", "benchmark", "benchmarks", LIST_OPTIONS),
	COMMAND("benchmarks", "create", "CONNECTION", "Start to measure rate and latency",
		.members = "connection", .run = vbd_ctl_benchmark_create, .method = "POST",
		.put = vbd_ctl_object_put_brief,
		.text = "Takes the options of `verbsctl benchmarks run`. The benchmark stays until "
			"it is deleted.",
		OPTIONS(O(LABELS), BENCH_OPTIONS, O(NO_WAIT))),
	SHORT("bench", "benchmarks", "run", "CONNECTION",
		"Measure rate and latency of a connection", .members = "connection",
		.run = vbd_ctl_bench,
		.text = "Needs --size. A write or read also needs the peer's memory. A send needs "
			"the service sink\nat the peer. Messages of more than 16384 bytes need "
			"--buffer. Deletes the benchmark at the\nend.\n" REMOTE_TEXT,
		OPTIONS(BENCH_OPTIONS)),
	CANCEL("benchmarks", "BENCHMARK", "benchmarks"),
	WAIT("benchmarks", "BENCHMARK", "done"),
	RM("benchmarks", "BENCHMARK", "Delete benchmarks; running ones are stopped"),
	KIND("ud-endpoints", "ENDPOINT", "datagram endpoint", "datagram endpoints", LIST_OPTIONS),
	COMMAND("ud-endpoints", "create", "[NAME]", "Create an unreliable-datagram queue pair",
		.members = "name", CREATE,
		.text = "With --addr and --port, peers can find it by `verbsctl ud-peers resolve`.",
		OPTIONS(O(LABELS), O(ADDR), O(PORT), O(SERVICE), O(DEVICE), O(PORT_NUM),
			O(GID_INDEX), O(PKEY_INDEX), O(QKEY), O(PSN), PRIVATE_DATA_OPTIONS,
			O(SQ_DEPTH), O(RQ_DEPTH), O(RECV_SIZE), O(SEND_SGES), O(RECV_SGES),
			O(INLINE_SIZE), O(SIGNAL_EVERY))),
	COMMAND("ud-endpoints", "send", "ENDPOINT [TEXT]", "Send one datagram to --peer or --group",
		.run = vbd_ctl_send, .text = "The datagram must fit into the path MTU.",
		OPTIONS(O(PEER), O(GROUP), O(FILE), O(BUFFER), O(OFFSET), O(LENGTH), O(IMM),
			O(TIMEOUT), O(NO_WAIT))),
	COMMAND("ud-endpoints", "recv", "ENDPOINT", "Take datagrams out of an endpoint's inbox",
		.run = vbd_ctl_recv, OPTIONS(RECV_OPTIONS)),
	RM("ud-endpoints", "ENDPOINT", "Delete datagram endpoints"),
	KIND("ud-peers", "PEER", "peer of a datagram endpoint", "peers of datagram endpoints",
		LIST_OPTIONS),
	COMMAND("ud-peers", "resolve", "HOST:PORT", "Ask a peer's CM for its queue pair (SIDR)",
		.members = "dst_addr,dst_port", CREATE, .text = "Needs --endpoint.",
		OPTIONS(O(NAME), O(ENDPOINT), PRIVATE_DATA_OPTIONS, O(TIMEOUT), O(NO_WAIT))),
	COMMAND("ud-peers", "create", "[NAME]",
		"Create a peer from known values, or from the sender of a message",
		.members = "name", CREATE,
		.text = "Needs --endpoint, and --gid or --lid with --qpn and --qkey, or --message.",
		OPTIONS(O(LABELS), O(ENDPOINT), O(GID), O(LID), O(QPN), O(QKEY), O(SL),
			O(GID_INDEX), O(PEER_MESSAGE))),
	WAIT("ud-peers", "PEER", "ready"),
	RM("ud-peers", "PEER", "Delete peers"),
	KIND("multicast-memberships", "GROUP", "membership of a multicast group",
		"memberships of multicast groups", LIST_OPTIONS),
	COMMAND("multicast-memberships", "create", "[NAME]", "Join a multicast group",
		.members = "name", CREATE, .text = "Needs --endpoint and --addr.",
		OPTIONS(O(LABELS), O(ENDPOINT), O(ADDR), O(GROUP_MODE), O(TIMEOUT), O(NO_WAIT))),
	WAIT("multicast-memberships", "GROUP", "joined"),
	RM("multicast-memberships", "GROUP", "Leave multicast groups"),
	KIND("pds", "PD", "protection domain", "protection domains", O(SORT), O(LIMIT)),
	COMMAND("pds", "create", "[NAME]", "Create a protection domain", .members = "name", CREATE,
		OPTIONS(O(LABELS), O(DEVICE))),
	RM("pds", "PD", "Delete protection domains"),
	KIND("cqs", "CQ", "completion queue", "completion queues", O(SORT), O(LIMIT)),
	COMMAND("cqs", "create", "[NAME]", "Create a completion queue", .members = "name", CREATE,
		OPTIONS(O(LABELS), O(DEVICE), O(DEPTH_CQE), O(MODERATION_COUNT),
			O(MODERATION_PERIOD))),
	COMMAND("cqs", "set", "CQ", "Resize a completion queue, or change its moderation", SET,
		OPTIONS(O(DEPTH_CQE), O(MODERATION_COUNT), O(MODERATION_PERIOD))),
	RM("cqs", "CQ", "Delete completion queues"),
	KIND("srqs", "SRQ", "shared receive queue", "shared receive queues", O(SORT), O(LIMIT)),
	COMMAND("srqs", "create", "[NAME]", "Create a shared receive queue", .members = "name",
		CREATE,
		OPTIONS(O(LABELS), O(DEVICE), O(PD), O(CQ), O(SRQ_DEPTH), O(SRQ_RECV_SIZE),
			O(SRQ_LIMIT))),
	COMMAND("srqs", "set", "SRQ", "Change the limit below which receives are posted again", SET,
		OPTIONS(O(SRQ_LIMIT))),
	RM("srqs", "SRQ", "Delete shared receive queues"),
	COMMAND("devices", "ls", "", "List RDMA devices and their ports", RUN(list),
		OPTIONS(LIST_OPTIONS)),
	COMMAND("devices", "show", "DEVICE", "Show one device: ports, GIDs, limits, counters",
		ACT("GET", vbd_ctl_object_put_full)),
	COMMAND("events", "ls", "", "Print the event log; with -f also new events",
		.run = vbd_ctl_events,
		.text = "-f prints events from now on, after the last N events with -n N. It "
			"continues when\nverbsd was restarted or out of reach, and reports lost "
			"events.",
		OPTIONS(O(FOLLOW), O(LINES), O(AFTER), O(TYPE), O(CODE), O(OBJECT), O(SEVERITY))),
	COMMAND("glossary", "ls", "", "List all names that `glossary show` explains",
		ACT("GET", vbd_ctl_put_names)),
	COMMAND("glossary", "show", "NAME",
		"Say what a code, status, event or state means, and what to do",
		ACT("GET", vbd_ctl_put_names),
		.text = "For example IBV_WC_RETRY_EXC_ERR or rnr_exceeded."),
	COMMAND("reachability", "show", "HOST[:PORT]",
		"Say which device, route and GID a connection to a host would use",
		.members = "dst_addr,dst_port", ACT("GET", vbd_ctl_put_explanation),
		.text = "Also says what would prevent the connection. Sends nothing to the host.",
		OPTIONS(O(SRC), O(DEVICE))),
	COMMAND("status", "show", "", "Show whether verbsd is ready, and your name and role",
		.run = vbd_ctl_status,
		.text = "Also shows whether verbsd drains, and how much of your quotas is used. "
			"Exits with 1\nwhen verbsd is not ready."),
	SHORT("drain", "daemon", "drain", "", "Begin nothing new, and let transfers finish",
		.run = vbd_ctl_daemon_drain,
		.text = "Needs the control role. Open connections stay.",
		OPTIONS(O(DRAIN_DEADLINE), O(DRAIN_WAIT))),
	SHORT("undrain", "daemon", "undrain", "", "Take the drain back: serve again",
		ACT("DELETE", NULL), .text = "Needs the control role."),
	COMMAND("config", "reload", "", "Read the configuration again, without a restart",
		ACT("POST", vbd_ctl_put_changes),
		.text = "Needs the control role. A fault in a file leaves all as it was."),
	COMMAND("version", "show", "", "Print the versions of verbsctl and of verbsd",
		.run = vbd_ctl_version),
	SCRIPT("bash", "source <(verbsctl completion bash)"),
	SCRIPT("zsh", "source <(verbsctl completion zsh)"),
	SCRIPT("fish", "verbsctl completion fish | source"),
	/* For the completion scripts: no noun of --help. */
	{.noun = "__complete", .verb = "", .usage = "WORD..."},
};
const size_t vbd_ctl_command_count = VBD_ARRAY_LEN(vbd_ctl_commands);
