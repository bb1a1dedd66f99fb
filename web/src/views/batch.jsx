// SPDX-License-Identifier: Apache-2.0
//
// A batch of transfers, above the list of its transfers.
import { clock, counted } from "../format.js";
import { ActionButton } from "../forms/form.jsx";
import { useItem } from "../hooks.js";
import { hashOf } from "../router.js";
import { Progress } from "../ui/bits.jsx";
import { Detail } from "../ui/detail.jsx";
import { words } from "../words.js";

/** BatchLink - a link to the transfers of a batch; nothing for a transfer that was created by itself */
export function BatchLink({ batch }) {
	return batch && <a href={hashOf({ view: "transfers", query: { batch: batch.id } })}>batch {batch.id}</a>;
}

function countsOf({ counts }) {
	return Object.entries(counts)
		.filter(([, number]) => number > 0)
		.map(([state, number]) => `${number} ${words(state)}`)
		.join(", ");
}

const isRunning = ({ state }) => state === "running";

/** Batch - the common state of the transfers of a batch; deleted() is called when its record was deleted */
export function Batch({ id, back, deleted }) {
	const { item, problem } = useItem("transfer_batches", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Batch ${item.id}: ${counted(item.transfers.length, "transfer")}`}
			actions={() => (
				<ActionButton
					name={isRunning(item) ? "cancelBatch" : "deleteBatch"}
					item={item}
					label={isRunning(item) ? "Cancel" : "Delete the record"}
					onDone={isRunning(item) ? undefined : deleted}
				/>
			)}
			rows={() => [
				["Transfers", countsOf(item)],
				["Created", clock(item.created_at), item.created_at],
				["Ended", item.ended_at && clock(item.ended_at), item.ended_at],
			]}
		>
			{() => (
				<Progress
					state={item.state}
					share={item.counts.done / item.transfers.length}
					name={`Batch ${item.id}`}
					text={`${item.counts.done} of ${counted(item.transfers.length, "transfer")} done`}
				/>
			)}
		</Detail>
	);
}
