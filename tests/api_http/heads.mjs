// SPDX-License-Identifier: Apache-2.0
//
// Heads of every size: a request that is carried out is answered, and one that is too large is refused before that.
import assert from "node:assert/strict";
import { JSON_TYPE, head, withServer } from "./lib.mjs";

const KIB = 1024;

// Sends a request, and returns its answer, the only one of its connection: nothing but its end is behind it.
async function ask(server, bytes, method = "GET") {
	const client = await server.connect();
	client.send(bytes);
	const answer = await client.answer(method);
	if (answer?.status >= 400) {
		await client.whenClosed();
		assert.equal(client.received.length, 0, "nothing is behind the answer");
	}
	client.destroy();
	return answer;
}

// Counts what is carried out and how much of that is answered, and expects an answer to each request.
async function all(server, requests, statuses = [201, 431]) {
	const before = (await server.stats()).echoes;
	let made = 0;
	for (const bytes of requests) {
		const answer = await ask(server, bytes, "POST");
		assert.ok(statuses.includes(answer?.status), `${bytes.length} bytes: ${answer?.status}`);
		made += answer.status !== 431;
		assert.equal((await server.stats()).echoes - before, made, `${bytes.length} bytes: ${answer.status}`);
	}
	return made;
}

const post = (headers, body = "{}") => head("POST", "/v1/echo", { ...JSON_TYPE, "Content-Length": body.length, ...headers }) + body;
const steps = (from, to, step) => Array.from({ length: (to - from) / step }, (_, i) => from + i * step);
const cookies = (bytes) => "a=b; ".repeat(bytes / 5 + 1).slice(0, bytes);

withServer("a head of 32 KiB is taken, whatever is in it", {}, async (server) => {
	const heads = {
		"a cookie": { Cookie: `a=${"x".repeat(32 * KIB)}` },
		"many cookies": { Cookie: cookies(32 * KIB) },
		"40 fields": Object.fromEntries(steps(0, 40, 1).map((i) => [`X-${i}`, "x".repeat(810)])),
	};
	for (const [name, headers] of Object.entries(heads)) assert.equal((await ask(server, post(headers), "POST"))?.status, 201, name);
	const client = await server.connect();
	for (let i = 0; i < 3; i++) {
		client.send(post(heads["a cookie"]));
		assert.equal((await client.answer())?.status, 201);
	}
	client.destroy();
});

withServer("a request with a cookie of any size is answered", {}, async (server) => {
	const made = await all(server, steps(15 * KIB, 56 * KIB, 331).map((bytes) => post({ Cookie: cookies(bytes) })));
	assert.ok(made > 50);
});

withServer("a request with any number of fields is answered", {}, async (server) => {
	const made = await all(server, steps(400, 900, 7).map((count) => post({}).replace("\r\n\r\n", `\r\n${"A: b\r\n".repeat(count)}\r\n`)));
	assert.ok(made > 10);
});

withServer("a request with trailers of any size is answered", {}, async (server) => {
	const chunked = post({ "Content-Length": null, "Transfer-Encoding": "chunked" }, "");
	const made = await all(server, steps(KIB, 56 * KIB, 997).map((bytes) => `${chunked}2\r\n{}\r\n0\r\nA: ${"x".repeat(bytes)}\r\n\r\n`), [201, 431, 500]);
	assert.ok(made > 30);
});

// An extension of a chunk makes the buffer large, and what is behind the request fills it.
withServer("a request whose answer has no memory is answered nevertheless", {}, async (server) => {
	const chunked = post({ "Content-Length": null, "Transfer-Encoding": "chunked" }, "");
	const client = await server.connect();
	for (const bytes of [`${chunked}2;${"x".repeat(40404)}`, "\r\n{}", `\r\n0\r\n\r\n${"GET".repeat(16 * KIB)}`]) {
		client.send(bytes);
		await server.rests();
	}
	const answer = await client.answer("POST");
	assert.equal(answer?.status, 500);
	assert.equal(answer.json.code, "internal");
	assert.equal((await server.stats()).echoes, 1);
	client.destroy();
});

withServer("a query of any number of parameters is answered", {}, async (server) => {
	for (const count of steps(0, 20000, 991)) {
		const answer = await ask(server, head("GET", `/v1/ping?${"a&".repeat(count)}`));
		assert.ok([200, 400, 414].includes(answer?.status), `${count}: ${answer?.status}`);
	}
});

withServer("what is too large is refused by a problem", {}, async (server) => {
	for (const bytes of [42 * KIB, 47 * KIB, 64 * KIB, 200 * KIB]) {
		const answer = await ask(server, head("GET", "/v1/ping", { A: "x".repeat(bytes) }));
		assert.equal(answer?.status, 431, `${bytes}`);
		assert.equal(answer.headers["content-type"], "application/problem+json");
		assert.equal(answer.json.code, "head_too_large");
	}
});
