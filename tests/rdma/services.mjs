// SPDX-License-Identifier: Apache-2.0
//
// Services and transfers as resources: rping on both sides, the sink, an inbox that stalls its sender, transfers that
// are cut into messages, limited in depth, started together, cancelled in every state, and timed out.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { Daemon, PATIENCE_MS, Program, WAIT_S, addr, dev, equal, finish, listens, ok, proof, refusal, run, scenario,
	scenario_with, served, start_ready, until } from "./lib.mjs";

const PORT = 7471;
// Thousands of messages on an emulated device take as long as its host lets them.
const MANY_MS = 8 * PATIENCE_MS;
const port = String(PORT);
const addr6 = process.env.LAB_ADDR6 ?? "";

// A listening daemon and one that is connected to it.
const pair = async ({ here = {}, there = {}, listener = {} } = {}) => {
	const [near, far] = await start_ready("near far");

	await far.listen({ port: PORT, ...served(there), ...listener });
	const connection = await near.connect({ dst_port: PORT, ...served(here) });
	const { items: [peer] } = await far.until("/v1/connections?fields=*&state=established", "its side of the connection",
		({ total }) => total === 1);

	return { near, far, connection, peer };
};

const stop_both = async ({ near, far }) => {
	await near.stop();
	await far.stop();
};

// Messages with their number.
const BYTES = 16;
const numbered = (seq) => `message ${String(seq).padStart(BYTES - 8, "0")}`;

const remove = (daemon, path) => daemon.call("DELETE", path);
const transfer_in = (daemon, { id }, state, patience_ms) =>
	daemon.until(`/v1/transfers/${id}`, `state ${state}`, (seen) => seen.state === state, patience_ms);
const crc = async (daemon, { id }, query) => (await daemon.get(`/v1/buffers/${id}/checksum?${query}`)).checksum;
const hw_counter = (name) =>
	Number(readFileSync(`/sys/class/infiniband/${dev}/ports/1/hw_counters/${name}`, "utf8"));

// --- rping -------------------------------------------------------------------------------------------------------

const probe_rping = async (host, more) => {
	const daemon = await Daemon.start("d");
	const server = new Program("rping", ["-s", "-a", host, "-p", port, "-v", ...more]);

	await daemon.ready();
	await listens(PORT);
	const connection = await daemon.connect({ dst_addr: host, dst_port: PORT, service: "rping_client" });
	return { daemon, server, connection };
};

const is_good = (probe, count) => {
	equal(probe.state, "done", "state of the probe");
	equal(probe.completed, count, "pings completed");
	equal(probe.mismatched, 0, "pings that brought back other bytes");
	const { min, mean, p50, p99, max } = probe.rtt_ns;
	ok(0 < min && min <= p50 && p50 <= p99 && p99 <= max && min <= mean && mean <= max,
		`round trips: ${JSON.stringify(probe.rtt_ns)}`);
};

await scenario("a probe of rping -s", async () => {
	const { daemon, server, connection } = await probe_rping(addr, ["-C", "30", "-S", "1000"]);

	is_good(await daemon.post("/v1/probes", { connection: connection.id, count: 10, size_bytes: 64 }, WAIT_S), 10);
	is_good(await daemon.post("/v1/probes", { connection: connection.id, count: 20, size_bytes: 1000 }, WAIT_S), 20);
	await remove(daemon, `/v1/connections/${connection.id}`);
	await server.end();
	ok(server.output.includes("server ping data: rdma-ping-0: ABCDEFGHIJ"), `rping said: ${server.output.slice(0, 200)}`);
	equal(server.output.match(/server ping data: rdma-ping-/g).length, 30, "pings that rping saw");
	proof("rping_client", "rc_cm");
	proof("peer:rping", "rc_cm");
	await daemon.stop();
});

await scenario("a probe of rping -s over IPv6", async () => {
	const { daemon, server, connection } = await probe_rping(addr6, []);

	is_good(await daemon.post("/v1/probes", { connection: connection.id, count: 10 }, WAIT_S), 10);
	await remove(daemon, `/v1/connections/${connection.id}`);
	await server.end();
	equal(server.output.match(/server ping data: rdma-ping-/g).length, 10, "pings that rping saw");
	await daemon.stop();
});

