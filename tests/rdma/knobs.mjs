// SPDX-License-Identifier: Apache-2.0
//
// Parameters of the connection manager: returned as requested and as in force, on both sides, and seen by independent
// programs.

import { Program, WAIT_S, addr, dev, equal, finish, listens, ok, proof, refusal, run, scenario, scenario_with,
	transfers_work, with_daemons } from "./lib.mjs";

const PORT = 7471;
const { LAB_SECOND_ADDR, LAB_SECOND_DEV, LAB_SIW_ADDR, LAB_SIW_DEV, LAB_VLAN_ADDR } = process.env;
const ROOM = { request: 56, reply: 196, reject: 148 };
const IWARP_ROOM = 251; // 255 bytes, minus 4 of an enhanced MPA request
const REJECT_CONSUMER = 28, REJECT_VENDOR_OPTION = 35; // IBTA 12.6.7.2

const members = (object, names) => JSON.stringify(Object.fromEntries(names.map((name) => [name, object[name]])));
const same = (seen, wanted, what) => equal(members(seen, Object.keys(wanted)), JSON.stringify(wanted), what);
const text = (length) => "verbsd".repeat(length).slice(0, length);

// The passive side of the connection, at the listening daemon.
async function accepted(daemon, state = "established") {
	const { items: [{ id }] } = await daemon.until(`/v1/connections?fields=*&state=${state}`, `a connection in ${state}`,
		({ total }) => total === 1);

	return daemon.connection(id);
}

async function close(daemon, { id }, peer, { id: peer_id }) {
	await daemon.post(`/v1/connections/${id}/close`, {}, WAIT_S);
	await peer.ended_with(peer_id, "peer_disconnect");
}

// Checks that a request is refused and creates no connection.
async function refused(daemon, path, body, code, pointer) {
	const { total } = await daemon.get("/v1/connections?state=open,ended");
	const problem = await daemon.refused("POST", path, body);

	equal(problem.code, code, `code of the refusal (${problem.detail})`);
	equal(problem.errors?.[0].pointer, pointer, `pointer of the refusal (${problem.detail})`);
	equal((await daemon.get("/v1/connections?state=open,ended")).total, total, "connections after the refusal");
	return problem;
}

// --- timers, retries, depths, MTU, ToS, addresses ----------------------------------------------------------------

await scenario("what either side asks for is in force there", () => with_daemons("a b", async (a, b) => {
	const asked_a = { retry_count: 2, rnr_retry: 4, ack_timeout: 15, min_rnr_timer: 10, responder_resources: 8,
		initiator_depth: 2, path_mtu_bytes: 512 };
	const asked_b = { retry_count: 3, rnr_retry: 5, ack_timeout: 16, min_rnr_timer: 9, responder_resources: 4,
		initiator_depth: 4, path_mtu_bytes: 512 };
	const listener = await b.listen({ port: PORT, qp: asked_b, tos: 64, backlog: 7 });

	same(listener.qp, asked_b, "params of the listener");
	same(listener, { device: null, tos: 64, reuse_addr: false, v6_only: null }, "what the listener was asked for");
	equal(listener.backlog, 7, "backlog");
	const from = { src_addr: addr, src_port: 40123, tos: 32, reuse_addr: true };
	const here = await a.connect({ dst_port: PORT, qp: asked_a, device: dev, ...from });
	const there = await accepted(b);
	same(here.qp, asked_a, "what was asked for, active");
	same(there.qp, asked_b, "what was asked for, passive");
	same(here, from, "asked, active");
	same(there, { dst_addr: null, dst_port: null, src_addr: null, src_port: null, tos: 64, reuse_addr: false }, "asked, passive");
	// A side may have no more reads outstanding than the peer accepts.
	same(here.qp_attr, { ...asked_a, responder_resources: 4, initiator_depth: 2, traffic_class: 32 }, "QP, active");
	same(there.qp_attr, { ...asked_b, responder_resources: 2, initiator_depth: 4, traffic_class: 64 }, "QP, passive");
	same(here.local, { addr, port: 40123 }, "local address");
	same(there.peer, { addr, port: 40123 }, "address that the peer saw");
	equal(here.device.name, dev, "device");
	await transfers_work(a, here, b);
	await close(a, here, b, there);
}));

