// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { merged } from "../../../web/src/collections.js";
import { Store } from "../../../web/src/store.js";

const tick = () => new Promise((done) => setImmediate(done));

// A daemon of a few objects: `lists` are by path, `asked` has the requests.
function setUp(lists, options = {}) {
	const asked = [];
	const request = async (method, target) => {
		const url = new URL(target, "http://h");
		asked.push(`${url.pathname}${url.searchParams.has("state") ? "?open" : ""}`);
		const found = lists[url.pathname];
		if (!found) throw Object.assign(new Error("not found"), { status: 404 });
		if (!Array.isArray(found)) return found;
		const after = Number(url.searchParams.get("after") ?? 0);
		const items = found.filter(({ id }) => id > after).slice(0, 2);
		return {
			items,
			total: found.length,
			next: items.length && items.at(-1).id < found.at(-1).id ? items.at(-1).id : null,
		};
	};
	const store = new Store({ request, ...options });
	store.setLink({ state: "live" });
	return { store, asked };
}

const connection = (id, state = "established") => ({ id, state, counters: {} });

test("a list is read whole, page by page, once it is watched", async () => {
	const { store, asked } = setUp({ "/v1/devices": [1, 2, 3].map((id) => ({ id })) });
	assert.equal(store.list("devices").items.size, 0);
	const stop = store.watch("devices");
	await tick();
	assert.deepEqual([...store.list("devices").items.keys()], [1, 2, 3]);
	assert.equal(store.list("devices").total, 3);
	assert.equal(asked.length, 2);
	stop();
});

test("a list that once took long to read is read again soon after an event", async (t) => {
	const timers = [];
	t.mock.method(globalThis, "setTimeout", (run, ms) => timers.push({ run, ms }));
	let now = 0;
	const { store, asked } = setUp({ "/v1/windows": [] }, { now: () => (now += 7500) });
	const stop = store.watch("windows");
	await tick();
	store.addEvents([{ seq: 1, object: { kind: "window", id: 1, name: null } }]);
	timers.filter(({ ms }) => ms <= 3000).forEach(({ run }) => run());
	await tick();
	assert.equal(asked.length, 2);
	stop();
});

test("an event makes its object out of date, and nothing else", async () => {
	const { store, asked } = setUp({
		"/v1/devices": [{ id: 1 }],
		"/v1/windows": [{ id: 1 }],
		"/v1/connections/7": connection(7, "closed"),
	});
	const stops = [store.watch("devices"), store.watch("windows"), store.watch("connections", "7")];
	await tick();
	store.addEvents([{ seq: 1, object: { kind: "window", id: 1, name: null } }]);
	assert.equal(store.list("windows").dirty, true);
	assert.ok(!store.list("devices").dirty);
	store.addEvents([{ seq: 2, object: { kind: "connection", id: 8, name: null } }]);
	assert.ok(!store.item("connections", "7").dirty);
	store.addEvents([{ seq: 3, object: { kind: "connection", id: 7, name: null } }]);
	assert.equal(store.item("connections", "7").dirty, true);
	assert.equal(asked.length, 3, "nothing is asked before the events have settled");
	stops.forEach((stop) => stop());
});

test("an event makes the parts of its object out of date, by id and by name", async () => {
	const { store } = setUp({
		"/v1/connections/to-b/explain": { connection: { id: 7, name: "to-b" } },
		"/v1/connections/to-b/timeline": { items: [] },
	});
	const stops = ["explain", "timeline"].map((part) => store.watch("connections", "to-b", part));
	await tick();
	store.addEvents([{ seq: 1, object: { kind: "connection", id: 8, name: "to-c" } }]);
	assert.ok(!store.item("connections", "to-b", "explain").dirty);
	assert.ok(!store.item("connections", "to-b", "timeline").dirty);
	store.addEvents([{ seq: 2, object: { kind: "connection", id: 7, name: "to-b" } }]);
	assert.equal(store.item("connections", "to-b", "explain").dirty, true);
	assert.equal(store.item("connections", "to-b", "timeline").dirty, true);
	stops.forEach((stop) => stop());
});

