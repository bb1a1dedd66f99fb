// SPDX-License-Identifier: Apache-2.0
//
// Many who follow the events: each gets every event once and in order, whatever the others do.
import assert from "node:assert/strict";
import http from "node:http";
import test from "node:test";

import { daemon_of, until } from "./lib.mjs";

const FOLLOWERS = 48;
const SLOW = 8; // of them
const BURST = 200;

// A daemon that serves TCP as well, with .port.
async function daemon_with_port(t) {
	const daemon = daemon_of(t, { args: ["--listen", "127.0.0.1:0"] });
	const [, port] = await until(() => daemon.log.match(/serves HTTP on 127.0.0.1, port (\d+)/));
	daemon.port = Number(port);
	return daemon.up();
}

// Follows the events; .seen are their numbers. A slow one reads nothing until it is resumed.
class Follower {
	constructor(daemon, { after = "oldest", slow = false } = {}) {
		this.seen = [];
		this.heartbeats = 0;
		this.wake = () => {};
		this.rest = "";
		this.request = http.get({ port: daemon.port, path: `/v1/events/stream?after=${after}`, agent: false });
		this.opened = new Promise((done, failed) => {
			this.request.on("error", failed);
			this.request.on("response", (answer) => {
				this.answer = answer;
				if (!slow) this.resume();
				done(this);
			});
		});
	}

	resume() {
		this.answer.setEncoding("utf8").on("data", (text) => this.take(text)).on("error", () => {});
	}

	take(text) {
		const events = (this.rest + text).split("\n\n");
		this.rest = events.pop();
		for (const event of events) {
			const data = event.match(/^data: (.*)$/m);
			if (data) this.seen.push(JSON.parse(data[1]).seq);
			if (event === ":") this.heartbeats++;
		}
		this.wake();
	}

	async until(condition) {
		while (!condition(this)) await new Promise((done) => (this.wake = done));
	}

	leave() {
		this.request.removeAllListeners("error").on("error", () => {});
		this.request.destroy();
	}
}

// A client that keeps its connection. Each of its requests is one event, of the audit.
function client_of(daemon, t) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

	t.after(() => agent.destroy());
	return (method, path) => daemon.request(method, path, { socketPath: null, port: daemon.port, agent });
}

async function last_of(daemon) {
	return (await daemon.get("/v1/events?limit=1")).json.last;
}

const up_to = (last) => Array.from({ length: last }, (_, i) => i + 1);

test("a follower gets the event of a request after which all is quiet", async (t) => {
	const daemon = await daemon_with_port(t);
	const ask = client_of(daemon, t);
	await ask("GET", "/livez");
	const follower = await new Follower(daemon, { after: "now" }).opened;
	t.after(() => follower.leave());
	for (let count = 1; count <= 5; count++) {
		await ask("DELETE", "/v1/connections/1");
		await follower.until(({ seen }) => seen.length >= count);
	}
	assert.equal(new Set(follower.seen).size, 5);
});

test("bursts reach many followers, slow ones too, once and in order, and then heartbeats", async (t) => {
	const daemon = await daemon_with_port(t);
	const followers = await Promise.all(
		Array.from({ length: FOLLOWERS }, (_, i) => new Follower(daemon, { slow: i < SLOW }).opened),
	);
	t.after(() => followers.forEach((follower) => follower.leave()));
	const askers = Array.from({ length: 4 }, () => client_of(daemon, t));
	await Promise.all(
		askers.map(async (ask) => {
			for (let i = 0; i < BURST; i++) await ask("DELETE", "/v1/objects?kind=connection&all=true");
		}),
	);
	const last = await last_of(daemon);
	followers.slice(0, SLOW).forEach((follower) => follower.resume());
	for (const follower of followers) {
		await follower.until(({ seen }) => seen.at(-1) >= last);
		assert.deepEqual(follower.seen.slice(0, last), up_to(last));
	}
	await Promise.all(followers.map((follower) => follower.until(({ heartbeats }) => heartbeats > 0)));
});
