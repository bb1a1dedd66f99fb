// SPDX-License-Identifier: Apache-2.0
//
// The speed of connections: benchmarks, which load a connection, and probes, which only ping its peer.
import { bytes, clock, count, ns, rate } from "../format.js";
import { FormButton } from "../forms/form.jsx";
import { useConnectionNames, useList, useMay } from "../hooks.js";
import { isMeasuring, latencyRows, lengthOf, shareOf } from "../measures.js";
import { hashOf } from "../router.js";
import { ConnectionLink, Progress } from "../ui/bits.jsx";
import { measure } from "../ui/columns.jsx";
import { List, useQuery } from "../ui/list.jsx";
import { columnsOf, One } from "./benchmarks/cells.jsx";
import { Probes } from "./benchmarks/probes.jsx";

const CHOICES = [
	["all", "All", () => true],
	["running", "Running", isMeasuring],
	["done", "Done", ({ state }) => state === "done"],
	["failed", "Failed", ({ state }) => ["failed", "cancelled"].includes(state)],
];

const COLUMNS = [
	measure("size", "Size", (row) => row.size_bytes, bytes, "8%"),
	measure("tx_depth", "Depth", (row) => row.tx_depth, count, "8%"),
	measure("messages", "Messages", (row) => row.messages, count, "9.5%"),
	{ ...measure("speed", "Bandwidth", (row) => row.bytes_per_s, rate, "10%"), wide: false },
	measure("rate", "Messages/s", (row) => row.messages_per_s, count, "10%"),
];

const actionOf = (row) => (isMeasuring(row) ? "cancelBenchmark" : "deleteBenchmark");

function textOf(row, nameOf) {
	const over = `connection ${row.connection.id} ${nameOf(row.connection.id)}`;
	return [row.id, row.op, row.state, over, row.error?.code].join(" ");
}

function rowsOf(item, nameOf) {
	return [
		["Connection", <ConnectionLink id={item.connection.id} nameOf={nameOf} />],
		["Ends after", lengthOf(item)],
		["Messages", `${count(item.messages)} × ${bytes(item.size_bytes)}`],
		["Bandwidth", item.bytes_per_s !== null && rate(item.bytes_per_s)],
		["Messages per second", item.messages_per_s !== null && count(item.messages_per_s)],
		["Moved", `${bytes(item.bytes)} in ${ns(item.elapsed_ns)}`],
		["Outstanding at most", count(item.tx_depth)],
		...latencyRows(item.latency_ns).map(([label, value]) => [`Latency, ${label.toLowerCase()}`, value]),
		[
			"Buffer",
			item.buffer !== null && (
				<a href={hashOf({ view: "buffers", query: { id: item.buffer.id } })}>
					{item.buffer.name ?? `#${item.buffer.id}`}
				</a>
			),
		],
		[
			"Work requests of",
			<a href={hashOf({ view: "transfers", query: { id: item.transfer.id } })}>transfer {item.transfer.id}</a>,
		],
		["Started", clock(item.created_at), item.created_at],
	];
}

function HowFar({ item }) {
	return (
		<Progress
			state={item.state}
			share={shareOf(item)}
			name={`Benchmark ${item.id}`}
			text={`${count(item.messages)} messages; it ends after ${lengthOf(item)}`}
		/>
	);
}

export function BenchmarksView({ route }) {
	const list = useList("benchmarks");
	const nameOf = useConnectionNames();
	const may = useMay();
	const [{ id, probe }, set] = useQuery(route);
	const linkTo = (row) => hashOf({ view: "benchmarks", query: { ...route.query, id: row?.id ?? "" } });
	const columns = columnsOf({
		label: "Benchmark",
		query: "id",
		textOf: (row) => row.op,
		underOf: (row) => `${bytes(row.size_bytes)} over ${nameOf(row.connection.id)}`,
		own: COLUMNS,
		latencyOf: (row) => row.latency_ns,
		may,
		nameOf,
		actionOf,
		deleted: (row) => String(row.id) === id && set({ id: "" }),
	});
	return (
		<div class="view">
			<List
				route={route}
				title="Benchmarks"
				list={list}
				noun="benchmark"
				search="Search operation, state, connection …"
				textOf={(row) => textOf(row, nameOf)}
				choices={CHOICES}
				columns={columns}
				href={linkTo}
				action={<FormButton name="benchmark" primary />}
				empty="benchmarks"
			>
				{id && (
					<One
						key={id}
						collection="benchmarks"
						id={id}
						back={linkTo()}
						title={(item) => `Benchmark ${item.id}: ${item.op}`}
						actionOf={actionOf}
						deleted={() => set({ id: "" })}
						rows={(item) => rowsOf(item, nameOf)}
					>
						{(item) => <HowFar item={item} />}
					</One>
				)}
			</List>
			<Probes route={route} id={probe} set={set} nameOf={nameOf} may={may} />
		</div>
	);
}
