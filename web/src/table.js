// SPDX-License-Identifier: Apache-2.0
//
// What a table shows of its rows: search, order, and which of a thousand are in sight. Pure.

/** compare - numbers as numbers, texts as people sort them, nothing last */
export function compare(a, b) {
	if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1;
	if (typeof a === "number" && typeof b === "number") return a - b;
	return String(a).localeCompare(String(b), "en", { numeric: true, sensitivity: "base" });
}

/** sorted - by "key" or "-key" of the columns ({key, value(row)}); ids break ties */
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

/** matches - does the text hold every word of the query? */
export function matches(text, query) {
	const low = text.toLowerCase();
	return query
		.toLowerCase()
		.split(/\s+/)
		.every((word) => low.includes(word));
}

/**
 * narrowed - what a search and a choice leave of rows, as {shown, counts}
 * choices are [key, label, test(row)], and an unknown `show` is the first of them; counts are what each would leave of
 * what was found, by key. With `only` (an id, as text) all others are left out.
 */
export function narrowed(rows, { q = "", textOf, choices = [], show, only = "" }) {
	const found = rows.filter((row) => (!q || matches(textOf(row), q)) && (!only || String(row.id) === only));
	const counts = Object.fromEntries(choices.map(([key, , test]) => [key, found.filter(test).length]));
	const chosen = choices.find(([key]) => key === show) ?? choices[0];
	return { shown: chosen ? found.filter(chosen[2]) : found, counts };
}

/** nextSort - what a click on a column's head leads to */
export function nextSort(sort, key, firstDown = false) {
	if (sort === key) return `-${key}`;
	if (sort === `-${key}`) return key;
	return firstDown ? `-${key}` : key;
}

/** inSight - {from, to} of the rows to draw: those between top and bottom (px in the table), and some more */
export function inSight({ top, bottom, rowHeight, count, spare = 12 }) {
	const from = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - spare));
	const to = Math.max(from, Math.min(count, Math.ceil(bottom / rowHeight) + spare));
	return { from, to };
}
