// SPDX-License-Identifier: Apache-2.0
//
// The events of the daemon, newest first, as they come.
import { useEffect, useState } from "preact/hooks";
import { filterEvents, kindsOf } from "../events.js";
import { clock, count } from "../format.js";
import { useConnectionNames, useList, useStore } from "../hooks.js";
import { objectHash } from "../router.js";
import { eventSays, objectParts, words } from "../words.js";
import { Empty } from "../ui/bits.jsx";
import { ListHead, useQuery } from "../ui/list.jsx";

const PAGE = 200;
const SEVERITIES = [
	["info", "Info and above"],
	["debug", "Everything"],
	["notice", "Notices and above"],
	["warning", "Warnings and errors"],
	["error", "Errors only"],
];

const KIND_TEXTS = { audit: "requests (audit)" };

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

/* An event about a kept object leads to the object that it is now. */
function ObjectLink({ object, kept }) {
	if (!object) return <span class="faint">daemon</span>;
	const { kind, object_id: id } = kept.get(object.id) ?? {};
	const href = objectHash(object.kind === "kept_object" ? { kind, id } : object);
	const text = `${words(object.kind)} ${object.name ?? object.id}`;
	return href ? <a href={href}>{text}</a> : <span>{text}</span>;
}

function Detail({ text, nameOf }) {
	return objectParts(text).map(({ text: part, object }, i) =>
		object ? (
			<a key={i} href={objectHash(object)}>
				{object.kind === "connection" ? nameOf(Number(object.id)) : part}
			</a>
		) : (
			part
		),
	);
}

function Event({ event, kept, nameOf }) {
	const { title, text } = eventSays(event);
	return (
		<li class={`event severity-${event.severity}`} data-seq={event.seq}>
			<time class="num faint" datetime={event.at} title={event.at}>
				{clock(event.at, { millis: true })}
			</time>
			<span class="event-severity">{event.severity}</span>
			<span class="event-object">
				<ObjectLink object={event.object} kept={kept} />
			</span>
			<span class="event-text">
				<span class="event-type">{title}</span>
				{text && ": "}
				<Detail text={text} nameOf={nameOf} />
			</span>
			<span class="event-seq num faint">{event.seq}</span>
		</li>
	);
}

/* While it is paused, the feed shows the events that were there when it was paused. */
function useFeed(events) {
	const [held, setHeld] = useState(null);
	const waiting = held ? events.filter(({ seq }) => seq > (held.at(-1)?.seq ?? 0)).length : 0;
	return {
		shown: held ?? events,
		isPaused: held !== null,
		waiting,
		pause: () => setHeld(events),
		resume: () => setHeld(null),
	};
}

export function EventsView({ route }) {
	const store = useStore();
	const { shown, isPaused, waiting, pause, resume } = useFeed(store.events);
	const kept = useList("keptObjects").byId;
	const nameOf = useConnectionNames();
	const [limit, setLimit] = useState(PAGE);
	const [{ q = "", severity = "info", kind = "" }, set] = useQuery(route);
	const found = filterEvents(shown, { q, severity, kind });

	useEffect(() => setLimit(PAGE), [q, severity, kind]);
	/* After a restart of the daemon, the events of its earlier run are of no use. */
	useEffect(resume, [store.restarts]);
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
					options={[
						["", "Any object"],
						...kindsOf(store.events).map((name) => [name, KIND_TEXTS[name] ?? name]),
					]}
					value={kind}
					onChange={(value) => set({ kind: value })}
				/>
				<button type="button" class="button" aria-pressed={isPaused} onClick={isPaused ? resume : pause}>
					{isPaused ? `Resume (${count(waiting)} new)` : "Pause"}
				</button>
			</ListHead>
			{found.length > 0 && (
				<ol class="events panel" aria-label="Events, newest first">
					{found
						.slice(-limit)
						.reverse()
						.map((event) => (
							<Event key={event.seq} event={event} kept={kept} nameOf={nameOf} />
						))}
				</ol>
			)}
			{found.length > limit && (
				<button type="button" class="button" onClick={() => setLimit(limit + PAGE)}>
					Show {count(Math.min(PAGE, found.length - limit))} older ones
				</button>
			)}
			{found.length === 0 && store.link.state === "live" && (
				<Empty title={store.events.length ? "No event matches" : "No events yet"}>
					<p class="muted">
						{store.events.length
							? "Clear the search, or choose another severity."
							: "New events appear here automatically."}
					</p>
				</Empty>
			)}
			<p class="note">
				This page keeps the newest {count(store.events.length)} events. The daemon keeps more:{" "}
				<a href="v1/events">/v1/events</a>.
			</p>
		</div>
	);
}