await scenario("a path has its own MTU where nobody caps it, and a listener the ToS of the request", () =>
	with_daemons("a b", async (a, b) => {
		await b.listen({ port: PORT });
		const here = await a.connect({ dst_port: PORT, tos: 32, qp: { path_mtu_bytes: 4096 } });
		const there = await accepted(b);

		equal(here.qp.path_mtu_bytes, 4096, "the cap asked for");
		equal(here.qp_attr.path_mtu_bytes, there.qp_attr.path_mtu_bytes, "path MTU");
		equal(there.qp.path_mtu_bytes, null, "the cap that was not asked for");
		equal(there.qp_attr.traffic_class, 32, "traffic class, passive");
		equal(there.tos, null, "ToS that was not asked for");
		await transfers_work(a, here, b);
		await close(a, here, b, there);
	}));

await scenario("a connection with defaults is small", () => with_daemons("a b", async (a, b) => {
	await b.listen({ port: PORT });
	const here = await a.connect({ dst_port: PORT, name: "to-b" });
	const there = await accepted(b);

	for (const [side, connection] of [["active", here], ["passive", there]]) {
		const { length } = JSON.stringify(connection);

		console.log(`# the connection of the ${side} side has ${length} bytes`);
		ok(length <= 1664, `the connection of the ${side} side has ${length} bytes`);
	}
	await close(a, here, b, there);
}));

await scenario("a worker polls on for a busy connection, and sleeps again after", () => with_daemons("a b", async (a, b) => {
	await b.listen({ port: PORT, qp: { poll: "adaptive", spin_us: 200 } });
	const here = await a.connect({ dst_port: PORT, qp: { poll: "busy" } });
	const there = await accepted(b);

	same(here.qp, { poll: "busy" }, "poll, active");
	same(there.qp, { poll: "adaptive", spin_us: 200 }, "poll, passive");
	await transfers_work(a, here, b);
	const { busy_polled, workers_spun_ns } = await a.until("/v1/stats", "time spent on polling", ({ workers_spun_ns: ns }) => ns > 0);
	equal(busy_polled, 1, "busy connections");
	equal((await b.get("/v1/stats")).busy_polled, 0, "busy connections of the other daemon");
	const { findings } = await a.get(`/v1/connections/${here.id}/explain`);
	ok(findings.some(({ code, detail }) => code === "polled_busy" && /has polled empty queues for/.test(detail)), "explanation of the cost");
	await close(a, here, b, there);
	const idle = await a.until("/v1/stats", "the end of busy polling", (stats) => stats.busy_polled === 0);
	ok(idle.workers_spun_ns >= workers_spun_ns, "time spent on polling only grows");
}));

await scenario("heartbeats are answered while a connection is idle, and are no traffic", () => with_daemons("a b", async (a, b) => {
	const qp = { heartbeat_ms: 1000, ack_timeout: 18 };

	await b.listen({ port: PORT, qp });
	const here = await a.connect({ dst_port: PORT, qp });
	const there = await accepted(b);

	for (const [daemon, { id }] of [[a, here], [b, there]]) {
		const idle = await daemon.until(`/v1/connections/${id}`, "answered heartbeats", ({ heartbeats }) => heartbeats.answered > 1);

		equal(idle.state, "established", "state of the idle connection");
		equal(idle.counters.write, undefined, "writes of the idle connection");
		ok((await daemon.get("/v1/stats")).heartbeats_answered > 1, "heartbeats of the daemon");
	}
	await transfers_work(a, here, b);
	await close(a, here, b, there);
}));

