// SPDX-License-Identifier: Apache-2.0
//
// Connections that were made by one request: links to such batches, and one of them above the list of its connections.
import { clock, counted } from "../../format.js";
import { ActionButton } from "../../forms/form.jsx";
import { useItem, useList } from "../../hooks.js";
import { hashOf } from "../../router.js";
import { Progress, State } from "../../ui/bits.jsx";
import { Detail } from "../../ui/detail.jsx";
import { words } from "../../words.js";

const LINKS_MAX = 5;

const isRunning = ({ state }) => state === "running";
const total = ({ counts }) => Object.values(counts).reduce((sum, number) => sum + number, 0);

function countsOf({ counts }) {
	return Object.entries(counts)
		.filter(([, number]) => number > 0)
		.map(([state, number]) => `${number} ${words(state)}`)
		.join(", ");
}

function HowFar({ batch }) {
	const text = `${batch.counts.established} of ${counted(total(batch), "connection")} established`;
	return (
		<Progress
			state={batch.state}
			share={batch.counts.established / Math.max(total(batch), 1)}
			name={`Batch ${batch.id}`}
			text={text}
		/>
	);
}

/** ConnectionBatchLinks - the newest batches, while no batch is shown */
export function ConnectionBatchLinks() {
	const { items } = useList("connectionBatches");
	const newest = [...items].sort((a, b) => b.id - a.id).slice(0, LINKS_MAX);
	if (newest.length === 0) return null;
	return (
		<nav class="batch-links" aria-label="Connections made together">
			{newest.map((batch) => (
				<a key={batch.id} href={hashOf({ view: "connections", query: { show: "all", batch: batch.id } })}>
					batch {batch.id}: {countsOf(batch)} <State state={batch.state} />
				</a>
			))}
		</nav>
	);
}

/** ConnectionBatch - what became of the connections of a batch; deleted() is called when its record was deleted */
export function ConnectionBatch({ id, back, deleted }) {
	const { item, problem } = useItem("connectionBatches", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Batch ${item.id}: ${counted(total(item), "connection")}`}
			actions={() => (
				<ActionButton
					name={isRunning(item) ? "cancelConnectionBatch" : "deleteConnectionBatch"}
					item={item}
					label={isRunning(item) ? "Cancel" : "Delete the record"}
					onDone={isRunning(item) ? undefined : deleted}
				/>
			)}
			rows={() => [
				["Connections", countsOf(item)],
				["Created", clock(item.created_at), item.created_at],
				["Ended", item.ended_at && clock(item.ended_at), item.ended_at],
			]}
		>
			{() => <HowFar batch={item} />}
		</Detail>
	);
}