await scenario("a probe says that rping -s was killed", async () => {
	const { daemon, server, connection } = await probe_rping(addr, ["-P"]);
	const probe = await daemon.post("/v1/probes", { connection: connection.id, count: 1000000 });

	await daemon.until(`/v1/probes/${probe.id}`, "a ping", ({ completed }) => completed > 0);
	server.kill("SIGKILL");
	const { error, completed } = await daemon.until(`/v1/probes/${probe.id}`, "its end", ({ state }) =>
		state === "failed");
	// The kernel may free the memory of a receive before the queue pair, and a message may come in between.
	ok(["peer_disconnect", "remote_operation"].includes(error.code), `why the probe failed: ${error.code}`);
	ok(completed > 0, "none was completed");
	await daemon.ended_with(connection.id, error.code);
	await daemon.stop();
});

await scenario("a probe of the rping service", async () => {
	const world = await pair({ here: { service: "rping_client" }, there: { service: "rping" } });
	const { near, far, connection, peer } = world;

	for (const [count, size_bytes] of [[200, 64], [20, 2], [50, 4096], [20, 65535]])
		is_good(await near.post("/v1/probes", { connection: connection.id, count, size_bytes }, WAIT_S), count);
	equal((await far.connection(peer.id)).counters.read.completed, 290, "reads of the rping service");
	proof("rping_client", "rc_cm");
	proof("rping", "rc_cm");
	await stop_both(world);
});

await scenario("a probe has a deadline, can be stopped, and is one at a time", async () => {
	const world = await pair({ here: { service: "rping_client" }, there: { service: "rping" } });
	const { near, connection } = world;
	const long = { connection: connection.id, count: 1000000 };
	const stopped = await near.post("/v1/probes", long);

	equal((await near.refused("POST", "/v1/probes", long)).code, "in_use", "a second probe");
	await near.call("POST", `/v1/probes/${stopped.id}/cancel`);
	equal((await near.until(`/v1/probes/${stopped.id}`, "its end", ({ state }) => state === "cancelled")).error.code,
		"cancelled", "how the first one ended");
	const late = await near.post("/v1/probes", { ...long, timeout_ms: 300 });
	equal((await near.until(`/v1/probes/${late.id}`, "its end", ({ state }) => state === "failed")).error.code,
		"timed_out", "how the second one ended");
	await remove(near, `/v1/probes/${stopped.id}`);
	is_good(await near.post("/v1/probes", { connection: connection.id, count: 10 }, WAIT_S), 10);
	equal((await near.connection(connection.id)).state, "established", "state of the connection");
	await stop_both(world);
});

await scenario_with("d", "rping -c is answered", async (daemon) => {
	await daemon.listen({ port: PORT, service: "rping" });
	const said = await run("rping", "-c", "-a", addr, "-p", port, "-v", "-V", "-C", "5");
	equal(said.match(/ping data: rdma-ping-/g).length, 5, "pings that came back");
	proof("rping", "rc_cm");
	proof("peer:rping", "rc_cm");
});

// --- every service over every way of connecting ------------------------------------------------------------------

// Returns the two ends of a connection; `there` and `here` are their services.
const by_cm = (dst_addr) => async ([near, far], there, here) => {
	const { id, port: dst_port } = await far.listen({ addr: dst_addr, ...served(there) });
	const connection = await near.connect({ dst_addr, dst_port, ...served(here) });
	const { items } = await far.until("/v1/connections?fields=*&state=established&limit=1000", "its side of the connection",
		({ items }) => items.some(({ listener }) => listener?.id === id));

	return [connection, items.find(({ listener }) => listener?.id === id)];
};

const by_hand = (qp_type) => async ([near, far], there, here) => {
	const make = (daemon, end) =>
		daemon.post("/v1/connections", { bringup: "manual", qp_type, device: dev, ...served(end) });
	const ends = [await make(near, here), await make(far, there)];

	await near.post(`/v1/connections/${ends[0].id}/remote`, ends[1].manual.local, WAIT_S);
	await far.post(`/v1/connections/${ends[1].id}/remote`, ends[0].manual.local, WAIT_S);
	return ends;
};