await scenario("a connection names its GID's type, interface and VLAN", () => with_daemons("a b", async (a, b) => {
	for (const [dst_addr, netdev, vlan_id] of [[addr, "rdma0", null], [LAB_VLAN_ADDR, "rdma0.7", 7]]) {
		const listener = await b.listen({ addr: dst_addr, port: PORT });
		const here = await a.connect({ dst_addr, dst_port: PORT });
		const there = await accepted(b);

		for (const { qp_attr: qp } of [here, there])
			same(qp, { sgid: `::ffff:${dst_addr}`, gid_type: "roce_v2", netdev, vlan_id }, "the GID in use");
		await close(a, here, b, there);
		await b.call("DELETE", `/v1/listeners/${listener.id}`);
	}
	const { ports: [{ gids }] } = await a.get(`/v1/devices/${dev}`);
	ok(gids.some(({ netdev, vlan_id }) => netdev === "rdma0.7" && vlan_id === 7), "no GID of the VLAN");
}));

// The buffer allows everything. The device that answers looks at its queue pair first (check_op_valid() in rxe_resp.c, 6.1).
await scenario("a peer may do what the queue pair permits, whatever the buffer allows", () => with_daemons("a b", async (a, b) => {
	const everything = ["remote_write", "remote_read", "remote_atomic"];
	const remote_access = ["remote_read"];
	const here = await a.buffer(4096), there = await b.buffer(4096, { access: everything });

	await b.listen({ port: PORT, qp: { remote_access } });
	for (const more of [{ op: "write", buffer: here.id }, { op: "fetch_add", add: "0x1" }]) {
		const connection = await a.connect({ dst_port: PORT });
		const peer = await accepted(b);

		same(connection.qp, { remote_access: everything }, "access of the side that asked for nothing");
		same(peer.qp, { remote_access }, "access of the listener's side");
		await a.transfer("read", connection, here, there);
		const { code, detail } = await a.refused("POST", "/v1/transfers",
			{ connection: connection.id, remote: { addr: there.addr, rkey: there.rkey }, ...more }, WAIT_S);
		equal(code, "remote_invalid", `code of a ${more.op} (${detail})`);
		await a.ended_with(connection.id, code);
		await b.end_of(peer.id);
	}
	ok((await b.bytes(there)).every((byte) => byte === 0), "something was written");
	await refused(a, "/v1/listeners", { addr, qp: { remote_access: ["mw_bind"] } }, "bad_value", "/qp/remote_access/0");
}));

await scenario("by hand, a peer may do what the queue pair permits", () => with_daemons("a b", async (a, b) => {
	const make = (daemon, qp) => daemon.post("/v1/connections", { bringup: "manual", device: dev, qp }, WAIT_S);
	const at = (daemon, connection, { manual }) => daemon.post(`/v1/connections/${connection.id}/remote`, manual.local, WAIT_S);
	const here = await a.buffer(4096), there = await b.buffer(4096, { access: ["remote_write", "remote_read"] });
	const ours = await make(a, {}), theirs = await make(b, { remote_access: ["remote_read"] });

	await Promise.all([at(a, ours, theirs), at(b, theirs, ours)]);
	await a.transfer("read", ours, here, there);
	const { code, detail } = await a.refused("POST", "/v1/transfers", { op: "write", connection: ours.id, buffer: here.id,
		remote: { addr: there.addr, rkey: there.rkey } }, WAIT_S);
	equal(code, "remote_invalid", `code of a write (${detail})`);
	await a.ended_with(ours.id, "remote_invalid");
	await b.post(`/v1/connections/${theirs.id}/close`, {}, WAIT_S);
}));

