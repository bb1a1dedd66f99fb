// SPDX-License-Identifier: Apache-2.0
//
// SIGTERM and SIGINT end the daemon, whatever its threads are busy with.
import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import test from "node:test";

import { daemon_of, full_pipe, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };

test("a signal ends the daemon and removes its socket", LIMIT, async (t) => {
	for (const signal of ["SIGTERM", "SIGINT"]) {
		const daemon = await daemon_of(t).up();

		assert.equal(await daemon.stop(signal), 0);
		assert.match(daemon.log, /: stopping; a second one stops at once/);
		await assert.rejects(daemon.get("/livez"), { code: "ENOENT" });
	}
});

test("descriptors that are closed at the start become no other files", LIMIT, async (t) => {
	for (const closed of [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]) {
		const command = ["/bin/sh", "-c", `exec "$0" "$@" ${closed.map((fd) => `${fd}>&-`).join(" ")}`];
		const daemon = await daemon_of(t, { command }).up();

		for (const fd of closed)
			assert.equal(readlinkSync(`/proc/${daemon.process.pid}/fd/${fd}`), "/dev/null", closed.join());
		assert.equal(await daemon.stop(), 0, closed.join());
	}
});

test("a second signal ends a daemon whose log nobody reads", LIMIT, async (t) => {
	const pipe = full_pipe(t);
	const daemon = await daemon_of(t, { stderr: pipe.writer }).up();

	daemon.process.kill("SIGTERM");
	assert.ok([0, 1].includes(await daemon.stop("SIGINT")));
	pipe.close();
});

const POST = (json) => ({ body: JSON.stringify(json), headers: { "Content-Type": "application/json" } });

test("a drain refuses what is new until it is taken back", LIMIT, async (t) => {
	const daemon = await daemon_of(t).up();
	const buffer = () => daemon.request("POST", "/v1/buffers", POST({ size_bytes: 4096 }));
	const ready = async () =>
		(await daemon.get("/readyz?verbose=1")).json.checks.find(({ name }) => name === "draining").status;

	assert.equal((await daemon.get("/v1/drain")).json.state, "serving");
	assert.equal(await ready(), "ok");
	const { status, json } = await daemon.request("POST", "/v1/drain", POST({ deadline_ms: 60000 }));
	assert.deepEqual([status, json.state, json.transfer_count], [200, "drained", 0]);
	assert.ok(json.since < json.deadline_at);
	assert.equal(await ready(), "failing");
	assert.deepEqual([(await buffer()).status, (await buffer()).json.code], [503, "draining"]);
	assert.equal((await daemon.get("/v1/stats")).json.draining, 1);
	assert.equal((await daemon.request("DELETE", "/v1/drain")).status, 204);
	assert.equal((await daemon.request("DELETE", "/v1/drain")).status, 204);
	assert.equal(await ready(), "ok");
	assert.notEqual((await buffer()).json.code, "draining");
	const types = (await daemon.get("/v1/events?type=daemon_draining,daemon_drained,daemon_undrained")).json.items;
	assert.deepEqual(types.map(({ type }) => type), ["daemon_draining", "daemon_drained", "daemon_undrained"]);
	assert.equal(await daemon.stop(), 0);
});

test("a drained daemon ends on a signal", LIMIT, async (t) => {
	const daemon = await daemon_of(t).up();

	await daemon.request("POST", "/v1/drain");
	assert.equal(await daemon.stop(), 0);
});

test("a name that is never resolved does not hold the end", LIMIT, async (t) => {
	const env = { LD_PRELOAD: process.env.VBD_STUCK_NAMES, ASAN_OPTIONS: "verify_asan_link_order=0" };
	const daemon = await daemon_of(t, { env, args: ["--set", "shutdown_timeout_ms=10m"] }).up();
	const answer = daemon.get("/v1/reachability?dst_addr=silent.example").catch((error) => error);

	await until(async () => (await daemon.get("/v1/stats")).json.waiting_requests);
	assert.equal(await daemon.stop(), 0);
	await answer;
});
