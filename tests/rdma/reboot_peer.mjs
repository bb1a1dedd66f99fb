// SPDX-License-Identifier: Apache-2.0
//
// The second guest of reboot.mjs, a host with a disk: each boot starts the daemon of its configuration, and tells what is there
// when all of it is up. In the first boot a client asks for more, and leaves work that a power cut finds.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync } from "node:fs";

import { Daemon, PATIENCE_MS, busy, run, until, write_file } from "./lib.mjs";

const { LAB_DISK, LAB_PEER_ADDR, LAB_SHARED } = process.env;
const CONFIG = `${LAB_DISK}/verbsd.yaml`;
const is_first = !existsSync(CONFIG);
const RECONNECT = { reconnect_min_ms: 50, reconnect_max_ms: 1000, timeout_ms: 10_000, qp: { heartbeat_ms: 500 } };

const tell = (name, what) => {
	const path = `${LAB_SHARED}/${name}.json`;

	write_file(`${path}.new`, JSON.stringify(what));
	renameSync(`${path}.new`, path);
};

async function told(name) {
	await until(name, () => existsSync(`${LAB_SHARED}/${name}.json`));
	return JSON.parse(readFileSync(`${LAB_SHARED}/${name}.json`, "utf8"));
}

const runner = await told("runner");
const to_runner = { dst_addr: LAB_PEER_ADDR, dst_port: runner.port };

// YAML has JSON in it.
if (is_first)
	write_file(CONFIG, `listeners: ${JSON.stringify([{ name: "door", addr: "0.0.0.0", port: 7471 }])}
buffers: ${JSON.stringify([{ name: "pool", size_bytes: 65536, access: ["remote_write", "remote_read"] }])}
connections: ${JSON.stringify([{ name: "to-runner", ...to_runner, ...RECONNECT }])}
`);

const daemon = await Daemon.start("host", ["--config", CONFIG, "--set", `state_dir=${LAB_DISK}/state`]);
const list = async (path) => (await daemon.get(`${path}${path.includes("?") ? "&" : "?"}limit=1000`)).items;

async function all_that_is_there(count) {
	const { items: kept } = await daemon.until("/v1/kept_objects", `${count} kept objects that are up`,
		({ items }) => items.length === count && items.every(({ state }) => state === "up"));

	return {
		kept, server_id: (await daemon.get("/v1")).server_id, pool: await daemon.get("/v1/buffers/pool"),
		events: await list("/v1/events"), connections: await list("/v1/connections?state=open,ended&fields=*"),
		transfers: await list("/v1/transfers?state=open,ended&fields=*"),
	};
}

const rows = (where) => Number(execFileSync("sqlite3", ["-readonly", `${LAB_DISK}/state/state.db`,
	`SELECT count(*) FROM records WHERE ${where}`], { encoding: "utf8" }));

// Waits until the disk has what a test looks for after the power cut. The row of an object follows the object by some
// milliseconds, and a kernel that loses power has lost what it had not yet written: by default of the last 5 s.
async function is_on_disk({ connections, transfers }) {
	for (const [kind, state, items] of [["connection", "established", connections], ["transfer", "done", transfers]]) {
		const ids = items.filter((item) => item.state === state).map(({ id }) => id);

		await until(`rows of each ${kind} that is ${state}`,
			() => rows(`kind = '${kind}' AND state = '${state}' AND id IN (${ids})`) === ids.length);
	}
	await daemon.until("/v1/stats", "nothing that waits for the disk", ({ store_waiting }) => store_waiting === 0);
	await run("sync");
}

// Asks to keep an object of each kind, and begins what nobody asked to keep.
async function work() {
	await daemon.post("/v1/listeners", { name: "own-door", addr: "0.0.0.0", port: 7472, keep: true });
	const own = await daemon.post("/v1/buffers", { name: "own", size_bytes: 65536, keep: true });
	const link = await daemon.connect({ name: "own-link", ...to_runner, ...RECONNECT, keep: true });

	await daemon.connect({ name: "passing", ...to_runner });
	await daemon.transfer("write", link, own, runner.buffer);
	return () => busy(daemon, link, own, runner.buffer);
}

if (is_first) {
	await all_that_is_there(3);
	const go_on = await work();
	const before = await all_that_is_there(6);

	await is_on_disk(before);
	tell("before", before);
	await go_on();
} else {
	tell("after", await all_that_is_there(6));
	await daemon.end(10 * PATIENCE_MS);
}
