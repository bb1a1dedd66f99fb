// SPDX-License-Identifier: Apache-2.0
//
// The first line of an explanation: each cause that docs/why.md says this suite stages is staged, on both sides where
// both see something of it, and held by its code. Parts of it are explain_foreign.mjs and explain_limits.mjs.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

import { BRIEF, CONNECTION, PAGE, begin, failed, far, move, near, next_port, open_memory, other_key, pair, requested, says, says_at_last, says_of_one,
	stage, stage_mute, staged } from "./explain_stage.mjs";
import { Daemon, PATIENCE_MS, WAIT_S, addr, dev, equal, finish, ok, run, scenario } from "./lib.mjs";
import { manual_pair } from "./operations.mjs";

const { LAB_SIW_ADDR, LAB_SIW_DEV } = process.env;
const NETWORK = addr.slice(0, addr.lastIndexOf("."));
const NETDEV = (await run("cat", `/sys/class/infiniband/${dev}/ports/1/gid_attrs/ndevs/0`)).trim();
// The CM repeats a connect request after some seconds, and only a repeated one is answered that nobody has decided.
const LONG_MS = 15_000;

// One after the other: modules that are imported together run together.
await import("./explain_foreign.mjs");
await import("./explain_limits.mjs");

// --- before it is connected --------------------------------------------------------------------------------------

await stage("nobody is there: no listener, no host, no route, no name", async () => {
	await says(near, await failed(near, { dst_port: 7999 }), "nobody_listens");
	await says(near, await failed(near, { dst_addr: "localhost", dst_port: 7999 }), "address_without_rdma");
	const { port: taken } = await near.listen({ addr, port: next_port() });

	await says(near, await failed(near, { dst_port: 7999, src_port: taken }), "port_taken");
	await says(near, await failed(near, { dst_addr: "a..b", dst_port: 7999 }), "name_unknown", "has no address");
	// The guest has no name server.
	await says(near, await failed(near, { dst_addr: "no.such.host.invalid", dst_port: 7999, ...BRIEF }), "name_unknown", "no name server");
	await run("ip", "route", "add", "unreachable", "198.51.100.0/24");
	await says(near, await failed(near, { dst_addr: "198.51.100.9", dst_port: 7999 }), "no_route");
	await run("ip", "link", "add", "plain0", "type", "dummy");
	await run("ip", "addr", "add", "203.0.113.1/24", "dev", "plain0");
	await run("ip", "link", "set", "plain0", "up");
	await says(near, await failed(near, { dst_addr: "203.0.113.9", dst_port: 7999 }), "route_without_rdma");
	await run("ip", "link", "del", "plain0");
	await run("ip", "link", "set", "dev", NETDEV, "arp", "on");
	await says(near, await failed(near, { dst_addr: `${NETWORK}.254`, dst_port: 7999, timeout_ms: 8000 }), "host_gone");
});

await stage("a host that does not answer, and one that went", async () => {
	const silent = `${NETWORK}.253`;

	await run("ip", "link", "set", "dev", NETDEV, "arp", "on");
	await run("ip", "neigh", "replace", silent, "lladdr", "02:00:00:00:00:99", "dev", NETDEV, "nud", "permanent");
	const ended = await begin(near, { dst_addr: silent, dst_port: 7999, ...BRIEF });
	const open = await begin(near, { dst_addr: silent, dst_port: 7999 });

	await says_at_last(near, open, "neighbour_by_hand");
	await near.end_of(ended.id);
	await says(near, ended, "neighbour_by_hand");
	await says(near, await failed(near, { dst_addr: LAB_SIW_ADDR.replace(/\d+$/, "99"), dst_port: 7999, ...BRIEF }), "no_answer");
	const gone = await begin(near, { dst_addr: silent, dst_port: 7999, ...BRIEF });

	await near.connection_in(gone.id, "connecting");
	await run("ip", "neigh", "replace", silent, "dev", NETDEV, "nud", "failed");
	await near.end_of(gone.id);
	await says(near, gone, "host_gone");
	await near.call("DELETE", `${CONNECTION}/${open.id}`);
});

