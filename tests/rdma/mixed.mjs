// SPDX-License-Identifier: Apache-2.0
//
// A mixed load of random requests: objects are made, used and deleted, in the wrong order, with wrong names and values.
// Knows which answers are wrong. For load.mjs and soak.mjs. Has faults in it if the daemon's configuration lets it.
//
//     LOAD_SEED=N       another sequence of requests; the default is the same in each run
//     LOAD_LANES=N      number of concurrent requests; with 1 the order is always the same
//     LOAD_TRACE=1      prints each request and its answer

import { Failure, WAIT_S, addr, dev, until } from "./lib.mjs";
import { manual_pair } from "./operations.mjs";
import { Chance } from "../chance.mjs";

export const number_from = (name, otherwise) => Number(process.env[name] || otherwise);
export const SEED = number_from("LOAD_SEED", 746_635);
export const LANES = number_from("LOAD_LANES", 8);
const TRACE = process.env.LOAD_TRACE === "1";
const PORTS = [7471, 7472, 7473, 7474];
const ALIVE_AT_MOST = 24;
const GROUP_ADDR = "239.1.2.";

// --- chance ------------------------------------------------------------------------------------------------------

const dice = new Chance(SEED);
const random = () => dice.number();
const below = (count) => Math.floor(random() * count);
const one_of = (...values) => values[below(values.length)];
const maybe = (chance, members) => (random() < chance ? members() : {});
const some_of = (...values) => values.filter(() => random() < 0.5);

// --- what there is -----------------------------------------------------------------------------------------------

// In an order in which they can be deleted. Kinds that this verbsd does not have are removed below.
export const STATELESS = ["faults", "srqs", "cqs", "pds"];
const KINDS = ["faults", "probes", "benchmarks", "transfer_batches", "transfers", "windows", "multicast_memberships", "ud_peers", "connections", "ud_endpoints", "listeners", "srqs",
	"cqs", "pds", "buffers"];
export const ENDED = new Set(["closed", "failed", "done", "cancelled", "timed_out", "left", "revoked"]);
const alive = Object.fromEntries(KINDS.map((kind) => [kind, []]));
const gone = Object.fromEntries(KINDS.map((kind) => [kind, ["99999999"]]));
const established = new Map(); // connections with their services
const locals = [];
const keys = [];

// Mostly an existing object; otherwise a deleted one, one of another kind, or a name that never
// existed.
function ref(kind) {
	const chance = random();

	if (chance < 0.9 && alive[kind].length)
		return one_of(...alive[kind]);
	if (chance < 0.94)
		return one_of(...gone[kind]);
	if (chance < 0.97)
		return one_of(...Object.values(alive).flat(), "17");
	return one_of("nobody", "0", "..", "%00", "x".repeat(70), "-1");
}

const by_ref = (kind) => encodeURIComponent(ref(kind));

// Sometimes a name that is taken.
const named = () => maybe(0.3, () => ({ name: `n${below(300)}` }));
const placed = (chance) => maybe(chance, () => ({ device: one_of(dev, dev, dev, "nodev0") }));

const qp = () => ({
	sq_depth: one_of(1, 4, 64), rq_depth: one_of(1, 4, 16), recv_size_bytes: one_of(64, 4096),
	...maybe(0.2, () => ({ retry_count: below(7), rnr_retry: below(7) })),
	...maybe(0.15, () => ({ pd: ref("pds") })),
	...maybe(0.15, () => ({ cq: ref("cqs") })),
	...maybe(0.1, () => ({ srq: ref("srqs"), rq_depth: undefined, recv_size_bytes: undefined })),
	...maybe(0.1, () => ({ signal_every: one_of(1, 2, 4), inline_bytes: one_of(0, 64, 256), max_send_sge: one_of(1, 4, 33) })),
});

// Pings of kind echo and rping need matching services on both ends, which random choice alone would rarely produce.
const PINGED = { 7473: ["echo", "sink"], 7474: ["rping", "rping_client"] };
const serving = (port, side) => ({
	...maybe(0.3, () => ({ service: one_of("inbox", "echo", "rping", "sink", "none", "rping_client") })),
	...(port in PINGED ? maybe(0.7, () => ({ service: PINGED[port][side] })) : {}),
});

const private_data = () => one_of({ data: "hello", encoding: "text" }, { data: "00ff", encoding: "hex" },
	{ data: "x".repeat(300), encoding: "text" });

const remote = () => (keys.length && random() < 0.9 ? one_of(...keys) : { addr: "0x1000", rkey: "0x1" });