test("data that is not watched is not read", async () => {
	const { store, asked } = setUp({ "/v1/devices": [{ id: 1 }] });
	store.watch("devices")();
	await tick();
	store.addEvents([{ seq: 1, object: { kind: "device", id: 1, name: null } }]);
	store.refresh();
	await tick();
	assert.equal(asked.length, 1);
	assert.equal(store.list("devices").timer ?? null, null);
});

test("a refusal is kept until the next answer", async () => {
	const told = [];
	const lists = {};
	const { store } = setUp(lists, { onProblem: (problem) => told.push(problem.status) });
	const stop = store.watch("connections", "7");
	await tick();
	assert.equal(store.item("connections", "7").problem.status, 404);
	assert.deepEqual(told, [404]);
	lists["/v1/connections/7"] = connection(7, "closed");
	store.refresh();
	await tick();
	assert.equal(store.item("connections", "7").problem, null);
	assert.equal(store.item("connections", "7").item.id, 7);
	stop();
});

test("another run of the daemon empties the store", async () => {
	const lists = { "/v1/devices": [{ id: 1 }, { id: 2 }] };
	const { store } = setUp(lists);
	const stop = store.watch("devices");
	await tick();
	store.addEvents([{ seq: 1, object: null }]);
	assert.equal(store.setIndex({ server_id: "a" }), false);
	assert.equal(store.setIndex({ server_id: "a" }), false);
	assert.equal(store.list("devices").items.size, 2);
	assert.equal(store.setIndex({ server_id: "b" }), true);
	assert.equal(store.list("devices").items.size, 0);
	assert.equal(store.events.length, 0);
	assert.equal(store.restarts, 1);
	stop();
});

test("an answer of the earlier run is dropped", async () => {
	let answer;
	const store = new Store({ request: () => new Promise((done) => (answer = done)) });
	store.setIndex({ server_id: "a" });
	const stop = store.watch("devices");
	store.setIndex({ server_id: "b" });
	answer({ items: [{ id: 1 }], total: 1, next: null });
	await tick();
	assert.equal(store.list("devices").items.size, 0);
	stop();
});

test("after a silence all that is watched is read again", async () => {
	const { store, asked } = setUp({ "/v1/devices": [{ id: 1 }] });
	const stop = store.watch("devices");
	await tick();
	store.setLink({ state: "stale", since: 1 });
	store.setLink({ state: "live" });
	await tick();
	assert.equal(asked.length, 2);
	store.setLink({ state: "live" });
	await tick();
	assert.equal(asked.length, 2);
	stop();
});

test("the number of kept events is bounded, and the newest stay", () => {
	const { store } = setUp({});
	store.addEvents(Array.from({ length: 3000 }, (_, i) => ({ seq: i + 1, object: null })));
	assert.equal(store.events.length, 2000);
	assert.equal(store.events.at(-1).seq, 3000);
});

test("many changes make one notification", async () => {
	const { store } = setUp({});
	let told = 0;
	await tick();
	store.subscribe(() => told++);
	store.addEvents([{ seq: 1, object: null }]);
	store.addEvents([{ seq: 2, object: null }]);
	await tick();
	assert.equal(told, 1);
});

test("an event that comes during a poll is not lost", async () => {
	const answers = [];
	const store = new Store({ request: () => new Promise((done) => answers.push(done)) });
	const answer = (items) => answers.pop()({ items, total: items.length, next: null });
	store.setLink({ state: "live" });
	const stop = store.watch("transfers");
	answer([{ id: 1, state: "cancelling" }]);
	await tick();
	store.poll(store.list("transfers"));
	store.addEvents([{ seq: 1, object: { kind: "transfer", id: 1, name: null } }]);
	answer([]);
	await tick();
	assert.equal(store.list("transfers").dirty, true);
	stop();
});

