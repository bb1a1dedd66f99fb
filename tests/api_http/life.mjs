// SPDX-License-Identifier: Apache-2.0
//
// Clients that wait, leave, send slowly or flood; and a server that stops meanwhile.
import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { Server, head, length, withServer, JSON_TYPE } from "./lib.mjs";

const GET_WAIT = head("GET", "/v1/wait");
const PING = head("GET", "/v1/ping");

async function park(server, count, bytes = GET_WAIT) {
	const clients = await Promise.all(Array.from({ length: count }, () => server.connect()));
	for (const client of clients) client.send(bytes);
	await server.until((stats) => stats.parked === count);
	return clients;
}

withServer("200 waiting clients that leave are all noticed", {}, async (server) => {
	const clients = await park(server, 200);
	for (const client of clients) client.destroy();
	const stats = await server.until((now) => now.left === 200 && now.connections_open === 1);
	assert.equal(stats.parked, 0);
});

withServer("a waiting client that ends its stream is answered, and closed", {}, async (server) => {
	const clients = await Promise.all(Array.from({ length: 10 }, () => server.connect()));
	for (const client of clients) client.socket.end(GET_WAIT);
	await server.until((stats) => stats.parked === 10);
	await server.request("POST", "/v1/wake");
	for (const client of clients) {
		assert.equal((await client.answer())?.json.end, "woken");
		await client.whenClosed();
	}
	assert.equal((await server.stats()).left, 0);
});

withServer("a body and the end of the stream behind it are answered", {}, async (server) => {
	const body = `{"a":"${"x".repeat(65536)}"}`;
	const posts = [
		head("POST", "/v1/wait?", { ...JSON_TYPE, ...length(body), Prefer: "wait=60" }) + body,
		head("GET", "/v1/wait").replace("HTTP/1.1", "HTTP/1.0"),
	];
	for (let i = 0; i < 10; i++) {
		const client = await server.connect();
		client.socket.end(posts[i % posts.length]);
		await server.until((stats) => stats.parked === 1);
		await server.request("POST", "/v1/wake");
		assert.equal((await client.answer())?.json.end, "woken");
		await client.whenClosed();
	}
});

withServer("a feed ends when its client ends its stream", {}, async (server) => {
	const client = await server.connect();
	client.send(head("GET", "/v1/feed"));
	await server.until((stats) => stats.feeds === 1);
	client.socket.end();
	await client.whenClosed();
	assert.match(client.received.toString("latin1"), /^HTTP\/1.1 200 [^]*\r\n\r\n0\r\n\r\n$/);
	await server.until((stats) => stats.feeds === 0);
});

withServer("a waiting client that resets the connection has left", {}, async (server) => {
	const [client] = await park(server, 1);
	client.socket.resetAndDestroy();
	await server.until((stats) => stats.left === 1);
});

withServer("waiting clients are woken, and their connections go on", {}, async (server) => {
	const clients = await park(server, 20);
	assert.equal((await server.request("POST", "/v1/wake")).json.woken, 20);
	for (const client of clients) {
		assert.equal((await client.answer()).json.end, "woken");
		client.send(PING);
		assert.equal((await client.answer()).status, 200);
		client.destroy();
	}
});

// The one who wakes keeps its connection and asks for nothing more, so that nothing else makes the server run.
withServer("a waiting client is woken by a request after which all is quiet", {}, async (server) => {
	const waker = await server.connect();
	waker.send(PING);
	await waker.answer();
	for (let i = 0; i < 5; i++) {
		const [client] = await park(server, 1);
		waker.send(head("POST", "/v1/wake", { "Content-Length": "0" }));
		assert.equal((await waker.answer("POST")).json.woken, 1);
		assert.equal((await client.answer()).json.end, "woken");
		client.destroy();
	}
	waker.destroy();
});

withServer("a wait ends at its deadline", {}, async (server) => {
	assert.equal((await server.request("GET", "/v1/wait?wait_ms=50")).json.end, "timeout");
});

withServer("a request may wait once more at its deadline", { env: { TEST_WAITING: "2" } }, async (server) => {
	const clients = await park(server, 2, head("GET", "/v1/wait?wait_ms=1&again=1"));
	await server.until((stats) => stats.again === 2 && stats.parked === 2);
	clients[0].destroy();
	await server.until((stats) => stats.left === 1 && stats.parked === 1);
	assert.equal((await server.request("POST", "/v1/wake")).json.woken, 1);
	assert.equal((await clients[1].answer()).json.end, "woken");
	clients[1].destroy();
});

withServer("a request behind a waiting one is answered after it", {}, async (server) => {
	const [client] = await park(server, 1, GET_WAIT + PING);
	await server.request("POST", "/v1/wake");
	assert.equal((await client.answer()).json.end, "woken");
	assert.equal((await client.answer()).json.role, "control");
	client.destroy();
});

