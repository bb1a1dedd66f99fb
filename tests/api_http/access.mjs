// SPDX-License-Identifier: Apache-2.0
//
// Access control: hosts, origins, tokens, and the unix socket.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { scratch_folder } from "../scratch.mjs";
import { Client, Server, head, withServer, JSON_TYPE } from "./lib.mjs";

const CONTROL = "control-control-control";
const READ = "read-read-read-read";
const TOKENS = { env: { TEST_CONTROL_TOKEN: CONTROL, TEST_READ_TOKEN: READ } };
const bearer = (token) => ({ headers: { Authorization: `Bearer ${token}` } });

async function code(server, method, path_, options) {
	const answer = await server.request(method, path_, options);
	return answer.status < 400 ? answer.status : answer.json.code;
}

withServer("a page elsewhere can't drive the server", {}, async (server) => {
	assert.equal(await code(server, "GET", "/v1/ping", { headers: { Host: "evil.test" } }), "bad_host");
	assert.equal(await code(server, "GET", "/v1/ping", { headers: { Host: "localhost:1" } }), 200);
	assert.equal(await code(server, "POST", "/v1/kick", { headers: { Origin: "http://evil.test" } }), "bad_origin");
	assert.equal(await code(server, "POST", "/v1/kick", { headers: { Origin: "null" } }), "bad_origin");
	assert.equal(await code(server, "POST", "/v1/kick", { headers: { Origin: "http://127.0.0.1", ...JSON_TYPE } }), 201);
	for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
		assert.equal(
			await code(server, "POST", "/v1/echo", { headers: { "Content-Type": type }, body: "{}" }),
			"unsupported_media_type",
		);
	assert.equal((await server.stats()).echoes, 1);
});

// A form of another site can be sent without a body and with a Content-Type of a form only.
withServer("a browser names the Content-Type of a request that does something, also without a body", {}, async (server) => {
	for (const mark of [{ Origin: "http://127.0.0.1" }, { "Sec-Fetch-Site": "same-origin" }])
		for (const [type, expected] of [
			[{}, "unsupported_media_type"],
			[{ "Content-Type": "application/x-www-form-urlencoded" }, "unsupported_media_type"],
			[JSON_TYPE, 201],
		])
			assert.equal(await code(server, "POST", "/v1/kick", { headers: { ...mark, ...type } }), expected);
	assert.equal(await code(server, "GET", "/v1/ping", { headers: { "Sec-Fetch-Site": "same-origin" } }), 200);
	// curl -X POST, and curl -d ''
	assert.equal(await code(server, "POST", "/v1/kick"), 201);
	const form = { "Content-Type": "application/x-www-form-urlencoded" };
	assert.equal(await code(server, "POST", "/v1/kick", { headers: form, body: "" }), 201);
});

withServer("with tokens each shows what it may do", TOKENS, async (server) => {
	assert.equal(await code(server, "GET", "/livez"), 200);
	assert.equal(await code(server, "GET", "/v1/ping"), "unauthorized");
	assert.equal(await code(server, "GET", "/v1/nothing"), "unauthorized");
	assert.equal(await code(server, "GET", "/v1/ping", bearer("wrong")), "unauthorized");
	assert.equal(await code(server, "GET", "/v1/ping", bearer(READ)), 200);
	assert.equal(await code(server, "POST", "/v1/kick", bearer(READ)), "forbidden");
	assert.equal(await code(server, "POST", "/v1/kick", bearer(CONTROL)), 201);
});

async function ask(socket, role) {
	const client = await Client.connect({ path: socket });
	client.send(head("GET", "/v1/ping", { Host: "anything" }));
	assert.equal((await client.answer()).json.role, role);
	client.destroy();
}

const socketPath = () => path.join(scratch_folder("socket"), "api.sock");

test("the unix socket knows its callers, and is there for them only", { timeout: 500000 }, async (t) => {
	const socket = socketPath();
	const server = await Server.start({ ...TOKENS, unixPath: socket });
	t.after(() => server.process.kill("SIGKILL"));
	assert.equal(fs.statSync(socket).mode & 0o777, 0o660);
	await ask(socket, "control");
	assert.equal(await server.stop(), 0);
});

test("a stale socket is replaced, a living one is not", { timeout: 500000 }, async (t) => {
	const socket = socketPath();
	const killed = await Server.start({ unixPath: socket });
	await killed.kill();
	assert.ok(fs.existsSync(socket));
	const server = await Server.start({ unixPath: socket });
	t.after(() => server.process.kill("SIGKILL"));
	await ask(socket, "control");
	await assert.rejects(Server.start({ unixPath: socket }), /another process already listens/);
	await ask(socket, "control");
	assert.equal(await server.stop(), 0);
	fs.rmSync(socket);
	fs.writeFileSync(socket, "precious");
	await assert.rejects(Server.start({ unixPath: socket }), /is not a socket/);
	assert.equal(fs.readFileSync(socket, "utf8"), "precious");
});

test("a flood of TCP clients does not reach the unix socket", { timeout: 500000 }, async (t) => {
	const socket = socketPath();
	const server = await Server.start({ unixPath: socket, env: { TEST_SEATS: "4" } });
	t.after(() => server.process.kill("SIGKILL"));
	const flood = await Promise.all(Array.from({ length: 20 }, () => server.connect()));
	for (const client of flood) client.send("GET /v1/ping HTTP/1.1\r\n");
	await ask(socket, "control");
	for (const client of flood) client.destroy();
	assert.equal(await server.stop(), 0);
});

withServer("a repeat under the same key gets the first answer", {}, async (server) => {
	const options = { headers: { ...JSON_TYPE, "Idempotency-Key": "k" }, body: '{"a":1}' };
	const first = await server.request("POST", "/v1/echo", options);
	const second = await server.request("POST", "/v1/echo", options);
	assert.equal(first.status, 201);
	assert.equal(second.status, 201);
	assert.equal(second.headers.location, first.headers.location);
	assert.deepEqual(second.json, first.json);
	assert.equal(await code(server, "POST", "/v1/echo", { ...options, body: "{}" }), "idempotency_mismatch");
	assert.equal((await server.stats()).echoes, 1);
});
