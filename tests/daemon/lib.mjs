// SPDX-License-Identifier: Apache-2.0
//
// Starts verbsd on a unix socket, and speaks HTTP to it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

import { scratch_folder } from "../scratch.mjs";

export const VERBSD = process.env.VBD_VERBSD;

const pause = () => new Promise((done) => setTimeout(done, 20));

// Calls a function until it returns something. The time limit of the test ends a wait for ever.
export async function until(look) {
	for (;;) {
		const seen = await look();
		if (seen) return seen;
		await pause();
	}
}

export class Daemon {
	// stderr is a descriptor, or "pipe": then .log grows. The command starts with a program that runs the rest.
	// All options can be given, or some to add. Another build of the daemon may take its place.
	constructor({ stderr = "pipe", args = [], env = {}, command = [], socket, options, verbsd = VERBSD } = {}) {
		this.socket = socket ?? join(scratch_folder("daemon"), "verbsd.sock");
		const [program, ...before] = [...command, verbsd];
		options ??= ["--listen", "", "--unix-socket", this.socket, ...args];
		this.process = spawn(program, [...before, ...options], {
			env: { ...process.env, ...env },
			stdio: ["ignore", "ignore", stderr],
		});
		this.log = "";
		this.process.stderr?.on("data", (data) => (this.log += data));
		this.ended = once(this.process, this.process.stderr ? "close" : "exit");
	}

	request(method, path, options = {}) {
		return new Promise((done, failed) => {
			const request = http.request({ socketPath: this.socket, method, path, agent: false, ...options }, (answer) => {
				let text = "";
				answer.on("data", (data) => (text += data));
				answer.on("end", () =>
					done({ status: answer.statusCode, text, get json() { return JSON.parse(text); } }));
				answer.on("error", failed);
			});
			request.on("error", failed);
			request.end(options.body);
		});
	}

	get(path) {
		return this.request("GET", path);
	}

	// Waits until the API answers; throws if the daemon ends before.
	async up() {
		await until(async () => {
			if (this.process.exitCode !== null || this.process.signalCode !== null)
				throw new Error(`verbsd ended: ${this.process.exitCode ?? this.process.signalCode}: ${this.log}`);
			return this.get("/livez").catch(() => null);
		});
		return this;
	}

	// Returns the exit status, or the name of the signal that ended the process.
	async stop(signal = "SIGTERM") {
		this.process.kill(signal);
		const [status, name] = await this.ended;
		return name ?? status;
	}
}

// A daemon that is killed after the test, whatever its outcome.
export function daemon_of(t, options) {
	const daemon = new Daemon(options);

	t.after(() => daemon.process.kill("SIGKILL"));
	return daemon;
}

// A pipe between the daemon and a reader of its log.
export class Pipe {
	constructor(t) {
		this.path = join(scratch_folder("log"), "pipe");
		execFileSync("mkfifo", [this.path]);
		this.open();
		this.writer = openSync(this.path, constants.O_WRONLY);
		t.after(() => closeSync(this.writer));
	}

	open() {
		this.reader = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
	}

	close() {
		closeSync(this.reader);
	}

	fill() {
		const filler = openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK);

		try {
			for (;;) writeSync(filler, "x".repeat(4096));
		} catch (error) {
			assert.equal(error.code, "EAGAIN");
		}
		closeSync(filler);
	}

	// Returns what can be read now; "" for nothing.
	read() {
		const bytes = Buffer.alloc(65536);

		try {
			return bytes.toString("utf8", 0, readSync(this.reader, bytes));
		} catch (error) {
			assert.equal(error.code, "EAGAIN");
			return "";
		}
	}
}

// A pipe that takes no more bytes.
export function full_pipe(t) {
	const pipe = new Pipe(t);

	pipe.fill();
	return pipe;
}

export const have_sqlite = () => {
	try {
		return execFileSync("sqlite3", ["-version"]).length > 0;
	} catch {
		return false;
	}
};

// A program that has the database locked, as a slow disk would.
export async function hold(t, dir) {
	const holder = spawn("sqlite3", [join(dir, "state.db")], { stdio: ["pipe", "pipe", "inherit"] });
	const ended = once(holder, "exit");

	t.after(() => holder.kill("SIGKILL"));
	holder.stdin.write(".timeout 10000\nBEGIN IMMEDIATE;\nSELECT 'held';\n");
	await once(holder.stdout, "data");
	return { release: () => { holder.stdin.end(); return ended; } };
}
