// SPDX-License-Identifier: Apache-2.0
//
// Each call that may wait in the kernel waits for ever in turn, over the scripted provider: the API answers, other
// objects work, and SIGTERM ends the daemon within its limit. The list is that of the scripted provider.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 30000 };
const ADDR = "10.0.0.1";
const SHUTDOWN_MS = 2000;

const source = (path) => readFileSync(join(process.env.VBD_SOURCE, path), "utf8");
// These make the request or the connection of this test wait by right. tests/rdma/silent.mjs has iWARP.
const WAITED_FOR = ["rdma_connect", "rdma_disconnect", "ibv_reg_mr", "rdma netlink"];
const CALLS = [...source("tests/fake/fake.h").matchAll(/X\(FAKE_\w+, "([^"]+)"\)/g)].map(([, name]) => name)
	.filter((name) => !WAITED_FOR.includes(name));

// An answer at once, or an error. A busy machine has a second for it.
async function answer(daemon, method, path, body) {
	const signal = AbortSignal.timeout(1000);
	const headers = { "content-type": "application/json" };
	const { status, text } = await daemon.request(method, path,
		{ signal, headers, body: body && JSON.stringify(body) });

	return { status, json: text && JSON.parse(text) };
}

async function made(daemon, path, body) {
	const { status, json } = await answer(daemon, "POST", path, body);

	assert.ok([201, 202].includes(status), `POST ${path}: ${status} ${JSON.stringify(json)}`);
	return `${path}/${json.id}`;
}

async function in_state(daemon, path, ...states) {
	return until(async () => states.includes((await answer(daemon, "GET", path)).json.state));
}

// Makes an object of each kind that has a call of the list, and deletes it. Some get no further than the call that waits.
async function use_all(daemon, port) {
	const all = [];

	for (const [path, body] of [
		["/v1/buffers", { size_bytes: 1 << 20, access: ["remote_write"] }],
		["/v1/connections", { dst_addr: ADDR, dst_port: port }],
		["/v1/listeners", { addr: ADDR, port: 0, service: "echo" }],
	])
		all.push(await made(daemon, path, body));
	const here = await made(daemon, "/v1/ud_endpoints", { addr: ADDR, port: 7600 });

	await in_state(daemon, here, "ready");
	const peer = await made(daemon, "/v1/ud_peers",
		{ ud_endpoint: here.split("/").pop(), dst_addr: ADDR, dst_port: 7600 });
	await until(async () => !/resolving/.test((await answer(daemon, "GET", peer)).json.state));
	all.push(peer, here);
	for (const path of all)
		await until(async () => (await answer(daemon, "DELETE", path)).status !== 409);
}

async function one_call_waits(t, call) {
	const env = { VBD_FAKE_BLOCK: call };
	const daemon = await daemon_of(t, { env, args: ["--set", `shutdown_timeout_ms=${SHUTDOWN_MS}`] }).up();
	const listener = await made(daemon, "/v1/listeners", { addr: ADDR, port: 7500, service: "echo" });

	await use_all(daemon, 7500);
	await until(() => daemon.log.includes(`fake provider: ${call} waits`));
	// The next one works.
	const second = await made(daemon, "/v1/connections", { dst_addr: ADDR, dst_port: 7500 });
	await in_state(daemon, second, "established");
	await answer(daemon, "DELETE", second);
	assert.equal((await answer(daemon, "GET", "/livez")).status, 200);
	assert.equal((await answer(daemon, "DELETE", listener)).status, 204);

	const asked = Date.now();
	const status = await daemon.stop();
	assert.ok([0, 1].includes(status), `ended with ${status}`);
	assert.ok(Date.now() - asked < 5 * SHUTDOWN_MS, `the end took ${Date.now() - asked} ms`);
	assert.doesNotMatch(daemon.log, /fake provider: (?!.* waits$)/m);
}

for (const call of CALLS)
	test(`waits: while ${call} does not return, all else goes on`, LIMIT, (t) => one_call_waits(t, call));