test("an object that has ended is not polled, a running one is", async () => {
	const { store } = setUp({
		"/v1/benchmarks/1": { id: 1, state: "running", ended_at: null },
		"/v1/benchmarks/2": { id: 2, state: "done", ended_at: "2026-01-01T00:00:00Z" },
	});
	const stops = ["1", "2"].map((ref) => store.watch("benchmarks", ref));
	await tick();
	assert.ok(store.item("benchmarks", "1").timer);
	assert.equal(store.item("benchmarks", "2").timer ?? null, null);
	stops.forEach((stop) => stop());
});

test("an event about the daemon itself makes the drain out of date, and no other object", async () => {
	const { store } = setUp({ "/v1/drain": { state: "serving" }, "/v1/connections/7": connection(7, "closed") });
	const stops = [store.watch("drain", ""), store.watch("connections", "7")];
	await tick();
	store.addEvents([{ seq: 1, object: { kind: "connection", id: 8, name: null } }]);
	assert.ok(!store.item("drain", "").dirty);
	store.addEvents([{ seq: 2, type: "daemon_draining", object: null }]);
	assert.equal(store.item("drain", "").dirty, true);
	assert.ok(!store.item("connections", "7").dirty);
	stops.forEach((stop) => stop());
});

test("an event about a kept object makes the connection out of date that it keeps, though that has ended", async () => {
	const { store } = setUp({
		"/v1/connections/7": { ...connection(7, "failed"), desired: { id: 3 } },
		"/v1/connections/3": connection(3, "failed"),
	});
	const stops = ["7", "3"].map((ref) => store.watch("connections", ref));
	await tick();
	store.addEvents([{ seq: 1, object: { kind: "kept_object", id: 3, name: "to-b" } }]);
	assert.equal(store.item("connections", "7").dirty, true);
	assert.ok(!store.item("connections", "3").dirty);
	stops.forEach((stop) => stop());
});

test("a poll of the open connections finds those that have ended", () => {
	const before = new Map([1, 2, 3].map((id) => [id, { id, state: id === 3 ? "closed" : "open", n: 0 }]));
	const { items, left } = merged(
		before,
		[
			{ id: 1, n: 1 },
			{ id: 4, n: 1 },
		],
		({ state }) => state === "open",
	);
	assert.deepEqual(left, [2]);
	assert.deepEqual([...items.keys()], [1, 2, 3, 4]);
	assert.equal(items.get(1).n, 1);
	assert.equal(items.get(2).n, 0);
});

test("the counters of an open connection are kept for a chart", async () => {
	let written = 0;
	const request = async () => ({ id: 1, state: "established", counters: { write: { bytes: (written += 1000) } } });
	const store = new Store({ request });
	const stop = store.watch("connections", "1");

	await tick();
	store.refresh("connections");
	await tick();
	assert.equal(store.series.of(1).columns.out.length, 1);
	stop();
});

test("warnings are read to the end of the log, however many there are", async () => {
	const log = Array.from({ length: 1500 }, (_, i) => ({ seq: i + 1, severity: "warning" }));
	const asked = [];
	const request = async (method, target) => {
		const { searchParams } = new URL(target, "http://h");
		const after = Number(searchParams.get("after")?.split("-")[1] ?? 0);
		asked.push(target);
		const items = log.slice(after, after + Number(searchParams.get("limit")));
		return { server_id: "a", first: 1, last: 1500, next: `a-${items.at(-1)?.seq ?? 1500}`, items };
	};
	const store = new Store({ request });
	const stop = store.watch("warnings");

	await tick();
	assert.equal(store.list("warnings").items.size, 1500);
	assert.equal(store.list("warnings").items.get(1500).seq, 1500);
	assert.equal(asked.length, 3);
	stop();
});
