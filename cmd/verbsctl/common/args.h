/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of the command line. Every option stands once in VBD_CTL_OPT_MAP with its type and
 * the member of the API that it sets; commands (cmd/verbsctl/command.h) list the options they take.
 * Parsing, --help, completion, request bodies and queries use these rows.
 *
 * One thread. Nothing here blocks.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_ARGS_H
#define VBD_CMD_VERBSCTL_COMMON_ARGS_H

#include "cmd/verbsctl/common/text.h"

#include <jansson.h>

/* Syntax of an option's value, and its type in JSON. */
enum vbd_ctl_kind {
	VBD_CTL_KIND_FLAG,
	VBD_CTL_KIND_TEXT,
	VBD_CTL_KIND_REF,    /* an id becomes an integer, a name becomes a string */
	VBD_CTL_KIND_LIST,   /* comma-separated; becomes an array of strings */
	VBD_CTL_KIND_LABELS, /* KEY=VALUE, comma-separated; becomes an object of strings */
	/* Numbers. */
	VBD_CTL_KIND_UINT,
	VBD_CTL_KIND_HEX,
	VBD_CTL_KIND_SIZE, /* a number of bytes */
	VBD_CTL_KIND_TIME, /* a time; becomes milliseconds */
};

/*
 * X(SYMBOL without VBD_CTL_OPT_, name, letter or 0, kind, placeholder,
 *   member of the body or the query or NULL, help)
 *
 * A placeholder with bars ("auto|manual") lists values for completion; the server validates the
 * value, because a newer server may know more of them. For a placeholder in capitals that names a
 * kind of object ("BUFFER"), completion fetches names from the server. A member that begins with
 * "=" is not set from the row but by the command itself.
 */
/* The parameters of a connection's queue pair, for each command that makes one. */
#define VBD_CTL_QP_OPT_MAP(X)                                                                      \
	X(SQ_DEPTH, "sq-depth", 0, UINT, "N", "qp.sq_depth",                                       \
		"most send work requests outstanding")                                             \
	X(RQ_DEPTH, "rq-depth", 0, UINT, "N", "qp.rq_depth", "receives kept posted")               \
	X(RECV_SIZE, "recv-size", 0, SIZE, "BYTES", "qp.recv_size_bytes",                          \
		"longest message that can be received")                                            \
	X(RETRY_COUNT, "retry-count", 0, UINT, "N", "qp.retry_count", "transport retries, 0 to 7") \
	X(RNR_RETRY, "rnr-retry", 0, UINT, "N", "qp.rnr_retry",                                    \
		"receiver-not-ready retries; 7 is for ever")                                       \
	X(ACK_TIMEOUT, "ack-timeout", 0, UINT, "N", "qp.ack_timeout",                              \
		"ACK timeout, 4.096 us x 2^N; 0 is for ever")                                      \
	X(MIN_RNR_TIMER, "min-rnr-timer", 0, UINT, "N", "qp.min_rnr_timer",                        \
		"delay asked of a sender, an IBTA code; 12 is 0.64 ms")                            \
	X(RESPONDER_RESOURCES, "responder-resources", 0, UINT, "N", "qp.responder_resources",      \
		"most RDMA reads of the peer outstanding")                                         \
	X(INITIATOR_DEPTH, "initiator-depth", 0, UINT, "N", "qp.initiator_depth",                  \
		"most RDMA reads of this side outstanding")                                        \
	X(SIGNAL_EVERY, "signal-every", 0, UINT, "N", "qp.signal_every",                           \
		"request a completion for every Nth work request only")                            \
	X(POLL, "poll", 0, TEXT, "events|busy|adaptive", "qp.poll",                                \
		"how the daemon waits for completions; busy takes a whole processor")              \
	X(SPIN, "spin", 0, UINT, "US", "qp.spin_us",                                               \
		"with --poll adaptive: how long to poll before sleeping, in us")                   \
	X(HEARTBEAT, "heartbeat", 0, TIME, "TIME", "qp.heartbeat_ms",                              \
		"after TIME without a sign of life ask the peer's device for one; 0: never")       \
	X(SEND_SGES, "max-send-sge", 0, UINT, "N", "qp.max_send_sge",                              \
		"most memory ranges of a send, write or read")                                     \
	X(RECV_SGES, "max-recv-sge", 0, UINT, "N", "qp.max_recv_sge",                              \
		"most memory ranges of a receive")                                                 \
	X(INLINE_SIZE, "inline-size", 0, SIZE, "BYTES", "qp.inline_bytes",                         \
		"most inline bytes of a work request")                                             \
	X(PATH_MTU, "path-mtu", 0, UINT, "256|512|1024|2048|4096", "qp.path_mtu_bytes",            \
		"largest path MTU to use")                                                         \
	X(REMOTE_ACCESS, "remote-access", 0, LIST, "remote_write|remote_read|remote_atomic",       \
		"qp.remote_access", "what the peer may do; several are separated by commas")       \
	X(QP_PD, "pd", 0, REF, "PD", "qp.pd", "protection domain (default: the device's own)")     \
	X(QP_CQ, "cq", 0, REF, "CQ", "qp.cq", "completion queue (default: one with room)")         \
	X(QP_SRQ, "srq", 0, REF, "SRQ", "qp.srq", "shared receive queue to take receives from")

