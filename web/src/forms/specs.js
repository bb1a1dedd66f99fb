// SPDX-License-Identifier: Apache-2.0
//
// The forms: the fields of each, and the request it makes. Ranges and defaults are those of openapi.yaml; a test compares
// them. Pure.
import { collect } from "./fields.js";

const NAME = { name: "name", label: "Name", kind: "text", hint: "optional; may be used instead of the id" };
const SERVICES = ["inbox", "echo", "sink", "rping", "rping_client", "none"];
const SERVICE = {
	name: "service",
	label: "Service",
	kind: "choice",
	options: SERVICES,
	initial: "inbox",
	omit: "inbox",
	hint: "what happens to incoming messages",
};
const DEVICE = { name: "device", label: "Device", kind: "ref", from: "devices", more: true };
const ENDPOINT = { name: "ud_endpoint", label: "Endpoint", kind: "ref", from: "endpoints", required: true };
const CONNECTION = { name: "connection", label: "Connection", kind: "ref", from: "connections", required: true };
const GIVE_UP = { name: "timeout_ms", label: "Give up after (ms)", kind: "integer", min: 1, max: 3600000, more: true };
const JOIN_MS = { ...GIVE_UP, max: 600000, omit: 10000 };
const DEPTH = { name: "tx_depth", label: "Outstanding at most", kind: "integer", min: 1, max: 16384 };
const RIGHTS = [
	{ value: "remote_write", label: "write" },
	{ value: "remote_read", label: "read" },
	{ value: "remote_atomic", label: "use atomics" },
];
const OP = {
	name: "op",
	label: "Operation",
	kind: "choice",
	initial: "write",
	options: [
		{ value: "write", label: "write to the peer's memory" },
		{ value: "read", label: "read from the peer's memory" },
		{ value: "send", label: "send messages" },
	],
};
const ATOMICS = ["fetch_add", "compare_swap"];
const isSend = ({ op }) => op === "send" || op === "send_imm";

function qp(name, label, more) {
	return { name, pointer: `/qp/${name}`, label, kind: "integer", more: true, ...more };
}

const queueFields = (recv_size_bytes) => [
	qp("sq_depth", "Send queue depth", { min: 1, max: 16384, omit: 15 }),
	qp("rq_depth", "Receive queue depth", { min: 1, max: 16384, omit: 16 }),
	qp("recv_size_bytes", "Longest message", { kind: "bytes", min: 1, max: 1048576, omit: recv_size_bytes }),
];
const QP_FIELDS = [
	...queueFields(1024),
	qp("ack_timeout", "ACK timeout", { max: 31, omit: 14, hint: "4.096 µs × 2^N; 0 waits without end" }),
	qp("retry_count", "Retries", { max: 7, omit: 4 }),
	qp("rnr_retry", "RNR retries", { max: 7, omit: 7, hint: "7 is without end" }),
	qp("min_rnr_timer", "RNR timer", { max: 31, omit: 12, hint: "IBTA code; 12 is 0.64 ms" }),
];

/* The peer's memory: the target of a write, a read or an atomic operation. */
const hasRemote = ({ op }) => !isSend({ op }) && op !== "recv";
const REMOTE_FIELDS = [
	{
		name: "remote_addr",
		pointer: "/remote/addr",
		label: "Remote address",
		kind: "hex",
		required: true,
		when: hasRemote,
		hint: "paste here what the peer's Buffers page copies: it fills in both",
	},
	{
		name: "rkey",
		pointer: "/remote/rkey",
		label: "Remote key",
		kind: "hex",
		required: true,
		when: hasRemote,
		hint: "the rkey of the peer's buffer or window",
	},
];

/* A peer is named either by the address at which it listens, or by its queue pair. */
const isAsked = ({ qpn = "" }) => qpn.trim() === "";
const isNumbered = ({ dst_addr: host = "" }) => host.trim() === "";

