// SPDX-License-Identifier: Apache-2.0
//
// What the tables of benchmarks and of probes have in common.
import { ActionButton } from "../../forms/form.jsx";
import { hashOf } from "../../router.js";

export function Over({ connection }) {
	return <a href={hashOf({ view: "connections", ref: String(connection) })}>connection {connection}</a>;
}

/** action - the column that does actionOf(row) to a row, for who may; done(row) comes after it */
export function action(may, actionOf, done) {
	if (!may) return [];
	return [
		{
			key: "act",
			label: "",
			fixed: true,
			end: true,
			width: "3rem",
			cell: (row) => (
				<ActionButton small name={actionOf(row)} item={row} onDone={() => row.ended_at && done(row)} />
			),
		},
	];
}
