// SPDX-License-Identifier: Apache-2.0
//
// Columns that several tables have. What a column is: table.jsx.
import { State } from "./bits.jsx";

/** stateColumn - the state of a row, with what went wrong to be read at it */
export function stateColumn(width) {
	return {
		key: "state",
		label: "State",
		width,
		value: (row) => row.state,
		cell: (row) => <State state={row.state} title={row.error?.text ?? row.error ?? undefined} />,
	};
}

/** measure - a column of numbers, told by format(value) */
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
