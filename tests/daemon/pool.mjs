// SPDX-License-Identifier: Apache-2.0
//
// One caller has much blocking work on the thread pool. Nobody else waits for it: neither a reload that takes a token
// away, nor other callers, nor the end of the daemon.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const LARGE = 256 * 1024 * 1024;
const SUMS = 200; // the others need the time of a few
const HEAVY = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";
const REVOKED = "00112233445566778899aabbccddeeff";
const SUM = "/v1/buffers/large/checksum?algorithm=sha256";
const STUCK_NAMES = { LD_PRELOAD: process.env.VBD_STUCK_NAMES, ASAN_OPTIONS: "verify_asan_link_order=0" };

const caller = (name, token) =>
	`- name: ${name}\n  role: operate\n  token_sha256: ${createHash("sha256").update(token).digest("hex")}\n`;

const as = (token, body) => ({
	headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
	body: body && JSON.stringify(body),
});

class Callers {
	constructor() {
		const folder = scratch_folder("pool");

		this.config = join(folder, "verbsd.yaml");
		this.path = join(folder, "callers.yaml");
		writeFileSync(this.config, `callers_file: ${this.path}\nlimits:\n  http_connections: 2048\n`);
		this.admit(caller("heavy", HEAVY) + caller("other", OTHER) + caller("revoked", REVOKED));
	}

	admit(text) {
		writeFileSync(this.path, text);
		chmodSync(this.path, 0o600);
	}
}

async function begin(t, callers, env = {}) {
	const daemon = await daemon_of(t, { args: ["--config", callers.config], env }).up();

	await until(async () => (await daemon.get("/readyz")).status === 200);
	return daemon;
}

async function make_buffer(daemon, token, name, size_bytes) {
	const answer = await daemon.request("POST", "/v1/buffers", as(token, { name, size_bytes }));

	assert.ok([201, 202].includes(answer.status), answer.text);
	await until(async () => (await daemon.get(`/v1/buffers/${name}`)).json.state === "ready");
}

// Asks for a checksum, and leaves when the daemon has the request.
function leave(daemon) {
	return new Promise((done) => {
		const request = http.request({ socketPath: daemon.socket, path: SUM, agent: false, ...as(HEAVY) });

		request.on("error", done);
		request.end(() => setImmediate(() => request.destroy(new Error("left"))));
	});
}

// Others need a reload, readiness, a buffer and a checksum while heavy has its work under way. They wait as long as the test may take.
async function assert_nobody_waits(daemon, callers) {
	assert.equal((await daemon.request("GET", "/v1", as(REVOKED))).status, 200);
	callers.admit(caller("heavy", HEAVY) + caller("other", OTHER));
	const revoked_at = performance.now();
	daemon.process.kill("SIGHUP");
	await until(async () => (await daemon.request("GET", "/v1", as(REVOKED))).status === 401);
	const revoked_ms = performance.now() - revoked_at;
	assert.equal((await daemon.get("/readyz")).status, 200);
	await make_buffer(daemon, OTHER, "small", 4096);
	assert.equal((await daemon.request("GET", "/v1/buffers/small/checksum", as(OTHER))).status, 200);
	return revoked_ms;
}

test("checksums of one caller hold neither a reload, nor other callers, nor the end", LIMIT, async (t) => {
	const callers = new Callers();
	const daemon = await begin(t, callers);
	let answered = 0;

	await make_buffer(daemon, HEAVY, "large", LARGE);
	const sums = Array.from({ length: SUMS }, () =>
		daemon.request("GET", SUM, as(HEAVY)).then((answer) => (answered++, answer.status), () => 0));
	await until(async () => (await daemon.get("/v1/stats")).json.waiting_requests >= SUMS / 2);
	t.diagnostic(`refused after ${Math.round(await assert_nobody_waits(daemon, callers))} ms`);
	assert.ok(answered < SUMS / 2, "the checksums were under way meanwhile");
	assert.equal(await daemon.stop(), 0);
	for (const status of await Promise.all(sums)) assert.ok([0, 200, 503].includes(status), String(status));
});

test("checksums whose clients have left end", LIMIT, async (t) => {
	const callers = new Callers();
	const daemon = await begin(t, callers);

	await make_buffer(daemon, HEAVY, "large", LARGE);
	for (let i = 0; i < 16; i++) await Promise.all(Array.from({ length: 64 }, () => leave(daemon)));
	await assert_nobody_waits(daemon, callers);
	await until(async () => (await daemon.get("/v1/stats")).json.waiting_requests === 0);
	// All of them to their end would take longer than this test may.
	assert.equal((await daemon.request("GET", SUM, as(HEAVY))).status, 200);
	assert.equal(await daemon.stop(), 0);
});

test("names that no server resolves hold nobody but who asks for them", LIMIT, async (t) => {
	const callers = new Callers();
	const daemon = await begin(t, callers, STUCK_NAMES);
	const asked = Array.from({ length: 32 }, (_, i) =>
		daemon.request("GET", `/v1/reachability?dst_addr=silent${i}.example`, as(HEAVY)).catch(() => 0));

	await until(async () => (await daemon.get("/v1/stats")).json.waiting_requests >= 32);
	await assert_nobody_waits(daemon, callers);
	assert.equal(await daemon.stop(), 0);
	await Promise.all(asked);
});

// Asks for the way to a host, and leaves when the daemon waits for the name.
async function ask_and_leave(daemon, count) {
	const left = Array.from({ length: count }, (_, i) => {
		const request = http.request({ socketPath: daemon.socket, path: `/v1/reachability?dst_addr=silent${i}.example`, agent: false, ...as(HEAVY) });

		request.on("error", () => {});
		request.end();
		return request;
	});
	const waiting = async () => (await daemon.get("/v1/stats")).json.waiting_requests;

	await until(async () => (await waiting()) >= count);
	for (const request of left) request.destroy();
	await until(async () => (await waiting()) === 0);
}

test("names that nobody awaits any more hold nobody, not even who has asked for them", LIMIT, async (t) => {
	const callers = new Callers();
	const daemon = await begin(t, callers, STUCK_NAMES);

	for (let i = 0; i < 3; i++) {
		await ask_and_leave(daemon, 40);
		assert.equal((await daemon.request("GET", "/v1/reachability?dst_addr=localhost", as(HEAVY))).status, 200);
	}
	assert.equal(await daemon.stop(), 0);
});
