// SPDX-License-Identifier: Apache-2.0
//
// The filters of the list of events. Pure.
import { matches } from "./table.js";
import { eventSays, words } from "./words.js";

const SEVERITIES = ["debug", "info", "notice", "warning", "error"];

/** kindsOf - the kinds of objects that events are about, in order */
export function kindsOf(events) {
	const kinds = new Set(events.filter(({ object }) => object).map(({ object }) => object.kind));
	return [...kinds].sort();
}

/** filterEvents - the events at least as severe, about objects of that kind, and with every word of q; "" is any */
export function filterEvents(events, { q = "", severity = "", kind = "" }) {
	const least = SEVERITIES.indexOf(severity);
	return events.filter((event) => {
		if (SEVERITIES.indexOf(event.severity) < least) return false;
		if (kind && event.object?.kind !== kind) return false;
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
