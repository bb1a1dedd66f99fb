// SPDX-License-Identifier: Apache-2.0
//
// Walks the table of header fields in docs/http.md against a daemon: each field with each kind of request. What the table
// says is ignored changes nothing, what is refused has the status and has done nothing, and what is honoured is tried both
// ways. Then requests that public conformance suites make.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const TOKEN = "0123456789abcdef0123456789abcdef";
const SIZE = 4096;
const source = (path) => readFileSync(join(process.env.VBD_SOURCE, path), "utf8");

// --- the table ---------------------------------------------------------------------------------------------------

const rows = source("docs/http.md").split("## Header fields")[1].split("\n").filter((line) => line.startsWith("|"))
	.map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
const KINDS = rows[0].slice(2, -1);
const TABLE = rows.slice(2).map((cells) => ({
	field: cells[0].replaceAll("`", ""),
	of: Object.fromEntries(KINDS.map((kind, i) => [kind, cells[i + 2]])),
}));

// --- requests ----------------------------------------------------------------------------------------------------

// Sends a request as raw bytes, and returns its answer, whose connection ends.
async function speak(port, { method = "GET", target, lines = [], body }) {
	const socket = net.connect({ host: "127.0.0.1", port });
	const parts = [];

	socket.on("data", (data) => parts.push(data));
	socket.on("error", () => {});
	socket.write(`${method} ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n${body ?? ""}`, "latin1");
	await once(socket, "close").catch(() => {});
	let text = Buffer.concat(parts).toString("latin1").replace(/^HTTP\/1.1 100[^]*?\r\n\r\n/, "");
	const end = text.indexOf("\r\n\r\n");
	const [first, ...fields] = text.slice(0, end).split("\r\n");
	text = text.slice(end + 4);
	const headers = Object.fromEntries(fields.map((line) => {
		const colon = line.indexOf(":");

		return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
	}));
	return { status: Number(first.split(" ")[1]), headers, text, get json() { return JSON.parse(text); } };
}

class World {
	static async open(t, config = "") {
		const world = new World();
		const token = join(scratch_folder("http"), "token");

		writeFileSync(token, TOKEN, { mode: 0o600 });
		if (config) writeFileSync(`${token}.yaml`, config);
		world.daemon = daemon_of(t, { args: ["--listen", "127.0.0.1:0", "--control-token-file", token,
			...(config ? ["--config", `${token}.yaml`] : [])] });
		[, world.port] = await until(() => /serves HTTP on 127.0.0.1, port (\d+)/.exec(world.daemon.log));
		await world.make("/v1/buffers", { name: "b", size_bytes: SIZE, access: ["mw_bind"] });
		world.written = 0;
		return world;
	}

