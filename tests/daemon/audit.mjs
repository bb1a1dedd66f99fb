// SPDX-License-Identifier: Apache-2.0
//
// audit_file: who did what, as a line each, whatever becomes of the disk.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const TOKENS = { admin: "0123456789abcdef-admin", dash: "0123456789abcdef-dash", app: "0123456789abcdef-app" };
const as = (name) => ({ headers: { Authorization: `Bearer ${TOKENS[name]}` } });

const caller = (name, role) =>
	`- name: ${name}\n  role: ${role}\n  token_sha256: ${createHash("sha256").update(TOKENS[name]).digest("hex")}\n`;

// A daemon with three callers, and settings that can be changed.
function start(t, path) {
	const folder = scratch_folder("audit");
	const files = { audit: path ?? join(folder, "audit"), config: join(folder, "verbsd.yaml"), callers: join(folder, "callers.yaml") };

	writeFileSync(files.callers, caller("admin", "control") + caller("dash", "read") + caller("app", "operate"));
	chmodSync(files.callers, 0o600);
	files.set = (text) => writeFileSync(files.config, `callers_file: ${files.callers}\naudit_file: ${files.audit}\n${text}`);
	files.set("");
	return { files, daemon: daemon_of(t, { args: ["--config", files.config] }) };
}

const lines_of = (path) => (existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line)) : []);

const wait_for = (path, count) => until(() => lines_of(path).length >= count && lines_of(path));

test("audit: each caller's requests are lines of a file that only its owner can read", LIMIT, async (t) => {
	const { files, daemon } = start(t);

	await daemon.up();
	assert.equal((await daemon.request("POST", "/v1/reload", as("admin"))).status, 200);
	assert.equal((await daemon.request("POST", "/v1/reload", as("dash"))).status, 403);
	assert.equal((await daemon.request("DELETE", "/v1/buffers/7", as("app"))).status, 404);
	assert.equal((await daemon.get("/v1/stats")).status, 200);
	assert.equal((await daemon.request("DELETE", "/v1/buffers/7", { headers: { Authorization: "Bearer wrong" } })).status, 401);
	const lines = await wait_for(files.audit, 4);
	const uid = `unix uid ${process.getuid()}`;
	assert.ok(lines.every(({ time, client }) => Date.parse(time) > 0 && client === uid), JSON.stringify(lines));
	assert.deepEqual(lines.map(({ caller: who, role, method, path, object, status, code }) => [who, role, method, path, object, status, code]), [
		["admin", "control", "POST", "/v1/reload", null, 200, null],
		["dash", "read", "POST", "/v1/reload", null, 403, "forbidden"],
		["app", "operate", "DELETE", "/v1/buffers/{ref}", { kind: "buffer", id: 7, name: null }, 404, "not_found"],
		[null, null, null, null, null, 401, "unauthorized"],
	]);
	assert.equal(statSync(files.audit).mode & 0o777, 0o600);
	assert.equal(await daemon.stop(), 0);
});

test("audit: only the role control sees audit events", LIMIT, async (t) => {
	const { daemon } = start(t);
	const events = async (name) => (await daemon.request("GET", "/v1/events?type=audit", as(name))).json.items;

	await daemon.up();
	await daemon.request("DELETE", "/v1/buffers/7", as("app"));
	assert.deepEqual(await events("dash"), []);
	assert.deepEqual(await events("app"), []);
	const [event, ...more] = await events("admin");
	assert.equal(event.detail, `app (operate) from unix uid ${process.getuid()}: DELETE delete_buffer buffer/7: 404 not_found`);
	assert.equal(event.data.code, "not_found");
	assert.deepEqual(more, []);
	assert.equal(await daemon.stop(), 0);
});

test("audit: the file is appended to, and opened again on SIGHUP whatever the configuration says", LIMIT, async (t) => {
	const { files, daemon } = start(t);
	const act = () => daemon.request("DELETE", "/v1/pds/7", as("app"));

	writeFileSync(files.audit, '{"old": true}\n', { mode: 0o600 });
	await daemon.up();
	await act();
	assert.deepEqual((await wait_for(files.audit, 2))[0], { old: true });
	renameSync(files.audit, `${files.audit}.1`);
	files.set("workers: none\n");
	daemon.process.kill("SIGHUP");
	await until(() => existsSync(files.audit));
	await act();
	assert.equal((await wait_for(files.audit, 1)).length, 1);
	assert.equal(lines_of(`${files.audit}.1`).length, 2);
	assert.equal(statSync(files.audit).mode & 0o777, 0o600);
	assert.equal(await daemon.stop(), 0);
});

test("audit: a full disk stops nothing, and missing lines are counted", LIMIT, async (t) => {
	const full = join(scratch_folder("full"), "audit");

	symlinkSync("/dev/full", full);
	const { daemon } = start(t, full);
	await daemon.up();
	await until(async () => {
		assert.equal((await daemon.request("DELETE", "/v1/pds/7", as("app"))).status, 404);
		return (await daemon.get("/v1/stats")).json.audit_lines_dropped > 0 && daemon.log.includes("audit_file: can't write: No space left");
	});
	assert.match((await daemon.get("/metrics")).text, /^verbsd_audit_lines_dropped_total [1-9]/m);
	assert.equal(await daemon.stop(), 0);
});

test("audit: a start without the file fails, and says why", LIMIT, async (t) => {
	const pipe = join(scratch_folder("pipe"), "audit");

	execFileSync("mkfifo", [pipe]);
	for (const [path, why] of [["/nowhere/audit", "No such file"], [pipe, "No such device"]]) {
		const { daemon } = start(t, path);

		assert.equal((await daemon.ended)[0], 1);
		assert.match(daemon.log, new RegExp(`can't start: audit_file: can't write ${path}.*${why}`));
	}
});
