// SPDX-License-Identifier: Apache-2.0
//
// nginx in front of the daemon: with a bare proxy_pass, and as docs/http.md has it. API, stream, long poll, data and
// dashboard work through either.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { join } from "node:path";
import test from "node:test";

import { freePort } from "../../bench/lib/programs.mjs";
import { Ca } from "../certificates.mjs";
import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";
import { has_nginx, start_nginx } from "./nginx.mjs";

const NAME = "rdma.example";
const TOKEN = "0123456789abcdef0123456789abcdef";
const OPTIONS = { timeout: 500000, skip: has_nginx() ? false : "nginx is not installed" };

// A daemon with a token, of which browsers know the name only.
async function daemon_behind(t) {
	const token = join(scratch_folder("proxy"), "token");

	writeFileSync(token, TOKEN, { mode: 0o600 });
	writeFileSync(`${token}.yaml`, `allowed_hosts: [${NAME}]\n`);
	const daemon = daemon_of(t, { args: ["--config", `${token}.yaml`, "--listen", "127.0.0.1:0", "--control-token-file", token] });
	const [, port] = await until(() => /serves HTTP on 127.0.0.1, port (\d+)/.exec(daemon.log));

	daemon.port = Number(port);
	return daemon;
}

// A browser or program at the proxy, which knows it by its name.
class Client {
	constructor(port, ca, host = NAME, below = "") {
		this.below = below;
		this.options = { host: "127.0.0.1", port, agent: false, servername: host, ca };
		this.module = ca ? https : http;
		this.host = host;
	}

	// Sends a request, and returns its answer when the head is there.
	async open(method, path, { headers = {}, body } = {}) {
		const request = this.module.request({ ...this.options, method, path: this.below + path, headers: { Host: this.host, ...headers } });

		request.end(body);
		const [answer] = await once(request, "response");
		answer.on("error", () => {});
		return answer;
	}

	async request(method, path, { headers = {}, body, type = "application/json" } = {}) {
		const own = { Authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { "Content-Type": type }), ...headers };
		const answer = await this.open(method, path, { headers: own, body });
		const parts = [];

		for await (const part of answer) parts.push(part);
		const bytes = Buffer.concat(parts);
		return { status: answer.statusCode, headers: answer.headers, bytes, get json() { return JSON.parse(bytes); } };
	}

	async make(name, headers) {
		return (await this.request("POST", "/v1/buffers", { body: JSON.stringify({ name, size_bytes: 4 << 20 }), headers })).status;
	}
}

// A page at the name acts, one of another site does not.
async function api_works(client) {
	assert.equal((await client.request("GET", "/v1")).status, 200);
	assert.equal((await client.request("GET", "/v1", { headers: { Authorization: "Bearer x" } })).status, 401);
	assert.equal(await client.make("b", { Origin: `https://${NAME}` }), 201);
	assert.equal(await client.make("evil", { Origin: "https://evil.test" }), 403);
}

async function stream_works(client) {
	const answer = await client.open("GET", "/v1/events/stream?after=now", { headers: { Authorization: `Bearer ${TOKEN}` } });
	const events = answer.setEncoding("utf8")[Symbol.asyncIterator]();
	let text = "";

	assert.equal(answer.statusCode, 200);
	for (const name of ["first", "second"]) {
		assert.equal(await client.make(name), 201);
		while (!text.includes(`"${name}"`)) text += (await events.next()).value;
	}
	answer.destroy();
}

async function long_poll_works(client) {
	const { next } = (await client.request("GET", "/v1/events?after=now")).json;
	const poll = client.request("GET", `/v1/events?after=${next ?? "now"}&wait_ms=50000`);

	// Made again and again: the poll may begin behind any of them.
	let answer;
	poll.then((got) => (answer = got));
	for (let i = 0; !answer; i++) {
		assert.equal(await client.make(`poll-${i}`), 201);
		assert.equal((await client.request("DELETE", `/v1/buffers/poll-${i}`)).status, 204);
	}
	assert.equal(answer.status, 200);
	assert.ok(answer.json.items.length > 0);
}

