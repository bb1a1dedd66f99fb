// SPDX-License-Identifier: Apache-2.0
//
// A request that two parsers could read differently is refused, and the connection is closed: no bytes after it are
// taken for a request.
import assert from "node:assert/strict";
import { withServer } from "./lib.mjs";

const HOST = "Host: 127.0.0.1\r\n";
const SECOND = `POST /v1/echo HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
const post = (headers, body) => `POST /v1/kick HTTP/1.1\r\n${headers}\r\n${body}`;
const get = (target, headers = HOST) => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;

const MALFORMED = {
	"Transfer-Encoding and Content-Length": post(`${HOST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`, "0\r\n\r\n"),
	"Content-Length and Transfer-Encoding": post(`${HOST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n`, "0\r\n\r\n"),
	"two different Content-Lengths": post(`${HOST}Content-Length: 0\r\nContent-Length: 9\r\n`, ""),
	"two equal Content-Lengths": post(`${HOST}Content-Length: 0\r\nContent-Length: 0\r\n`, ""),
	"a list of Content-Lengths": post(`${HOST}Content-Length: 0\r\nX: y\r\nContent-Length: 0, 0\r\n`, ""),
	"an unknown Transfer-Encoding": post(`${HOST}Transfer-Encoding: xchunked\r\n`, "0\r\n\r\n"),
	"a Transfer-Encoding behind chunked": post(`${HOST}Transfer-Encoding: chunked, gzip\r\n`, "0\r\n\r\n"),
	"two Transfer-Encodings": post(`${HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n`, "0\r\n\r\n"),
	"Transfer-Encoding in HTTP/1.0": `POST /v1/kick HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
	"two Authorizations": get("/v1/ping", `${HOST}Authorization: Bearer a\r\nauthorization: Bearer b\r\n`),
	"two Origins": get("/v1/ping", `${HOST}Origin: http://127.0.0.1\r\nOrigin: http://evil.test\r\n`),
	"two Content-Types": post(`${HOST}Content-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n`, ""),
	"two Idempotency-Keys": post(`${HOST}Idempotency-Key: a\r\nIdempotency-Key: b\r\n`, ""),
	"two Ranges": get("/v1/ping", `${HOST}Range: bytes=0-1\r\nRange: bytes=2-3\r\n`),
	"no Host": get("/v1/ping", ""),
	"two Hosts": get("/v1/ping", HOST + HOST),
	"two Hosts in HTTP/1.0": `GET /v1/ping HTTP/1.0\r\n${HOST}${HOST}\r\n`,
	"a space before the colon": get("/v1/ping", `Host: 127.0.0.1\r\nContent-Length : 3\r\n`),
	"a header name that is no token": get("/v1/ping", `${HOST}A(b): c\r\n`),
	"a folded header that is no name": get("/v1/ping", `${HOST}A: b\r\n c d\r\n`),
	"a folded Host": get("/v1/ping", `A: b\r\n${HOST}\tc\r\n`),
	"two Hosts, one folded": get("/v1/ping", `Ho: evil.test\r\n st\r\n${HOST}`),
	"bare CR in a value": get("/v1/ping", `${HOST}A: b\rc\r\n`),
	"NUL in a name": get("/v1/ping", `${HOST}A\0: c\r\n`),
	"NUL behind the version": `GET /v1/ping HTTP/1.1\0\r\n${HOST}\r\n`,
	"%00 in the target": get("/v1/ping%00x"),
	"%00 in a parameter": get("/v1/ping?verbose=%00"),
	"%2F in the target": get("/v1%2Fping"),
	"%2f in the target": get("/v1%2fping"),
	"a bad escape": get("/v1/%zz"),
	"a dot segment": get("/v1/./ping"),
	"two dots": get("/v1/x/../ping"),
	"two dots in disguise": get("/v1/x/%2e%2E/ping"),
	"a space in the target": get("/v1/pi ng"),
	"raw bytes above 127 in the target": get("/v1/p\xefng"),
	"a fragment": get("/v1/ping#x"),
	"the authority form": get("127.0.0.1:80"),
	"the asterisk form": get("*"),
	"an absolute form without a host": get("http:///v1/ping"),
	"a method that is no token": `G<>T /v1/ping HTTP/1.1\r\n${HOST}\r\n`,
};

// Requests that nobody can read in two ways, and that verbsd does not serve.
const UNKNOWN = {
	"a Transfer-Encoding before chunked": post(`${HOST}Transfer-Encoding: gzip, chunked\r\n`, "0\r\n\r\n"),
	"a tunnel": `CONNECT 127.0.0.1:80 HTTP/1.1\r\n${HOST}\r\n`,
	"a trace": `TRACE /v1/ping HTTP/1.1\r\n${HOST}\r\n`,
};

// Malformed requests that libmicrohttpd 0.9.75 takes without telling, and 1.0 refuses (docs/http.md). @expect: the answer of 0.9.75.
const LENIENT = {
	"bare LF after the request line": [200, `GET /v1/ping HTTP/1.1\n${HOST}\r\n`],
	"bare LF after a header": [200, `GET /v1/ping HTTP/1.1\r\nHost: 127.0.0.1\n\r\n`],
	"bare LF everywhere": [200, `GET /v1/ping HTTP/1.1\nHost: 127.0.0.1\n\n`],
	"bare LF as the empty line": [200, `GET /v1/ping HTTP/1.1\r\n${HOST}\n`],
	"a folded header": [200, get("/v1/ping", `${HOST}A: b\r\n c\r\n`)],
	"a Host whose name is folded": [200, get("/v1/ping", "Ho: 127.0.0.1\r\n st\r\n")],
	"a strange Host whose name is folded": [421, get("/v1/ping", "Ho: evil.test\r\n st\r\n")],
	"a Transfer-Encoding whose name is folded": [201, post(`${HOST}Content-Type: application/json\r\nTransfer-Encodin: chunked\r\n g\r\n`, "2\r\n{}\r\n0\r\n\r\n").replace("kick", "echo")],
	"NUL in a value": [200, get("/v1/ping", `${HOST}A: b\0c\r\n`)],
	"NULs that look like a line end": [200, get("/v1/ping", `A: b\0\0Host: evil.test\r\n${HOST}`)],
	"NUL behind a strange Host": [421, get("/v1/ping", "Host: evil.test\0X: 127.0.0.1\r\n")],
	"NUL in the method": [200, `GET\0X /v1/ping HTTP/1.1\r\n${HOST}\r\n`],
	"NUL in the target": [200, get("/v1/ping\0x")],
	"NUL begins a line": [200, `GET /v1/ping HTTP/1.1\r\n${HOST}\0A: c\r\n`],
	"an empty header name": [200, `GET /v1/ping HTTP/1.1\r\n${HOST}: c\r\n`],
	"two spaces before the target": [200, get(" /v1/ping")],
};

// Requests that libmicrohttpd itself refuses.
const CHUNKED = `${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`;
const LIBRARY = {
	"a negative Content-Length": [400, post(`${HOST}Content-Length: -1\r\n`, "")],
	"a signed Content-Length": [400, post(`${HOST}Content-Length: +4\r\n`, "")],
	"a huge Content-Length": [413, post(`${HOST}Content-Length: 99999999999999999999999\r\n`, "")],
	"a header without a colon": [400, get("/v1/ping", `${HOST}nonsense\r\n`)],
	"a first header without a colon": [400, get("/v1/ping", `nonsense\r\n${HOST}`)],
	"too long a header": [431, get("/v1/ping", `${HOST}A: ${"x".repeat(80000)}\r\n`)],
	"too many headers": [431, get("/v1/ping", HOST + "A: b\r\n".repeat(10000))],
	"too long a cookie": [431, get("/v1/ping", `${HOST}Cookie: ${"x".repeat(80000)}\r\n`)],
	"a request line without a version": [400, `GET /v1/ping\r\n${HOST}\r\n`],
	"an unknown version": [505, `GET /v1/ping HTTP/3.0\r\n${HOST}\r\n`],
	"a preface of HTTP/2": [505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
	"a malformed chunk": [400, post(CHUNKED, "zz\r\n")],
	"a huge chunk": [413, post(CHUNKED, "99999999999999999\r\n")],
	"a malformed trailer": [400, post(CHUNKED, "2\r\n{}\r\n0\r\nnonsense\r\n\r\n")],
};

withServer("malformed requests are refused and end the connection", {}, async (server, t) => {
	for (const [all, status, code] of [[MALFORMED, 400, "malformed_request"], [UNKNOWN, 501, "not_implemented"]]) {
		for (const [name, bytes] of Object.entries(all)) {
			await t.test(name, async () => {
				const client = await server.connect();
				client.send(bytes + SECOND);
				const answer = await client.answer();
				assert.equal(answer?.status, status);
				assert.equal(answer.headers["content-type"], "application/problem+json");
				assert.equal(answer.json.code, code);
				await client.whenClosed();
				assert.equal(client.received.length, 0, "nothing after the refusal is answered");
				client.destroy();
			});
		}
	}
	assert.equal((await server.stats()).echoes, 0, "no second request ever ran");
});

withServer("what the HTTP library takes in its own way is one request, and the next one is served", {}, async (server, t) => {
	for (const [name, [status, bytes]] of Object.entries(LENIENT)) {
		await t.test(name, async () => {
			const client = await server.connect();
			client.send(bytes + SECOND);
			const answer = await client.answer();
			if (answer?.status === 400) await client.whenClosed(); // libmicrohttpd 1.0
			else assert.deepEqual([answer?.status, (await client.answer())?.status], [status, 201]);
			client.destroy();
		});
	}
});

// Nobody knows the method before the head is whole, so HEAD gets a body as well.
withServer("what the HTTP library refuses is refused by one problem", {}, async (server, t) => {
	for (const [name, [status, bytes]] of Object.entries(LIBRARY)) {
		await t.test(name, async () => {
			const client = await server.connect();
			client.send(bytes + SECOND);
			const answer = await client.answer();
			assert.equal(answer?.status, status);
			assert.equal(answer.headers["content-type"], "application/problem+json");
			if (status < 500) assert.ok(Math.abs(Date.parse(answer.headers.date) - Date.now()) < 3600000);
			assert.equal(answer.json.status, status);
			await client.whenClosed();
			assert.equal(client.received.length, 0, "nothing is behind the refusal");
			client.destroy();
		});
	}
	assert.equal((await server.stats()).echoes, 0, "no second request ever ran");
});

withServer("a refusal by the HTTP library reaches its own client only", {}, async (server) => {
	const half = await Promise.all(Array.from({ length: 20 }, () => server.connect()));
	const bodies = await Promise.all(Array.from({ length: 20 }, () => server.connect()));
	const idle = await Promise.all(Array.from({ length: 20 }, () => server.connect()));
	for (const client of half) client.send(`GET /v1/ping HTTP/1.1\r\n${HOST}`);
	for (const client of bodies) client.send(post(CHUNKED, "1\r\n{\r\n").replace("kick", "echo"));
	for (const [status, bytes] of Object.values(LIBRARY)) {
		const client = await server.connect();
		client.send(bytes);
		assert.equal((await client.answer())?.status, status);
		client.destroy();
	}
	for (const client of idle) client.send(get("/v1/ping"));
	for (const client of idle) assert.equal((await client.answer())?.status, 200);
	for (const client of half) client.send("\r\n");
	for (const client of half) assert.equal((await client.answer())?.status, 200);
	for (const client of bodies) client.send("1\r\n}\r\n0\r\n\r\n");
	for (const client of bodies) assert.equal((await client.answer())?.status, 201);
	for (const client of [...half, ...bodies, ...idle]) client.destroy();
});

// The method may be HEAD, whose answer has no body.
withServer("too long a request line is refused without a body", {}, async (server) => {
	for (const bytes of [39000, 50000, 80000]) {
		const answer = await server.request("HEAD", `/v1/${"x".repeat(bytes)}`);
		assert.equal(answer?.status, 414);
		assert.equal(answer.headers["content-type"], "application/problem+json");
	}
	const client = await server.connect();
	client.send(get(`/v1/${"x".repeat(80000)}`));
	await client.whenClosed();
	const received = client.received.toString("latin1");
	assert.match(received, /^HTTP\/1.1 414 [^]*\r\n\r\n$/);
	assert.doesNotMatch(received, /Content-Length/, "a body that ends with the connection");
	client.destroy();
});

withServer("what is only unusual is served", {}, async (server, t) => {
	const unusual = {
		"HTTP/1.0 without a Host": "GET /v1/ping HTTP/1.0\r\n\r\n",
		"no space after the colon": "GET /v1/ping HTTP/1.1\r\nhost:127.0.0.1\r\n\r\n",
		"an empty value": `GET /v1/ping HTTP/1.1\r\n${HOST}X-Empty:\r\n\r\n`,
		"empty lines before the request": `\r\n\r\nGET /v1/ping HTTP/1.1\r\n${HOST}\r\n`,
		"an encoded letter": get("/v1/p%69ng"),
		"bytes above 127 in a value": get("/v1/ping", `${HOST}X: \xe9\r\n`),
		"a head in many pieces": get("/v1/ping", `${HOST}${"A: b\r\n".repeat(200)}`),
		"the absolute form": get("http://127.0.0.1/v1/ping"),
		"two Prefers": get("/v1/ping", `${HOST}Prefer: wait=1\r\nprefer: respond-async\r\n`),
		cookies: get("/v1/ping", `${HOST}Cookie: a=b; c="d"\r\n`),
	};
	for (const [name, bytes] of Object.entries(unusual)) {
		await t.test(name, async () => {
			const client = await server.connect();
			for (let at = 0; at < bytes.length; at += 300) client.send(bytes.slice(at, at + 300));
			assert.equal((await client.answer())?.status, 200);
			client.destroy();
		});
	}
});
