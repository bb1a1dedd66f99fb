// SPDX-License-Identifier: Apache-2.0
//
// The states of a queue pair as a diagram: the place of each state, and the transitions that were made. Pure.
import { ns } from "./format.js";

const EDGES = [
	["RESET", "INIT"],
	["INIT", "RTR"],
	["RTR", "RTS"],
	["RTS", "SQD"],
	["SQD", "RTS"],
	["RTS", "SQE"],
	["SQE", "RTS"],
	["INIT", "ERR"],
	["RTR", "ERR"],
	["RTS", "ERR"],
	["SQD", "ERR"],
	["SQE", "ERR"],
	["ERR", "RESET"],
];

/* Centres of the boxes. */
const PLACES = {
	wide: {
		size: [640, 196],
		RESET: [54, 50],
		INIT: [190, 50],
		RTR: [326, 50],
		RTS: [462, 50],
		SQD: [586, 50],
		SQE: [586, 152],
		ERR: [326, 152],
	},
	tall: {
		size: [340, 356],
		RESET: [70, 36],
		INIT: [70, 124],
		RTR: [70, 212],
		RTS: [70, 300],
		SQD: [262, 212],
		SQE: [262, 300],
		ERR: [262, 124],
	},
};
export const BOX = { width: 88, height: 44 };

/** transitions - the transitions of the queue pair in a timeline: [{from, to, sinceNs}], oldest first */
export function transitions(timeline) {
	return (timeline ?? [])
		.filter(({ kind, to }) => kind === "qp" && to)
		.map(({ from, to, since_start_ns: sinceNs }) => ({ from, to, sinceNs }));
}

/* The point where a line from the middle of one box to the middle of another leaves the first box. */
function rim([x, y], [tx, ty]) {
	const dx = tx - x;
	const dy = ty - y;
	const scale = Math.min(BOX.width / 2 / Math.abs(dx || 1e-9), BOX.height / 2 / Math.abs(dy || 1e-9));
	return [x + dx * scale, y + dy * scale];
}

/* Two opposite edges are drawn side by side. */
function shifted(a, b, by) {
	const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
	const nx = (-(b[1] - a[1]) / length) * by;
	const ny = ((b[0] - a[0]) / length) * by;
	return [
		[a[0] + nx, a[1] + ny],
		[b[0] + nx, b[1] + ny],
	];
}

function line(from, to, twin) {
	const [a, b] = twin ? shifted(from, to, 5) : [from, to];
	const start = rim(a, b);
	const end = rim(b, a);
	return `M${start.map(round).join(" ")}L${end.map(round).join(" ")}`;
}

const round = (value) => Math.round(value * 10) / 10;

/**
 * diagram - {size, nodes, edges} of a queue pair in `state` that went through `timeline`
 * nodes: {name, x, y, now, seen, sinceNs (of the last arrival)}; edges: {from, to, path, count, last}, where count is the
 * number of times that the queue pair took the edge.
 */
export function diagram(state, timeline, orientation = "wide") {
	const places = PLACES[orientation];
	const way = transitions(timeline);
	const taken = (from, to) => way.filter((step) => step.from === from && step.to === to);
	const arrivals = (name) => way.filter(({ to }) => to === name);
	const nodes = Object.keys(places)
		.filter((name) => name !== "size")
		.map((name) => ({
			name,
			x: places[name][0],
			y: places[name][1],
			now: name === state,
			seen: name === state || way.some(({ from, to }) => from === name || to === name),
			sinceNs: arrivals(name).at(-1)?.sinceNs ?? null,
		}));
	const edges = EDGES.map(([from, to]) => {
		const steps = taken(from, to);
		const twin = EDGES.some(([a, b]) => a === to && b === from);
		return {
			from,
			to,
			path: line(places[from], places[to], twin),
			count: steps.length,
			last: steps.length > 0 && steps.at(-1) === way.at(-1),
		};
	});
	return { size: places.size, nodes, edges };
}

/** inWords - the diagram in words, for screen readers */
export function inWords(state, timeline, format) {
	const way = transitions(timeline).map(({ to, sinceNs }) => `${to} after ${format(sinceNs)}`);
	return `Queue pair: now ${state}. ${way.length ? `It went through ${["RESET", ...way].join(", ")}.` : ""}`;
}

/** deadPeer - the time until a dead peer is detected while data is sent; null before that is known */
export function deadPeer({ dead_peer_detect_ms: worstMs, ack_timeout_ns: timeoutNs, retry_count: retries }) {
	if (worstMs != null) return `${ns(worstMs * 1e6)} at worst (${ns(timeoutNs)} × ${retries + 1} tries)`;
	return timeoutNs == null ? null : "never";
}
