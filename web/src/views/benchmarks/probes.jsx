// SPDX-License-Identifier: Apache-2.0
//
// Probes: the round trips of connections, measured now and then.
import { bytes, clock, count, ns } from "../../format.js";
import { ActionButton, FormButton } from "../../forms/form.jsx";
import { useItem, useList, useMay } from "../../hooks.js";
import { isMeasuring, latencyRows, lostOf, rhythmOf } from "../../measures.js";
import { hashOf } from "../../router.js";
import { sorted } from "../../table.js";
import { measure, stateColumn } from "../../ui/columns.jsx";
import { Detail } from "../../ui/detail.jsx";
import { Table } from "../../ui/table.jsx";
import { action, Over } from "./cells.jsx";

const actionOf = (row) => (isMeasuring(row) ? "stopProbe" : "forgetProbe");

function Named({ row }) {
	return (
		<span class="name">
			<a href={hashOf({ view: "benchmarks", query: { probe: row.id } })}>
				#{row.id} {row.kind}
			</a>
			<span class="under narrow-only">
				{lostOf(row)} lost over {row.connection}
			</span>
		</span>
	);
}

function columnsFor(may, forgotten) {
	return [
		{ key: "id", label: "Probe", value: (row) => row.id, cell: (row) => <Named row={row} /> },
		stateColumn("9%"),
		{
			key: "over",
			label: "Connection",
			wide: true,
			width: "11.5%",
			value: (row) => row.connection,
			cell: (row) => <Over connection={row.connection} />,
		},
		measure(
			"every",
			"Every",
			(row) => row.interval_ms || null,
			(ms) => ns(ms && ms * 1e6),
			"8%",
		),
		measure("sent", "Sent", (row) => row.sent, count, "8%"),
		{
			...measure("lost", "Lost", (row) => row.lost, count, "9.5%"),
			cell: (row) => (
				<span class={row.lost ? "num warn-text" : "num faint"} title={lostOf(row)}>
					{count(row.lost)}
				</span>
			),
		},
		measure("last", "Last", (row) => row.last_ns, ns, "10%"),
		measure("jitter", "Jitter", (row) => row.jitter_ns, ns, "10%"),
		{ ...measure("p50", "p50", (row) => row.rtt_ns?.p50, ns, "7.5%"), wide: false },
		measure("p99", "p99", (row) => row.rtt_ns?.p99, ns, "7.5%"),
		...action(may, actionOf, forgotten),
	];
}

function rowsOf(item) {
	return [
		["Over", <Over connection={item.connection} />],
		["Pings", rhythmOf(item)],
		["Of", item.size_bytes > 0 && bytes(item.size_bytes)],
		["Came back", `${count(item.completed)} of ${count(item.sent)}`],
		["Lost", lostOf(item)],
		["Late", count(item.late), "not back when the next one was due, which was left out"],
		["With other bytes", item.mismatched > 0 && count(item.mismatched)],
		["Last", item.last_ns !== null && ns(item.last_ns)],
		["Jitter", item.jitter_ns !== null && ns(item.jitter_ns)],
		...latencyRows(item.rtt_ns),
		["Begun", clock(item.created_at), item.created_at],
	];
}

function One({ id, back, forgotten }) {
	const { item, problem } = useItem("probes", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Probe ${item.id}: ${item.kind}`}
			actions={() => (
				<ActionButton
					name={actionOf(item)}
					item={item}
					label={isMeasuring(item) ? "Stop" : "Forget"}
					onDone={isMeasuring(item) ? undefined : forgotten}
				/>
			)}
			rows={rowsOf}
		/>
	);
}

/** Probes - all of them, with the one whose id is given in full; set() changes what stands in the address */
export function Probes({ route, id, set }) {
	const { items, loadedAt } = useList("probes");
	const { psort: sort = "-id" } = route.query;
	const columns = columnsFor(useMay(), (row) => String(row.id) === id && set({ probe: "" }));
	return (
		<>
			<div class="view-head">
				<h2 class="as-h1">Probes</h2>
				<FormButton name="probe" />
			</div>
			{id && (
				<One
					key={id}
					id={id}
					back={hashOf({ view: "benchmarks", query: { ...route.query, probe: "" } })}
					forgotten={() => set({ probe: "" })}
				/>
			)}
			{items.length > 0 && (
				<Table
					label="Probes"
					columns={columns}
					rows={sorted(items, columns, sort)}
					sort={sort}
					onSort={(value) => set({ psort: value })}
					href={(row) => hashOf({ view: "benchmarks", query: { ...route.query, probe: row.id } })}
				/>
			)}
			{loadedAt !== null && items.length === 0 && (
				<p class="note">None. A probe pings a peer, and says how long the round trips of a connection take.</p>
			)}
		</>
	);
}