const send_twenty = async (near, connection) => {
	const source = await near.buffer(20 * BYTES, { device: connection.device });

	await near.fill(source, Buffer.from(Array.from({ length: 20 }, (_, i) => numbered(i + 1)).join("")));
	equal((await near.transfer("send", connection, source, null, { message_bytes: BYTES })).messages_done, 20, "messages");
};

const receives_twenty = async (daemon, { id }) => {
	const { items } = await daemon.until(`/v1/connections/${id}/messages`, "twenty messages", ({ total }) => total === 20);

	items.forEach(({ data }, i) => equal(data, numbered(i + 1), `message ${i + 1}`));
};

const services = {
	inbox: async ([near, far], [here, there]) => {
		await send_twenty(near, here);
		await receives_twenty(far, there);
	},
	echo: async ([near], [here]) => {
		await send_twenty(near, here);
		await receives_twenty(near, here);
	},
	sink: async ([near, far], [here, there]) => {
		await send_twenty(near, here);
		await far.until(`/v1/connections/${there.id}`, "twenty counted", ({ counters }) => counters.recv.completed === 20);
	},
	rping: async ([near], [here]) =>
		is_good(await near.post("/v1/probes", { connection: here.id, count: 5, size_bytes: 1000 }, WAIT_S), 5),
};

// A probe by ACK needs completions that prove delivery and a transport without loss. On other transports it is refused,
// and an echo probe works.
const probes_work = async (column, daemons, connect) => {
	const [near] = daemons;
	const [{ id: connection }] = await connect(daemons, { service: "echo", rq_depth: 32 }, { service: "sink", rq_depth: 32 });
	const ack = { connection, kind: "ack", count: 20, interval_ms: 2 };

	if (column.startsWith("rc")) {
		is_good(await near.post("/v1/probes", ack, WAIT_S), 20);
		proof("probe_ack", column);
	} else {
		const { code } = await near.refused("POST", "/v1/probes", ack);

		equal(code, "not_supported", "code");
		refusal("probe_ack", column, code);
	}
	// A ping must be inlined in the work request.
	for (const size_bytes of [16, 64])
		is_good(await near.post("/v1/probes", { ...ack, kind: "echo", size_bytes }, WAIT_S), 20);
	proof("probe_echo", column);
	const { rtt, counters } = await near.connection(connection);

	equal(rtt.completed, 20, "pings that the connection tells of");
	ok(0 < rtt.p50_ns && rtt.p50_ns <= rtt.p999_ns, `round trips: ${JSON.stringify(rtt)}`);
	equal(counters.send.completed, 40, "messages sent");
	equal(counters.recv.completed, 40, "messages that came back");
};

// UC loses a message without a receive, so the peer posts as many as are sent.
const benchmarks_work = async (column, daemons, connect) => {
	const [near, far] = daemons;
	const count = 32, size_bytes = 1024;
	const [{ id: connection, device }] =
		await connect(daemons, { service: "sink", rq_depth: count, recv_size_bytes: size_bytes }, { service: "inbox", rq_depth: 32 });
	const { addr, rkey } = await far.buffer(size_bytes, { device, access: ["remote_write", "remote_read"] });

	for (const op of ["send", "write", "read"]) {
		const spec = { connection, op, size_bytes, count, ...(op !== "send" && { remote: { addr, rkey } }) };

		if (column === "uc" && op === "read") {
			const { code } = await near.refused("POST", "/v1/benchmarks", spec);

			equal(code, "not_supported", "code");
			refusal("bench_read", column, code);
			continue;
		}
		const { state, messages, bytes, bytes_per_s, latency_ns: { min, p50, max } } = await near.post("/v1/benchmarks", spec, WAIT_S);

		equal(`${state} ${messages} ${bytes}`, `done ${count} ${count * size_bytes}`, `the benchmark of ${op}`);
		ok(bytes_per_s > 0 && 0 < min && min <= p50 && p50 <= max, `latency of ${op}: ${min} ${p50} ${max}`);
		proof(`bench_${op}`, column);
	}
};

const play_services = async (column, connect, names) => {
	const daemons = await start_ready("near far");

	for (const service of names) {
		const here = service === "rping" ? "rping_client" : "inbox";

		await services[service](daemons, await connect(daemons, { service, rq_depth: 32 }, { service: here, rq_depth: 32 }));
		proof(service, column);
		if (service === "rping")
			["rping_client", "probe_rping"].forEach((row) => proof(row, column));
	}
	await probes_work(column, daemons, connect);
	await benchmarks_work(column, daemons, connect);
	for (const daemon of daemons)
		await daemon.stop();
};

