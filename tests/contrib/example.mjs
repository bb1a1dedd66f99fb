// SPDX-License-Identifier: Apache-2.0
//
// Runs the examples, over a proxy that is worse than any real network.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import http from "node:http";
import { fileURLToPath } from "node:url";

import { ok, until } from "../rdma/lib.mjs";
import { scratch_file } from "../scratch.mjs";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

export const URL_OF = ({ port }) => `http://127.0.0.1:${port}`;

// In an emulated guest on a busy host, starting a program may take a second, and an example in bash starts many.
const PATIENCE_MS = 240_000;

const EXAMPLES = { copy: "bash/copy-buffer", wait: "bash/wait-for-event", drain: "bash/drain-listener", file: "bash/copy-file" };

// Runs an example, with separate stdout and stderr.
export class Example {
	constructor(name, args, env = {}) {
		this.said = "";
		this.output = "";
		this.child = spawn(folder + EXAMPLES[name], args.map(String),
			{ stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, PATH: `/usr/bin:${process.env.PATH}`, ...env } });
		this.child.stdout.on("data", (data) => { this.output += data; });
		this.child.stderr.on("data", (data) => { this.said += data; });
		this.ended = new Promise((done, fail) => {
			this.child.on("error", fail);
			this.child.on("close", (status, signal) => done(status ?? signal));
		});
	}

	async ends_with(status) {
		const timer = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE_MS);
		const seen = await this.ended;

		clearTimeout(timer);
		ok(seen === status, `${this.child.spawnargs.join(" ")}: status ${seen}, not ${status}; it said: ${this.said}${this.output}`);
		return this.output;
	}

	async says(pattern) {
		await until(`${this.child.spawnfile} to say ${pattern}`, () => pattern.test(this.said) || this.child.exitCode !== null, PATIENCE_MS);
		ok(pattern.test(this.said), `${this.child.spawnfile} said, instead of ${pattern}: ${this.said}`);
	}

	get lines() { return this.output.split("\n").filter(Boolean).map((line) => JSON.parse(line)); }
}

// A proxy that is worse than any real network. The daemon never waits (202 instead of 201); the answer of every POST is
// lost once, and that of every eighth other request; another eighth gets "limit reached".
export class BadWay {
	static async to(daemon) {
		const way = new BadWay();

		way.target = daemon;
		way.lost = 0;
		way.refused = 0;
		way.count = 0;
		way.keys = new Set();
		way.server = http.createServer((request, response) => way.pass(request, response));
		await new Promise((done) => way.server.listen(0, "127.0.0.1", done));
		way.port = way.server.address().port;
		return way;
	}

	// The fate of a request, by its number and, for a POST, by whether it was sent before.
	fate({ "idempotency-key": key }) {
		const number = ++this.count % 8;

		if (key && !this.keys.has(key)) {
			this.keys.add(key);
			return "lost";
		}
		return key ? "fine" : { 1: "lost", 5: "refused" }[number] ?? "fine";
	}

	pass(request, response) {
		const { prefer, ...headers } = request.headers;
		const fate = this.fate(headers);

		if (fate === "refused") {
			this.refused++;
			response.writeHead(429, { "Content-Type": "application/problem+json", "Retry-After": "1" })
				.end('{"type":"about:blank","title":"Full","status":429,"code":"too_many_requests","detail":"try later"}');
			return;
		}
		const onward = http.request({ host: "127.0.0.1", port: this.target.port, method: request.method, path: request.url,
			headers: { ...headers, host: `127.0.0.1:${this.target.port}` }, agent: false }, (answer) => {
			if (fate === "lost")
				this.lose(answer, response);
			else
				answer.pipe(response.writeHead(answer.statusCode, answer.headers));
		});

		onward.on("error", () => response.destroy());
		request.pipe(onward);
	}

	lose(answer, response) {
		this.lost++;
		answer.resume();
		answer.on("end", () => response.destroy());
	}

	close() {
		this.server.closeAllConnections?.();
		this.server.close();
	}
}

export const token = randomBytes(16).toString("hex");

// A file with that token. Written once, because an example may be reading it.
let file_of_token;
export const token_file = () => file_of_token ??= scratch_file("token", `${token}\n`, 0o600);