const range = () => ({
	buffer: ref("buffers"),
	...maybe(0.5, () => ({ offset_bytes: one_of(0, 1, 64), length_bytes: one_of(0, 1, 64, 4096) })),
});

const where = () => (alive.ud_endpoints.length && random() < 0.2
	? { ud_endpoint: ref("ud_endpoints"), ...one_of({ ud_peer: ref("ud_peers") }, { multicast_membership: ref("multicast_memberships") }) }
	: { connection: ref("connections") });

function transfer() {
	const op = one_of("send", "send", "write", "write", "read", "send_imm", "write_imm", "fetch_add", "compare_swap", "recv");

	return {
		op, ...where(), timeout_ms: one_of(1, 100, 1000),
		...(random() < 0.8 ? range() : { sges: Array.from({ length: 1 + below(5) }, range) }),
		...(/write|read|fetch|swap/.test(op) && { remote: remote() }),
		...(/imm/.test(op) && { imm: below(2 ** 32) }),
		...(op === "fetch_add" && { add: "0x1" }),
		...(op === "compare_swap" && { compare: "0x0", swap: "0x1" }),
		...maybe(0.1, () => ({ inline: true })),
		...maybe(0.1, () => ({ chunk_bytes: one_of(1, 512), tx_depth: one_of(1, 3) })),
	};
}

// Mostly a connection that can be measured.
const open_one = () => (established.size && random() < 0.8 ? one_of(...established.keys()) : ref("connections"));

// Mostly the kind that fits the connection's service. Some run until they or their connection are deleted.
function probe() {
	const connection = open_one();
	const fitting = { sink: "echo", rping_client: "rping" }[established.get(connection)] ?? "ack";
	const kind = random() < 0.7 ? fitting : one_of("rping", "ack", "echo");
	const sizes = { rping: [8, 64, 4096], echo: [16, 64] }[kind];
	const goes_on = kind !== "rping" && random() < 0.3;

	return {
		connection, kind, ...(sizes && { size_bytes: one_of(...sizes) }),
		...(goes_on ? { count: null, interval_ms: one_of(20, 1000) } : { count: 1 + below(5), timeout_ms: one_of(10, 500) }),
		...(!goes_on && maybe(0.5, () => ({ interval_ms: one_of(0, 1, 20) }))),
	};
}

function benchmark() {
	const op = one_of("send", "write", "read");

	return {
		connection: open_one(), op, size_bytes: one_of(0, 1, 64, 4096), count: one_of(1, 10, 100), timeout_ms: one_of(10, 500),
		...(op !== "send" && { remote: remote() }),
		...maybe(0.3, () => ({ tx_depth: one_of(1, 4, 64) })),
		...maybe(0.3, () => ({ buffer: ref("buffers") })),
	};
}

const CALLS = ["alloc_pd", "reg_mr", "alloc_mw", "create_cq", "create_qp", "modify_qp", "create_srq", "create_ah", "create_id", "bind_addr",
	"listen", "resolve_addr", "resolve_route", "init_qp_attr", "connect", "accept", "establish", "disconnect", "post_send", "post_recv",
	"bind_mw", "query_qp", "query_port", "arm_cq"];

const fault = () => one_of(
	{ effect: "hold_receives", target: ref("connections") },
	{ effect: "delay_completions", delay_ms: one_of(1, 20), target: ref("connections") },
	{ effect: "drop_completions", target: ref("connections"), count: one_of(1, 3) },
	{ effect: "qp_error", target: ref("connections") },
	{ effect: "refuse_accepts", count: one_of(1, 5), ...maybe(0.5, () => ({ target: ref("listeners") })) },
	{ effect: "fail_call", call: one_of(...CALLS), errno: one_of("EIO", "ENOMEM", "EAGAIN", "EINVAL"), after: below(4), count: one_of(1, 3) });

