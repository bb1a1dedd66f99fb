// SPDX-License-Identifier: Apache-2.0
//
// Events that can't be lost silently: read by long poll and as a stream, by clients that are cut off, late or slow.

import { readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";

import { Daemon, Failure, PATIENCE_MS, WAIT_S, equal, finish, ok, run, scenario, until } from "./lib.mjs";
import { scratch_file } from "../scratch.mjs";

const PORT = 7471;
const CHUNK = Buffer.alloc(65536);

// One reader of /v1/events/stream. `told` holds the events with a name that it received.
class Stream {
	constructor(daemon, { after, run, last_id } = {}) {
		this.daemon = daemon;
		this.run = run;
		this.events = [];
		this.told = [];
		this.last_id = last_id;
		this.text = "";
		this.connect(after);
	}

	connect(after) {
		const headers = { Accept: "text/event-stream" };

		if (this.last_id !== undefined)
			headers["Last-Event-ID"] = this.place();
		this.ended = false;
		this.begun = new Promise((done, fail) => {
			this.request = http.get({ host: "127.0.0.1", port: this.daemon.port, headers,
				path: `/v1/events/stream${after === undefined ? "" : `?after=${after}`}` }, (response) => {
				this.response = response;
				equal(response.statusCode, 200, "the status of the stream");
				equal(response.headers["content-type"], "text/event-stream", "the type of the stream");
				response.setEncoding("utf8");
				response.on("data", (text) => this.take(text));
				response.on("close", () => { this.ended = true; });
				response.on("error", () => {});
				done();
			});
			this.request.on("error", fail);
		});
		this.begun.catch(() => {});
	}

	// Blocks end with an empty line (https://html.spec.whatwg.org/multipage/server-sent-events.html).
	take(text) {
		const blocks = (this.text + text).split("\n\n");

		this.text = blocks.pop();
		for (const block of blocks)
			this.take_block(Object.fromEntries(block.split("\n").filter((line) => !line.startsWith(":"))
				.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)])));
	}

	take_block({ id, event, data }) {
		if (event)
			this.told.push({ event, ...JSON.parse(data) });
		else if (data)
			this.events.push(JSON.parse(data));
		if (id)
			[, this.run, this.last_id] = /^([0-9a-f]{16})-(\d+)$/.exec(id).map((part, i) => (i === 2 ? Number(part) : part));
	}

	place() { return `${this.run}-${this.last_id}`; }

	// Simulates a broken network: data on its way is lost.
	reconnect() {
		this.text = "";
		this.request.destroy();
		this.connect();
		return this.begun;
	}

	close() { this.request.destroy(); }
}

async function read_by_long_poll(daemon, until_seq) {
	const events = [];

	for (let after = "oldest", last = 0; last < until_seq;) {
		const page = await daemon.get(`/v1/events?after=${after}&limit=1000`, WAIT_S);

		equal(page.compacted, false, "a page that begins where the last one ended is compacted");
		events.push(...page.items);
		after = page.next;
		last = events.at(-1)?.seq ?? 0;
	}
	return events;
}

// A connection raises about two dozen events.
async function make_events(daemon, until_seq) {
	while (await daemon.newest_event() < until_seq) {
		const some = await Promise.all(Array.from({ length: 8 }, () => daemon.connect({ dst_port: PORT })));

		await Promise.all(some.map(({ id }) => daemon.call("DELETE", `/v1/connections/${id}`, undefined, { wait_s: WAIT_S })));
	}
}

const rss_kib = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

await scenario("10,000 events are the same by long poll and as a stream that is cut three times", async () => {
	const COUNT = 10_000;
	const daemon = await Daemon.start("a");

	await daemon.ready();
	await daemon.listen({ port: PORT });
	const stream = new Stream(daemon, { after: "oldest" });
	const polled = read_by_long_poll(daemon, COUNT);
	const made = make_events(daemon, COUNT);

	for (const cut of [2500, 5000, 7500]) {
		await until(`event ${cut} in the stream`, () => stream.last_id >= cut, 2 * PATIENCE_MS);
		await stream.reconnect();
	}
	await made;
	const by_poll = (await polled).slice(0, COUNT);
	await until("the stream's end", () => stream.last_id >= COUNT);
	const by_stream = stream.events.slice(0, COUNT);

	equal(by_poll.length, COUNT, "events polled");
	for (let i = 0; i < COUNT; i++) {
		equal(by_poll[i].seq, i + 1, "a number by long poll");
		equal(JSON.stringify(by_stream[i]), JSON.stringify(by_poll[i]), `event ${i + 1} in the stream`);
	}
	equal(stream.told.length, 0, "what the stream was told beside events");
	await daemon.stop();
	await until("the stream to end with the daemon", () => stream.ended);
});

