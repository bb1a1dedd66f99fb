// SPDX-License-Identifier: Apache-2.0
//
// The guest, seen from the host: boots it, and starts and ends daemons in it. Fake does the same without a guest.

import { spawn, spawnSync } from "node:child_process";
import http from "node:http";
import net from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const BOOT_TRIES = 3;
const DEADLINE_S = 1500;
// These are below the ports that the kernel gives to clients, so that none is taken by chance while the guest boots.
const PORTS = { from: 20000, to: 30000 };

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function is_free(port) {
	return new Promise((done) => {
		const server = net.createServer();

		server.on("error", () => done(false));
		server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
	});
}

async function free_ports(count) {
	const ports = new Set();

	while (ports.size < count) {
		const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));

		if (await is_free(port))
			ports.add(port);
	}
	return [...ports];
}

/** ask - the answer to a request, as {status, type, body}; body is parsed if it is JSON */
export function ask(port, method, path, body, headers = {}) {
	const payload = body === undefined ? undefined : JSON.stringify(body);

	if (payload !== undefined)
		headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(payload), ...headers };
	return new Promise((done, fail) => {
		const request = http.request({ host: "127.0.0.1", port, method, path, headers, agent: false }, (response) => {
			const parts = [];

			response.on("data", (part) => parts.push(part));
			response.on("error", fail);
			response.on("end", () => {
				const text = Buffer.concat(parts).toString();

				done({ status: response.statusCode, type: response.headers["content-type"] ?? "",
					body: /json/.test(response.headers["content-type"] ?? "") ? JSON.parse(text) : text });
			});
		});

		request.on("error", fail);
		request.end(payload);
	});
}

function put(port, path, bytes) {
	return new Promise((done, fail) => {
		const request = http.request({ host: "127.0.0.1", port, method: "PUT", path, agent: false,
			headers: { "Content-Type": "application/octet-stream", "Content-Length": bytes.length } }, (response) => {
			response.resume();
			response.on("end", () => (response.statusCode < 300 ? done() : fail(new Error(`PUT ${path}: ${response.statusCode}`))));
		});

		request.on("error", fail);
		request.end(bytes);
	});
}

export function lab_is_there() {
	return spawnSync(join(root, "lab/prepare"), { stdio: "inherit" }).status === 0;
}

export class Guest {
	/** boot - a booted guest without daemons; a and b are the ports for two of them */
	static async boot(build) {
		for (let tries = 1; ; tries++) {
			const guest = new this(build, await free_ports(3));

			if (await guest.is_up())
				return guest;
			// Another program took a port meanwhile, or the guest did not boot; lab/run has printed the reason.
			if (tries === BOOT_TRIES)
				throw new Error(`the lab ended with status ${guest.gone.status}`);
		}
	}

	constructor(build, [a, b, control]) {
		Object.assign(this, { build, a, b, control, names: a === b ? ["a"] : ["a", "b"], gone: null });
		this.child = this.spawn(build);
		this.ended = new Promise((done) => this.child.on("close", (status, signal) => {
			this.gone = { status, signal };
			done(this.gone);
		}));
	}

	spawn(build) {
		const forwards = [this.a, this.b, this.control].flatMap((port) => ["--forward", String(port)]);

		return spawn(join(root, "lab/run"), ["--deadline", String(DEADLINE_S), "--results", join(build, "web-artefacts"), ...forwards, "--",
			"node", join(here, "guest.mjs"), build, String(this.control)], { stdio: ["ignore", "inherit", "inherit"] });
	}

	async is_up() {
		while (!this.gone) {
			try {
				Object.assign(this, await this.deed("/env"));
				return true;
			} catch {
				await sleep(100);
			}
		}
		return false;
	}

	async deed(path, members = {}) {
		const { status, body } = await ask(this.control, "POST", path, members);

		if (status !== 200)
			throw new Error(`${path} ${JSON.stringify(members)}: ${body.error}`);
		return body;
	}

	start(name, more = {}) { return this.deed("/start", { name, port: this[name], ...more }); }
	signal(name, signal) { return this.deed("/signal", { name, signal }); }
	async log(name) { return (await this.deed("/log", { name })).log; }
	put(name, path, bytes) { return put(this[name], path, bytes); }
	url(name) { return `http://127.0.0.1:${this[name]}/`; }

	async quit() {
		const ends = await this.deed("/quit");

		await this.ended;
		return ends;
	}

	// For a run that ends early: lab/run ends its guest.
	kill() { this.child.kill("SIGTERM"); }
}

/** Fake - the same without a guest: verbsd_fake on this machine, which connects only to itself and so is both a and b */
export class Fake extends Guest {
	constructor(build, [a, , control]) { super(build, [a, a, control]); }

	spawn(build) {
		return spawn(process.execPath, [join(here, "guest.mjs"), build, String(this.control), join(build, "tests/fake/verbsd_fake")],
			{ stdio: ["ignore", "inherit", "inherit", "ipc"], env: { ...process.env, LAB_ADDR: "10.0.0.1", LAB_DEV: "fake0" } });
	}
}
