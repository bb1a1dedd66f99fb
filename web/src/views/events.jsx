// SPDX-License-Identifier: Apache-2.0
//
// What happened, newest first, as it happens.
import { useEffect, useState } from "preact/hooks";
import { filterEvents, kindsOf } from "../events.js";
import { clock, count } from "../format.js";
import { useStore } from "../hooks.js";
import { objectHash } from "../router.js";
import { Empty } from "../ui/bits.jsx";
import { ListHead, useQuery } from "../ui/list.jsx";

const PAGE = 200;
const SEVERITIES = [
	["", "Everything"],
	["info", "Info and above"],
	["notice", "Notices and above"],
	["warning", "Warnings and errors"],
	["error", "Errors only"],
];

function Select({ label, options, value, onChange }) {
	return (
		<label class="inline-select">
			<span>{label}</span>
			<select value={value} onChange={(event) => onChange(event.target.value)}>
				{options.map(([option, text]) => (
					<option key={option} value={option}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

function ObjectLink({ object }) {
	if (!object) return <span class="faint">daemon</span>;
	const text = object.replace("/", " ");
	const href = objectHash(object);
	return href ? <a href={href}>{text}</a> : <span>{text}</span>;
}

function Event({ event }) {
	return (
		<li class={`event severity-${event.severity}`} data-seq={event.seq}>
			<time class="num faint" datetime={event.at} title={event.at}>
				{clock(event.at, { millis: true })}
			</time>
			<span class="event-severity">{event.severity}</span>
			<span class="event-object">
				<ObjectLink object={event.object} />
			</span>
			<span class="event-text">
				{event.text} <span class="faint">{event.type.replaceAll("_", " ")}</span>
			</span>
			<span class="event-seq num faint">{event.seq}</span>
		</li>
	);
}

/* Held still, the feed shows what was there when it was asked to. */
function useFeed(events) {
	const [held, setHeld] = useState(null);
	const waiting = held ? events.filter(({ seq }) => seq > (held.at(-1)?.seq ?? 0)).length : 0;
	return {
		shown: held ?? events,
		isHeld: held !== null,
		waiting,
		hold: () => setHeld(events),
		release: () => setHeld(null),
	};
}

export function EventsView({ route }) {
	const store = useStore();
	const { shown, isHeld, waiting, hold, release } = useFeed(store.events);
	const [limit, setLimit] = useState(PAGE);
	const [{ q = "", severity = "", kind = "" }, set] = useQuery(route);
	const found = filterEvents(shown, { q, severity, kind });

	useEffect(() => setLimit(PAGE), [q, severity, kind]);
	/* Of another run of the daemon, what is held is of no use. */
	useEffect(release, [store.restarts]);
	return (
		<div class="view">
			<ListHead route={route} title="Events" search="Search text, type, object …">
				<Select
					label="Severity"
					options={SEVERITIES}
					value={severity}
					onChange={(value) => set({ severity: value })}
				/>
				<Select
					label="About"
					options={[["", "Any object"], ...kindsOf(store.events).map((name) => [name, name])]}
					value={kind}
					onChange={(value) => set({ kind: value })}
				/>
				<button type="button" class="button" aria-pressed={isHeld} onClick={isHeld ? release : hold}>
					{isHeld ? `Go on (${count(waiting)} new)` : "Hold still"}
				</button>
			</ListHead>
			{found.length > 0 && (
				<ol class="events panel" aria-label="Events, newest first">
					{found
						.slice(-limit)
						.reverse()
						.map((event) => (
							<Event key={event.seq} event={event} />
						))}
				</ol>
			)}
			{found.length > limit && (
				<button type="button" class="button" onClick={() => setLimit(limit + PAGE)}>
					Show {count(Math.min(PAGE, found.length - limit))} older ones
				</button>
			)}
			{found.length === 0 && store.link.state === "live" && (
				<Empty title={store.events.length ? "No event matches" : "Nothing happened yet"}>
					<p class="muted">
						{store.events.length
							? "Clear the search, or choose another severity."
							: "What happens shows up here by itself."}
					</p>
				</Empty>
			)}
			<p class="note">
				The newest {count(store.events.length)} events that this page knows; the daemon keeps more at{" "}
				<a href="/v1/events">/v1/events</a>.
			</p>
		</div>
	);
}
