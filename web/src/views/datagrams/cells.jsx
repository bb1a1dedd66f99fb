// SPDX-License-Identifier: Apache-2.0
//
// The parts that the tables of endpoints, peers and groups share.
import { FormButton } from "../../forms/form.jsx";
import { sorted } from "../../table.js";
import { Trouble } from "../../ui/bits.jsx";
import { Table } from "../../ui/table.jsx";

/** nameColumn - the name of a row with a link to its details; underOf(row) stands below it on narrow screens */
export function nameColumn(label, linkTo, underOf) {
	return {
		key: "id",
		label,
		value: (row) => row.name ?? row.id,
		cell: (row) => (
			<span class="name">
				<a href={linkTo(row)}>{row.name ?? `#${row.id}`}</a>
				{row.name && <span class="faint"> #{row.id}</span>}
				<span class="under narrow-only mono">{underOf(row)}</span>
			</span>
		),
	};
}

/** endpointColumn - the endpoint of a peer or a group */
export function endpointColumn(endpointLink, width) {
	return {
		key: "endpoint",
		label: "Endpoint",
		wide: true,
		width,
		value: (row) => row.ud_endpoint.id,
		cell: (row) => <span class="clip">{endpointLink(row.ud_endpoint)}</span>,
	};
}

/**
 * Section - a list below the main one: its head with the button that adds to it, one item in full, and the table
 * list   what useList() gives; sort and onSort are as of Table
 * none   the text for an empty list
 */
export function Section({ title, form, list, columns, sort, onSort, href, none, children }) {
	const { items, problem, loadedAt } = list;
	return (
		<>
			<div class="view-head">
				<h2 class="as-h1">{title}</h2>
				<FormButton name={form} />
			</div>
			{children}
			{problem && loadedAt === null && problem.status !== 0 && <Trouble problem={problem} />}
			{items.length > 0 && (
				<Table
					label={title}
					columns={columns}
					rows={sorted(items, columns, sort)}
					sort={sort}
					onSort={onSort}
					href={href}
				/>
			)}
			{loadedAt !== null && items.length === 0 && <p class="note">{none}</p>}
		</>
	);
}
