// SPDX-License-Identifier: Apache-2.0
//
// The filters of the list of events. Pure.
import { matches } from "./table.js";
import { eventSays, words } from "./words.js";

const SEVERITIES = ["debug", "info", "notice", "warning", "error"];

/* A request that changes something has an event of this type beside those of what it changed. */
const AUDIT = "audit";

/** kindsOf - the kinds of objects that events are about, in order; "audit" last, for requests */
export function kindsOf(events) {
	const kinds = new Set(
		events.filter(({ object, type }) => object && type !== AUDIT).map(({ object }) => object.kind),
	);
	return [...[...kinds].sort(), ...(events.some(({ type }) => type === AUDIT) ? [AUDIT] : [])];
}

/**
 * filterEvents - the events at least as severe, about objects of that kind, and with every word of q; "" is any
 *
 * The kind "audit" is the requests: they are shown for it only, since each would be seen twice else.
 */
export function filterEvents(events, { q = "", severity = "", kind = "" }) {
	const least = SEVERITIES.indexOf(severity);
	return events.filter((event) => {
		if (SEVERITIES.indexOf(event.severity) < least) return false;
		if ((event.type === AUDIT) !== (kind === AUDIT)) return false;
		if (kind && kind !== AUDIT && event.object?.kind !== kind) return false;
		return (
			!q ||
			matches(
				[
					event.detail,
					eventSays(event).text,
					event.type,
					words(event.type),
					event.object && `${event.object.kind}/${event.object.id} ${event.object.name ?? ""}`,
					event.severity,
					event.data?.code,
					event.seq,
				].join(" "),
				q,
			)
		);
	});
}
