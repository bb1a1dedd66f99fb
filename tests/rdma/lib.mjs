// SPDX-License-Identifier: Apache-2.0
//
// Shared by the scenarios: daemons, the programs they are compared with, waiting, counting. Waiting uses
// the daemon's event log (long poll), so that it ends as soon as the condition holds.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import http from "node:http";
import { basename } from "node:path";

import { scratch_path } from "../scratch.mjs";

export const build = realpathSync(process.argv[2] ?? "build/dev");
export const dev = process.env.LAB_DEV ?? "";
export const addr = process.env.LAB_ADDR ?? "";
const VERBSD = process.env.VBD_VERBSD ?? `${build}/cmd/verbsd`;

// Generous: the guest is emulated, and the daemon may be an ASan build. The clock of a guest that is alone counts what
// its processor does; where it goes with the host's, LAB_SLOW says how slow that is (lab/README.md). No scenario asserts
// a time, except for how soon a power cut is noticed (see two_guests.mjs).
export const slow = Number(process.env.LAB_SLOW || 1);
export const PATIENCE_MS = 60_000 * slow;
// An answer may take as long as its work does: the most that verbsd waits (`Prefer: wait`).
export const WAIT_S = 60;

const daemons = new Set();
const programs = new Set();
let passed = 0;
let failed = 0;

export class Failure extends Error {}

// The members `service` and `qp` of a request, from parameters of a queue pair with a service among them.
export const served = ({ service, ...qp }) => ({ ...(service && { service }), qp });

export function ok(condition, why) {
	if (!condition)
		throw new Failure(why);
}