	// Fields in `instead` take the place of those of the same name; null leaves one out; a list is several lines.
	async send(request, instead = {}) {
		const { method = "GET", target, body, type } = request;
		const own = { Host: `127.0.0.1:${this.port}`, Connection: "close", Authorization: `Bearer ${TOKEN}` };

		if (body !== undefined) own["Content-Length"] = body.length;
		if (type) own["Content-Type"] = type;
		const lines = Object.entries({ ...own, ...instead }).filter(([, value]) => value !== null)
			.flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`));
		return speak(this.port, { method, target, lines, body: instead["Transfer-Encoding"] ? chunked(body) : body });
	}

	async make(path, body) {
		const answer = await this.send({ method: "POST", target: path, body: JSON.stringify(body), type: "application/json" });

		assert.ok([201, 202].includes(answer.status), answer.text);
		return answer.json;
	}

	// A request of a kind, and the ETag of what it is for.
	async of(kind) {
		const json = { type: "application/json", body: "{}" };

		switch (kind) {
		case "object": return { target: "/v1/buffers/b", tag: (await this.send({ target: "/v1/buffers/b" })).headers.etag };
		case "list": return { target: "/v1/buffers" };
		case "data": return { target: "/v1/buffers/b/data" };
		case "stream": return { target: "/v1/events/stream?after=oldest&limit=1" };
		case "PUT": return { method: "PUT", target: "/v1/buffers/b/data", type: "application/octet-stream",
			body: String(++this.written).padStart(8, "0") };
		case "create": return { method: "POST", target: "/v1/buffers", ...json, body: '{"size_bytes":4096}' };
		}
		const { id } = await this.make("/v1/connections", { bringup: "manual" });
		const tag = (await this.send({ target: `/v1/connections/${id}` })).headers.etag;

		return kind === "PATCH" ? { method: "DELETE", target: `/v1/connections/${id}`, ...json, tag }
			: { method: "POST", target: `/v1/connections/${id}/close`, ...json, tag };
	}

	data() {
		return this.send({ target: "/v1/buffers/b/data" }).then(({ text }) => text);
	}
}

const chunked = (body = "") => `${body && `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n`;
const is_get = (kind) => ["object", "list", "data", "stream"].includes(kind);

// --- what the fields are tried with ------------------------------------------------------------------------------

const FAR = "Fri, 01 Jan 2100 00:00:00 GMT", LONG_AGO = "Thu, 01 Jan 1970 00:00:00 GMT";

// Values that would change the answer if the field were honoured.
const IGNORED = {
	"If-Modified-Since": FAR, "If-Unmodified-Since": LONG_AGO, "If-Range": '"x"', Range: "bytes=0-1", "Content-Type": "text/plain",
	"Content-Language": "tlh", "Content-Location": "/v1/buffers/other", "Content-Digest": "sha-256=:AAAA:", "Repr-Digest": "sha-256=:AAAA:",
	Trailer: "If-Match", TE: "trailers, gzip", Accept: "application/xml;q=1, */*;q=0", "Accept-Charset": "utf-16",
	"Accept-Encoding": "gzip, identity;q=0", "Accept-Language": "tlh", "Keep-Alive": "timeout=0, max=0", Upgrade: "h2c, websocket",
	"HTTP2-Settings": "AAMAAABkAAQAAP__", "Max-Forwards": "0", Via: ["1.0 a", "1.1 b"], Date: LONG_AGO, From: "root@example.org",
	Referer: "http://evil.test/", "User-Agent": "curl/0.1", "Cache-Control": ["only-if-cached", "max-age=0"], Pragma: "no-cache",
	"Proxy-Authorization": "Bearer x", Cookie: ["a=b", "role=control"], Prefer: "wait=0, return=minimal, handling=strict",
	"Idempotency-Key": "one", "Last-Event-ID": "x", "Sec-Fetch-Site": "cross-site", "Access-Control-Request-Method": "DELETE",
	Forwarded: "for=192.0.2.1;host=evil.test;proto=https", "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "evil.test",
	"X-Forwarded-Proto": "https", "X-Real-IP": "192.0.2.1",
};

const REFUSED = {
	"Content-Range": "bytes 8-11/16", "Content-Encoding": ["gzip", "gzip, identity", ["identity", "br"]],
	"X-HTTP-Method": "DELETE", "X-HTTP-Method-Override": "PATCH", "X-Method-Override": "GET",
};

// Each function returns [instead, status or a function that judges the answer]; a status of 0 is that of the bare request.
const HONOURED = {
	"If-Match": (kind, { tag }) => [
		["*", 0], ['*, "stale"', 412], [["*", '"stale"'], 412], ['"stale"', 412], ["stale", 412], ['"stale", W/"x"', 412],
		...(tag ? [[tag, 0], [['"stale"', tag], 0], [`"a,b" , ${tag}`, 0], [`W/${tag}`, 412]] : []),
	],
	"If-None-Match": (kind, { tag }) => {
		const known = is_get(kind) ? 304 : 412;

		return [["*", known], ['"x"', 0], ['"x", "*"', 0],
			...(tag ? [[tag, known], [`W/${tag}`, known], [['"x"', tag], known]] : [])];
	},
	"If-Range": () => ['"x"', 'W/"x"', FAR, LONG_AGO].map((value) =>
		[value, (answer) => answer.status === 200 && answer.text.length === SIZE, { Range: "bytes=0-1" }]),
	Range: () => [
		["bytes=0-1", (answer) => answer.status === 206 && answer.text.length === 2 && answer.headers["content-range"] === `bytes 0-1/${SIZE}`],
		["bytes=-2", 206], [`bytes=${SIZE}-`, 416], ["bytes=0-0,2-3", 0], ["lines=0-1", 0], ["bytes=3-2", 0],
		[["bytes=0-1", "bytes=2-3"], 400]],
	"Content-Type": (kind) => [["text/plain", 415], ["application/jsonx", 415],
		kind === "PUT" ? ["application/octet-stream", 0] : ["Application/JSON ; charset=utf-8", 0]],
	"Content-Length": () => [[["0", "0"], 400]],
	"Transfer-Encoding": (kind) => [["gzip, chunked", 501], ["chunked, gzip", 400], ["gzip", 400],
		...(is_get(kind) ? [] : [["chunked", 0]])].map(([value, wanted]) => [value, wanted, { "Content-Length": null }]),
	Expect: () => [["100-continue", 0], ["100-Continue, 100-continue", 0], ["200-ok", 417], [["100-continue", "x"], 417]],
	// The answer ends only with its connection.
	Connection: () => [["close", 0], ["keep-alive, close", 0], [["keep-alive", "close"], 0]],
	Host: () => [["a b", 400], ["a@b", 400], ["http://127.0.0.1", 400], ["", 400], ["[::1", 400], ["127.0.0.1:x", 400], [null, 400],
		[["127.0.0.1", "127.0.0.1"], 400], ["evil.test", 421], ["localhost", 0], ["127.0.0.1", 0]],
	Authorization: () => [[null, 401], ["Bearer x", 401], ["Basic eDp5", 401], [`bearer ${TOKEN}`, 0]],
	Prefer: (kind) => (kind === "object"
		? [["wait=0", (answer) => answer.status === 200 && answer.headers["preference-applied"] === "wait=0"]]
		: [["wait=20", (answer) => [200, 201, 204].includes(answer.status)], ["respond-async", 202], [["return=minimal", "wait=20"], (answer) =>
			[200, 201, 204].includes(answer.status)]]),
	"Idempotency-Key": (kind, { n }) => [[`key-${kind}-${n}`, 0], [["a", "b"], 400]],
	"Last-Event-ID": (kind, { server }) => [[`${server}-1`, (answer) => /^id: \S+-2$/m.test(answer.text)], ["", 200], ["x y", 400]],
	Origin: (kind, { port }) => [["http://evil.test", 403], ["null", 403], [`http://127.0.0.1:${port}`, 0]],
	"Sec-Fetch-Site": () => [["cross-site", 415, { "Content-Type": null }], ["same-origin", 0]],
	"Verbsd-If-Server": (kind, { server }) => [["another", 412], [server, 0]],
};

// --- the walk ----------------------------------------------------------------------------------------------------

async function try_one(world, field, kind, value, wanted, more) {
	const request = await world.of(kind);
	const before = kind === "PUT" ? await world.data() : "";
	const bare = { ...request, target: field === "Prefer" && kind === "object" ? `${request.target}?until=changed` : request.target };
	const answer = await world.send(bare, { [field]: value, ...more });
	const what = `${kind}, ${field}: ${value}: ${answer.status} ${answer.text.slice(0, 300)}`;

	if (typeof wanted === "function") assert.ok(wanted(answer), what);
	else assert.equal(answer.status, wanted || (await world.send(await world.of(kind))).status, what);
	// RFC 9110, 8.6: no other length than that of the 200. Both of an object have the same one, but for a counter's digits.
	if (answer.status === 304)
		assert.equal(answer.headers["content-length"], (await world.send(bare)).headers["content-length"], what);
	if (answer.status >= 400) {
		assert.equal(answer.headers["content-type"], "application/problem+json", what);
		assert.ok(answer.json.hint, what);
		if (kind === "PUT") assert.equal(await world.data(), before, `nothing was written: ${what}`);
	}
	if (is_get(kind) && !(field === "Transfer-Encoding")) {
		const head = await world.send({ ...bare, method: "HEAD" }, { [field]: value, ...more });

		assert.equal(head.text, "", what);
		assert.equal(head.status, ["Range", "If-Range"].includes(field) && !Array.isArray(value) ? 200 : answer.status, `HEAD ${what}`);
	}
}

const CELLS = {
	async honoured(world, field, kind) {
		const { tag } = await world.of(kind);
		const server = (await world.send({ target: "/v1" })).headers["verbsd-server"];
		const tries = HONOURED[field](kind, { tag, server, port: world.port, n: world.written });

		for (const [value, wanted, more] of tries) {
			if (tag && String(value).includes(tag)) {
				// A command changes its object, so each try has one of its own.
				const fresh = await world.of(kind);
				const put = (text) => text.replace(tag, fresh.tag);
				const answer = await world.send(fresh, { [field]: Array.isArray(value) ? value.map(put) : put(value) });

				assert.equal(answer.status, wanted || (await world.send(await world.of(kind))).status, `${kind}, ${field}: ${value}`);
				if (answer.status === 304) assert.notEqual(answer.headers["content-length"], "0");
				continue;
			}
			await try_one(world, field, kind, value, wanted, more);
		}
	},

	async ignored(world, field, kind) {
		const value = IGNORED[field];
		const lines = field === "Upgrade" ? { Connection: "close, Upgrade" } : {};
		const plain = await world.send(await world.of(kind));
		const answer = await world.send(await world.of(kind), { [field]: value, ...lines });
		const again = await world.send(await world.of(kind), { [field]: value, ...lines });

		assert.ok(value, `${field} has no value to try`);
		for (const one of [answer, again]) {
			assert.equal(one.status, plain.status, `${kind}, ${field}: ${one.text.slice(0, 200)}`);
			assert.deepEqual(Object.keys(one.headers).sort(), Object.keys(plain.headers).sort(), `${kind}, ${field}`);
			if (["object", "data", "stream"].includes(kind)) assert.equal(one.text, plain.text, `${kind}, ${field}`);
		}
		if (kind === "PUT") assert.ok((await world.data()).startsWith(String(world.written).padStart(8, "0")));
	},
};

test("the table of header fields is so", LIMIT, async (t) => {
	const world = await World.open(t);

	assert.deepEqual(KINDS, ["object", "list", "data", "stream", "PUT", "PATCH", "command", "create"]);
	for (const { field, of } of TABLE) {
		await t.test(field, async () => {
			for (const [kind, cell] of Object.entries(of)) {
				if (CELLS[cell]) await CELLS[cell](world, field, kind);
				else for (const value of [REFUSED[field]].flat(1)) await try_one(world, field, kind, value, Number(cell));
			}
		});
	}
	assert.equal(await world.daemon.stop(), 0, world.daemon.log);
});

const ADDR = "10.0.0.1";
const SEND = { connection: "to", op: "send", buffer: "b", length_bytes: 64 };
// An object of each kind; a kind without a row is made by another one.
const MADE = {
	buffers: { size_bytes: SIZE }, pds: {}, cqs: {}, srqs: {}, listeners: { addr: ADDR, port: 0 }, connections: { bringup: "manual" },
	faults: { effect: "hold_receives" }, ud_endpoints: { addr: ADDR, port: 0 }, ud_peers: { ud_endpoint: "point", dst_addr: ADDR, dst_port: 7600 },
	multicast_memberships: { ud_endpoint: "point", addr: "239.1.1.1" }, transfers: SEND, transfer_batches: { transfers: [SEND] },
	connection_batches: { connections: [{ dst_addr: ADDR, dst_port: 7471 }] }, probes: { connection: "to", count: 1 },
	copies: { source: { export: "root" }, destination: { export: "x", addr: ADDR, port: 7471 } },
	benchmarks: { connection: "to", op: "send", size_bytes: 64 }, windows: { buffer: "b", type: 1, access: ["remote_write"] },
};

test("no request that acts skips a condition", LIMIT, async (t) => {
	const world = await World.open(t, "fault_injection: true\nexports:\n- {name: root, path: /, access: [read], allow: [192.0.2.0/24]}\n");
	const { routes } = (await world.send({ target: "/v1" })).json;
	const acts = routes.filter(({ method }) => method !== "GET");

	await world.make("/v1/listeners", { name: "door", addr: ADDR, port: 7471, service: "sink", keep: true });
	await world.make("/v1/connections", { name: "to", dst_addr: ADDR, dst_port: 7471 });
	await world.make("/v1/ud_endpoints", { name: "point", addr: ADDR, port: 7600 });
	await until(async () => (await world.send({ target: "/v1/connections/to" })).json.state === "established");
	await until(async () => (await world.send({ target: "/v1/ud_endpoints/point" })).json.state === "ready");
	assert.ok(acts.length > 50);
	for (const { method, path } of acts) {
		const [, kind] = path.match(/^\/v1\/(\w+)\/\{ref\}/) ?? [];
		const ref = kind && (MADE[kind] ? (await world.make(`/v1/${kind}`, MADE[kind])).id : "door");
		const type = method === "PUT" ? "application/octet-stream" : "application/json";
		const answer = await world.send({ method, target: path.replace("{ref}", ref), type, body: "{}" }, { "If-Match": '"stale"' });

		assert.equal(answer.status, 412, `${method} ${path}: ${answer.text}`);
		if (kind && MADE[kind]) await world.send({ method: "DELETE", target: `/v1/${kind}/${ref}` }, { Prefer: "wait=60" });
	}
	assert.equal(await world.daemon.stop(), 0, world.daemon.log);
});

test("a target has three forms", LIMIT, async (t) => {
	const world = await World.open(t);
	const here = `127.0.0.1:${world.port}`;
	const status = async (method, target, instead) => (await world.send({ method, target }, instead)).status;

	// RFC 9112, 3.2.2: the host in the target counts, and the Host is ignored if it is one.
	for (const host of [here, "evil.test"])
		assert.equal(await status("GET", `http://${here}/v1/buffers/b`, { Host: host }), 200);
	assert.equal(await status("GET", `HTTP://localhost/v1/buffers?limit=1`), 200);
	assert.equal(await status("GET", `http://${here}?x=1`), 400, "the path is /");
	assert.match((await world.send({ target: `http://${here}?x=1` })).text, /no parameter/);
	assert.equal(await status("HEAD", `http://${here}`), 200, "the dashboard");
	assert.equal(await status("GET", "http://evil.test/v1"), 421);
	assert.equal(await status("GET", `https://${here}/v1`), 421, "this is no TLS");
	assert.equal(await status("GET", `http://a@${here}/v1`), 400);
	assert.equal(await status("GET", `http://${here}/v1`, { Host: "a b" }), 400);
	assert.equal(await status("GET", `http://${here}/v1`, { Host: null }), 400);
	for (const target of ["http:///v1", "ftp://127.0.0.1/v1", "*", "v1", "127.0.0.1:80"])
		assert.equal(await status("GET", target), 400, target);
	assert.equal(await status("GET", `http://${here}/v1`, { Origin: "http://evil.test" }), 403);
	assert.equal(await status("GET", `http://localhost/v1`, { Origin: "http://localhost" }), 200);

	// RFC 9110, 9.3.7.
	const all = await world.send({ method: "OPTIONS", target: "*" });

	assert.equal(all.status, 204);
	assert.equal(all.headers.allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
	assert.equal(await status("OPTIONS", "*", { Authorization: null }), 401);
	assert.equal((await world.send({ method: "OPTIONS", target: "/v1/buffers" })).headers.allow, "GET, HEAD, POST, OPTIONS");
	assert.equal(await status("OPTIONS", "/v1/nothing"), 404);
	assert.equal(await status("OPTIONS", "/v1/buffers", { Origin: "http://evil.test" }), 403, "no CORS");
	for (const [method, target] of [["CONNECT", here], ["TRACE", "/v1"], ["BREW", "/v1"], ["BREW", "/v1/nothing"], ["get", "/v1"]])
		assert.equal(await status(method, target), 501, method);
	const refused = await world.send({ method: "DELETE", target: "/v1/buffers" });

	assert.equal(refused.status, 405);
	assert.equal(refused.headers.allow, refused.json.allow.join(", "));
	assert.equal(await world.daemon.stop(), 0, world.daemon.log);
});

test("a page behind a proxy is one of allowed_hosts", LIMIT, async (t) => {
	const world = await World.open(t, "allowed_hosts: [rdma.example]\n");
	const act = async (origin) => (await world.send({ method: "POST", target: "/v1/buffers", type: "application/json",
		body: '{"size_bytes":4096}' }, { Origin: origin })).status;

	for (const origin of ["https://rdma.example", "http://RDMA.example"]) assert.equal(await act(origin), 201, origin);
	for (const origin of ["https://rdma.example:8443", "https://rdma.example.evil.test", "https://evil.test", "http://127.0.0.1",
		"https://rdma.example/", "ftp://rdma.example", "https://", "null"])
		assert.equal(await act(origin), 403, origin);
	assert.equal(await world.daemon.stop(), 0, world.daemon.log);
});

test("each malformed request has a hint of its own", LIMIT, async (t) => {
	const world = await World.open(t);
	const hints = new Set();

	for (const [target, instead, method] of [["/v1", { Host: "a b" }], ["/v1", { Range: ["bytes=0-1", "bytes=0-1"] }], ["/v1/%zz", {}], ["/v1/..", {}],
		["v1", {}], ["/v1?a=1&a=2", {}], ["/v1\\x", {}], ["/v1/%2f", {}], ["/v1/%ff", {}],
		["/v1", { "A b": "c" }], ["/v1", { Host: null }], ["/v1", {}, "GE(T"]]) {
		const answer = await world.send({ target, method }, instead);

		assert.equal(answer.json.code, "malformed_request", `${target} ${JSON.stringify(instead)}`);
		assert.ok(!hints.has(answer.json.hint), answer.json.hint);
		hints.add(answer.json.hint);
	}
	assert.equal(await world.daemon.stop(), 0, world.daemon.log);
});

test("blanks behind a value are no part of it", LIMIT, async (t) => {
	const world = await World.open(t);
	const here = `127.0.0.1:${world.port}`;
	const { server_id } = (await world.send({ target: "/v1" })).json;
	const values = { Host: here, Authorization: `Bearer ${TOKEN}`, Origin: `http://${here}`, "Verbsd-If-Server": server_id, "Idempotency-Key": "once",
		"Last-Event-ID": "oldest", Expect: "100-continue" };

	for (const [name, value] of Object.entries(values))
		for (const blanks of [" ", "\t", " \t "])
			assert.equal((await world.send(await world.of("create"), { [name]: value + blanks })).status, 201, name);
	await world.send(await world.of("create"), { "Idempotency-Key": "same" });
	assert.equal((await world.send(await world.of("create"), { "Idempotency-Key": "same " })).headers["idempotency-replayed"], "true");
	assert.equal(await world.daemon.stop(), 0, world.daemon.log);
});

// RFC 9110, 10.1.1: whoever waits for the 100 gets that or a final answer.
test("each form of Expect is answered before the body", LIMIT, async (t) => {
	const world = await World.open(t);

	for (const lines of [["100-continue"], ["100-Continue "], ["100-continue, 100-continue"], [", 100-continue"], ["100-continue", "100-continue"]]) {
		const socket = net.connect({ host: "127.0.0.1", port: world.port });

		socket.write(`PUT /v1/buffers/b/data HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\nAuthorization: Bearer ${TOKEN}\r\n` +
			`Content-Type: application/octet-stream\r\nContent-Length: 5\r\n${lines.map((line) => `Expect: ${line}\r\n`).join("")}\r\n`);
		const [first] = await once(socket, "data");

		assert.match(String(first), /^HTTP\/1\.1 100 /, lines.join(" and "));
		socket.destroy();
	}
	assert.equal(await world.daemon.stop(), 0, world.daemon.log);
});

test("each field that the daemon reads is in the table", () => {
	const read = [...source("api/http/header.h").matchAll(/X\([A-Z_]+, +"([^"]+)"/g)].map(([, name]) => name);
	const told = TABLE.map(({ field }) => field);

	assert.ok(read.length > 10);
	assert.deepEqual(read.filter((name) => !told.includes(name)), []);
	assert.equal(new Set(told).size, told.length);
});
