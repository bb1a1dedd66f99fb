// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
	busiest,
	causesOf,
	failureSays,
	failuresOf,
	isAway,
	limitRows,
	openStates,
	repeated,
} from "../../../web/src/summary.js";

test("states of no connection are left out, except established", () => {
	assert.deepEqual(openStates({ connections_established: 0, connections_draining: 2, connections_requested: 0 }), [
		{ state: "established", number: 0 },
		{ state: "draining", number: 2 },
	]);
});

test("the limit that is nearest to its end comes first", () => {
	const stats = {
		connections: 5,
		connections_limit: 10,
		listeners: 9,
		listeners_limit: 10,
		windows: 3,
		objects_limit: 100,
		cq_outstanding_cqe: 1,
		cq_capacity_cqe: 100,
	};
	const devices = [
		{ memlock: { locked_bytes: 7, limit_bytes: 10 } },
		{ memlock: { locked_bytes: 7, limit_bytes: 10 } },
	];
	const rows = limitRows(stats, devices);

	assert.deepEqual(
		rows.map(({ name, share }) => [name, share]),
		[
			["listeners", 0.9],
			["memlock", 0.7],
			["connections", 0.5],
			["windows", 0.03],
			["cqs", 0.01],
		],
	);
	assert.equal(limitRows(stats, [{ memlock: { locked_bytes: 7, limit_bytes: null } }]).length, 4);
});

const NOW = Date.parse("2026-01-01T12:00:00Z");
const event = (seq, at, more) => ({
	seq,
	at: `2026-01-01T${at}Z`,
	severity: "warning",
	detail: "",
	type: "x_failed",
	...more,
});

test("failures are the warnings and errors of the last hour, each once, newest first", () => {
	const old = event(1, "10:59:59");
	const early = event(2, "11:30:00");
	const late = event(3, "11:50:00", { severity: "error" });
	const harmless = event(4, "11:55:00", { severity: "info" });

	assert.deepEqual(
		failuresOf([old, early], [early, late, harmless], NOW).map(({ seq }) => seq),
		[3, 2],
	);
});

test("a failure names its reason, and then only what the reason does not say", () => {
	const ended = { type: "connection_ended", data: { code: "retry_exceeded" } };

	assert.deepEqual(failureSays({ ...ended, detail: "failed: retry_exceeded: write: no answer" }), {
		cause: "retry exceeded",
		text: "write: no answer",
	});
	assert.deepEqual(failureSays({ ...ended, detail: "failed: retry_exceeded" }), {
		cause: "retry exceeded",
		text: "",
	});
	assert.deepEqual(failureSays({ type: "transfer_ended", detail: "write failed" }), {
		cause: "Transfer failed",
		text: "write failed",
	});
});

const NAMED = { kind: "connection", id: 7, name: "to-b" };
const tried = (seq, code = "rejected") => [
	{
		seq,
		at: soon(seq),
		severity: "warning",
		type: "connection_ended",
		object: NAMED,
		detail: `failed: ${code}`,
		data: { code },
	},
	{
		seq: seq + 1,
		at: soon(seq),
		severity: "warning",
		type: "kept_object_failed",
		object: { kind: "kept_object", id: 3, name: "to-b" },
		detail: "connection to-b, try 1",
		data: { code },
	},
];
const soon = (seq) => new Date(NOW - 1000 + seq).toISOString();

test("a try of a kept connection is one failure, and a kept object without a connection has its own", () => {
	const [, lone] = tried(8, "no_device");
	const failures = failuresOf([], [...tried(1), ...tried(3), lone], NOW);

	assert.deepEqual(
		failures.map(({ seq }) => seq),
		[9, 3, 1],
	);
});

test("failures of the same object with the same cause are told once, with their number", () => {
	const failures = failuresOf([], [...tried(1), ...tried(3), ...tried(5, "timed_out"), ...tried(7)], NOW);

	assert.deepEqual(
		repeated(failures).map(({ event, times }) => [event.seq, times]),
		[
			[7, 3],
			[5, 1],
		],
	);
});

test("a kept object that has ended on purpose is not away", () => {
	const states = ["waiting", "trying", "up", "lost", "stopped", "replacing", "removing"];

	assert.deepEqual(
		states.filter((state) => isAway({ state })),
		["waiting", "trying", "lost"],
	);
});

test("causes are counted, the most frequent first", () => {
	const failures = [
		{ type: "device_failed", detail: "rxe0" },
		{ type: "connection_ended", data: { code: "rejected" }, detail: "failed: rejected" },
		{ type: "connection_ended", data: { code: "rejected" }, detail: "failed: rejected" },
	];

	assert.deepEqual(causesOf(failures), [
		["rejected", 2],
		["Device failed", 1],
	]);
});

test("the busiest connections are those that move bytes, the fastest first", () => {
	const rate = { 1: { out: 5, in: 0 }, 2: { out: 0, in: 9 }, 3: { out: 0, in: 0 }, 4: null };
	const rates = { of: (id) => ({ rate: rate[id], history: [] }) };
	const rows = busiest([{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }], rates, 5);

	assert.deepEqual(
		rows.map(({ connection }) => connection.id),
		[2, 1],
	);
	assert.equal(busiest([{ id: 1 }, { id: 2 }], rates, 1).length, 1);
});