await stage("a program that refuses, with words and without", async () => {
	const hand = await far.listen({ addr, port: next_port(), accept: "manual" });
	const wordy = await begin(near, { dst_port: hand.port });
	const there = await requested(hand);

	await far.post(`${CONNECTION}/${there.id}/reject`, { private_data: { data: "go away: tenant 7 suspended" } });
	await near.end_of(wordy.id);
	const { summary } = await says(near, wordy, "refused_with_words");
	ok(summary.includes("go away: tenant 7 suspended"), `the words are not in: ${summary}`);
	await says(far, await far.end_of(there.id), "closed_here", "rejected the request");
	const silent = await begin(near, { dst_port: hand.port });

	await far.post(`${CONNECTION}/${(await requested(hand)).id}/reject`, {});
	await near.end_of(silent.id);
	await says(near, silent, "refused_by_program");
	const closed = await far.listen({ addr, port: next_port(), accept: "reject" });

	await says(near, await failed(near, { dst_port: closed.port }), "refused_with_words");
});

await stage("a request that nobody decides", async () => {
	const hand = await far.listen({ addr, port: next_port(), accept: "manual", accept_timeout_ms: 60_000 });
	const here = await begin(near, { dst_port: hand.port, timeout_ms: LONG_MS });
	const there = await requested(hand);

	await says_at_last(far, there, "undecided_here");
	await says_at_last(near, here, "peer_undecided");
	await near.end_of(here.id);
	await says(near, here, "peer_undecided");
	const hasty = await far.listen({ addr, port: next_port(), accept: "manual", accept_timeout_ms: 300 });
	const other = await begin(near, { dst_port: hasty.port });

	await says(far, await far.end_of((await requested(hasty)).id), "undecided_here");
	await says(near, await near.end_of(other.id), "refused_with_words");
	const brief = await far.listen({ addr, port: next_port(), accept: "manual", accept_timeout_ms: 60_000 });

	const asking = await begin(near, { dst_port: brief.port });
	const waiting = await requested(brief);

	await far.call("DELETE", `/v1/listeners/${brief.id}`);
	await says(far, await far.end_of(waiting.id), "closed_here", "deleted the listener");
	await near.end_of(asking.id);
	await says(near, asking, "refused_with_words");
});

// The kernel counts those requests for the backlog that the daemon has not taken from it.
await stage("requests that wait for a decision leave the kernel's backlog free", async () => {
	const hand = await far.listen({ addr, port: next_port(), accept: "manual", accept_timeout_ms: 60_000, backlog: 1 });

	for (let i = 0; i < 3; i++)
		await begin(near, { dst_port: hand.port });
	await far.until(`/v1/listeners/${hand.id}`, "three requests", ({ waiting }) => waiting === 3);
});

await stage("a program that is stopped, and its backlog fills", async () => {
	const { port } = await far.listen({ addr, port: next_port(), backlog: 1 });

	far.kill("SIGSTOP");
	// This request takes the only place in the backlog, also when it has ended here.
	await says_of_one(near, "not_taken_yet", () => failed(near, { dst_port: port, ...BRIEF }));
	const dropped = await begin(near, { dst_port: port });

	await says_at_last(near, dropped, "backlog_full_there");
	far.kill("SIGCONT");
	await near.connection_in(dropped.id, "established");
});

await stage("a backlog that other requests of this side fill", async () => {
	const { port } = await far.listen({ addr, port: next_port(), backlog: 1 });

	far.kill("SIGSTOP");
	const first = await begin(near, { dst_port: port });

	await near.connection_in(first.id, "connecting");
	const { id } = await failed(near, { dst_port: port, timeout_ms: 5000 });
	const { cause } = await near.get(`${CONNECTION}/${id}/explain`);

	console.log(`     near: ${cause.code}`);
	ok(cause.code !== "peer_undecided", "the answer to another request counts for this one");
	far.kill("SIGCONT");
	await near.connection_in(first.id, "established");
});

