// SPDX-License-Identifier: Apache-2.0
//
// Transfers, how far each is, and why one failed.
import { bytes, clock, count, ns, rate } from "../format.js";
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useItem, useList, useMay } from "../hooks.js";
import { hashOf } from "../router.js";
import { isRunning, progressOf, speedOf } from "../transfers.js";
import { Empty, Progress } from "../ui/bits.jsx";
import { measure, stateColumn } from "../ui/columns.jsx";
import { Detail } from "../ui/detail.jsx";
import { List } from "../ui/list.jsx";

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

function Over({ row }) {
	if (row.connection === null) return <span class="faint">endpoint {row.endpoint}</span>;
	return <a href={hashOf({ view: "connections", ref: String(row.connection) })}>connection {row.connection}</a>;
}

function opName(row) {
	return row.op.replaceAll("_", " ");
}

function columnsFor(may) {
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
						{bytes(row.length_bytes)} over {row.connection ?? row.endpoint}
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
			value: (row) => row.connection ?? row.endpoint,
			cell: (row) => <Over row={row} />,
		},
		{
			key: "begun",
			label: "Asked at",
			end: true,
			wide: true,
			firstDown: true,
			width: "9%",
			value: (row) => Date.parse(row.created_at),
			cell: (row) => <span class="num faint">{clock(row.created_at)}</span>,
		},
		...(may
			? [
					{
						key: "act",
						label: "",
						fixed: true,
						end: true,
						width: "3rem",
						cell: (row) => isRunning(row) && <ActionButton small name="cancelTransfer" item={row} />,
					},
				]
			: []),
	];
}

function textOf(row) {
	return [row.id, row.op, row.state, row.error?.code, `connection ${row.connection}`, row.error?.wc_status].join(" ");
}

function rowsOf(item) {
	return [
		["Over", <Over row={item} />],
		["Moved", `${bytes(item.bytes_done)} of ${bytes(item.length_bytes)}`],
		["Work requests done", count(item.wrs_done)],
		["Messages sent", item.messages_done === null ? null : count(item.messages_done)],
		["Speed", speedOf(item) === null ? null : rate(speedOf(item))],
		["Waited to be posted", item.queue_ns === null ? null : ns(item.queue_ns)],
		["First post to last completion", item.wire_ns === null ? null : ns(item.wire_ns)],
		["Cut into", item.chunk_bytes ? bytes(item.chunk_bytes) : null],
		["Outstanding at most", count(item.window)],
		[
			"Buffer",
			item.buffer === null ? null : (
				<a href={hashOf({ view: "buffers", query: { id: item.buffer } })}>#{item.buffer}</a>
			),
		],
		["Immediate", item.imm],
		["Old value", item.old_value],
		["Received", item.received && `${item.received.op.replace("_", " ")}, ${bytes(item.received.length_bytes)}`],
		["Completion", item.error?.wc_status && <span class="mono">{item.error.wc_status}</span>],
	];
}

function One({ id, back }) {
	const { item, problem } = useItem("transfers", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Transfer ${item.id}: ${opName(item)}`}
			actions={() => isRunning(item) && <ActionButton name="cancelTransfer" item={item} label="Cancel" />}
			rows={rowsOf}
		>
			{() => <HowFar row={item} />}
		</Detail>
	);
}

export function TransfersView({ route }) {
	const list = useList("transfers");
	const { id } = route.query;
	return (
		<div class="view">
			<List
				route={route}
				title="Transfers"
				list={list}
				noun="transfer"
				search="Search operation, state, error …"
				textOf={textOf}
				choices={CHOICES}
				columns={columnsFor(useMay())}
				href={(row) => hashOf({ view: "transfers", query: { ...route.query, id: row.id } })}
				action={<FormButton name="transfer" primary />}
				empty={
					<Empty title="No transfers yet">
						<p class="muted">
							A transfer moves bytes of a buffer over a connection: into the peer's memory, out of it, or
							as messages.
						</p>
					</Empty>
				}
			>
				{id && <One key={id} id={id} back={hashOf({ view: "transfers", query: { ...route.query, id: "" } })} />}
			</List>
		</div>
	);
}
