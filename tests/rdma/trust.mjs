// SPDX-License-Identifier: Apache-2.0
//
// Two daemons that trust nobody by the address: HTTPS, certificates of clients, named tokens. A user reaches them by
// curl and verbsctl; a token is revoked while its transfer runs; a certificate is renewed under load.
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import https from "node:https";
import tls from "node:tls";

import { Ca } from "../certificates.mjs";
import { scratch_folder } from "../scratch.mjs";
import { Daemon, WAIT_S, addr, build, equal, finish, ok, resources, resources_are_back, run, scenario, until, write_file } from "./lib.mjs";

const RDMA_PORT = 7471;
const LONG_BYTES = 256 << 20;
const LOAD_LANES = 4;
const RENEWALS = 4;

let next_port = 9440;

// A host with a certificate of the CA, and a file of callers.
class Host {
	static async start(ca, name) {
		const host = new Host(ca, name);

		host.daemon = await Daemon.start(name, ["--config", host.config], { listen: [host.url] });
		host.daemon.token = host.tokens.admin;
		await host.daemon.ready();
		return host;
	}

	constructor(ca, name) {
		this.ca = ca;
		this.name = name;
		this.port = next_port++;
		this.url = `https://127.0.0.1:${this.port}`;
		this.folder = scratch_folder(`trust-${name}`);
		this.tokens = { admin: randomBytes(32).toString("hex"), robot: randomBytes(32).toString("hex") };
		this.config = `${this.folder}/verbsd.yaml`;
		ca.issueServer(name);
		write_file(this.config, `tls:
  certificate: ${ca.path(`${name}.pem`)}
  key: ${ca.path(`${name}.key`)}
  client_ca: ${ca.path("ca.pem")}
  client_certificate: optional
callers_file: ${this.folder}/callers.yaml
`);
		this.let_in("admin", "robot");
	}

	// Only the callers with these tokens, and the one with alice's certificate.
	let_in(...names) {
		const roles = { admin: "control", robot: "operate" };
		const hash = (name) => createHash("sha256").update(this.tokens[name]).digest("hex");

		write_file(`${this.folder}/callers.yaml`, names.map((name) =>
			`- name: ${name}\n  role: ${roles[name]}\n  token_sha256: ${hash(name)}\n`).join("") +
			'- name: alice\n  role: control\n  certificates: ["CN:alice"]\n', 0o600);
	}

	reload() { return this.daemon.post("/v1/reload", {}); }

	// Runs verbsctl as a caller: by a token, or by the certificate of alice.
	ctl(caller, ...words) {
		const who = caller === "alice" ? [`VERBSD_CERT=${this.ca.path("alice.pem")}`, `VERBSD_KEY=${this.ca.path("alice.key")}`]
			: [`VERBSD_TOKEN=${this.tokens[caller]}`];

		return run("env", `VERBSD_URL=${this.url}`, `VERBSD_CA=${this.ca.path("ca.pem")}`, ...who, `${build}/cmd/verbsctl`, ...words);
	}

	// Runs curl with the certificate of alice; returns the answer's JSON.
	async curl(path, ...options) {
		return JSON.parse(await run("curl", "-sS", "--fail-with-body", "--cacert", this.ca.path("ca.pem"), "--cert", this.ca.path("alice.pem"),
			"--key", this.ca.path("alice.key"), ...options, this.url + path));
	}
}

function authority() {
	const ca = new Ca(scratch_folder("trust-ca"));

	ca.issue("alice");
	return ca;
}

