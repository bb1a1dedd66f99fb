// SPDX-License-Identifier: Apache-2.0
//
// Transfers: the progress of each, and why it failed.
import { bytes, clock, count, ns, rate } from "../format.js";
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useConnectionNames, useItem, useList, useMay } from "../hooks.js";
import { hashOf } from "../router.js";
import { isRunning, progressOf, speedOf } from "../transfers.js";
import { words } from "../words.js";
import { ConnectionLink, Progress } from "../ui/bits.jsx";
import { actionColumn, measure, stateColumn } from "../ui/columns.jsx";
import { Detail } from "../ui/detail.jsx";
import { List, useQuery } from "../ui/list.jsx";
import { Batch, BatchLink } from "./batch.jsx";

const CHOICES = [
	["all", "All", () => true],
	["running", "Running", isRunning],
	["done", "Done", (row) => row.state === "done"],
	["failed", "Failed", (row) => ["failed", "timed_out", "cancelled"].includes(row.state)],
];

function HowFar({ row }) {
	return (
		<Progress
			state={isRunning(row) ? "running" : row.state}
			share={progressOf(row)}
			name={`Transfer ${row.id}`}
			text={`${bytes(row.bytes_done)} of ${bytes(row.length_bytes)}`}
		/>
	);
}

function Over({ row, nameOf }) {
	if (row.connection !== null) return <ConnectionLink id={row.connection.id} nameOf={nameOf} />;
	return <a href={hashOf({ view: "datagrams", query: { id: row.ud_endpoint.id } })}>endpoint {row.ud_endpoint.id}</a>;
}

function overName(row, nameOf) {
	return row.connection === null ? `endpoint ${row.ud_endpoint.id}` : nameOf(row.connection.id);
}

function opName(row) {
	return words(row.op);
}

const actionOf = (row) => (isRunning(row) ? "cancelTransfer" : "deleteTransfer");

function columnsFor(may, nameOf, deleted) {
	return [
		{
			key: "id",
			label: "Transfer",
			value: (row) => row.id,
			cell: (row) => (
				<span class="name">
					<a href={hashOf({ view: "transfers", query: { id: row.id } })}>
						#{row.id} {opName(row)}
					</a>
					<span class="under narrow-only">
						{bytes(row.length_bytes)} over {overName(row, nameOf)}
					</span>
				</span>
			),
		},
		stateColumn("10%"),
		{ key: "progress", label: "Progress", width: "20%", value: progressOf, cell: (row) => <HowFar row={row} /> },
		measure("size", "Size", (row) => row.length_bytes, bytes, "9%"),
		measure("speed", "Speed", speedOf, rate, "10%"),
		measure("wire", "Took", (row) => row.wire_ns, ns, "9%"),
		{
			key: "over",
			label: "Over",
			wide: true,
			width: "12%",
			value: (row) => overName(row, nameOf),
			cell: (row) => <Over row={row} nameOf={nameOf} />,
		},
		{
			key: "begun",
			label: "Created",
			end: true,
			wide: true,
			firstDown: true,
			width: "9%",
			value: (row) => Date.parse(row.created_at),
			cell: (row) => <span class="num faint">{clock(row.created_at)}</span>,
		},
		...actionColumn(may, (row) => (
			<ActionButton small name={actionOf(row)} item={row} onDone={() => !isRunning(row) && deleted(row)} />
		)),
	];
}

function textOf(row, nameOf) {
	const over = `connection ${row.connection?.id ?? ""} ${overName(row, nameOf)}`;
	const batch = row.batch && `batch ${row.batch.id}`;
	return [row.id, row.op, row.state, row.error?.code, over, batch, row.error?.first?.wc_status].join(" ");
}

function rowsOf(item, nameOf) {
	return [
		[item.connection === null ? "Endpoint" : "Connection", <Over row={item} nameOf={nameOf} />],
		["Part of", item.batch && <BatchLink batch={item.batch} />],
		["Moved", `${bytes(item.bytes_done)} of ${bytes(item.length_bytes)}`],
		["Work requests done", count(item.wrs_done)],
		["Messages sent", item.messages_done === null ? null : count(item.messages_done)],
		["Speed", speedOf(item) === null ? null : rate(speedOf(item))],
		["From the request to the first post", item.queue_ns === null ? null : ns(item.queue_ns)],
		["First post to last completion", item.wire_ns === null ? null : ns(item.wire_ns)],
		["Size of a work request", item.chunk_bytes ? bytes(item.chunk_bytes) : null],
		["Outstanding at most", count(item.tx_depth)],
		[
			"Buffer",
			item.buffer === null ? null : (
				<a href={hashOf({ view: "buffers", query: { id: item.buffer.id } })}>
					{item.buffer.name ?? `#${item.buffer.id}`}
				</a>
			),
		],
		["Immediate", item.imm],
		["Old value", item.old_value],
		["Received", item.received && `${words(item.received.op)}, ${bytes(item.received.length_bytes)}`],
		["Completion", item.error?.first?.wc_status && <span class="mono">{item.error.first.wc_status}</span>],
	];
}

function One({ id, back, deleted, nameOf }) {
	const { item, problem } = useItem("transfers", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Transfer ${item.id}: ${opName(item)}`}
			actions={() => (
				<ActionButton
					name={actionOf(item)}
					item={item}
					label={isRunning(item) ? "Cancel" : "Delete the record"}
					onDone={isRunning(item) ? undefined : deleted}
				/>
			)}
			rows={() => rowsOf(item, nameOf)}
		>
			{() => <HowFar row={item} />}
		</Detail>
	);
}

/* The list without the transfers of other batches. */
function inBatch(list, batch) {
	const items = list.items.filter((row) => String(row.batch?.id) === batch);
	return { ...list, items, total: items.length };
}

export function TransfersView({ route }) {
	const all = useList("transfers");
	const nameOf = useConnectionNames();
	const [{ id = "", batch = "" }, set] = useQuery(route);
	const list = batch ? inBatch(all, batch) : all;
	const deleted = (row) => String(row.id) === id && set({ id: "" });
	return (
		<div class="view">
			<List
				route={route}
				title="Transfers"
				list={list}
				noun="transfer"
				search="Search operation, state, error …"
				textOf={(row) => textOf(row, nameOf)}
				choices={CHOICES}
				columns={columnsFor(useMay(), nameOf, deleted)}
				href={(row) => hashOf({ view: "transfers", query: { ...route.query, id: row.id } })}
				action={<FormButton name="transfer" primary />}
				empty="transfers"
			>
				{batch && (
					<Batch
						key={`batch ${batch}`}
						id={batch}
						back={hashOf({ view: "transfers", query: { ...route.query, batch: "" } })}
						deleted={() => set({ batch: "" })}
					/>
				)}
				{id && (
					<One
						key={id}
						id={id}
						back={hashOf({ view: "transfers", query: { ...route.query, id: "" } })}
						deleted={() => set({ id: "" })}
						nameOf={nameOf}
					/>
				)}
			</List>
		</div>
	);
}
