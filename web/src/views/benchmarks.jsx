// SPDX-License-Identifier: Apache-2.0
//
// How fast connections are: benchmarks, which load one, and probes, which only ping.
import { bytes, clock, count, ns, rate } from "../format.js";
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useItem, useList, useMay } from "../hooks.js";
import { isMeasuring, latencyRows, lengthOf, shareOf } from "../measures.js";
import { hashOf } from "../router.js";
import { Empty, Progress } from "../ui/bits.jsx";
import { measure, stateColumn } from "../ui/columns.jsx";
import { Detail } from "../ui/detail.jsx";
import { List, useQuery } from "../ui/list.jsx";
import { Probes } from "./benchmarks/probes.jsx";
import { action, Over } from "./benchmarks/cells.jsx";

const CHOICES = [
	["all", "All", () => true],
	["running", "Running", isMeasuring],
	["done", "Done", ({ state }) => state === "done"],
	["failed", "Failed", ({ state }) => state === "failed"],
];

const actionOf = (row) => (isMeasuring(row) ? "cancelBenchmark" : "forgetBenchmark");

function Named({ row }) {
	return (
		<span class="name">
			<a href={hashOf({ view: "benchmarks", query: { id: row.id } })}>
				#{row.id} {row.op}
			</a>
			<span class="under narrow-only">
				{bytes(row.size_bytes)} over {row.connection}
			</span>
		</span>
	);
}

function columnsFor(may, forgotten) {
	return [
		{ key: "id", label: "Benchmark", value: (row) => row.id, cell: (row) => <Named row={row} /> },
		stateColumn("9%"),
		{
			key: "over",
			label: "Connection",
			wide: true,
			width: "11.5%",
			value: (row) => row.connection,
			cell: (row) => <Over connection={row.connection} />,
		},
		measure("size", "Size", (row) => row.size_bytes, bytes, "8%"),
		measure("window", "Window", (row) => row.window, count, "8%"),
		measure("messages", "Messages", (row) => row.messages, count, "9.5%"),
		{ ...measure("speed", "Bandwidth", (row) => row.bytes_per_s, rate, "10%"), wide: false },
		measure("rate", "Messages/s", (row) => row.messages_per_s, count, "10%"),
		measure("p50", "p50", (row) => row.latency_ns?.p50, ns, "7.5%"),
		measure("p99", "p99", (row) => row.latency_ns?.p99, ns, "7.5%"),
		...action(may, actionOf, forgotten),
	];
}

function textOf(row) {
	return [row.id, row.op, row.state, `connection ${row.connection}`, row.error?.code].join(" ");
}

function rowsOf(item) {
	return [
		["Over", <Over connection={item.connection} />],
		["Asked for", lengthOf(item)],
		["Messages", `${count(item.messages)} × ${bytes(item.size_bytes)}`],
		["Bandwidth", item.bytes_per_s !== null && rate(item.bytes_per_s)],
		["Messages per second", item.messages_per_s !== null && count(item.messages_per_s)],
		["Moved", `${bytes(item.bytes)} in ${ns(item.elapsed_ns)}`],
		["Outstanding at most", count(item.window)],
		...latencyRows(item.latency_ns).map(([label, value]) => [`Latency, ${label.toLowerCase()}`, value]),
		[
			"Buffer",
			item.buffer !== null && (
				<a href={hashOf({ view: "buffers", query: { id: item.buffer } })}>#{item.buffer}</a>
			),
		],
		["Done by", <a href={hashOf({ view: "transfers", query: { id: item.transfer } })}>transfer {item.transfer}</a>],
		["Begun", clock(item.created_at), item.created_at],
	];
}

function One({ id, back, forgotten }) {
	const { item, problem } = useItem("benchmarks", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Benchmark ${item.id}: ${item.op}`}
			actions={() => (
				<ActionButton
					name={actionOf(item)}
					item={item}
					label={isMeasuring(item) ? "Stop" : "Forget"}
					onDone={isMeasuring(item) ? undefined : forgotten}
				/>
			)}
			rows={rowsOf}
		>
			{() => (
				<Progress
					state={item.state}
					share={shareOf(item)}
					name={`Benchmark ${item.id}`}
					text={`${count(item.messages)} messages; it ends after ${lengthOf(item)}`}
				/>
			)}
		</Detail>
	);
}

export function BenchmarksView({ route }) {
	const list = useList("benchmarks");
	const [{ id, probe }, set] = useQuery(route);
	const forgotten = (row) => String(row.id) === id && set({ id: "" });
	return (
		<div class="view">
			<List
				route={route}
				title="Benchmarks"
				list={list}
				noun="benchmark"
				search="Search operation, state, connection …"
				textOf={textOf}
				choices={CHOICES}
				columns={columnsFor(useMay(), forgotten)}
				href={(row) => hashOf({ view: "benchmarks", query: { ...route.query, id: row.id } })}
				action={<FormButton name="benchmark" primary />}
				empty={
					<Empty title="No benchmarks yet">
						<p class="muted">
							A benchmark repeats one message over a connection, and says how many bytes and messages a
							second went through, and how long each took.
						</p>
					</Empty>
				}
			>
				{id && (
					<One
						key={id}
						id={id}
						back={hashOf({ view: "benchmarks", query: { ...route.query, id: "" } })}
						forgotten={() => set({ id: "" })}
					/>
				)}
			</List>
			<Probes route={route} id={probe} set={set} />
		</div>
	);
}
