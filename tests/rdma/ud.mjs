// SPDX-License-Identifier: Apache-2.0
//
// Datagrams: endpoints, peers, multicast groups; between two daemons, and with udaddy, ibv_ud_pingpong and mckey.

import net from "node:net";

import { Daemon, PATIENCE_MS, Program, WAIT_S, addr, dev, equal, finish, listens, network_of, ok, proof, refusal,
	resources, run, scenario, scenario_with, until } from "./lib.mjs";
import { connected, line_of, read_line } from "./pingpong.mjs";

const PORT = 7174;
const ENDPOINT = "/v1/ud_endpoints";
const GROUP = "239.1.2.3";
const MESSAGES = 10;

const endpoint = (daemon, body = {}) => daemon.post(ENDPOINT, { device: dev, ...body });
const listening = (daemon, port = PORT, body = {}) => endpoint(daemon, { addr, port, ...body });
const peer = (daemon, { id }, body) => daemon.post("/v1/ud_peers", { ud_endpoint: id, ...body }, WAIT_S);
const asked = (daemon, from, port = PORT, more = {}) => peer(daemon, from, { dst_addr: addr, dst_port: port, ...more });
const group = (daemon, { id }, body = {}) => daemon.post("/v1/multicast_memberships", { ud_endpoint: id, addr: GROUP, ...body }, WAIT_S);
const say = (daemon, { id }, to, data, more = {}) =>
	daemon.post(`${ENDPOINT}/${id}/messages`, { ...to, data, ...more }, WAIT_S);
const heard = async (daemon, { id }, count) =>
	(await daemon.until(`${ENDPOINT}/${id}/messages?limit=1000`, `${count} messages`, ({ total }) => total >= count)).items;
const inbox = async (daemon, { id }) => (await daemon.get(`${ENDPOINT}/${id}/messages?limit=1000`)).items;

await scenario_with("a b", "an endpoint asks another endpoint for its queue pair number, and both talk", async (a, b) => {
	const there = await listening(b, PORT, { private_data: { data: "welcome" } });
	const here = await endpoint(a);
	const b_of_a = await asked(a, here, PORT, { private_data: { data: "who?" } });

	equal(b_of_a.qpn, there.qp_attr.lqpn, "the number that was told");
	equal(b_of_a.qkey, "0x01234567", "the qkey that was told");
	equal(b_of_a.private_data.peer.data, "welcome", "private data of the answer");
	equal((await b.get(`${ENDPOINT}/${there.id}`)).sidr.answered, 1, "answers");

	await say(a, here, { ud_peer: b_of_a.id }, "hello");
	await say(a, here, { ud_peer: b_of_a.id }, "", { imm: 4294967295 });
	const [first, second] = await heard(b, there, 2);

	equal(first.data, "hello", "the first message");
	equal(first.op, "send", "its operation");
	equal(first.source.qpn, here.qp_attr.lqpn, "where it came from");
	equal(first.source.gid, here.qp_attr.sgid, "where it came from");
	equal(second.length_bytes, 0, "length of the second");
	equal(second.imm, 4294967295, "its immediate");

	const a_of_b = await peer(b, there, { message_seq: first.seq });

	equal(a_of_b.qpn, here.qp_attr.lqpn, "number of the sender");
	await say(b, there, { ud_peer: a_of_b.id }, "hello yourself");
	equal((await heard(a, here, 1))[0].data, "hello yourself", "the reply");

	const { counters } = await b.get(`${ENDPOINT}/${there.id}`);

	equal(counters.recv.completed, 2, "messages that came");
	equal(counters.recv.bytes, 5, "bytes that came");
	equal(counters.grh_bytes, 80, "bytes of route headers");
	const { code } = await a.refused("POST", "/v1/ud_peers", { ud_endpoint: here.id, dst_addr: addr, dst_port: 7999 }, WAIT_S);
	equal(code, "rejected", "a port where nobody listens");
	proof("send", "ud");
	proof("send_imm", "ud");
	proof("zero_length", "ud");
	proof("inline", "ud");
	proof("inbox", "ud");
	proof("private_data", "ud");
});