async function data_works(client, size) {
	const bytes = Buffer.alloc(size, "0123456789abcdef");
	const path = "/v1/buffers/b/data";

	assert.equal((await client.request("PUT", path, { body: bytes, type: "application/octet-stream" })).status, 200);
	assert.ok((await client.request("GET", path)).bytes.subarray(0, size).equals(bytes));
	assert.equal((await client.request("GET", path, { headers: { Range: "bytes=2-5" } })).bytes.toString(), "2345");
	assert.equal((await client.request("PUT", path, { body: "x", type: "application/octet-stream",
		headers: { "Content-Range": "bytes 8-8/16" } })).status, 400);
}

// The page asks for nothing but what is beside it, so that it works below a path of the proxy.
async function dashboard_works(client) {
	const page = await client.request("GET", "/");
	const links = [...page.bytes.toString().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path);
	const assets = links.filter((path) => path.startsWith("assets/")).map((path) => `/${path}`);

	assert.ok(links.every((path) => !path.startsWith("/")), links.join());

	assert.equal(page.status, 200);
	assert.match(page.headers["content-security-policy"], /default-src 'self'/);
	assert.ok(assets.length > 1, page.bytes.toString());
	for (const path of assets) {
		const asset = await client.request("GET", path);

		assert.equal(asset.status, 200, path);
		assert.equal((await client.request("GET", path, { headers: { "If-None-Match": asset.headers.etag } })).status, 304, path);
	}
}

async function all_works(client, bytes) {
	await api_works(client);
	await stream_works(client);
	await long_poll_works(client);
	await data_works(client, bytes);
	await dashboard_works(client);
}

test("a bare proxy_pass will do", OPTIONS, async (t) => {
	const daemon = await daemon_behind(t);
	const port = await freePort();

	await start_nginx(t, scratch_folder("nginx"),
		`server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${daemon.port}; } }`, port);
	await all_works(new Client(port), 1 << 20);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

// As docs/http.md has it.
test("a path of the proxy will do", OPTIONS, async (t) => {
	const daemon = await daemon_behind(t);
	const port = await freePort();

	await start_nginx(t, scratch_folder("nginx"),
		`server { listen 127.0.0.1:${port}; location /verbsd/ { proxy_pass http://127.0.0.1:${daemon.port}/; } }`, port);
	const client = new Client(port, undefined, NAME, "/verbsd");
	await all_works(client, 1 << 20);
	const listed = execFileSync(process.env.VBD_CTL, ["-s", `http://127.0.0.1:${port}/verbsd`, "buffers", "ls", "--json"],
		{ env: { ...process.env, VERBSD_TOKEN: TOKEN } });
	assert.ok(JSON.parse(listed).items.some(({ name }) => name === "b"));
	// Without the slash at its end the page would look for its parts elsewhere.
	const { status, headers } = await client.request("GET", "");
	assert.deepEqual([status, new URL(headers.location).pathname], [301, "/verbsd/"]);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

test("the configuration of docs/http.md works as written", OPTIONS, async (t) => {
	const daemon = await daemon_behind(t);
	const port = await freePort();
	const folder = scratch_folder("nginx");
	const ca = new Ca(folder);
	const [, written] = readFileSync(join(process.env.VBD_SOURCE, "docs/http.md"), "utf8").match(/^```nginx\n(.*?)^```\n/ms);
	const replaced = [["listen 443", `listen 127.0.0.1:${port}`], ["127.0.0.1:7480", `127.0.0.1:${daemon.port}`],
		["/etc/nginx/rdma.example.pem", join(folder, "server.pem")], ["/etc/nginx/rdma.example.key", join(folder, "server.key")]];

	ca.issueServer("server", `DNS:${NAME}`);
	await start_nginx(t, folder, replaced.reduce((text, [from, to]) => {
		assert.ok(text.includes(from), from);
		return text.replaceAll(from, to);
	}, written), port);
	await all_works(new Client(port, ca.read("ca.pem")), 3 << 20);
	await assert.rejects(new Client(port, ca.read("ca.pem"), "evil.test").request("GET", "/v1"), "another name gets no handshake");
	assert.equal(await daemon.stop(), 0, daemon.log);
});
