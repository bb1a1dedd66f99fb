// SPDX-License-Identifier: Apache-2.0
//
// The parts that the tables of endpoints, peers and groups share.

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
