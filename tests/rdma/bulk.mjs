// SPDX-License-Identifier: Apache-2.0
//
// Hundreds of connections by one request: made, used, closed and deleted together, and nothing stays in the kernel.

import { Daemon, PATIENCE_MS, WAIT_S, addr, equal, finish, resources, resources_are_back, scenario } from "./lib.mjs";

const PORT = 7471;
const COUNT = 200;
const QP = { sq_depth: 4, rq_depth: 4, recv_size_bytes: 64 };

async function start() {
	const peer = await Daemon.start("bulk-peer", []);
	const daemon = await Daemon.start("bulk", ["--set", "connects_in_flight=16"]);

	await peer.ready();
	await daemon.ready();
	await peer.listen({ name: "many", port: PORT, service: "sink", qp: QP });
	return { peer, daemon };
}

const make = (daemon, wait_s) => daemon.post("/v1/connection_batches",
	{ count: COUNT, labels: { job: "bulk" }, connections: [{ dst_addr: addr, dst_port: PORT, timeout_ms: PATIENCE_MS, name: "w", qp: QP }] }, wait_s);

const all_gone = (peer) => peer.until("/v1/stats", "no connection", ({ connections }) => connections === 0);

await scenario(`${COUNT} connections are made, used, closed and deleted together`, async () => {
	const before = await resources();
	const { peer, daemon } = await start();
	const batch = await make(daemon, WAIT_S);

	equal(batch.counts.established, COUNT, "the number of established connections");
	for (const { id } of batch.connections)
		await daemon.post(`/v1/connections/${id}/messages`, { data: `to ${id}` }, WAIT_S);
	const chosen = await daemon.post("/v1/objects/-/cancel?kind=connection&label=job=bulk&dry_run=true");
	equal(chosen.objects.map(({ id }) => id).toString(), batch.connections.map(({ id }) => id).toString(), "the dry run");
	const closed = await daemon.post("/v1/objects/-/cancel?kind=connection&label=job=bulk", undefined, WAIT_S);
	equal(closed.done, COUNT, "the number of closed connections");
	await all_gone(peer);
	await daemon.call("DELETE", "/v1/objects?kind=connection&all=true");
	equal((await daemon.get("/v1/connections?state=open,ended")).total, 0, "records left");
	await daemon.stop();
	await peer.stop();
	await resources_are_back(before);
});

await scenario("SIGTERM ends a daemon in the middle of a batch, and its peers are told", async () => {
	const before = await resources();
	const { peer, daemon } = await start();
	const { id } = await make(daemon);

	await daemon.until(`/v1/connection_batches/${id}`, "some established", ({ counts }) => counts.established >= 50);
	await daemon.stop();
	await all_gone(peer);
	const { items } = await peer.get("/v1/connections?state=ended&limit=1000&fields=end_code");
	equal(items.filter(({ end_code }) => end_code === "peer_disconnect").length >= 50, true, "that the peers were told");
	equal(items.filter(({ end_code }) => end_code === "stopping").length, 0, "the number that ended by themselves");
	await peer.stop();
	await resources_are_back(before);
});

await scenario("SIGTERM ends a daemon with hundreds of connections, and each peer is told", async () => {
	const before = await resources();
	const { peer, daemon } = await start();

	equal((await make(daemon, WAIT_S)).state, "done", "the state of the batch");
	await daemon.stop();
	await all_gone(peer);
	const { items } = await peer.get("/v1/connections?state=ended&limit=1000&fields=end_code");
	equal(items.filter(({ end_code }) => end_code === "peer_disconnect").length, COUNT, "the number of peers that were told");
	await peer.stop();
	await resources_are_back(before);
});

finish();