const bodies = {
	faults: () => ({ ...named(), ...fault(), expires_ms: one_of(50, 500, 2000), ...maybe(0.2, () => ({ probability_percent: 50 })) }),
	pds: () => ({ ...named(), ...placed(0.9) }),
	cqs: () => ({ ...named(), ...placed(0.9), cqe: one_of(1, 16, 256, 1 << 30),
		...maybe(0.2, () => ({ moderation: { count: 4, period_us: 100 } })) }),
	srqs: () => ({ ...named(), ...one_of({ device: dev }, { pd: ref("pds") }), cq: ref("cqs"),
		max_wr: one_of(1, 8, 64), recv_size_bytes: one_of(64, 4096), srq_limit: one_of(0, 1, 4) }),
	buffers: () => ({
		...named(), size_bytes: one_of(1, 64, 4096, 4096, 65536, 2 ** 50), access: some_of("remote_write", "remote_read",
			"remote_atomic", "mw_bind"), ...placed(0.2),
		...maybe(0.2, () => ({ kind: one_of("anonymous", "shared", "hugepage") })),
		...maybe(0.1, () => ({ relaxed_ordering: true })), ...maybe(0.1, () => ({ on_demand_paging: true })),
		...maybe(0.1, () => ({ pd: ref("pds") })),
	}),
	windows: () => ({ ...named(), buffer: ref("buffers"), connection: ref("connections"), type: one_of(1, 2),
		...maybe(0.5, () => ({ buffer_offset_bytes: one_of(0, 64), size_bytes: one_of(0, 64, 4096) })),
		access: some_of("remote_write", "remote_read", "remote_atomic") }),
	listeners: (port = one_of(...PORTS)) => ({
		...named(), addr: one_of(addr, addr, "0.0.0.0", "192.0.2.1"), port,
		accept: one_of("auto", "auto", "auto", "manual", "reject"), accept_timeout_ms: one_of(100, 1000),
		qp: qp(), ...serving(port, 0), ...maybe(0.1, () => ({ private_data: private_data() })), ...placed(0.05),
	}),
	connections: (dst_port = one_of(...PORTS, 7999)) => (random() < 0.85
		? { ...named(), dst_addr: one_of(addr, addr, addr, addr, "192.0.2.1"), dst_port,
			timeout_ms: one_of(20, 500, 2000), qp: qp(), ...serving(dst_port, 1),
			...maybe(0.1, () => ({ private_data: private_data() })), ...placed(0.05) }
		: { ...named(), bringup: "manual", qp_type: one_of("rc", "uc"), device: dev, qp: qp(), ...serving(),
			...maybe(0.3, () => ({ initial_state: "RESET" })), ...maybe(0.3, () => ({ gid_index: one_of(0, 1, 2, 99) })) }),
	ud_endpoints: () => ({ ...named(), service: one_of("inbox", "inbox", "echo", "sink"),
		...one_of({ device: dev }, { addr, port: one_of(...PORTS) }, { device: dev, qkey: "0x11111111" }),
		qp: { sq_depth: one_of(1, 16), rq_depth: one_of(1, 16), recv_size_bytes: one_of(64, 1024) } }),
	ud_peers: () => ({ ...named(), ud_endpoint: ref("ud_endpoints"),
		...one_of({ dst_addr: addr, dst_port: one_of(...PORTS), timeout_ms: 500 },
			{ gid: `::ffff:${addr}`, qpn: one_of(1, 17, 20), qkey: "0x11111111" }) }),
	multicast_memberships: () => ({ ...named(), ud_endpoint: ref("ud_endpoints"), addr: GROUP_ADDR + below(5), mode: one_of("full", "send_only"),
		timeout_ms: one_of(10, 1000) }),
	transfers: transfer,
	transfer_batches: () => ({ transfers: Array.from({ length: 1 + below(4) }, transfer) }),
	probes: probe,
	benchmarks: benchmark,
};

// Other requests for one object: [kind, method, rest of the path, body].
const uses = [
	["listeners", "PATCH", "", () => ({ accept: one_of("auto", "manual", "reject") })],
	["cqs", "PATCH", "", () => one_of({ cqe: one_of(1, 64, 512) }, { moderation: { count: one_of(0, 8), period_us: 50 } })],
	["srqs", "PATCH", "", () => ({ srq_limit: one_of(0, 1, 1000) })],
	["connections", "POST", "/close", () => ({})],
	["connections", "POST", "/accept", () => named()],
	["connections", "POST", "/reject", () => undefined],
	["connections", "POST", "/messages", () => ({ data: "x".repeat(one_of(0, 1, 64, 5000)),
		...maybe(0.2, () => ({ imm: below(2 ** 32) })) })],
	["connections", "POST", "/messages", () => ({ data: "some message" })],
	["connections", "GET", "/messages", () => undefined],
	["connections", "DELETE", "/messages?through=3", () => undefined],
	["connections", "POST", "/qp_state", () => ({ state: one_of("RESET", "INIT", "RTR", "RTS", "SQD", "ERR") })],
	["connections", "POST", "/remote", () => ({ ...(locals.length ? one_of(...locals) : { qpn: 17, psn: 0 }),
		bring_to: one_of("RTR", "RTS") })],
	["ud_endpoints", "POST", "/messages", () => ({ data: "y".repeat(one_of(0, 64, 5000)), ...one_of({ ud_peer: ref("ud_peers") },
		{ multicast_membership: ref("multicast_memberships") }) })],
	["ud_endpoints", "GET", "/messages", () => undefined],
	["ud_endpoints", "DELETE", "/messages?through=3", () => undefined],
	["transfers", "POST", "/cancel", () => undefined],
	["transfer_batches", "POST", "/cancel", () => undefined],
	["benchmarks", "POST", "/cancel", () => undefined],
	["probes", "POST", "/cancel", () => undefined],
	["buffers", "GET", "/data", () => undefined],
	["buffers", "PUT", "/data", () => Buffer.alloc(one_of(0, 1, 64, 4096), 7)],
	["buffers", "GET", "/checksum", () => undefined],
];

