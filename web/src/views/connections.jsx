// SPDX-License-Identifier: Apache-2.0
//
// All connections, including those that have ended.
import { isOpen } from "../collections.js";
import { FormButton } from "../forms/form.jsx";
import { useItem, useList, useNow, useStore } from "../hooks.js";
import { hashOf } from "../router.js";
import { List, useQuery } from "../ui/list.jsx";
import { ConnectionBatch, ConnectionBatchLinks } from "./connections/batch.jsx";
import { textOf } from "./connections/cells.jsx";
import { columnsFor } from "./connections/columns.jsx";

const CHOICES = [
	["open", "Open", isOpen],
	["ended", "Closed", (row) => row.state === "closed"],
	["failed", "Failed", (row) => row.state === "failed"],
	["all", "All", () => true],
];

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
				groupOf={route.query.tries ? null : (row) => row.name}
				columns={columnsFor(list.items, { store, cqs, now })}
				href={(row) => hashOf({ view: "connections", ref: String(row.id) })}
				action={<FormButton name="connect" primary />}
				empty="connections"
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

/* All connections, each name once; or each of one name, as those of a kept connection are. */
function All({ route }) {
	const list = useList("connections");
	const { tries } = route.query;
	const items = list.items.filter(({ name }) => name === tries);
	return (
		<Connections route={route} list={tries ? { ...list, items, total: items.length } : list}>
			{tries && (
				<p class="note">
					Only the connections named {tries} are shown. <a href={hashOf({ view: "connections" })}>Show all</a>
				</p>
			)}
			<ConnectionBatchLinks />
		</Connections>
	);
}

export function ConnectionsView({ route }) {
	const { batch } = route.query;
	return batch ? <InBatch key={batch} route={route} batch={batch} /> : <All route={route} />;
}
