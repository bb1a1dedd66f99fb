// SPDX-License-Identifier: Apache-2.0
//
// The bytes of kept shared buffers over a restart, over the scripted provider: fd_store.py plays systemd's FD store.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { memory_of } from "../proc.mjs";
import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const FD_STORE = join(dirname(fileURLToPath(import.meta.url)), "fd_store.py");
const SIZE_BYTES = 8192;
const POOL = { name: "pool", kind: "shared", size_bytes: SIZE_BYTES };
const ZEROS = Buffer.alloc(16);

// A program of fd_store.py whose lines are heard.
class Program {
	constructor(t, ...args) {
		this.text = "";
		this.process = spawn("python3", [FD_STORE, ...args], { stdio: ["pipe", "pipe", "inherit"] });
		this.process.stdout.on("data", (data) => (this.text += data));
		t.after(() => this.process.kill("SIGKILL"));
	}

	lines() {
		return this.text.split("\n").slice(0, -1);
	}

	// Sends a line, and returns the first new one that begins as the answer does.
	async ask(line, begin = "") {
		const before = this.lines().length;

		this.process.stdin.write(`${line}\n`);
		return until(() => this.lines().slice(before).find((said) => said.startsWith(begin)));
	}
}

class Store extends Program {
	constructor(t, max) {
		const folder = scratch_folder("held");

		super(t, "hold", join(folder, "notify"), join(folder, "handover"), String(max));
		this.env = { NOTIFY_SOCKET: join(folder, "notify"), FDSTORE: String(max) };
		this.command = ["python3", FD_STORE, "start", join(folder, "handover")];
	}

	async up() {
		await until(() => this.lines().includes("listening"));
		return this;
	}

	async names() {
		return (await this.ask("names", "holds")).split(" ").slice(1);
	}

	async holds(...names) {
		await until(async () => (await this.names()).sort().join() === names.sort().join());
	}
}

// A host with a daemon that is started again and again.
class Host {
	constructor(t, { max = 8, config = "" } = {}) {
		const folder = scratch_folder("held");

		this.t = t;
		this.max = max;
		this.config = join(folder, "verbsd.yaml");
		this.state = join(folder, "state");
		this.args = ["--config", this.config, "--set", `state_dir=${this.state}`];
		writeFileSync(this.config, config);
	}

	async up() {
		if (this.max) this.store = await new Store(this.t, this.max).up();
		await this.start();
		return this;
	}

	async start() {
		this.daemon = daemon_of(this.t, { args: this.args, env: this.store?.env, command: this.store?.command });
		await this.daemon.up();
	}

	async restart(signal = "SIGTERM") {
		await this.daemon.stop(signal);
		await this.start();
	}

	async ask(method, path, body) {
		const headers = { "Content-Type": Buffer.isBuffer(body) ? "application/octet-stream" : "application/json" };
		const sent = body && !Buffer.isBuffer(body) ? JSON.stringify(body) : body;
		const answer = await this.daemon.request(method, `/v1/${path}`, { headers, body: sent });

		assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
		return answer.text && answer.json;
	}

	async keep(spec) {
		return (await this.ask("POST", "buffers", { ...spec, keep: true })).desired;
	}

	write(name, text) {
		return this.ask("PUT", `buffers/${name}/data`, Buffer.from(text.padEnd(16)));
	}

	// Once the buffer is there.
	async read(name) {
		const answer = await until(async () => {
			const got = await this.daemon.get(`/v1/buffers/${name}/data?length_bytes=16`);
			return got.status < 300 && got;
		});
		return answer.text.trim();
	}

	async kept(name) {
		return until(async () => {
			const kept = await this.ask("GET", `kept_objects/${name}`);
			return kept.state === "up" && kept;
		});
	}

	async events() {
		return (await this.ask("GET", "events?type=kept_object_without_bytes")).items;
	}
}