await scenario("a source port is taken, unless both share it", () => with_daemons("a b", async (a, b) => {
	await b.listen({ port: PORT });
	await b.listen({ port: PORT + 1 });
	await a.connect({ dst_port: PORT, src_addr: addr, src_port: 40200 });
	const problem = await a.refused("POST", "/v1/connections",
		{ dst_addr: addr, dst_port: PORT + 1, src_addr: addr, src_port: 40200 }, WAIT_S);
	equal(problem.code, "resource_error", `code (${problem.detail})`);
	equal((await a.get(problem.instance)).error.first.code, "address_in_use", "code of the call");
	for (const dst_port of [PORT, PORT + 1]) {
		const { local } = await a.connect({ dst_port, src_addr: addr, src_port: 40201, reuse_addr: true });

		equal(local.port, 40201, "source port");
	}
	// A listener never shares its port (rdma_listen() in cma.c, 6.1).
	for (const reuse_addr of [false, true]) {
		const { code, detail } = await a.refused("POST", "/v1/listeners", { addr, port: 40201, reuse_addr });

		equal(code, "address_in_use", `code (${detail})`);
	}
	equal((await a.listen({ addr, reuse_addr: true })).reuse_addr, true, "reuse_addr of a listener");
	// A source port without a source address works too.
	equal((await a.connect({ dst_port: PORT, src_port: 40202 })).local.port, 40202, "source port");
}));

await scenario("a listener takes IPv6 alone if asked to", () => with_daemons("a b", async (a, b) => {
	await b.listen({ addr: "::", port: PORT, v6_only: true });
	await b.listen({ addr: "::", port: PORT + 1, v6_only: false });
	const { code } = await a.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: PORT }, WAIT_S);
	equal(code, "rejected", "end of an IPv4 connection to an IPv6 listener");
	equal((await a.connect({ dst_port: PORT + 1 })).state, "established", "state of one to a listener for both");
	await refused(b, "/v1/listeners", { addr: "0.0.0.0", v6_only: true }, "bad_value", "/v6_only");
}));

await scenario("an address that needs an interface is not guessed", () => with_daemons("a b", async (a) => {
	await refused(a, "/v1/connections", { dst_addr: "fe80::1", dst_port: 1 }, "bad_value", "/dst_addr");
	await refused(a, "/v1/connections", { dst_addr: "fe80::1%nope0", dst_port: 1 }, "bad_value", "/dst_addr");
	await refused(a, "/v1/connections", { dst_addr: "fd00::1", src_addr: "fe80::1", dst_port: 1 }, "bad_value", "/src_addr");
	await refused(a, "/v1/connections", { dst_addr: "fd00::1", src_addr: addr, dst_port: 1 }, "bad_value", "/src_addr");
	await refused(a, "/v1/listeners", { addr: "fe80::1" }, "bad_value", "/addr");
}));

// --- private data ------------------------------------------------------------------------------------------------

await scenario("private data goes both ways, in every encoding", () => with_daemons("a b", async (a, b) => {
	const ways = [
		[{ data: "grüß dich" }, { data: "grüß dich", encoding: "text" }],
		[{ data: "c0ffee00c0ffee", encoding: "hex" }, { data: "c0ffee00c0ffee", encoding: "hex" }],
		[{ data: "AP8B", encoding: "base64" }, { data: "00ff01", encoding: "hex" }],
	];

	for (const [said, heard] of ways) {
		const listener = await b.listen({ port: PORT, private_data: said });
		const here = await a.connect({ dst_port: PORT, private_data: said });
		const there = await accepted(b);

		same(listener.private_data, { carried_by: "reply", ...heard }, "private data of the listener");
		same(here.private_data.local, { carried_by: "request", ...heard }, "what was asked for");
		same(here.private_data.peer, { carried_by: "reply", ...heard, length_bytes: ROOM.reply }, "what came back");
		same(there.private_data.peer, { carried_by: "request", ...heard, length_bytes: ROOM.request }, "what came in");
		same(there.private_data.local, { carried_by: "reply", ...heard }, "what was answered");
		await close(a, here, b, there);
		await b.call("DELETE", `/v1/listeners/${listener.id}`);
	}
	proof("private_data", "rc_cm");
}));

