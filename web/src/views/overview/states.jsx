// SPDX-License-Identifier: Apache-2.0
//
// The number of connections in each state.
import { count } from "../../format.js";
import { openStates } from "../../summary.js";
import { hashOf } from "../../router.js";
import { Panel, State } from "../../ui/bits.jsx";

function Line({ state, number, share }) {
	return (
		<li class="line share-line">
			<a href={hashOf({ view: "connections", query: { show: "open", q: state } })}>
				<State state={state} />
			</a>
			<span class="share" aria-hidden="true">
				<i style={{ width: `${share * 100}%` }} />
			</span>
			<span class="num">{count(number)}</span>
		</li>
	);
}

/* The daemon counts these; the list has only as many as the history keeps. */
function Ended({ closed, failed }) {
	return (
		<p class="panel-foot note">
			<span>
				Since the start:{" "}
				<a href={hashOf({ view: "connections", query: { show: "ended" } })}>{count(closed)} closed</a>,{" "}
				<a href={hashOf({ view: "connections", query: { show: "failed" } })}>{count(failed)} failed</a>
			</span>
		</p>
	);
}

export function States({ stats }) {
	const all = Math.max(1, stats.connections);
	return (
		<Panel title="Connections by state" aside={<span class="faint">{count(stats.connections)} open</span>}>
			<ul class="lines">
				{openStates(stats).map(({ state, number }) => (
					<Line key={state} state={state} number={number} share={number / all} />
				))}
			</ul>
			<Ended closed={stats.connections_ended - stats.connections_failed} failed={stats.connections_failed} />
		</Panel>
	);
}