await scenario("every service over RC", () => play_services("rc_cm", by_cm(addr), Object.keys(services)));
await scenario("every service over RC brought up by hand", () =>
	play_services("rc_manual", by_hand("rc"), Object.keys(services)));
await scenario("every service over iWARP", () =>
	play_services("siw", by_cm(process.env.LAB_SIW_ADDR), Object.keys(services)));
await scenario("every service over UC except rping, which reads", async () => {
	await play_services("uc", by_hand("uc"), ["inbox", "echo", "sink"]);
	const daemon = await Daemon.start("d");

	await daemon.ready();
	for (const service of ["rping", "rping_client"]) {
		const { code, detail } = await daemon.refused("POST", "/v1/connections",
			{ bringup: "manual", qp_type: "uc", device: dev, service });

		equal(code, "not_supported", "code");
		ok(detail.includes("uc"), `the refusal does not name the transport: ${detail}`);
		refusal(service, "uc", code);
	}
	refusal("probe_rping", "uc", "not_supported");
	equal((await daemon.get("/v1/connections?state=open,ended")).total, 0, "connections");
	await daemon.stop();
});

// --- messages by the thousand ------------------------------------------------------------------------------------

await scenario("the service sink counts messages and drops them", async () => {
	const world = await pair({ here: { sq_depth: 256, retry_count: 7 }, there: { service: "sink", rq_depth: 64 } });
	const { near, far, connection, peer } = world;
	const source = await near.buffer(20000 * 32);

	const sending = await near.transfer("send", connection, source, null, { message_bytes: 32, timeout_ms: MANY_MS }, 0);
	const { messages_done } = await transfer_in(near, sending, "done", MANY_MS);
	equal(messages_done, 20000, "messages sent");
	const { counters, inbox } = await far.until(`/v1/connections/${peer.id}`, "all of them",
		({ counters: { recv } }) => recv.completed === 20000);
	equal(counters.recv.bytes, 20000 * 32, "bytes that came");
	equal(inbox.messages, 0, "messages kept");
	proof("sink", "rc_cm");
	await stop_both(world);
});

const COUNT = 100_000;

await scenario("100,000 messages arrive in order though the reader is slower", async () => {
	const world = await pair({
		here: { sq_depth: 1024, retry_count: 7, signal_every: 64 },
		there: { rq_depth: 2048, recv_size_bytes: BYTES },
	});
	const { near, far, connection, peer } = world;
	const { facts, findings } = await near.get(`/v1/connections/${connection.id}/explain`);
	const source = await near.buffer(COUNT * BYTES);
	const path = `/v1/connections/${peer.id}/messages`;
	const rnr_before = hw_counter("rcvd_rnr_err");

	// Soft-RoCE does not count seven retries down, and verbsd predicts that.
	equal(facts.dead_peer_detect_ms, null, "the longest that a dead peer goes unnoticed");
	ok(findings.some(({ code }) => code === "dead_peer_for_ever"), `findings: ${JSON.stringify(findings)}`);

	await near.fill(source, Buffer.from(Array.from({ length: COUNT }, (_, i) => numbered(i + 1)).join("")));
	const sending = await near.transfer("send", connection, source, null, { message_bytes: BYTES, timeout_ms: MANY_MS }, 0);
	// No reader: the sender stalls.
	await far.until(`/v1/connections/${peer.id}`, "a full inbox", ({ inbox }) => inbox.messages === inbox.capacity);
	await until("the sender to be held back", () => hw_counter("rcvd_rnr_err") > rnr_before);
	equal((await near.get(`/v1/transfers/${sending.id}`)).state, "running", "state of the transfer");

	for (let seen = 0; seen < COUNT;) {
		const { items } = await far.get(`${path}?limit=1000&after=${seen}`, WAIT_S);

		ok(items.length > 0, `no message came after message ${seen}`);
		for (const { seq, data } of items)
			ok(seq === ++seen && data === numbered(seq), `message ${seen}: ${seq} ${data}`);
		await remove(far, `${path}?through=${seen}`);
	}
	const { messages_done, bytes_done } = await transfer_in(near, sending, "done");
	equal(messages_done, COUNT, "messages sent");
	equal(bytes_done, COUNT * BYTES, "bytes sent");
	equal((await near.connection(connection.id)).error, null, "error");
	proof("inbox", "rc_cm");
	await stop_both(world);
});

