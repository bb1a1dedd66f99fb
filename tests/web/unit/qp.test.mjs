// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { deadPeer, diagram, inWords, transitions } from "../../../web/src/qp.js";

const TIMELINE = [
	{ kind: "call", what: "rdma_create_id", since_start_ns: 1 },
	{ kind: "qp", what: "RESET -> INIT", from: "RESET", to: "INIT", since_start_ns: 10 },
	{ kind: "qp", what: "INIT -> RTR", from: "INIT", to: "RTR", since_start_ns: 20, detail: "lqpn 0x000011" },
	{ kind: "qp", what: "RTR -> RTS", from: "RTR", to: "RTS", since_start_ns: 30 },
];
const DOWN = [...TIMELINE, { kind: "qp", what: "RTS -> ERR", from: "RTS", to: "ERR", since_start_ns: 99 }];

const node = ({ nodes }, name) => nodes.find((one) => one.name === name);
const edge = ({ edges }, from, to) => edges.find((one) => one.from === from && one.to === to);

test("transitions are read from the timeline", () => {
	assert.deepEqual(
		transitions(DOWN).map(({ from, to, sinceNs }) => [from, to, sinceNs]),
		[
			["RESET", "INIT", 10],
			["INIT", "RTR", 20],
			["RTR", "RTS", 30],
			["RTS", "ERR", 99],
		],
	);
	assert.deepEqual(transitions(undefined), []);
	assert.deepEqual(
		transitions([{ kind: "qp", what: "something else", from: null, to: null, since_start_ns: 1 }]),
		[],
	);
});

test("the present state is lit, and past states are marked", () => {
	const drawing = diagram("RTS", TIMELINE);
	assert.deepEqual(
		drawing.nodes.filter(({ now }) => now).map(({ name }) => name),
		["RTS"],
	);
	assert.deepEqual(
		drawing.nodes.filter(({ seen }) => seen).map(({ name }) => name),
		["RESET", "INIT", "RTR", "RTS"],
	);
	assert.equal(node(drawing, "INIT").sinceNs, 10);
	assert.equal(node(drawing, "RESET").sinceNs, null);
	assert.equal(edge(drawing, "INIT", "RTR").count, 1);
	assert.equal(edge(drawing, "RTR", "RTS").last, true);
	assert.equal(edge(drawing, "RTS", "ERR").count, 0);
});

test("an error is the last step, and leads back to RESET only if it was taken", () => {
	const drawing = diagram("ERR", DOWN);
	assert.equal(edge(drawing, "RTS", "ERR").last, true);
	assert.equal(edge(drawing, "RTR", "RTS").last, false);
	assert.equal(edge(drawing, "ERR", "RESET").count, 0);
});

test("a queue pair that repeats states counts the transitions and has the last times", () => {
	const again = [
		...DOWN,
		{ kind: "qp", what: "ERR -> RESET", from: "ERR", to: "RESET", since_start_ns: 200 },
		...TIMELINE.slice(1).map((one) => ({ ...one, since_start_ns: one.since_start_ns + 300 })),
	];
	const drawing = diagram("RTS", again);
	assert.equal(edge(drawing, "RESET", "INIT").count, 2);
	assert.equal(node(drawing, "RTS").sinceNs, 330);
	assert.equal(node(drawing, "RESET").sinceNs, 200);
});

test("there is a diagram without a timeline and for an unknown state as well", () => {
	for (const orientation of ["wide", "tall"]) {
		assert.equal(diagram("INIT", undefined, orientation).nodes.length, 7);
		assert.equal(diagram("UNKNOWN", [], orientation).nodes.filter(({ now }) => now).length, 0);
		for (const { path } of diagram("RTS", TIMELINE, orientation).edges)
			assert.match(path, /^M-?[\d.]+ -?[\d.]+L-?[\d.]+ -?[\d.]+$/);
	}
});

test("the diagram can be put into words", () => {
	assert.equal(
		inWords("RTS", TIMELINE, (ns) => `${ns} ns`),
		"Queue pair: now RTS. It went through RESET, INIT after 10 ns, RTR after 20 ns, RTS after 30 ns.",
	);
	assert.equal(inWords("RESET", [], String), "Queue pair: now RESET. ");
});

test("the time until a dead peer is detected, with its calculation", () => {
	const qp = { dead_peer_detect_ms: 336, ack_timeout_ns: 67108864, retry_count: 4 };
	assert.equal(deadPeer(qp), "336 ms at worst (67.1 ms × 5 tries)");
	assert.equal(deadPeer({ ...qp, dead_peer_detect_ms: null, retry_count: 7 }), "never");
	assert.equal(deadPeer({ dead_peer_detect_ms: null, ack_timeout_ns: null, retry_count: null }), null);
});
