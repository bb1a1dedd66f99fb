// SPDX-License-Identifier: Apache-2.0
//
// The short scripts of examples/, run as programs against verbsd over the scripted provider: each has a budget of lines, so what
// makes one longer is missing in the API.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

import { freePort } from "../../bench/lib/programs.mjs";
import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const BUDGETS = { "bash/fan-out": 9, "python/replace_listener.py": 20, "node/mirror.mjs": 11 };
const NO_CODE = /^\s*(#.*|\/\/.*|set -euo pipefail)?$/;
const ADDR = "10.0.0.1"; // of the scripted device
const BLUE_PORT = 7471;
const GREEN_PORT = 7472;
const NOBODY_PORT = 7999;
const CLIENTS = 4;
const KINDS = ["connections", "listeners", "buffers"];

const path_of = (name) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
const missing = ["curl", "jq", "python3"].filter((program) => spawnSync(program, ["--version"]).error);
const LIMIT = { timeout: 500000, skip: missing.length ? `there is no ${missing.join(", ")}` : false };

// A daemon at a port of its own, or again at that of the one before.
async function start(t, { port, args = [] } = {}) {
	port ??= await freePort();
	const daemon = daemon_of(t, { args: ["--listen", `127.0.0.1:${port}`, ...args] });
	daemon.port = port;
	return daemon.up();
}

// Runs a script of examples/ in a process group of its own, as a shell does.
class Script {
	constructor(t, daemon, name, ...args) {
		this.output = this.said = "";
		this.process = spawn(path_of(name), args, { detached: true, stdio: ["ignore", "pipe", "pipe"],
			env: { ...process.env, VERBSD_URL: `http://127.0.0.1:${daemon.port}` } });
		this.process.stdout.setEncoding("utf8").on("data", (text) => (this.output += text));
		this.process.stderr.setEncoding("utf8").on("data", (text) => (this.said += text));
		this.ended = once(this.process, "close");
		t.after(() => this.kill("SIGKILL"));
	}

	// The whole group gets the signal, as by Ctrl-C.
	kill(signal) {
		if (this.process.exitCode === null && this.process.signalCode === null) process.kill(-this.process.pid, signal);
	}

	async ends_with(wanted) {
		const [status] = await this.ended;
		assert.equal(status, wanted, `${this.process.spawnfile} said: ${this.said}${this.output}`);
	}

	get lines() {
		return (this.output || this.said).split("\n").filter(Boolean).map((line) => JSON.parse(line));
	}
}

async function ask(daemon, method, path, body, headers = {}) {
	const answer = await daemon.request(method, path, { body: body && JSON.stringify(body),
		headers: { ...(body && { "Content-Type": "application/json" }), Prefer: "wait=60", ...headers } });

	return { status: answer.status, ...(answer.text && answer.json) };
}

async function make(daemon, kind, body) {
	const made = await ask(daemon, "POST", `/v1/${kind}`, body);

	assert.equal(made.status < 300, true, `${kind}: ${JSON.stringify(made)}`);
	return made;
}

const get = async (daemon, path) => (await daemon.get(path)).json;
const listen = (daemon, name, port, more) => make(daemon, "listeners", { name, addr: ADDR, port, ...more });
const connect = (daemon, port) => ask(daemon, "POST", "/v1/connections", { dst_addr: ADDR, dst_port: port });
const at = (port) => ({ dst_addr: ADDR, dst_port: port });

test("scripts: each is as short as the API allows", () => {
	for (const [name, budget] of Object.entries(BUDGETS)) {
		const code = readFileSync(path_of(name), "utf8").split("\n").filter((line) => !NO_CODE.test(line));

		assert.ok(code.length <= budget, `${name} has ${code.length} lines of code, more than ${budget}`);
	}
});

// --- fan-out -----------------------------------------------------------------------------------------------------

// Runs fan-out to some peers. Returns the script and a function that tells what has its label.
async function fan_out(t, daemon, peers) {
	await make(daemon, "buffers", { name: "source", size_bytes: 4096 });
	const sink = await make(daemon, "buffers", { name: "sink", size_bytes: 4096, access: ["remote_write"] });

	return new Script(t, daemon, "bash/fan-out", "source", JSON.stringify(sink), JSON.stringify(peers));
}

const PEERS = JSON.stringify([at(BLUE_PORT)]);
const labelled = (daemon) => ask(daemon, "DELETE", "/v1/objects?label=job&dry_run=true");

test("fan-out: 50 connections, a write over each, and nothing is left", LIMIT, async (t) => {
	const daemon = await start(t);

	await listen(daemon, "door", BLUE_PORT);
	const script = await fan_out(t, daemon, [at(BLUE_PORT)]);
	await script.ends_with(0);
	assert.equal(script.said + script.output, "");
	assert.equal((await get(daemon, "/v1/listeners/door")).accepted, 50);
	assert.equal((await get(daemon, "/v1/stats")).transfers_ended_done, 50);
	assert.equal((await labelled(daemon)).selected, 0);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

test("fan-out: what fails is told, the rest is written, and nothing is left", LIMIT, async (t) => {
	const daemon = await start(t);

	await listen(daemon, "door", BLUE_PORT);
	const script = await fan_out(t, daemon, [at(BLUE_PORT), at(NOBODY_PORT)]);
	await script.ends_with(1);
	assert.equal(script.lines.length, 50);
	for (const { connection, op, why } of script.lines) {
		assert.ok(connection > 0);
		assert.deepEqual([op, why], [null, "nobody listens on that port (invalid service id)"]);
	}
	assert.equal((await get(daemon, "/v1/stats")).transfers_ended_done, 50);
	assert.equal((await labelled(daemon)).selected, 0);

	const wrong = new Script(t, daemon, "bash/fan-out", "source", '{"addr": "0x0", "rkey": "0x0"}', PEERS);
	await wrong.ends_with(1);
	const writes = wrong.lines.filter(({ op }) => op === "write");
	assert.equal(writes.length, 50);
	for (const { why } of writes) assert.match(why, /refused access to its memory/);
	assert.equal((await labelled(daemon)).selected, 0);

	const refused = new Script(t, daemon, "bash/fan-out", "source", "{}", PEERS);
	await refused.ends_with(1);
	assert.match(refused.said, /missing_field/);
	assert.equal((await labelled(daemon)).selected, 0);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

test("fan-out: nothing is left after Ctrl-C", LIMIT, async (t) => {
	const daemon = await start(t);

	await listen(daemon, "door", BLUE_PORT, { accept: "manual" });
	const script = await fan_out(t, daemon, [at(BLUE_PORT)]);
	await until(async () => (await get(daemon, "/v1/connections?state=requested")).total === 50);
	script.kill("SIGINT");
	await script.ends_with(1);
	assert.equal((await labelled(daemon)).selected, 0);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

// --- replace_listener.py -----------------------------------------------------------------------------------------

// Clients that connect all the time, and a server that hands them over: it answers when none of them connects to blue.
class Clients {
	port = BLUE_PORT;
	answers = { [BLUE_PORT]: [], [GREEN_PORT]: [] };
	over = false;

	constructor(t, daemon) {
		this.daemon = daemon;
		this.connecting = Array.from({ length: CLIENTS });
		this.ended = Promise.all(this.connecting.map((_, i) => this.connect(i)));
		this.handed_over = new Promise((done) => {
			this.server = http.createServer(async (request, response) => {
				let text = "";
				for await (const part of request) text += part;
				this.port = JSON.parse(text).port;
				await Promise.all(this.connecting);
				response.on("finish", done).end();
			}).listen(0, "127.0.0.1");
		});
		t.after(() => this.server.close());
	}

	// The command for the script.
	get command() {
		return ["curl", "-sS", "--fail-with-body", "--json", "@-", `http://127.0.0.1:${this.server.address().port}/`];
	}

	async connect(i) {
		while (!this.over) {
			const { port } = this;

			this.connecting[i] = connect(this.daemon, port);
			const { status, id } = await this.connecting[i];
			this.answers[port].push(status);
			if (id) await ask(this.daemon, "DELETE", `/v1/connections/${id}`);
		}
	}
}

test("replace_listener: no client is refused, and connections outlive the change", LIMIT, async (t) => {
	const daemon = await start(t);

	await listen(daemon, "blue", BLUE_PORT);
	const old = await connect(daemon, BLUE_PORT);
	const clients = new Clients(t, daemon);
	await until(() => clients.answers[BLUE_PORT].length > CLIENTS);

	const green = JSON.stringify({ name: "green", addr: ADDR, port: GREEN_PORT });
	const script = new Script(t, daemon, "python/replace_listener.py", "blue", green, ...clients.command);
	await clients.handed_over;
	await until(() => clients.answers[GREEN_PORT].length > CLIENTS);
	assert.equal((await get(daemon, `/v1/connections/${old.id}`)).state, "established");
	assert.equal((await get(daemon, "/v1/listeners/blue")).connections > 0, true);
	await ask(daemon, "DELETE", `/v1/connections/${old.id}`);
	await script.ends_with(0);

	clients.over = true;
	await clients.ended;
	const answers = Object.values(clients.answers).flat();
	assert.deepEqual(answers.filter((status) => status !== 201), [], `of ${answers.length} connects`);
	assert.deepEqual((await get(daemon, "/v1/listeners")).items.map(({ name }) => name), ["green"]);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

test("replace_listener: what has changed meanwhile stays, and so does all of a change that fails", LIMIT, async (t) => {
	const daemon = await start(t);
	const replace = (green, ...command) => new Script(t, daemon, "python/replace_listener.py", "blue",
		JSON.stringify({ name: green, addr: ADDR, port: GREEN_PORT }), ...command);
	const names = async () => (await get(daemon, "/v1/listeners")).items.map(({ name }) => name).join();

	await listen(daemon, "blue", BLUE_PORT);
	const taken = replace("blue", "true");
	await taken.ends_with(1);
	assert.match(taken.said, /name_taken/);
	assert.equal(await names(), "blue");

	await replace("green", "false").ends_with(1);
	assert.equal(await names(), "blue,green");
	await ask(daemon, "DELETE", "/v1/listeners/green");

	const blue = `http://127.0.0.1:${daemon.port}/v1/listeners/blue`;
	const changed = replace("green", "curl", "-sS", "-X", "PATCH", "--json", '{"max_connections": 7}', blue);
	await changed.ends_with(1);
	assert.match(changed.said, /changed_meanwhile/);
	assert.equal(await names(), "blue,green");
	assert.equal(await daemon.stop(), 0, daemon.log);
});

// --- mirror.mjs --------------------------------------------------------------------------------------------------

// Makes and takes away objects of all kinds, with whichever daemon there is, until it is told to end.
class Work {
	rounds = 0;
	over = false;

	constructor(daemon) {
		this.daemon = daemon;
		this.ended = this.go_on();
	}

	async go_on() {
		while (!this.over) await this.round().catch(() => new Promise((done) => setTimeout(done, 20)));
	}

	// No object has a name, so a round that was cut off does not hinder the next one.
	async round() {
		const { daemon } = this;
		const { port } = await listen(daemon, null, 0, { labels: { round: String(this.rounds) } });
		const { id: buffer, addr, rkey } = await make(daemon, "buffers", { size_bytes: 4096, access: ["remote_write"] });
		const { id: connection } = await make(daemon, "connections", at(port));

		await make(daemon, "transfers", { op: "write", connection, buffer, remote: { addr, rkey } });
		if (this.rounds % 2) await ask(daemon, "DELETE", `/v1/connections/${connection}`);
		if (this.rounds % 3) await ask(daemon, "DELETE", `/v1/buffers/${buffer}`);
		this.rounds++;
	}

	// Waits until some more rounds are over.
	async more() {
		const enough = this.rounds + 5;
		await until(() => this.rounds >= enough);
	}
}

async function events_behind(daemon, after) {
	const page = await get(daemon, `/v1/events?after=${after}&limit=1000`);

	assert.equal(page.compacted, false);
	return page.items.length ? [...page.items, ...(await events_behind(daemon, page.next))] : [];
}

const run_of = (event) => event.server_id;
const place_of = (event) => `${event.server_id}-${event.seq}`;

// Each event of the log was printed once, in its order. What a killed run told within its last milliseconds may be in no log.
function check_printed(printed, log, killed) {
	const places = printed.map(place_of);
	const logged = new Set(log.map(place_of));
	const last = log.filter((event) => run_of(event) === killed).at(-1).seq;
	const lost = printed.filter((event) => !logged.has(place_of(event)));

	assert.equal(new Set(places).size, places.length, "an event was printed twice");
	assert.deepEqual(printed.filter((event) => logged.has(place_of(event))), log);
	assert.deepEqual(lost.filter((event) => run_of(event) !== killed || event.seq <= last), []);
}

async function lists_of(daemon) {
	const lists = {};

	for (const kind of KINDS) lists[kind] = (await get(daemon, `/v1/${kind}?limit=1000`)).items;
	return lists;
}

// A file that is being written may be cut off.
function read_mirror(file) {
	try {
		return JSON.parse(readFileSync(file, "utf8"));
	} catch {
		return null;
	}
}

test("mirror: a kill and a stop lose no event and repeat none, and the mirror is that of the lists", LIMIT, async (t) => {
	const folder = scratch_folder("mirror");
	const file = join(folder, "mirror.json");
	const args = ["--set", `state_dir=${join(folder, "state")}`];
	let daemon = await start(t, { args });
	const { next: begin, server_id: killed } = await get(daemon, "/v1/events?after=now");
	const mirror = new Script(t, daemon, "node/mirror.mjs", file);

	await until(() => read_mirror(file));
	const work = new Work(daemon);
	for (const [signal, status] of [["SIGKILL", "SIGKILL"], ["SIGTERM", 0]]) {
		await work.more();
		assert.equal(await daemon.stop(signal), status, daemon.log);
		work.daemon = daemon = await start(t, { args, port: daemon.port });
		await work.more();
	}
	work.over = true;
	await work.ended;

	const { last } = await get(daemon, "/v1/events?after=now");
	await until(() => mirror.output.endsWith("\n") && mirror.lines.at(-1)?.seq >= last);
	check_printed(mirror.lines, await events_behind(daemon, begin), killed);
	const lists = await lists_of(daemon);
	assert.ok(KINDS.every((kind) => lists[kind].length > 0), "there is something to mirror");
	// The mirror is written after the events are printed.
	await until(() => isDeepStrictEqual(read_mirror(file), lists));
	assert.equal(mirror.process.exitCode, null, mirror.said);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

test("mirror: events that are gone end it", LIMIT, async (t) => {
	const file = join(scratch_folder("mirror"), "mirror.json");
	const first = await start(t);
	const mirror = new Script(t, first, "node/mirror.mjs", file);

	await until(() => read_mirror(file));
	await first.stop();
	await start(t, { port: first.port });
	await mirror.ends_with(1);
	assert.match(mirror.said, /"restarted":true,"resumed":false/);
});
