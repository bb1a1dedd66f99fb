// SPDX-License-Identifier: Apache-2.0
//
// Callers of a running daemon: what each is told of itself, and what one gets beside another.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const token_of = (name) => `${name}-${"0".repeat(32)}`;
const as = (name) => ({ headers: { Authorization: `Bearer ${token_of(name)}` } });

// A daemon with these callers, each a name, a role, and further keys as in callers_file.
async function serve(t, callers, ...args) {
	const path = join(scratch_folder("callers"), "callers.yaml");
	const hash = (name) => createHash("sha256").update(token_of(name)).digest("hex");

	writeFileSync(path, callers.map(([name, role, more = ""]) =>
		`- {name: ${name}, role: ${role}, token_sha256: ${hash(name)}${more && `, ${more}`}}\n`).join(""));
	chmodSync(path, 0o600);
	return daemon_of(t, { args: ["--set", `callers_file=${path}`, ...args] }).up();
}

const caller = async (daemon, name) => (await daemon.request("GET", "/v1/caller", name && as(name))).json;

test("caller: a token tells its name, role, end and quotas", LIMIT, async (t) => {
	const daemon = await serve(t, [
		["alice", "operate", "expires: 2099-01-31T12:00:00Z, quotas: {connections: 16, pinned_bytes: 1G, requests_per_s: 1000}"],
		["bob", "read"],
	]);
	const { quotas: { requests_per_s, ...quotas }, client, ...alice } = await caller(daemon, "alice");

	assert.equal(client, `unix uid ${process.getuid()}`);
	// A second takes away as many as the limit.
	assert.equal(requests_per_s.limit, 1000);
	assert.ok([0, 1].includes(requests_per_s.used), `${requests_per_s.used}`);
	assert.deepEqual({ ...alice, quotas }, {
		name: "alice", role: "operate", authenticated_by: "token", certificate_name: null,
		expires_at: "2099-01-31T12:00:00.000000000Z",
		quotas: {
			connections: { limit: 16, used: 0 },
			buffers: { limit: null, used: 0 },
			pinned_bytes: { limit: 1 << 30, used: 0 },
			transfers: { limit: null, used: 0 },
			streams: { limit: null, used: 0 },
		},
	});
	const bob = await caller(daemon, "bob");
	assert.equal(bob.role, "read");
	assert.equal(bob.expires_at, null);
	assert.deepEqual(bob.quotas.requests_per_s, { limit: null, used: null });
	assert.equal(await daemon.stop(), 0);
});

test("caller: on the unix socket the user tells who it is", LIMIT, async (t) => {
	const daemon = await serve(t, [["alice", "operate"]]);
	const { name, authenticated_by, client, expires_at } = await caller(daemon);

	assert.deepEqual({ name, authenticated_by, client, expires_at },
		{ name: "control", authenticated_by: "unix_socket", client: `unix uid ${process.getuid()}`, expires_at: null });
	assert.equal(await daemon.stop(), 0);
});