withServer("a client that polls is not starved by 100 that begin to wait", {}, async (server) => {
	const poller = await server.connect();
	const clients = await Promise.all(Array.from({ length: 100 }, () => server.connect()));
	for (const client of clients) {
		client.send(GET_WAIT);
		poller.send(PING);
		assert.equal((await poller.answer()).status, 200);
	}
	await server.until((stats) => stats.parked === 100);
	poller.send(PING);
	assert.equal((await poller.answer()).status, 200);
	for (const client of [...clients, poller]) client.destroy();
});

withServer("too many waiting clients are told so", { env: { TEST_WAITING: "3" } }, async (server) => {
	const clients = await park(server, 3);
	const answer = await server.request("GET", "/v1/wait");
	assert.equal(answer.status, 429);
	assert.equal(answer.json.code, "too_many_requests");
	assert.match(answer.json.detail, /^3 requests wait already/);
	assert.equal(answer.json.limit_name, "limits.http_connections");
	assert.match(answer.headers["retry-after"], /^[1-9]\d*$/);
	for (const client of clients) client.destroy();
});

withServer("a request that came while the process was stopped is answered", { env: { TEST_IDLE_TIMEOUT_MS: "500" } }, async (server) => {
	const client = await server.connect();
	client.send(PING);
	assert.equal((await client.answer()).status, 200);
	server.process.kill("SIGUSR1");
	while (!/^State:\s+T/m.test(fs.readFileSync(`/proc/${server.process.pid}/status`, "utf8")))
		await new Promise((done) => setTimeout(done, 20));
	client.send(PING);
	// Longer than a client may stand idle.
	await new Promise((done) => setTimeout(done, 700));
	server.process.kill("SIGCONT");
	assert.equal((await client.answer())?.status, 200);
	client.destroy();
});

test("a stop answers waiting clients and ends cleanly", { timeout: 500000 }, async () => {
	const server = await Server.start();
	const clients = await park(server, 50);
	const idle = await server.connect();
	const silent = await server.connect();
	idle.send(PING);
	assert.equal((await idle.answer()).status, 200);
	const ended = server.stop();
	for (const client of clients) {
		const answer = await client.answer();
		assert.equal(answer.status, 503);
		assert.equal(answer.json.code, "stopping");
		assert.equal(answer.headers.connection, "close");
		await client.whenClosed();
		client.destroy();
	}
	await idle.whenClosed();
	await silent.whenClosed();
	idle.destroy();
	silent.destroy();
	assert.equal(await ended, 0);
	assert.equal(server.errors, "");
});

test("a stop does not wait for ever for a body that never comes", { timeout: 500000 }, async () => {
	const server = await Server.start();
	const client = await server.connect();
	client.send(head("PUT", "/v1/sink", { "Content-Length": 1000 }) + "x");
	await server.until((stats) => stats.sunk_bytes === 1);
	assert.equal(await server.stop(), 0);
	assert.equal(server.errors, "");
	client.destroy();
});

test("a stop without any client ends cleanly", { timeout: 500000 }, async () => {
	const server = await Server.start();
	assert.equal(await server.stop(), 0);
});

withServer("at the limit of connections the next one waits for its turn", { env: { TEST_SEATS: "8" } },
	async (server) => {
		const clients = await Promise.all(Array.from({ length: 8 }, () => server.connect()));
		for (const client of clients) {
			client.send(PING);
			assert.equal((await client.answer()).status, 200);
		}
		const next = await server.connect();
		next.send(PING);
		clients[3].destroy();
		assert.equal((await next.answer()).status, 200);
		for (const client of [...clients, next]) client.destroy();
	});

withServer("a connection serves many requests, also when they come at once", {}, async (server) => {
	const client = await server.connect();
	client.send(PING.repeat(50));
	for (let i = 0; i < 50; i++) assert.equal((await client.answer()).status, 200);
	client.send(head("GET", "/v1/nothing") + head("POST", "/v1/ping") + PING);
	assert.equal((await client.answer()).status, 404);
	assert.equal((await client.answer()).status, 405);
	assert.equal((await client.answer()).status, 200);
	client.destroy();
});

withServer("a client that ends its stream with its request is answered, and closed", {}, async (server) => {
	const client = await server.connect();
	client.socket.end(PING + PING);
	assert.equal((await client.answer()).status, 200);
	assert.equal((await client.answer()).status, 200);
	await client.whenClosed();
	await server.until((stats) => stats.connections_open === 1);
});

