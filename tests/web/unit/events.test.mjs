// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { filterEvents, kindsOf } from "../../../web/src/events.js";

const events = [
	{
		seq: 1,
		type: "daemon_started",
		severity: "notice",
		object: null,
		detail: "verbsd 0.1.0 started",
	},
	{
		seq: 2,
		type: "connection_state_changed",
		severity: "debug",
		object: { kind: "connection", id: 7, name: null },
		detail: "connecting: on route_resolved",
	},
	{
		seq: 3,
		type: "buffer_created",
		severity: "info",
		object: { kind: "buffer", id: 1, name: null },
		detail: "4096 bytes",
	},
	{
		seq: 4,
		type: "connection_ended",
		severity: "warning",
		object: { kind: "connection", id: 7, name: null },
		detail: "failed",
		data: { code: "retry_exceeded" },
	},
];
const numbers = (filter) => filterEvents(events, filter).map(({ seq }) => seq);

test("without a filter every event is there, in its order", () => {
	assert.deepEqual(numbers({}), [1, 2, 3, 4]);
	assert.deepEqual(numbers({ q: "", severity: "", kind: "" }), [1, 2, 3, 4]);
});

test("a severity also selects more severe events", () => {
	assert.deepEqual(numbers({ severity: "info" }), [1, 3, 4]);
	assert.deepEqual(numbers({ severity: "warning" }), [4]);
	assert.deepEqual(numbers({ severity: "error" }), []);
});

test("a kind is the kind of the object, not of the type", () => {
	assert.deepEqual(numbers({ kind: "connection" }), [2, 4]);
	assert.deepEqual(numbers({ kind: "daemon" }), []);
});

test("a search goes through text, type with spaces, object and code", () => {
	assert.deepEqual(numbers({ q: "connection ended" }), [4]);
	assert.deepEqual(numbers({ q: "connection/7" }), [2, 4]);
	assert.deepEqual(numbers({ q: "RETRY_exceeded" }), [4]);
	assert.deepEqual(numbers({ q: "nowhere" }), []);
});

test("filters are combined", () => {
	assert.deepEqual(numbers({ q: "7", severity: "warning", kind: "connection" }), [4]);
});

test("the kinds are those of the given events", () => {
	assert.deepEqual(kindsOf(events), ["buffer", "connection"]);
});

test("requests are shown only if asked for, since what they change has events of its own", () => {
	const audit = {
		seq: 9,
		type: "audit",
		severity: "info",
		object: { kind: "pd", id: 3, name: null },
		detail: "control: DELETE /v1/pds/3: 204",
	};
	const seen = (filter) => filterEvents([...events, audit], filter).map(({ seq }) => seq);

	assert.deepEqual(seen({}), numbers({}));
	assert.deepEqual(seen({ q: "DELETE" }), numbers({ q: "DELETE" }));
	assert.deepEqual(seen({ kind: "pd" }), []);
	assert.deepEqual(seen({ kind: "audit" }), [9]);
	assert.deepEqual(kindsOf([...events, audit]), ["buffer", "connection", "audit"]);
});