export const forms = {
	listen: {
		title: "Listen",
		action: "Listen",
		path: "/v1/listeners",
		view: "listeners",
		fields: [
			{
				name: "addr",
				label: "Address",
				kind: "text",
				required: true,
				initial: "0.0.0.0",
				hint: "0.0.0.0 or :: for all",
			},
			{ name: "port", label: "Port", kind: "integer", max: 65535, hint: "any free port when empty" },
			{ ...SERVICE, options: [...SERVICES, "files"] },
			{
				name: "accept",
				label: "Connect requests are",
				kind: "choice",
				initial: "auto",
				omit: "auto",
				options: [
					{ value: "auto", label: "accepted" },
					{ value: "manual", label: "kept waiting for a decision" },
					{ value: "reject", label: "rejected" },
				],
			},
			NAME,
			{ ...DEVICE, hint: "all when empty" },
			{ name: "backlog", label: "Backlog", kind: "integer", min: 1, max: 65535, omit: 1024, more: true },
			...QP_FIELDS,
		],
	},
	connect: {
		title: "Connect",
		action: "Connect",
		path: "/v1/connections",
		view: "connections",
		one: "id",
		fields: [
			{ name: "dst_addr", label: "Host", kind: "text", required: true, hint: "address or name" },
			{ name: "dst_port", label: "Port", kind: "integer", required: true, min: 1, max: 65535 },
			SERVICE,
			NAME,
			JOIN_MS,
			{ ...DEVICE, hint: "by the route when empty" },
			{ name: "src_addr", label: "From address", kind: "text", more: true },
			...QP_FIELDS,
			{
				name: "path_mtu_bytes",
				pointer: "/qp/path_mtu_bytes",
				label: "Path MTU at most",
				kind: "choice",
				more: true,
				initial: "",
				number: true,
				options: ["", "256", "512", "1024", "2048", "4096"],
			},
		],
	},
	buffer: {
		title: "Make a buffer",
		action: "Make it",
		path: "/v1/buffers",
		view: "buffers",
		fields: [
			{
				name: "size_bytes",
				label: "Size",
				kind: "bytes",
				required: true,
				min: 1,
				max: 2 ** 40,
				initial: "1 MiB",
			},
			{
				name: "access",
				label: "A peer may",
				kind: "flags",
				options: [...RIGHTS, { value: "mw_bind", label: "use memory windows over it" }],
			},
			NAME,
			{
				name: "kind",
				label: "Memory",
				kind: "choice",
				initial: "anonymous",
				omit: "anonymous",
				options: [
					{ value: "anonymous", label: "private to the daemon" },
					{ value: "shared", label: "shared with local programs" },
					{ value: "hugepage", label: "huge pages" },
				],
			},
			{ ...DEVICE, hint: "the first with an active port when empty" },
		],
	},
	transfer: {
		title: "Run a transfer",
		action: "Start",
		path: "/v1/transfers",
		view: "transfers",
		fields: [
			{
				...OP,
				options: [
					...OP.options,
					{ value: "recv", label: "receive a message" },
					{ value: "write_imm", label: "write with an immediate" },
					{ value: "send_imm", label: "send with an immediate" },
					{ value: "fetch_add", label: "fetch and add" },
					{ value: "compare_swap", label: "compare and swap" },
				],
			},
			CONNECTION,
			{ name: "buffer", label: "Local buffer", kind: "ref", from: "buffers", required: true },
			...REMOTE_FIELDS,
			{
				name: "imm",
				label: "Immediate",
				kind: "integer",
				max: 4294967295,
				required: true,
				when: ({ op }) => op === "send_imm" || op === "write_imm",
			},
			{ name: "add", label: "Add", kind: "hex", required: true, when: ({ op }) => op === "fetch_add" },
			{
				name: "compare",
				label: "If it is",
				kind: "hex",
				required: true,
				when: ({ op }) => op === "compare_swap",
			},
			{ name: "swap", label: "Make it", kind: "hex", required: true, when: ({ op }) => op === "compare_swap" },
			{
				name: "length_bytes",
				label: "Length",
				kind: "bytes",
				when: ({ op }) => !ATOMICS.includes(op),
				hint: "to the buffer's end when empty",
			},
			{ name: "offset_bytes", label: "Offset in the buffer", kind: "bytes", omit: 0, more: true },
			{
				name: "message_bytes",
				label: "Message size",
				kind: "bytes",
				min: 1,
				max: 2 ** 30,
				more: true,
				when: ({ op }) => op === "send",
				hint: "one message when empty",
			},
			{
				name: "chunk_bytes",
				label: "Work request size",
				kind: "bytes",
				min: 1,
				max: 2 ** 30,
				omit: 262144,
				more: true,
				when: ({ op }) => ["read", "write", "write_imm"].includes(op),
			},
			{ ...DEPTH, more: true },
			{ ...GIVE_UP, omit: 30000 },
		],
	},
	benchmark: {
		title: "Run a benchmark",
		action: "Start",
		path: "/v1/benchmarks",
		view: "benchmarks",
		fields: [
			OP,
			{ ...CONNECTION, hint: "for send, the peer's service should be sink" },
			{
				name: "size_bytes",
				label: "Size",
				kind: "bytes",
				required: true,
				max: 2 ** 30,
				initial: "4 KiB",
				hint: "of each message",
			},
			{ ...DEPTH, hint: "the send queue's depth when empty; 1 for the latency of a single message" },
			...REMOTE_FIELDS,
			{
				name: "duration_ms",
				label: "Duration (ms)",
				kind: "integer",
				min: 1,
				max: 600000,
				hint: "one second when empty, unless there is a number of messages",
			},
			{
				name: "count",
				label: "Number of messages",
				kind: "integer",
				min: 1,
				max: 1000000000,
				hint: "instead of a duration",
			},
			{
				name: "buffer",
				label: "Local buffer",
				kind: "ref",
				from: "buffers",
				more: true,
				blank: "None",
				hint: "without a buffer, messages are zeroes, up to 16 KiB",
			},
			{ ...GIVE_UP, hint: "when empty, 30 s more than the duration" },
		],
	},
	probe: {
		title: "Measure round trips",
		action: "Start",
		path: "/v1/probes",
		view: "connections",
		one: "connection",
		fields: [
			CONNECTION,
			{
				name: "kind",
				label: "Kind of ping",
				kind: "choice",
				initial: "",
				options: [
					{ value: "", label: "the one that fits the service" },
					{ value: "ack", label: "an empty write, which the peer's device acknowledges" },
					{ value: "rping", label: "a round of rping, with the service rping_client" },
					{ value: "echo", label: "a message, from the service sink to echo" },
				],
			},
			{
				name: "interval_ms",
				label: "Every (ms)",
				kind: "integer",
				max: 3600000,
				hint: "1000 when empty; 0 pings again as soon as an answer is back",
			},
			{
				name: "count",
				label: "Number of pings",
				kind: "integer",
				min: 1,
				max: 1000000,
				hint: "when empty, until it is stopped; for rping 10",
			},
			{
				name: "size_bytes",
				label: "Size",
				kind: "bytes",
				max: 65535,
				when: ({ kind }) => kind === "rping" || kind === "echo",
				hint: "when empty, 64 bytes for rping and 16 for echo",
			},
			{ ...GIVE_UP, hint: "limit for all pings together" },
		],
	},
	window: {
		title: "Bind a memory window",
		action: "Bind",
		path: "/v1/windows",
		view: "buffers",
		query: "window",
		fields: [
			{
				name: "buffer",
				label: "Buffer",
				kind: "ref",
				from: "buffers",
				required: true,
				hint: "it needs the access mw_bind",
			},
			{
				name: "type",
				label: "Type",
				kind: "choice",
				number: true,
				initial: "1",
				options: [
					{ value: "1", label: "1: for any peer of the protection domain" },
					{ value: "2", label: "2: for one connection" },
				],
			},
			{ ...CONNECTION, when: ({ type }) => type === "2" },
			{
				name: "access",
				label: "A peer may",
				kind: "flags",
				required: true,
				options: RIGHTS,
			},
			{ name: "buffer_offset_bytes", label: "Offset in the buffer", kind: "bytes", omit: 0 },
			{ name: "size_bytes", label: "Length", kind: "bytes", min: 1, hint: "to the buffer's end when empty" },
			NAME,
		],
	},
	endpoint: {
		title: "Make an endpoint",
		action: "Make it",
		path: "/v1/ud_endpoints",
		view: "datagrams",
		fields: [
			{
				name: "addr",
				label: "Listen on address",
				kind: "text",
				hint: "optional; without an address, peers must be told the QP number, Q_Key and GID",
			},
			{
				name: "port",
				label: "Port",
				kind: "integer",
				max: 65535,
				omit: 0,
				when: ({ addr = "" }) => addr.trim() !== "",
				hint: "any free port when empty",
			},
			{
				...SERVICE,
				options: ["inbox", "sink"],
				subset: "an endpoint has no other services",
				hint: "inbox keeps incoming messages, sink counts and drops them",
			},
			NAME,
			{ ...DEVICE, hint: "by the address, or the first with an active port, when empty" },
			{ name: "port_num", label: "Port of the device", kind: "integer", min: 1, max: 255, omit: 1, more: true },
			{
				name: "gid_index",
				label: "GID index",
				kind: "integer",
				max: 255,
				more: true,
				hint: "the best one when empty",
			},
			{
				name: "qkey",
				label: "Q_Key",
				kind: "hex",
				more: true,
				hint: "0x01234567 when empty, as rdma_cm uses it",
			},
			...queueFields(4096),
		],
	},
	peer: {
		title: "Add a peer",
		action: "Add it",
		path: "/v1/ud_peers",
		view: "datagrams",
		query: "peer",
		fields: [
			ENDPOINT,
			{
				name: "dst_addr",
				label: "Host",
				kind: "text",
				when: isAsked,
				hint: "address or name at which the peer's endpoint listens",
			},
			{
				name: "dst_port",
				label: "Port",
				kind: "integer",
				required: true,
				min: 1,
				max: 65535,
				when: (values) => isAsked(values) && !isNumbered(values),
			},
			{
				name: "qpn",
				label: "QP number",
				kind: "integer",
				min: 1,
				max: 16777215,
				when: isNumbered,
				hint: "instead of host and port, together with the GID",
			},
			{
				name: "gid",
				label: "GID",
				kind: "text",
				required: true,
				when: (values) => isNumbered(values) && !isAsked(values),
				hint: "of the peer's port, as in ::ffff:192.0.2.11",
			},
			{
				name: "qkey",
				label: "Q_Key",
				kind: "hex",
				when: (values) => isNumbered(values) && !isAsked(values),
				hint: "that of the endpoint when empty",
			},
			NAME,
			JOIN_MS,
		],
	},
	group: {
		title: "Join a group",
		action: "Join",
		path: "/v1/multicast_memberships",
		view: "datagrams",
		query: "group",
		fields: [
			ENDPOINT,
			{
				name: "addr",
				label: "Multicast address",
				kind: "text",
				required: true,
				hint: "in 224.0.0.0/4 or ff00::/8, as 239.1.1.1",
			},
			{
				name: "mode",
				label: "Messages are",
				kind: "choice",
				initial: "full",
				omit: "full",
				options: [
					{ value: "full", label: "sent and received" },
					{ value: "send_only", label: "only sent" },
				],
			},
			NAME,
			JOIN_MS,
		],
	},
};