// --- one request -------------------------------------------------------------------------------------------------

// Changes one member: another value, another type, removed, or an unknown name.
function spoil(body) {
	const member = one_of(...Object.keys(body), "surprise");
	const value = one_of(null, -1, 2 ** 53, "", "?", [], {}, 1.5, true, undefined);

	return { ...body, [member]: value };
}

function draw_request(kinds) {
	const chance = random();
	const kind = one_of(...kinds, "connections", "connections", "transfers", "transfers");
	const wait_s = random() < 0.15 ? 1 : undefined;
	const crowded = alive[kind].length >= ALIVE_AT_MOST;

	if (chance < 0.4 && !crowded) {
		const body = bodies[kind]();
		return { kind, method: "POST", path: `/v1/${kind}`, body: random() < 0.08 ? spoil(body) : body, wait_s };
	}
	if (chance < 0.65) {
		const [of, method, rest, body] = one_of(...uses.filter(([of]) => kinds.includes(of)));
		return { method, path: `/v1/${of}/${by_ref(of)}${rest}`, body: body(), wait_s };
	}
	if (chance < 0.85 || crowded)
		return { kind, method: "DELETE", path: `/v1/${kind}/${by_ref(kind)}` };
	if (chance < 0.95)
		return { kind, method: "GET", path: `/v1/${kind}?limit=1000${STATELESS.includes(kind) ? "" : "&state=open,ended"}` };
	return { kind, method: one_of("GET", "GET", "PUT"), path: `/v1/${kind}/${by_ref(kind)}` };
}

function learn(kind, item) {
	const id = String(item.id);

	if (kind === "connections" && item.state === "established")
		established.set(id, item.service);
	else if (kind === "connections")
		established.delete(id);
	if (ENDED.has(item.state))
		return;
	if (!alive[kind].includes(id))
		alive[kind].push(id);
	if (item.manual?.local && locals.push(item.manual.local) > 20)
		locals.shift();
	if (item.rkey && keys.push({ addr: item.addr, rkey: item.rkey }) > 20)
		keys.shift();
}

function forget(kind, id) {
	alive[kind] = alive[kind].filter((other) => other !== id);
	if (kind === "connections")
		established.delete(id);
	if (gone[kind].push(id) > 50)
		gone[kind].shift();
}

// A bare errno means that verbsd tried a call that it could have known to fail.
const BARE = /Invalid argument|EINVAL|Bad file descriptor|Bad address|Operation not supported/;

// Codes of errors that surprised verbsd or the kernel.
const SURPRISED = ["internal", "verbs_error"];

const WANTED = "a fault makes this call fail";

// Returns why an answer is wrong, or null.
function complaint({ status, body }) {
	if (status < 400 || body?.detail?.includes(WANTED))
		return null;
	if (status === 500 || SURPRISED.includes(body?.code))
		return `answered ${status} ${body?.code}: ${body?.detail}`;
	if (typeof body?.code !== "string" || !body.detail)
		return `answered ${status} without a problem`;
	if (BARE.test(body.detail))
		return `answered with a bare error: ${body.code}: ${body.detail}`;
	if (body.code === "not_supported" && !(body.device && body.capability) && !/\b(uc|ud)\b/.test(body.detail))
		return `not_supported without a device or capability: ${body.detail}`;
	return null;
}

function complaint_of_item(daemon, { id, error }, kind) {
	const text = error?.first?.detail ?? "";
	const log = () => daemon.log().split("\n").filter((line) => line.includes(`${kind.slice(0, -1)}/${id}: `)).join("\n");

	return BARE.test(text) && !text.includes(WANTED) ? `${kind} ${id} ended by a bare error: ${text}\n${log()}` : null;
}

export const counts = new Map();
export const made = new Map();
const MEASUREMENTS = ["probes", "benchmarks"];
export const complaints = new Map();

