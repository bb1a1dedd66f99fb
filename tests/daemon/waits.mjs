// SPDX-License-Identifier: Apache-2.0
//
// Each call that may wait in the kernel waits for ever in turn, over the scripted provider: the API answers, other
// objects work, and SIGTERM ends the daemon within its limit. The list is that of the product.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const ADDR = "10.0.0.1";
const SHUTDOWN_MS = 2000;

const source = (path) => readFileSync(join(process.env.VBD_SOURCE, path), "utf8");
// These make the request or the connection of this test wait by right. tests/rdma/silent.mjs has iWARP.
const WAITED_FOR = ["rdma_connect", "ibv_reg_mr", "rdma netlink"];
// A device goes from under a daemon in tests/unit/test_services_daemon.c.
const AT_THE_END = ["ibv_close_device"];
const ALL = [...source("tests/fake/waits.h").matchAll(/X\(VBD_WAIT_\w+, "([^"]+)"\)/g)].map(([, name]) => name);
// Before there is a device, or a connection manager.
const AT_THE_START = ["ibv_get_device_list", "ibv_open_device", "rdma_create_event_channel"];
const CALLS = ALL.filter((name) => ![...WAITED_FOR, ...AT_THE_START].includes(name));

// The call waits for ever: an answer that waits for it never comes, however long the patience.
async function answer(daemon, method, path, body) {
	const signal = AbortSignal.timeout(60000);
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
	assert.equal((await answer(daemon, "GET", "/v1/devices?fields=ports")).status, 200);
	const here = await made(daemon, "/v1/ud_endpoints", { addr: ADDR, port: 7600 });

	await in_state(daemon, here, "ready");
	const peer = await made(daemon, "/v1/ud_peers",
		{ ud_endpoint: here.split("/").pop(), dst_addr: ADDR, dst_port: 7600 });
	await until(async () => !/resolving/.test((await answer(daemon, "GET", peer)).json.state));
	// The membership is joining for as long as the call waits.
	all.push(peer, await made(daemon, "/v1/multicast_memberships", { ud_endpoint: here.split("/").pop(), addr: "239.1.2.3" }), here);
	for (const path of all)
		await until(async () => (await answer(daemon, "DELETE", path)).status !== 409);
}

async function one_call_waits(t, call) {
	const env = { VBD_FAKE_BLOCK: call };
	const daemon = await daemon_of(t, { env, args: ["--set", `shutdown_timeout_ms=${SHUTDOWN_MS}`] }).up();
	const listener = await made(daemon, "/v1/listeners", { addr: ADDR, port: 7500, service: "echo" });

	await use_all(daemon, 7500);
	if (!AT_THE_END.includes(call)) await until(() => daemon.log.includes(`fake provider: ${call} waits`));
	// The next one works.
	const second = await made(daemon, "/v1/connections", { dst_addr: ADDR, dst_port: 7500 });
	await in_state(daemon, second, "established");
	await answer(daemon, "DELETE", second);
	assert.equal((await answer(daemon, "GET", "/livez")).status, 200);
	assert.equal((await answer(daemon, "DELETE", listener)).status, 204);

	const status = await daemon.stop();
	assert.ok([0, 1].includes(status), `ended with ${status}`);
	assert.ok(daemon.log.includes(`fake provider: ${call} waits`));
	assert.doesNotMatch(daemon.log, /fake provider: (?!.* waits$)/m);
}

async function the_start_waits(t, call) {
	const daemon = await daemon_of(t, { env: { VBD_FAKE_BLOCK: call }, args: ["--set", `shutdown_timeout_ms=${SHUTDOWN_MS}`] }).up();
	assert.equal((await answer(daemon, "GET", "/readyz")).status, 503);
	const { items } = (await answer(daemon, "GET", "/v1/devices?fields=*")).json;
	assert.deepEqual(items.map(({ state }) => state), call === "ibv_open_device" ? ["opening"] : []);
	assert.equal((await answer(daemon, "POST", "/v1/buffers", { size_bytes: 64 })).json.code, "no_device");
	if (call !== "ibv_open_device")
		assert.equal((await answer(daemon, "POST", "/v1/listeners", { addr: ADDR, port: 7500 })).json.code, "no_device");
	assert.equal((await answer(daemon, "POST", "/v1/reload")).status, 200);
	assert.equal((await answer(daemon, "GET", "/livez")).status, 200);

	const status = await daemon.stop();
	assert.ok([0, 1].includes(status), `ended with ${status}`);
	assert.ok(daemon.log.includes(`fake provider: ${call} waits`));
	assert.doesNotMatch(daemon.log, /fake provider: (?!.* waits$)/m);
}

for (const call of AT_THE_START)
	test(`waits: while ${call} does not return, the API says what is missing`, LIMIT, (t) => the_start_waits(t, call));

for (const call of CALLS)
	test(`waits: while ${call} does not return, all else goes on`, LIMIT, (t) => one_call_waits(t, call));

test("waits: the port of a listener is free when its DELETE is answered, as far as the kernel frees it", LIMIT, async (t) => {
	const daemon = await daemon_of(t).up();
	const many = await Promise.all(Array.from({ length: 40 }, (_, i) => made(daemon, "/v1/listeners", { addr: ADDR, port: 7700 + i })));

	for (let i = 0; i < 10; i++) {
		const listener = await made(daemon, "/v1/listeners", { addr: ADDR, port: 7699 });

		if (!i) many.forEach((path) => void daemon.request("DELETE", path));
		assert.equal((await answer(daemon, "DELETE", listener)).status, 204);
	}
	// A call that does not return holds up the answer for half a second, and nothing else.
	const held = await daemon_of(t, { env: { VBD_FAKE_BLOCK: "rdma_destroy_id" } }).up();
	const one = await made(held, "/v1/listeners", { addr: ADDR, port: 7699 });
	const asked = answer(held, "DELETE", one);

	assert.equal((await answer(held, "GET", "/livez")).status, 200);
	assert.equal((await asked).status, 204);
});

test("waits: the list has the calls that the documents explain", () => {
	const table = source("docs/internals/blocking.md").split("\n").filter((line) => line.startsWith("| `vbd_pv_")).join("\n");

	assert.ok(ALL.length > 10);
	for (const name of ALL)
		assert.match(table, new RegExp(`vbd_pv_${name.replace(/^(rdma|ibv)_/, "")}\\b|\`${name}\`|\\(${name}\\)`));
});

test("waits: a reload changes the time after which a stuck daemon ends", LIMIT, async (t) => {
	const config = join(scratch_folder("waits"), "verbsd.yaml");

	writeFileSync(config, "drain_timeout_ms: 1\nshutdown_timeout_ms: 1\n");
	const daemon = await daemon_of(t, { env: { VBD_FAKE_BLOCK: "ibv_close_device" }, args: ["--config", config] }).up();
	writeFileSync(config, `drain_timeout_ms: 1\nshutdown_timeout_ms: ${SHUTDOWN_MS}\n`);
	assert.deepEqual((await answer(daemon, "POST", "/v1/reload")).json.reloaded, ["shutdown_timeout_ms"]);
	await until(async () => (await answer(daemon, "GET", "/readyz")).status === 200);
	assert.equal(await daemon.stop(), 1);
	assert.match(daemon.log, /the end took longer than 2500 ms; a thread is stuck/);
});
