// SPDX-License-Identifier: Apache-2.0
//
// Bodies: large, endless, unwanted, with and without a declared length; and answers of any size.
import assert from "node:assert/strict";
import { head, withServer, JSON_TYPE } from "./lib.mjs";

const MIB = 1024 * 1024;
const chunk = (bytes) => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

withServer("16 MiB of JSON are refused by their announced length, without being read", {}, async (server) => {
	const before = server.status("VmRSS");
	const answer = await server.request("POST", "/v1/echo", { headers: JSON_TYPE, body: "{},".repeat((16 * MIB) / 3) });
	assert.equal(answer.status, 413);
	assert.equal(answer.json.code, "body_too_large");
	assert.equal(answer.json.limit, 256 * 1024);
	assert.ok(server.status("VmRSS") - before < 16 * 1024, "memory stays flat");
});

withServer("16 MiB of JSON in chunks are refused when they pass the limit", {}, async (server) => {
	const client = await server.connect();
	const before = server.status("VmRSS");
	client.send(head("POST", "/v1/echo", { ...JSON_TYPE, "Transfer-Encoding": "chunked" }));
	for (let i = 0; i < 256; i++) client.send(chunk(Buffer.alloc(64 * 1024, "0,")));
	client.send("0\r\n\r\n");
	const answer = await client.answer();
	assert.equal(answer.status, 413);
	assert.ok(server.status("VmRSS") - before < 16 * 1024, "memory stays flat");
	client.send(head("GET", "/v1/ping"));
	assert.equal((await client.answer()).status, 200, "the connection goes on");
	client.destroy();
});

withServer("a body that never ends is cut", {}, async (server) => {
	const client = await server.connect();
	const bytes = chunk(Buffer.alloc(MIB, "0,"));
	client.send(head("POST", "/v1/echo", { ...JSON_TYPE, "Transfer-Encoding": "chunked" }));
	while (!client.closed) await new Promise((done) => client.socket.write(bytes, done));
	assert.equal(client.received.length, 0);
	client.destroy();
});

withServer("a body of exactly the limit is read", {}, async (server) => {
	const body = `{"a":"${"x".repeat(256 * 1024 - 8)}"}`;
	assert.equal(body.length, 256 * 1024);
	assert.equal((await server.request("POST", "/v1/echo", { headers: JSON_TYPE, body })).status, 201);
	assert.equal((await server.request("POST", "/v1/echo", { headers: JSON_TYPE, body: `${body} ` })).status, 413);
});

withServer("hostile JSON is refused with its place", {}, async (server, t) => {
	const cases = {
		"100,000 brackets": ["[".repeat(100000), "malformed_json"],
		"a member twice": ['{"a":1,"a":2}', "malformed_json"],
		"a lone surrogate": ['{"a":"\\ud800"}', "malformed_json"],
		"an escaped NUL": ['{"a":"\\u0000"}', "malformed_json"],
		"bad UTF-8": [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "bad_utf8"],
		NaN: ['{"a":NaN}', "malformed_json"],
		"2^63": ['{"a":9223372036854775808}', "out_of_range"],
		"something behind it": ["{} {}", "malformed_json"],
		"nothing at all": ["", "malformed_json"],
	};
	for (const [name, [body, code]] of Object.entries(cases)) {
		await t.test(name, async () => {
			const answer = await server.request("POST", "/v1/echo", { headers: JSON_TYPE, body });
			assert.equal(answer.status, 400);
			assert.equal(answer.json.code, code);
		});
	}
});

withServer("100-continue is honoured", {}, async (server) => {
	const client = await server.connect();
	client.send(head("POST", "/v1/echo", { ...JSON_TYPE, "Content-Length": 2, Expect: "100-continue" }));
	while (!client.received.includes("100 Continue")) await client.more();
	client.send("{}");
	assert.equal((await client.answer()).status, 201);
	client.destroy();
});

withServer("a refusal spares a client that asks first its body", {}, async (server) => {
	const expect = { Expect: "100-continue", "Content-Length": 10 * MIB };
	const refusals = [
		["POST", "/v1/echo", { ...JSON_TYPE, ...expect }, 413],
		["POST", "/v1/echo", { "Content-Type": "text/plain", ...expect }, 415],
		["POST", "/v1/nothing", { ...JSON_TYPE, ...expect }, 404],
		["PUT", "/v1/sink", { ...expect, Host: "evil.test" }, 421],
		["PUT", "/v1/sink", { ...expect, Origin: "http://evil.test" }, 403],
	];
	for (const [method, path, headers, status] of refusals) {
		const client = await server.connect();
		client.send(head(method, path, headers));
		assert.equal((await client.answer()).status, status);
		assert.ok(!client.continued);
		await client.whenClosed();
		client.destroy();
	}
});

withServer("a small body that is refused does not cost the connection", {}, async (server) => {
	const client = await server.connect();
	for (let i = 0; i < 3; i++) {
		client.send(head("POST", "/v1/nothing", { ...JSON_TYPE, "Content-Length": 2 }) + "{}");
		assert.equal((await client.answer()).status, 404);
	}
	client.destroy();
});

