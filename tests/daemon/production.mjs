// SPDX-License-Identifier: Apache-2.0
//
// The production host of verbsd.yaml(5) works as written, except for its paths, addresses and group.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import test from "node:test";

import { Ca } from "../certificates.mjs";
import { settings, unit } from "../production_host.mjs";
import { scratch_folder } from "../scratch.mjs";
import { VERBSD, daemon_of } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const read = (path) => readFileSync(join(process.env.VBD_SOURCE, path), "utf8");

const TOKENS = { control: "c".repeat(64), read: "r".repeat(64) };

// Replaces each text, which must be there.
function adapt(text, replacements) {
	for (const [from, to] of replacements) {
		assert.ok(text.includes(from), `${from} is gone from the example`);
		text = text.replaceAll(from, to);
	}
	return text;
}

// Makes the files that the example names.
function production_host() {
	const folder = scratch_folder("production");
	const credentials = join(folder, "credentials");
	const ca = new Ca(folder);
	const group = execFileSync("id", ["-gn"], { encoding: "utf8" }).trim();

	mkdirSync(credentials);
	ca.issueServer("server", "IP:127.0.0.2,DNS:storage-1.example");
	writeFileSync(join(credentials, "key"), ca.read("server.key"), { mode: 0o400 });
	for (const [name, token] of Object.entries(TOKENS))
		writeFileSync(join(credentials, name), `${token}\n`, { mode: 0o400 });
	const config = join(folder, "verbsd.yaml");
	const socket = join(folder, "verbsd.sock");
	writeFileSync(config, adapt(settings, [
		["/run/verbsd/verbsd.sock", socket],
		["/run/credentials/verbsd.service/", `${credentials}/`],
		["/etc/verbsd/", `${folder}/`],
		["_group: rdma-admin\n", `_group: ${group}\n`],
		["_group: rdma\n", `_group: ${group}\n`],
		["192.0.2.10:7480", "https://127.0.0.2:0"],
		["127.0.0.1:7480", "127.0.0.1:0"],
	]));
	return { config, socket, ca: ca.read("ca.pem") };
}

// Sends a request to the address for the network.
async function over_tls(daemon, ca, method, path, token) {
	const port = daemon.log.match(/serves HTTPS on 127\.0\.0\.2, port (\d+)/)[1];
	const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
	const request = https.request({ host: "127.0.0.2", port, ca, method, path, headers, agent: false });

	request.end(method === "POST" ? "{}" : "");
	const [answer] = await once(request, "response");
	answer.resume();
	return answer.statusCode;
}

test("the settings of a production host pass the check", LIMIT, () => {
	const { config } = production_host();

	assert.match(execFileSync(VERBSD, ["--config", config, "--check-config"], { encoding: "utf8" }),
		/the configuration is fine/);
});

test("a production host serves its group, and other hosts with a token", LIMIT, async (t) => {
	const { config, socket, ca } = production_host();
	const daemon = await daemon_of(t, { socket, options: ["--config", config] }).up();

	assert.equal((await daemon.get("/v1/stats")).status, 200);
	const { mode, gid } = statSync(socket);
	assert.equal(mode & 0o7777, 0o660);
	assert.equal(gid, process.getgid());
	assert.equal(await over_tls(daemon, ca, "GET", "/v1/stats"), 401);
	assert.equal(await over_tls(daemon, ca, "GET", "/v1/stats", TOKENS.read), 200);
	assert.equal(await over_tls(daemon, ca, "POST", "/v1/buffers", TOKENS.read), 403);
	assert.equal(await over_tls(daemon, ca, "POST", "/v1/buffers", TOKENS.control), 400);
	await assert.rejects(over_tls(daemon, undefined, "GET", "/v1/stats", TOKENS.read), /certificate/);
	assert.match(daemon.log, /<5>verbsd: serves HTTP on 127\.0\.0\.1, port \d+/);
	assert.equal(await daemon.stop(), 0);
});

test("the unit loads each credential that a production host names", LIMIT, () => {
	const named = [...settings.matchAll(/\/run\/credentials\/verbsd\.service\/(\w+)/g)].map((match) => match[1]).sort();
	const loaded = (text) => [...text.matchAll(/^#?LoadCredential=(\w+):/gm)].map((match) => match[1]).sort();

	assert.deepEqual(loaded(unit), named);
	assert.deepEqual(loaded(read("cmd/verbsd.service.in")), named);
});
