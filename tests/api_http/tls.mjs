// SPDX-License-Identifier: Apache-2.0
//
// HTTPS: what libmicrohttpd gets wrong on an external loop, certificates of both sides, reloads, stops.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import test from "node:test";
import tls from "node:tls";

import { Ca } from "../certificates.mjs";
import { scratch_folder } from "../scratch.mjs";
import { Client, JSON_TYPE, Server, head, length, withServer } from "./lib.mjs";

const ca = new Ca(scratch_folder("tls"));
ca.issueServer();
ca.issue("good", { san: "DNS:a.example,email:a@a.example,URI:spiffe://a.example/a" });
ca.issue("expired", { days: -1 });
ca.issue("wrong-use", { usage: "serverAuth" });
ca.issue("two-names", { cn: "a/CN=b" });
const foreign = new Ca(scratch_folder("foreign"), "foreign");
foreign.issue("client");

const TLS = { TEST_TLS: ca.folder };
const VERSIONS = ["TLSv1.2", "TLSv1.3"];
const only = (version) => ({ minVersion: version, maxVersion: version });
const connect = (server, options) => Client.connectTls(server.tlsPort, { ca: ca.read("ca.pem"), ...options });

async function get(client, path, headers) {
	client.send(head("GET", path, headers));
	return client.answer();
}

// Returns the bytes that a client sends first.
async function clientHello() {
	const listener = net.createServer().listen(0, "127.0.0.1");
	await once(listener, "listening");
	const client = tls.connect({ host: "127.0.0.1", port: listener.address().port });
	client.on("error", () => {});
	const [socket] = await once(listener, "connection");
	const [bytes] = await once(socket, "data");
	client.destroy();
	listener.close();
	return bytes;
}

for (const version of VERSIONS) {
	withServer(`${version}: requests one by one, pipelined, with a body of 4 MiB`, { env: TLS }, async (server) => {
		const client = await connect(server, only(version));
		assert.equal(client.socket.getProtocol(), version);
		assert.equal(client.socket.alpnProtocol, "http/1.1");
		assert.equal((await get(client, "/v1/ping")).json.role, "control");
		client.send(head("GET", "/v1/ping").repeat(50));
		for (let i = 0; i < 50; i++) assert.equal((await client.answer()).status, 200);
		const body = Buffer.alloc(4 << 20, "x");
		const type = { "Content-Type": "application/octet-stream" };
		client.send(head("PUT", "/v1/sink", { ...type, ...length(body) }));
		client.send(body);
		assert.equal((await client.answer("PUT")).status, 204);
		assert.equal((await server.stats()).sunk_bytes, body.length);
		client.destroy();
	});

	withServer(`${version}: a slow reader gets 8 MiB, all of them right`, { env: TLS }, async (server) => {
		const size = 8 << 20;
		const client = tls.connect({ host: "127.0.0.1", port: server.tlsPort, ca: ca.read("ca.pem"), ...only(version) });
		await once(client, "secureConnect");
		client.write(head("GET", `/v1/stream?bytes=${size}`, { Connection: "close" }));
		const pieces = [];
		// One read at a time, with other requests between them: the server's buffers are full meanwhile.
		for await (const piece of client) {
			pieces.push(piece);
			if (pieces.length % 64 === 0) await server.stats();
		}
		const answer = Buffer.concat(pieces);
		const body = answer.subarray(answer.indexOf("\r\n\r\n") + 4);
		assert.equal(body.length, size);
		for (let i = 0; i < size; i += 4093) assert.equal(body[i], 97 + (i % 26));
	});
}

withServer("parked requests and feeds wait, wake and notice who leaves", { env: TLS }, async (server) => {
	const waiting = await Promise.all(Array.from({ length: 20 }, () => connect(server)));
	for (const client of waiting) client.send(head("GET", "/v1/wait") + head("GET", "/v1/ping"));
	await server.until((stats) => stats.parked === 20);
	waiting.pop().destroy();
	await server.until((stats) => stats.parked === 19);
	const feed = await connect(server);
	feed.send(head("GET", "/v1/feed"));
	await server.until((stats) => stats.feeds === 1);
	feed.destroy();
	await server.until((stats) => stats.feeds === 0);
	await server.request("POST", "/v1/wake");
	for (const client of waiting) {
		assert.equal((await client.answer()).json.end, "woken");
		assert.equal((await client.answer()).json.role, "control");
		client.destroy();
	}
});