withServer("an upload streams, however long", {}, async (server) => {
	const body = Buffer.alloc(48 * MIB, 7);
	const before = server.status("VmRSS");
	assert.equal((await server.request("PUT", "/v1/sink", { body })).status, 204);
	const stats = await server.stats();
	assert.equal(stats.sunk_bytes, body.length);
	assert.equal(stats.sinks_closed, 1);
	assert.ok(server.status("VmRSS") - before < 16 * 1024, "memory stays flat");
});

withServer("an upload in chunks streams", {}, async (server) => {
	const client = await server.connect();
	client.send(head("PUT", "/v1/sink", { "Content-Type": "application/octet-stream", "Transfer-Encoding": "chunked" }));
	for (let i = 0; i < 64; i++) client.send(chunk(Buffer.alloc(100000, i)));
	client.send("0\r\n\r\n");
	assert.equal((await client.answer()).status, 204);
	assert.equal((await server.stats()).sunk_bytes, 6400000);
	client.destroy();
});

withServer("an upload past the end is refused when it is all there", {}, async (server) => {
	const answer = await server.request("PUT", "/v1/sink", { body: Buffer.alloc(66 * MIB) });
	assert.equal(answer.status, 416);
	assert.equal((await server.stats()).sinks_closed, 1);
});

withServer("an upload whose client leaves closes its sink", {}, async (server) => {
	const client = await server.connect();
	client.send(head("PUT", "/v1/sink", { "Content-Length": 1000000 }) + "x".repeat(1000));
	await server.until((stats) => stats.sunk_bytes === 1000);
	client.destroy();
	await server.until((stats) => stats.sinks_closed === 1);
});

withServer("an upload of no bytes is an upload", {}, async (server) => {
	assert.equal((await server.request("PUT", "/v1/sink", { body: "" })).status, 204);
	assert.equal((await server.request("PUT", "/v1/sink")).status, 204);
	assert.equal((await server.stats()).sinks_closed, 2);
});

withServer("answers are streamed byte for byte", {}, async (server) => {
	for (const bytes of [0, 1, 25, 262144, 262145, 20 * MIB]) {
		const answer = await server.request("GET", `/v1/stream?bytes=${bytes}`);
		assert.equal(answer.status, 200);
		assert.equal(answer.body.length, bytes);
		for (let i = 0; i < bytes; i += 4093) assert.equal(answer.body[i], 97 + (i % 26));
	}
});

withServer("answers from memory arrive byte for byte", {}, async (server) => {
	for (const bytes of [1, 65536, 65537, 131072, 20 * MIB + 1]) {
		const answer = await server.request("GET", `/v1/text?bytes=${bytes}`);
		assert.equal(answer.status, 200);
		assert.equal(answer.body.length, bytes);
		for (let i = 0; i < bytes; i += 4093) assert.equal(answer.body[i], 97 + (i % 26));
	}
});

withServer("HEAD is GET without the body", {}, async (server) => {
	const client = await server.connect();
	client.send(head("HEAD", "/v1/ping") + head("HEAD", "/v1/stream?bytes=1000000") + head("HEAD", "/v1/nothing"));
	assert.equal((await client.answer("HEAD")).headers["content-length"], "19");
	assert.equal((await client.answer("HEAD")).headers["content-length"], "1000000");
	assert.equal((await client.answer("HEAD")).status, 404);
	client.send(head("GET", "/v1/ping"));
	assert.equal((await client.answer()).json.role, "control");
	client.destroy();
});

// libmicrohttpd 0.9.75 sends the last chunk even if the answer has no body; a client would take it for the next answer.
withServer("HEAD of what has no end is answered by its head, and nothing follows", {}, async (server) => {
	const client = await server.connect();
	client.send(head("HEAD", "/v1/feed"));
	while (client.received.length < 12) await client.more();
	assert.equal(client.received.toString("latin1", 0, 12), "HTTP/1.1 200");
	const answer = await client.answer("HEAD");
	assert.equal(answer.status, 200);
	assert.equal(answer.headers["content-type"], "text/event-stream");
	await client.whenClosed();
	assert.equal(client.received.toString("latin1"), "");
	assert.equal((await server.request("GET", "/v1/ping")).status, 200);
});

withServer("every answer says that it is not to be stored or guessed at", {}, async (server) => {
	const answers = [
		await server.request("GET", "/v1/ping"),
		await server.request("GET", "/v1/nothing"),
		await server.request("PUT", "/v1/sink", { body: "x" }),
		await server.request("GET", "/v1/stream?bytes=1"),
	];
	for (const answer of answers) {
		assert.equal(answer.headers["cache-control"], "no-store");
		assert.equal(answer.headers["x-content-type-options"], "nosniff");
		assert.equal(answer.headers["access-control-allow-origin"], undefined);
	}
});
