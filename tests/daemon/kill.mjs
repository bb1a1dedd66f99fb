// SPDX-License-Identifier: Apache-2.0
//
// kill -9 at random moments of a daemon that opens, keeps, deletes and transfers, over the scripted provider. Each time
// the database is whole, the next run has what is to be there and nothing else, and no id is given twice.
//
//     KILLS=N       how often
//     KILL_SEED=N   another sequence of moments and requests; the default is the same in each run
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { Chance } from "../chance.mjs";
import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

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

	async ask(method, path, body) {
		const headers = { ...(body && { "Content-Type": "application/json" }), Prefer: "wait=5" };
		const answer = await this.daemon.request(method, path, { headers, body: body && JSON.stringify(body) });

		this.answers++;
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
		const { status } = await this.create(kind, { ...spec, name, keep: true });

		if (status < 300) {
			this.ledger.kept.set(name, kind);
			this.ledger.unsure.delete(name);
		} else {
			await this.look_whether_kept(name, kind);
		}
	}

	// A connection whose first try fails is kept too.
	async look_whether_kept(name, kind) {
		const { status, json } = await this.ask("GET", `/v1/kept_objects/${name}`);

		if (status === 200 && !json.outlives_restart) return;
		if (status === 200) this.ledger.kept.set(name, kind);
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

	step() {
		return dice.one_of(() => this.keep(), () => this.keep(), () => this.drop(), () => this.open_and_close(),
			() => this.transfer(), () => this.ask("GET", "/v1/kept_objects"))();
	}
}

const TO_DOOR_ONCE = { dst_addr: TO_DOOR.dst_addr, dst_port: TO_DOOR.dst_port };

const ask_database = (dir, sql) => execFileSync("sqlite3", [join(dir, "state.db"), sql], { encoding: "utf8" }).trim();
// A file that a run was killed in the middle of making has no tables.
const desired_on = (dir) => new Set(ask_database(dir, "SELECT name FROM sqlite_master WHERE name = 'desired'") &&
	ask_database(dir, "SELECT name FROM desired").split("\n").filter(Boolean));
const have_sqlite = () => {
	try {
		return execFileSync("sqlite3", ["-version"]).length > 0;
	} catch {
		return false;
	}
};

const sorted = (names) => [...names].sort();
const list = async (daemon, path) => (await daemon.get(`${path}?limit=1000&view=full`)).json.items;

// Compares the file that a killed daemon has left with the ledger.
function check_file(dir, ledger) {
	const copy = scratch_folder("copy");

	if (!existsSync(join(dir, "state.db"))) return;
	// Opening the file recovers it, which is for the next run to do.
	cpSync(dir, copy, { recursive: true });
	assert.equal(ask_database(copy, "PRAGMA integrity_check"), "ok");
	const on_disk = desired_on(copy);
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
	const { store } = (await daemon.get("/v1")).json;
	assert.equal(store.status, "ok", store.detail);
}

// Kills a daemon before it answers, while it makes what is kept, while it is busy, or while it stops.
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
	ledger.count(when > 0.9 ? "while it stops" : is_made ? "while it is busy" : "while it makes what is kept");
	if (is_made) await check_run(daemon, ledger);
	const client = new Client(daemon, ledger, is_made);
	const enough = dice.below(80);
	await until(() => client.answers >= enough || client.fault);
	if (when > 0.9) daemon.process.kill("SIGTERM");
	await moment();
	await daemon.stop("SIGKILL");
	await client.lanes;
	ledger.answers += client.answers;
	if (client.fault) throw client.fault;
}

test("kill: what is kept is there after kill -9 at any moment, and no id is given twice", async (t) => {
	if (!have_sqlite()) return t.skip("sqlite3 is not installed");
	const folder = scratch_folder("kill");
	const dir = join(folder, "state");
	const config = join(folder, "verbsd.yaml");
	const args = ["--config", config, "--set", `state_dir=${dir}`];
	const ledger = new Ledger();

	writeFileSync(config, CONFIG);
	t.diagnostic(`seed ${SEED}, ${KILLS} kills`);
	for (let i = 0; i < KILLS; i++) {
		const daemon = daemon_of(t, { args });

		await kill_at_random(daemon, ledger).catch((error) => {
			throw new Error(`kill ${i} of seed ${SEED}: ${error.message}\n${daemon.log.slice(-2000)}`, { cause: error });
		});
		check_file(dir, ledger);
		assert.doesNotMatch(daemon.log, /fake provider: /);
	}
	const daemon = await daemon_of(t, { args }).up();
	await check_run(daemon, ledger);
	assert.equal(await daemon.stop(), 0);
	t.diagnostic(`killed: ${Object.entries(ledger.kills).map(([when, count]) => `${count} ${when}`).join(", ")}`);
	t.diagnostic(`${ledger.answers} answers; ${ledger.found} times a kept object was there again`);
});
