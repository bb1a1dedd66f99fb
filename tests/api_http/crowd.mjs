// SPDX-License-Identifier: Apache-2.0
//
// More clients than there is room for: who is served, who is sent away, and what they are told.
import assert from "node:assert/strict";
import { once } from "node:events";
import path from "node:path";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { scratch_folder } from "../scratch.mjs";
import { Client, Server, head, withServer } from "./lib.mjs";

const CONTROL = "control-control-control";
const READ = "read-read-read-read";
const TOKENS = { TEST_CONTROL_TOKEN: CONTROL, TEST_READ_TOKEN: READ };
const as = (token, path_ = "/v1/ping") => head("GET", path_, { Authorization: `Bearer ${token}` });
const PATIENT = { TEST_HEADER_TIMEOUT_MS: "3600000", TEST_STRANGER_TIMEOUT_MS: "3600000" };

async function ask(server, bytes) {
	const client = await server.connect();
	client.send(bytes);
	const answer = await client.answer();
	client.destroy();
	return answer;
}

// Connects clients that are known: each has been answered.
async function seat(server, count, token) {
	const clients = [];
	for (let i = 0; i < count; i++) {
		const client = await server.connect();
		client.send(as(token));
		assert.equal((await client.answer()).status, 200);
		clients.push(client);
	}
	return clients;
}

const destroy = (clients) => clients.forEach((client) => client.destroy());

// Sends bytes and the end of the stream; resolves when the kernel has both.
const sent = (client, bytes) => new Promise((done) => client.socket.end(bytes, done));

// Stats of a server with tokens.
async function until(server, wanted) {
	for (;;) {
		const stats = (await ask(server, as(CONTROL, "/v1/stats"))).json;
		if (wanted(stats)) return stats;
		await new Promise((done) => setTimeout(done, 20));
	}
}

withServer("clients that leave after half a head are closed at once", { env: PATIENT }, async (server) => {
	const clients = await Promise.all(Array.from({ length: 50 }, () => server.connect()));
	// The server finds the half head and the end of the stream together.
	server.process.kill("SIGSTOP");
	await Promise.all(clients.map((client) => sent(client, "GET /v1/ping HTTP/1.1\r\nHost: 127.0")));
	server.process.kill("SIGCONT");
	for (const client of clients) await client.whenClosed();
	await server.until((stats) => stats.connections_open === 1 && stats.too_slow === 0);
});

withServer("clients that leave in the middle of a body are closed at once", { env: PATIENT }, async (server) => {
	const clients = await Promise.all(Array.from({ length: 20 }, () => server.connect()));
	server.process.kill("SIGSTOP");
	const upload = head("PUT", "/v1/sink", { "Content-Length": 1000 }) + "x".repeat(10);
	await Promise.all(clients.map((client) => sent(client, upload)));
	server.process.kill("SIGCONT");
	for (const client of clients) await client.whenClosed();
	await server.until((stats) => stats.sinks_closed === 20 && stats.connections_open === 1);
});

withServer("a client without a credential may not be idle for long, one with it may",
	{ env: { ...TOKENS, TEST_STRANGER_TIMEOUT_MS: "300" } },
	async (server) => {
		const [known] = await seat(server, 1, READ);
		const strangers = await Promise.all(Array.from({ length: 3 }, () => server.connect()));
		strangers[0].send(head("GET", "/livez"));
		assert.equal((await strangers[0].answer()).status, 200);
		strangers[1].send(head("GET", "/v1/ping"));
		assert.equal((await strangers[1].answer()).status, 401);
		for (const stranger of strangers) await stranger.whenClosed();
		known.send(as(READ));
		assert.equal((await known.answer()).status, 200);
		destroy([...strangers, known]);
	});

withServer("the stranger who came first gives its connection to the next client, and is told",
	{ env: { ...TOKENS, ...PATIENT, TEST_SEATS: "4", TEST_RESERVE: "1" } },
	async (server) => {
		const strangers = [];
		for (let i = 0; i < 4; i++) {
			strangers.push(await server.connect());
			await until(server, (stats) => stats.connections_open >= 2);
		}
		const [known] = await seat(server, 1, READ);
		const answer = await strangers[0].answer();
		assert.equal(answer.status, 503);
		assert.equal(answer.headers["content-type"], "application/problem+json");
		assert.match(answer.headers["retry-after"], /^[1-9]\d*$/);
		assert.equal(answer.json.code, "too_many_clients");
		await strangers[0].whenClosed();
		const stats = await until(server, (now) => now.sent_away >= 1);
		assert.equal(stats.turned_away, stats.sent_away + stats.refused);
		known.send(as(READ));
		assert.equal((await known.answer()).status, 200);
		destroy([...strangers, known]);
	});