const host_of = (t, options) => new Host(t, options).up();
const config_of = ({ name, kind, size_bytes }) => `buffers:\n- {name: ${name}, kind: ${kind}, size_bytes: ${size_bytes}}\n`;
const said = (host, what) => until(() => what.test(host.daemon.log));

test("held: the bytes outlive a restart and a kill, also for a program that maps them", LIMIT, async (t) => {
	const host = await host_of(t);

	assert.equal((await host.keep(POOL)).bytes_outlive_restart, true);
	await host.write("pool", "first");
	const program = new Program(t, "map", memory_of(host.daemon.process.pid));
	await until(() => program.lines().includes("mapped"));
	for (const [signal, text] of [["SIGTERM", "second"], ["SIGKILL", "third"]]) {
		const before = await host.read("pool");

		await host.restart(signal);
		assert.equal(await host.read("pool"), before);
		await host.write("pool", text);
		assert.equal(Buffer.from(await program.ask("bytes"), "hex").toString().trim(), text);
		const kept = await host.kept("pool");
		assert.equal(kept.bytes_outlive_restart, true);
		assert.equal((await host.ask("GET", "buffers/pool")).desired.bytes_outlive_restart, true);
	}
	assert.equal(await host.read("pool"), "third");
	assert.deepEqual(await host.events(), []);
	assert.equal((await host.store.names()).length, 1);
	// Again in the same store: it is passed on from run to run, and told of once.
	assert.equal(host.store.lines().filter((line) => line.startsWith("FDSTORE=1")).length, 1);
});

test("held: what is deleted, or kept no longer, is not held any more", LIMIT, async (t) => {
	const host = await host_of(t);

	for (const name of ["a", "b", "c"]) await host.keep({ ...POOL, name });
	assert.equal((await host.store.names()).length, 3);
	await host.ask("DELETE", "buffers/a");
	await host.ask("DELETE", "kept_objects/b");
	assert.deepEqual((await host.store.names()).map((name) => name.split("/").at(-1)), ["c"]);
	await host.write("c", "mine");
	await host.restart();
	assert.equal(await host.read("c"), "mine");
	await host.ask("DELETE", "buffers/c");
	await host.keep({ ...POOL, name: "c" });
	assert.deepEqual(Buffer.from(await host.read("c")), ZEROS);
	await host.restart();
	assert.deepEqual(Buffer.from(await host.read("c")), ZEROS);
	assert.equal((await host.store.names()).length, 1);
});

test("held: a buffer of another size, or of another kind, has zeros, and says so", LIMIT, async (t) => {
	const host = await host_of(t, { config: config_of(POOL) });

	await host.kept("pool");
	await host.write("pool", "old");
	await host.daemon.stop();
	writeFileSync(host.config, config_of({ ...POOL, size_bytes: 4096 }));
	await host.start();
	assert.equal((await host.kept("pool")).bytes_outlive_restart, true);
	assert.deepEqual(Buffer.from(await host.read("pool")), ZEROS);
	assert.match((await host.events())[0].detail, /^buffer pool: .*zeros.*8192 bytes.*4096/);
	await host.write("pool", "new");
	await host.restart("SIGKILL");
	assert.equal(await host.read("pool"), "new");

	await host.daemon.stop();
	writeFileSync(host.config, config_of({ ...POOL, size_bytes: 4096, kind: "anonymous" }));
	await host.start();
	assert.equal((await host.kept("pool")).bytes_outlive_restart, false);
	assert.match((await host.events()).at(-1).detail, /not shared/);
	await host.store.holds();
});

