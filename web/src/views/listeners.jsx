// SPDX-License-Identifier: Apache-2.0
//
// Listeners: the addresses and ports at which connections are accepted.
import { count, endpoint } from "../format.js";
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useList, useMay, useNow } from "../hooks.js";
import { actionColumn, measure, stateColumn } from "../ui/columns.jsx";
import { List } from "../ui/list.jsx";
import { keptText } from "../words.js";

const ACCEPTS = { auto: "accepted", manual: "kept waiting", reject: "rejected" };

const number = (key, label) => measure(key, label, (row) => row[key], count, "9%");

function columnsFor(may, now) {
	return [
		{
			key: "addr",
			label: "Address",
			value: (row) => endpoint(row),
			cell: (row) => (
				<span class="name">
					<strong class="mono">{endpoint(row)}</strong>
					{row.name && <span class="faint"> {row.name}</span>}
					{row.desired && <span class="faint">, {keptText(row.desired, now)}</span>}
					<span class="under narrow-only">
						{row.service.replace("_", " ")}, {count(row.accepted)} accepted
					</span>
				</span>
			),
		},
		stateColumn("10%"),
		{
			key: "service",
			label: "Service",
			wide: true,
			width: "11%",
			value: (row) => row.service,
			cell: (row) => row.service.replace("_", " "),
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
			value: (row) => row.device?.name,
			cell: (row) => <span class="mono">{row.device?.name ?? "all"}</span>,
		},
		number("requests", "Requests"),
		number("accepted", "Accepted"),
		number("rejected", "Rejected"),
		number("waiting", "Waiting"),
		...actionColumn(may, (row) => <ActionButton small name="stopListening" item={row} />),
	];
}

function textOf(row) {
	return [row.id, row.name, endpoint(row), row.state, row.service, row.device?.name].join(" ");
}

export function ListenersView({ route }) {
	const list = useList("listeners");
	return (
		<div class="view">
			<List
				route={route}
				title="Listeners"
				list={list}
				noun="listener"
				search="Search address, name, service …"
				textOf={textOf}
				only={route.query.id}
				columns={columnsFor(useMay(), useNow(1000))}
				action={<FormButton name="listen" primary />}
				empty="listeners"
			/>
		</div>
	);
}
