// SPDX-License-Identifier: Apache-2.0
//
// guest.mjs BUILDDIR PORT [VERBSD]: runs in the lab, next to the RDMA device, and serves the browser tests on the host at PORT:
// POST /start, /signal and /quit, GET /log. The host chooses the ports of the daemons. They are the same in the guest and on
// the host, since a daemon answers only to the host and port at which it listens. The Fake of lab.mjs runs it on the host.

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

import { scratch_file, scratch_path } from "../scratch.mjs";

const [, , build, port, verbsd = join(build, "cmd/verbsd")] = process.argv;
const daemons = new Map();

// No daemon outlives this process, and this process does not outlive the Fake that started it.
process.on("exit", () => daemons.forEach(({ child }) => child.kill("SIGKILL")));
process.on("disconnect", () => process.exit(1));

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const log_path = (name) => scratch_path(`${name}.log`);

function answers(at, path) {
	return new Promise((done) => {
		const request = http.get({ host: "127.0.0.1", port: at, path, agent: false }, (response) => {
			response.resume();
			done(response.statusCode === 200);
		});

		request.on("error", () => done(false));
	});
}

// The deadline of the host ends a daemon that never becomes ready.
async function start({ name, port: at, args = [], tokens = {} }) {
	const options = [];

	for (const [role, token] of Object.entries(tokens)) {
		options.push(`--${role}-token-file`, scratch_file(`${name}.${role}`, `${token}\n`, 0o600));
	}
	const log = openSync(log_path(name), "a");
	const child = spawn(verbsd, ["--listen", `127.0.0.1:${at}`, ...options, ...args],
		{ stdio: ["ignore", log, log] });
	const daemon = { child, gone: null };

	closeSync(log);
	daemons.set(name, daemon);
	daemon.ended = new Promise((done) => child.on("close", (status, signal) => {
		daemon.gone = { status, signal };
		done(daemon.gone);
	}));
	while (!await answers(at, "/readyz")) {
		if (daemon.gone)
			throw new Error(`daemon ${name} ended: ${readFileSync(log_path(name), "utf8").slice(-500)}`);
		await sleep(50);
	}
	return { pid: child.pid };
}

async function signal({ name, signal: which }) {
	const daemon = daemons.get(name);

	daemon.child.kill(which);
	return ["SIGKILL", "SIGTERM"].includes(which) ? daemon.ended : {};
}

// Stops the running daemons and returns how each ended; status 0 means that it freed all its objects.
async function quit() {
	const ends = {};

	for (const [name, daemon] of daemons) {
		if (daemon.gone)
			continue;
		daemon.child.kill("SIGTERM");
		ends[name] = await daemon.ended;
	}
	setTimeout(() => process.exit(0), 100);
	return ends;
}

const deeds = {
	"/env": () => ({ addr: process.env.LAB_ADDR, dev: process.env.LAB_DEV }),
	"/start": start,
	"/signal": signal,
	"/log": ({ name }) => ({ log: readFileSync(log_path(name), "utf8") }),
	"/quit": quit,
};

async function body_of(request) {
	const parts = [];

	for await (const part of request)
		parts.push(part);
	return parts.length ? JSON.parse(Buffer.concat(parts)) : {};
}

http.createServer(async (request, response) => {
	let status = 200;
	let answer;

	try {
		answer = await deeds[request.url](await body_of(request));
	} catch (error) {
		status = 500;
		answer = { error: error.message };
	}
	response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
}).listen(Number(port), "127.0.0.1");