withServer("when readers have all connections, control and health are served, and others told",
	{ env: { ...TOKENS, TEST_SEATS: "8", TEST_RESERVE: "2" } },
	async (server) => {
		const readers = await seat(server, 8, READ);
		const answer = await ask(server, as(READ));
		assert.equal(answer.status, 503);
		assert.equal(answer.json.code, "too_many_clients");
		assert.equal(answer.headers.connection, "close");
		assert.equal((await ask(server, as("wrong"))).status, 401);
		assert.equal((await ask(server, as(CONTROL))).status, 200);
		assert.equal((await ask(server, head("GET", "/livez"))).status, 200);
		readers.pop().destroy();
		// Each connection that was asked on before counts until the server has seen its end.
		while ((await ask(server, as(READ))).status !== 200) await new Promise((done) => setTimeout(done, 20));
		destroy(readers);
	});

withServer("a client for whom there is no room at all is answered without a request",
	{ env: { ...TOKENS, TEST_SEATS: "8", TEST_RESERVE: "1" } },
	async (server) => {
		const clients = await seat(server, 9, CONTROL);
		const next = await server.connect();
		const answer = await next.answer();
		assert.equal(answer.status, 503);
		assert.equal(answer.json.code, "too_many_clients");
		await next.whenClosed();
		clients[0].send(as(CONTROL, "/v1/stats"));
		const stats = (await clients[0].answer()).json;
		assert.equal(stats.refused, 1);
		assert.equal(stats.turned_away, 1);
		destroy([...clients, next]);
	});

withServer("one address has its share of the connections only",
	{ env: { ...TOKENS, TEST_SEATS: "64", TEST_SEATS_PER_SOURCE: "4", TEST_RESERVE: "1" } },
	async (server) => {
		const readers = await seat(server, 4, READ);
		assert.equal((await ask(server, as(READ))).status, 503);
		assert.equal((await ask(server, as(CONTROL))).status, 200);
		destroy(readers);
	});

for (const [what, path_, count] of [
	["requests of readers that wait", "/v1/wait", "parked"],
	["readers that follow", "/v1/feed", "feeds"],
])
	withServer(`${what} leave a share to control`, { env: { ...TOKENS, TEST_WAITING: "8", TEST_FEEDS: "8" } },
		async (server) => {
			const open = async (token, n) => {
				const clients = await Promise.all(Array.from({ length: n }, () => server.connect()));
				for (const client of clients) client.send(as(token, path_));
				return clients;
			};
			const readers = await open(READ, 4);
			await until(server, (stats) => stats[count] === 4);
			const refused = await ask(server, as(READ, path_));
			assert.equal(refused.status, 429);
			assert.equal(refused.json.limit_name, "limits.http_connections");
			const controls = await open(CONTROL, 4);
			await until(server, (stats) => stats[count] === 8);
			assert.equal((await ask(server, as(CONTROL, path_))).status, 429);
			destroy([...readers, ...controls]);
			await until(server, (stats) => stats[count] === 0);
		});

test("a caller has half of the places from all its addresses", { timeout: 500000 }, async (t) => {
	const unixPath = path.join(scratch_folder("crowd"), "api.sock");
	const server = await Server.start({ unixPath, env: { ...TOKENS, TEST_WAITING: "8" } });
	t.after(() => server.process.kill("SIGKILL"));
	const clients = [await server.connect(), await server.connect(), await Client.connect({ path: unixPath }),
		await Client.connect({ path: unixPath })];
	for (const client of clients) client.send(as(READ, "/v1/wait"));
	await until(server, (stats) => stats.parked === 4);
	for (const client of [await server.connect(), await Client.connect({ path: unixPath })]) {
		client.send(as(READ, "/v1/wait"));
		const refused = await client.answer();
		assert.equal(refused.status, 429);
		assert.match(refused.json.detail, /^4 requests wait already for this caller/);
		clients.push(client);
	}
	destroy(clients.splice(0, 1));
	await until(server, (stats) => stats.parked === 3);
	const again = await server.connect();
	again.send(as(READ, "/v1/wait"));
	await until(server, (stats) => stats.parked === 4);
	destroy([...clients, again]);
});