// --- transfers ---------------------------------------------------------------------------------------------------

await scenario("the transfers of a batch start together", async () => {
	const world = await pair({ listener: { name: "l" } });
	const { near, far, connection } = world;
	const second = await near.connect({ dst_port: PORT });
	const source = await near.buffer(64 << 12);
	const target = await far.buffer(64 << 12, { access: ["remote_write"] });
	const piece = (i) => ({
		op: "write", connection: [connection, second][i % 2].id, buffer: source.id, offset_bytes: i << 12, length_bytes: 1 << 12,
		chunk_bytes: 256, tx_depth: 4,
		remote: { addr: `0x${(BigInt(target.addr) + (BigInt(i) << 12n)).toString(16)}`, rkey: target.rkey },
	});

	await near.fill(source, randomBytes(64 << 12));
	const batch = await near.post("/v1/transfer_batches", { transfers: Array.from({ length: 64 }, (_, i) => piece(i)) }, WAIT_S);
	equal(`${batch.state} ${batch.counts.done} ${batch.transfers.length}`, "done 64 64", "the batch");
	const items = await Promise.all(batch.transfers.map(({ id }) => near.get(`/v1/transfers/${id}`)));
	ok(items.every(({ state, wrs_done }) => state === "done" && wrs_done === 16), "not all are done");
	const made = items.map(({ created_at }) => created_at).sort();
	const started = items.map(({ started_at }) => started_at).sort();
	ok(made.at(-1) < started[0], `the last was made at ${made.at(-1)}, the first was started at ${started[0]}`);
	for (const range of ["offset_bytes=0", "offset_bytes=4090&length_bytes=12", "offset_bytes=258048&length_bytes=4096"])
		equal(await crc(far, target, range), await crc(near, source, range), `CRC-32C of ${range}`);
	await stop_both(world);
});

await scenario("one wrong transfer in a batch, and none is made", async () => {
	const world = await pair();
	const { near, far, connection, peer } = world;
	const source = await near.buffer(64);
	const good = { op: "send", connection: connection.id, buffer: source.id };
	const problem = await near.refused("POST", "/v1/transfer_batches", { transfers: [good, good, { ...good, offset_bytes: 65 }] });

	equal(problem.code, "range_not_satisfiable", "code");
	ok(problem.errors[0].pointer.startsWith("/transfers/2/"), `pointer ${problem.errors[0].pointer}`);
	equal((await near.get("/v1/transfers?state=open,ended")).total, 0, "transfers");
	await near.transfer("send", connection, source);
	const { items } = await far.get(`/v1/connections/${peer.id}/messages`, WAIT_S);
	equal(items.length, 1, "messages");
	await stop_both(world);
});

// The peer's three receives are used and nobody reads, so the next message stalls.
const standing = async () => {
	const world = await pair({ here: { sq_depth: 4, retry_count: 7 }, there: { rq_depth: 3, recv_size_bytes: 64 } });
	const source = await world.near.buffer(100);
	const running = await world.near.transfer("send", world.connection, source, null, { message_bytes: 10 }, 0);

	await world.far.until(`/v1/connections/${world.peer.id}`, "a full inbox", ({ inbox }) =>
		inbox.messages === inbox.capacity);
	return { ...world, source, running };
};

// Reads until `done`, so that the sender goes on.
const read_until = async ({ far, peer }, done) => {
	const path = `/v1/connections/${peer.id}/messages`;

	while (!await done()) {
		const { items } = await far.get(`${path}?wait_ms=200`);

		if (items.length > 0)
			await remove(far, `${path}?through=${items.at(-1).seq}`);
	}
};