await scenario_with("a b", "a datagram fills the MTU and is never longer", async (a, b) => {
	const there = await listening(b);
	const here = await endpoint(a);
	const { id } = await asked(a, here);
	const { max_message_bytes } = here;
	const buffer = await a.buffer(2 * max_message_bytes);
	const send = (more) => ({ op: "send", ud_endpoint: here.id, ud_peer: id, buffer: buffer.id, ...more });

	await say(a, here, { ud_peer: id }, "x".repeat(max_message_bytes));
	const too_long = await a.refused("POST", `${ENDPOINT}/${here.id}/messages`,
		{ ud_peer: id, data: "x".repeat(max_message_bytes + 1) });
	equal(too_long.code, "message_too_long", "code");
	ok(too_long.detail.includes(String(max_message_bytes)), too_long.detail);
	equal(too_long.errors[0].pointer, "/data", "pointer");
	equal((await a.refused("POST", "/v1/transfers", send({ length_bytes: max_message_bytes + 1 }))).code,
		"message_too_long", "code");

	// A range cut into datagrams, and a datagram gathered from ranges.
	await a.post("/v1/transfers", send({ length_bytes: 3 * 256, message_bytes: 256 }), WAIT_S);
	await a.post("/v1/transfers", { op: "send", ud_endpoint: here.id, ud_peer: id, sges: [
		{ buffer: buffer.id, offset_bytes: 0, length_bytes: 10 }, { buffer: buffer.id, offset_bytes: 100, length_bytes: 20 }] }, WAIT_S);
	const lengths = (await heard(b, there, 5)).map(({ length_bytes }) => length_bytes);

	equal(lengths.join(), [max_message_bytes, 256, 256, 256, 30].join(), "lengths");
	proof("sge_list", "ud");
});

await scenario_with("a b", "work requests complete even if only every Nth is signalled", async (a, b) => {
	const there = await listening(b, PORT, { qp: { rq_depth: 256 } });
	const here = await endpoint(a, { qp: { sq_depth: 16, signal_every: 8 } });
	const { id } = await asked(a, here);
	const buffer = await a.buffer(4096);

	await a.post("/v1/transfers", { op: "send", ud_endpoint: here.id, ud_peer: id, buffer: buffer.id, length_bytes: 1280,
		message_bytes: 10 }, WAIT_S);
	const { counters: { send } } = await a.get(`${ENDPOINT}/${here.id}`);

	equal(send.completed, 128, "sends");
	ok(send.signalled < 32, `${send.signalled} of them were signalled`);
	equal((await heard(b, there, 128)).length, 128, "messages");
	proof("signal_every", "ud");
});

await scenario_with("a b", "a wrong qkey makes the device drop the datagram, and nothing else happens", async (a, b) => {
	const there = await endpoint(b);
	const here = await endpoint(a);
	const known = { gid: there.qp_attr.sgid, qpn: there.qp_attr.lqpn };
	const wrong = await peer(a, here, { ...known, qkey: "0x00000bad" });
	const right = await peer(a, here, known);
	const nobody = await peer(a, here, { gid: there.qp_attr.sgid, qpn: 0xabcdef });

	await say(a, here, { ud_peer: wrong.id }, "lost");
	await say(a, here, { ud_peer: nobody.id }, "lost");
	await say(a, here, { ud_peer: right.id }, "heard");
	equal((await heard(b, there, 1)).map(({ data }) => data).join(), "heard", "what came");
	equal((await a.get(`${ENDPOINT}/${here.id}`)).state, "ready", "state");

	// An endpoint that is gone does not end its senders.
	await b.call("DELETE", `${ENDPOINT}/${there.id}`, undefined, { wait_s: WAIT_S });
	await say(a, here, { ud_peer: right.id }, "to nobody");
	equal((await a.get(`${ENDPOINT}/${here.id}`)).state, "ready", "state");
	equal((await a.get("/v1/stats")).transfers_ended_failed, 0, "transfers that failed");
	proof("send", "ud");
});

