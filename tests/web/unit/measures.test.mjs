// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { latencyRows, lengthOf, lostOf, rhythmOf, shareOf } from "../../../web/src/measures.js";

const timed = { state: "running", count: null, duration_ms: 2000, messages: 77, elapsed_ns: 5e8 };
const counted = { state: "running", count: 1000, duration_ms: null, messages: 250, elapsed_ns: 5e8 };

test("the progress of a benchmark is that of its time or of its count", () => {
	assert.equal(shareOf(timed), 0.25);
	assert.equal(shareOf(counted), 0.25);
	assert.equal(shareOf({ ...timed, elapsed_ns: null }), 0);
	assert.equal(shareOf({ ...timed, elapsed_ns: 21e8 }), 1, "what is outstanding at its end is waited for");
});

test("a finished benchmark is complete, and a failed one keeps its progress", () => {
	assert.equal(shareOf({ ...timed, state: "done" }), 1);
	assert.equal(shareOf({ ...counted, state: "failed" }), 0.25);
});

test("the length of a benchmark has the unit of the request", () => {
	assert.equal(lengthOf(timed), "2 s");
	assert.equal(lengthOf({ ...timed, duration_ms: 1500 }), "1\u202f500 ms");
	assert.equal(lengthOf({ ...timed, duration_ms: 200 }), "200 ms");
	assert.equal(lengthOf(counted), "1\u202f000 messages");
	assert.equal(lengthOf({ ...counted, count: 1 }), "1 message");
});

test("the interval of a probe in words", () => {
	assert.equal(rhythmOf({ kind: "ack", count: null, interval_ms: 1000 }), "ack, every 1 s");
	assert.equal(rhythmOf({ kind: "rping", count: 10, interval_ms: 0 }), "rping, 10 times, one after another");
	assert.equal(rhythmOf({ kind: "echo", count: 1, interval_ms: 0 }), "echo, once");
});

test("the share of lost pings is shown only if there are any", () => {
	assert.equal(lostOf({ lost: 0, sent: 0 }), "0 of 0");
	assert.equal(lostOf({ lost: 0, sent: 900 }), "0 of 900");
	assert.equal(lostOf({ lost: 3, sent: 900 }), "3 of 900 (0.33 %)");
});

test("a distribution is listed from its shortest to its longest value, once it is known", () => {
	const latency = { min: 900, mean: 1500, p50: 1200, p90: 2000, p99: 3000, p999: 4000, max: 5e6 };
	const rows = latencyRows(latency);

	assert.equal(rows.length, Object.keys(latency).length);
	assert.deepEqual(rows[0], ["Shortest", "900 ns"]);
	assert.deepEqual(rows.at(-1), ["Longest", "5.00 ms"]);
	assert.deepEqual(latencyRows(null), []);
});
