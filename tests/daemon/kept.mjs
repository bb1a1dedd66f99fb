// SPDX-License-Identifier: Apache-2.0
//
// Lists of kept objects in the configuration file, of a daemon without a device: it waits for one.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until, VERBSD } from "./lib.mjs";

const LIMIT = { timeout: 100000 };
const POOL = "buffers:\n- {name: pool, size_bytes: 64K, device: none0}\n";

const new_file = (text) => {
	const path = join(scratch_folder("kept"), "verbsd.yaml");

	writeFileSync(path, text);
	return path;
};
const check = (text) => {
	const path = new_file(text);
	const { status, stdout, stderr } = spawnSync(VERBSD, ["--config", path, "--check-config"], { encoding: "utf8" });

	return { status, said: (stdout + stderr).replaceAll(path, "FILE") };
};
const kept = async (daemon) => (await daemon.get("/v1/kept_objects")).json;

test("kept: --check-config decodes the lists, and names the line of a fault", LIMIT, () => {
	assert.equal(check(POOL).status, 0);
	assert.equal(check("# nothing\nbuffers:\nlisteners: []\n").status, 0);
	for (const [text, wanted] of [
		["buffers:\n- {name: a, size_bytes: 4K}\n- {name: b, size: 4K}\n", /FILE:3: buffers: .*size/],
		["listeners:\n- addr: 0.0.0.0\n", /FILE:2: listeners: .*name/],
		["connections:\n- {name: a, dst_addr: x, dst_port: 1, reconnect: often}\n", /FILE:2: connections: .*reconnect/],
		["buffers:\n- {name: a, size_bytes: 4K}\nlisteners:\n- {name: a, addr: '::'}\n", /FILE:4: the name a is in line 2/],
		["buffers: {name: a}\n", /FILE:1: buffers: needs a list/],
		["buffers:\n- 7\n", /FILE:2: buffers: an item is a mapping/],
	]) {
		const { status, said } = check(text);

		assert.notEqual(status, 0, text);
		assert.match(said, wanted);
	}
});

test("kept: what has no device waits for one, and is tried again", LIMIT, async (t) => {
	const daemon = await daemon_of(t, { args: ["--config", new_file(POOL)] }).up();
	const { items: [pool] } = await until(async () => {
		const seen = await kept(daemon);
		return seen.items[0]?.tries > 1 && seen.items[0].state === "waiting" && seen;
	});

	assert.equal(pool.name, "pool");
	assert.equal(pool.kind, "buffer");
	assert.equal(pool.object_id, null);
	assert.ok(["no_device", "not_found"].includes(pool.error.code), pool.error.code);
	assert.ok(pool.next_try_at);
	assert.equal((await daemon.get("/v1/stats")).json.kept_objects_waiting, 1);
	assert.equal(await daemon.stop(), 0);
});

test("kept: a reload takes up the lists, and a fault in them leaves all as it was", LIMIT, async (t) => {
	const path = new_file(POOL);
	const daemon = await daemon_of(t, { args: ["--config", path] }).up();
	const names = async () => (await kept(daemon)).items.map(({ name }) => name);

	assert.deepEqual(await names(), ["pool"]);
	writeFileSync(path, POOL + "- {name: more, size_bytes: 4K, device: none0}\n");
	assert.equal((await daemon.request("POST", "/v1/reload")).status, 200);
	assert.deepEqual(await names(), ["pool", "more"]);
	writeFileSync(path, "buffers:\n- {name: pool}\n");
	const refused = await daemon.request("POST", "/v1/reload");
	assert.ok(refused.status >= 400);
	assert.match(refused.json.detail, /verbsd\.yaml:2: buffers: /);
	assert.deepEqual(await names(), ["pool", "more"]);
	writeFileSync(path, "buffers: []\n");
	assert.equal((await daemon.request("POST", "/v1/reload")).status, 200);
	assert.deepEqual(await names(), []);
	assert.equal(await daemon.stop(), 0);
});

test("kept: the lists of the file are there again after a kill, once each", LIMIT, async (t) => {
	const args = ["--config", new_file(POOL), "--set", `state_dir=${join(scratch_folder("kept"), "state")}`];
	const first = await daemon_of(t, { args }).up();

	assert.equal((await kept(first)).total, 1);
	assert.equal(await first.stop("SIGKILL"), "SIGKILL");
	const second = await daemon_of(t, { args }).up();
	assert.equal((await kept(second)).total, 1);
	assert.equal(await second.stop(), 0);
});
