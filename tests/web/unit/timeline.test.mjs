// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { kindsIn, rowsOf, toneOf } from "../../../web/src/timeline.js";

const entry = (kind, what, since_start_ns) => ({ kind, what, since_start_ns });

test("each row has the time since the row before, and long pauses are rows", () => {
	const rows = rowsOf([entry("call", "a", 5), entry("call", "b", 20), entry("qp", "RTS -> ERR", 4e9)]);
	assert.deepEqual(
		rows.map(({ gapNs, pauseNs }) => gapNs ?? pauseNs),
		[5, 15, 4e9 - 20, 4e9 - 20],
	);
	assert.equal(rows[2].pauseNs, 4e9 - 20);
	assert.deepEqual(rowsOf(undefined), []);
});

test("kinds that are switched off are left out, also from the times", () => {
	const rows = rowsOf(
		[entry("call", "a", 5), entry("qp", "RESET -> INIT", 20), entry("call", "b", 30)],
		new Set(["call"]),
	);
	assert.deepEqual(
		rows.map(({ what, gapNs }) => [what, gapNs]),
		[
			["a", 5],
			["b", 25],
		],
	);
});

test("good and bad news have tones of their own", () => {
	assert.equal(toneOf(entry("state", "established", 1)), "ok");
	assert.equal(toneOf(entry("qp", "RTR -> RTS", 1)), "ok");
	assert.equal(toneOf(entry("qp", "RTS -> ERR", 1)), "bad");
	assert.equal(toneOf(entry("cm_event", "RDMA_CM_EVENT_REJECTED", 1)), "bad");
	assert.equal(toneOf(entry("wc", "anything", 1)), "bad");
	assert.equal(toneOf(entry("state", "closed", 1)), "plain");
	assert.equal(toneOf(entry("cm_event", "RDMA_CM_EVENT_DISCONNECTED", 1)), "plain");
});

test("kinds are counted", () => {
	assert.deepEqual(kindsIn([entry("call", "a", 1), entry("qp", "b", 2), entry("call", "c", 3)]), [
		["call", 2],
		["qp", 1],
	]);
	assert.deepEqual(kindsIn(undefined), []);
});