withServer("an idle server does not wake up, waiting clients or not", {}, async (server) => {
	const clients = await park(server, 10);
	await server.sleeps();
	for (const client of clients) client.destroy();
});

const HASTY = { env: { TEST_HEADER_TIMEOUT_MS: "300", TEST_PROGRESS_TIMEOUT_MS: "300" } };

// Sends one byte repeatedly until the server closes the connection.
async function dribble(client, bytes) {
	for (let i = 0; !client.closed; i++) {
		client.send(bytes[i % bytes.length]);
		await Promise.race([client.more(), new Promise((done) => setTimeout(done, 30))]);
	}
}

withServer("a client that never ends its headers is cut", HASTY, async (server) => {
	const client = await server.connect();
	client.send(`GET /v1/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nX: `);
	await dribble(client, "x");
	assert.equal(client.received.length, 0);
	client.destroy();
	assert.equal((await server.request("GET", "/v1/ping")).status, 200);
	assert.ok((await server.stats()).too_slow >= 1);
});

withServer("a client that says nothing is cut", HASTY, async (server) => {
	const client = await server.connect();
	await client.whenClosed();
	client.destroy();
});

withServer("a client that dribbles its body is cut", HASTY, async (server) => {
	const client = await server.connect();
	client.send(head("POST", "/v1/echo", { ...JSON_TYPE, "Content-Length": 100000 }));
	await dribble(client, " ");
	client.destroy();
	assert.equal((await server.stats()).echoes, 0);
});

withServer("a client that does not read its answer is cut", HASTY, async (server) => {
	const client = await server.connect();
	client.socket.pause();
	client.send(head("GET", "/v1/stream?bytes=1000000000"));
	await server.until((stats) => stats.connections_open === 1);
	assert.equal((await server.stats()).too_slow, 1);
	client.destroy();
});

withServer("a client that does not read an answer from memory is cut", HASTY, async (server) => {
	const client = await server.connect();
	client.socket.pause();
	client.send(head("GET", `/v1/text?bytes=${64 * 1024 * 1024}`));
	await server.until((stats) => stats.connections_open === 1 && stats.too_slow === 1);
	client.destroy();
});

// Its progress alone would let the client hold the memory for minutes.
withServer("a client that reads an answer from memory slowly is cut in the end",
	{ env: { TEST_ANSWER_TIMEOUT_MS: "300" } },
	async (server) => {
		const client = await server.connect();
		client.socket.on("data", () => client.socket.pause());
		const timer = setInterval(() => client.socket.resume(), 20);
		client.send(head("GET", `/v1/text?bytes=${64 * 1024 * 1024}`));
		await server.until((stats) => stats.connections_open === 1 && stats.too_slow === 1);
		clearInterval(timer);
		client.destroy();
	});

withServer("a slow client does not hold up the others", {}, async (server) => {
	const slow = await Promise.all(Array.from({ length: 50 }, () => server.connect()));
	for (const client of slow) client.send("POST /v1/echo HTTP/1.1\r\nHost: 127.0.");
	for (let i = 0; i < 20; i++) assert.equal((await server.request("GET", "/v1/ping")).status, 200);
	for (const client of slow) client.destroy();
});

withServer("a repeat while the first request waits is a conflict", {}, async (server) => {
	const headers = { "Idempotency-Key": "k" };
	const [client] = await park(server, 1, head("POST", "/v1/wait", headers));
	assert.equal((await server.request("POST", "/v1/wait", { headers })).json.code, "idempotency_conflict");
	await server.request("POST", "/v1/wake");
	assert.equal((await client.answer()).json.end, "woken");
	assert.equal((await server.request("POST", "/v1/wait", { headers })).json.end, "woken");
	client.destroy();
});

withServer("a key whose client left can be used again", {}, async (server) => {
	const headers = { "Idempotency-Key": "k" };
	const [client] = await park(server, 1, head("POST", "/v1/wait", headers));
	client.destroy();
	await server.until((stats) => stats.left === 1 && stats.connections_open === 1);
	const answer = await server.request("POST", "/v1/wait?x=1", { headers });
	assert.equal(answer.status, 400);
	assert.equal((await server.request("POST", "/v1/kick", { headers, ...length("") })).status, 201);
});

withServer("a follower that leaves is closed, also beside an older idle connection", {}, async (server) => {
	const idle = await server.connect();
	idle.send(PING);
	assert.equal((await idle.answer()).status, 200);
	const followers = await Promise.all(Array.from({ length: 10 }, () => server.connect()));
	for (const follower of followers) follower.send(head("GET", "/v1/feed"));
	await server.until((stats) => stats.feeds === 10);
	for (const follower of followers) follower.destroy();
	await server.until((stats) => stats.feeds === 0 && stats.connections_open === 2);
	idle.destroy();
});