await scenario("private data fills each message to its last byte, and not beyond", () => with_daemons("a b", async (a, b) => {
	const data = Object.fromEntries(Object.entries(ROOM).map(([message, room]) => [message, { data: text(room) }]));
	const beyond = (message) => ({ private_data: { data: text(ROOM[message] + 1) } });

	await b.listen({ port: PORT, accept: "manual" });
	const { detail } = await refused(a, "/v1/connections", { dst_addr: addr, dst_port: PORT, ...beyond("request") },
		"too_long", "/private_data/data");
	ok(detail.includes(`${ROOM.request}`), `the refusal does not name the room: ${detail}`);
	await refused(b, "/v1/listeners", { addr, ...beyond("reply") }, "too_long", "/private_data/data");

	const first = await a.connect({ dst_port: PORT, private_data: data.request }, 0);
	const { id } = await accepted(b, "requested");
	for (const [verb, message] of [["accept", "reply"], ["reject", "reject"]])
		await refused(b, `/v1/connections/${id}/${verb}`, beyond(message), "too_long", "/private_data/data");
	equal((await b.connection(id)).state, "requested", "state after the refusals");
	const there = await b.post(`/v1/connections/${id}/accept`, { private_data: data.reply }, WAIT_S);
	equal(there.private_data.peer.data, data.request.data, "what came with the request");
	const here = await a.connection_in(first.id, "established");
	equal(here.private_data.peer.data, data.reply.data, "what came with the reply");
	await close(a, here, b, there);

	const second = await a.connect({ dst_port: PORT }, 0);
	const request = await accepted(b, "requested");
	equal(request.private_data, undefined, "private data that nobody sent");
	await b.post(`/v1/connections/${request.id}/reject`, { private_data: data.reject });
	equal((await a.connection_in(second.id, "failed")).private_data.peer.data, data.reject.data, "what came with the rejection");
}));

await scenario("a rejection says why, and more", () => with_daemons("a b", async (a, b) => {
	await b.listen({ port: PORT, accept: "manual" });
	for (const [reason, cm_status] of [["consumer_defined", REJECT_CONSUMER], ["vendor_option_not_supported", REJECT_VENDOR_OPTION]]) {
		const { id } = await a.connect({ dst_port: PORT }, 0);
		const request = await accepted(b, "requested");
		const rejected = await b.post(`/v1/connections/${request.id}/reject`, { reason, private_data: { data: "try port 9" } });

		same(rejected.private_data.local, { carried_by: "reject", data: "try port 9" }, "what the rejection carried");
		equal(rejected.end_code, "rejected_locally", "end of the side that rejected");
		const { error, end_code, private_data } = await a.connection_in(id, "failed");
		equal(end_code, "rejected", "end of the side that was rejected");
		equal(error.code, end_code, "code of its error");
		same(error.first, { cm_event: "RDMA_CM_EVENT_REJECTED", cm_status }, "its first error");
		ok(error.first.reject_reason, "the reason has no name");
		same(private_data.peer, { carried_by: "reject", data: "try port 9", length_bytes: ROOM.reject }, "what it was told");
	}
}));

await scenario("a request that nobody decides on is rejected at its deadline", () => with_daemons("a b", async (a, b) => {
	const listener = await b.listen({ port: PORT, accept: "manual", accept_timeout_ms: 300 });
	const { id } = await a.connect({ dst_port: PORT }, 0);

	await a.ended_with(id, "rejected");
	const { items: [{ end_code, timeout_ms }] } = await b.connections("failed");
	equal(end_code, "timed_out", "end of the request");
	equal(timeout_ms, 300, "its deadline");
	same(await b.get(`/v1/listeners/${listener.id}`), { requests: 1, accepted: 0, rejected: 1, waiting: 0 }, "its listener");
}));

await scenario("without a connection manager there is nobody to carry private data", () => with_daemons("a b", async (a) => {
	for (const [qp_type, column] of [["rc", "rc_manual"], ["uc", "uc"]]) {
		const { code } = await refused(a, "/v1/connections",
			{ bringup: "manual", qp_type, device: dev, private_data: { data: "hello" } }, "bad_value", "/private_data");

		refusal("private_data", column, code);
	}
}));

