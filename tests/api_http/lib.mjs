// SPDX-License-Identifier: Apache-2.0
//
// Starts the test server and speaks raw HTTP to it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import readline from "node:readline";
import test from "node:test";
import tls from "node:tls";

export const PROGRAM = process.env.VBD_TEST_SERVER;

export class Server {
	// Options: env, unixPath, nofile (RLIMIT_NOFILE of the server).
	static async start({ env = {}, unixPath, nofile } = {}) {
		const server = new Server();
		const command = [...(nofile ? ["prlimit", `--nofile=${nofile}`] : []), PROGRAM, ...(unixPath ? [unixPath] : [])];
		server.process = spawn(command[0], command.slice(1), {
			env: { ...process.env, ...env },
			stdio: ["ignore", "pipe", "pipe"],
		});
		server.errors = "";
		server.process.stderr.on("data", (data) => (server.errors += data));
		server.ended = once(server.process, "close");
		const lines = readline.createInterface({ input: server.process.stdout });
		server.lines = lines;
		const ports = await Promise.race([once(lines, "line"), server.ended.then(() => [""])]);
		[server.port, server.tlsPort] = ports[0].split(" ").map(Number);
		if (!server.port) throw new Error(`the server did not start: ${server.errors}`);
		return server;
	}

	// Stops the server with SIGTERM, as the daemon is stopped; returns its exit status.
	async stop() {
		this.process.kill("SIGTERM");
		const [status, signal] = await this.ended;
		return signal ?? status;
	}

	async kill() {
		this.process.kill("SIGKILL");
		await this.ended;
	}

	connect() {
		return Client.connect({ host: "127.0.0.1", port: this.port });
	}

	// Sends one request on a connection of its own.
	async request(method, path, { headers = {}, body } = {}) {
		const client = await this.connect();
		client.send(head(method, path, { Connection: "close", ...headers, ...length(body) }));
		if (body !== undefined) client.send(body);
		const answer = await client.answer(method);
		client.destroy();
		return answer;
	}

	async stats() {
		return (await this.request("GET", "/v1/stats")).json;
	}

	// Polls the stats until the condition holds. The time limit of the test ends a wait for ever.
	async until(wanted) {
		for (;;) {
			const stats = await this.stats();
			if (wanted(stats)) return stats;
			await new Promise((done) => setTimeout(done, 20));
		}
	}

	// Waits for a second in which the server takes less than a tenth of a processor. One that spins has none, and no load
	// takes it from one that rests.
	async rests() {
		await quiet(() => this.cpu_ticks(), 10);
	}

	// Waits for a second in which the server does not wake up. One with a timer has none.
	async sleeps() {
		await quiet(() => this.status("voluntary_ctxt_switches"), 0);
	}

	// The time on the processor, in hundredths of a second: proc(5), utime and stime.
	cpu_ticks() {
		const fields = fs.readFileSync(`/proc/${this.process.pid}/stat`, "latin1").split(") ")[1].split(" ");
		return Number(fields[11]) + Number(fields[12]);
	}

	status(name) {
		const text = fs.readFileSync(`/proc/${this.process.pid}/status`, "utf8");
		return Number(text.match(new RegExp(`^${name}:\\s+(\\d+)`, "m"))[1]);
	}
}

// The time limit of the test ends a wait for ever.
async function quiet(count, most) {
	for (let before = count(), grown = Infinity; grown > most; before += grown) {
		await new Promise((done) => setTimeout(done, 1000));
		grown = count() - before;
	}
}

// A connection whose answers are read one by one.
export class Client {
	static async connect(where) {
		const client = new Client(net.connect({ ...where, allowHalfOpen: true }));
		await once(client.socket, "connect");
		return client;
	}

	// Connects by TLS. Options: those of tls.connect().
	static async connectTls(port, options) {
		const client = new Client(tls.connect({ host: "127.0.0.1", port, ALPNProtocols: ["http/1.1"], ...options }));
		await once(client.socket, "secureConnect");
		return client;
	}

	constructor(socket) {
		this.received = Buffer.alloc(0);
		this.closed = false;
		this.wake = () => {};
		this.socket = socket;
		socket.setNoDelay(true);
		socket.on("data", (data) => {
			this.received = Buffer.concat([this.received, data]);
			this.wake();
		});
		const close = (error) => {
			this.closed = true;
			this.error ??= error?.code;
			this.wake();
		};
		socket.on("end", close).on("close", () => close()).on("error", close);
	}

	send(bytes) {
		this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
	}

	destroy() {
		this.socket.destroy();
	}

	more() {
		return new Promise((done) => (this.wake = done));
	}

	async whenClosed() {
		while (!this.closed) await this.more();
	}

	// Returns the next answer; null if the connection ends before the answer is complete. Skips
	// 100 Continue.
	async answer(method = "GET") {
		for (;;) {
			const answer = this.take(method);
			if (answer && answer.status !== 100) return answer;
			if (answer) this.continued = true;
			else if (this.closed) return null;
			else await this.more();
		}
	}

	take(method) {
		const end = this.received.indexOf("\r\n\r\n");
		if (end < 0) return null;
		const lines = this.received.subarray(0, end).toString("latin1").split("\r\n");
		const status = Number(lines[0].split(" ")[1]);
		const headers = Object.fromEntries(
			lines.slice(1).map((line) => {
				const colon = line.indexOf(":");
				return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
			}),
		);
		const bodyless = method === "HEAD" || status === 204 || status < 200;
		const size = bodyless ? 0 : Number(headers["content-length"] ?? 0);
		const start = end + 4;
		if (this.received.length < start + size) return null;
		const body = this.received.subarray(start, start + size);
		this.received = this.received.subarray(start + size);
		return {
			status,
			headers,
			body,
			get json() {
				return JSON.parse(body.toString("utf8"));
			},
		};
	}
}

export function head(method, path, headers = {}) {
	const lines = Object.entries({ Host: "127.0.0.1", ...headers })
		.filter(([, value]) => value !== null)
		.map(([name, value]) => `${name}: ${value}\r\n`);
	return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

export function length(body) {
	return body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
}

export const JSON_TYPE = { "Content-Type": "application/json" };

// Runs a test with a server of its own, which must stop cleanly and log no complaint.
export function withServer(name, options, body) {
	test(name, { timeout: 500000 }, async (t) => {
		const server = await Server.start(options);
		t.after(() => server.process.kill("SIGKILL"));
		await body(server, t);
		if (server.process.exitCode !== null) return;
		const status = await server.stop();
		if (status !== 0) throw new Error(`the server ended with ${status}: ${server.errors}`);
		if (/runtime error|Sanitizer/.test(server.errors)) throw new Error(server.errors);
	});
}
