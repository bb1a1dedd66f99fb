// SPDX-License-Identifier: Apache-2.0
//
// The rows that a table shows: search, order, and the part that is in sight. Pure.

/** compare - numbers by value, texts with their digits as numbers; null comes last */
export function compare(a, b) {
	if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1;
	if (typeof a === "number" && typeof b === "number") return a - b;
	return String(a).localeCompare(String(b), "en", { numeric: true, sensitivity: "base" });
}

/** sorted - the rows by "key" or "-key" of the columns ({key, value(row)}); ids break ties */
export function sorted(rows, columns, sort) {
	const down = sort.startsWith("-");
	const column = columns.find(({ key }) => key === sort.replace(/^-/, ""));
	if (!column) return rows;
	const keyed = rows.map((row) => [column.value(row), row]);
	keyed.sort(([a, x], [b, y]) => {
		if (a == null || b == null) return compare(a, b) || compare(x.id, y.id);
		return (down ? compare(b, a) : compare(a, b)) || compare(x.id, y.id);
	});
	return keyed.map(([, row]) => row);
}

/** matches - whether the text contains every word of the query */
export function matches(text, query) {
	const low = text.toLowerCase();
	return query
		.toLowerCase()
		.split(/\s+/)
		.every((word) => low.includes(word));
}

/**
 * narrowed - the rows that pass a search and a choice, as {shown, counts}
 * choices are [key, label, test(row)]; an unknown `show` means the first of them. counts has, by key, the number of rows
 * that pass the search and that choice. With `only` (an id, as text) all other rows are left out.
 */
export function narrowed(rows, { q = "", textOf, choices = [], show, only = "" }) {
	const found = rows.filter((row) => (!q || matches(textOf(row), q)) && (!only || String(row.id) === only));
	const counts = Object.fromEntries(choices.map(([key, , test]) => [key, found.filter(test).length]));
	const chosen = choices.find(([key]) => key === show) ?? choices[0];
	return { shown: chosen ? found.filter(chosen[2]) : found, counts };
}

/** grouped - rows of the same key as one: the newest, with their number as `repeats`; rows without a key stay alone */
export function grouped(rows, keyOf) {
	const groups = new Map();
	for (const row of rows) {
		const key = keyOf(row) ?? row;
		const { newest, repeats } = groups.get(key) ?? { newest: row, repeats: 0 };
		groups.set(key, { newest: newest.created_at > row.created_at ? newest : row, repeats: repeats + 1 });
	}
	return [...groups.values()].map(({ newest, repeats }) => ({ ...newest, repeats }));
}

/** nextSort - the order after a click on the head of a column */
export function nextSort(sort, key, firstDown = false) {
	if (sort === key) return `-${key}`;
	if (sort === `-${key}`) return key;
	return firstDown ? `-${key}` : key;
}

/** inSight - {from, to} of the rows to draw: those between top and bottom (px in the table), and some spare ones */
export function inSight({ top, bottom, rowHeight, count, spare = 12 }) {
	const from = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - spare));
	const to = Math.max(from, Math.min(count, Math.ceil(bottom / rowHeight) + spare));
	return { from, to };
}