await stage("attributes that nobody gives", async () => {
	const make = (timeout_ms) => near.post(CONNECTION, { bringup: "manual", qp_type: "rc", device: dev, timeout_ms });
	const ended = await make(1500);

	await says_at_last(near, await make(PATIENCE_MS), "no_remote");
	await says(near, await near.end_of(ended.id), "no_remote");
});

// --- memory and messages -----------------------------------------------------------------------------------------

await stage_mute("an access that is refused, on both sides", async () => {
	for (const service of ["inbox", "none"]) {
		const [here, there] = await pair({}, { service });
		const { addr: at, rkey } = await open_memory();

		equal((await move("read", here, { remote: { addr: at, rkey: other_key(rkey) } })).code, "remote_access", "code");
		await near.end_of(here.id);
		await says(near, here, "access_refused");
		await says(far, await far.end_of(there.id), "refused_here");
	}
	const [here, there] = await pair();
	const { id, addr: at, rkey } = await open_memory();

	await far.call("DELETE", `/v1/buffers/${id}`);
	await move("read", here, { remote: { addr: at, rkey } });
	await says(near, await near.end_of(here.id), "access_refused");
	await says(far, await far.end_of(there.id), "refused_here");
});

await stage_mute("memory that is open to nobody, by a peer that says nothing", async () => {
	const [here, there] = await pair();

	await move("read", here, { remote: { addr: "0x1000", rkey: "0x00001234" } });
	await near.end_of(here.id);
	await says(far, await far.end_of(there.id), "nothing_open");
});

await stage("memory that is not open to the peer", async () => {
	const [astray, astray_there] = await pair();
	const elsewhere = await far.buffer(PAGE, { device: LAB_SIW_DEV, access: ["remote_read"] });

	await move("read", astray, { remote: { addr: elsewhere.addr, rkey: elsewhere.rkey } });
	await near.end_of(astray.id);
	await says(far, await far.end_of(astray_there.id), "nothing_open", LAB_SIW_DEV);
	const [other, other_there] = await pair();
	const { id: pd } = await far.post("/v1/pds", { device: dev });
	const { addr: at, rkey } = await far.buffer(PAGE, { device: dev, pd, access: ["remote_read"] });

	await move("read", other, { remote: { addr: at, rkey } });
	await near.end_of(other.id);
	await says(far, await far.end_of(other_there.id), "other_pd");
});

await stage_mute("a message longer than the receive, on both sides", async () => {
	const [here, there] = await pair({ service: "none" }, { service: "inbox" });

	await move("send", here, { size_bytes: 65536 });
	await says(near, await near.end_of(here.id), "message_too_long");
	await says(far, await far.end_of(there.id), "receive_too_short");
});

await stage("a peer without a receive, while it waits and when it has failed", async () => {
	const [here] = await pair({ service: "none", qp: { rnr_retry: 7, retry_count: 7 } }, { service: "none" });
	const waits = move("send", here, { timeout_ms: 5000 });

	await says_at_last(near, here, "no_receive");
	await waits;
	await near.end_of(here.id);
	await says(near, here, "no_receive");
	const [other, unserved] = await pair({ service: "none", qp: { rnr_retry: 1 } }, { service: "none" });

	await move("send", other);
	await says(near, await near.end_of(other.id), "no_receive");
	await says(far, await far.end_of(unserved.id), "peer_left_unserved", "no receive is posted");
	const [held] = await pair({ service: "none", qp: { rnr_retry: 7, retry_count: 7 } }, { service: "none" });
	const buffer = await near.buffer(PAGE, { device: dev });
	const sent = await near.post("/v1/transfers", { op: "send", connection: held.id, buffer: buffer.id, length_bytes: 64 });

	await near.post(`/v1/transfers/${sent.id}/cancel`, {});
	await says(near, await near.end_of(held.id), "cancelled_here");
});

