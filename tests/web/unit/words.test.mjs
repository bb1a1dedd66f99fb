// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
	drainSays,
	entrySays,
	eventSays,
	keptSays,
	keptText,
	objectParts,
	proseParts,
} from "../../../web/src/words.js";

test("a change of state has its state in words", () => {
	const says = (detail) => eventSays({ type: "connection_state_changed", detail });

	assert.deepEqual(says("failed: all work requests are completed, after an error"), {
		title: "Connection state changed",
		text: "failed: all work requests are completed, after an error",
	});
	assert.equal(
		eventSays({ type: "connection_qp_state_changed", detail: "INIT -> RTR" }).title,
		"Connection QP state changed",
	);
	assert.equal(says("resolving_addr").text, "resolving addr");
	assert.equal(says("awaiting_remote: the QP is in ERR").text, "awaiting remote: the QP is in ERR");
	assert.equal(says("something else altogether").text, "something else altogether");
});

test("a code is told in words, and names of calls and statuses stay as they are", () => {
	const event = {
		type: "connection_ended",
		data: { code: "retry_exceeded" },
		detail: "failed: retry_exceeded: ibv_poll_cq said so",
	};

	assert.deepEqual(eventSays(event), {
		title: "Connection ended",
		text: "failed: retry exceeded: ibv_poll_cq said so",
	});
	assert.equal(
		eventSays({
			type: "transfer_ended",
			detail: "write timed_out, 0 of 8 bytes",
		}).text,
		"write timed out, 0 of 8 bytes",
	);
});

test("an entry of a timeline keeps names of calls", () => {
	assert.deepEqual(
		entrySays({
			kind: "state",
			what: "resolving_addr",
			detail: "the address is resolved",
		}),
		{
			what: "resolving addr",
			detail: "the address is resolved",
		},
	);
	assert.deepEqual(
		entrySays({
			kind: "event",
			what: "connection_state_changed",
			detail: "resolving_addr",
		}),
		{
			what: "Connection state changed",
			detail: "resolving addr",
		},
	);
	assert.deepEqual(entrySays({ kind: "command", what: "close", detail: "local_close" }), {
		what: "close",
		detail: "local close",
	});
	assert.deepEqual(
		entrySays({
			kind: "call",
			what: "rdma_resolve_addr",
			detail: "timeout 2000 ms",
		}),
		{
			what: "rdma_resolve_addr",
			detail: "timeout 2000 ms",
		},
	);
});

test("what is between backquotes is code, and a single one stays as it is", () => {
	assert.deepEqual(proseParts("`ping b`, then `ip neigh`."), [
		{ text: "ping b", code: true },
		{ text: ", then " },
		{ text: "ip neigh", code: true },
		{ text: "." },
	]);
	assert.deepEqual(proseParts("a ` alone"), [{ text: "a ` alone" }]);
	assert.deepEqual(proseParts(""), []);
});

const NOW = Date.parse("2026-01-31T12:00:00Z");
const soon = (ms) => new Date(NOW + ms).toISOString();

test("a drain says what is under way, and when that is cancelled", () => {
	const drain = {
		state: "draining",
		deadline_at: soon(30_500),
		transfer_count: 1,
		connection_count: 2,
	};

	assert.deepEqual(drainSays(drain, NOW), {
		title: "verbsd drains.",
		text: "It begins nothing new. Under way: 1 transfer. Transfers that still run are cancelled in 30 s. Open: 2 connections.",
	});
	assert.equal(
		drainSays({ ...drain, deadline_at: null }, NOW).text,
		"It begins nothing new. Under way: 1 transfer. Open: 2 connections.",
	);
	assert.deepEqual(drainSays({ ...drain, state: "drained", transfer_count: 0, connection_count: 0 }, NOW), {
		title: "verbsd is drained.",
		text: "It begins nothing new, and no transfer is under way. Open: no connections.",
	});
});

const KEPT = {
	state: "waiting",
	source: "api",
	tries: 3,
	last_try_at: soon(-2000),
	next_try_at: soon(4200),
	error: { detail: "nobody listens on that port" },
	outlives_restart: true,
};

test("a kept object that is away tells its newest try, its error, and the time to the next one", () => {
	const says = Object.fromEntries(keptSays(KEPT, NOW));

	assert.equal(says.State, "waiting, next try in 4 s");
	assert.equal(says["Newest try"], "2 s ago, number 3");
	assert.equal(says.Error, "nobody listens on that port");
	assert.equal(keptText(KEPT, NOW), "kept: waiting, next try in 4 s");
	assert.equal(keptText(KEPT, NOW + 60_000), "kept: waiting, next try now");
});

test("a kept object that is there has no next try", () => {
	const up = { ...KEPT, state: "up", next_try_at: null, error: null };

	assert.equal(Object.fromEntries(keptSays(up, NOW)).State, "up");
	assert.equal(keptText(up, NOW), "kept");
	assert.equal(keptText({ ...up, state: "lost" }, NOW), "kept: lost");
});

test("objects in the text of an event are told apart from the words around them", () => {
	assert.deepEqual(objectParts("done, 10 bytes over connection 12 in 0 ms"), [
		{ text: "done, 10 bytes over " },
		{ text: "connection 12", object: { kind: "connection", id: "12" } },
		{ text: " in 0 ms" },
	]);
	assert.deepEqual(objectParts("DELETE delete_benchmark benchmark/1: 204")[1].object, { kind: "benchmark", id: "1" });
	assert.deepEqual(objectParts("nothing of that kind"), [{ text: "nothing of that kind" }]);
	assert.deepEqual(objectParts(""), []);
});
