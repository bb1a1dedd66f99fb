// SPDX-License-Identifier: Apache-2.0
//
// One connection.
import { endpoint } from "../format.js";
import { ConnectionActions } from "../forms/connection_actions.jsx";
import { useItem } from "../hooks.js";
import { Facts, Panel, State, Trouble } from "../ui/bits.jsx";

export function ConnectionView({ route }) {
	const { item, problem } = useItem("connections", route.ref);
	if (!item) return problem && problem.status !== 0 ? <Trouble problem={problem} /> : null;
	return (
		<div class="view">
			<div class="view-head">
				<h1>{item.name ?? `Connection ${item.id}`}</h1>
				<State state={item.state} />
				<ConnectionActions item={item} />
			</div>
			<Panel title="Facts">
				<Facts
					rows={[
						["Peer", endpoint(item.peer)],
						["Local", endpoint(item.local)],
						["Device", item.device],
					]}
				/>
			</Panel>
		</div>
	);
}
