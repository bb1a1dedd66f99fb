// SPDX-License-Identifier: Apache-2.0
//
// A crowd of connections, opened in bulk, each used once, and closed together: nothing stays in the kernel, and
// ASan finds no leak at the end.
//
// The suite takes 400. The long form, which takes 12 minutes in an emulated guest of 4 GiB:
//
//     CROWD_COUNT=4000 tests/rdma/guest.sh crowd build/asan

import { readFileSync } from "node:fs";

import { Daemon, PATIENCE_MS, WAIT_S, addr, equal, finish, resources, resources_are_back, scenario, until } from "./lib.mjs";

const PORT = 7471;
const COUNT = Number(process.env.CROWD_COUNT ?? 400);
const ROUNDS = 3;
const REQUEST_MOST = 1000; // of `count`
const SENDERS = 16;
const FAR_MS = 30 * PATIENCE_MS;
// Both sides of thousands have room in one guest.
const QP = { sq_depth: 4, rq_depth: 2, recv_size_bytes: 64 };
// Records of ended objects and events are memory that fills once; the crowd must not be told from it.
const RECORDS = ["events=256", "ended=16"].flatMap((size) => ["--set", `records.${size}`]);
const SETTINGS = [...RECORDS, "--set", "shutdown_timeout_ms=60000"];
// For the reader of the log: the allocator of ASan keeps what was freed, so that no size is asserted.
const rss_bytes = ({ pid }) =>
	Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;

const kib = (sizes) => sizes.map((bytes) => Math.round(bytes / 1024)).join(" and ");

// Calls `body` for each item, a few at a time.
async function for_each(items, body) {
	const left = [...items];

	await Promise.all(Array.from({ length: SENDERS }, async () => {
		for (let item = left.pop(); item; item = left.pop())
			await body(item);
	}));
}

const stats = (daemon) => daemon.get("/v1/stats");

const count_is = (daemon, count) => until(`${daemon.name}: ${count} connections`,
	async () => (await stats(daemon)).connections === count, FAR_MS);

// Returns the connections of one request.
async function open_batch(daemon, count) {
	const { id } = await daemon.post("/v1/connection_batches",
		{ count, labels: { job: "crowd" }, connections: [{ dst_addr: addr, dst_port: PORT, timeout_ms: 600_000, qp: QP }] });
	const batch = await until("the batch to be done", async () => {
		const seen = await daemon.get(`/v1/connection_batches/${id}`);

		return seen.state !== "running" && seen;
	}, FAR_MS);

	equal(batch.state, "done", `the state of the batch (${JSON.stringify(batch.failures)})`);
	return batch.connections;
}

async function open_crowd(daemon) {
	const connections = [];

	while (connections.length < COUNT)
		connections.push(...await open_batch(daemon, Math.min(COUNT - connections.length, REQUEST_MOST)));
	return connections;
}

async function one_crowd(daemon, peer) {
	const connections = await open_crowd(daemon);

	await count_is(peer, COUNT);
	const open_bytes = [daemon, peer].map(rss_bytes);
	await for_each(connections, ({ id }) => daemon.post(`/v1/connections/${id}/messages`, { data: `to ${id}` }, WAIT_S));
	await daemon.post("/v1/objects/-/cancel?kind=connection&label=job=crowd");
	await count_is(daemon, 0);
	await count_is(peer, 0);
	await daemon.call("DELETE", "/v1/objects?kind=connection&all=true");
	for (const one of [daemon, peer])
		equal((await stats(one)).leaked_objects ?? 0, 0, `${one.name}: leaked objects`);
	return { open_bytes, closed_bytes: [daemon, peer].map(rss_bytes) };
}

await scenario(`${COUNT} connections are opened, used and closed, again and again, and nothing is left`, async () => {
	const before = await resources();
	const peer = await Daemon.start("crowd-peer", SETTINGS);
	const daemon = await Daemon.start("crowd", SETTINGS);

	await peer.ready();
	await daemon.ready();
	await peer.listen({ port: PORT, backlog: 1024, service: "sink", qp: QP });
	for (let round = 1; round <= ROUNDS; round++) {
		const { open_bytes, closed_bytes } = await one_crowd(daemon, peer);

		console.log(`# ${round} of ${ROUNDS}: RSS of both with ${COUNT} connections ${kib(open_bytes)} KiB, without ${kib(closed_bytes)} KiB`);
	}
	await daemon.stop();
	await peer.stop();
	await resources_are_back(before);
});

finish();
