// SPDX-License-Identifier: Apache-2.0
//
// A host that loses power in the middle of work, and boots again: its daemon has all of it again without a hand. The
// host is the second guest, which runs reboot_peer.mjs; this one is its peer, which stays.

import { existsSync, readFileSync, renameSync } from "node:fs";

import { Daemon, PATIENCE_MS, busy, equal, finish, moves_bytes, ok, run, scenario, until, write_file } from "./lib.mjs";
import { scratch_file } from "../scratch.mjs";

const { LAB_PEER_ADDR, LAB_SHARED } = process.env;
const PORT = 7475;
const lab = (name) => new URL(`../../lab/${name}`, import.meta.url).pathname;
const CONFIG = `connections: ${JSON.stringify([{ name: "to-host", dst_addr: LAB_PEER_ADDR, dst_port: 7471, timeout_ms: 10_000,
	reconnect_min_ms: 50, reconnect_max_ms: 1000, qp: { heartbeat_ms: 500 } }])}\n`;

async function told(name) {
	await until(`the host to tell "${name}"`, () => existsSync(`${LAB_SHARED}/${name}.json`), 4 * PATIENCE_MS);
	return JSON.parse(readFileSync(`${LAB_SHARED}/${name}.json`, "utf8"));
}

const established = (daemon, before) => daemon.until("/v1/connections/to-host", "the connection to the host",
	({ created_at, state }) => created_at !== before?.created_at && state === "established", 2 * PATIENCE_MS);

const names = (items) => items.map(({ name }) => name).sort().join(" ");
const last = (items) => items.at(-1);

function is_as_before(before, after) {
	equal(names(after.kept), "door own own-door own-link pool to-runner", "names of what is kept");
	for (const { name, kind, source, object_id } of before.kept) {
		const now = after.kept.find((kept) => kept.name === name);

		equal(`${now.kind} ${now.source}`, `${kind} ${source}`, `kind and source of ${name}`);
		ok(now.object_id > object_id, `${name} has the id ${now.object_id}, and had ${object_id}`);
	}
}

// Checks that what was open has ended, that what had ended is there, and that all of it is told of that run.
function has_its_history(before, after) {
	ok(after.server_id !== before.server_id, "it is the same run");
	for (const { name, id } of before.connections.filter(({ state }) => state === "established")) {
		const then = after.connections.find((connection) => connection.id === id);

		equal(`${then?.state} ${then?.end_code} ${then?.server_id}`, `failed daemon_died ${before.server_id}`,
			`state, end and run of connection ${id} (${name})`);
	}
	for (const { id } of before.transfers.filter(({ state }) => state === "done")) {
		const then = after.transfers.find((transfer) => transfer.id === id);

		equal(`${then?.state} ${then?.server_id}`, `done ${before.server_id}`, `state and run of transfer ${id}`);
	}
	equal(JSON.stringify(after.events.slice(0, before.events.length)), JSON.stringify(before.events), "events of that run");
	const [started] = after.events.filter(({ type, server_id }) => type === "daemon_started" && server_id === after.server_id);
	ok(/was killed/.test(started.detail), `the start says: ${started.detail}`);
	ok(started.seq > last(before.events).seq, "numbers of events");
}

await scenario("a host that loses power in the middle of work has all of it again after its boot", async () => {
	const daemon = await Daemon.start("runner", ["--config", scratch_file("runner.yaml", CONFIG)]);

	await daemon.ready();
	const { port } = await daemon.listen({ port: PORT, service: "none" });
	const buffer = await daemon.buffer(65536, { access: ["remote_write"] });
	const source = await daemon.buffer(65536);
	const runner = `${LAB_SHARED}/runner.json`;

	write_file(`${runner}.new`, JSON.stringify({ port, buffer }));
	renameSync(`${runner}.new`, runner);
	const before = await told("before");
	const first = await established(daemon);
	await moves_bytes(daemon, first, source, before.pool);
	const end = busy(daemon, first, source, before.pool);

	await run(lab("peer-off"));
	ok((await end).code, "what ended the transfers");
	await run(lab("peer-on"));
	const after = await told("after");

	is_as_before(before, after);
	has_its_history(before, after);
	const again = await established(daemon, first);

	equal(again.id, first.id, "id of the connection to the host");
	await moves_bytes(daemon, again, source, after.pool);
	console.log(`     ${before.events.length} events and ${before.transfers.length} transfers of the run before`);
	await daemon.stop();
});

finish();