await stage_mute("an inbox that nobody reads", async () => {
	const [here, there] = await pair({}, { service: "inbox", qp: { rq_depth: 2 } });

	for (let i = 0; i < 2; i++)
		await near.post(`${CONNECTION}/${here.id}/messages`, { data: "hello" }, WAIT_S);
	await says_at_last(far, there, "inbox_full");
	await near.post(`${CONNECTION}/${here.id}/close`, {}, WAIT_S);
	await says(far, await far.end_of(there.id), "peer_left_unserved", "all 2 receives");
});

await stage("an inbox that nobody reads holds messages of the peer back", async () => {
	const [here] = await pair({ qp: { rnr_retry: 7, retry_count: 7 } }, { service: "inbox", qp: { rq_depth: 64 } });
	const waits = move("send", here, { size_bytes: 8192, message_bytes: 64, timeout_ms: 12_000 });
	const told = await says_at_last(near, here, "no_receive", "hold messages");

	ok((await near.get("/v1/transfers/1")).bytes_done > 0, "no message was sent before");
	ok(told.summary.startsWith("The connection is established"), `not while it waits: ${told.summary}`);
	ok(told.summary.includes("64 bytes"), `the length of a message is not in: ${told.summary}`);
	equal(told.peer_report.inbox_full, true, "what the peer reported");
	await waits;
	await near.end_of(here.id);
});

await stage("a shared receive queue that nobody empties", async () => {
	const { id: srq } = await far.post("/v1/srqs", { device: dev, max_wr: 1 });
	const [here, there] = await pair({}, { service: "inbox", qp: { srq } });

	await near.post(`${CONNECTION}/${here.id}/messages`, { data: "hello" }, WAIT_S);
	await says_at_last(far, there, "inbox_full", "shared receive queue");
});

await stage("a peer that speaks another protocol", async () => {
	const [here, there] = await pair({ service: "none" }, { service: "rping" });

	await near.post(`${CONNECTION}/${here.id}/messages`, { data: "hello" }, WAIT_S);
	await says(far, await far.end_of(there.id), "speaks_otherwise");
});

// --- what the verbsd of the peer reports ---------------------------------------------------------------------------

await stage("an access that is refused is judged by the side that has the memory, for its own callers", async () => {
	const reach = async (spec, op, { offset = 0, key = (rkey) => rkey, before = () => {} }) => {
		const [here, there] = await pair({}, { service: "none" });
		const { id, addr: at, rkey } = await far.buffer(PAGE, { device: dev, ...spec });

		await before(id);
		await move(op, here, { remote: { addr: `0x${(BigInt(at) + BigInt(offset)).toString(16)}`, rkey: key(rkey) } });
		await near.end_of(here.id);
		return [here, await far.end_of(there.id)];
	};
	const { id: pd } = await far.post("/v1/pds", { device: dev });
	const reads = { access: ["remote_read"] };

	await open_memory();
	for (const [spec, op, how, judgement] of [
		[reads, "read", { key: other_key }, "with a key that no memory"],
		[reads, "read", { offset: PAGE - 8 }, "past the end"],
		[reads, "write", {}, "does not grant"],
		[reads, "read", { before: (id) => far.call("DELETE", `/v1/buffers/${id}`) }, "with a key that no memory"],
		[{ ...reads, pd }, "read", {}, null],
	]) {
		const [here, there] = await reach(spec, op, how);

		await says_at_last(near, here, "access_refused");
		equal((await near.get(`${CONNECTION}/${here.id}/explain`)).possible_causes.length, 0, "other causes");
		if (judgement)
			await says_at_last(far, there, "refused_here", judgement);
	}
});