await scenario("by hand a cap of the path MTU is part of what is exchanged", () => with_daemons("a b", async (a, b) => {
	const body = { bringup: "manual", device: dev };
	const here = await a.post("/v1/connections", { ...body, qp: { path_mtu_bytes: 256 } });
	const there = await b.post("/v1/connections", body);

	equal(here.device.name, dev, "device that was asked for");
	equal(here.manual.local.port_mtu_bytes, 256, "MTU that the peer is told");
	await b.post(`/v1/connections/${there.id}/remote`, here.manual.local, WAIT_S);
	await a.post(`/v1/connections/${here.id}/remote`, there.manual.local, WAIT_S);
	for (const [daemon, { id }] of [[a, here], [b, there]])
		equal((await daemon.connection(id)).qp_attr.path_mtu_bytes, 256, "path MTU");
	await transfers_work(a, here, b);
	await Promise.all([[a, here], [b, there]].map(([daemon, { id }]) => daemon.post(`/v1/connections/${id}/close`, {}, WAIT_S)));
}));

// librdmacm's sockets announce their version and buffer sizes in 40 bytes of private data (rsocket.c).
await scenario_with("d", "rstream's private data is shown, and rstream accepts that of verbsd", async (daemon) => {
	await daemon.listen({ port: PORT, accept: "manual" });
	const client = new Program("rstream", ["-s", addr, "-p", `${PORT}`, "-S", "64", "-C", "1", "-I", "1"]);
	const request = await accepted(daemon, "requested");
	const { carried_by, data, encoding, length_bytes } = request.private_data.peer;
	equal(`${carried_by} ${encoding} ${length_bytes}`, `request hex ${ROOM.request}`, "what carried it");
	equal(data.slice(0, 2), "01", "version of the protocol");
	ok(data.length / 2 <= 40 && parseInt(data.slice(4, 8), 16) > 0, `no credits in ${data}`);
	await daemon.post(`/v1/connections/${request.id}/reject`, { private_data: { data: "no sockets here" } });
	ok((await client.end()).status !== 0, "rstream did not notice that it was rejected");

	const server = new Program("rstream", ["-b", addr, "-p", `${PORT + 1}`, "-S", "64", "-C", "1", "-I", "1"]);
	await listens(PORT + 1);
	const here = await daemon.connect({ dst_port: PORT + 1, private_data: { data: data.padEnd(80, "0"), encoding: "hex" } });
	equal(here.private_data.peer.carried_by, "reply", "what carried its answer");
	equal(here.private_data.peer.data.slice(0, 2), "01", "version of its protocol");
	await daemon.post(`/v1/connections/${here.id}/close`, {}, WAIT_S);
	server.kill("SIGKILL");
	await server.end();
	proof("private_data", "rc_cm");
	proof("peer:rstream", "rc_cm");
});

// --- devices -----------------------------------------------------------------------------------------------------

await scenario("a connection goes out from the device asked for", () => with_daemons("a b", async (a, b) => {
	const targets = [[dev, addr], [LAB_SECOND_DEV, LAB_SECOND_ADDR]];

	for (const [device, own] of targets) {
		const listener = await b.listen({ addr: "0.0.0.0", port: PORT, device });

		equal(listener.device.name, device, "device of the listener");
		equal(listener.addr, own, "address of the listener");
		const here = await a.connect({ dst_addr: own, dst_port: PORT, device });
		const there = await accepted(b);
		equal(here.device.name, device, "device of the connection");
		equal(here.local.addr, own, "address that was chosen");
		equal(here.src_addr, null, "address that was asked for");
		equal(there.device.name, device, "device of the other side");
		await close(a, here, b, there);
		await b.call("DELETE", `/v1/listeners/${listener.id}`);
	}
}));

