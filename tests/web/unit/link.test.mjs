// SPDX-License-Identifier: Apache-2.0
//
// The link to the daemon, tested with a daemon of a few lines.
import assert from "node:assert/strict";
import test from "node:test";
import { setToken } from "../../../web/src/api.js";
import { Link } from "../../../web/src/link.js";
import { Store } from "../../../web/src/store.js";

const kept = new Map();
globalThis.sessionStorage = {
	getItem: (key) => kept.get(key) ?? null,
	setItem: (key, value) => kept.set(key, value),
	removeItem: (key) => kept.delete(key),
};

class Daemon {
	constructor() {
		Object.assign(this, { serverId: "a", first: 1, last: 0, token: null, up: true, asked: [], streams: [] });
		globalThis.fetch = (path, options) => this.answer(new URL(path, "http://h"), options);
	}

	async answer(url, { headers, signal }) {
		if (!this.up) throw new TypeError("fetch failed");
		this.asked.push(url.pathname + url.search);
		if (this.token && headers.Authorization !== `Bearer ${this.token}`)
			return Response.json({ code: "unauthorized", title: "A token is needed" }, { status: 401 });
		if (url.pathname === "/v1") return Response.json({ server_id: this.serverId });
		if (url.pathname === "/v1/events")
			return Response.json({ server_id: this.serverId, first: this.first, last: this.last, items: [] });
		return new Response(this.stream(signal));
	}

	stream(signal) {
		return new ReadableStream({
			start: (controller) => {
				this.streams.push(controller);
				signal.addEventListener("abort", () => this.closed(() => controller.error(new Error("aborted"))));
			},
		});
	}

	closed(end) {
		try {
			end();
		} catch {
			// The stream was closed before.
		}
	}

	say(text) {
		this.streams.at(-1).enqueue(new TextEncoder().encode(text));
	}

	event(seq) {
		this.say(`id: ${this.serverId}-${seq}\ndata: ${JSON.stringify({ seq, object: null })}\n\n`);
	}

	break() {
		this.closed(() => this.streams.at(-1).close());
	}
}

// Waits until condition() is true. The time limit of the test ends a wait in vain.
async function until(condition) {
	while (!condition()) await new Promise((done) => setTimeout(done, 5));
}

function setUp(t, prepare = () => {}) {
	kept.clear();
	const daemon = new Daemon();
	prepare(daemon);
	const store = new Store({ request: async () => ({}) });
	const link = new Link(store);
	link.run();
	t.after(() => {
		link.stop();
		daemon.break();
	});
	const live = () => until(() => store.link.state === "live");
	return { daemon, store, link, live };
}

const streamsOf = (daemon) => daemon.asked.filter((path) => path.startsWith("/v1/events/stream"));

test("it begins some events back and follows new ones", { timeout: 30000 }, async (t) => {
	const { daemon, store, live } = setUp(t, (daemon) => Object.assign(daemon, { first: 100, last: 5000 }));
	await live();
	assert.deepEqual(daemon.asked, ["/v1", "/v1/events?limit=1", "/v1/events/stream?after=a-4500"]);
	daemon.event(4501);
	await until(() => store.events.length === 1);
	assert.equal(store.events[0].seq, 4501);
});

test("a shorter log is read from its beginning", { timeout: 30000 }, async (t) => {
	const { daemon, live } = setUp(t, (daemon) => Object.assign(daemon, { first: 7, last: 9 }));
	await live();
	assert.deepEqual(streamsOf(daemon), ["/v1/events/stream?after=a-6"]);
});

test("a broken stream continues where it broke", { timeout: 30000 }, async (t) => {
	const { daemon, store, live } = setUp(t);
	await live();
	daemon.event(1);
	daemon.event(2);
	await until(() => store.events.length === 2);
	daemon.break();
	await until(() => store.link.state === "stale");
	assert.equal(store.link.problem.status, 0);
	await live();
	assert.deepEqual(streamsOf(daemon).at(-1), "/v1/events/stream?after=a-2");
	assert.equal(store.restarts, 0);
	assert.equal(store.events.length, 2);
});

test("the time since when it is stale does not change with further tries", { timeout: 30000 }, async (t) => {
	const { daemon, store, link, live } = setUp(t);
	await live();
	daemon.up = false;
	daemon.break();
	await until(() => store.link.state === "stale");
	const { since } = store.link;
	assert.equal(typeof since, "number");
	const problem = store.link.problem;
	link.retry();
	await until(() => store.link.problem !== problem);
	assert.equal(store.link.since, since);
	daemon.up = true;
	link.retry();
	await live();
});

test("another run of the daemon is noticed and followed from its first event", { timeout: 30000 }, async (t) => {
	const { daemon, store, live } = setUp(t);
	await live();
	daemon.event(1);
	await until(() => store.events.length === 1);
	Object.assign(daemon, { serverId: "b", first: 1, last: 3 });
	daemon.break();
	await until(() => store.restarts === 1);
	await live();
	assert.equal(store.events.length, 0);
	assert.equal(streamsOf(daemon).at(-1), "/v1/events/stream?after=b-0");
});

test("events that the log dropped are counted, and the others follow", { timeout: 30000 }, async (t) => {
	const { daemon, store, live } = setUp(t);
	await live();
	daemon.say('id: a-49\nevent: compacted\ndata: {"first":50,"missed":49}\n\n');
	daemon.event(50);
	await until(() => store.events.length === 1);
	assert.equal(store.missed, 49);
});

test("a restart between the index and the stream is noticed", { timeout: 30000 }, async (t) => {
	const { daemon, store, live } = setUp(t);
	await live();
	daemon.event(1);
	await until(() => store.events.length === 1);
	Object.assign(daemon, { serverId: "b", first: 1, last: 3 });
	daemon.say('id: b-0\nevent: restarted\ndata: {"server_id":"b"}\n\n');
	daemon.event(1);
	await until(() => store.restarts === 1);
	await live();
	assert.equal(streamsOf(daemon).at(-1), "/v1/events/stream?after=b-0");
});

test("without a token it waits for one and makes no requests", { timeout: 30000 }, async (t) => {
	const { daemon, store, link, live } = setUp(t, (daemon) => (daemon.token = "secret"));
	await until(() => store.link.state === "unauthorized");
	const asked = daemon.asked.length;
	setToken("wrong");
	await link.restart();
	assert.equal(store.link.state, "unauthorized");
	assert.equal(daemon.asked.length, asked + 1);
	setToken("secret");
	await link.restart();
	await live();
});

test("an unanswered request makes the stream suspect", { timeout: 30000 }, async (t) => {
	const { daemon, store, link, live } = setUp(t);
	await live();
	link.suspect({ status: 404, unanswered: false });
	assert.equal(store.link.state, "live");
	link.suspect({ status: 0, unanswered: true });
	await until(() => daemon.streams.length === 2);
	await live();
});