// A reader that does not delete its messages stalls no sender.
await scenario_with("a b", "without a receive a datagram is lost, and a deleted message makes room", async (a, b) => {
	const there = await listening(b, PORT, { qp: { rq_depth: 4 } });
	const here = await endpoint(a);
	const { id } = await asked(a, here);

	for (let i = 1; i <= 6; i++)
		await say(a, here, { ud_peer: id }, `message ${i}`);
	equal((await heard(b, there, 4)).length, 4, "messages that were kept");
	await b.call("DELETE", `${ENDPOINT}/${there.id}/messages?through=4`);
	await say(a, here, { ud_peer: id }, "room");
	equal((await heard(b, there, 1))[0].data, "room", "the message after it");
	proof("inbox", "ud");
});

// --- valid and invalid parameters -------------------------------------------------------------------------------

await scenario_with("d", "an endpoint uses the protection domain and completion queue that it names", async (daemon) => {
	const pd = await daemon.post("/v1/pds", { name: "mine", device: dev });
	const cq = await daemon.post("/v1/cqs", { name: "queue", device: dev, cqe: 256 });
	const here = await listening(daemon, PORT, { name: "here", qp: { pd: "mine", cq: "queue" } });
	const buffer = await daemon.buffer(4096, { pd: "mine" });
	const other = await daemon.buffer(4096);
	const { id } = await asked(daemon, here);
	const send = (from) => ({ op: "send", ud_endpoint: here.id, ud_peer: id, buffer: from.id, length_bytes: 100 });

	equal(here.cq.id, cq.id, "its completion queue");
	equal(here.qp.pd.id, pd.id, "its protection domain");
	await daemon.post("/v1/transfers", send(buffer), WAIT_S);
	await heard(daemon, here, 1);
	equal((await daemon.refused("POST", "/v1/transfers", send(other))).code, "pd_mismatch", "code");
	for (const path of ["/v1/pds/mine", "/v1/cqs/queue"]) {
		const { code, users } = await daemon.refused("DELETE", path);

		equal(code, "in_use", path);
		ok(users.includes(`${ENDPOINT}/${here.id}`), users.join());
	}
	await daemon.call("DELETE", `${ENDPOINT}/here`, undefined, { wait_s: WAIT_S });
	await daemon.call("DELETE", `/v1/buffers/${buffer.id}`);
	await daemon.call("DELETE", "/v1/cqs/queue");
	await daemon.call("DELETE", "/v1/pds/mine");
	const { code } = await daemon.refused("POST", "/v1/cqs", { device: dev, moderation: { count: 8, period_us: 100 } });
	proof("pd", "ud");
	proof("cq", "ud");
	refusal("cq_moderation", "ud", code);
});

await scenario_with("a b", "a sink counts datagrams and keeps none", async (a, b) => {
	const there = await listening(b, PORT, { service: "sink", qp: { rq_depth: 4 } });
	const here = await endpoint(a);
	const { id } = await asked(a, here);

	for (let i = 1; i <= 20; i++) {
		await say(a, here, { ud_peer: id }, "x".repeat(100));
		await b.until(`${ENDPOINT}/${there.id}`, `message ${i}`, ({ counters }) => counters.recv.completed === i);
	}
	equal((await inbox(b, there)).length, 0, "messages that were kept");
	proof("sink", "ud");
});

await scenario_with("d", "verbsd refuses by name what datagrams can't do", async (daemon) => {
	const here = await endpoint(daemon);
	const { id } = await peer(daemon, here, { gid: here.qp_attr.sgid, qpn: here.qp_attr.lqpn });
	const buffer = await daemon.buffer(4096);
	const remote = { addr: "0x1000", rkey: "0x1" };
	const operands = {
		write: { remote }, write_imm: { remote, imm: 1 }, read: { remote }, fetch_add: { remote, add: "0x1" },
		compare_swap: { remote, compare: "0x0", swap: "0x1" }, recv: {},
	};

	for (const [op, more] of Object.entries(operands)) {
		const { code } = await daemon.refused("POST", "/v1/transfers", { op, ud_endpoint: here.id, ud_peer: id,
			buffer: buffer.id, ...(!more.add && !more.swap && { length_bytes: 8 }), ...more });

		equal(code, "not_supported", op);
		refusal(op, "ud", code);
	}
	for (const service of ["echo", "rping", "rping_client"]) {
		const { code } = await daemon.refused("POST", ENDPOINT, { service });

		equal(code, "not_supported", service);
		refusal(service, "ud", code);
	}
	const { code } = await daemon.refused("POST", ENDPOINT, { qp: { srq: 1 } });
	refusal("srq", "ud", code);
	for (const type of [1, 2]) {
		const window = await daemon.refused("POST", "/v1/windows", { buffer: buffer.id, ud_endpoint: here.id, type });

		refusal(`window_type_${type}`, "ud", window.code);
	}
	for (const kind of ["ack", "echo", "rping"])
		refusal(`probe_${kind}`, "ud", (await daemon.refused("POST", "/v1/probes", { ud_endpoint: here.id, kind })).code);
	for (const op of ["send", "write", "read"]) {
		const benchmark = { ud_endpoint: here.id, op, size_bytes: 64, ...(op !== "send" && { remote }) };

		refusal(`bench_${op}`, "ud", (await daemon.refused("POST", "/v1/benchmarks", benchmark)).code);
	}
	equal((await daemon.get(`${ENDPOINT}/${here.id}`)).state, "ready", "state");
});

