// SPDX-License-Identifier: Apache-2.0
//
// The parts that the tables of benchmarks and of probes share. Below, `query` is the member of the address that names one
// of them ("id" or "probe"), and actionOf(row) the name of the action that ends a row or deletes its record.
import { ns } from "../../format.js";
import { ActionButton } from "../../forms/form.jsx";
import { useItem } from "../../hooks.js";
import { isMeasuring } from "../../measures.js";
import { hashOf } from "../../router.js";
import { actionColumn, connectionColumn, measure, stateColumn } from "../../ui/columns.jsx";
import { Detail } from "../../ui/detail.jsx";

function Named({ row, query, text, under }) {
	return (
		<span class="name">
			<a href={hashOf({ view: "benchmarks", query: { [query]: row.id } })}>
				#{row.id} {text}
			</a>
			<span class="under narrow-only">{under}</span>
		</span>
	);
}

/**
 * columnsOf - the columns of a table of measurements
 * label       of the first column
 * textOf      what follows the number of a row there; underOf is the line below it on narrow screens
 * own         the columns between the connection and the times
 * latencyOf   the distribution of a row's times, or null; shown says which percentile stays on narrow screens, if one does
 * deleted     is called with a row whose record was deleted
 */
export function columnsOf({ label, query, textOf, underOf, own, latencyOf, shown, may, nameOf, actionOf, deleted }) {
	const percentile = (key) => ({
		...measure(key, key, (row) => latencyOf(row)?.[key], ns, "7.5%"),
		wide: key !== shown,
	});
	return [
		{
			key: "id",
			label,
			value: (row) => row.id,
			cell: (row) => <Named row={row} query={query} text={textOf(row)} under={underOf(row)} />,
		},
		stateColumn("9%"),
		connectionColumn(nameOf, "11.5%"),
		...own,
		percentile("p50"),
		percentile("p99"),
		...actionColumn(may, (row) => (
			<ActionButton small name={actionOf(row)} item={row} onDone={() => row.ended_at && deleted(row)} />
		)),
	];
}

/** One - a measurement in full; `deleted` is called when its record was deleted, `rest` is as of Detail */
export function One({ collection, id, actionOf, deleted, ...rest }) {
	const { item, problem } = useItem(collection, id);
	return (
		<Detail
			item={item}
			problem={problem}
			actions={() => (
				<ActionButton
					name={actionOf(item)}
					item={item}
					label={isMeasuring(item) ? "Stop" : "Delete"}
					onDone={isMeasuring(item) ? undefined : deleted}
				/>
			)}
			{...rest}
		/>
	);
}
