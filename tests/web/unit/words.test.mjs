// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { TRIGGERS, entrySays, eventSays } from "../../../web/src/words.js";

const rdma = join(dirname(fileURLToPath(import.meta.url)), "../../../rdma");

// The names in the X-macro of the connection's events, wherever its header stands below rdma/.
function names_in_c() {
	const header = readdirSync(rdma, { recursive: true }).find((path) => /(^|\/)conn_fsm\.h$/.test(path));
	const [, rows] = /define VBD_CONN_EVENT_MAP\(X\)([\s\S]*?)enum vbd_conn_event/.exec(
		readFileSync(join(rdma, header), "utf8"),
	);

	return [...rows.matchAll(/X\(\w+,[\s\\]*"(\w+)"/g)].map(([, name]) => name);
}

test("each event of a connection's state table has plain words", () => {
	assert.ok(names_in_c().length > 20);
	assert.deepEqual(Object.keys(TRIGGERS).sort(), names_in_c().sort());
});

test("a change of state is told without the names of the state table", () => {
	const says = (text) => eventSays({ type: "connection_state", text });

	assert.deepEqual(says("failed: on drained_failed"), {
		title: "Connection state",
		text: "failed: all work requests are completed, after an error",
	});
	assert.equal(eventSays({ type: "qp_transition", text: "INIT -> RTR" }).title, "QP transition");
	assert.equal(says("resolving_addr").text, "resolving addr");
	assert.equal(says("draining: on something_new").text, "draining");
	assert.equal(says("something else altogether").text, "something else altogether");
});

test("a reason is told in words, and names of calls and statuses stay as they are", () => {
	const event = {
		type: "connection_ended",
		reason: "retry_exceeded",
		text: "failed: retry_exceeded: ibv_poll_cq said so",
	};

	assert.deepEqual(eventSays(event), {
		title: "Connection ended",
		text: "failed: retry exceeded: ibv_poll_cq said so",
	});
	assert.equal(
		eventSays({ type: "transfer_ended", text: "write timed_out, 0 of 8 bytes" }).text,
		"write timed out, 0 of 8 bytes",
	);
});

test("an entry of a timeline keeps names of calls and drops those of the state table", () => {
	assert.deepEqual(entrySays({ kind: "state", what: "resolving_addr", detail: "on addr_resolved" }), {
		what: "resolving addr",
		detail: "the address was resolved",
	});
	assert.deepEqual(entrySays({ kind: "command", what: "close", detail: "local_close" }), {
		what: "close",
		detail: "local close",
	});
	assert.deepEqual(entrySays({ kind: "call", what: "rdma_resolve_addr", detail: "timeout 2000 ms" }), {
		what: "rdma_resolve_addr",
		detail: "timeout 2000 ms",
	});
});