export function equal(seen, wanted, what) {
	ok(seen === wanted, `${what} is ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Repeats `look` until it returns something true, for conditions without an event: the kernel, /proc,
// other programs.
export async function until(what, look, patience_ms = PATIENCE_MS) {
	const end = Date.now() + patience_ms;
	let seen;

	while (!(seen = await look())) {
		ok(Date.now() < end, `waited in vain for: ${what}`);
		await sleep(50);
	}
	return seen;
}

// --- programs ----------------------------------------------------------------------------------------------------

export class Program {
	constructor(command, args, { prefix = [] } = {}) {
		const [file, ...rest] = [...prefix, command, ...args];

		this.what = [command, ...args].join(" ");
		this.output = "";
		this.child = spawn(file, rest, { stdio: ["ignore", "pipe", "pipe"] });
		this.child.stdout.on("data", (data) => { this.output += data; });
		this.child.stderr.on("data", (data) => { this.output += data; });
		programs.add(this);
		this.ended = new Promise((done) => {
			this.child.on("error", (error) => done({ status: null, signal: error.message }));
			this.child.on("close", (status, signal) => done({ status, signal }));
		}).then((end) => { programs.delete(this); return end; });
	}

	get pid() { return this.child.pid; }
	kill(signal) { this.child.kill(signal); }

	async end(patience_ms = PATIENCE_MS) {
		let timer;
		const late = new Promise((done) => { timer = setTimeout(done, patience_ms, null); });
		const end = await Promise.race([this.ended, late]);

		clearTimeout(timer);
		if (!end)
			this.kill("SIGKILL");
		ok(end, `${this.what}: did not end in ${patience_ms} ms; it said: ${this.output.slice(-300)}`);
		return end;
	}

	async success(patience_ms) {
		const { status, signal } = await this.end(patience_ms);

		ok(status === 0, `${this.what}: status ${status ?? signal}; it said: ${this.output.slice(-300)}`);
		return this.output;
	}
}

export const run = (command, ...args) => new Program(command, args).success();

// --- what the kernel holds ---------------------------------------------------------------------------------------

// A device that was added again has another index and another place.
export const resources = async () => JSON.stringify(JSON.parse(await run("rdma", "-j", "resource", "show"))
	.map(({ ifindex, ...held }) => held).sort((a, b) => a.ifname.localeCompare(b.ifname)));

// The kernel frees the last objects a moment after their process has ended.
export async function resources_are_back(before) {
	let seen = "";

	await until("the RDMA resources of before", async () => (seen = await resources()) === before)
		.catch(() => { throw new Failure(`RDMA resources were ${before} and are ${seen}`); });
}

export const listens = (port) => until(`somebody listening at port ${port}`, async () =>
	(await run("rdma", "resource", "show", "cm_id")).match(new RegExp(`LISTEN.*:${port}\\b`)));

export const open_fds = (pid) => readdirSync(`/proc/${pid}/fd`).length;

let kernel_said = 0;
async function kernel_complaints() {
	const lines = (await run("dmesg")).split("\n");
	const news = lines.slice(kernel_said);

	kernel_said = lines.length;
	return news.filter((line) => /WARNING: |BUG: |Oops|general protection fault|blocked for more than|refcount_t/
		.test(line));
}

// --- daemons -----------------------------------------------------------------------------------------------------

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
// Outside of the lab the default port may belong to another daemon.
let next_port = process.env.LAB ? 7480 : 20000 + process.pid % 10000;

export class Daemon {
	static async start(name, args = [], options = {}) {
		const daemon = new Daemon(name, args, options);

		daemons.add(daemon);
		await until(`daemon ${name} to answer`, async () => {
			ok(!daemon.gone, `daemon ${name} ended: ${daemon.log().slice(-500)}`);
			return daemon.try("GET", "/livez").then(({ status }) => status === 200, () => false);
		});
		return daemon;
	}

	// @listen: addresses besides that of the scenarios.
	constructor(name, args, { prefix = [], listen = [] } = {}) {
		const addresses = [`127.0.0.1:${this.port = next_port++}`, ...listen].join(",");
		const [file, ...rest] = [...prefix, VERBSD, "--listen", addresses, ...args];

		this.name = name;
		this.log_path = scratch_path(`${name}-${this.port}.log`);
		const log = openSync(this.log_path, "w");
		this.child = spawn(file, rest, { stdio: ["ignore", log, log] });
		closeSync(log);
		this.gone = null;
		this.ended = new Promise((done) => this.child.on("close", (status, signal) => {
			this.gone = { status, signal };
			daemons.delete(this);
			done(this.gone);
		}));
	}

	get pid() { return this.child.pid; }
	log() { return readFileSync(this.log_path, "utf8"); }

	// Returns the response, whatever its status.
	try(method, path, body, { wait_s, type = "application/json" } = {}) {
		const payload = body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
		const headers = {};

		if (payload !== undefined)
			Object.assign(headers, { "Content-Type": type, "Content-Length": Buffer.byteLength(payload) });
		if (wait_s !== undefined)
			headers.Prefer = `wait=${wait_s}`;
		if (this.token)
			headers.Authorization = `Bearer ${this.token}`;
		return new Promise((done, fail) => {
			const request = http.request({ agent, host: "127.0.0.1", port: this.port, method, path, headers },
				(response) => {
					const parts = [];

					response.on("data", (part) => parts.push(part));
					response.on("error", fail);
					response.on("end", () => {
						const bytes = Buffer.concat(parts);
						const json = /json/.test(response.headers["content-type"] ?? "");

						done({ status: response.statusCode, body: json ? JSON.parse(bytes) : bytes });
					});
				});
			// The daemon ends connections that stand idle, maybe just as a request begins: RFC 9112, 9.3.1.
			request.on("error", (error) => {
				if (request.reusedSocket && error.code === "ECONNRESET")
					this.try(method, path, body, { wait_s, type }).then(done, fail);
				else
					fail(error);
			});
			request.setTimeout(1.5 * PATIENCE_MS, () => request.destroy(new Error(`no answer in ${1.5 * PATIENCE_MS} ms`)));
			request.end(payload);
		});
	}

	// Returns the body of a successful response.
	async call(method, path, body, options) {
		const answer = await this.try(method, path, body, options);

		ok(answer.status < 300, `${this.name}: ${method} ${path}: ${answer.status} ${answer.body.code}: ` +
			answer.body.detail);
		return answer.body;
	}

	get(path, wait_s) { return this.call("GET", path, undefined, { wait_s }); }
	post(path, body, wait_s) { return this.call("POST", path, body, { wait_s }); }

	// Returns the problem of a refused request.
	async refused(method, path, body, wait_s) {
		const answer = await this.try(method, path, body, { wait_s });

		ok(answer.status >= 400, `${this.name}: ${method} ${path}: ${answer.status}, not refused`);
		return answer.body;
	}

	async newest_event() { return (await this.get("/v1/events?limit=1")).last; }
	async newest_place() { return (await this.get("/v1/events?after=now")).next; }

	// GETs `path` at every event until `pleases` returns true for the body.
	async until(path, what, pleases, patience_ms = PATIENCE_MS) {
		const end = Date.now() + patience_ms;

		for (;;) {
			const last = await this.newest_place();
			const seen = await this.get(path);
			const left = end - Date.now();

			if (pleases(seen))
				return seen;
			ok(left > 0, `${this.name}: ${path}: waited in vain for ${what}: ${JSON.stringify(seen).slice(0, 400)}`);
			await this.get(`/v1/events?after=${last}&limit=1&wait_ms=${Math.min(left, 500)}`);
		}
	}

	async ready(is_ready = true) {
		await until(`${this.name}: /readyz ${is_ready ? 200 : 503}`, async () =>
			(await this.try("GET", "/readyz")).status === (is_ready ? 200 : 503));
		// Another device may be the one that is ready.
		if (is_ready && dev)
			await until(`${this.name}: ${dev} is open`, async () =>
				(await this.try("GET", `/v1/devices/${dev}`)).body.state === "present");
	}

	connection(id) { return this.get(`/v1/connections/${id}`); }
	connections(state) { return this.get(`/v1/connections?fields=*&state=${state}&limit=1000`); }

	// The end here of a connection that another daemon has opened. The end that opens is established first.
	async accepted({ local: { port } }) {
		const is_end = ({ peer }) => peer?.port === port;
		const { items } = await this.until("/v1/connections?fields=*&state=established&limit=1000", "the other end",
			(seen) => seen.items.some(is_end));

		return items.find(is_end);
	}

	listen(body) { return this.post("/v1/listeners", { addr: "0.0.0.0", ...body }); }

	// Creates a connection with the timeout of the scenarios.
	connect(body, wait_s = WAIT_S) {
		return this.post("/v1/connections", { dst_addr: addr, timeout_ms: PATIENCE_MS, ...body }, wait_s);
	}

	connection_in(id, ...states) {
		return this.until(`/v1/connections/${id}`, `state ${states.join(" or ")}`, ({ state }) => states.includes(state));
	}

	// Returns the connection when it has ended.
	async end_of(id) { return this.connection_in(id, "closed", "failed"); }

	async ended_with(id, ...reasons) {
		const { end_code, error } = await this.end_of(id);

		ok(reasons.includes(end_code), `${this.name}: connection ${id} ended with ${end_code} (${error?.detail}), ` +
			`not ${reasons.join(" or ")}`);
	}

	// A device that was removed and added again is no longer the first one.
	buffer(size_bytes, { device = dev || undefined, ...more } = {}) {
		return this.post("/v1/buffers", { size_bytes, device, ...more });
	}

	fill(buffer, bytes) {
		return this.call("PUT", `/v1/buffers/${buffer.id}/data`, bytes, { type: "application/octet-stream" });
	}

	bytes(buffer) { return this.get(`/v1/buffers/${buffer.id}/data`); }

	transfer(op, connection, buffer, remote, more = {}, wait_s = WAIT_S) {
		return this.post("/v1/transfers", {
			op, connection: connection.id, buffer: buffer.id, timeout_ms: PATIENCE_MS,
			...(remote && { remote: { addr: remote.addr, rkey: remote.rkey } }), ...more,
		}, wait_s);
	}

	async is_fine() {
		ok(!this.gone, `daemon ${this.name} is gone: ${JSON.stringify(this.gone)}`);
		await this.get("/livez");
	}

	kill(signal) { this.child.kill(signal); }

	async end(patience_ms = PATIENCE_MS) {
		await until(`daemon ${this.name} to end`, () => this.gone, patience_ms);
		return this.gone;
	}

	// With ASan, exit status 0 also means that there is no leak.
	async stop(signal = "SIGTERM") {
		this.kill(signal);
		const { status, signal: by } = await this.end();
		ok(status === 0, `daemon ${this.name} ended with ${status ?? by} on ${signal}: ${this.log().slice(-800)}`);
	}
}

// Starts daemons of these names, and resolves to them when their device is open.
export async function start_ready(names, args) {
	const started = await Promise.all(names.split(" ").map((name) => Daemon.start(name, args)));

	await Promise.all(started.map((daemon) => daemon.ready()));
	return started;
}

// play() with such daemons, which stop behind it; then the kernel holds what it held before.
export async function with_daemons(names, play) {
	const before = await resources();
	const started = await start_ready(names);

	await play(...started);
	for (const daemon of started)
		await daemon.stop();
	await resources_are_back(before);
}

// Moves bytes into the peer's buffer `remote` and back, by way of the buffer `source` of the same size.
export async function moves_bytes(daemon, connection, source, remote) {
	const bytes = randomBytes(remote.size_bytes);

	await daemon.fill(source, bytes);
	await daemon.transfer("write", connection, source, remote);
	await daemon.fill(source, Buffer.alloc(remote.size_bytes));
	await daemon.transfer("read", connection, source, remote);
	ok(bytes.equals(await daemon.bytes(source)), "the bytes that came back are others");
}

// Writes again and again until a write fails, and returns its problem.
export async function busy(daemon, connection, buffer, remote) {
	for (;;) {
		const { status, body } = await daemon.try("POST", "/v1/transfers", {
			op: "write", connection: connection.id, buffer: buffer.id, timeout_ms: PATIENCE_MS,
			remote: { addr: remote.addr, rkey: remote.rkey },
		}, { wait_s: WAIT_S }).catch((error) => ({ status: 0, body: { code: error.code } }));

		if (status !== 201)
			return body;
	}
}

export const wrote_something = (daemon) =>
	daemon.until("/v1/stats", "bytes written", ({ transferred_write_bytes }) => transferred_write_bytes > 0);

// Copies bytes from a buffer here to a buffer there and back.
export async function transfers_work(from, connection, to, size_bytes = 1 << 20, device = dev) {
	const source = await from.buffer(size_bytes, { device });
	const target = await to.buffer(size_bytes, { device, access: ["remote_write", "remote_read"] });
	const bytes = randomBytes(size_bytes);

	await from.fill(source, bytes);
	await from.transfer("write", connection, source, target);
	ok(bytes.equals(await to.bytes(target)), "the bytes that arrived are others");
	await from.fill(source, Buffer.alloc(size_bytes));
	await from.transfer("read", connection, source, target);
	ok(bytes.equals(await from.bytes(source)), "the bytes that were read are others");
	await from.call("DELETE", `/v1/buffers/${source.id}`);
	await to.call("DELETE", `/v1/buffers/${target.id}`);
}

// --- counting ----------------------------------------------------------------------------------------------------

async function clean_up() {
	for (const program of programs)
		program.kill("SIGKILL");
	for (const daemon of daemons)
		daemon.kill("SIGKILL");
	await Promise.all([...programs, ...daemons].map(({ ended }) => ended));
}

function show_logs() {
	for (const daemon of daemons)
		console.log(daemon.log().split("\n").slice(-12).map((line) => `     ${daemon.name}: ${line}`).join("\n"));
}

const only = process.argv[3];
const suite = basename(process.argv[1], ".mjs");
let playing = "";
let said = [];

// Records for docs/verbs.md (verbs-table.mjs) that the running scenario proves a row (an operation or resource) in a
// column (rc_cm, rc_manual, uc, ud, siw), or that it is refused there with the given code. Printed when the scenario
// has passed.
export function proof(row, column, test = playing) {
	said.push(`proof: ${row} ${column} ${suite}: ${test}`);
}

export function refusal(row, column, code, test = playing) {
	said.push(`refusal: ${row} ${column} ${code} ${suite}: ${test}`);
}

// The row of docs/verbs.md for a GID.
export const network_of = ({ scope, vlan_id }) => {
	if (vlan_id !== null)
		return "vlan";
	return { ipv4_mapped: "ipv4", global: "ipv6", link_local: "ipv6_link_local" }[scope];
};

// Returns why the scenario failed, or that the kernel complained; undefined if all was well. Ends whatever it leaves running.
async function attempt(play) {
	said = [];
	try {
		await play();
		const complaints = process.env.LAB ? await kernel_complaints() : [];

		ok(complaints.length === 0, `the kernel said: ${complaints[0]}`);
		return undefined;
	} catch (error) {
		show_logs();
		return error instanceof Failure ? error.message : error.stack;
	} finally {
		await clean_up();
	}
}

// A scenario that fails is played once more. If it passes then, the line that begins with `unsteady:` is kept in
// build/unsteady.tsv: a defect, of the scenario or of verbsd.
export async function scenario(name, play) {
	const began = Date.now();

	if (only && !name.includes(only))
		return;
	playing = name;
	const first = await attempt(play);
	const second = first === undefined ? undefined : await attempt(play);

	if (second === undefined) {
		passed++;
		if (first !== undefined)
			console.log(`unsteady: ${name}: ${first.split("\n")[0]}`);
		console.log([...said, `ok ${name} (${Date.now() - began} ms)`].join("\n"));
	} else {
		failed++;
		console.log(`not ok ${name}: ${first}`);
		console.log(`not ok ${name} again: ${second}`);
	}
}

// A scenario with daemons of these names.
export const scenario_with = (names, name, play) => scenario(name, () => with_daemons(names, play));

export function finish() {
	console.log(`${passed} passed, ${failed} failed`);
	process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

export const write_file = (path, text, mode) => writeFileSync(path, text, { mode });