await scenario("who comes too late is told what is missing, and who comes from another run is told that", async () => {
	const daemon = await Daemon.start("short", ["--config", scratch_file("short.yaml", "records:\n  events: 64\n")]);

	await daemon.ready();
	await daemon.listen({ port: PORT });
	await make_events(daemon, 200);
	const { server_id: run } = await daemon.get("/v1");
	const late = new Stream(daemon, { run, last_id: 10 });
	await until("the late one to catch up", () => late.events.length > 0);
	const [{ event, first, missed }] = late.told;

	equal(event, "compacted", "what the late one is told");
	equal(missed, first - 1 - 10, "what it missed");
	equal(late.events[0].seq, first, "its first event");

	const stranger = new Stream(daemon, { run: "0123456789abcdef", last_id: 150 });
	await until("the stranger to be told", () => stranger.told.length > 0);
	equal(stranger.told[0].event, "restarted", "what the stranger is told");
	equal(stranger.told[0].server_id, run, "the run it is told of");
	late.close();
	stranger.close();
	await until("nobody to listen", async () => (await daemon.get("/v1/stats")).event_streams === 0);
	await daemon.stop();
});

// A client that reads nothing from its socket until told to, and reconnects after a disconnect, as a browser does.
// HTTP/1.0, so that only blocks follow the head.
class SlowStream extends Stream {
	connect() {
		const head = `GET /v1/events/stream HTTP/1.0\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n` +
			`Last-Event-ID: ${this.place()}\r\n\r\n`;

		this.head = "";
		this.text = "";
		this.begun = new Promise((done, fail) => {
			this.socket = net.connect({ host: "127.0.0.1", port: this.daemon.port,
				onread: { buffer: CHUNK, callback: (count) => this.take_bytes(CHUNK.toString("latin1", 0, count), done) } });
			this.socket.on("connect", () => this.socket.write(head));
			this.socket.on("error", fail);
			this.socket.on("close", () => {
				fail(new Failure("the stream ended before it began"));
				if (!this.closed)
					setTimeout(() => this.connect(), 200);
			});
		});
		this.begun.catch(() => {});
	}

	// Returns false, which stops reading from the socket.
	take_bytes(bytes, begun) {
		if (this.head !== null) {
			this.head += bytes;
			const at = this.head.indexOf("\r\n\r\n");

			if (at < 0)
				return true;
			bytes = this.head.slice(at + 4);
			this.refused = !/^HTTP\/1\.[01] 200 /.test(this.head);
			this.head = null;
			begun();
		}
		if (!this.refused)
			this.take(bytes);
		return Boolean(this.reads);
	}

	read() {
		this.reads = true;
		this.socket.resume();
	}

	close() {
		this.closed = true;
		this.socket.destroy();
	}
}

await scenario("a thousand clients that do not read cost little, stall nobody, and learn what they missed", async () => {
	const CLIENTS = 1000;
	// Memory of the HTTP library for each client, its request, a block and one event; rounded up by a third.
	const CLIENT_KIB = 96;
	const config = scratch_file("crowd.yaml",
		"records:\n  events: 64\n  ended: 16\nlimits:\n  http_connections: 4000\n");

	// Otherwise the kernel would buffer the data that the clients do not read.
	await run("sysctl", "-qw", "net.ipv4.tcp_wmem=4096 8192 8192", "net.ipv4.tcp_rmem=4096 8192 8192");
	const daemon = await Daemon.start("crowd", ["--config", config]);
	await daemon.ready();
	await daemon.listen({ port: PORT });
	await make_events(daemon, 100);
	const began = await daemon.newest_event();
	const { server_id } = await daemon.get("/v1");
	const before_kib = rss_kib(daemon.pid);
	const streams = [];

	while (streams.length < CLIENTS) {
		const some = Array.from({ length: 50 }, () => new SlowStream(daemon, { run: server_id, last_id: began - 32 }));

		await Promise.all(some.map((stream) => stream.begun));
		streams.push(...some);
	}
	equal((await daemon.try("GET", "/v1/events/stream")).status, 429, "one more");

	// Several times the data that one client may hold, in case each client had a queue of its
	// own.
	const seen = Buffer.byteLength(JSON.stringify(await daemon.get("/v1/events?limit=64"))) / 64;
	const wanted = Math.ceil(5 * CLIENT_KIB * 1024 / seen);
	await make_events(daemon, began + wanted);
	const grown_kib = rss_kib(daemon.pid) - before_kib;
	console.log(`# ${wanted} events for ${CLIENTS} clients that did not read: ${grown_kib} KiB`);
	ok(grown_kib < CLIENTS * CLIENT_KIB, `the daemon grew by ${grown_kib} KiB for ${CLIENTS} clients that did not read`);

	const last = await daemon.newest_event();
	streams.forEach((stream) => stream.read());
	await until("each to be where the log is", () => streams.every(({ last_id }) => last_id >= last), 5 * PATIENCE_MS);
	for (const { told, events, last_id } of streams) {
		const missed = told.reduce((sum, each) => sum + each.missed, 0);

		ok(told.length > 0 && told.every(({ event }) => event === "compacted"), `it was told ${JSON.stringify(told)}`);
		equal(last_id - (began - 32), events.length + missed, "events since it came");
	}
	streams.forEach((stream) => stream.close());
	await daemon.stop();
});

await finish();
