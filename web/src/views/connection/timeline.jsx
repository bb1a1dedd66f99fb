// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a connection, oldest entry first.
import { useState } from "preact/hooks";
import { clock, count, ns } from "../../format.js";
import { kindsIn, rowsOf } from "../../timeline.js";
import { Panel } from "../../ui/bits.jsx";
import { entrySays } from "../../words.js";

const KINDS = {
	call: "call",
	cm_event: "CM event",
	qp: "QP",
	state: "state",
	async_event: "async",
	wc: "completion",
	command: "command",
	event: "event",
};

function Entry({ row }) {
	if (row.pauseNs) return <li class="tl-pause">{ns(row.pauseNs)} later</li>;
	const { what, detail } = entrySays(row);
	return (
		<li class={`tl-row tl-${row.tone}`} title={clock(row.at, { millis: true })}>
			<span class="tl-time num">{ns(row.since_start_ns)}</span>
			<span class={`tl-kind tl-kind-${row.kind}`}>{KINDS[row.kind] ?? row.kind}</span>
			<span class="tl-what">
				<span class="mono">{what}</span>
				{detail && <span class="faint"> {detail}</span>}
			</span>
		</li>
	);
}

function KindFilter({ kinds, off, toggle }) {
	return (
		<div class="kinds" role="group" aria-label="Kinds to show">
			{kinds.map(([kind, number]) => (
				<button key={kind} type="button" aria-pressed={!off.has(kind)} onClick={() => toggle(kind)}>
					{KINDS[kind] ?? kind} <span class="faint">{number}</span>
				</button>
			))}
		</div>
	);
}

export function Timeline({ timeline }) {
	const [off, setOff] = useState(new Set());
	const kinds = kindsIn(timeline?.items);
	const toggle = (kind) =>
		setOff((old) => new Set(old.has(kind) ? [...old].filter((one) => one !== kind) : [...old, kind]));
	const rows = rowsOf(timeline?.items, new Set(kinds.map(([kind]) => kind).filter((kind) => !off.has(kind))));
	return (
		<Panel
			title="Timeline"
			className="timeline-panel"
			aside={<KindFilter kinds={kinds} off={off} toggle={toggle} />}
		>
			<ol class="timeline">
				{rows.map((row, i) => (
					<Entry key={i} row={row} />
				))}
			</ol>
			{timeline?.incomplete && (
				<p class="panel-body note">
					verbsd has been restarted since. These are the events that it kept of this connection.
				</p>
			)}
			{timeline?.dropped > 0 && (
				<p class="panel-body note">{count(timeline.dropped)} later entries did not fit.</p>
			)}
		</Panel>
	);
}
