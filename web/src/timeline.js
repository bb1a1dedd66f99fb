// SPDX-License-Identifier: Apache-2.0
//
// A connection's timeline as rows to draw. Pure.
const PAUSE_NS = 1e9;

/** rowsOf - the entries with the time since the entry before, and a row {pauseNs} for each pause of a second or more */
export function rowsOf(timeline, kinds = null) {
	const rows = [];
	let before = null;
	for (const entry of timeline ?? []) {
		if (kinds && !kinds.has(entry.kind)) continue;
		const gapNs = before === null ? entry.since_start_ns : entry.since_start_ns - before;
		if (before !== null && gapNs >= PAUSE_NS) rows.push({ pauseNs: gapNs });
		rows.push({ ...entry, gapNs, tone: toneOf(entry) });
		before = entry.since_start_ns;
	}
	return rows;
}

/** toneOf - "ok" for good news, "bad" for bad news, else "plain" */
export function toneOf({ kind, what }) {
	if (kind === "wc") return "bad";
	if (/ERROR|REJECTED|UNREACHABLE|DEVICE_REMOVAL|-> ERR$|^failed$|FATAL/.test(what)) return "bad";
	if (/^established$|-> RTS$|ESTABLISHED$/.test(what)) return "ok";
	return "plain";
}

/** kindsIn - [kind, number of entries] of each kind */
export function kindsIn(timeline) {
	const counts = new Map();
	for (const { kind } of timeline ?? []) counts.set(kind, (counts.get(kind) ?? 0) + 1);
	return [...counts];
}
