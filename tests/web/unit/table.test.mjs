// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { grouped, inSight, matches, narrowed, nextSort, sorted } from "../../../web/src/table.js";

const columns = [
	{ key: "name", value: (row) => row.name },
	{ key: "rate", value: (row) => row.rate },
];
const rows = [
	{ id: 3, name: "node-10", rate: 5 },
	{ id: 1, name: "node-9", rate: null },
	{ id: 2, name: "Node-9", rate: 20 },
];
const ids = (list) => list.map(({ id }) => id);

test("rows are sorted naturally, and ids break ties", () => {
	assert.deepEqual(ids(sorted(rows, columns, "name")), [1, 2, 3]);
	assert.deepEqual(ids(sorted(rows, columns, "-name")), [3, 1, 2]);
});

test("rows without a value come last in both directions", () => {
	assert.deepEqual(ids(sorted(rows, columns, "rate")), [3, 2, 1]);
	assert.deepEqual(ids(sorted(rows, columns, "-rate")), [2, 3, 1]);
});

test("an unknown column keeps the order", () => {
	assert.deepEqual(ids(sorted(rows, columns, "colour")), [3, 1, 2]);
});

test("every word of a query must be there", () => {
	assert.ok(matches("node-7 established 10.0.0.7", "EST 10.0"));
	assert.ok(!matches("node-7 established", "node failed"));
	assert.ok(matches("anything", ""));
});

test("a click on a head reverses the order", () => {
	assert.equal(nextSort("name", "rate"), "rate");
	assert.equal(nextSort("name", "rate", true), "-rate");
	assert.equal(nextSort("rate", "rate"), "-rate");
	assert.equal(nextSort("-rate", "rate"), "rate");
});

test("of a thousand rows only those in sight and some spare ones are drawn", () => {
	const at = (top) => inSight({ top, bottom: top + 800, rowHeight: 40, count: 1000, spare: 5 });
	assert.deepEqual(at(0), { from: 0, to: 25 });
	assert.deepEqual(at(8000), { from: 195, to: 225 });
	assert.deepEqual(at(40000), { from: 995, to: 1000 });
	assert.deepEqual(at(-5000), { from: 0, to: 0 });
	assert.deepEqual(inSight({ top: 0, bottom: 800, rowHeight: 40, count: 0 }), {
		from: 0,
		to: 0,
	});
});

const CHOICES = [
	["all", "All", () => true],
	["open", "Open", ({ state }) => state === "open"],
	["failed", "Failed", ({ state }) => state === "failed"],
];
const FOUND = [
	{ id: 1, name: "left", state: "open" },
	{ id: 2, name: "right", state: "failed" },
	{ id: 12, name: "upright", state: "open" },
];
const textOf = ({ name }) => name;

test("the numbers of the choices count the rows that the search found", () => {
	const { shown, counts } = narrowed(FOUND, {
		q: "right",
		textOf,
		choices: CHOICES,
		show: "open",
	});

	assert.deepEqual(ids(shown), [12]);
	assert.deepEqual(counts, { all: 2, open: 1, failed: 1 });
});

test("without a choice, or with an unknown one, all found rows are shown", () => {
	for (const show of [undefined, "", "odd", "toString"])
		assert.deepEqual(ids(narrowed(FOUND, { textOf, choices: CHOICES, show }).shown), [1, 2, 12]);
	assert.deepEqual(narrowed(FOUND, { q: "left", textOf }), {
		shown: [FOUND[0]],
		counts: {},
	});
});

test("with an id, only its row is shown", () => {
	assert.deepEqual(ids(narrowed(FOUND, { textOf, only: "2" }).shown), [2]);
	assert.deepEqual(ids(narrowed(FOUND, { textOf, only: "3" }).shown), []);
	assert.deepEqual(ids(narrowed(FOUND, { textOf, only: "" }).shown), [1, 2, 12]);
});

test("rows of one key are one row, the newest, with their number", () => {
	const row = (id, name, created_at) => ({ id, name, created_at });
	const found = grouped(
		[
			row(1, "a", "2026-01-01"),
			row(2, null, "2026-01-02"),
			row(3, "a", "2026-01-04"),
			row(4, "a", "2026-01-03"),
			row(5, null, "2026-01-05"),
		],
		({ name }) => name,
	);
	assert.deepEqual(
		found.map(({ id, repeats }) => [id, repeats]),
		[
			[3, 3],
			[2, 1],
			[5, 1],
		],
	);
});
