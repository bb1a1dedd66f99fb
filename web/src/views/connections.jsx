// SPDX-License-Identifier: Apache-2.0
//
// Every connection, those that have ended included.
import { useMemo } from "preact/hooks";
import { isOpen } from "../collections.js";
import { count } from "../format.js";
import { FormButton } from "../forms/form.jsx";
import { useList, useNow, useStore } from "../hooks.js";
import { hashOf, navigate } from "../router.js";
import { matches, sorted } from "../table.js";
import { Empty, Trouble } from "../ui/bits.jsx";
import { Choice, Search } from "../ui/search.jsx";
import { Table } from "../ui/table.jsx";
import { textOf } from "./connections/cells.jsx";
import { columnsFor } from "./connections/columns.jsx";

const FILTERS = {
	all: () => true,
	open: isOpen,
	ended: (row) => row.state === "closed",
	failed: (row) => row.state === "failed",
};

function Nothing({ any }) {
	if (any) return <Empty title="No connection matches">Clear the search, or choose another state.</Empty>;
	return (
		<Empty title="No connections yet">
			<p class="muted">One is opened here by a peer that connects to a listener, or by</p>
			<pre class="command">
				curl --json '{"{"}"dst_addr": "192.0.2.10", "dst_port": 7471{"}"}' {location.origin}/v1/connections
			</pre>
		</Empty>
	);
}

export function ConnectionsView({ route }) {
	const { items, total, problem, loadedAt } = useList("connections");
	const cqs = useList("cqs").byId;
	const store = useStore();
	const now = useNow(5000);
	const { q = "", sort = "-age", show = "all" } = route.query;
	const set = (query) => navigate({ view: "connections", query: { ...route.query, ...query } }, { replace: true });
	const columns = columnsFor(items, { store, cqs, now });
	const found = useMemo(() => (q ? items.filter((row) => matches(textOf(row), q)) : items), [items, q]);
	const filter = FILTERS[show] ?? FILTERS.all;
	const rows = sorted(found.filter(filter), columns, sort);
	const counts = (name) => count(found.filter(FILTERS[name]).length);

	return (
		<div class="view">
			<div class="view-head">
				<h1>Connections</h1>
				<Search value={q} label="Search name, peer, state, reason …" onInput={(text) => set({ q: text })} />
				<Choice
					label="Which to show"
					value={show}
					options={[
						["all", "All", counts("all")],
						["open", "Open", counts("open")],
						["ended", "Closed", counts("ended")],
						["failed", "Failed", counts("failed")],
					]}
					onChange={(value) => set({ show: value === "all" ? "" : value })}
				/>
				<FormButton name="connect" primary />
			</div>
			{problem && !loadedAt && problem.status !== 0 && <Trouble problem={problem} />}
			{loadedAt !== null && total > items.length && (
				<p class="note">
					The first {count(items.length)} of {count(total)} are shown.
				</p>
			)}
			{rows.length > 0 && (
				<Table
					label="Connections"
					columns={columns}
					rows={rows}
					sort={sort}
					onSort={(value) => set({ sort: value })}
					href={(row) => hashOf({ view: "connections", ref: String(row.id) })}
				/>
			)}
			{loadedAt !== null && rows.length === 0 && <Nothing any={items.length > 0} />}
		</div>
	);
}
