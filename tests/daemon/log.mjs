// SPDX-License-Identifier: Apache-2.0
//
// The daemon goes on, whatever becomes of its log.
import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { Pipe, daemon_of, full_pipe, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };

async function dropped_of(daemon) {
	const count = (await daemon.get("/v1/stats")).json.log_lines_dropped;
	const metrics = (await daemon.get("/metrics")).text;

	assert.match(metrics, new RegExp(`^verbsd_log_lines_dropped_total ${count}$`, "m"));
	return count;
}

test("a log that nobody reads stops neither the daemon nor its end", LIMIT, async (t) => {
	const pipe = full_pipe(t);
	const daemon = await daemon_of(t, { stderr: pipe.writer }).up();
	assert.equal((await daemon.get("/v1")).status, 200);
	assert.equal(await daemon.stop(), 0);
	pipe.close();
});

test("what is logged while nobody reads is read later", LIMIT, async (t) => {
	const pipe = full_pipe(t);
	let text = "";

	const daemon = await daemon_of(t, { stderr: pipe.writer }).up();
	await until(() => (text += pipe.read()).includes("daemon_started"));
	assert.match(text, /serves HTTP on/);
	assert.equal(await dropped_of(daemon), 0);
	assert.equal(await daemon.stop(), 0);
	assert.match(pipe.read(), /signal 15: stopping/);
	pipe.close();
});

test("a daemon that can't start does not say that it started", LIMIT, async (t) => {
	const daemon = daemon_of(t, { socket: join(scratch_folder("log"), "no-folder", "socket") });

	assert.deepEqual(await daemon.ended, [1, null]);
	assert.match(daemon.log, /: can't start: /);
	assert.doesNotMatch(daemon.log, /daemon_started/);
});

test("lines that were lost are counted, and the log says so when it flows again", LIMIT, async (t) => {
	const pipe = new Pipe(t);
	let text = "";

	pipe.close();
	const daemon = await daemon_of(t, { stderr: pipe.writer, args: ["--log-format", "journal"] }).up();
	await until(() => dropped_of(daemon));
	pipe.open();
	await until(() => (text += pipe.read()).includes("dropped here"));
	assert.match(text, new RegExp(`^<4>verbsd: ${await dropped_of(daemon)} lines? (was|were) dropped here`));
	assert.equal(await daemon.stop(), 0);
	assert.match(pipe.read(), /signal 15: stopping/);
	pipe.close();
});

test("a full disk below the log does not end the daemon", LIMIT, async (t) => {
	const full = openSync("/dev/full", "w");
	const daemon = await daemon_of(t, { stderr: full }).up();

	await until(() => dropped_of(daemon));
	assert.equal(await daemon.stop(), 0);
	closeSync(full);
});

test("a start that fails says why, whoever reads", LIMIT, async (t) => {
	const daemon = daemon_of(t, { args: ["--unix-socket", "/nowhere/verbsd.sock"] });

	assert.equal((await daemon.ended)[0], 1);
	assert.match(daemon.log, /can't start: can't listen on \/nowhere\/verbsd.sock/);
});
