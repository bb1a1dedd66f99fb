// SPDX-License-Identifier: Apache-2.0
//
// SIGTERM and SIGINT end the daemon, whatever its threads are busy with.
import assert from "node:assert/strict";
import test from "node:test";

import { daemon_of, full_pipe, until } from "./lib.mjs";

const LIMIT = { timeout: 60000 };

test("a signal ends the daemon and removes its socket", LIMIT, async (t) => {
	for (const signal of ["SIGTERM", "SIGINT"]) {
		const daemon = await daemon_of(t).up();

		assert.equal(await daemon.stop(signal), 0);
		assert.match(daemon.log, /: stopping; a second one stops at once/);
		await assert.rejects(daemon.get("/livez"), { code: "ENOENT" });
	}
});

test("a second signal ends a daemon whose log nobody reads", LIMIT, async (t) => {
	const pipe = full_pipe(t);
	const daemon = await daemon_of(t, { stderr: pipe.writer }).up();

	daemon.process.kill("SIGTERM");
	assert.ok([0, 1].includes(await daemon.stop("SIGINT")));
	pipe.close();
});

test("a name that is never resolved does not hold the end", LIMIT, async (t) => {
	const env = { LD_PRELOAD: process.env.VBD_STUCK_NAMES, ASAN_OPTIONS: "verify_asan_link_order=0" };
	const daemon = await daemon_of(t, { env, args: ["--set", "shutdown_timeout_ms=10m"] }).up();
	const answer = daemon.get("/v1/reachability?dst_addr=silent.example").catch((error) => error);

	await until(async () => (await daemon.get("/v1/stats")).json.waiting_requests);
	assert.equal(await daemon.stop(), 0);
	await answer;
});