await scenario("a route to another device is no way to go", () => with_daemons("a b", async (a, b) => {
	await b.listen({ port: PORT });
	const problem = await a.refused("POST", "/v1/connections",
		{ dst_addr: LAB_SECOND_ADDR, dst_port: PORT, src_addr: LAB_SECOND_ADDR, device: dev }, WAIT_S);
	equal(problem.code, "route_error", "code");
	ok(problem.detail.includes(dev) && problem.detail.includes(LAB_SECOND_DEV), `the devices are not named: ${problem.detail}`);
	const { detail } = await refused(b, "/v1/listeners", { addr, device: LAB_SECOND_DEV }, "address_not_available", "/addr");
	ok(detail.includes(dev) && detail.includes(LAB_SECOND_DEV), `the devices are not named: ${detail}`);
	await refused(a, "/v1/connections", { dst_addr: addr, dst_port: PORT, device: "nope0" }, "no_device", "/device");
	await refused(b, "/v1/listeners", { addr, device: "nope0" }, "no_device", "/device");
}));

await scenario("a device is found by a link-local address as well", () => with_daemons("a b", async (a, b) => {
	await run("ip", "addr", "add", "fe80::76:1/64", "dev", "rdma0", "nodad");
	await b.listen({ addr: "fe80::76:1%rdma0", port: PORT });
	// The device determines the interface.
	const here = await a.connect({ dst_addr: "fe80::76:1", dst_port: PORT, device: dev });
	const there = await accepted(b);
	equal(here.device.name, dev, "device");
	ok(/^fe80:.*%rdma0$/.test(here.local.addr), `local address: ${here.local.addr}`);
	ok(/^fe80:.*%rdma0$/.test(there.local.addr), `local address of the passive side: ${there.local.addr}`);
	await close(a, here, b, there);
}));

// --- iWARP -------------------------------------------------------------------------------------------------------

await scenario("iWARP carries private data unchanged, and has no path MTU", () => with_daemons("a b", async (a, b) => {
	const dst_addr = LAB_SIW_ADDR, device = LAB_SIW_DEV;
	const said = { data: text(IWARP_ROOM) };

	const listener = await b.listen({ addr: "0.0.0.0", port: PORT, device, accept: "manual", private_data: said });
	equal(listener.device.name, device, "device of the listener");
	equal(listener.addr, dst_addr, "address of the listener");
	const { id } = await a.connect({ dst_addr, dst_port: PORT, device, private_data: said }, 0);
	const request = await accepted(b, "requested");
	same(request.private_data.peer, { carried_by: "request", ...said, length_bytes: IWARP_ROOM }, "what came in");
	await b.post(`/v1/connections/${request.id}/accept`, {}, WAIT_S);
	const here = await a.connection_in(id, "established");
	same(here.private_data.peer, { carried_by: "reply", ...said, length_bytes: IWARP_ROOM }, "what came back");
	// Attributes that only InfiniBand has are null.
	same(here.qp_attr, { state: "RTS", path_mtu_bytes: null, ack_timeout: null, retry_count: null, gid_type: null }, "QP");
	await close(a, here, b, request);

	const rejected = await a.connect({ dst_addr, dst_port: PORT, device }, 0);
	const { id: unwanted } = await accepted(b, "requested");
	await b.post(`/v1/connections/${unwanted}/reject`, { private_data: { data: "not today" } });
	const { error, private_data } = await a.connection_in(rejected.id, "failed");
	equal(error.first.cm_event, "RDMA_CM_EVENT_REJECTED", "the rejection");
	equal(private_data.peer?.data, "not today", "what came with it");

	// The device is unknown until the route is resolved, so only private data that every
	// transport can carry is accepted.
	await refused(a, "/v1/connections", { dst_addr, dst_port: PORT, private_data: said }, "too_long", "/private_data/data");
	const problem = await refused(a, "/v1/connections", { dst_addr, dst_port: PORT, device, qp: { path_mtu_bytes: 512 } },
		"not_supported");
	same(problem, { device, capability: "path_mtu" }, "what is missing");
	proof("private_data", "siw");
}));

finish();
