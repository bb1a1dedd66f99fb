// SPDX-License-Identifier: Apache-2.0
//
// The configuration is read again while the daemon runs.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { join } from "node:path";
import test from "node:test";

import { Ca } from "../certificates.mjs";
import { scratch_folder } from "../scratch.mjs";
import { daemon_of, have_sqlite, hold, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const TOKEN = "0123456789abcdef0123456789abcdef";
const bearer = (token) => ({ headers: { Authorization: `Bearer ${token}` } });

const caller = (name, role, token) =>
	`- name: ${name}\n  role: ${role}\n  token_sha256: ${createHash("sha256").update(token).digest("hex")}\n`;

// A daemon with a file of settings and one of callers.
class Files {
	constructor() {
		const folder = scratch_folder("reload");
		this.config = join(folder, "verbsd.yaml");
		this.callers = join(folder, "callers.yaml");
		this.set("");
		this.let_in("");
	}

	set(text) {
		writeFileSync(this.config, `callers_file: ${this.callers}\n${text}`);
	}

	let_in(text) {
		writeFileSync(this.callers, text);
		chmodSync(this.callers, 0o600);
	}
}

const events_of = async (daemon, type) => (await daemon.get(`/v1/events?type=${type}&limit=1000`)).json.items;

// Sends SIGHUP, and waits until the daemon tells how it went.
async function hang_up(daemon, type) {
	const before = (await events_of(daemon, type)).length;

	daemon.process.kill("SIGHUP");
	return until(async () => (await events_of(daemon, type))[before]);
}

async function begin(t, files) {
	return daemon_of(t, { args: ["--config", files.config] }).up();
}

test("reload: SIGHUP takes up callers, limits and the log level", LIMIT, async (t) => {
	const files = new Files();
	const daemon = await begin(t, files);

	assert.equal((await daemon.request("GET", "/v1", bearer(TOKEN))).json.caller, "control");
	files.let_in(caller("backup", "read", TOKEN));
	files.set("log_level: debug\nlimits:\n  objects: 7\nworkers: 3\n");
	await hang_up(daemon, "daemon_reloaded");
	const index = (await daemon.request("GET", "/v1", bearer(TOKEN))).json;
	assert.equal(index.caller, "backup");
	assert.equal(index.role, "read");
	assert.equal((await daemon.get("/v1/stats")).json.objects_limit, 7);
	await until(() => daemon.log.includes("workers has changed; that needs a restart"));
	assert.equal(await daemon.stop(), 0);
});

const has_thread = ({ pid }, name) => readdirSync(`/proc/${pid}/task`)
	.some((id) => readFileSync(`/proc/${pid}/task/${id}/comm`, "utf8").trim() === name);

test("reload: a SIGHUP while the database is being opened is obeyed once the daemon serves", LIMIT, async (t) => {
	if (!have_sqlite()) return t.skip("sqlite3 is not installed");
	const files = new Files();
	const dir = join(scratch_folder("reload"), "state");
	const options = { args: ["--config", files.config, "--set", `state_dir=${dir}`] };

	assert.equal(await (await daemon_of(t, options).up()).stop(), 0);
	const holder = await hold(t, dir);
	const daemon = daemon_of(t, options);
	await until(() => has_thread(daemon.process, "verbsd-store"));
	files.set("limits:\n  objects: 7\n");
	daemon.process.kill("SIGHUP");
	await holder.release();
	await daemon.up();
	await until(async () => (await events_of(daemon, "daemon_reloaded"))[0]);
	assert.equal((await daemon.get("/v1/stats")).json.objects_limit, 7);
	assert.equal(await daemon.stop(), 0);
});

test("reload: a fault in a file leaves all as it was, and is told with its line", LIMIT, async (t) => {
	const files = new Files();

	files.let_in(caller("backup", "read", TOKEN));
	const daemon = await begin(t, files);
	files.let_in("");
	files.set("log_level: debug\nlimits:\n  pds: many\n");
	const event = await hang_up(daemon, "reload_failed");
	assert.match(event.detail, /verbsd\.yaml:4: /);
	files.set("");
	files.let_in("- name: x\n  role: king\n");
	const answer = await daemon.request("POST", "/v1/reload");
	assert.equal(answer.status, 422);
	assert.equal(answer.json.code, "reload_failed");
	assert.match(answer.json.detail, /callers\.yaml:2: .*king/);
	assert.equal((await daemon.request("GET", "/v1", bearer(TOKEN))).json.caller, "backup");
	assert.equal(await daemon.stop(), 0);
});

test("reload: a request gets the keys and the callers that changed", LIMIT, async (t) => {
	const files = new Files();
	const daemon = await begin(t, files);

	const reload = async () => (await daemon.request("POST", "/v1/reload")).json;
	const none = { reloaded: [], restart_needed: [], callers_added: [], callers_changed: [], callers_removed: [] };
	files.set("workers: 3\nlimits:\n  buffers: 5\n");
	assert.deepEqual(await reload(), { ...none, reloaded: ["limits.buffers"], restart_needed: ["workers"] });
	assert.deepEqual(await reload(), { ...none, restart_needed: ["workers"] });
	files.set("limits:\n  buffers: 5\n");
	files.let_in(caller("a", "read", TOKEN) + caller("b", "read", `${TOKEN}-2`));
	assert.deepEqual(await reload(), { ...none, callers_added: ["a", "b"] });
	files.let_in(caller("c", "read", TOKEN) + caller("b", "operate", `${TOKEN}-2`));
	assert.deepEqual(await reload(), { ...none, callers_added: ["c"], callers_changed: ["b"], callers_removed: ["a"] });
	assert.match((await events_of(daemon, "daemon_reloaded")).at(-1).detail, /callers: 1 added, 1 changed, 1 removed/);
	assert.deepEqual(await reload(), none);
	assert.equal(await daemon.stop(), 0);
});

test("reload: a revoked token loses its stream and its waiting request", LIMIT, async (t) => {
	const files = new Files();

	files.let_in(caller("backup", "read", TOKEN) + caller("other", "read", `${TOKEN}-2`));
	const daemon = await begin(t, files);
	const waits = daemon.request("GET", "/v1/events?after=now&type=pd_created&wait_ms=50000", bearer(TOKEN));
	const follow = (token) =>
		new Promise((begun) => {
			const request = http.request(
				{ socketPath: daemon.socket, path: "/v1/events/stream", agent: false, ...bearer(token) },
				(answer) => {
					const ended = new Promise((done) => answer.on("close", done));
					answer.on("error", () => {});
					answer.resume();
					begun({ answer, ended });
				});
			request.end();
		});
	const revoked = await follow(TOKEN);
	const stays = await follow(`${TOKEN}-2`);
	await until(async () => (await daemon.get("/v1/stats")).json.waiting_requests === 1);
	files.let_in(caller("other", "read", `${TOKEN}-2`));
	await hang_up(daemon, "daemon_reloaded");
	await revoked.ended;
	assert.equal((await waits).status, 401);
	assert.equal((await daemon.request("GET", "/v1", bearer(TOKEN))).status, 401);
	assert.equal(stays.answer.destroyed, false);
	stays.answer.destroy();
	assert.equal(await daemon.stop(), 0);
});

// Calls `use` with a time that is near, and again with one farther away if that was over before its use.
async function before_it_expires(use) {
	for (let seconds = 4; ; seconds *= 2) {
		const used = await use(new Date(Date.now() + seconds * 1000));
		if (used) return used;
	}
}

test("callers: a token that expires loses its stream, without a reload", LIMIT, async (t) => {
	const files = new Files();
	const daemon = await begin(t, files);
	const answer = await before_it_expires(async (soon) => {
		files.let_in(`${caller("backup", "read", TOKEN)}  expires: ${soon.toISOString().replace(/\.\d+Z$/, "Z")}\n`);
		await hang_up(daemon, "daemon_reloaded");
		const { status, code } = await daemon.request("GET", "/v1/events/stream?after=now", bearer(TOKEN)).catch((error) => error);
		return status !== 401 && (status ?? code);
	});
	assert.ok([200, "ECONNRESET"].includes(answer), answer);
	assert.equal((await daemon.request("GET", "/v1", bearer(TOKEN))).status, 401);
	assert.equal(await daemon.stop(), 0);
});

test("callers: a certificate that expires loses its stream and its keep-alive connection", LIMIT, async (t) => {
	const files = new Files();
	const ca = new Ca(scratch_folder("expiry"));

	ca.issueServer();
	files.let_in("- name: backup\n  role: read\n  certificates: ['CN:backup']\n");
	files.set(`tls:\n  certificate: ${ca.path("server.pem")}\n  key: ${ca.path("server.key")}\n`
		+ `  client_ca: ${ca.path("ca.pem")}\n  client_certificate: required\n`);
	const daemon = daemon_of(t, { args: ["--config", files.config, "--listen", "https://127.0.0.1:0"] });
	const [, port] = await until(() => /serves HTTPS on 127.0.0.1, port (\d+)/.exec(daemon.log));
	const get = (path, by) => new Promise((done, failed) => {
		const request = https.get({ host: "127.0.0.1", port, path, agent: by }, (answer) => {
			answer.on("error", () => {});
			answer.on("close", () => done({ status: answer.statusCode, reused: request.reusedSocket }));
			answer.resume();
		});
		request.on("error", failed);
	});
	const agent = await before_it_expires(async (soon) => {
		ca.issue("backup", { expires: soon });
		const options = { ca: ca.read("ca.pem"), ...ca.credentials("backup") };
		const by = new https.Agent({ keepAlive: true, maxSockets: 1, ...options });
		const follower = new https.Agent(options);

		t.after(() => { by.destroy(); follower.destroy(); });
		const first = await get("/v1", by).catch(() => null);
		const stream = await get("/v1/events/stream?after=now", follower).catch(() => null);
		return first?.status === 200 && stream?.status === 200 && by;
	});
	assert.deepEqual(await get("/v1", agent), { status: 401, reused: true });
	assert.equal(await daemon.stop(), 0, daemon.log);
});
