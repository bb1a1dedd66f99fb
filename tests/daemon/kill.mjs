// SPDX-License-Identifier: Apache-2.0
//
// kill -9 at random moments of a daemon that opens, keeps, deletes, transfers and sends messages, over the scripted provider.
// Each time the database is whole, the next run has what is to be there and nothing else, and no id is given twice. A request
// with an Idempotency-Key is repeated in the next run: it has the answer that it had, and nothing was done twice. The
// provider appends each message that it delivers to a file, which outlives the daemon.
//
//     KILLS=N       how often
//     KILL_SEED=N   another sequence of moments and requests; the default is the same in each run
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { Chance } from "../chance.mjs";
import { scratch_folder } from "../scratch.mjs";
import { daemon_of, have_sqlite, until } from "./lib.mjs";

const KILLS = Number(process.env.KILLS || 16);
const SEED = Number(process.env.KILL_SEED || 20_260);
const LANES = 6;
const KEPT_AT_MOST = 12;
const KINDS = ["listeners", "buffers", "connections"];
const TO_DOOR = { dst_addr: "10.0.0.1", dst_port: 7471, reconnect_min_ms: 10, reconnect_max_ms: 100 };
const CONFIG = `listeners:
- {name: door, addr: 10.0.0.1, port: 7471}
buffers:
- {name: pool, size_bytes: 64K, access: [remote_write]}
connections:
- {name: to-door, dst_addr: 10.0.0.1, dst_port: 7471, reconnect_min_ms: 10, reconnect_max_ms: 100}
`;
const CONFIGURED = ["door", "pool", "to-door"];

const dice = new Chance(SEED);

// The ledger has what clients know of the objects that they asked to keep. After a kill only those are unsure whose
// newest request had no answer.
class Ledger {
	kept = new Map(); // name: kind
	unsure = new Map();
	said = new Map(); // name: the newest answer about it
	named = 0;
	highest = {}; // ids of earlier runs, by kind
	seen = {}; // ids of this run
	kills = {}; // by moment
	answers = 0;
	found = 0; // kept objects that were there again
	asked = new Map(); // key: a request with it, with its answer if there was one; of runs since the last repeats
	repeats = { "had the first answer": 0, "were not known to have done anything": 0, "were told that it is not known": 0 };
	sent = new Set(); // keys of messages that were answered 201
	event = 0; // number of the newest one that a client saw

	new_name() { return `k${++this.named}`; }

	told(name) { return `${name}: ${this.said.get(name)} (killed ${this.moment})`; }

	count(moment) {
		this.moment = moment;
		this.kills[moment] = (this.kills[moment] ?? 0) + 1;
	}

	saw(kind, id) { this.seen[kind] = Math.max(this.seen[kind] ?? 0, id); }

	// The outcome of what was unsure is on the disk.
	settle(on_disk) {
		for (const [name, kind] of this.unsure)
			if (on_disk.has(name)) this.kept.set(name, kind);
		this.unsure.clear();
		for (const [kind, id] of Object.entries(this.seen)) this.highest[kind] = Math.max(this.highest[kind] ?? 0, id);
		this.seen = {};
	}
}

// Sends requests until the daemon is killed, and counts the answers.
class Client {
	answers = 0;

	constructor(daemon, ledger, is_made) {
		this.daemon = daemon;
		this.is_made = is_made;
		this.ledger = ledger;
		this.lanes = Promise.all(Array.from({ length: LANES }, () => this.lane()));
	}

	async lane() {
		try {
			for (;;) await this.step();
		} catch (error) {
			// A socket of a daemon that has gone; anything else is a fault.
			if (error instanceof assert.AssertionError) this.fault ??= error;
		}
	}

	async ask(method, path, body, key) {
		const answer = await ask_daemon(this.daemon, method, path, body, key);

		this.answers++;
		if (this.answers === this.kill_at) this.daemon.process.kill("SIGKILL");
		this.ledger.said.set(body?.name ?? path.split("/").at(-1), `${method} ${path}: ${answer.status} ${answer.text}`);
		assert.notEqual(answer.status, 500, `${method} ${path}: ${answer.text}`);
		return answer;
	}

	async create(kind, body) {
		const { status, json } = await this.ask("POST", `/v1/${kind}`, body);

		if (status < 300) this.ledger.saw(kind, json.id);
		return { status, json };
	}

	async keep() {
		const kind = dice.one_of(...KINDS);
		const name = this.ledger.new_name();
		const spec = { listeners: { addr: "10.0.0.1" }, buffers: { size_bytes: 4096 }, connections: TO_DOOR }[kind];

		if (this.ledger.kept.size >= KEPT_AT_MOST) return this.drop();
		this.ledger.unsure.set(name, kind);
		const { status, json } = await this.create(kind, { ...spec, name, keep: true });

		// A connection whose first try fails is kept too, and what ends with verbsd; the answer says so.
		if (status < 300 || json.kept_object) this.ledger.kept.set(name, kind);
		this.ledger.unsure.delete(name);
	}