// --- by hand, over each GID --------------------------------------------------------------------------------------

await scenario_with("a b", "endpoints that were told of each other talk over each GID of the device", async (a, b) => {
	const { ports: [{ gids }] } = await a.get(`/v1/devices/${dev}`);
	const seen = new Set();

	for (const { gid_index, gid, ...more } of gids) {
		const here = await endpoint(a, { gid_index });
		const there = await endpoint(b, { gid_index });
		const { id } = await peer(a, here, { gid: there.qp_attr.sgid, qpn: there.qp_attr.lqpn, qkey: there.qp_attr.qkey });

		equal(here.qp_attr.sgid, gid, "the endpoint's GID");
		await say(a, here, { ud_peer: id }, gid);
		const [message] = await heard(b, there, 1);

		equal(message.data, gid, "what came");
		equal(message.source.gid, gid, "where it came from");
		const back = await peer(b, there, { message_seq: message.seq });

		await say(b, there, { ud_peer: back.id }, "back");
		await heard(a, here, 1);
		await a.call("DELETE", `${ENDPOINT}/${here.id}`, undefined, { wait_s: WAIT_S });
		await b.call("DELETE", `${ENDPOINT}/${there.id}`, undefined, { wait_s: WAIT_S });
		seen.add(network_of(more));
		proof(network_of(more), "ud");
	}
	for (const network of ["ipv4", "ipv6", "ipv6_link_local", "vlan"])
		ok(seen.has(network), `the device has no GID for ${network}`);
	proof("manual_bringup", "ud");
});

// --- udaddy ----------------------------------------------------------------------------------------------------

await scenario_with("d", "udaddy serves an endpoint", async (daemon) => {
	const server = new Program("udaddy", ["-b", addr, "-C", String(MESSAGES)]);

	await listens(PORT);
	const here = await endpoint(daemon);
	const { id } = await asked(daemon, here);

	// udaddy replies to the QP in the immediate data.
	for (let i = 0; i < MESSAGES; i++)
		await say(daemon, here, { ud_peer: id }, "x".repeat(100), { imm: here.qp_attr.lqpn });
	const messages = await heard(daemon, here, MESSAGES);

	ok(messages.every(({ length_bytes, op, source }) => length_bytes === 100 && op === "send" && source.gid === here.qp_attr.sgid),
		JSON.stringify(messages[0]));
	await server.success();
	proof("peer:udaddy", "ud");
});

await scenario_with("d", "udaddy asks an endpoint", async (daemon) => {
	const here = await listening(daemon);
	const client = new Program("udaddy", ["-s", addr, "-C", String(MESSAGES)]);
	const messages = await heard(daemon, here, MESSAGES);
	const { id } = await peer(daemon, here, { message_seq: messages[0].seq });

	equal(messages[0].imm, messages[0].source.qpn, "the number that it tells");
	for (let i = 0; i < MESSAGES; i++)
		await say(daemon, here, { ud_peer: id }, "y".repeat(100));
	await client.success();
	proof("peer:udaddy", "ud");
});

// --- ibv_ud_pingpong ---------------------------------------------------------------------------------------------

const PINGPONG_PORT = 18515;
const PINGPONG_QKEY = "0x11111111";