withServer("requests that wait and streams of a caller together keep to its quota", { env: { ...TOKENS, TEST_STREAMS: "2" } },
	async (server) => {
		const [waiting, following] = [await server.connect(), await server.connect()];
		waiting.send(as(READ, "/v1/wait"));
		following.send(as(READ, "/v1/feed"));
		await until(server, (stats) => stats.parked === 1 && stats.feeds === 1);
		for (const path_ of ["/v1/wait", "/v1/feed"]) {
			const refused = await ask(server, as(READ, path_));
			assert.equal(refused.status, 429);
			assert.equal(refused.json.code, "throttled");
			assert.equal(refused.json.limit_name, "streams");
			assert.equal(refused.json.caller, "read");
			assert.match(refused.headers["retry-after"], /^[1-9]\d*$/);
		}
		const control = await server.connect();
		control.send(as(CONTROL, "/v1/wait"));
		await until(server, (stats) => stats.parked === 2);
		destroy([waiting, following, control]);
		await until(server, (stats) => stats.parked === 0 && stats.feeds === 0);
		const again = await server.connect();
		again.send(as(READ, "/v1/feed"));
		await until(server, (stats) => stats.feeds === 1);
		destroy([again]);
	});

// Starts a flood; returns a function that ends it, which the end of the test does too.
async function flood(t, server, count) {
	const worker = new Worker(new URL("./flood.mjs", import.meta.url), { workerData: { port: server.port, count } });
	t.after(() => worker.terminate());
	await once(worker, "message");
	return () => worker.terminate();
}

// Asks until the server answers. A client whose request is late is told to try again: while this process does not run,
// the others come by the hundred.
async function served(server, bytes) {
	for (let tries = 0; tries < 10; tries++) {
		const answer = await ask(server, bytes);
		if (answer && answer.status !== 503) return answer;
	}
	return null;
}

test("control is served while 1,000 clients without a token do their worst", { timeout: 500000 }, async (t) => {
	const unixPath = path.join(scratch_folder("crowd"), "api.sock");
	const server = await Server.start({ unixPath, env: { ...TOKENS, TEST_SEATS: "256", TEST_SEATS_PER_SOURCE: "128" } });
	t.after(() => server.process.kill("SIGKILL"));
	const stop = await flood(t, server, 1000);
	for (let i = 0; i < 20; i++) {
		assert.equal((await served(server, as(CONTROL)))?.status, 200);
		assert.equal((await served(server, head("GET", "/livez")))?.status, 200);
		const local = await Client.connect({ path: unixPath });
		local.send(head("GET", "/v1/stats"));
		const stats = (await local.answer()).json;
		assert.ok(stats.connections_open <= 256 + 16, `${stats.connections_open} connections`);
		assert.ok(i < 1 || stats.sent_away > 0, "strangers are sent away");
		local.destroy();
	}
	await stop();
	assert.equal(await server.stop(), 0);
});

test("control is served while clients without a token take every descriptor", { timeout: 500000 }, async (t) => {
	const server = await Server.start({ nofile: 64, env: { ...TOKENS, ...PATIENT } });
	t.after(() => server.process.kill("SIGKILL"));
	const stop = await flood(t, server, 200);
	for (let i = 0; i < 20; i++) assert.equal((await served(server, as(CONTROL)))?.status, 200);
	await stop();
	assert.equal(await server.stop(), 0);
});

test("without a descriptor clients are answered 503, and those that are there go on", { timeout: 500000 }, async (t) => {
	const server = await Server.start({ nofile: 40, env: TOKENS });
	t.after(() => server.process.kill("SIGKILL"));
	const clients = [];
	let last;
	for (;;) {
		const client = await server.connect();
		clients.push(client);
		client.send(as(CONTROL));
		last = await client.answer();
		if (last?.status !== 200) break;
	}
	assert.equal(last?.status, 503);
	assert.equal(last.json.code, "too_many_clients");
	await server.rests();
	clients[0].send(as(CONTROL));
	assert.equal((await clients[0].answer()).status, 200);
	destroy(clients);
	await until(server, (stats) => stats.connections_open === 1);
	assert.equal(await server.stop(), 0);
});
