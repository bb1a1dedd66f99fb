// SPDX-License-Identifier: Apache-2.0
//
// Plain words for the names of states and types in events and timelines, for drains and for kept objects. Pure.
import { ago, clock, counted, span } from "./format.js";

/** words - "peer_disconnect" -> "peer disconnect" */
export function words(name) {
	return name.replaceAll("_", " ");
}

function capitalized(text) {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/** proseParts - "see `ip neigh`." -> [{text: "see "}, {text: "ip neigh", code: true}, {text: "."}] */
export function proseParts(text) {
	// A backquote without another one stays as it is.
	return text
		.split(/(`[^`]+`)/)
		.filter(Boolean)
		.map((part) => (/^`[^`]+`$/.test(part) ? { text: part.slice(1, -1), code: true } : { text: part }));
}

const OBJECT = /\b((connection|listener|transfer|benchmark|buffer|probe|window|endpoint)[ /](\d+))\b/;

/** objectParts - "send over connection 7" -> [{text: "send over "}, {text: "connection 7", object: {kind, id}}] */
export function objectParts(text) {
	const [, all, kind, id] = OBJECT.exec(text) ?? [];
	if (!all) return text ? [{ text }] : [];
	const at = text.indexOf(all);
	const before = at > 0 ? [{ text: text.slice(0, at) }] : [];
	return [
		...before,
		{ text: all, object: { kind: kind.replace("endpoint", "ud_endpoint"), id } },
		...objectParts(text.slice(at + all.length)),
	];
}

/* "awaiting_remote: the QP is in ERR" -> "awaiting remote: the QP is in ERR" */
function stateText(text) {
	const [, state, detail] = /^(\w+)(?:: (.*))?$/.exec(text) ?? [];
	if (state === undefined) return text;
	return [words(state), detail].filter(Boolean).join(": ");
}

/** eventSays - {title, text} of an event: its type and its detail in plain words */
export function eventSays({ type, detail, data }) {
	const title = capitalized(words(type)).replace(/\b(qp|cm|ud|pd|cq|srq)\b/i, (name) => name.toUpperCase());
	if (type === "connection_state_changed") return { title, text: stateText(detail) };
	const plain = data?.code ? detail.replaceAll(data.code, words(data.code)) : detail;
	return { title, text: plain.replace(/\btimed_out\b/, "timed out") };
}

/** entrySays - {what, detail} of an entry of a timeline in plain words */
export function entrySays({ kind, what, detail: text }) {
	const detail = text ?? "";
	if (kind === "state") return { what: words(what), detail };
	if (kind === "event") {
		const { title, text: plain } = eventSays({ type: what, detail });
		return { what: title, detail: plain };
	}
	return kind === "command" ? { what, detail: /^[a-z_]+$/.test(detail) ? words(detail) : detail } : { what, detail };
}

/** drainSays - {title, text} of a drain: the transfers that still run, and their deadline */
export function drainSays(
	{ state, deadline_at: deadline, transfer_count: transfers, connection_count: connections },
	now,
) {
	const open = `Open: ${counted(connections, "connection")}.`;
	if (state === "drained")
		return { title: "verbsd is drained.", text: `It begins nothing new, and no transfer is under way. ${open}` };
	const left = deadline ? Math.max(0, Date.parse(deadline) - now) : null;
	const end = left === null ? "" : ` Transfers that still run are cancelled in ${span(left)}.`;
	return {
		title: "verbsd drains.",
		text: `It begins nothing new. Under way: ${counted(transfers, "transfer")}.${end} ${open}`,
	};
}

/** nextTrySays - "next try in 4 s"; null if no next try is planned */
export function nextTrySays({ next_try_at: at }, now) {
	if (!at) return null;
	const left = Date.parse(at) - now;
	return left < 1000 ? "next try now" : `next try in ${span(left)}`;
}

/** keptText - "kept" of an object that is there, "kept: lost", "kept: waiting, next try in 4 s" */
export function keptText(kept, now) {
	if (kept.state === "up") return "kept";
	return `kept: ${[kept.state, nextTrySays(kept, now)].filter(Boolean).join(", ")}`;
}

/** keptSays - the rows of a kept object for Facts: its state with the next try, its newest try and the error of that */
export function keptSays(kept, now) {
	const { state, source, tries, last_try_at: tried, error, outlives_restart: outlives } = kept;
	return [
		["Kept by", source === "config" ? "the configuration" : "a request"],
		["State", [state, nextTrySays(kept, now)].filter(Boolean).join(", ")],
		["Newest try", tried && `${ago(tried, now)}, number ${tries}`, tried && clock(tried, { millis: true })],
		["Error", error?.detail],
		["After a restart of verbsd", outlives ? "made again" : "gone"],
	];
}
