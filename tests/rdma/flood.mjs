// SPDX-License-Identifier: Apache-2.0
//
// Peers that send connect requests faster than a connection could be made: control is served, what is refused is
// counted, and nothing stays.

import { readFileSync, readdirSync } from "node:fs";

import { Daemon, Program, WAIT_S, addr, build, dev, finish, ok, resources, resources_are_back, scenario, sleep } from "./lib.mjs";

const PORT = 7471;
const SENDERS = 2;
const WARM_UP = 2000; // requests of each sender
const REQUESTS = 8000;

const received = () => Number(readFileSync(`/sys/class/infiniband/${dev}/ports/1/cm_rx_msgs/req`, "utf8"));
const umad = readdirSync("/sys/class/infiniband_mad").find((name) => name.startsWith("umad"));

// Returns how many requests a second the passive side's kernel has received.
async function flood(count) {
	const before = received();
	const began = performance.now();

	await Promise.all(Array.from({ length: SENDERS }, () =>
		new Program(`${build}/tests/rdma/request_flood`, [dev, umad, addr, String(PORT), String(count)]).success()));
	return (received() - before) / ((performance.now() - began) / 1000);
}

// Uses the daemon until the work has ended: HTTP, a message of the connection, another connection. Returns the slowest
// answer of /livez in ms.
async function use_while(work, daemon, ours) {
	let over = false;
	let slowest_ms = 0;

	work.finally(() => { over = true; }).catch(() => {});
	do {
		const asked = performance.now();

		await daemon.get("/livez");
		slowest_ms = Math.max(slowest_ms, performance.now() - asked);
		await daemon.post(`/v1/connections/${ours.id}/messages`, { data: "still here" }, WAIT_S);
		const another = await daemon.connect({ dst_port: PORT + 1 });
		await daemon.post(`/v1/connections/${another.id}/close`, {}, WAIT_S);
		await sleep(100);
	} while (!over);
	await work;
	return slowest_ms;
}

await scenario("a flood of thousands of requests a second leaves control served and memory flat", async () => {
	const before = await resources();
	const daemon = await Daemon.start("flooded", ["--set", "records.ended=10"]);
	const resident = async () => (await daemon.get("/v1/stats")).process_resident_memory_bytes;
	const listener = () => daemon.get("/v1/listeners/front");
	const drained = () => daemon.until("/v1/listeners/front", "no connection of the flood", ({ connections }) => connections === 0);

	await daemon.ready();
	await daemon.listen({
		name: "front", port: PORT, service: "sink", accept_timeout_ms: 500, connects_per_s: 20, connects_burst: 5, max_connections: 10,
	});
	await daemon.listen({ name: "back", port: PORT + 1, service: "sink" });
	const ours = await daemon.connect({ dst_port: PORT + 1 });
	await flood(WARM_UP); // every list and pool has its size now
	await drained();
	const resident_before = await resident();
	const refused_before = (await listener()).rejected;
	const flooding = flood(REQUESTS);
	const slowest_ms = await use_while(flooding, daemon, ours);
	const { requests, accepted, rejected, refused } = await drained();
	const grown = await resident() - resident_before;

	console.log(`flood: ${(await flooding).toFixed(0)} requests a second; ${requests} came to the daemon, ${accepted} accepted, ` +
		`refused ${JSON.stringify(refused)}; slowest answer of /livez ${slowest_ms.toFixed(0)} ms; memory ${grown >> 10} KiB more`);
	ok(rejected - refused_before > 1000, `only ${rejected - refused_before} were rejected`);
	ok(refused.rate + refused.max_connections >= rejected, `of ${rejected} rejected, refused ${JSON.stringify(refused)}`);
	// A leak of 1 KiB by each request would be more.
	ok(grown < SENDERS * REQUESTS << 10, `the flood left ${grown} bytes`);
	await daemon.post(`/v1/connections/${ours.id}/close`, {}, WAIT_S);
	await daemon.stop();
	await resources_are_back(before);
});

finish();
