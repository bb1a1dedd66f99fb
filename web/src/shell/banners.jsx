// SPDX-License-Identifier: Apache-2.0
//
// Warnings at the top: the page is out of date, the daemon was restarted, drains or injects faults, or events were missed.
import { useState } from "preact/hooks";
import { ActionButton } from "../forms/form.jsx";
import { clock, span } from "../format.js";
import { useDrain, useNow, useStore } from "../hooks.js";
import { drainSays } from "../words.js";

function Stale({ link, since }) {
	const now = useNow(1000);
	return (
		<div class="banner banner-warn" role="alert">
			<p>
				<strong>verbsd does not answer.</strong> This page shows the state of {clock(since)},{" "}
				{span(now - since)} ago. It keeps trying.
			</p>
			<button class="button" type="button" onClick={() => link.retry()}>
				Try now
			</button>
		</div>
	);
}

function Draining() {
	const drain = useDrain();
	const now = useNow(1000);
	if (!drain || drain.state === "serving") return null;
	const { title, text } = drainSays(drain, now);
	return (
		<div class="banner banner-warn" role="status" aria-label="Drain">
			<p>
				<strong>{title}</strong> {text}
			</p>
			<ActionButton name="undrain" item={drain} />
		</div>
	);
}

function Restarted({ at, keeps }) {
	const [seen, setSeen] = useState(null);
	if (seen === at) return null;
	return (
		<div class="banner banner-info" role="status">
			<p>
				<strong>verbsd was restarted</strong> at {clock(at)}.{" "}
				{keeps
					? "Open objects have ended; kept ones are made again."
					: "The objects on this page are those of the new run, and ids start at 1 again."}
			</p>
			<button class="button" type="button" onClick={() => setSeen(at)}>
				Dismiss
			</button>
		</div>
	);
}

function Missed({ count }) {
	const [seen, setSeen] = useState(0);
	if (seen === count) return null;
	return (
		<div class="banner banner-info" role="status">
			<p>This page missed {count - seen} events, which the list of events does not have.</p>
			<button class="button" type="button" onClick={() => setSeen(count)}>
				Dismiss
			</button>
		</div>
	);
}

function Faulty() {
	return (
		<div class="banner banner-warn" role="status">
			<p>
				<strong>Fault injection is on.</strong> Clients may have things go wrong here: this verbsd is for tests.
			</p>
		</div>
	);
}

export function Banners({ link }) {
	const store = useStore();
	return (
		<div class="banners">
			{store.link.state === "stale" && <Stale link={link} since={store.link.since} />}
			{store.restarts > 0 && store.index && (
				<Restarted at={store.index.started_at} keeps={store.index.store.status !== "none"} />
			)}
			{store.index && <Draining />}
			{store.index?.fault_injection && <Faulty />}
			{store.missed > 0 && <Missed count={store.missed} />}
		</div>
	);
}