withServer("over TLS a client that ends its stream is answered, and a refusal is a problem", { env: TLS }, async (server) => {
	const waiting = await connect(server);
	waiting.socket.end(head("GET", "/v1/wait"));
	await server.until((stats) => stats.parked === 1);
	await server.request("POST", "/v1/wake");
	assert.equal((await waiting.answer())?.json.end, "woken");
	await waiting.whenClosed();
	for (const [headers, status, code] of [[{ "Content-Length": "x" }, 400], [{ Cookie: "x".repeat(37000) }, 431, "head_too_large"], [{ Cookie: "x".repeat(80000) }, 431]]) {
		const client = await connect(server);
		const answer = await get(client, "/v1/ping", headers);
		assert.equal(answer?.status, status);
		if (code) assert.equal(answer.json.code, code);
		await client.whenClosed();
	}
});

// Returns MHD's runs while requests are served on the plain port.
async function runsOf(server, requests) {
	const client = await server.connect();
	const before = (await get(client, "/v1/stats")).json.runs;
	for (let i = 0; i < requests; i++) await get(client, "/v1/ping");
	const after = (await get(client, "/v1/stats")).json.runs;
	client.destroy();
	return after - before;
}

withServer("a handshake that waits for its client makes nothing run", { env: TLS }, async (server) => {
	const hello = await clientHello();
	const begun = [Buffer.alloc(0), hello.subarray(0, 1), hello.subarray(0, hello.length / 2), hello];
	const quiet = await runsOf(server, 200);
	assert.ok(quiet >= 200, `${quiet} runs for 200 requests`);
	const clients = [];
	for (let i = 0; i < 40; i++) {
		const client = await Client.connect({ host: "127.0.0.1", port: server.tlsPort });
		client.send(begun[i % begun.length]);
		clients.push(client);
	}
	for (let i = 0; i < 10; i++) clients.push(await connect(server)); // after the handshake, without a request
	await server.until((stats) => stats.connections_open === 51);
	for (const client of clients.slice(0, 40).filter((_, i) => i % 4 === 3)) while (!client.received.length) await client.more();
	const busy = await runsOf(server, 200);
	assert.ok(busy <= quiet + 20, `${busy} runs, ${quiet} without the clients`);
	for (const client of clients) client.destroy();
	await server.until((stats) => stats.connections_open === 1);
});

withServer("handshakes that begin at once are all served", { env: TLS }, async (server) => {
	const clients = await Promise.all(
		Array.from({ length: 60 }, async (_, i) => {
			const client = await connect(server, only(VERSIONS[i % 2]));
			assert.equal((await get(client, "/v1/ping")).status, 200);
			return client;
		}),
	);
	for (const client of clients) client.destroy();
});

// A server between a client and the test server, which keeps back what the client sends while `held`.
async function proxy(server) {
	const listener = net.createServer().listen(0, "127.0.0.1");
	await once(listener, "listening");
	const it = { port: listener.address().port, held: null, close: () => listener.close() };
	listener.on("connection", (client) => {
		const upstream = net.connect(server.tlsPort, "127.0.0.1");
		upstream.setNoDelay(true);
		upstream.pipe(client);
		client.on("data", (data) => {
			if (!it.held) return upstream.write(data);
			it.held = Buffer.concat([it.held, data]);
			it.arrived?.();
		});
		for (const socket of [client, upstream]) socket.on("error", () => {}).on("close", () => upstream.destroy());
		it.release = () => {
			upstream.write(it.held);
			it.held = null;
		};
	});
	return it;
}

function countRecords(bytes) {
	let count = 0;
	for (let at = 0; at + 5 <= bytes.length && at + 5 + bytes.readUInt16BE(at + 3) <= bytes.length; count++)
		at += 5 + bytes.readUInt16BE(at + 3);
	return count;
}

withServer("a request in one segment with a KeyUpdate is answered", { env: TLS }, async (server, t) => {
	const between = await proxy(server);
	const client = spawn("openssl", ["s_client", "-connect", `127.0.0.1:${between.port}`, "-tls1_3"]);
	t.after(() => client.kill("SIGKILL"));
	let output = "";
	let wake = () => {};
	client.stdout.on("data", (data) => ((output += data), wake()));
	client.on("close", () => ((output += "CLOSED"), wake()));
	const until = async (done) => {
		while (!done()) await new Promise((woken) => (wake = woken));
	};
	await until(() => output.includes("SSL handshake has read"));
	for (let i = 1; i <= 3; i++) {
		between.held = Buffer.alloc(0);
		between.arrived = () => wake();
		client.stdin.write("k\n"); // a command of s_client
		await until(() => countRecords(between.held) === 1);
		client.stdin.write(head("GET", "/v1/ping"));
		await until(() => countRecords(between.held) === 2);
		between.release();
		await until(() => output.split("HTTP/1.1 200").length === i + 1 || output.includes("CLOSED"));
		assert.ok(!output.includes("CLOSED"), output);
	}
	client.kill("SIGKILL");
	between.close();
});

// --- certificates of clients ---------------------------------------------------------------------

const ALERTS = {
	expired: "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED",
	"wrong-use": "ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
	"two-names": "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE",
	revoked: "ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED",
	client: "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
};

