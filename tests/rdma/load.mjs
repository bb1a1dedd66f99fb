// SPDX-License-Identifier: Apache-2.0
//
// Thousands of random requests (mixed.mjs). No request may be answered wrongly, and afterwards the kernel holds the same
// objects as before.
//
//     LOAD_REQUESTS=N   number of requests

import { Daemon, Failure, finish, ok, run, scenario, until } from "./lib.mjs";
import { ENDED, LANES, SEED, STATELESS, complaints, counts, delete_all, kinds_of, made, number_from, send_requests, warm_up,
} from "./mixed.mjs";
import { descriptors_of } from "../proc.mjs";
import { scratch_file } from "../scratch.mjs";

const REQUESTS = number_from("LOAD_REQUESTS", 10_000);
// Short histories: lists are fetched often, and ended objects do not matter here.
const CONFIG = "records: {ended: 32}\n";

// The agent holds HTTP connections; all other descriptors belong to the daemon.
const fds_held = (pid) => descriptors_of(pid).filter(({ target }) => !target.startsWith("socket:")).length;

async function held(daemon) {
	const [{ ifindex, ifname, ...counts }] = JSON.parse(await run("rdma", "-j", "resource", "show"));
	const { transfers, probes, benchmarks } = await daemon.get("/v1/stats");

	return { ...counts, fds: fds_held(daemon.pid), transfers, probes, benchmarks };
}

// The objects that the daemon still lists, to find a leak.
async function remains(daemon, kinds) {
	const lines = [await run("rdma", "resource", "show", "mr"), await run("rdma", "resource", "show", "qp")];

	for (const kind of [...kinds, "cqs"])
		lines.push(`${kind}: ${JSON.stringify((await daemon.get(`/v1/${kind}?limit=1000${STATELESS.includes(kind) ? "" : "&state=open,ended"}`)).items.filter(({ state }) =>
			!ENDED.has(state)))}`);
	return lines.join("\n");
}

async function settled(daemon, before, what, look, kinds) {
	let seen;

	await until(what, async () => {
		seen = await look();
		return Object.keys(before).every((key) => seen[key] === before[key]);
	}).catch(async () => {
		throw new Failure(`${what}: ${JSON.stringify(before)} before, ${JSON.stringify(seen)} after\n` +
			await remains(daemon, kinds));
	});
	return seen;
}

await scenario("ten thousand mixed requests leave the kernel as it was", async () => {
	const daemon = await Daemon.start("d", ["--workers", "2", "--config", scratch_file("load.yaml", CONFIG)]);

	console.log(`seed ${SEED}, ${REQUESTS} requests, ${LANES} at a time`);
	await daemon.ready();
	const kinds = await kinds_of(daemon);
	await warm_up(daemon);
	const before = await held(daemon);

	await send_requests(daemon, kinds, (count) => count >= REQUESTS);
	for (const numbers of [counts, made])
		console.log([...numbers].sort(([, a], [, b]) => b - a).map(([what, count]) => `${what} ${count}`).join(", "));
	console.log(Object.entries(await daemon.get("/v1/stats")).filter(([name]) => /^probes?_.*(done|failed|completed)$/.test(name))
		.map(([name, count]) => `${name} ${count}`).join(", "));
	await daemon.is_fine();
	await delete_all(daemon, kinds);
	const after = await settled(daemon, before, "what was there before", () => held(daemon), kinds);
	console.log(`held before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
	ok(complaints.size === 0, `${complaints.size} complaints:\n${[...complaints.values()].join("\n")}`);
	await daemon.stop();
});

finish();
