// SPDX-License-Identifier: Apache-2.0
//
// Probes: they measure the round trips of connections.
import { bytes, clock, count, ns } from "../../format.js";
import { useList } from "../../hooks.js";
import { isMeasuring, latencyRows, lostOf, rhythmOf } from "../../measures.js";
import { hashOf } from "../../router.js";
import { ConnectionLink } from "../../ui/bits.jsx";
import { measure } from "../../ui/columns.jsx";
import { Section } from "../../ui/list.jsx";
import { columnsOf, One } from "./cells.jsx";

const COLUMNS = [
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
];

const actionOf = (row) => (isMeasuring(row) ? "stopProbe" : "deleteProbe");

function rowsOf(item, nameOf) {
	return [
		["Connection", <ConnectionLink id={item.connection.id} nameOf={nameOf} />],
		["Pings", rhythmOf(item)],
		["Size of a ping", item.size_bytes > 0 && bytes(item.size_bytes)],
		["Answered", `${count(item.completed)} of ${count(item.sent)}`],
		["Lost", lostOf(item)],
		["Late", count(item.late), "These were not back when the next ping was due, which was left out."],
		["Answered with other bytes", item.mismatched > 0 && count(item.mismatched)],
		["Last", item.last_ns !== null && ns(item.last_ns)],
		["Jitter", item.jitter_ns !== null && ns(item.jitter_ns)],
		...latencyRows(item.rtt_ns),
		["Started", clock(item.created_at), item.created_at],
	];
}

/** Probes - all probes, and the one whose id is given in full; set() changes the query of the address */
export function Probes({ route, id, set, nameOf, may }) {
	const { psort: sort = "-id" } = route.query;
	const linkTo = (row) => hashOf({ view: "benchmarks", query: { ...route.query, probe: row?.id ?? "" } });
	const columns = columnsOf({
		label: "Probe",
		query: "probe",
		textOf: (row) => row.kind,
		underOf: (row) => `${lostOf(row)} lost over ${nameOf(row.connection.id)}`,
		own: COLUMNS,
		latencyOf: (row) => row.rtt_ns,
		shown: "p50",
		may,
		nameOf,
		actionOf,
		deleted: (row) => String(row.id) === id && set({ probe: "" }),
	});
	return (
		<Section
			title="Probes"
			form="probe"
			list={useList("probes")}
			columns={columns}
			sort={sort}
			onSort={(value) => set({ psort: value })}
			href={linkTo}
			empty="probes"
		>
			{id && (
				<One
					key={id}
					collection="probes"
					id={id}
					back={linkTo()}
					title={(item) => `Probe ${item.id}: ${item.kind}`}
					actionOf={actionOf}
					deleted={() => set({ probe: "" })}
					rows={(item) => rowsOf(item, nameOf)}
				/>
			)}
		</Section>
	);
}
