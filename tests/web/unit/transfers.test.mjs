// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { isRunning, progressOf, speedOf } from "../../../web/src/transfers.js";

test("progress is the share of bytes that are done", () => {
	assert.equal(progressOf({ state: "running", bytes_done: 256, length_bytes: 1024 }), 0.25);
	assert.equal(progressOf({ state: "failed", bytes_done: 0, length_bytes: 1024 }), 0);
});

test("a transfer of no bytes is complete when its state is done", () => {
	assert.equal(progressOf({ state: "running", bytes_done: 0, length_bytes: 0 }), 0);
	assert.equal(progressOf({ state: "done", bytes_done: 0, length_bytes: 0 }), 1);
});

test("a finished receive is complete, also with a short message", () => {
	assert.equal(progressOf({ state: "done", bytes_done: 5, length_bytes: 4096 }), 1);
});

test("speed needs a time on the wire and bytes", () => {
	assert.equal(speedOf({ bytes_done: 1000, wire_ns: 1e9 }), 1000);
	assert.equal(speedOf({ bytes_done: 0, wire_ns: 1e9 }), null);
	assert.equal(speedOf({ bytes_done: 1000, wire_ns: null }), null);
	assert.equal(speedOf({ bytes_done: 1000, wire_ns: 0 }), null);
});

test("a transfer that is being cancelled still runs", () => {
	for (const state of ["queued", "running", "cancelling"]) assert.ok(isRunning({ state }));
	for (const state of ["done", "failed", "cancelled", "timed_out"]) assert.ok(!isRunning({ state }));
});
