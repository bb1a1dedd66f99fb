// SPDX-License-Identifier: Apache-2.0
//
// The figures of the view Overview, out of /v1/stats, the devices and the events. Pure.
import { bytes, count } from "./format.js";
import { eventSays, words } from "./words.js";

const HOUR_MS = 3600e3;
const OPEN_STATES = [
	"established",
	"queued",
	"resolving_addr",
	"resolving_route",
	"connecting",
	"retrying",
	"requested",
	"accepting",
	"awaiting_remote",
	"draining",
];

/** openStates - [{state, number}] of the connections that have not ended; states of none are left out, except established */
export function openStates(stats) {
	return OPEN_STATES.map((state) => ({ state, number: stats[`connections_${state}`] ?? 0 })).filter(
		({ state, number }) => number > 0 || state === "established",
	);
}

/* [number of /v1/stats, label, format, its limit there if several numbers have one] */
const LIMITS = [
	["connections", "Connections", count],
	["listeners", "Listeners", count],
	["ud_endpoints", "Endpoints", count, "objects_limit"],
	["ud_peers", "Peers", count, "objects_limit"],
	["multicast_memberships", "Groups", count, "objects_limit"],
	["transfers", "Running transfers", count],
	["buffers", "Buffers", count],
	["buffers_bytes", "Memory of buffers", bytes],
	["receives_bytes", "Memory of receives", bytes],
	["windows", "Memory windows", count, "objects_limit"],
	["http_connections", "HTTP clients", count],
];

/* "buffers_bytes" is limited by "buffers_limit_bytes". */
const limitOf = (name) => name.replace(/(_bytes)?$/, "_limit$1");

/* RLIMIT_MEMLOCK is one limit of the process; every device reports it. */
function memlockRow(devices) {
	const memlock = devices.find(({ memlock: it }) => it?.limit_bytes)?.memlock;
	if (!memlock) return [];
	const { locked_bytes: used, limit_bytes: limit } = memlock;
	return [{ name: "memlock", label: "Locked memory", used, limit, format: bytes }];
}

function queueRow({ cq_outstanding_cqe: used, cq_capacity_cqe: limit }) {
	return limit > 0 ? [{ name: "cqs", label: "Completion queue entries", used, limit, format: count }] : [];
}

export const NEAR = 0.8;

/** limitRows - [{name, label, used, limit, share, format}] of all limits whose use is known, the nearest to its end first */
export function limitRows(stats, devices) {
	const rows = LIMITS.map(([name, label, format, limit = limitOf(name)]) => ({
		name,
		label,
		used: stats[name],
		limit: stats[limit],
		format,
	})).filter(({ used, limit }) => limit > 0 && used !== undefined);
	return [...rows, ...queueRow(stats), ...memlockRow(devices)]
		.map((row) => ({ ...row, share: row.used / row.limit }))
		.sort((a, b) => b.share - a.share);
}

/** failuresOf - the warnings and errors of the last hour, newest first; both lists may have the same events */
export function failuresOf(warnings, events, now) {
	const known = new Map(warnings.map((event) => [event.seq, event]));
	for (const event of events) if (["warning", "error"].includes(event.severity)) known.set(event.seq, event);
	const recent = [...known.values()].filter(({ at }) => now - Date.parse(at) < HOUR_MS).sort((a, b) => b.seq - a.seq);
	return recent.filter((event, i) => !isToldByConnection(event, recent.slice(i + 1)));
}

/* A kept connection that fails has two events: its own end, and then that of the try. */
function isToldByConnection({ type, object, data }, earlier) {
	if (type !== "kept_object_failed") return false;
	const before = earlier.find((event) => event.object?.name === object.name);
	return before?.type === "connection_ended" && before.data.code === data.code;
}

/** repeated - [{event, times}] of failures of the same object with the same cause; event is the newest */
export function repeated(failures) {
	const groups = new Map();
	for (const event of failures) {
		const { kind, id, name } = event.object ?? {};
		const key = `${kind} ${name ?? id} ${failureSays(event).cause}`;
		const group = groups.get(key);
		if (group) group.times++;
		else groups.set(key, { event, times: 1 });
	}
	return [...groups.values()];
}

/** isAway - whether a kept object is to be there and is not */
export function isAway({ state }) {
	return ["waiting", "trying", "lost"].includes(state);
}

/** failureSays - {cause, text} of a failure: the code in words, or the type of the event; text may be "" */
export function failureSays(event) {
	const { title, text } = eventSays(event);
	if (!event.data?.code) return { cause: title.replace(/ended$/, "failed"), text };
	const cause = words(event.data.code);
	const rest = text.replace(/^\w+: /, "");
	return { cause, text: rest.startsWith(cause) ? rest.slice(cause.length).replace(/^: /, "") : rest };
}

/** causesOf - [cause, number of failures], the most frequent first */
export function causesOf(failures) {
	const numbers = new Map();
	for (const event of failures) {
		const { cause } = failureSays(event);
		numbers.set(cause, (numbers.get(cause) ?? 0) + 1);
	}
	return [...numbers].sort((a, b) => b[1] - a[1]);
}

/** busiest - the connections that move bytes, the fastest first, at most `most`: [{connection, rate, history}] */
export function busiest(connections, rates, most) {
	return connections
		.map((connection) => ({ connection, ...rates.of(connection.id) }))
		.filter(({ rate }) => rate && rate.out + rate.in >= 1)
		.sort((a, b) => b.rate.out + b.rate.in - a.rate.out - a.rate.in)
		.slice(0, most);
}
