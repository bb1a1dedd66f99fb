// SPDX-License-Identifier: Apache-2.0
//
// state_dir is cut and damaged between two runs, and under a run, at every class of place. Everything that was answered is
// there afterwards, or the loss is told by an event and by `store`; and no id, and no number of an event, is given twice.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync,
	writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, have_sqlite, hold, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const KEPT = 9;

const get = async (daemon, path) => (await daemon.get(path)).json;
const start = (t, dir, options = {}) => daemon_of(t, { ...options, args: ["--set", `state_dir=${dir}`] }).up();
const post = async (daemon, body, headers) => {
	const answer = await daemon.request("POST", "/v1/buffers",
		{ headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify({ size_bytes: 4096, ...body }) });

	assert.ok(answer.status < 300 || answer.json.code === "outcome_unknown", answer.text);
	return answer.json;
};
const settled = (daemon) => until(async () => (await get(daemon, "/v1/stats")).store_waiting === 0);
const events = async (daemon, query = "") => (await get(daemon, `/v1/events?limit=1000&${query}`)).items;
const status_is = (daemon, wanted) => until(async () => (await get(daemon, "/v1")).store.status === wanted);

// A trace has the answers and events that clients of one or more runs were told.
class Trace {
	ids = new Set();
	events = new Map(); // number: text
	kept = new Set();
	keyed = new Map(); // key: id

	take_id({ id }) {
		assert.ok(!this.ids.has(id), `the id ${id} was given twice`);
		this.ids.add(id);
	}

	async work(daemon, prefix, count = KEPT) {
		for (let i = 0; i < count; i++) {
			const buffer = await post(daemon, { name: `${prefix}${i}`, keep: true });

			this.take_id(buffer);
			if (buffer.desired.outlives_restart) this.kept.add(buffer.name);
			const key = `${prefix}${i}`;
			this.keyed.set(key, (await post(daemon, {}, { "Idempotency-Key": key })).id);
			this.take_id({ id: this.keyed.get(key) });
		}
		this.take_events(await events(daemon));
	}

	take_events(items) {
		for (const event of items) {
			const text = JSON.stringify(event);

			assert.equal(this.events.get(event.seq) ?? text, text, "a number of two events");
			this.events.set(event.seq, text);
		}
	}

	// The names and events that the daemon no longer has.
	async missing(daemon) {
		const names = new Set((await get(daemon, "/v1/kept_objects?limit=1000")).items.map(({ name }) => name));
		const there = new Map((await events(daemon)).map((event) => [event.seq, JSON.stringify(event)]));

		return [...this.kept].filter((name) => !names.has(name))
			.concat([...this.events].filter(([seq, text]) => there.get(seq) !== text).map(([seq]) => seq));
	}