// Connects with a certificate; returns the alert, or the status of an answer.
async function attempt(server, version, credentials) {
	const client = new Client(
		tls.connect({ host: "127.0.0.1", port: server.tlsPort, ca: ca.read("ca.pem"), ...only(version), ...credentials }),
	);
	// With TLS 1.3 a client may send its request before it learns that its certificate is refused.
	client.socket.once("secureConnect", () => client.send(head("GET", "/v1/ping")));
	const answer = await client.answer();
	client.destroy();
	return answer?.status ?? client.error;
}

for (const clients of ["optional", "required"]) {
	withServer(`${clients}: certificates of clients are verified`, { env: { ...TLS, TEST_TLS_CLIENTS: clients } }, async (server) => {
		for (const version of VERSIONS) {
			assert.equal(await attempt(server, version, ca.credentials("good")), 200);
			for (const name of ["expired", "wrong-use", "two-names"])
				assert.equal(await attempt(server, version, ca.credentials(name)), ALERTS[name], `${version} ${name}`);
			assert.equal(await attempt(server, version, foreign.credentials("client")), ALERTS.client, `${version} foreign`);
			const absent = version === "TLSv1.3" ? "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED" : "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE";
			assert.equal(await attempt(server, version, {}), clients === "required" ? absent : 200);
		}
	});
}

withServer("without tls.client_certificate nobody is asked for one", { env: TLS }, async (server) => {
	for (const version of VERSIONS) assert.equal(await attempt(server, version, ca.credentials("expired")), 200);
});

// --- protocols -----------------------------------------------------------------------------------

withServer("TLS 1.0 and 1.1 are refused", { env: TLS }, async (server) => {
	for (const version of ["TLSv1", "TLSv1.1"]) {
		const old = tls.connect({ host: "127.0.0.1", port: server.tlsPort, rejectUnauthorized: false, ...only(version), ciphers: "DEFAULT@SECLEVEL=0" });
		const [error] = await once(old, "error");
		assert.match(error.code, /ECONNRESET|ERR_SSL/);
	}
	assert.equal((await server.request("GET", "/v1/ping")).status, 200);
});

