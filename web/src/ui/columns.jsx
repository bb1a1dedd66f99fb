// SPDX-License-Identifier: Apache-2.0
//
// Columns that several tables have. The members of a column are described in table.jsx.
import { NONE } from "../format.js";
import { ConnectionLink, State } from "./bits.jsx";

/** stateColumn - the state of a row, with its error as a tooltip */
export function stateColumn(width) {
	return {
		key: "state",
		label: "State",
		width,
		value: (row) => row.state,
		cell: (row) => <State state={row.state} title={row.error?.detail} />,
	};
}

/** connectionColumn - a link to the connection of a row; nameOf is what useConnectionNames() gives */
export function connectionColumn(nameOf, width) {
	return {
		key: "over",
		label: "Connection",
		wide: true,
		width,
		value: (row) => nameOf(row.connection.id),
		cell: (row) => <ConnectionLink id={row.connection.id} nameOf={nameOf} />,
	};
}

/** monoColumn - an address or a number as text; textOf(row) may be null */
export function monoColumn(key, label, textOf, width) {
	return {
		key,
		label,
		wide: true,
		width,
		value: textOf,
		cell: (row) => (
			<span class={textOf(row) == null ? "faint" : "mono clip"} title={textOf(row) ?? undefined}>
				{textOf(row) ?? NONE}
			</span>
		),
	};
}

/** actionColumn - the last column, for clients that may act: cell(row) draws a button or nothing; a list of 0 or 1 */
export function actionColumn(may, cell) {
	const label = <span class="sr-only">Actions</span>;
	return may ? [{ key: "act", label, fixed: true, end: true, width: "3rem", cell }] : [];
}

/** measure - a column of numbers, drawn by format(value) */
export function measure(key, label, value, format, width) {
	return {
		key,
		label,
		end: true,
		wide: true,
		firstDown: true,
		width,
		value,
		cell: (row) => <span class={value(row) ? "num" : "num faint"}>{format(value(row))}</span>,
	};
}