await stage("two path MTUs: both sides tell both", async () => {
	const [here, there] = await pair({ qp: { path_mtu_bytes: 1024 } }, { qp: { path_mtu_bytes: 256 } });
	const { addr: at, rkey } = await far.buffer(16384, { device: dev, access: ["remote_write"] });

	await move("write", here, { size_bytes: 16000, remote: { addr: at, rkey } });
	await near.end_of(here.id);
	await says_at_last(near, here, "path_mtu_differs");
	await far.end_of(there.id);
	const told = await says_at_last(far, there, "path_mtu_differs");

	equal(told.peer_report.path_mtu_bytes, 1024, "the path MTU that the peer reported");
});

await stage("a message longer than the receive: both sides tell both lengths", async () => {
	const [here, there] = await pair({ service: "none" }, { service: "inbox" });

	await move("send", here, { size_bytes: 65536 });
	await near.end_of(here.id);
	await says_at_last(near, here, "message_too_long");
	const told = await says_at_last(far, await far.end_of(there.id), "receive_too_short");

	ok(told.summary.includes("65536"), `the length of the message is not in: ${told.summary}`);
	equal(told.peer_report.length_bytes, 65536, "the length that the peer reported");
	equal(told.peer_report.end_code, "remote_operation", "its reason");
});

await stage("a peer says why it left, and one that is started anew knows nothing", async () => {
	const [here, there] = await pair();

	await far.post(`${CONNECTION}/${there.id}/close`, {}, WAIT_S);
	await says_of_one(near, "closed_there", () => near.end_of(here.id));
	const [failing, peer] = await pair({ service: "none", qp: { rnr_retry: 1 } }, { service: "none" });

	await move("recv", peer, { daemon: far, timeout_ms: 1500 });
	await far.end_of(peer.id);
	await says_of_one(near, "failed_there", () => near.end_of(failing.id));
	const [left, deleted] = await pair();

	await far.call("DELETE", `${CONNECTION}/${deleted.id}`, undefined, { wait_s: WAIT_S });
	await says_of_one(near, "forgotten_there", () => near.end_of(left.id));
	const [widowed] = await pair();

	far.kill("SIGKILL");
	await far.end();
	const anew = await Daemon.start("anew");

	await anew.ready();
	await says_of_one(near, "stopped_there", () => near.end_of(widowed.id), "started anew");
	await anew.stop();
});

await stage("a verbsd that is stopped says so, and is asked when it has gone", async () => {
	const [first] = await pair();
	const [second] = await pair({ service: "none", qp: { rnr_retry: 7, retry_count: 7 } }, { service: "none" });
	const waits = move("send", second);

	await near.until(`${CONNECTION}/${second.id}`, "a send", ({ counters }) => counters.send?.posted > 0);
	await far.stop();
	await waits;
	for (const { id } of [first, second])
		await says(near, await near.end_of(id), "stopped_there", "was stopped");
});

// --- queue pairs by hand -----------------------------------------------------------------------------------------

await stage_mute("a queue pair that is not the peer's, and one that went", async () => {
	const qp = { ack_timeout: 14, retry_count: 1 };
	const shape = { qp_type: "rc", device: dev, qp };

	await says_of_one(near, "wrong_remote", async () => {
		const [here, there] = await Promise.all([near, far].map((daemon) => daemon.post(CONNECTION, { bringup: "manual", ...shape }, WAIT_S)));
		const { local } = there.manual;

		await near.post(`${CONNECTION}/${here.id}/remote`, { ...local, qpn: local.qpn ^ 0xff00 }, WAIT_S);
		await move("send", here);
		return near.end_of(here.id);
	});
	await says_of_one(near, "qp_gone_there", async () => {
		const { from, to } = await manual_pair(near, far, shape);

		equal((await move("send", from, { size_bytes: 65536 })).code, "out_of_range", "a message that is longer than the peer's receives");
		await move("send", from);
		await far.call("DELETE", `${CONNECTION}/${to.id}`, undefined, { wait_s: WAIT_S });
		await move("send", from);
		return near.end_of(from.id);
	});
	await says_of_one(near, "qp_gone_there", async () => {
		const { from, to } = await manual_pair(near, far, { ...shape, qp: { ...qp, heartbeat_ms: 500 } });

		await far.call("DELETE", `${CONNECTION}/${to.id}`, undefined, { wait_s: WAIT_S });
		return near.end_of(from.id);
	});
});

