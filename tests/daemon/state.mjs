// SPDX-License-Identifier: Apache-2.0
//
// state_dir: what outlives the daemon, and what becomes of a disk that does not take it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, have_sqlite, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const KILLS = 12;

const new_dir = () => join(scratch_folder("state"), "state");
const start = async (t, dir, options = {}) => {
	const args = ["--set", `state_dir=${dir}`, ...(options.args ?? [])];

	return daemon_of(t, { ...options, args }).up();
};
const events = async (daemon, query = "") => (await daemon.get(`/v1/events?limit=1000&${query}`)).json;
const store_of = async (daemon) => (await daemon.get("/v1")).json.store;
const check_of = async (daemon) => (await daemon.get("/readyz?verbose")).json.checks.find(({ name }) => name === "store");

// Something that each daemon can do without a device, and that is an event.
const act = (daemon) => daemon.request("DELETE", "/v1/buffers/7");
const settled = (daemon) => until(async () => (await daemon.get("/v1/stats")).json.store_waiting === 0);
// A thread of its own writes the log, so that a line may follow the answer that it belongs to.
const said = (daemon, what) => until(() => what.test(daemon.log));
const ask = (dir, sql) => execFileSync("sqlite3", ["-readonly", join(dir, "state.db"), sql], { encoding: "utf8" }).trim();

test("state: without state_dir the log, /v1 and /readyz say that nothing is kept", LIMIT, async (t) => {
	const daemon = await daemon_of(t).up();

	assert.equal((await store_of(daemon)).status, "none");
	assert.equal((await check_of(daemon)).status, "ok");
	await said(daemon, /no state_dir: events and records end with this run/);
	assert.equal(await daemon.stop(), 0);
});

test("state: events of a stopped run are there, and numbers go on", LIMIT, async (t) => {
	const dir = new_dir();
	const first = await start(t, dir);

	for (let i = 0; i < 5; i++) await act(first);
	const before = await events(first);
	assert.equal((await store_of(first)).status, "ok");
	assert.equal(await first.stop(), 0);
	assert.equal(statSync(dir).mode & 0o777, 0o700);
	assert.equal(statSync(join(dir, "state.db")).mode & 0o777, 0o600);

	const second = await start(t, dir);
	const after = await events(second);
	assert.deepEqual(after.items.slice(0, before.items.length), before.items);
	assert.deepEqual(after.items.map(({ seq }) => seq), after.items.map((_, i) => i + 1));
	assert.notEqual(after.server_id, before.server_id);
	assert.equal(after.items.at(-1).type, "daemon_started");
	assert.equal(after.items.at(-1).server_id, after.server_id);
	assert.equal(await second.stop(), 0);
});

test("state: a client goes on with the place of an earlier run, in pages and in the stream", LIMIT, async (t) => {
	const dir = new_dir();
	const first = await start(t, dir);

	await act(first);
	const { next, last } = await events(first);
	for (let i = 0; i < 3; i++) await act(first);
	await settled(first);
	assert.equal(await first.stop("SIGKILL"), "SIGKILL");

	const second = await start(t, dir);
	const page = await events(second, `after=${next}`);
	assert.deepEqual([page.restarted, page.resumed, page.compacted], [true, true, false]);
	assert.equal(page.items[0].seq, last + 1);
	assert.deepEqual(page.items.map(({ type }) => type), [...Array(3).fill(page.items[0].type), "daemon_started"]);
	const again = await events(second, `after=${page.next}`);
	assert.deepEqual([again.restarted, again.resumed, again.items], [false, false, []]);

	const text = (await second.request("GET", "/v1/events/stream?limit=4", { headers: { "Last-Event-ID": next } })).text;
	const [, restarted, ...streamed] = text.trim().split("\n\n").map((part) => part.split("\n"));
	assert.deepEqual(restarted, [`id: ${page.server_id}-${last}`, "event: restarted",
		`data: {"server_id":"${page.server_id}","resumed":true}`]);
	assert.deepEqual(streamed.map((lines) => JSON.parse(lines.at(-1).slice(6))), page.items);

	const stranger = await events(second, "after=0123456789abcdef-3");
	assert.deepEqual([stranger.restarted, stranger.resumed, stranger.items[0].seq], [true, false, 1]);
	assert.equal(await second.stop(), 0);
});

