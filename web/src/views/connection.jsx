// SPDX-License-Identifier: Apache-2.0
//
// One connection: its status and the reason for it, its queue pair, its rates, and its timeline.
import { ConnectionActions } from "../forms/connection_actions.jsx";
import { useItem } from "../hooks.js";
import { totals } from "../rates.js";
import { hashOf } from "../router.js";
import { State, Trouble } from "../ui/bits.jsx";
import { Icon } from "../ui/icon.jsx";
import { Ends, Kept, WorkRequests } from "./connection/facts.jsx";
import { QueuePair } from "./connection/qp.jsx";
import { Rates } from "./connection/rates.jsx";
import { RoundTrips } from "./connection/round_trips.jsx";
import { Timeline } from "./connection/timeline.jsx";
import { Why } from "./connection/why.jsx";

function Back() {
	return (
		<a class="back" href={hashOf({ view: "connections" })}>
			<Icon name="back" size={16} />
			Connections
		</a>
	);
}

function Missing({ problem, reference }) {
	return (
		<div class="view">
			<div class="view-head">
				<Back />
				<h1>Connection {reference}</h1>
			</div>
			<Trouble problem={problem}>
				{problem.status === 404 && (
					<p class="muted">
						It may belong to an earlier run of verbsd, or its record may no longer be in the history.
					</p>
				)}
			</Trouble>
		</div>
	);
}

export function ConnectionView({ route }) {
	const { item, problem } = useItem("connections", route.ref);
	const { item: timeline } = useItem("connections", route.ref, "timeline");
	if (problem?.status > 0 && (!item || problem.status === 404))
		return <Missing problem={problem} reference={route.ref} />;
	if (!item) return null;
	return (
		<div class="view connection">
			<div class="view-head">
				<Back />
				<h1>
					{item.name ?? `Connection ${item.id}`} {item.name && <span class="faint">#{item.id}</span>}
				</h1>
				<State state={item.state} />
				<span class="tag">{item.qp_type.toUpperCase()}</span>
				<span class="tag">{item.side ?? "brought up by hand"}</span>
				<ConnectionActions item={item} />
			</div>
			<div class="columns">
				<div class="column">
					<Why connection={item} reference={route.ref} />
					<QueuePair connection={item} timeline={timeline} />
					<Timeline timeline={timeline} />
				</div>
				<div class="column">
					<Rates connection={item} totals={totals(item.counters)} />
					<RoundTrips connection={item} />
					{item.desired && <Kept desired={item.desired} />}
					<Ends connection={item} />
					<WorkRequests counters={item.counters} />
				</div>
			</div>
		</div>
	);
}
