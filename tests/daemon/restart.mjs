// SPDX-License-Identifier: Apache-2.0
//
// kill -9 of a daemon with kept objects, ended connections and a client that follows the events, over the scripted provider:
// the next run has all of it, and the client goes on without a gap.
import assert from "node:assert/strict";
import http from "node:http";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const ADDR = "10.0.0.1"; // of the scripted device
const PORT = 7471;
const NOBODY_PORT = 7999;
const POOL_BYTES = 65536;
const KEPT = ["door", "pool", "to-door"];

// Follows the events of one run after another, as a client that has seen nothing goes on.
class Follower {
	events = [];
	restarts = []; // the data of each event `restarted`
	place = "oldest";

	// Resolves when the run has ended.
	follow(daemon) {
		const options = { socketPath: daemon.socket, path: "/v1/events/stream", agent: false,
			headers: { "Last-Event-ID": this.place } };

		this.rest = "";
		return new Promise((done) => {
			http.get(options, (answer) => {
				answer.setEncoding("utf8").on("data", (text) => this.take(text)).on("close", done).on("error", done);
			}).on("error", done);
		});
	}

	take(text) {
		const parts = (this.rest + text).split("\n\n");

		this.rest = parts.pop();
		for (const part of parts) this.take_one(Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s))));
	}

	take_one({ id, event, data }) {
		if (id) this.place = id;
		if (event === "restarted") this.restarts.push(JSON.parse(data));
		else if (data) this.events.push(JSON.parse(data));
	}
}

async function ask(daemon, method, path, body) {
	const headers = { ...(body && { "Content-Type": "application/json" }), Prefer: "wait=60" };

	return daemon.request(method, path, { headers, body: body && JSON.stringify(body) });
}

async function make(daemon, kind, body) {
	const { status, text, json } = await ask(daemon, "POST", `/v1/${kind}`, body);

	assert.ok(status < 300, `${kind}: ${status} ${text}`);
	return json;
}

const get = async (daemon, path) => (await daemon.get(path)).json;
const all_events = (daemon) => get(daemon, "/v1/events?limit=1000&after=oldest");
const connection_of = (daemon, ref) => get(daemon, `/v1/connections/${ref}`);
const all_up = async (daemon) => {
	const { items } = await get(daemon, "/v1/kept_objects");

	return items.length === KEPT.length && items.every(({ state }) => state === "up");
};
const write_to_pool = async (daemon, { addr, rkey }) =>
	make(daemon, "transfers", { op: "write", connection: "to-door", buffer: "pool", remote: { addr, rkey } });

// Keeps a listener, a buffer and a connection, uses them, and lets one connection end well and one fail.
async function work(daemon) {
	await make(daemon, "listeners", { name: "door", addr: ADDR, port: PORT, keep: true });
	const pool = await make(daemon, "buffers", { name: "pool", size_bytes: POOL_BYTES, access: ["remote_write"], keep: true });
	await make(daemon, "connections", { name: "to-door", dst_addr: ADDR, dst_port: PORT, keep: true });
	await make(daemon, "connections", { name: "guest", dst_addr: ADDR, dst_port: PORT });
	assert.equal((await ask(daemon, "POST", "/v1/connections/guest/close")).json.state, "closed");
	assert.equal((await ask(daemon, "POST", "/v1/connections", { name: "nowhere", dst_addr: ADDR, dst_port: NOBODY_PORT })).json.code,
		"rejected");
	assert.equal((await write_to_pool(daemon, pool)).state, "done");
}

async function check_records(daemon, before) {
	for (const [name, was] of Object.entries(before.connections)) {
		const now = await connection_of(daemon, was.id);

		assert.equal(now.server_id, before.server_id, name);
		assert.equal(now.state, was.ended_at ? was.state : "failed", name);
		assert.equal(now.end_code, was.ended_at ? was.end_code : "daemon_died", name);
		assert.equal(now.desired, null, `how ${name} was kept is of its run`);
		assert.equal(now.created_at, was.created_at, name);
		const timeline = await get(daemon, `/v1/connections/${was.id}/timeline`);
		assert.ok(timeline.incomplete && timeline.items.length > 1, name);
	}
	const nowhere = `/v1/connections/${before.connections.nowhere.id}/explain`;
	assert.equal((await get(daemon, nowhere)).summary, before.summary);
	const { items: [transfer] } = await get(daemon, "/v1/transfers?state=ended");
	assert.deepEqual([transfer.state, transfer.server_id], ["done", before.server_id]);
}

async function check_kept(daemon, before) {
	const { items } = await get(daemon, "/v1/kept_objects");
	assert.deepEqual(items.map(({ name }) => name).sort(), KEPT);
	const pool = await get(daemon, "/v1/buffers/pool");
	assert.deepEqual([pool.state, pool.size_bytes], ["ready", POOL_BYTES]);
	assert.equal((await get(daemon, "/v1/listeners/door")).state, "listening");
	const again = await connection_of(daemon, "to-door");
	assert.equal(again.state, "established");
	assert.equal(again.server_id, undefined);
	assert.equal(again.desired.state, "up");
	assert.notEqual(again.created_at, before.connections["to-door"].created_at);
	assert.equal((await write_to_pool(daemon, pool)).state, "done");
}

test("restart: records, events and kept objects outlive a kill together, and a follower misses nothing", LIMIT, async (t) => {
	const args = ["--set", `state_dir=${join(scratch_folder("restart"), "state")}`];
	const first = await daemon_of(t, { args }).up();
	const follower = new Follower();
	const { server_id, last: begun } = await all_events(first);
	const left = follower.follow(first);

	await work(first);
	const before = { server_id, connections: {} };
	for (const name of ["to-door", "guest", "nowhere"]) before.connections[name] = await connection_of(first, name);
	before.summary = (await get(first, "/v1/connections/nowhere/explain")).summary;
	// The other end of the one that was closed may still be ending, and what it tells then has to be in the file too.
	await until(async () => (await get(first, "/v1/stats")).connections === 2);
	await until(async () => (await get(first, "/v1/stats")).store_waiting === 0);
	const told = (await all_events(first)).items;
	assert.ok(told.length > begun);
	await until(() => follower.events.length > 0);
	assert.equal(await first.stop("SIGKILL"), "SIGKILL");
	await left;

	const second = await daemon_of(t, { args }).up();
	const ended = follower.follow(second);
	await until(() => all_up(second));
	await check_records(second, before);
	await check_kept(second, before);
	const events = await all_events(second);
	assert.deepEqual(events.items.slice(0, told.length), told);
	await until(() => follower.events.at(-1).seq >= events.last);
	assert.deepEqual(follower.events.slice(0, events.items.length), events.items);
	assert.deepEqual(follower.restarts, [{ server_id: events.server_id, resumed: true }]);
	assert.equal(await second.stop(), 0);
	await ended;
});
