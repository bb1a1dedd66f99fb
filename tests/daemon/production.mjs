// SPDX-License-Identifier: Apache-2.0
//
// docs/production.md as an operator follows it: each of its blocks, with paths in a folder, addresses of the loopback, and the
// user and the group of the test.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import https from "node:https";
import { dirname, join } from "node:path";
import test from "node:test";

import { Ca } from "../certificates.mjs";
import { blocks, callers, files, settings, unit } from "../production_host.mjs";
import { have_sqlite, until } from "./lib.mjs";
import { PageHost } from "./page_host.mjs";

const LIMIT = { timeout: 500000 };
const can_run = (program) => `${process.env.PATH}:/usr/sbin`.split(":").some((folder) => existsSync(join(folder, program)));

class Host extends PageHost {
	constructor(t) {
		super(t);
		this.ca = new Ca(this.folder);
		this.ca.issueServer("server", "IP:127.0.0.2,DNS:storage-1.example");
	}

	// Gives the caller of the page a new token, as the page says: by the output of --make-token.
	async give_token(name) {
		const [, token, hash] = /^token: (\w+)\ntoken_sha256: (\w+)\n$/.exec(await this.run("verbsd --make-token"));
		const entry = new RegExp(`(name: ${name}, role: \\w+, token_sha256: )\\w+`);

		assert.match(this.callers, entry);
		this.callers = this.callers.replace(entry, `$1${hash}`);
		writeFileSync(this.path("callers.yaml"), this.callers);
		return token;
	}

	// Follows the page until the daemon serves.
	async set_up() {
		this.callers = callers;
		this.tokens = {};
		for (const name of ["admin", "backup", "prometheus"]) this.tokens[name] = await this.give_token(name);
		await this.run(files);
		writeFileSync(this.path("etc/verbsd/verbsd.yaml"), this.here(settings));
		return this.run(blocks("The configuration", "sh")[0]);
	}

	// Sends a request to the address for the network.
	async over_tls(method, path, token, ca = this.ca.read("ca.pem")) {
		const [, port] = /serves HTTPS on 127\.0\.0\.2, port (\d+)/.exec(this.daemon.log);
		const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
		const request = https.request({ host: "127.0.0.2", port, ca, method, path, headers, agent: false });

		request.end(method === "POST" ? "{}" : "");
		const [answer] = await once(request, "response");
		answer.resume();
		return answer.statusCode;
	}
}

test("the page sets up a host that serves its group, and other hosts with a token", LIMIT, async (t) => {
	const host = new Host(t);
	const printed = await host.set_up();
	const { admin, backup, prometheus } = host.tokens;

	assert.match(printed, /the configuration is fine/);
	assert.match(printed, /caller name +control/);
	assert.match(readFileSync(host.path("calls"), "utf8"), /^groupadd --force --system rdma\ngroupadd --force --system rdma-admin\n/);
	const { mode, gid } = statSync(host.path("run/verbsd/verbsd.sock"));
	assert.equal(mode & 0o7777, 0o660);
	assert.equal(gid, process.getgid());
	assert.equal(await host.over_tls("GET", "/v1/stats"), 401);
	assert.equal(await host.over_tls("GET", "/v1/stats", prometheus), 200);
	assert.equal(await host.over_tls("POST", "/v1/buffers", prometheus), 403);
	assert.equal(await host.over_tls("POST", "/v1/buffers", backup), 400);
	assert.equal(await host.over_tls("POST", "/v1/drain", backup), 403);
	assert.equal(await host.over_tls("POST", "/v1/reload", admin), 200);
	await assert.rejects(host.over_tls("GET", "/v1/stats", prometheus, null), /certificate/);
	assert.match(host.daemon.log, /<5>verbsd: serves HTTP on 127\.0\.0\.1, port \d+/);
	await host.stop();
});

test("the page changes a token and the certificate without a restart", LIMIT, async (t) => {
	const host = new Host(t);
	const [reload] = blocks("Changes without a restart", "sh");

	await host.set_up();
	assert.equal(await host.run(reload), "no key and no caller has changed\n");
	const token = await host.give_token("backup");
	host.ca.issueServer("server", "IP:127.0.0.2");
	await host.run(files);
	assert.match(await host.run(reload), /^ *callers changed +backup\n$/);
	assert.equal(await host.over_tls("GET", "/v1/stats", host.tokens.backup), 401);
	assert.equal(await host.over_tls("GET", "/v1/stats", token), 200);
	await host.stop();
});

test("the page makes a backup and restores it", { ...LIMIT, skip: have_sqlite() ? false : "sqlite3 is not installed" }, async (t) => {
	const host = new Host(t);
	const [backup, restore] = blocks("Backup", "sh");
	const kept = async () => (await host.daemon.get("/v1/kept_objects")).json.items.map(({ name }) => name);
	const headers = { "Content-Type": "application/json" };

	await host.set_up();
	const { status, text } = await host.daemon.request("POST", "/v1/buffers", { headers, body: '{"name": "pool", "size_bytes": 4096, "keep": true}' });
	assert.equal(status, 201, text);
	await host.run(backup);
	assert.equal((await host.daemon.request("DELETE", "/v1/buffers/pool", { headers })).status, 204);
	assert.deepEqual(await kept(), []);
	await host.run(restore);
	assert.deepEqual(await kept(), ["pool"]);
	assert.equal((await host.daemon.get("/v1/events?type=store_damaged")).json.items.length, 1);
	await host.run(blocks("Upgrade", "sh")[0]);
	assert.deepEqual(await kept(), ["pool"]);
	await host.stop();
});

test("the page rotates the audit file", { ...LIMIT, skip: can_run("logrotate") ? false : "logrotate is not installed" }, async (t) => {
	const host = new Host(t);
	const stanza = blocks("Rotation of the audit file", "")[0];
	const audit = host.path("var/log/verbsd/audit");
	const lines = (path) => readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line).path);

	assert.ok(readFileSync(join(process.env.VBD_SOURCE, "docs/verbsd.yaml.5.scd"), "utf8").includes(stanza), "the manual has another one");
	await host.set_up();
	assert.equal(await host.over_tls("POST", "/v1/buffers", host.tokens.backup), 400);
	await until(() => readFileSync(audit, "utf8"));
	writeFileSync(host.path("etc/logrotate.d/verbsd"), host.here(stanza));
	await host.run("logrotate --force --state status /etc/logrotate.d/verbsd");
	await until(() => existsSync(audit));
	assert.deepEqual(readdirSync(dirname(audit)).sort(), ["audit", "audit.1"]);
	assert.deepEqual(lines(`${audit}.1`), ["/v1/buffers"]);
	assert.equal(await host.over_tls("POST", "/v1/listeners", host.tokens.backup), 400);
	await until(() => readFileSync(audit, "utf8"));
	assert.deepEqual(lines(audit), ["/v1/listeners"]);
	assert.equal(statSync(audit).mode & 0o7777, 0o600);
	await host.stop();
});

test("the unit has a line for each thing that the page adds to it", LIMIT, () => {
	const shipped = readFileSync(join(process.env.VBD_SOURCE, "cmd/verbsd.service.in"), "utf8");

	for (const line of unit.split("\n").slice(1, -1)) assert.ok(shipped.includes(`\n#${line}\n`), line);
});