test("held: what is not memory of verbsd, or of no kept buffer, is closed and told", LIMIT, async (t) => {
	const host = await host_of(t, { config: config_of(POOL) });

	await host.kept("pool");
	await host.daemon.stop();
	for (const [name, kind] of [["buffer//stranger", "memory"], ["buffer/bob/pool", "memory"]])
		await host.store.ask(`foreign ${name} ${kind}`, "holds");
	await host.start();
	for (const name of ["buffer//stranger", "buffer/bob/pool"]) await said(host, new RegExp(`${name} from systemd is closed: no such`));
	await host.store.holds("buffer//pool");
	assert.equal((await host.kept("pool")).bytes_outlive_restart, true);

	await host.daemon.stop();
	writeFileSync(host.config, config_of(POOL) + config_of({ ...POOL, name: "other", size_bytes: 4096 }).split("\n")[1]);
	await host.store.ask("foreign buffer//other memory", "holds");
	await host.start();
	assert.equal((await host.kept("other")).bytes_outlive_restart, true);
	assert.match((await host.events())[0].detail, /^buffer other: .*not sealed memory of verbsd/);

	await host.daemon.stop();
	await host.store.ask("foreign buffer//pool pipe", "holds");
	await host.start();
	await said(host, /buffer\/\/pool from systemd is closed: there are two of the name/);
	assert.deepEqual(Buffer.from(await host.read("pool")), ZEROS);
	assert.equal((await host.kept("pool")).bytes_outlive_restart, true);
	await host.store.holds("buffer//other", "buffer//pool");
});

test("held: without a store of systemd the bytes are zeros, and the object says so before", LIMIT, async (t) => {
	const host = await host_of(t, { max: 0 });

	assert.equal((await host.keep(POOL)).bytes_outlive_restart, false);
	await host.write("pool", "gone");
	await host.restart();
	assert.deepEqual(Buffer.from(await host.read("pool")), ZEROS);
	assert.deepEqual(await host.events(), []);
});

test("held: a buffer for which systemd has no room says so, and gets the next room", LIMIT, async (t) => {
	const host = await host_of(t, { max: 1 });

	assert.equal((await host.keep({ ...POOL, name: "a" })).bytes_outlive_restart, true);
	assert.equal((await host.keep({ ...POOL, name: "b" })).bytes_outlive_restart, false);
	assert.match((await host.events())[0].detail, /^buffer b: .*systemd has room for 1 of them/);
	await host.write("b", "kept");
	await host.ask("DELETE", "buffers/a");
	await until(async () => (await host.kept("b")).bytes_outlive_restart);
	await host.restart();
	assert.equal(await host.read("b"), "kept");
});

test("held: a run that can't read what is kept leaves the bytes to the next one", LIMIT, async (t) => {
	const host = await host_of(t);

	await host.keep(POOL);
	await host.write("pool", "patient");
	await host.daemon.stop();
	chmodSync(host.state, 0o777);
	await host.start();
	await said(host, /no such buffer is kept now; systemd holds on to it/);
	assert.equal((await host.daemon.get("/v1/buffers/pool")).status, 404);
	chmodSync(host.state, 0o700);
	await host.restart();
	assert.equal(await host.read("pool"), "patient");
	assert.equal((await host.kept("pool")).bytes_outlive_restart, true);
});

test("held: a systemd that does not read holds nobody up, and is told later", LIMIT, async (t) => {
	const host = await host_of(t, { max: 700 });
	// The kernel holds so many messages for the socket, and the one that is being read.
	const queue = Number(readFileSync("/proc/sys/net/unix/max_dgram_qlen", "utf8"));
	const names = Array.from({ length: queue + 5 }, (_, i) => `p${i}`);

	if (queue > 600) return t.skip("the queue of a socket is longer than what systemd is to hold");
	await host.store.ask("deaf", "holds");
	for (const name of names) await host.keep({ ...POOL, name });
	assert.equal((await host.kept(names.at(-1))).bytes_outlive_restart, false);
	await said(host, /systemd takes no message/);
	await host.ask("DELETE", "buffers/p0");
	await host.store.ask("hear", "holds");
	for (const name of names.slice(1)) await until(async () => (await host.kept(name)).bytes_outlive_restart);
	await until(async () => (await host.store.names()).length === names.length - 1);
});