// Reads the stream until the daemon dies, as a client that is connected then.
function follow(daemon, seen) {
	return new Promise((done) => {
		const request = http.get({ socketPath: daemon.socket, path: "/v1/events/stream?after=oldest", agent: false }, (answer) => {
			answer.on("data", (data) => (seen.text += data));
			answer.on("close", done);
			answer.on("error", done);
		});
		request.on("error", done);
	});
}

test("state: kill -9 at any moment leaves a whole file, and numbers that grow", LIMIT, async (t) => {
	const dir = new_dir();
	const known = new Map();
	let highest = 0;

	for (let run = 0; run < KILLS; run++) {
		const daemon = await start(t, dir);
		const { items, last, server_id } = await events(daemon);

		assert.equal((await store_of(daemon)).status, "ok", daemon.log);
		assert.ok(last > highest, `${last} is not above ${highest}`);
		for (const [seq, text] of known) {
			const event = items.find((item) => item.seq === seq);
			if (event) assert.equal(JSON.stringify(event), text);
		}
		const seen = { text: "" };
		const over = follow(daemon, seen);
		const busy = Promise.allSettled(Array.from({ length: 40 }, () => act(daemon)));
		const kill_after = Math.floor(Math.random() * 40);
		await until(() => (seen.text.match(/^data/gm) ?? []).length >= Math.min(kill_after, 20));
		assert.equal(await daemon.stop("SIGKILL"), "SIGKILL");
		await Promise.all([over, busy]);
		for (const line of seen.text.split("\n").filter((line) => line.startsWith('data: {"seq"') && line.endsWith("}"))) {
			const event = JSON.parse(line.slice(6));
			highest = Math.max(highest, event.seq);
			if (event.server_id === server_id) known.set(event.seq, JSON.stringify(event));
		}
		if (have_sqlite()) assert.equal(ask(dir, "PRAGMA integrity_check"), "ok");
	}
	const daemon = await start(t, dir);
	assert.match((await events(daemon, "type=daemon_started")).items.at(-1).detail, /^server .*; the run before, .*, was killed$/);
	assert.equal(await daemon.stop(), 0);
});

test("state: a repeated Idempotency-Key gets the first answer after kill -9 and after a stop", LIMIT, async (t) => {
	const dir = new_dir();
	const reload = (daemon, key) => daemon.request("POST", "/v1/reload", { headers: { "Idempotency-Key": key } });
	const reloads = async (daemon) => (await events(daemon, "type=daemon_reloaded")).items.length;
	let daemon = await start(t, dir);
	const first = await reload(daemon, "once");

	assert.equal(first.status, 200);
	for (const signal of ["SIGKILL", "SIGTERM", "SIGKILL"]) {
		await daemon.stop(signal);
		daemon = await start(t, dir);
		const again = await reload(daemon, "once");
		assert.deepEqual([again.status, again.text], [first.status, first.text]);
		assert.equal(await reloads(daemon), 1);
	}
	assert.equal((await daemon.request("POST", "/v1/pds", { headers: { "Idempotency-Key": "once", "Content-Type": "application/json" }, body: "{}" })).status, 422);
	assert.equal((await reload(daemon, "twice")).status, 200);
	assert.equal(await reloads(daemon), 2);
	assert.equal(await daemon.stop(), 0);
});

test("state: a second daemon in the same directory serves without it", LIMIT, async (t) => {
	const dir = new_dir();
	const first = await start(t, dir);
	const second = await start(t, dir);

	const ready = (await second.get("/readyz?verbose")).json;
	assert.equal(ready.checks.find(({ name }) => name === "store").status, "degraded");
	assert.match((await store_of(second)).detail, /another daemon uses/);
	assert.equal((await events(second, "type=store_failed")).items.length, 1);
	assert.match((await second.get("/metrics")).text, /^verbsd_store_degraded 1$/m);
	assert.equal((await store_of(first)).status, "ok");
	assert.equal(await second.stop(), 0);
	await act(first);
	await settled(first);
	assert.equal(await first.stop(), 0);
});