const peer_of = async (socket) => {
	const { qpn, gid } = await read_line(socket);

	return { qpn, gid, qkey: PINGPONG_QKEY };
};

const own_line = ({ qp_attr: { lid, lqpn, sq_psn, sgid } }) => line_of({ lid, qpn: lqpn, psn: sq_psn, gid: sgid });

const pingpong = ({ qp_attr: { gid_index } }, ...more) => new Program("ibv_ud_pingpong", [
	"-d", dev, "-g", String(gid_index), "-s", "1024", "-r", "20", "-n", String(MESSAGES), ...more]);

// The client sends first; each answer triggers the next message.
await scenario("an endpoint answers ibv_ud_pingpong", async () => {
	const daemon = await Daemon.start("d");
	const server = net.createServer();

	await daemon.ready();
	const here = await endpoint(daemon, { qkey: PINGPONG_QKEY });
	await new Promise((done) => server.listen(PINGPONG_PORT, "127.0.0.1", done));
	const asks = new Promise((done) => server.once("connection", done));
	const client = pingpong(here, "127.0.0.1");
	const socket = await asks;
	const { id } = await peer(daemon, here, await peer_of(socket));

	socket.write(own_line(here));
	for (let i = 1; i <= MESSAGES; i++) {
		await heard(daemon, here, i);
		await say(daemon, here, { ud_peer: id }, "z".repeat(1024));
	}
	await client.success();
	socket.destroy();
	server.close();
	equal((await daemon.get(`${ENDPOINT}/${here.id}`)).counters.recv.bytes, MESSAGES * 1024, "bytes that came");
	await daemon.stop();
	proof("peer:ibv_ud_pingpong", "ud");
});

await scenario_with("d", "ibv_ud_pingpong answers an endpoint", async (daemon) => {
	const here = await endpoint(daemon, { qkey: PINGPONG_QKEY });
	const server = pingpong(here);
	const socket = await until("the pingpong to listen", () => connected(PINGPONG_PORT).catch(() => null));

	socket.write(own_line(here));
	const { id } = await peer(daemon, here, await peer_of(socket));

	socket.write("done\0");
	for (let i = 1; i <= MESSAGES; i++) {
		await say(daemon, here, { ud_peer: id }, String(i).padEnd(1024, "x"));
		await heard(daemon, here, i);
	}
	await server.success();
	socket.destroy();
	proof("peer:ibv_ud_pingpong", "ud");
});

// --- multicast ---------------------------------------------------------------------------------------------------

await scenario_with("a b", "a group hears its members, and a send-only member does not hear the group", async (a, b) => {
	const here = await endpoint(a, { addr });
	const there = await endpoint(b, { addr });
	const sends = await group(a, here, { mode: "send_only" });
	const member = await group(b, there);

	equal(sends.state, "joined", "state");
	equal(member.mgid, sends.mgid, "the group's GID");
	await say(a, here, { multicast_membership: sends.id }, "to all");
	const [message] = await heard(b, there, 1);

	equal(message.data, "to all", "what came");
	equal((await inbox(a, here)).length, 0, "messages of the send-only member");

	// A reply to the sender of a multicast message.
	const { id } = await peer(b, there, { message_seq: message.seq });
	await say(b, there, { ud_peer: id }, "to you");
	equal((await heard(a, here, 1))[0].data, "to you", "the reply");

	await b.call("DELETE", `/v1/multicast_memberships/${member.id}`, undefined, { wait_s: WAIT_S });
	await say(a, here, { multicast_membership: sends.id }, "to nobody");
	await asked(a, here, (await b.get(`${ENDPOINT}/${there.id}`)).port)
		.then((known) => say(a, here, { ud_peer: known.id }, "after it"));
	equal((await heard(b, there, 2)).map(({ data }) => data).join(), "to all,after it", "what came after leaving");
	equal((await a.refused("POST", "/v1/multicast_memberships", { ud_endpoint: here.id, addr: "192.0.2.1" })).code, "bad_value", "code");
	proof("multicast", "ud");
});

