// SPDX-License-Identifier: Apache-2.0
//
// verbsd itself under limits of file descriptors.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import test from "node:test";
import { scratch_folder } from "../scratch.mjs";
import { Client, head } from "./lib.mjs";

const LIVE = head("GET", "/livez");

// Starts verbsd with a limit "SOFT:HARD" and waits until it serves.
async function start(t, nofile, ...options) {
	const folder = scratch_folder("descriptors");
	const socket = path.join(folder, "api.sock");
	const daemon = spawn("prlimit", [`--nofile=${nofile}`, process.env.VBD_VERBSD, "--listen", "", "--unix-socket", socket,
		...options], { stdio: ["ignore", "ignore", "pipe"] });
	t.after(() => daemon.kill("SIGKILL"));
	daemon.log = "";
	daemon.ended = once(daemon, "close");
	const serves = new Promise((done) => {
		readline.createInterface({ input: daemon.stderr }).on("line", (line) => {
			daemon.log += `${line}\n`;
			if (line.includes("serves HTTP")) done();
		});
	});
	await Promise.race([serves, daemon.ended.then(([status]) => assert.fail(`ended with ${status}: ${daemon.log}`))]);
	daemon.connect = () => Client.connect({ path: socket });
	// An answer shows that the daemon also takes signals by now.
	const client = await daemon.connect();
	client.send(LIVE);
	assert.equal((await client.answer()).status, 200);
	client.destroy();
	daemon.stop = async () => {
		daemon.kill("SIGTERM");
		const [status, signal] = await daemon.ended;
		assert.equal(status, 0, signal ?? daemon.log);
	};
	return daemon;
}

// The soft and hard limit of a process.
const limits = (pid) => fs.readFileSync(`/proc/${pid}/limits`, "utf8").match(/^Max open files +(\d+) +(\d+)/m).slice(1);

test("the soft limit is raised to the hard one, and nothing is said if that is enough", { timeout: 500000 }, async (t) => {
	const daemon = await start(t, "256:1000");
	assert.deepEqual(limits(daemon.pid), ["1000", "1000"]);
	assert.doesNotMatch(daemon.log, /RLIMIT_NOFILE/);
	await daemon.stop();
});

test("a limit that the configuration exceeds is warned of", { timeout: 500000 }, async (t) => {
	const daemon = await start(t, "64:200", "--set", "limits.http_connections=1000");
	assert.match(daemon.log, /RLIMIT_NOFILE is 200; limits.http_connections \(1000\).*at most 100 HTTP connections/);
	await daemon.stop();
});

test("HTTP clients leave descriptors to the rest, and are answered at the limit", { timeout: 500000 }, async (t) => {
	const daemon = await start(t, "80:80");
	const clients = [];
	let answer;
	for (let i = 0; i < 100 && answer?.status !== 503; i++) {
		const client = await daemon.connect();
		clients.push(client);
		client.send(head("GET", "/v1/devices"));
		answer = await client.answer();
	}
	assert.equal(answer.status, 503);
	assert.equal(answer.json.code, "too_many_clients");
	assert.ok(fs.readdirSync(`/proc/${daemon.pid}/fd`).length < 80, "descriptors are left");
	clients[0].send(LIVE);
	assert.equal((await clients[0].answer()).status, 200);
	for (const client of clients) client.destroy();
	await daemon.stop();
});
