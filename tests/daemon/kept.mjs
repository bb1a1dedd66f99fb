// SPDX-License-Identifier: Apache-2.0
//
// Kept objects: lists of the configuration file, of a daemon without a device, which waits for one; and of requests, over
// the scripted provider.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until, VERBSD } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const POOL = "buffers:\n- {name: pool, size_bytes: 64K, device: none0}\n";

const new_file = (text) => {
	const path = join(scratch_folder("kept"), "verbsd.yaml");

	writeFileSync(path, text);
	return path;
};
const check = (text) => {
	const path = new_file(text);
	const { status, stdout, stderr } = spawnSync(VERBSD, ["--config", path, "--check-config"], { encoding: "utf8" });

	return { status, said: stdout + stderr };
};
const kept = async (daemon) => (await daemon.get("/v1/kept_objects")).json;

test("kept: --check-config decodes the lists, and names the line of a fault", LIMIT, () => {
	assert.equal(check(POOL).status, 0);
	assert.equal(check("# nothing\nbuffers:\nlisteners: []\n").status, 0);
	for (const [text, wanted] of [
		["buffers:\n- {name: a, size_bytes: 4K}\n- {name: b, size: 4K}\n", /verbsd\.yaml:3: buffers: .*size/],
		["listeners:\n- addr: 0.0.0.0\n", /verbsd\.yaml:2: listeners: .*name/],
		["connections:\n- {name: a, dst_addr: x, dst_port: 1, reconnect: often}\n", /verbsd\.yaml:2: connections: .*reconnect/],
		["buffers:\n- {name: a, size_bytes: 4K}\nlisteners:\n- {name: a, addr: '::'}\n", /verbsd\.yaml:4: listeners: the name a is in line 2/],
		["buffers: {name: a}\n", /verbsd\.yaml:1: buffers: needs a list/],
		["buffers:\n- 7\n", /verbsd\.yaml:2: buffers: an item is a mapping/],
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

// A folder that is read-only for the program that is run.
const READ_ONLY = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec",
	'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"'];
const can_mount = (dir) => spawnSync(READ_ONLY[0], [...READ_ONLY.slice(1), dir, "true"]).status === 0;

test("kept: a state_dir that is read-only at the start hides what requests have kept, until it can be written", LIMIT, async (t) => {
	const folder = scratch_folder("kept");
	const dir = join(folder, "state");
	const args = ["--config", new_file("buffers:\n- {name: pool, size_bytes: 64K}\n"), "--set", `state_dir=${dir}`];
	const start = (command) => daemon_of(t, { args, command, verbsd: process.env.VBD_VERBSD_FAKE }).up();
	const up = (daemon, ...names) => until(async () => {
		const { items } = await kept(daemon);
		return items.length === names.length && items.every(({ name, state }) => names.includes(name) && state === "up") && items;
	});
	const keep = (daemon, name) => daemon.request("POST", "/v1/buffers", {
		headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name, size_bytes: 4096, keep: true }),
	});

	const first = await start();
	if (!can_mount(dir)) return t.skip("nothing can be mounted here");
	assert.equal((await keep(first, "mine")).status, 201);
	assert.equal(await first.stop(), 0);

	const second = await start([...READ_ONLY, dir]);
	const readiness = await second.get("/readyz?verbose");
	assert.equal(readiness.status, 200);
	assert.equal(readiness.json.status, "degraded");
	assert.match(readiness.json.checks.find(({ name }) => name === "store").detail, /read-only|readonly|EROFS/i);
	assert.equal((await second.get("/v1/events?type=store_failed")).json.items.length, 1);
	await up(second, "pool");
	assert.equal((await second.get("/v1/kept_objects/pool")).json.outlives_restart, true);
	// Such a name is free in this run, and what is kept under it ends with the run.
	const { status, json } = await keep(second, "mine");
	assert.equal(status, 201);
	assert.equal(json.desired.outlives_restart, false);
	assert.equal(await second.stop(), 0);

	const third = await start();
	await up(third, "pool", "mine");
	assert.equal((await third.get("/readyz?verbose")).json.checks.find(({ name }) => name === "store").status, "ok");
	assert.equal(await third.stop(), 0);
});

test("kept: what its owner's quota refuses after a restart waits, says so, and comes when there is room", LIMIT, async (t) => {
	const folder = scratch_folder("kept");
	const token = "alice-0123456789abcdef";
	const callers = join(folder, "callers.yaml");
	const write = (quota) => writeFileSync(callers, `- name: alice
  role: operate
  quotas: {buffers: ${quota}}
  token_sha256: ${createHash("sha256").update(token).digest("hex")}
`, { mode: 0o600 });
	const args = ["--set", `state_dir=${join(folder, "state")}`, "--set", `callers_file=${callers}`];
	const start = () => daemon_of(t, { args, verbsd: process.env.VBD_VERBSD_FAKE }).up();
	const named = async (daemon, name) => (await daemon.get(`/v1/kept_objects/${name}`)).json;
	const state_is = (daemon, name, wanted) => until(async () => {
		const seen = await named(daemon, name);
		return wanted(seen) && seen;
	});

	write(2);
	const first = await start();
	for (const name of ["a", "b"]) {
		const { status, text } = await first.request("POST", "/v1/buffers", {
			headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
			body: JSON.stringify({ name, size_bytes: 4096, keep: true }),
		});
		assert.equal(status, 201, text);
	}
	assert.equal(await first.stop(), 0);

	write(1);
	const second = await start();
	await state_is(second, "a", ({ state }) => state === "up");
	const refused = await state_is(second, "b", ({ state, error }) => state === "waiting" && error);
	assert.equal(refused.error.code, "quota_exceeded");
	assert.match(refused.error.detail, /alice: the quota buffers is 1/);
	assert.equal(refused.owner, "alice");
	assert.ok(refused.outlives_restart);
	const failures = (await second.get("/v1/events?type=kept_object_failed")).json.items;
	assert.match(failures[0].detail, /^buffer b, try 1: alice: the quota buffers is 1.*; the next in \d+ ms$/);
	assert.equal(failures[0].data.code, "quota_exceeded");
	assert.equal((await second.request("DELETE", "/v1/buffers/a")).status, 204);
	await state_is(second, "b", ({ state }) => state === "up");
	assert.equal(await second.stop(), 0);
});