#define VBD_CTL_OPT_MAP(X)                                                                         \
	X(SERVER, "server", 's', TEXT, "URL", NULL,                                                \
		"where verbsd listens: https://HOST:PORT, http://HOST:PORT or unix:/PATH")         \
	X(TOKEN_FILE, "token-file", 0, TEXT, "FILE", NULL, "file whose first line is the token")   \
	X(CA, "ca", 0, TEXT, "FILE", NULL,                                                         \
		"CA of the server's certificate (default: the system's)")                          \
	X(CERT, "cert", 0, TEXT, "FILE", NULL, "certificate that says who you are")                \
	X(KEY, "key", 0, TEXT, "FILE", NULL, "its key (default: in the file of --cert)")           \
	X(INSECURE, "insecure", 0, FLAG, NULL, NULL, "send a token to another host in clear")      \
	X(JSON, "json", 0, FLAG, NULL, NULL, "print the server's JSON")                            \
	X(FORMAT, "output", 'o', TEXT, "json|text", NULL, "-o json is --json")                     \
	X(HELP, "help", 'h', FLAG, NULL, NULL, "explain the command")                              \
	X(VERSION, "version", 'V', FLAG, NULL, NULL, "print the version")                          \
	X(NAME, "name", 0, TEXT, "NAME", "name", "name of the new object")                         \
	X(LISTENER_SERVICE, "service", 0, TEXT, "inbox|echo|sink|rping|rping_client|none|files",   \
		"service", "how incoming messages are handled; files: copies of peers")            \
	X(SERVICE, "service", 0, TEXT, "inbox|echo|sink|rping|rping_client|none", "service",       \
		"how incoming messages are handled")                                               \
	X(ACCEPT, "accept", 0, TEXT, "auto|manual|reject", "accept",                               \
		"how connect requests are answered")                                               \
	X(ACCEPT_TIMEOUT, "accept-timeout", 0, TIME, "TIME", "accept_timeout_ms",                  \
		"how long a request waits for accept or reject")                                   \
	X(ALLOW, "allow", 0, LIST, "NET,...", "allow",                                             \
		"networks, addresses and GIDs that may connect; default: every peer")              \
	X(MAX_CONNECTIONS, "max-connections", 0, UINT, "N", "max_connections",                     \
		"connections that the listener may have; 0: no limit")                             \
	X(MAX_PER_PEER, "max-per-peer", 0, UINT, "N", "max_per_peer",                              \
		"connections from one address; 0: no limit")                                       \
	X(CONNECTS_PER_S, "connects-per-s", 0, UINT, "N", "connects_per_s",                        \
		"connect requests a second; 0: no limit")                                          \
	X(CONNECTS_BURST, "connects-burst", 0, UINT, "N", "connects_burst",                        \
		"connect requests at once; default: those of a second")                            \
	X(BACKLOG, "backlog", 0, UINT, "N", "backlog", "connect requests that the kernel queues")  \
	X(TIMEOUT, "timeout", 0, TIME, "TIME", "timeout_ms", "deadline for the whole operation")   \
	X(WAIT, "timeout", 0, TIME, "TIME", NULL, "give up after this long without a message")     \
	X(SRC, "src", 0, TEXT, "ADDR", "src_addr", "address to connect from")                      \
	X(TOS, "tos", 0, UINT, "N", "tos", "type of service of the path")                          \
	VBD_CTL_QP_OPT_MAP(X)                                                                      \
	X(PRIVATE_DATA, "private-data", 0, TEXT, "TEXT", "private_data.data",                      \
		"bytes for the peer's program in the CM message")                                  \
	X(PRIVATE_ENCODING, "private-encoding", 0, TEXT, "text|hex|base64",                        \
		"private_data.encoding", "encoding of --private-data")                             \
	X(REJECT_REASON, "reason", 0, TEXT, "consumer_defined|vendor_option_not_supported",        \
		"reason", "reject reason for the peer's CM")                                       \
	X(SRC_PORT, "src-port", 0, UINT, "PORT", "src_port", "port to connect from")               \
	X(REUSE_ADDR, "reuse-addr", 0, FLAG, NULL, "reuse_addr",                                   \
		"share the address with other sockets that allow it")                              \
	X(V6_ONLY, "v6-only", 0, FLAG, NULL, "v6_only", "accept no IPv4 on an IPv6 address")       \
	X(QP_TYPE, "qp-type", 0, TEXT, "rc|uc", "qp_type", "type of the queue pair")               \
	X(PORT_NUM, "port-num", 0, UINT, "N", "port_num", "port of the device")                    \
	X(GID_INDEX, "gid-index", 0, UINT, "N", "gid_index", "entry of the port's GID table")      \
	X(PKEY_INDEX, "pkey-index", 0, UINT, "N", "pkey_index", "entry of the port's P_Key table") \
	X(SL, "sl", 0, UINT, "N", "sl", "service level of the path")                               \
	X(PSN, "psn", 0, UINT, "N", "psn", "first packet number (default: random)")                \
	X(INITIAL_STATE, "initial-state", 0, TEXT, "RESET|INIT", "initial_state",                  \
		"first state of the queue pair")                                                   \
	X(FROM, "from", 0, TEXT, "URL#CONNECTION", NULL,                                           \
		"get the values from the peer's verbsd; #CONNECTION: from this one")               \
	X(GID, "gid", 0, TEXT, "GID", "gid", "the peer's GID")                                     \
	X(LID, "lid", 0, UINT, "N", "lid", "the peer's LID (InfiniBand)")                          \
	X(QPN, "qpn", 0, UINT, "N", "qpn", "the peer's queue pair number")                         \
	X(QKEY, "qkey", 0, HEX, "HEX", "qkey", "Q_Key")                                            \
	X(MTU, "mtu", 0, UINT, "256|512|1024|2048|4096", "port_mtu_bytes", "the peer's MTU")       \
	X(BRING_TO, "bring-to", 0, TEXT, "RTR|RTS", "bring_to", "state to move the queue pair to") \
	X(DEPTH_CQE, "depth", 0, UINT, "N", "cqe", "completions that the queue can hold")          \
	X(MODERATION_COUNT, "moderation-count", 0, UINT, "N", "moderation.count",                  \
		"completions for each event")                                                      \
	X(MODERATION_PERIOD, "moderation-period", 0, UINT, "MICROSECONDS", "moderation.period_us", \
		"longest delay of an event")                                                       \
	X(PD, "pd", 0, REF, "PD", "pd", "protection domain (default: the device's own)")           \
	X(CQ, "cq", 0, REF, "CQ", "cq", "completion queue (default: one with room)")               \
	X(SRQ_DEPTH, "depth", 0, UINT, "N", "max_wr", "receives that the queue holds")             \
	X(SRQ_RECV_SIZE, "recv-size", 0, SIZE, "BYTES", "recv_size_bytes",                         \
		"longest message that can be received")                                            \
	X(SRQ_LIMIT, "limit", 0, UINT, "N", "srq_limit",                                           \
		"post receives again below this number; 0: at once")                               \
	X(ADDR, "addr", 0, TEXT, "ADDR", "addr", "numeric address")                                \
	X(PORT, "port", 0, UINT, "PORT", "port", "port at which peers resolve the endpoint")       \
	X(ENDPOINT, "endpoint", 0, REF, "ENDPOINT", "ud_endpoint", "the endpoint to use")          \
	X(PEER_MESSAGE, "message", 0, UINT, "SEQ", "message_seq", "the sender of this message")    \
	X(PEER, "peer", 0, REF, "PEER", "ud_peer", "the peer to send to")                          \
	X(GROUP, "group", 0, REF, "GROUP", "multicast_membership",                                 \
		"the multicast group to send to")                                                  \
	X(GROUP_MODE, "mode", 0, TEXT, "full|send_only", "mode", "kind of membership")             \
	X(WINDOW_TYPE, "type", 0, UINT, "1|2", "type", "type of the memory window")                \
	X(WINDOW_ACCESS, "access", 0, LIST, "remote_write|remote_read|remote_atomic", "access",    \
		"what peers may do, separated by commas")                                          \
	X(PROBE_KIND, "kind", 0, TEXT, "ack|rping|echo", "kind", "kind of ping")                   \
	X(INTERVAL, "interval", 0, TIME, "TIME", "interval_ms", "time from ping to ping")          \
	X(PROBE_COUNT, "count", 'n', UINT, "N", "count", "round trips")                            \
	X(PROBE_SIZE, "size", 0, SIZE, "BYTES", "size_bytes", "payload of each message")           \
	X(BENCH_OP, "op", 0, TEXT, "write|read|send", "op",                                        \
		"operation to measure: by default write with memory of the peer, else send")       \
	X(BENCH_COUNT, "count", 'n', UINT, "N", "count",                                           \
		"number of messages, instead of --duration")                                       \
	X(DURATION, "duration", 0, TIME, "TIME", "duration_ms", "time to post messages for")       \
	X(IMM, "imm", 0, UINT, "N", "imm", "immediate data, which the peer sees with the message") \
	X(INLINE, "inline", 0, FLAG, NULL, "inline", "send the bytes inline in the work request")  \
	X(TX_DEPTH, "tx-depth", 0, UINT, "N", "tx_depth", "maximum outstanding work requests")     \
	X(IF_NOT_ESTABLISHED, "if-not-established", 0, TEXT, "refuse|wait", "if_not_established",  \
		"wait for a kept connection that is being made again")                             \
	X(MESSAGE_SIZE, "message-size", 0, SIZE, "BYTES", "message_bytes",                         \
		"split the range of --buffer into messages of this length")                        \
	X(PAGE_SIZE, "page-size", 0, SIZE, "BYTES", "page_size_bytes", "size of the huge pages")   \
	X(SGES, "sges", 0, TEXT, "BUFFER:OFFSET:LENGTH,...", "=sges",                              \
		"one work request of these ranges, instead of --buffer")                           \
	X(ADD, "add", 0, HEX, "HEX", "add", "value to add")                                        \
	X(COMPARE, "compare", 0, HEX, "HEX", "compare", "expected value")                          \
	X(SWAP, "swap", 0, HEX, "HEX", "swap", "new value")                                        \
	X(FAULT_TARGET, "target", 0, REF, "REF", "target",                                         \
		"only this connection, or listener (refuse_accepts); default: every one")          \
	X(FAULT_SELECTOR, "selector", 0, TEXT, "KEY=VALUE,...", "selector",                        \
		"only connections or listeners with these labels")                                 \
	X(FAULT_CALL, "call", 0, TEXT, "CALL", "call", "fail_call: the call, as in create_qp")     \
	X(FAULT_ERRNO, "errno", 0, TEXT, "ERRNO", "errno", "fail_call: the errno (default: EIO)")  \
	X(FAULT_DELAY, "delay", 0, TIME, "TIME", "delay_ms", "delay_completions: how long")        \
	X(FAULT_AFTER, "after", 0, UINT, "N", "after", "let N occasions pass first")               \
	X(FAULT_COUNT, "count", 'n', UINT, "N", "count", "hit N occasions (default: all)")         \
	X(FAULT_PROBABILITY, "probability", 0, UINT, "PERCENT", "probability_percent",             \
		"hit this part of the occasions")                                                  \
	X(FAULT_EXPIRES, "expires", 0, TIME, "TIME", "expires_ms",                                 \
		"delete the fault after this time (default: 10m)")                                 \
	X(DRAIN_DEADLINE, "deadline", 0, TIME, "TIME", "deadline_ms",                              \
		"cancel transfers that are still under way then")                                  \
	X(DRAIN_WAIT, "wait", 0, FLAG, NULL, NULL,                                                 \
		"return when no transfer is under way any more")                                   \
	X(RECURSIVE, "recursive", 'r', FLAG, NULL, "recursive",                                    \
		"copy a directory with everything in it")                                          \
	X(OVERWRITE, "overwrite", 0, TEXT, "never|if_newer|if_different|always", "overwrite",      \
		"when to replace a file that is there (if_different)")                             \
	X(NO_WAIT, "no-wait", 0, FLAG, NULL, NULL, "return as soon as the operation has started")  \
	X(LABELS, "label", 0, LABELS, "KEY=VALUE,...", "labels", "labels of the new object")       \
	X(LABEL, "label", 0, TEXT, "KEY=VALUE,...", "label",                                       \
		"only objects with these labels; a key alone stands for any value")                \
	X(SELECTED, "label", 0, TEXT, "KEY=VALUE,...", "label",                                    \
		"all objects with these labels, instead of operands")                              \
	X(EVERY, "all", 0, FLAG, NULL, "all",                                                      \
		"all objects that you may change, instead of operands")                            \
	X(DRY_RUN, "dry-run", 0, FLAG, NULL, "dry_run",                                            \
		"with --label or --all: say which objects are selected, and do nothing")           \
	X(ALIKE, "count", 'n', UINT, "N", "count",                                                 \
		"make N connections alike; with a name they are NAME-1 to NAME-N")                 \
	X(KEEP_OBJECT, "keep", 0, FLAG, NULL, "keep",                                              \
		"let verbsd make it again after a start, and when it has gone; needs a name")      \
	X(SHARE, "share", 0, TEXT, "operators", "share",                                           \
		"let all operators use it; needs the control role")                                \
	X(RECONNECT, "reconnect", 0, TEXT, "always|on_failure|never", "reconnect",                 \
		"with --keep: when another connection follows one that has ended")                 \
	X(STATE, "state", 0, TEXT, "STATES", "state",                                              \
		"only objects in these states, such as open,ended; default: open")                 \
	X(UNTIL, "until", 0, TEXT, "STATE", "=until",                                              \
		"state to wait for; also open, ended, changed")                                    \
	X(WAIT_TIMEOUT, "timeout", 0, TIME, "TIME", NULL, "give up after this long")               \
	X(SORT, "sort", 0, TEXT, "MEMBER", "sort",                                                 \
		"sort by this member; -MEMBER reverses the order")                                 \
	X(HISTORY_SORT, "sort", 0, TEXT, "ended_at|end_code|duration|bytes|name|state|device",     \
		"sort", "sort by this member; a leading - reverses the order (-ended_at)")         \
	X(LIMIT, "limit", 0, UINT, "N", NULL, "show N at most")                                    \
	X(SIZE, "size", 0, SIZE, "BYTES", "size_bytes",                                            \
		"size of the buffer (K, M, G: powers of 1024)")                                    \
	X(KIND, "kind", 0, TEXT, "anonymous|shared|hugepage", "kind",                              \
		"shared: local programs can map it")                                               \
	X(ACCESS, "access", 0, LIST, "remote_write|remote_read|remote_atomic|mw_bind", "access",   \
		"what peers may do, separated by commas")                                          \
	X(DEVICE, "device", 0, REF, "DEVICE", "device", "the device to use")                       \
	X(RELAXED, "relaxed-ordering", 0, FLAG, NULL, "relaxed_ordering",                          \
		"writes of peers may become visible in another order")                             \
	X(ON_DEMAND, "on-demand", 0, FLAG, NULL, "on_demand_paging",                               \
		"pin a page only when it is used")                                                 \
	X(WINDOW_OFFSET, "offset", 0, SIZE, "BYTES", "buffer_offset_bytes",                        \
		"start at this offset of the buffer")                                              \
	X(WINDOW_SIZE, "length", 0, SIZE, "BYTES", "size_bytes",                                   \
		"number of bytes (default: to the buffer's end)")                                  \
	X(OFFSET, "offset", 0, SIZE, "BYTES", "offset_bytes",                                      \
		"start at this offset of the buffer")                                              \
	X(LENGTH, "length", 0, SIZE, "BYTES", "length_bytes",                                      \
		"number of bytes (default: to the buffer's end)")                                  \
	X(READ_ONLY, "read-only", 0, FLAG, NULL, NULL, "get a descriptor that can't write")        \
	X(CREATE, "create", 0, FLAG, NULL, NULL, "create the buffer, of the file's size")          \
	X(ALGORITHM, "algorithm", 0, TEXT, "crc32c|sha256", "algorithm", "kind of checksum")       \
	X(OUTPUT, "output", 'o', TEXT, "FILE", NULL, "write to FILE; - is standard output")        \
	X(CONNECTION, "connection", 0, REF, "CONNECTION", "connection", "the connection to use")   \
	X(BUFFER, "buffer", 0, REF, "BUFFER", "buffer", "the local buffer")                        \
	X(REMOTE, "remote", 0, TEXT, "URL#BUFFER", "=remote",                                      \
		"get address and key from the peer's verbsd; #BUFFER: from this one")              \
	X(REMOTE_OFFSET, "remote-offset", 0, SIZE, "BYTES", "remote.offset_bytes",                 \
		"start at this offset of the peer's buffer")                                       \
	X(REMOTE_ADDR, "remote-addr", 0, HEX, "HEX", "remote.addr",                                \
		"remote address, if the peer has no verbsd")                                       \
	X(REMOTE_RKEY, "remote-rkey", 0, HEX, "HEX", "remote.rkey",                                \
		"remote key for --remote-addr")                                                    \
	X(PEER_TOKEN_FILE, "peer-token-file", 0, TEXT, "FILE", NULL,                               \
		"token for the peer's verbsd")                                                     \
	X(CHUNK_SIZE, "chunk-size", 0, SIZE, "BYTES", "chunk_bytes",                               \
		"longest single work request")                                                     \
	X(FILE, "file", 0, TEXT, "FILE", "=data", "send the bytes of FILE; - is standard input")   \
	X(FOLLOW_MESSAGES, "follow", 'f', FLAG, NULL, NULL, "go on until the connection ends")     \
	X(COUNT, "count", 'n', UINT, "N", NULL, "wait for N messages, then end")                   \
	X(KEEP, "keep", 0, FLAG, NULL, NULL, "leave the messages in the inbox")                    \
	X(RAW, "raw", 0, FLAG, NULL, NULL, "write only the bytes, with nothing between messages")  \
	X(FOLLOW, "follow", 'f', FLAG, NULL, NULL, "wait for more, until interrupted")             \
	X(LINES, "lines", 'n', UINT, "N", NULL, "only the last N events of the log")               \
	X(AFTER, "after", 0, TEXT, "PLACE", NULL,                                                  \
		"only events after this one: `next` of a list, oldest, or now")                    \
	X(TYPE, "type", 0, TEXT, "TYPE[,TYPE...]", "type", "only events of these types")           \
	X(CODE, "code", 0, TEXT, "CODE", "code", "only events with this code, as in rejected")     \
	X(OBJECT, "object", 0, TEXT, "KIND[/REF]", "object",                                       \
		"only events of one kind (connection) or object (connection/to-b)")                \
	X(SEVERITY, "severity", 0, TEXT, "debug|info|notice|warning|error", "severity",            \
		"only events of at least this severity")                                           \
	X(TOP_INTERVAL, "interval", 'd', TIME, "TIME", NULL, "time between two readings (1 s)")    \
	X(FILTER, "filter", 0, TEXT, "TEXT", NULL, "only connections that show this text")         \
	X(ALL, "all", 'a', FLAG, NULL, NULL, "show ended connections too")                         \
	X(TOP_SORT, "sort", 0, TEXT,                                                               \
		"id|name|state|peer|device|sent/s|recv/s|ops/s|cq|rtt|rtt99|sent|recv|end_code",   \
		NULL, "sort by this column")