test("state: a damaged file is set aside, and a new one begun", LIMIT, async (t) => {
	const dir = new_dir();
	const first = await start(t, dir);

	for (let i = 0; i < 50; i++) await act(first);
	assert.equal(await first.stop(), 0);
	writeFileSync(join(dir, "state.db"), "z".repeat(3000), { flag: "r+" });
	const second = await start(t, dir);
	assert.equal((await store_of(second)).status, "damaged");
	assert.equal((await check_of(second)).status, "degraded");
	const [damaged] = (await events(second, "type=store_damaged")).items;
	assert.equal(damaged.severity, "error");
	assert.ok(existsSync(join(dir, "state.db.damaged")));
	assert.ok(readFileSync(join(dir, "state.db.damaged")).toString("latin1").startsWith("zzz"));
	assert.equal(await second.stop(), 0);

	truncateSync(join(dir, "state.db"), 5000);
	const third = await start(t, dir);
	assert.equal((await store_of(third)).status, "damaged");
	assert.equal((await events(third, "type=store_damaged")).items.length, 1);
	assert.equal(await third.stop(), 0);
});

test("state: a file of a newer version is refused, and stays", LIMIT, async (t) => {
	if (!have_sqlite()) return t.skip("sqlite3 is not installed");
	const dir = new_dir();

	assert.equal(await (await start(t, dir)).stop(), 0);
	execFileSync("sqlite3", [join(dir, "state.db"), "PRAGMA user_version = 99"]);
	const daemon = await start(t, dir);
	assert.match((await store_of(daemon)).detail, /a newer verbsd wrote the file \(schema 99/);
	assert.equal(await daemon.stop(), 0);
	assert.equal(ask(dir, "PRAGMA user_version"), "99");
});

test("state: a disk without room stops nothing", LIMIT, async (t) => {
	const dir = new_dir();
	// No file may have more than 240 blocks of 512 bytes, so not even the log of SQLite grows for long.
	const daemon = await start(t, dir, { command: ["sh", "-c", 'ulimit -f 240; exec "$@"', "sh"] });

	await until(async () => {
		assert.ok((await act(daemon)).status < 500);
		return (await store_of(daemon)).status === "degraded";
	});
	assert.equal((await check_of(daemon)).status, "degraded");
	assert.ok((await events(daemon, "type=store_failed")).items.length >= 1);
	const stats = (await daemon.get("/v1/stats")).json;
	assert.ok(stats.store_failures >= 1 && stats.store_waiting >= 1, JSON.stringify(stats));
	assert.equal(await daemon.stop(), 0);

	const next = await start(t, dir);
	assert.equal((await store_of(next)).status, "ok");
	assert.ok((await events(next)).items.length > 1);
	assert.equal(await next.stop(), 0);
});

test("state: a directory that can't be used stops nothing", LIMIT, async (t) => {
	const file = join(scratch_folder("file"), "file");
	const open = join(scratch_folder("open"), "open");

	writeFileSync(file, "");
	mkdirSync(open);
	execFileSync("chmod", ["777", open]);
	for (const [dir, why] of [[file, /is not a directory/], ["/nowhere/at/all", /No such file/], [open, /can be written to by others/]]) {
		const daemon = await start(t, dir);

		assert.equal((await store_of(daemon)).status, "degraded");
		assert.match((await store_of(daemon)).detail, why);
		await said(daemon, /store_failed: /);
		assert.equal(await daemon.stop(), 0);
	}
});

test("state: systemd's StateDirectory= is the default, and a relative path is refused", LIMIT, async (t) => {
	const dir = new_dir();
	const daemon = await daemon_of(t, { env: { STATE_DIRECTORY: `${dir}:/other` } }).up();

	assert.equal((await store_of(daemon)).status, "ok");
	assert.ok(existsSync(join(dir, "state.db")));
	assert.equal(await daemon.stop(), 0);
	const relative = daemon_of(t, { args: ["--set", "state_dir=state"] });
	assert.equal((await relative.ended)[0], 2);
	assert.match(relative.log, /state_dir: state does not begin with a slash/);
});