function complain(text, request, index) {
	const key = text.split("\n")[0].replace(/\d+/g, "N").slice(0, 120);

	if (!complaints.has(key))
		complaints.set(key, `request ${index}: ${request.method} ${request.path} ${JSON.stringify(request.body) ?? ""}: ${text}`);
}

async function play(daemon, request, index) {
	const { kind, method, path, body, wait_s } = request;
	const type = Buffer.isBuffer(body) ? "application/octet-stream" : "application/json";
	const answer = await daemon.try(method, path, body, { wait_s, type });
	const text = complaint(answer);
	const result = answer.body?.code ?? answer.status;

	if (TRACE)
		console.log(index, method, path, JSON.stringify(body) ?? "", answer.status, answer.body?.code ?? "",
			answer.status >= 400 ? answer.body?.detail : answer.body?.id ?? "");
	counts.set(result, (counts.get(result) ?? 0) + 1);
	if (method === "POST" && MEASUREMENTS.includes(kind) && answer.status < 300) {
		const what = `${kind} of ${body.kind ?? body.op}`;

		made.set(what, (made.get(what) ?? 0) + 1);
	}
	if (text)
		complain(text, request, index);
	if (method === "DELETE" && kind && answer.status < 300)
		forget(kind, path.split("/")[3]);
	if (!kind || answer.status >= 300 || method === "DELETE")
		return;
	const items = answer.body.items ?? [answer.body];
	if (path.includes("?limit")) {
		const there = new Set(items.filter(({ state }) => !ENDED.has(state)).map(({ id }) => String(id)));
		alive[kind].filter((id) => !there.has(id)).forEach((id) => forget(kind, id));
	}
	items.filter((item) => item.id && !item.default && !item.worker_owned).forEach((item) => {
		const bad = complaint_of_item(daemon, item, kind);

		if (bad)
			complain(bad, request, index);
		learn(kind, item);
	});
}

// --- all of them -------------------------------------------------------------------------------------------------

export async function delete_all(daemon, kinds) {
	const listed = async (kind) => (await daemon.get(`/v1/${kind}?limit=1000${STATELESS.includes(kind) ? "" : "&state=open,ended"}`)).items.filter((item) =>
		!ENDED.has(item.state) && !item.default && item.auto !== true);
	const left = async () => {
		const all = {};

		for (const kind of kinds) {
			const items = await listed(kind);
			await Promise.all(items.map(({ id }) => daemon.try("DELETE", `/v1/${kind}/${id}`)));
			all[kind] = items.map(({ id }) => id);
		}
		return kinds.every((kind) => kind === "cqs" || all[kind].length === 0) ? null : all;
	};
	let what;

	await until("everything to be deleted", async () => !(what = await left())).catch(() => {
		throw new Failure(`could not delete: ${JSON.stringify(what)}`);
	});
	for (const kind of kinds)
		alive[kind] = [];
	established.clear();
}

// Objects that stay once made: the context, its PD and message pool, a CQ.
export async function warm_up(daemon) {
	const listener = await daemon.listen({ port: PORTS[0] });
	const connection = await daemon.connect({ dst_port: PORTS[0] });

	await daemon.post(`/v1/connections/${connection.id}/messages`, { data: "warm".repeat(200) }, WAIT_S);
	await daemon.call("DELETE", `/v1/listeners/${listener.id}`);
	// From the first connection on an address to the end of the daemon the address has a port for reports, which is
	// one CM id (rdma/fabric/report.h).
	const { ports } = await daemon.get(`/v1/devices/${dev}`);

	for (const { gid_index } of ports[0].gids)
		await manual_pair(daemon, daemon, { qp_type: "rc", device: dev, gid_index });
	await delete_all(daemon, ["connections"]);
}

// The kinds that clients of this verbsd may make and list.
export async function kinds_of(daemon) {
	const contract = String(await daemon.get("/v1/openapi.yaml"));
	const { fault_injection } = await daemon.get("/v1");

	return KINDS.filter((kind) => contract.includes(`\n  /v1/${kind}:\n`) && (fault_injection || kind !== "faults") &&
		contract.split(`\n  /v1/${kind}:\n`)[1].split("\n  /v1/")[0].includes("\n    post:"));
}

// Sends requests until @enough of their number returns true, several at a time. Returns their number.
export async function send_requests(daemon, kinds, enough) {
	let next = 0;
	const lane = async () => {
		while (!daemon.gone && !enough(next))
			await play(daemon, draw_request(kinds), next++);
	};

	await Promise.all(Array.from({ length: LANES }, lane));
	return next;
}