	// Deletes an object that is kept, or keeps it no longer. Until this run has made it, its name is that of a connection of
	// an earlier run.
	async drop() {
		const { kept, unsure } = this.ledger;
		const [name, kind] = dice.one_of(...(kept.size ? kept : [["nobody", "buffers"]]));
		const of = this.is_made && dice.is(0.5) ? kind : "kept_objects";

		kept.delete(name);
		unsure.set(name, kind);
		const { status } = await this.ask("DELETE", `/v1/${of}/${name}`);
		unsure.delete(name);
		if (status >= 300 && name !== "nobody") kept.set(name, kind);
	}

	async open_and_close() {
		const { status, json } = await this.create("connections", TO_DOOR_ONCE);

		if (status < 300) await this.ask("DELETE", `/v1/connections/${json.id}`);
	}

	async transfer() {
		const pool = await this.ask("GET", "/v1/buffers/pool");

		if (pool.status === 200)
			await this.create("transfers", { op: "write", connection: "to-door", buffer: "pool",
				remote: { addr: pool.json.addr, rkey: pool.json.rkey } });
	}

	// A request that is repeated in the next run.
	async once() {
		const key = `key-${this.ledger.new_name()}`;
		const asked = dice.is(0.5)
			? { path: "/v1/connections/to-door/messages", body: { data: `${key};` } }
			: { path: "/v1/connections", body: { ...TO_DOOR_ONCE, name: key } };

		this.ledger.asked.set(key, asked);
		asked.answer = await this.ask("POST", asked.path, asked.body, key);
	}

	async look_at_events() {
		const { json } = await this.ask("GET", "/v1/events?after=now");

		this.ledger.event = Math.max(this.ledger.event, Number(json.next.split("-").at(-1)));
	}

	step() {
		return dice.one_of(() => this.keep(), () => this.keep(), () => this.drop(), () => this.open_and_close(),
			() => this.transfer(), () => this.ask("GET", "/v1/kept_objects"), () => this.once(), () => this.once(),
			() => this.once(), () => this.look_at_events())();
	}
}

const ask_daemon = (daemon, method, path, body, key) =>
	daemon.request(method, path, {
		headers: { ...(body && { "Content-Type": "application/json" }), ...(key && { "Idempotency-Key": key }), Prefer: "wait=5" },
		body: body && JSON.stringify(body),
	});

const TO_DOOR_ONCE = { dst_addr: TO_DOOR.dst_addr, dst_port: TO_DOOR.dst_port };

const ask_database = (dir, sql) => execFileSync("sqlite3", [join(dir, "state.db"), sql], { encoding: "utf8" }).trim();
// A file that a run was killed in the middle of making has no tables.
const desired_on = (dir) => new Set(ask_database(dir, "SELECT name FROM sqlite_master WHERE name = 'desired'") &&
	ask_database(dir, "SELECT name FROM desired").split("\n").filter(Boolean));
const twice_on = (dir) => ask_database(dir, "SELECT name FROM sqlite_master WHERE name = 'records'") &&
	ask_database(dir, "SELECT name FROM records WHERE name LIKE 'key-%' GROUP BY name HAVING count(*) > 1");

const sorted = (names) => [...names].sort();
const list = async (daemon, path) => (await daemon.get(`${path}?limit=1000&fields=*`)).json.items;

// Compares the file that a killed daemon has left with the ledger.
function check_file(dir, ledger) {
	const copy = scratch_folder("copy");

	if (!existsSync(join(dir, "state.db"))) return;
	// Opening the file recovers it, which is for the next run to do.
	cpSync(dir, copy, { recursive: true });
	assert.equal(ask_database(copy, "PRAGMA integrity_check"), "ok");
	const on_disk = desired_on(copy);
	assert.equal(twice_on(copy), "", "connections that one key has made twice");
	rmSync(copy, { recursive: true });
	for (const name of ledger.kept.keys()) assert.ok(on_disk.has(name), `not in the file, and kept: ${ledger.told(name)}`);
	for (const name of on_disk)
		assert.ok(ledger.kept.has(name) || ledger.unsure.has(name), `in the file, and kept no longer: ${ledger.told(name)}`);
	ledger.settle(on_disk);
}

