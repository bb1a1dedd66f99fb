// SPDX-License-Identifier: Apache-2.0
//
// Where connections are accepted.
import { count, endpoint } from "../format.js";
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useList, useMay } from "../hooks.js";
import { navigate } from "../router.js";
import { sorted } from "../table.js";
import { Empty, State, Trouble } from "../ui/bits.jsx";
import { Table } from "../ui/table.jsx";

const ACCEPTS = { auto: "accepted", manual: "kept waiting", reject: "rejected" };

function number(key, label) {
	return {
		key,
		label,
		end: true,
		wide: true,
		firstDown: true,
		width: "9%",
		value: (row) => row[key],
		cell: (row) => <span class={row[key] ? "num" : "num faint"}>{count(row[key])}</span>,
	};
}

function columnsFor(may) {
	return [
		{
			key: "addr",
			label: "Address",
			value: (row) => endpoint(row),
			cell: (row) => (
				<span class="name">
					<strong class="mono">{endpoint(row)}</strong>
					{row.name && <span class="faint"> {row.name}</span>}
					<span class="under narrow-only">
						{row.qp.service.replace("_", " ")}, {count(row.accepted)} accepted
					</span>
				</span>
			),
		},
		{
			key: "state",
			label: "State",
			width: "10%",
			value: (row) => row.state,
			cell: (row) => <State state={row.state} title={row.error ?? undefined} />,
		},
		{
			key: "service",
			label: "Service",
			wide: true,
			width: "11%",
			value: (row) => row.qp.service,
			cell: (row) => row.qp.service.replace("_", " "),
		},
		{
			key: "accept",
			label: "Peers are",
			wide: true,
			width: "11%",
			value: (row) => row.accept,
			cell: (row) => ACCEPTS[row.accept],
		},
		{
			key: "device",
			label: "Device",
			wide: true,
			width: "8%",
			value: (row) => row.device,
			cell: (row) => <span class="mono">{row.device ?? "all"}</span>,
		},
		number("requests", "Requests"),
		number("accepted", "Accepted"),
		number("rejected", "Rejected"),
		number("waiting", "Waiting"),
		...(may
			? [
					{
						key: "act",
						label: "",
						fixed: true,
						end: true,
						width: "3rem",
						cell: (row) => <ActionButton small name="stopListening" item={row} />,
					},
				]
			: []),
	];
}

export function ListenersView({ route }) {
	const { items, problem, loadedAt } = useList("listeners");
	const { sort = "-id" } = route.query;
	const columns = columnsFor(useMay());
	const rows = sorted(items, columns, sort);

	return (
		<div class="view">
			<div class="view-head">
				<h1>Listeners</h1>
				<FormButton name="listen" primary />
			</div>
			{problem && loadedAt === null && problem.status !== 0 && <Trouble problem={problem} />}
			{rows.length > 0 && (
				<Table
					label="Listeners"
					columns={columns}
					rows={rows}
					sort={sort}
					onSort={(value) => navigate({ view: "listeners", query: { sort: value } }, { replace: true })}
				/>
			)}
			{loadedAt !== null && rows.length === 0 && (
				<Empty title="Nobody is listened for">
					<p class="muted">A listener takes connections in at an address and a port.</p>
				</Empty>
			)}
		</div>
	);
}