#define VBD_CTL_OPTIONS_MAX 48 /* options of one command, and the end */

#define VBD_CTL_OPT_ROW(sym, ...) VBD_CTL_OPT_##sym,
enum vbd_ctl_opt { VBD_CTL_OPT_NONE, VBD_CTL_OPT_MAP(VBD_CTL_OPT_ROW) VBD_CTL_OPT_END };

/* One row of the map. */
struct vbd_ctl_opt_spec {
	const char *name;
	char letter; /* 0 for none */
	enum vbd_ctl_kind kind;
	const char *placeholder; /* NULL for a flag */
	const char *member;	 /* NULL if the server does not get the option */
	const char *help;
};

struct vbd_ctl;
struct vbd_ctl_noun;

/* A command: one row of the table in cmd/verbsctl/table.c. */
struct vbd_ctl_command {
	const char *noun;  /* the first word */
	const char *verb;  /* the second word */
	const char *usage; /* operands: "BUFFER FILE"; [X] may be left out, X... may be repeated */
	const char *alias; /* the short form of both words, or NULL */
	const char *members; /* members that the operands set, one word each; NULL for none */
	const char *fixed;   /* "op=write": a member that the command sets; NULL for none */
	const char *summary;
	const char *text;			       /* text that --help adds, or NULL */
	enum vbd_ctl_opt options[VBD_CTL_OPTIONS_MAX]; /* NONE ends them */
	void (*run)(struct vbd_ctl *ctl);
	/* A command of one request (vbd_ctl_object_act()). */
	const char *method;
	const char *tail; /* behind the path of the object, which is the first operand, or of the
			   * collection, if the operands are members of the request */
	int wait_s;	  /* longest wait for the answer; 0: the longest there is, with --no-wait */
	void (*put)(struct vbd_ctl *ctl, json_t *answer); /* prints the answer; NULL: nothing */
};