withServer("HTTP on the port of HTTPS is told so in clear", { env: TLS }, async (server) => {
	const client = await Client.connect({ host: "127.0.0.1", port: server.tlsPort });
	client.send(head("POST", "/v1/echo", { ...JSON_TYPE, "Content-Length": 200000 }) + " ".repeat(200000));
	const answer = await client.answer();
	assert.equal(answer.status, 400);
	assert.equal(answer.headers["content-type"], "application/problem+json");
	assert.match(answer.json.detail, /serves HTTPS.*https:\/\//);
	client.destroy();
});

withServer("TLS on the port of HTTP is disconnected", { env: { ...TLS, TEST_HEADER_TIMEOUT_MS: "500" } }, async (server) => {
	const plain = await server.connect();
	plain.send(await clientHello());
	await plain.whenClosed();
	plain.destroy();
	assert.equal((await server.request("GET", "/v1/ping")).status, 200);
});

// --- deadlines and stop --------------------------------------------------------------------------

withServer("whoever does not end the handshake in time is disconnected", { env: { ...TLS, TEST_HEADER_TIMEOUT_MS: "300" } }, async (server) => {
	const hello = await clientHello();
	for (const begun of [hello.subarray(0, 0), hello.subarray(0, 1), hello]) {
		const client = await Client.connect({ host: "127.0.0.1", port: server.tlsPort });
		client.send(begun);
		await client.whenClosed();
		client.destroy();
	}
	const trickling = await Client.connect({ host: "127.0.0.1", port: server.tlsPort });
	for (let i = 0; !trickling.closed; i++) {
		trickling.send(hello.subarray(i, i + 1));
		await new Promise((done) => setTimeout(done, 20));
	}
	trickling.destroy();
});

withServer("a stop ends handshakes, and answers what waits", { env: TLS }, async (server) => {
	const hello = await clientHello();
	const begun = [];
	for (let i = 0; i < 12; i++) {
		begun.push(await Client.connect({ host: "127.0.0.1", port: server.tlsPort }));
		begun[i].send(hello.subarray(0, (i * hello.length) / 11));
	}
	const parked = await Promise.all(Array.from({ length: 5 }, () => connect(server)));
	for (const client of parked) client.send(head("GET", "/v1/wait"));
	const feed = await connect(server);
	feed.send(head("GET", "/v1/feed"));
	await server.until((stats) => stats.parked === 5 && stats.feeds === 1 && stats.connections_open === 19);
	assert.equal(await server.stop(), 0);
	for (const client of parked) assert.equal((await client.answer()).status, 503);
	for (const client of [...begun, feed]) await client.whenClosed();
	for (const client of [...begun, ...parked, feed]) client.destroy();
});

withServer("handshakes that wait give their connections to those who show a token",
	{ env: { ...TLS, TEST_CONTROL_TOKEN: "control-control-control", TEST_SEATS: "8", TEST_RESERVE: "2",
		TEST_HEADER_TIMEOUT_MS: "3600000", TEST_STRANGER_TIMEOUT_MS: "3600000" } },
	async (server) => {
		const hello = await clientHello();
		const token = { Authorization: "Bearer control-control-control" };
		const known = await connect(server);
		assert.equal((await get(known, "/v1/ping", token)).status, 200);
		const begun = [];
		for (let i = 0; i < 40; i++) {
			begun.push(await Client.connect({ host: "127.0.0.1", port: server.tlsPort }));
			begun[i].send(hello.subarray(0, (i * hello.length) / 39));
		}
		const late = await connect(server);
		assert.equal((await get(late, "/v1/ping", token)).status, 200);
		assert.equal((await get(known, "/v1/ping", token)).status, 200);
		const stats = (await get(known, "/v1/stats", token)).json;
		assert.ok(stats.sent_away + stats.refused >= 32, JSON.stringify(stats));
		assert.ok(stats.connections_open <= 10, JSON.stringify(stats));
		for (const client of [...begun, known, late]) client.destroy();
	});

// --- reload --------------------------------------------------------------------------------------

async function reload(server) {
	const line = once(server.lines, "line");
	server.process.kill("SIGHUP");
	return (await line)[0];
}

const serial = (client) => client.socket.getPeerCertificate().serialNumber;

test("renewed files are for new handshakes, and bad ones change nothing", { timeout: 500000 }, async (t) => {
	const own = new Ca(scratch_folder("renewed"));
	own.issueServer();
	own.issue("client");
	const server = await Server.start({ env: { TEST_TLS: own.folder, TEST_TLS_CLIENTS: "required" } });
	t.after(() => server.process.kill("SIGKILL"));
	const options = () => ({ ca: own.read("ca.pem"), ...own.credentials("client") });
	const old = [await connect(server, options()), await connect(server, options())];
	old[0].send(head("GET", "/v1/wait"));
	await server.until((stats) => stats.parked === 1);

	for (let i = 0; i < 5; i++) {
		own.issueServer();
		assert.equal(await reload(server), "loaded");
	}
	const renewed = await connect(server, options());
	assert.notEqual(serial(renewed), serial(old[0]));
	assert.equal((await get(old[1], "/v1/ping")).status, 200);
	assert.equal((await get(renewed, "/v1/ping")).status, 200);

	copyFileSync(own.path("ca.key"), own.path("server.key"));
	assert.match(await reload(server), /^tls.key: .*server.key: .*match/);
	writeFileSync(own.path("server.pem"), "no certificate\n");
	assert.match(await reload(server), /^tls.certificate: .*server.pem: it has no certificate in PEM/);
	rmSync(own.path("server.pem"));
	assert.match(await reload(server), /^tls.certificate: .*server.pem: No such file/);
	const still = await connect(server, options());
	assert.equal(serial(still), serial(renewed));

	// The CA is renewed with the certificate.
	const next = new Ca(own.folder);
	next.issueServer();
	assert.equal(await reload(server), "loaded");
	assert.equal(await attempt(server, "TLSv1.3", { ...own.credentials("client"), ca: next.read("ca.pem") }), ALERTS.client);
	for (const client of [...old, renewed, still]) client.destroy();
	assert.equal(await server.stop(), 0, server.errors);
	assert.doesNotMatch(server.errors, /Sanitizer|runtime error/);
});

test("a certificate that is revoked is refused after a reload", { timeout: 500000 }, async (t) => {
	const own = new Ca(scratch_folder("revoked"));
	own.issueServer();
	own.issue("revoked");
	own.issue("other");
	own.revoke();
	const server = await Server.start({ env: { TEST_TLS: own.folder, TEST_TLS_CLIENTS: "optional" } });
	t.after(() => server.process.kill("SIGKILL"));
	const attemptAs = (version, name) => attempt(server, version, { ca: own.read("ca.pem"), ...own.credentials(name) });
	assert.equal(await attemptAs("TLSv1.3", "revoked"), 200);
	own.revoke("revoked");
	assert.equal(await reload(server), "loaded");
	for (const version of VERSIONS) {
		assert.equal(await attemptAs(version, "revoked"), ALERTS.revoked);
		assert.equal(await attemptAs(version, "other"), 200);
	}
	writeFileSync(own.path("ca-crl.pem"), "");
	assert.match(await reload(server), /^tls.client_crl: .*ca-crl.pem: /);
	assert.equal(await server.stop(), 0, server.errors);
});
