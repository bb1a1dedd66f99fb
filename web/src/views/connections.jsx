// SPDX-License-Identifier: Apache-2.0
//
// All connections, including those that have ended.
import { isOpen } from "../collections.js";
import { FormButton } from "../forms/form.jsx";
import { useList, useNow, useStore } from "../hooks.js";
import { hashOf } from "../router.js";
import { Empty } from "../ui/bits.jsx";
import { List } from "../ui/list.jsx";
import { textOf } from "./connections/cells.jsx";
import { columnsFor } from "./connections/columns.jsx";

const CHOICES = [
	["all", "All", () => true],
	["open", "Open", isOpen],
	["ended", "Closed", (row) => row.state === "closed"],
	["failed", "Failed", (row) => row.state === "failed"],
];

function Nothing() {
	return (
		<Empty title="No connections yet">
			<p class="muted">
				A connection is made when a peer connects to a listener here, by the button above, or by this command:
			</p>
			<pre class="command">
				curl --json '{"{"}"dst_addr": "192.0.2.10", "dst_port": 7471{"}"}' {location.origin}/v1/connections
			</pre>
		</Empty>
	);
}

export function ConnectionsView({ route }) {
	const list = useList("connections");
	const cqs = useList("cqs").byId;
	const store = useStore();
	const now = useNow(5000);
	return (
		<div class="view">
			<List
				route={route}
				title="Connections"
				list={list}
				noun="connection"
				search="Search name, peer, state, reason …"
				textOf={textOf}
				choices={CHOICES}
				sort="-age"
				columns={columnsFor(list.items, { store, cqs, now })}
				href={(row) => hashOf({ view: "connections", ref: String(row.id) })}
				action={<FormButton name="connect" primary />}
				empty={<Nothing />}
			/>
		</div>
	);
}