await scenario("a queued transfer is cancelled, and those around it go on", async () => {
	const world = await standing();
	const { near, connection, source, running } = world;
	const queued = await near.transfer("send", connection, source, null, { length_bytes: 10 }, 0);
	const behind = await near.transfer("send", connection, source, null, { length_bytes: 20 }, 0);

	await near.call("POST", `/v1/transfers/${queued.id}/cancel`);
	equal((await transfer_in(near, queued, "cancelled")).bytes_done, 0, "bytes of the cancelled one");
	equal((await near.get(`/v1/transfers/${running.id}`)).state, "running", "state of the first one");
	await read_until(world, async () => (await near.get(`/v1/transfers/${behind.id}`)).state === "done");
	equal((await near.get(`/v1/transfers/${running.id}`)).messages_done, 10, "messages of the first one");
	equal((await near.connection(connection.id)).state, "established", "state of the connection");
	await stop_both(world);
});

await scenario("a running transfer is cancelled, and judged when its completions are in", async () => {
	const world = await standing();
	const { near, far, connection, peer, running } = world;
	const path = `/v1/transfers/${running.id}`;

	equal((await near.call("POST", `${path}/cancel`)).state, "cancelling", "state after the first cancel");
	ok(["cancelling", "cancelled"].includes((await near.call("POST", `${path}/cancel`)).state), "the second cancel");
	await read_until(world, async () => (await near.get(path)).state !== "cancelling");
	const { state, messages_done, bytes_done } = await near.get(path);
	equal(state, "cancelled", "state");
	ok(messages_done < 10, "it was done before it was cancelled");
	equal(bytes_done, messages_done * 10, "bytes");
	// The sender may know of a message before the daemon of the receiver has looked.
	const { counters: { recv } } = await far.until(`/v1/connections/${peer.id}`, "the messages that were sent",
		({ counters }) => counters.recv.completed >= messages_done);
	equal(recv.completed, messages_done, "messages that arrived");
	equal((await near.connection(connection.id)).state, "established", "state of the connection");
	await remove(near, path);
	equal((await near.refused("GET", path)).code, "not_found", "a forgotten transfer");
	await stop_both(world);
});

await scenario("a deletion that comes when the work is done forgets it at once", async () => {
	const world = await pair();
	const { near, connection } = world;
	const source = await near.buffer(64);
	const { id } = await near.transfer("send", connection, source);

	equal((await near.try("DELETE", `/v1/transfers/${id}`)).status, 204, "status");
	equal((await near.refused("GET", `/v1/transfers/${id}`)).code, "not_found", "a forgotten transfer");
	await stop_both(world);
});

await scenario("a transfer times out, and the one behind it says why it failed", async () => {
	const world = await standing();
	const { near, connection, source, running } = world;
	const late = await near.transfer("send", connection, source, null, { timeout_ms: 300 }, 0);
	const first = await near.get(`/v1/transfers/${running.id}`);

	equal(first.state, "running", "state of what it waits behind");
	equal((await transfer_in(near, late, "timed_out")).error.code, "timed_out", "code of the one that waited");
	equal((await near.connection(connection.id)).state, "established", "state of the connection");
	await stop_both(world);
});

await scenario("a transfer behind one that fails names the cause", async () => {
	const world = await pair({ here: { sq_depth: 2 } });
	const { near, far, connection } = world;
	const source = await near.buffer(1 << 16);
	const target = await far.buffer(1 << 16, { access: ["remote_read"] });
	const wrong = {
		op: "write", connection: connection.id, buffer: source.id, chunk_bytes: 4096,
		remote: { addr: target.addr, rkey: target.rkey },
	};
	const { id: batch } = await near.post("/v1/transfer_batches", { transfers: Array.from({ length: 8 }, () => wrong) });
	const { counts, transfers, error: { code, first } } = await near.until(`/v1/transfer_batches/${batch}`, "the end of the batch",
		({ state }) => state === "failed");

	equal(`${counts.failed} ${code} ${first.wc_status} ${first.transfer}`, `8 remote_access IBV_WC_REM_ACCESS_ERR ${transfers[0].id}`,
		"the batch");
	for (const { id } of transfers) {
		const { state, error } = await near.get(`/v1/transfers/${id}`);

		equal(state, "failed", `state of transfer ${id}`);
		equal(error.code, "remote_access", `code of transfer ${id}`);
	}
	await near.ended_with(connection.id, "remote_access");
	await stop_both(world);
});

finish();