	// Compares a daemon, whose files were damaged, with what was told before. Returns what is missing.
	async check(daemon) {
		const lost = await this.missing(daemon);
		for (const [key, id] of this.keyed) {
			const repeat = await post(daemon, {}, { "Idempotency-Key": key });

			if (repeat.id === id) continue;
			if (repeat.id) this.take_id(repeat);
			lost.push({ key });
		}
		const { store, server_id } = await get(daemon, "/v1");
		const damages = await events(daemon, "type=store_damaged");
		const told = damages.some((event) => event.server_id === server_id);

		assert.ok(!lost.length || damages.length, `lost in silence: ${JSON.stringify(lost)}`);
		assert.equal(told, /lost|can't be made/.test(store.detail), store.detail);
		this.take_events(await events(daemon));
		await this.work(daemon, `again${this.ids.size}-`, 2);
		return { lost, told };
	}
}

// Overwrites some bytes.
function zero(path, at, count = 16) {
	const fd = openSync(path, "r+");

	writeSync(fd, Buffer.alloc(count), 0, count, at);
	closeSync(fd);
}

const sql = (dir, text) => execFileSync("sqlite3", [join(dir, "state.db"), text], { encoding: "utf8" }).trim();

// Each damage between two runs. `whole`: nothing is lost by it. `told`: also if nothing is.
const DAMAGES = {
	"nothing": { whole: true, to: () => {} },
	"a frame of the log": { to: (dir) => zero(join(dir, "state.db-wal"), 32 + 24 + 100) },
	"a frame in the middle of the log": { to: (dir) => zero(join(dir, "state.db-wal"), Math.floor(statSync(join(dir, "state.db-wal")).size / 2)) },
	"the header of the log": { to: (dir) => zero(join(dir, "state.db-wal"), 0) },
	"the log is gone": { to: (dir) => rmSync(join(dir, "state.db-wal")) },
	"the log is cut": { to: (dir) => truncateSync(join(dir, "state.db-wal"), 5000) },
	"the index of the log is gone": { whole: true, to: (dir) => rmSync(join(dir, "state.db-shm")) },
	"the log and its index are gone": { to: (dir) => ["-wal", "-shm"].forEach((end) => rmSync(join(dir, `state.db${end}`))) },
	"the header of the file": { to: (dir) => zero(join(dir, "state.db"), 0, 100) },
	"pages of the file": { to: (dir) => zero(join(dir, "state.db"), 4096, 20000) },
	"the file is cut": { to: (dir) => truncateSync(join(dir, "state.db"), 9000) },
	"the file is empty": { to: (dir) => truncateSync(join(dir, "state.db"), 0) },
	"the file is gone": { to: (dir) => rmSync(join(dir, "state.db")) },
	"all of the database is gone": { to: (dir) => ["", "-wal", "-shm"].forEach((end) => rmSync(join(dir, `state.db${end}`))) },
	"the mark is gone": { to: (dir) => rmSync(join(dir, "mark")) },
	"the mark is damaged": { to: (dir) => zero(join(dir, "mark"), 10) },
	"the mark and the log are gone": { to: (dir) => ["mark", "state.db-wal"].forEach((name) => rmSync(join(dir, name))) },
	"the mark is gone, and the file is damaged": { to: (dir) => {
		rmSync(join(dir, "mark"));
		zero(join(dir, "state.db"), 0, 100);
	} },
	"an older copy": { to: (dir, old) => ["state.db", "state.db-wal", "state.db-shm"].forEach((name) => {
		rmSync(join(dir, name), { force: true });
		if (existsSync(join(old, name))) cpSync(join(old, name), join(dir, name));
	}) },
	"a mark of another database": { to: (dir, old, other) => cpSync(join(other, "mark"), join(dir, "mark")) },
	"an older mark": { whole: true, to: (dir, old) => cpSync(join(old, "mark"), join(dir, "mark")) },
	"a row of ids below zero": { sql: "UPDATE ids SET last = -1" },
	"a row of ids above all numbers": { sql: "UPDATE ids SET last = 9223372036854775807 WHERE kind <> 'transaction'" },
	"rows of ids that are text": { sql: "UPDATE ids SET last = 'many'" },
	"rows of ids below those in use": { sql: "UPDATE ids SET last = 1 WHERE kind <> 'transaction'" },
	"no rows of ids": { sql: "DELETE FROM ids WHERE kind <> 'transaction'" },
	"a row of ids that is low": { told: true, sql: "UPDATE ids SET last = 2 WHERE kind = 'buffer'" },
	"a row of ids of another kind": { told: true, sql: "UPDATE ids SET kind = 'buffeR' WHERE kind = 'buffer'" },
	"a row of ids that is gone": { told: true, sql: "DELETE FROM ids WHERE kind = 'buffer'" },
	"a kept object that is gone": { sql: "DELETE FROM desired WHERE name = 'first3'" },
	"an answer that is gone": { sql: "DELETE FROM answers WHERE key LIKE '%first3'" },
	"a kept object that can't be read": { sql: "UPDATE desired SET body = '{' WHERE name = 'first3'", stays: "SELECT count(*) FROM desired WHERE name = 'first3'" },
	"a kept object without a kind": { sql: "UPDATE desired SET kind = '' WHERE name = 'first3'", stays: "SELECT count(*) FROM desired WHERE name = 'first3'" },
	"bytes of a kept object": { sql: "UPDATE desired SET body = replace(body, '4096', '8192') WHERE name = 'first3'", stays: "SELECT count(*) FROM desired WHERE name = 'first3'" },
	"bytes of an answer": { sql: "UPDATE answers SET body = replace(body, '4096', '8192')" },
	"the time of an answer": { sql: "UPDATE answers SET begun_ns = begun_ns - (1 << 40)" },
	"bytes of an event": { sql: "UPDATE events SET detail = replace(detail, '4096', '8192')" },
	"the type of an event": { sql: "UPDATE events SET type = 'buffer_creatfd' WHERE type = 'buffer_created'" },
	"the run of events": { sql: "UPDATE runs SET server_id = '0123456789abcdef'" },
	"an event with a number below zero": { sql: "UPDATE events SET seq = -7 WHERE seq = 5" },
};

test("damage: what was answered is there, or the loss is told, whatever was damaged between two runs", LIMIT, async (t) => {
	const folder = scratch_folder("damage");
	const dir = join(folder, "state");
	const old = join(folder, "old");
	const other = join(folder, "other");
	const trace = new Trace();
	const another = await start(t, other);
	const first = await start(t, dir);

	assert.equal(await another.stop(), 0);
	await trace.work(first, "first", KEPT - 1);
	await settled(first);
	cpSync(dir, old, { recursive: true });
	await trace.work(first, "last", 1);
	await settled(first);
	assert.equal(await first.stop("SIGKILL"), "SIGKILL");

	for (const [what, damage] of Object.entries(DAMAGES)) {
		if (damage.sql && !have_sqlite()) continue;
		const copy = join(folder, what.replaceAll(/\W/g, "_"));
		const known = Object.assign(new Trace(), { ids: new Set(trace.ids), events: new Map(trace.events), kept: new Set(trace.kept), keyed: new Map(trace.keyed) });

		cpSync(dir, copy, { recursive: true });
		if (damage.sql) sql(copy, damage.sql);
		else damage.to(copy, old, other);
		const daemon = await start(t, copy);
		try {
			const { lost, told } = await known.check(daemon);
			if (damage.told) assert.ok(told);
			if (damage.whole) assert.deepEqual([lost, told], [[], false]);
			assert.equal((await get(daemon, "/v1")).store.status, told ? "damaged" : "ok");
			if (damage.stays) assert.equal(sql(copy, damage.stays), "1");
			await settled(daemon);
			assert.equal(await daemon.stop("SIGKILL"), "SIGKILL");
			// The damage is mended: the next run has all, and tells nothing new of it.
			const next = await start(t, copy);
			const before = [...known.events.values()].filter((text) => text.includes('"store_damaged"')).length;
			if (!damage.stays && !damage.sql) assert.equal((await events(next, "type=store_damaged")).length, before);
			known.kept = new Set([...known.kept].filter((name) => name.startsWith("again")));
			known.events = new Map();
			assert.deepEqual(await known.missing(next), []);
			await known.work(next, "next", 1);
			assert.equal(await next.stop(), 0);
		} catch (error) {
			throw new Error(`${what}: ${error.message}\n${daemon.log.slice(-1500)}`, { cause: error });
		}
		rmSync(copy, { recursive: true });
	}
});

// Each damage under a run, and what brings the files back; without it the store mends itself.
const LOSSES = {
	"the directory is moved": { to: (dir) => renameSync(dir, `${dir}2`), back: (dir) => renameSync(`${dir}2`, dir) },
	"the directory is gone for good": { to: (dir) => rmSync(dir, { recursive: true }), back: (dir) => mkdirSync(dir, { mode: 0o700 }) },
	"the files are gone": { to: (dir) => readdirSync(dir).forEach((name) => rmSync(join(dir, name))) },
	"the file is empty": { to: (dir) => truncateSync(join(dir, "state.db"), 0) },
	"the file is cut": { to: (dir) => truncateSync(join(dir, "state.db"), 9000) },
	"the file is overwritten": { to: (dir) => zero(join(dir, "state.db"), 0, statSync(join(dir, "state.db")).size) },
	"the file is another one": { to: (dir) => {
		const path = join(dir, "state.db");

		writeFileSync(`${path}.new`, readFileSync(path), { mode: 0o600 });
		renameSync(`${path}.new`, path);
	} },
};

for (const [what, loss] of Object.entries(LOSSES)) {
	test(`damage: ${what} while the daemon runs, and no promise is lost`, LIMIT, async (t) => {
		const dir = join(scratch_folder("damage"), "state");
		const trace = new Trace();
		const daemon = await start(t, dir);

		await trace.work(daemon, "first");
		await settled(daemon);
		loss.to(dir);
		// Until the store has seen the loss an object may be kept in the files that are there then.
		await trace.work(daemon, "meanwhile", 2);
		if (loss.back) {
			await status_is(daemon, "degraded");
			assert.equal((await post(daemon, { name: "degraded", keep: true })).desired.outlives_restart, false);
			loss.back(dir);
		}
		await until(async () => (await events(daemon, "type=store_recovered")).length > 0);
		await settled(daemon);
		for (const { name } of (await get(daemon, "/v1/kept_objects?limit=1000")).items)
			await until(async () => (await get(daemon, `/v1/kept_objects/${name}`)).outlives_restart);
		trace.take_events(await events(daemon));
		if (loss.back) trace.kept.add("degraded");
		["meanwhile0", "meanwhile1"].forEach((name) => trace.kept.add(name));
		assert.equal(await daemon.stop("SIGKILL"), "SIGKILL");

		const next = await start(t, dir);
		const { lost } = await trace.check(next);
		assert.deepEqual(lost.filter((name) => typeof name === "string"), []);
		assert.equal(await next.stop(), 0);
	});
}

test("damage: no id is given twice while the database is held, and the daemon is killed", LIMIT, async (t) => {
	if (!have_sqlite()) return t.skip("sqlite3 is not installed");
	const dir = join(scratch_folder("damage"), "state");
	const trace = new Trace();

	for (let run = 0; run < 3; run++) {
		// The first run makes the file; the others find it held.
		const holder = run ? await hold(t, dir) : null;
		const daemon = await start(t, dir);
		const later = holder ?? (await hold(t, dir));

		for (let i = 0; i < 3; i++) trace.take_id(await post(daemon, {}));
		trace.take_events(await events(daemon));
		assert.equal(await daemon.stop("SIGKILL"), "SIGKILL");
		await later.release();
	}
});

test("damage: runs without the database that begin in one second give no id twice", LIMIT, async (t) => {
	const dir = join(scratch_folder("damage"), "state");
	const trace = new Trace();

	mkdirSync(dir, { mode: 0o777 });
	execFileSync("chmod", ["777", dir]);
	for (let run = 0; run < 6; run++) {
		const daemon = await start(t, dir);

		for (let i = 0; i < 3; i++) trace.take_id(await post(daemon, {}));
		trace.take_events(await events(daemon));
		assert.equal(await daemon.stop("SIGKILL"), "SIGKILL");
	}
});

test("damage: a run that takes over a directory goes on above the run before", LIMIT, async (t) => {
	const dir = join(scratch_folder("damage"), "state");
	const trace = new Trace();
	const first = await start(t, dir);
	const waiting = await Promise.all([start(t, dir), start(t, dir)]);
	const known = new Map();

	assert.equal(await first.stop(), 0);
	for (let taken = 0; taken < 2; taken++) {
		const daemon = await until(async () => {
			for (const one of waiting) if ((await get(one, "/v1")).store.status === "ok") return one;
			return null;
		});
		const { server_id } = await get(daemon, "/v1");

		for (let i = 0; i < 5; i++) trace.take_id(await post(daemon, { name: `of${server_id}-${i}`, keep: true }));
		await settled(daemon);
		for (const event of await events(daemon)) {
			if (event.server_id !== server_id) continue;
			assert.ok(!known.has(event.seq), "a number of two events");
			known.set(event.seq, server_id);
		}
		assert.equal(await daemon.stop("SIGKILL"), "SIGKILL");
		waiting.splice(waiting.indexOf(daemon), 1);
	}
	const last = await start(t, dir);
	const there = new Map((await events(last)).map(({ seq, server_id }) => [seq, server_id]));
	for (const [seq, server_id] of known) assert.equal(there.get(seq), server_id);
	assert.equal((await events(last, "type=store_damaged")).length, 0);
	assert.equal(await last.stop(), 0);
});

test("damage: a database that is late or refused at the start is used when it can be", LIMIT, async (t) => {
	const dir = join(scratch_folder("damage"), "state");
	const trace = new Trace();
	const first = await start(t, dir);
	const keyed = { "Idempotency-Key": "again" };

	await trace.work(first, "first", 2);
	const once_only = await post(first, { name: "once" }, keyed);
	trace.take_id(once_only);
	assert.equal(await first.stop(), 0);
	execFileSync("chmod", ["777", dir]);
	const second = await start(t, dir);
	await status_is(second, "degraded");
	assert.deepEqual((await get(second, "/v1/kept_objects")).items, []);
	trace.take_id(await post(second, { name: "degraded", keep: true }));
	trace.kept.add("degraded");
	// The run before has kept one of this name.
	trace.take_id(await post(second, { name: "first1", keep: true, size_bytes: 8192 }));
	execFileSync("chmod", ["700", dir]);
	// One of the two that are called first1 is not kept.
	await status_is(second, "damaged");
	// The run has kept objects and answers of the one before, and its own.
	assert.equal((await post(second, { name: "once" }, keyed)).id, once_only.id);
	for (const name of trace.kept)
		await until(async () => (await get(second, `/v1/kept_objects/${name}`)).state === "up");
	assert.match((await events(second, "type=store_damaged"))[0].detail, /^buffer first1 is not kept; the row stays until another one of the name is kept: /);
	trace.take_events((await events(second)).filter(({ type }) => type === "store_recovered"));
	await settled(second);
	assert.equal(await second.stop("SIGKILL"), "SIGKILL");
	const third = await start(t, dir);
	assert.deepEqual((await trace.check(third)).lost, []);
	assert.equal((await get(third, "/v1/buffers/first1")).size_bytes, 8192);
	assert.equal(await third.stop(), 0);
});

test("damage: the state of another run in place of this one's is not touched, and told", LIMIT, async (t) => {
	const folder = scratch_folder("damage");
	const [dir, ours, theirs] = ["state", "ours", "theirs"].map((name) => join(folder, name));
	const trace = new Trace();
	const other = await start(t, theirs);

	await trace.work(other, "theirs", 2);
	assert.equal(await other.stop(), 0);
	// As a file system that is mounted over the directory while the daemon runs.
	const daemon = await start(t, dir);
	const mine = new Trace();
	await mine.work(daemon, "ours", 2);
	await settled(daemon);
	renameSync(dir, ours);
	renameSync(theirs, dir);
	assert.equal((await post(daemon, { name: "theirs0", keep: true })).desired.outlives_restart, false);
	await until(async () => /another state than this run wrote: restart verbsd/.test((await get(daemon, "/v1")).store.detail));
	assert.equal(await daemon.stop("SIGKILL"), "SIGKILL");
	const next = await start(t, dir);
	assert.deepEqual(await trace.check(next), { lost: [], told: false });
	// And back again.
	renameSync(dir, theirs);
	renameSync(ours, dir);
	await post(next, {});
	await status_is(next, "degraded");
	renameSync(dir, ours);
	renameSync(theirs, dir);
	await status_is(next, "ok");
	assert.equal(await next.stop(), 0);
});

test("damage: two daemons never use one directory, whatever is deleted in it", LIMIT, async (t) => {
	const dir = join(scratch_folder("damage"), "state");
	const first = await start(t, dir);

	for (const name of readdirSync(dir)) if (!name.startsWith("state.db")) rmSync(join(dir, name));
	const second = await start(t, dir);
	assert.match((await get(second, "/v1")).store.detail, /another daemon uses/);
	assert.equal(await second.stop(), 0);
	assert.equal(await first.stop(), 0);
});

test("damage: files of another user are refused", LIMIT, async (t) => {
	if (process.getuid() !== 0) return t.skip("only root can give files away");
	for (const name of ["", "state.db", "state.db-wal", "state.db-shm", "mark"]) {
		const dir = join(scratch_folder("damage"), "state");
		const first = await start(t, dir);

		await post(first, { name: "first", keep: true });
		assert.equal(await first.stop("SIGKILL"), "SIGKILL");
		execFileSync("chown", ["12345", join(dir, name)]);
		const second = await start(t, dir);
		const { store } = await get(second, "/v1");
		assert.equal(store.status, "degraded", name);
		assert.match(store.detail, /belongs to the user 12345/);
		execFileSync("chown", ["0", join(dir, name)]);
		await status_is(second, "ok");
		assert.equal(await second.stop(), 0);
	}
});