// Waits until the run has made all of it again, under ids above those of all runs before.
async function check_run(daemon, ledger) {
	const kept = await until(async () => {
		const items = await list(daemon, "/v1/kept_objects");
		return items.every(({ state }) => state === "up") && items;
	});
	assert.deepEqual(sorted(kept.map(({ name }) => name)), sorted([...CONFIGURED, ...ledger.kept.keys()]));
	ledger.found += kept.length;
	for (const kind of KINDS) {
		for (const { id } of await list(daemon, `/v1/${kind}`)) {
			assert.ok(id > (ledger.highest[kind] ?? 0), `${kind} ${id}: up to ${ledger.highest[kind]} were given before`);
			ledger.saw(kind, id);
		}
	}
	const first = (await daemon.get("/v1/events?type=daemon_started&limit=1000")).json.items.at(-1);
	assert.ok(first.seq > ledger.event, `the run begins with event ${first.seq}: up to ${ledger.event} were given before`);
	await check_repeats(daemon, ledger);
	const { store } = (await daemon.get("/v1")).json;
	assert.equal(store.status, "ok", store.detail);
}

// Repeats the requests with a key. One that was refused has done nothing, and is not repeated.
async function check_repeats(daemon, ledger) {
	for (const [key, { path, body, answer }] of ledger.asked) {
		if (answer?.status >= 300 && answer.status !== 424) continue;
		const again = await ask_daemon(daemon, "POST", path, body, key);
		const what = ({ status, json }) => [status, json.id, json.code];

		if (answer) assert.deepEqual(what(again), what(answer), `${key}: ${answer.text}; its repeat: ${again.text}`);
		const outcome = answer ? 0 : again.json.code === "outcome_unknown" ? 2 : 1;
		ledger.repeats[Object.keys(ledger.repeats)[outcome]]++;
		if (again.status === 201 && body.data) ledger.sent.add(key);
	}
	ledger.asked.clear();
	const delivered = readFileSync(ledger.witness, "utf8").split(";").filter(Boolean);
	assert.deepEqual(delivered.filter((key, at) => delivered.indexOf(key) !== at), [], "messages that went out twice");
	for (const key of ledger.sent) assert.ok(delivered.includes(key), `${key} was answered 201, and did not go out`);
}

// Kills a daemon before it answers, while it makes what is kept, while it is busy, as it has answered, or while it stops.
async function kill_at_random(daemon, ledger) {
	const when = dice.number();
	const moment = () => new Promise((done) => setTimeout(done, dice.below(30)));

	if (when < 0.2) {
		ledger.count("before it answers");
		await moment();
		return daemon.stop("SIGKILL");
	}
	await daemon.up();
	const is_made = when > 0.4;
	const at_answer = when > 0.65 && when <= 0.9;
	ledger.count(when > 0.9 ? "while it stops" : at_answer ? "as it had answered" : is_made ? "while it was busy" :
		"while it made what is kept");
	if (is_made) await check_run(daemon, ledger);
	const client = new Client(daemon, ledger, is_made);
	const enough = 1 + dice.below(80);
	if (at_answer) client.kill_at = enough;
	await until(() => client.answers >= enough || client.fault);
	if (when > 0.9) daemon.process.kill("SIGTERM");
	await moment();
	await daemon.stop("SIGKILL");
	await client.lanes;
	ledger.answers += client.answers;
	if (client.fault) throw client.fault;
}

test("kill: after kill -9 at any moment what was promised is there, and nothing is done or given twice", async (t) => {
	if (!have_sqlite()) return t.skip("sqlite3 is not installed");
	const folder = scratch_folder("kill");
	const dir = join(folder, "state");
	const config = join(folder, "verbsd.yaml");
	const args = ["--config", config, "--set", `state_dir=${dir}`];
	const ledger = new Ledger();
	const env = { FAKE_WITNESS: ledger.witness = join(folder, "delivered") };

	writeFileSync(ledger.witness, "");
	writeFileSync(config, CONFIG);
	t.diagnostic(`seed ${SEED}, ${KILLS} kills`);
	for (let i = 0; i < KILLS; i++) {
		const daemon = daemon_of(t, { args, env });

		await kill_at_random(daemon, ledger).catch((error) => {
			throw new Error(`kill ${i} of seed ${SEED}: ${error.message}\n${daemon.log.slice(-2000)}`, { cause: error });
		});
		check_file(dir, ledger);
		assert.doesNotMatch(daemon.log, /fake provider: /);
	}
	const daemon = await daemon_of(t, { args, env }).up();
	await check_run(daemon, ledger);
	assert.equal(await daemon.stop(), 0);
	assert.ok(ledger.sent.size, "no message was ever sent");
	t.diagnostic(`killed: ${Object.entries(ledger.kills).map(([when, count]) => `${count} ${when}`).join(", ")}`);
	t.diagnostic(`repeats: ${Object.entries(ledger.repeats).map(([what, count]) => `${count} ${what}`).join(", ")}`);
	t.diagnostic(`${ledger.answers} answers; ${ledger.sent.size} messages; ${ledger.found} times a kept object was there again`);
});