/* A parsed command line. Texts point into argv. */
struct vbd_ctl_args {
	const struct vbd_ctl_command *command; /* NULL until a command is found */
	const struct vbd_ctl_noun *kind;       /* the noun of @command */
	char called[40];		   /* the command as it was typed: "buffers put", or "ls" */
	const char *noun;		   /* "buffers" of "verbsctl buffers --help"; else NULL */
	const char *text[VBD_CTL_OPT_END]; /* NULL when not given; "" for a flag */
	uint64_t number[VBD_CTL_OPT_END];  /* values of the numeric kinds, in the unit of the API */
	char **operands;
	size_t operand_count;
};

/** vbd_ctl_opt_spec - the row of an option */
const struct vbd_ctl_opt_spec *vbd_ctl_opt_spec(enum vbd_ctl_opt opt);

/** vbd_ctl_args_has - whether the option was given */
bool vbd_ctl_args_has(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt);

/** vbd_ctl_takes - whether the command has the option */
bool vbd_ctl_takes(const struct vbd_ctl_args *args, enum vbd_ctl_opt opt);

/** vbd_ctl_word - the word at index @i of a text whose words are separated by spaces; NULL behind
 * the last word */
char *vbd_ctl_word(const char *text, size_t i);

/**
 * vbd_ctl_args_setter - the option or operand of the command that sets a member of the request, or
 * an object around it
 * @name: JSON pointer ("/qp/sq_depth") or query parameter ("state")
 *
 * Returns "--sq-depth", or the placeholder of an operand, "HOST:PORT"; NULL if the command takes
 * nothing for it.
 */
char *vbd_ctl_args_setter(const struct vbd_ctl_args *args, const char *name);

/** vbd_ctl_is_word - whether @word is among words that spaces, or commas, separate */
bool vbd_ctl_is_word(const char *words, const char *word);

/**
 * vbd_ctl_refuse - print an error in the command line, after the name of the command, and end with
 * VBD_CTL_USAGE
 * @fmt: printf(3) format without full stop and newline
 */
_Noreturn void vbd_ctl_refuse(const struct vbd_ctl_args *args, const char *fmt, ...)
	VBD_PRINTF(2, 3);

/** vbd_ctl_args_body - build a request body from the options and operands that have a member, and
 * from what is fixed; prints that an operand is malformed, and ends */
json_t *vbd_ctl_args_body(const struct vbd_ctl_args *args);

/**
 * vbd_ctl_args_query - the members of vbd_ctl_args_body() as a query
 * @separator: character before the first one: '?' or '&'
 */
char *vbd_ctl_args_query(const struct vbd_ctl_args *args, char separator);

#endif