await scenario_with("d", "an endpoint hears mckey until it leaves", async (daemon) => {
	const here = await endpoint(daemon, { addr, qp: { rq_depth: 64 } });
	const member = await group(daemon, here);
	const sender = () => new Program("mckey", ["-m", GROUP, "-b", addr, "-s", "-C", String(MESSAGES)]).success();

	await sender();
	const messages = await heard(daemon, here, MESSAGES);

	ok(messages.every(({ length_bytes, imm, source }) => length_bytes === 100 && imm === source.qpn),
		JSON.stringify(messages[0]));
	await daemon.call("DELETE", `/v1/multicast_memberships/${member.id}`, undefined, { wait_s: WAIT_S });
	await sender();
	equal((await inbox(daemon, here)).length, MESSAGES, "messages after leaving");
	proof("peer:mckey", "ud");
	proof("multicast", "ud");
});

for (const mode of ["full", "send_only"]) {
	await scenario_with("d", `mckey hears a ${mode} member`, async (daemon) => {
		const here = await endpoint(daemon, { addr, qp: { rq_depth: 64 } });
		const { id } = await group(daemon, here, { mode });
		// mckey flushes each line only to a terminal.
		const receiver = new Program("mckey", ["-m", GROUP, "-b", addr, "-C", String(MESSAGES)],
			{ prefix: ["stdbuf", "-oL"] });

		await until("mckey to be a member", () => /joined/.test(receiver.output));
		for (let i = 0; i < MESSAGES; i++)
			await say(daemon, here, { multicast_membership: id }, "m".repeat(100));
		await receiver.success();
		equal((await inbox(daemon, here)).length, mode === "full" ? MESSAGES : 0, "own messages that came back");
		proof("peer:mckey", "ud");
		proof("multicast", "ud");
	});
}

// --- ends --------------------------------------------------------------------------------------------------------

await scenario_with("d", "an endpoint takes its peers and groups with it", async (daemon) => {
	const idle = await resources();
	const here = await listening(daemon);
	const known = await asked(daemon, here);
	const member = await group(daemon, here);

	await say(daemon, here, { ud_peer: known.id }, "to myself");
	await heard(daemon, here, 1);
	await daemon.call("DELETE", `${ENDPOINT}/${here.id}`, undefined, { wait_s: WAIT_S });
	for (const path of [`${ENDPOINT}/${here.id}`, `/v1/ud_peers/${known.id}`, `/v1/multicast_memberships/${member.id}`])
		equal((await daemon.refused("GET", path)).code, "not_found", path);
	equal(JSON.parse(await resources())[0].qp, JSON.parse(idle)[0].qp, "QPs");
});

await scenario_with("d", "the daemon stops with endpoints, peers and groups in use", async (daemon) => {
	for (let i = 0; i < 3; i++) {
		const here = await listening(daemon, PORT + i);

		await asked(daemon, here, PORT + i);
		await group(daemon, here);
	}
	// A request that gets no answer is under way.
	await daemon.post("/v1/ud_peers", { ud_endpoint: 1, dst_addr: "203.0.113.1", dst_port: 1, timeout_ms: PATIENCE_MS });
});

// --- the device goes -----------------------------------------------------------------------------------------------

await scenario_with("a b", "a device that is deleted is let go, and endpoints say why", async (a, b) => {
	const netdev = (await run("cat", `/sys/class/infiniband/${dev}/ports/1/gid_attrs/ndevs/0`)).trim();
	const there = await listening(b);
	const here = await endpoint(a, { addr });
	const { id } = await asked(a, here);
	const member = await group(a, here);
	const { status } = await new Program("timeout", ["30", "rdma", "link", "delete", dev]).end();

	equal(status, 0, "status of rdma link delete within 5 s");
	for (const [daemon, seen] of [[a, here], [b, there]]) {
		const { end_code } = await daemon.until(`${ENDPOINT}/${seen.id}`, "its end", ({ state }) => state === "failed");

		equal(end_code, "device_removed", "reason");
	}
	equal((await a.get(`/v1/ud_peers/${id}`)).state, "failed", "state of the peer");
	equal((await a.get(`/v1/multicast_memberships/${member.id}`)).state, "failed", "state of the membership");
	await run("rdma", "link", "add", dev, "type", "rxe", "netdev", netdev);
	await a.ready();
	await endpoint(a, { addr });
});

finish();
