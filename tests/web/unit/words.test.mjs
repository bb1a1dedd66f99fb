// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { entrySays, eventSays, proseParts } from "../../../web/src/words.js";

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
