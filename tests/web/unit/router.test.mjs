// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { hashOf, nextView, objectHash, parseHash } from "../../../web/src/router.js";

test("a route becomes an address and back again", () => {
	for (const route of [
		{ view: "connections", ref: null, query: {} },
		{ view: "connections", ref: "7", query: {} },
		{ view: "connections", ref: "to b/ü?#%", query: { q: "a b&c=d", sort: "-out" } },
	])
		assert.deepEqual(parseHash(hashOf(route)), route);
});

test("an empty or odd address is still a route", () => {
	assert.deepEqual(parseHash(""), { view: "", ref: null, query: {} });
	assert.deepEqual(parseHash("#/"), { view: "", ref: null, query: {} });
	assert.equal(parseHash("#/connections/%zz").ref, "%zz");
	assert.equal(parseHash("#connections").view, "connections");
});

test("empty parts of a query are left out", () => {
	assert.equal(
		hashOf({ view: "events", query: { q: "", type: null, object: "connection/7" } }),
		"#/events?object=connection%2F7",
	);
});

test("objects of events have the address at which they are shown", () => {
	assert.equal(objectHash({ kind: "connection", id: 7 }), "#/connections/7");
	assert.equal(objectHash({ kind: "buffer", id: 3 }), "#/buffers?id=3");
	assert.equal(objectHash({ kind: "window", id: 3 }), "#/buffers?window=3");
	assert.equal(objectHash({ kind: "transfer_batch", id: 3 }), "#/transfers?batch=3", "with its transfers");
	assert.equal(objectHash({ kind: "benchmark", id: 3 }), "#/benchmarks?id=3");
	assert.equal(objectHash({ kind: "probe", id: 3 }), "#/benchmarks?probe=3");
	assert.equal(objectHash({ kind: "ud_endpoint", id: 3 }), "#/datagrams?id=3");
	assert.equal(objectHash({ kind: "ud_peer", id: 3 }), "#/datagrams?peer=3");
	assert.equal(objectHash({ kind: "multicast_membership", id: 3 }), "#/datagrams?group=3");
	assert.equal(objectHash(null), null);
	assert.equal(objectHash({ kind: "cq", id: 1 }), null);
});

test("a letter leads to its view, and then to the next view of the same letter", () => {
	const views = ["connections", "buffers", "benchmarks", "events"].map((view) => ({ view }));
	const lead = (letter, from) => nextView(views, letter, from)?.view;

	assert.equal(lead("b", "connections"), "buffers");
	assert.equal(lead("b", "buffers"), "benchmarks");
	assert.equal(lead("b", "benchmarks"), "buffers");
	assert.equal(lead("b", ""), "buffers");
	assert.equal(lead("e", "events"), "events");
	assert.equal(lead("x", "buffers"), undefined);
});