await scenario("a token is revoked while its transfer runs, which goes on to its end", async () => {
	const before = await resources();
	const ca = authority();
	const [here, there] = [await Host.start(ca, "here"), await Host.start(ca, "there")];
	const json = ["-H", "Content-Type: application/json", "-H", `Prefer: wait=${WAIT_S}`];

	await there.curl("/v1/listeners", ...json, "-d", JSON.stringify({ addr: "0.0.0.0", port: RDMA_PORT, name: "door" }));
	await there.curl("/v1/buffers", ...json, "-d", JSON.stringify({ name: "well", size_bytes: LONG_BYTES, access: ["remote_write"] }));
	write_file(`${here.folder}/peer.token`, there.tokens.admin, 0o600);
	await here.ctl("robot", "connect", `${addr}:${RDMA_PORT}`, "--name", "line");
	await here.ctl("robot", "buffers", "create", "pail", "--size", `${LONG_BYTES}`);
	equal((await here.daemon.connection("line")).owner, "robot", "owner of the connection");
	await here.ctl("robot", "write", "line", "--buffer", "pail", "--remote", `${there.url}#well`, "--peer-token-file",
		`${here.folder}/peer.token`, "--no-wait");
	const under_way = (await here.daemon.get("/v1/transfers")).items[0];

	here.let_in("admin");
	await here.reload();
	ok(under_way, "no transfer ran when the token was revoked");
	const refused = await here.ctl("robot", "transfers").then(() => "", (error) => error.message);
	ok(/unauthorized/.test(refused), `with a revoked token verbsctl said: ${refused}`);
	const done = await here.daemon.until(`/v1/transfers/${under_way.id}`, "the end of the transfer", ({ state }) => state === "done");
	equal(done.bytes_done, LONG_BYTES, "bytes that were written");
	equal((await here.curl("/v1")).caller, "alice", "caller of the certificate");
	for (const { daemon } of [here, there])
		await daemon.stop();
	await resources_are_back(before);
});

// Asks again and again, each time in a new connection, until the list of lanes is closed.
async function load(host, closed, seen) {
	while (!closed.done) {
		const options = { ca: host.ca.read("ca.pem"), ...host.ca.credentials("alice"), agent: false };
		const began = Date.now();
		const status = await new Promise((done) => {
			https.get(`${host.url}/v1/connections`, options, (answer) => {
				answer.resume();
				answer.on("end", () => done(answer.statusCode));
			}).on("error", (error) => done(error.code));
		});

		if (status === 200)
			seen.answers++;
		else
			seen.failed.push(`${status} after ${Date.now() - began} ms`);
	}
}

const serial_at = (host) => new Promise((done, fail) => {
	const socket = tls.connect({ host: "127.0.0.1", port: host.port, ca: host.ca.read("ca.pem") }, () => {
		done(socket.getPeerCertificate().serialNumber);
		socket.destroy();
	});

	socket.on("error", fail);
});

await scenario("a certificate is renewed under load, and no request fails", async () => {
	const host = await Host.start(authority(), "renewed");
	const closed = { done: false };
	const seen = { answers: 0, failed: [] };
	const lanes = Array.from({ length: LOAD_LANES }, () => load(host, closed, seen));
	const serials = new Set([await serial_at(host)]);

	for (let i = 0; i < RENEWALS; i++) {
		const answers = seen.answers;

		host.ca.issueServer(host.name);
		await host.reload();
		serials.add(await serial_at(host));
		await host.daemon.until("/v1/stats", "answers under load", () => seen.answers >= answers + LOAD_LANES);
	}
	closed.done = true;
	await Promise.all(lanes);
	equal(seen.failed.join(", "), "", "list of requests that failed");
	equal(serials.size, RENEWALS + 1, "number of certificates that were shown");
	await host.daemon.stop();
});

// --- two operators of one daemon -----------------------------------------------------------------------------------------

// The API as one caller of a daemon has it.
class Operator {
	constructor(daemon, token) {
		Object.assign(this, { daemon, token });
	}

	async try(method, path, body, options) {
		this.daemon.token = this.token;
		return this.daemon.try(method, path, body, options);
	}

	async call(...request) {
		const { status, body } = await this.try(...request);

		ok(status < 300, `${request.slice(0, 2).join(" ")}: ${status} ${body.code}: ${body.detail}`);
		return body;
	}

	get(path) { return this.call("GET", path); }

