// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { sseParser } from "../../../web/src/sse.js";

function parse(pieces) {
	const events = [];
	const feed = sseParser((event) => events.push(event));
	pieces.forEach((piece) => feed(piece));
	return events;
}

const TEXT = 'retry: 1000\n\nid: 1\ndata: {"seq":1}\n\n:\n\nid: 2\nevent: compacted\ndata: {"first":9}\n\n';
const EVENTS = [
	{ id: "1", event: "message", data: '{"seq":1}' },
	{ id: "2", event: "compacted", data: '{"first":9}' },
];

test("events are complete wherever the stream is cut", () => {
	assert.deepEqual(parse([TEXT]), EVENTS);
	assert.deepEqual(parse([...TEXT]), EVENTS);
	for (let cut = 1; cut < TEXT.length; cut++) assert.deepEqual(parse([TEXT.slice(0, cut), TEXT.slice(cut)]), EVENTS);
});

test("lines may end in any of the three ways", () => {
	const dos = TEXT.replaceAll("\n", "\r\n");
	assert.deepEqual(parse([dos]), EVENTS);
	assert.deepEqual(parse([...dos]), EVENTS);
	assert.deepEqual(
		parse(["data: a\rdata: b\r\r", "data: c\n\n"]).map(({ data }) => data),
		["a\nb", "c"],
	);
});

test("an incomplete event is not reported", () => {
	assert.deepEqual(parse(['id: 1\ndata: {"seq"']), []);
	assert.deepEqual(parse(["data: a\n"]), []);
});

test("without data there is no event, and lines of data are one text", () => {
	assert.deepEqual(parse(["event: x\n\ndata: a\ndata:b\ndata\n\n"]), [
		{ id: null, event: "message", data: "a\nb\n" },
	]);
});
