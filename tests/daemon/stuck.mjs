// SPDX-License-Identifier: Apache-2.0
//
// A data worker that is stuck is seen over HTTP and by systemd, until it goes on.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const FED = "WATCHDOG=1";
const WATCHDOG_MS = 200;

// Hears on systemd's socket what the daemon tells, a line each.
class Systemd {
	constructor(t, path) {
		this.path = path;
		this.text = "";
		this.process = spawn(process.env.VBD_NOTIFY_SOCKET, [path], { stdio: ["ignore", "pipe", "inherit"] });
		this.process.stdout.on("data", (data) => (this.text += data));
		t.after(() => this.process.kill());
	}

	heard() {
		return this.text.split("\n").slice(0, -1);
	}

	feeds() {
		return this.heard().filter((line) => line === FED).length;
	}
}

const livez = (daemon) => daemon.get("/livez?verbose=1");
const uptime_ms = async (daemon) => (await daemon.get("/v1")).json.uptime_ms;

async function let_pass(daemon, ms) {
	const start = await uptime_ms(daemon);

	await until(async () => (await uptime_ms(daemon)) >= start + ms);
}

const events_of = async (daemon, type) => (await daemon.get(`/v1/events?type=${type}`)).json.items;

test("a daemon that stood still feeds the watchdog again, and calls no thread stuck", LIMIT, async (t) => {
	const systemd = new Systemd(t, join(scratch_folder("stuck"), "notify"));

	await until(() => systemd.heard().includes("listening"));
	const daemon = await daemon_of(t, {
		env: { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: String(WATCHDOG_MS * 1000) },
	}).up();
	await until(() => systemd.feeds() > 2);
	const { next } = (await daemon.get("/v1/events?after=now")).json;
	const poll = daemon.get(`/v1/events?after=${next}&wait_ms=1000`);

	daemon.process.kill("SIGSTOP");
	await until(() => /^State:\s+T/m.test(readFileSync(`/proc/${daemon.process.pid}/status`, "utf8")));
	await new Promise((done) => setTimeout(done, 3000));
	const fed = systemd.feeds();
	daemon.process.kill("SIGCONT");
	await until(() => systemd.feeds() > fed);
	assert.equal((await livez(daemon)).status, 200);
	assert.deepEqual((await poll).json.items, []);
	assert.deepEqual(await events_of(daemon, "worker_stuck"), []);
	assert.equal(await daemon.stop(), 0);
});

test("a worker that is stuck fails /livez and starves the watchdog until it goes on", LIMIT, async (t) => {
	const folder = scratch_folder("stuck");
	const fifo = join(folder, "fifo");
	const systemd = new Systemd(t, join(folder, "notify"));

	await until(() => systemd.heard().includes("listening"));
	const daemon = await daemon_of(t, {
		args: ["--workers", "1"],
		env: {
			LD_PRELOAD: process.env.VBD_STUCK_WORKER,
			ASAN_OPTIONS: "verify_asan_link_order=0",
			VBD_STUCK_FIFO: fifo,
			NOTIFY_SOCKET: systemd.path,
			WATCHDOG_USEC: String(WATCHDOG_MS * 1000),
		},
	}).up();
	await until(() => systemd.heard().some((line) => line.startsWith("READY=1")));
	await until(() => systemd.feeds() > 2);
	assert.equal((await livez(daemon)).status, 200);

	execFileSync("mkfifo", [fifo]);
	const failing = await until(async () => {
		const answer = await livez(daemon);
		return answer.status === 503 && answer;
	});
	assert.equal(failing.json.status, "failing");
	assert.deepEqual(failing.json.checks.find(({ name }) => name === "workers"), {
		name: "workers",
		status: "failing",
		detail: "data worker 0 has made no turn for 10000 ms",
	});
	assert.equal((await events_of(daemon, "worker_stuck")).length, 1);
	// Feeds that were sent before may arrive late.
	let starved;
	do {
		starved = systemd.feeds();
		await let_pass(daemon, 10 * WATCHDOG_MS);
	} while (systemd.feeds() > starved);
	assert.equal((await livez(daemon)).status, 503);

	const writer = openSync(fifo, "w");
	unlinkSync(fifo);
	closeSync(writer);
	await until(async () => (await livez(daemon)).status === 200);
	await until(() => systemd.feeds() > starved);
	assert.equal((await events_of(daemon, "worker_recovered")).length, 1);
	assert.equal(await daemon.stop(), 0);
	await until(() => systemd.heard().some((line) => line.startsWith("STOPPING=1")));
});