	// Follows the events; `text` grows.
	follow() {
		const stream = { text: "" };
		const headers = { Authorization: `Bearer ${this.token}` };

		return new Promise((begun, fail) => {
			http.get({ host: "127.0.0.1", port: this.daemon.port, path: "/v1/events/stream", agent: false, headers }, (answer) => {
				answer.setEncoding("utf8");
				answer.on("error", () => {});
				answer.on("data", (text) => { stream.text += text; });
				stream.end = () => answer.destroy();
				begun(stream);
			}).on("error", fail);
		});
	}
}

async function operators(...names) {
	const path = `${scratch_folder("trust-operators")}/callers.yaml`;
	const tokens = names.map(() => randomBytes(32).toString("hex"));
	const hash = (token) => createHash("sha256").update(token).digest("hex");

	write_file(path, names.map((name, i) =>
		`- {name: ${name}, role: ${name === "admin" ? "control" : "operate"}, token_sha256: ${hash(tokens[i])}}\n`).join(""), 0o600);
	const daemon = await Daemon.start("shared", ["--set", `callers_file=${path}`]);
	[daemon.token] = tokens;

	await daemon.ready();
	return { daemon, callers: tokens.map((token) => new Operator(daemon, token)) };
}

await scenario("two operators of a daemon meet on the wire, and neither sees or ends what is the other's", async () => {
	const { daemon, callers: [admin, ann, ben] } = await operators("admin", "ann", "ben");
	const streams = [await ann.follow(), await ben.follow()];
	const labels = { job: "x" };

	await ann.call("POST", "/v1/listeners", { addr: "0.0.0.0", port: RDMA_PORT, name: "door-of-ann", labels });
	await ben.call("POST", "/v1/connections", { dst_addr: addr, dst_port: RDMA_PORT, name: "line-of-ben", labels }, { wait_s: WAIT_S });

	// An accepted connection belongs to the owner of the listener, and has its labels.
	const accepted = (await ann.get("/v1/connections?listener=door-of-ann&fields=*")).items[0];
	const opened = await ben.get("/v1/connections/line-of-ben");

	equal(accepted.owner, "ann", "owner of what her listener accepted");
	equal(opened.owner, "ben", "owner of what he opened");
	equal((await admin.get("/v1/connections")).total, 2, "connections that control sees");
	for (const [who, other, own] of [[ann, opened.id, accepted.id], [ben, accepted.id, opened.id]]) {
		equal((await who.get("/v1/connections")).items.map(({ id }) => id).join(), `${own}`, "connections of one");
		for (const [method, tail] of [["GET", ""], ["GET", "/explain"], ["GET", "/timeline"], ["GET", "/messages"], ["POST", "/close"], ["DELETE", ""]])
			equal((await who.try(method, `/v1/connections/${other}${tail}`)).status, 404, `status of ${method} ${tail} of the other's`);
		const metrics = String(await who.get("/metrics?connections=1"));

		ok(metrics.includes(`connection="${own}"`), "the metrics lack one's own connection");
		ok(!metrics.includes(`connection="${other}"`), "the metrics show the other's connection");
	}

	// A selection of ben's ends his connection, by which hers ends as well, and leaves her listener.
	const closed = await ben.call("POST", "/v1/objects/-/cancel?kind=connection&label=job=x");

	equal(closed.selected, 1, "connections that he selected");
	equal((await ben.call("DELETE", "/v1/objects?kind=listener&label=job=x")).selected, 0, "listeners that he selected");
	await until("both to have ended", async () => (await admin.get("/v1/connections?state=open")).total === 0);
	equal((await ann.get("/v1/listeners/door-of-ann")).state, "listening", "state of her listener");
	await until("the streams to tell it", () => streams.every(({ text }) => text.includes("connection_ended")));
	const [of_ann, of_ben] = streams.map(({ text }) => text);

	ok(of_ann.includes("door-of-ann") && !of_ann.includes("line-of-ben"), "her stream lacks her own, or has his");
	ok(of_ben.includes("line-of-ben") && !of_ben.includes("door-of-ann"), "his stream lacks his own, or has hers");
	for (const { end } of streams)
		end();
	await daemon.stop();
});

await finish();
