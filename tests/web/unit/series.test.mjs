// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { SeriesBook, hasValues } from "../../../web/src/series.js";

const connection = (id, bytes, rtt = null) => ({
	id,
	rtt,
	counters: { write: { bytes, completed: 0, errors: 0, flushed: 0 } },
});

test("the first sample gives no rate, each further one a point", () => {
	const book = new SeriesBook();
	book.note(0, 1e12, connection(1, 0));
	assert.deepEqual(book.of(1).times, []);
	book.note(2000, 1e12 + 2000, connection(1, 100));
	assert.deepEqual(book.of(1).data(["out", "in", "last"]), [[1e9 + 2], [50], [0], [null]]);
	assert.ok(hasValues(book.of(1), ["out"]));
	assert.ok(!hasValues(book.of(1), ["last", "p50"]));
	assert.ok(!hasValues(null, ["out"]));
});

test("round trips are points of their own", () => {
	const book = new SeriesBook();
	book.note(0, 1e12, connection(1, 0, { last_ns: 5000, p50_ns: 4000, p99_ns: 9000 }));
	assert.deepEqual(book.of(1).data(["last", "p50", "p99", "out"]), [[1e9], [5000], [4000], [9000], [null]]);
});

test("a long series keeps the newest points, in rows of one length", () => {
	const book = new SeriesBook();
	for (let i = 0; i < 2000; i++) book.note(i * 1000, i * 1000, connection(1, i));
	const data = book.of(1).data(["out", "in", "last"]);
	assert.equal(data[0].length, 900);
	assert.equal(data[0].at(-1), 1999);
	for (const row of data) assert.equal(row.length, 900);
});

test("only the last few connections are kept", () => {
	const book = new SeriesBook();
	for (let id = 1; id <= 20; id++) book.note(0, 0, connection(id, 0));
	assert.equal(book.of(12), null);
	assert.notEqual(book.of(13), null);
	book.note(1000, 1000, connection(13, 5));
	book.note(0, 0, connection(21, 0));
	assert.notEqual(book.of(13), null, "what is looked at is not the oldest");
});