await stage("a PSN that is not the peer's", async () => {
	const qp = { ack_timeout: 14, retry_count: 1 };

	for (const shift of [-5, 5]) {
		const [here, there] = await Promise.all([near, far].map((daemon) =>
			daemon.post(CONNECTION, { bringup: "manual", qp_type: "rc", device: dev, qp, service: "inbox" }, WAIT_S)));
		const { local } = here.manual;

		await near.post(`${CONNECTION}/${here.id}/remote`, there.manual.local, WAIT_S);
		await far.post(`${CONNECTION}/${there.id}/remote`, { ...local, psn: (local.psn + shift + 0x1000000) % 0x1000000 }, WAIT_S);
		await move("send", here);
		// Soft-RoCE may say that a packet is done which the peer takes for a repeat.
		if (shift < 0)
			await says(near, await near.end_of(here.id), "wrong_remote");
		await says_at_last(far, there, "wrong_psn_here");
	}
});

await stage("a receive for a message that nobody sends", async () => {
	const [here, there] = await pair({ service: "none" }, { service: "none" });
	const receive = (timeout_ms) => move("recv", there, { daemon: far, timeout_ms });
	const ends = receive(8000);

	await says_at_last(far, there, "nothing_sent");
	await ends;
	await says(far, await far.end_of(there.id), "nothing_sent");
	await near.end_of(here.id);
});

// --- ends that somebody wanted, and those that nobody did ----------------------------------------------------------

await stage_mute("a peer that closes, and a peer that is killed", async () => {
	const [here, there] = await pair();

	await far.post(`${CONNECTION}/${there.id}/close`, {}, WAIT_S);
	await says(far, there, "closed_here");
	await says_of_one(near, "peer_left", () => near.end_of(here.id));
	const [wired, across] = await pair({}, {}, LAB_SIW_ADDR);

	await far.post(`${CONNECTION}/${across.id}/close`, {}, WAIT_S);
	await says(near, await near.end_of(wired.id), "peer_left", "iWARP");
	const [other] = await pair({ service: "none", qp: { rnr_retry: 7, retry_count: 7 } }, { service: "none" });
	const waits = move("send", other);

	await near.until(`${CONNECTION}/${other.id}`, "a send", ({ counters }) => counters.send?.posted > 0);
	far.kill("SIGKILL");
	await far.end();
	await waits;
	await says(near, await near.end_of(other.id), "peer_left");
});

await stage("the address is taken from under a connection", async () => {
	await run("ip", "addr", "add", `${NETWORK.replace(/\d+$/, "9")}.1/24`, "dev", NETDEV);
	const [here] = await pair({ qp: { ack_timeout: 14, retry_count: 1 } }, {}, `${NETWORK.replace(/\d+$/, "9")}.1`);
	const memory = await open_memory();

	await run("ip", "addr", "del", `${NETWORK.replace(/\d+$/, "9")}.1/24`, "dev", NETDEV);
	await says_at_last(near, here, "address_gone");
	await move("write", here, { remote: { addr: memory.addr, rkey: memory.rkey } });
	await says(near, await near.end_of(here.id), "address_gone");
});

await stage("the interface goes down under a connection", async () => {
	const [here] = await pair();
	const memory = await open_memory();

	await run("ip", "link", "set", "dev", NETDEV, "down");
	await says_at_last(near, here, "interface_down");
	await move("write", here, { remote: { addr: memory.addr, rkey: memory.rkey } });
	await near.end_of(here.id);
	await run("ip", "link", "set", "dev", NETDEV, "up");
	await says(near, here, "interface_down");
	// The CM of Soft-RoCE 6.1 stays deaf after a message that it sent while the interface was down.
	await run("rdma", "link", "delete", dev);
	await run("rdma", "link", "add", dev, "type", "rxe", "netdev", NETDEV);
	await Promise.all([near.ready(), far.ready()]);
});

