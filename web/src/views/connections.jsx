// SPDX-License-Identifier: Apache-2.0
//
// All connections, including those that have ended.
import { baseUrl } from "../api.js";
import { isOpen } from "../collections.js";
import { FormButton } from "../forms/form.jsx";
import { useItem, useList, useNow, useStore } from "../hooks.js";
import { hashOf } from "../router.js";
import { Empty } from "../ui/bits.jsx";
import { List, useQuery } from "../ui/list.jsx";
import { ConnectionBatch, ConnectionBatchLinks } from "./connections/batch.jsx";
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
				curl --json '{"{"}"dst_addr": "192.0.2.10", "dst_port": 7471{"}"}' {baseUrl()}/v1/connections
			</pre>
		</Empty>
	);
}

function Connections({ route, list, children }) {
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
			>
				{children}
			</List>
		</div>
	);
}

/* The list without the connections that are not of the batch. */
function InBatch({ route, batch }) {
	const list = useList("connections");
	const [, set] = useQuery(route);
	const { item } = useItem("connectionBatches", batch);
	const members = new Set(item?.connections?.map(({ id }) => id));
	const items = list.items.filter(({ id }) => members.has(id));
	return (
		<Connections route={route} list={{ ...list, items, total: items.length }}>
			<ConnectionBatch
				id={batch}
				back={hashOf({ view: "connections", query: { ...route.query, batch: "" } })}
				deleted={() => set({ batch: "" })}
			/>
		</Connections>
	);
}

function All({ route }) {
	return (
		<Connections route={route} list={useList("connections")}>
			<ConnectionBatchLinks />
		</Connections>
	);
}

export function ConnectionsView({ route }) {
	const { batch } = route.query;
	return batch ? <InBatch key={batch} route={route} batch={batch} /> : <All route={route} />;
}
