// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { RateBook, difference, totals } from "../../../web/src/rates.js";

const counters = (write, recv = 0) => ({
	write: { bytes: write, completed: write / 10, errors: 1, flushed: 2 },
	recv: { bytes: recv, completed: 1, errors: 0, flushed: 0 },
});

test("out is sent and written, in is received and read", () => {
	assert.deepEqual(totals(counters(100, 50)), {
		outBytes: 100,
		inBytes: 50,
		outMessages: 10,
		inMessages: 1,
		errors: 1,
		flushed: 2,
	});
	assert.equal(totals(undefined).outBytes, 0);
});

test("a rate is per second of the time between two samples", () => {
	const rate = difference({ at: 1000, ...totals(counters(100)) }, { at: 3000, ...totals(counters(300, 40)) });
	assert.equal(rate.out, 100);
	assert.equal(rate.in, 20);
});

test("two samples of one time, or counters that went back, give no wrong rate", () => {
	const sample = { at: 1000, ...totals(counters(100)) };
	assert.equal(difference(sample, sample), null);
	assert.equal(difference(sample, { at: 2000, ...totals(counters(50)) }).out, 0);
});

test("a book has no rate after the first sample, and a bounded history", () => {
	const book = new RateBook();
	book.note(7, 0, counters(0));
	assert.equal(book.of(7).rate, null);
	for (let i = 1; i <= 100; i++) book.note(7, i * 1000, counters(i * 10));
	assert.equal(book.of(7).rate.out, 10);
	assert.equal(book.of(7).history.length, 32);
	book.keep(new Map());
	assert.equal(book.of(7).rate, null);
});