const port_is = (state) => near.until(`/v1/devices/${dev}`, `a port that is ${state}`, ({ ports }) => ports[0]?.state === state);

await stage("the interface is down before a connect, and nothing is heard after that", async () => {
	const silent = `${NETWORK}.253`;

	await run("ip", "link", "set", "dev", NETDEV, "arp", "on");
	await run("ip", "link", "set", "dev", NETDEV, "carrier", "off");
	await port_is("down");
	await says(near, await failed(near, { dst_addr: silent, dst_port: 7999, timeout_ms: 8000 }), "interface_down");
	await run("ip", "link", "set", "dev", NETDEV, "carrier", "on");
	await run("ip", "link", "set", "dev", NETDEV, "down");
	await says(near, await failed(near, { dst_addr: silent, dst_port: 7999, timeout_ms: 8000 }), "interface_down");
	await run("ip", "link", "set", "dev", NETDEV, "up");
	await run("ip", "neigh", "replace", silent, "lladdr", "02:00:00:00:00:99", "dev", NETDEV, "nud", "permanent");
	await port_is("active");
	const deaf = await begin(near, { dst_addr: silent, dst_port: 7999 });

	await says_at_last(near, deaf, "cm_deaf");
	await near.call("DELETE", `${CONNECTION}/${deaf.id}`);
});

await stage_mute("the peer leaves after the port fell here", async () => {
	const [here, there] = await pair();

	await run("ip", "link", "set", "dev", NETDEV, "carrier", "off");
	await port_is("down");
	await run("ip", "link", "set", "dev", NETDEV, "carrier", "on");
	await port_is("active");
	await far.post(`${CONNECTION}/${there.id}/close`, {}, WAIT_S);
	await says(near, await near.end_of(here.id), "port_fell", "the peer gave the connection up");
});

await stage("a program that is not iWARP", async () => {
	const taken = [];
	const server = createServer((socket) => taken.push(socket.on("error", () => {})));

	server.listen(next_port(), LAB_SIW_ADDR);
	await once(server, "listening");
	await says(near, await failed(near, { dst_addr: LAB_SIW_ADDR, dst_port: server.address().port, ...BRIEF }), "not_iwarp");
	server.close();
	for (const socket of taken)
		socket.destroy();
	// A program that answers with something else is not staged: siw of Linux 6.1 reads beyond the answer, a thread of the kernel ends, and
	// then nothing that siw has can be closed.
	const closing = createServer((socket) => socket.on("error", () => {}).destroy());

	closing.listen(next_port(), LAB_SIW_ADDR);
	await once(closing, "listening");
	await says(near, await failed(near, { dst_addr: LAB_SIW_ADDR, dst_port: closing.address().port }), "refused_by_program");
	closing.close();
});

await stage_mute("the device is removed", async () => {
	const [here, there] = await pair();

	await run("rdma", "link", "delete", dev);
	const ends = [[near, await near.end_of(here.id)], [far, await far.end_of(there.id)]];

	await run("rdma", "link", "add", dev, "type", "rxe", "netdev", NETDEV);
	await Promise.all([near.ready(), far.ready()]);
	// The daemon that learns of the removal first may disconnect the other before that learns of it.
	for (const [daemon, connection] of ends)
		await (connection.end_code === "device_removed" ? says(daemon, connection, "device_removed")
			: says_of_one(daemon, "peer_left", () => connection));
});

// --- the table -----------------------------------------------------------------------------------------------------

await scenario("each cause that docs/why.md says is staged here was staged", async () => {
	const rows = readFileSync(new URL("../../docs/why.md", import.meta.url), "utf8").split("\n");
	const missing = rows.filter((row) => row.endsWith("| `rdma.explain` |")).map((row) => row.split("`")[1])
		.filter((code) => !staged.has(code));

	equal(missing.join(" "), "", "causes that were not staged");
});

finish();
