// SPDX-License-Identifier: Apache-2.0
//
// What must not be missed: that the page is out of date, and that the daemon is another one than before.
import { useState } from "preact/hooks";
import { clock, span } from "../format.js";
import { useNow, useStore } from "../hooks.js";

function Stale({ link, since }) {
	const now = useNow(1000);
	return (
		<div class="banner banner-warn" role="alert">
			<p>
				<strong>verbsd does not answer.</strong> What you see is how things stood at {clock(since)},{" "}
				{span(now - since)} ago. This page goes on trying.
			</p>
			<button class="button" type="button" onClick={() => link.retry()}>
				Try now
			</button>
		</div>
	);
}

function Restarted({ at }) {
	const [seen, setSeen] = useState(null);
	if (seen === at) return null;
	return (
		<div class="banner banner-info" role="status">
			<p>
				<strong>verbsd was started anew</strong> at {clock(at)}. Its objects are those of this run; ids begin
				again.
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
			<p>The event log went on without this page: {count - seen} events are missing below.</p>
			<button class="button" type="button" onClick={() => setSeen(count)}>
				Dismiss
			</button>
		</div>
	);
}

export function Banners({ link }) {
	const store = useStore();
	return (
		<div class="banners">
			{store.link.state === "stale" && <Stale link={link} since={store.link.since} />}
			{store.restarts > 0 && store.index && <Restarted at={store.index.started_at} />}
			{store.missed > 0 && <Missed count={store.missed} />}
		</div>
	);
}