/** formRequest - {request, errors} of a form with these values; the request has the values that are valid */
export function formRequest(form, values) {
	const { body, errors } = collect(form.fields, values);
	return { request: { method: "POST", path: form.path, body }, errors };
}

/**
 * afterwards - the place of the object that a form has made
 * one    the member of the answer whose page it is, if the object is shown on a page of its own
 * query  the member of the address that names the object in its view
 */
export function afterwards({ view, one, query = "id" }, answer) {
	return one ? `#/${view}/${answer[one].id ?? answer[one]}` : `#/${view}?${query}=${answer.id}`;
}

function onObject(method, collection, { id }, rest = "") {
	return { method, path: `/v1/${collection}/${id}${rest}` };
}

function label({ id, name }) {
	return name ? `${name} (${id})` : `${id}`;
}

/**
 * The actions on an object: title, consequences, and the request; role, if not every client that makes objects may do it;
 * harmless, if it takes nothing away
 */
export const actions = {
	drain: () => ({
		title: "Drain this verbsd",
		action: "Drain it",
		text: "New connections, transfers and objects are refused, and /readyz answers 503. Running transfers finish, and open connections stay. The drain can be taken back.",
		role: "control",
		request: { method: "POST", path: "/v1/drain" },
	}),
	undrain: () => ({
		title: "Take the drain back",
		action: "Serve again",
		text: "Requests for anything new are taken again, listeners accept, and kept objects that have gone are tried again.",
		role: "control",
		harmless: true,
		request: { method: "DELETE", path: "/v1/drain" },
	}),
	closeConnection: (connection) => ({
		title: `Close connection ${label(connection)}`,
		action: "Close it",
		text: "Queued transfers are cancelled, the peer is notified, and the queue pair is drained and destroyed. The record of the connection stays.",
		request: onObject("POST", "connections", connection, "/close"),
	}),
	deleteConnection: (connection) => ({
		title: `Delete the record of connection ${label(connection)}`,
		action: "Delete it",
		text: "The record of the connection is deleted, including the reason for its end.",
		request: onObject("DELETE", "connections", connection),
	}),
	acceptConnection: (connection) => ({
		title: `Accept connection ${label(connection)}`,
		action: "Accept it",
		text: "The waiting peer gets its connection.",
		request: { ...onObject("POST", "connections", connection, "/accept"), body: {} },
	}),
	rejectConnection: (connection) => ({
		title: `Reject connection ${label(connection)}`,
		action: "Reject it",
		text: "The connect request of the waiting peer is refused.",
		request: { ...onObject("POST", "connections", connection, "/reject"), body: {} },
	}),
	stopListening: (listener) => ({
		title: `Stop listener ${label(listener)}`,
		action: "Stop it",
		text: "New connect requests are refused. Connections that were accepted stay.",
		request: onObject("DELETE", "listeners", listener),
	}),
	deleteBuffer: (buffer) => ({
		title: `Delete buffer ${label(buffer)}`,
		action: "Delete it",
		text: "The memory and its contents are freed. A peer that still uses the key loses its connection.",
		request: onObject("DELETE", "buffers", buffer),
	}),
	revokeWindow: (window) => ({
		title: `Revoke window ${label(window)}`,
		action: "Revoke it",
		text: "A peer that still uses the key loses its connection. The buffer and its other windows stay.",
		request: onObject("DELETE", "windows", window),
	}),
	cancelBenchmark: (benchmark) => ({
		title: `Stop benchmark ${label(benchmark)}`,
		action: "Stop it",
		text: "No more work requests are posted. The benchmark ends as cancelled; its results so far are kept.",
		request: onObject("POST", "benchmarks", benchmark, "/cancel"),
	}),
	deleteBenchmark: (benchmark) => ({
		title: `Delete the record of benchmark ${label(benchmark)}`,
		action: "Delete it",
		text: "The record is deleted, including the results.",
		request: onObject("DELETE", "benchmarks", benchmark),
	}),
	stopProbe: (probe) => ({
		title: `Stop probe ${label(probe)}`,
		action: "Stop it",
		text: "No more pings are sent. The results so far are kept.",
		request: onObject("POST", "probes", probe, "/cancel"),
	}),
	deleteProbe: (probe) => ({
		title: `Delete the record of probe ${label(probe)}`,
		action: "Delete it",
		text: "The record is deleted, including the results.",
		request: onObject("DELETE", "probes", probe),
	}),
	deleteEndpoint: (endpoint) => ({
		title: `Delete endpoint ${label(endpoint)}`,
		action: "Delete it",
		text: "The endpoint leaves its groups, and its peers and the messages in its inbox are deleted with it.",
		request: onObject("DELETE", "ud_endpoints", endpoint),
	}),
	deletePeer: (peer) => ({
		title: `Delete peer ${label(peer)}`,
		action: "Delete it",
		text: "Its address handle is destroyed. The peer itself is not notified.",
		request: onObject("DELETE", "ud_peers", peer),
	}),
	leaveGroup: (group) => ({
		title: `Leave group ${label(group)}`,
		action: "Leave it",
		text: "The endpoint receives no more messages of the group, and the record of the membership is deleted.",
		request: onObject("DELETE", "multicast_memberships", group),
	}),
	cancelBatch: (batch) => ({
		title: `Cancel batch ${label(batch)}`,
		action: "Cancel it",
		text: "Those of its transfers that have not ended are cancelled. The batch ends as failed.",
		request: onObject("POST", "transfer_batches", batch, "/cancel"),
	}),
	deleteBatch: (batch) => ({
		title: `Delete the record of batch ${label(batch)}`,
		action: "Delete it",
		text: "The record of the batch is deleted. The records of its transfers stay.",
		request: onObject("DELETE", "transfer_batches", batch),
	}),
	cancelConnectionBatch: (batch) => ({
		title: `Cancel batch ${label(batch)}`,
		action: "Cancel it",
		text: "Those of its connections that are not established yet are closed. The batch ends as failed.",
		request: onObject("POST", "connection_batches", batch, "/cancel"),
	}),
	deleteConnectionBatch: (batch) => ({
		title: `Delete the record of batch ${label(batch)}`,
		action: "Delete it",
		text: "The record of the batch is deleted. Its connections stay.",
		request: onObject("DELETE", "connection_batches", batch),
	}),
	cancelTransfer: (transfer) => ({
		title: `Cancel transfer ${label(transfer)}`,
		action: "Cancel it",
		text: "Posted work requests are completed, and no more are posted. Bytes that have arrived stay where they are.",
		request: onObject("POST", "transfers", transfer, "/cancel"),
	}),
	deleteTransfer: (transfer) => ({
		title: `Delete the record of transfer ${label(transfer)}`,
		action: "Delete it",
		text: "The record is deleted, including the reason for its end.",
		request: onObject("DELETE", "transfers", transfer),
	}),
};
