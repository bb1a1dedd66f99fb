// SPDX-License-Identifier: Apache-2.0
//
// Registered memory, and the memory windows bound over it.
import { bytes, count } from "../format.js";
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useConnectionNames, useList, useMay } from "../hooks.js";
import { ConnectionLink, Copy } from "../ui/bits.jsx";
import { actionColumn, measure, monoColumn, stateColumn } from "../ui/columns.jsx";
import { List, Section, useQuery } from "../ui/list.jsx";

const RIGHTS = { remote_write: "write", remote_read: "read", remote_atomic: "atomic", mw_bind: "windows" };

function Access({ access }) {
	if (access.length === 0) return <span class="faint">none</span>;
	return (
		<span class="tag-line">
			{access.map((right) => (
				<span key={right} class="tag" title={right}>
					{RIGHTS[right] ?? right}
				</span>
			))}
		</span>
	);
}

/* Address and key in the form of a transfer's `remote`; the form of a transfer takes the copied text as a whole. Without
   remote access, both are of no use to a peer and are not shown. */
function Remote({ item }) {
	if (!item.addr || !item.rkey || !item.access.some((right) => right.startsWith("remote_")))
		return <span class="faint">not for peers</span>;
	return (
		<span class="remote">
			<span class="mono clip" title={`addr ${item.addr}, rkey ${item.rkey}`}>
				{item.addr} · {item.rkey}
			</span>
			<Copy
				text={JSON.stringify({ addr: item.addr, rkey: item.rkey })}
				label={`Copy address and key of ${item.name ?? item.id} for the peer`}
			/>
		</span>
	);
}

function Named({ item, under }) {
	return (
		<span class="name">
			<strong>{item.name ?? `#${item.id}`}</strong>
			{item.name && <span class="faint"> #{item.id}</span>}
			<span class="under narrow-only">{under}</span>
		</span>
	);
}

const remoteColumn = {
	key: "remote",
	label: "Address · key",
	wide: true,
	fixed: true,
	width: "24%",
	cell: (row) => <Remote item={row} />,
};

const kindOf = ({ kind }) => kind;

function bufferColumns(may) {
	return [
		{
			key: "id",
			label: "Buffer",
			value: (row) => row.name ?? row.id,
			cell: (row) => (
				<Named
					item={row}
					under={`${row.kind}, ${row.access.map((right) => RIGHTS[right]).join(", ") || "no access"}${row.desired ? ", kept" : ""}`}
				/>
			),
		},
		stateColumn("9%"),
		{
			key: "size",
			label: "Size",
			end: true,
			firstDown: true,
			width: "8%",
			value: (row) => row.size_bytes,
			cell: (row) => (
				<span class="num" title={`${count(row.size_bytes)} bytes`}>
					{bytes(row.size_bytes)}
				</span>
			),
		},
		{
			key: "access",
			label: "A peer may",
			wide: true,
			width: "20%",
			value: (row) => row.access.join(),
			cell: (row) => <Access access={row.access} />,
		},
		...(may ? [remoteColumn] : []),
		{ key: "memory", label: "Memory", wide: true, width: "9%", value: kindOf, cell: kindOf },
		monoColumn("device", "Device", (row) => row.device.name, "8%"),
		measure("user_count", "Users", (row) => row.user_count, count, "6%"),
		...actionColumn(may, (row) => <ActionButton small name="deleteBuffer" item={row} />),
	];
}

function windowColumns(may, connectionOf) {
	const nameOf = ({ id, name }) => name ?? `#${id}`;
	return [
		{
			key: "id",
			label: "Window",
			value: (row) => row.name ?? row.id,
			cell: (row) => <Named item={row} under={`${bytes(row.size_bytes)} of ${nameOf(row.buffer)}`} />,
		},
		stateColumn("9%"),
		{
			key: "buffer",
			label: "Buffer",
			wide: true,
			width: "11%",
			value: (row) => nameOf(row.buffer),
			cell: (row) => nameOf(row.buffer),
		},
		{
			key: "range",
			label: "Range",
			wide: true,
			width: "14%",
			value: (row) => row.buffer_offset_bytes,
			cell: (row) => (
				<span class="num">
					{bytes(row.size_bytes)} from {bytes(row.buffer_offset_bytes)}
				</span>
			),
		},
		{
			key: "access",
			label: "A peer may",
			wide: true,
			width: "15%",
			value: (row) => row.access.join(),
			cell: (row) => <Access access={row.access} />,
		},
		...(may ? [remoteColumn] : []),
		{
			key: "connection",
			label: "Usable by",
			wide: true,
			width: "10%",
			value: (row) => row.connection?.id,
			cell: (row) =>
				row.connection === null ? "any peer" : <ConnectionLink id={row.connection.id} nameOf={connectionOf} />,
		},
		...actionColumn(may, (row) => <ActionButton small name="revokeWindow" item={row} />),
	];
}

function textOf(row) {
	return [row.id, row.name, row.state, row.kind, row.device.name, ...row.access].join(" ");
}

function sum(items) {
	return items.filter(({ state }) => state === "ready").reduce((all, item) => all + item.size_bytes, 0);
}

function Registered({ buffers }) {
	if (buffers.length === 0) return null;
	return (
		<p class="note">
			{bytes(sum(buffers))} registered in{" "}
			{buffers.length === 1 ? "one buffer" : `${count(buffers.length)} buffers`}.
		</p>
	);
}

export function BuffersView({ route }) {
	const buffers = useList("buffers");
	const windows = useList("windows");
	const may = useMay();
	const [{ id, window: windowId = "", wsort = "-id" }, set] = useQuery(route);
	return (
		<div class="view">
			<List
				route={route}
				title="Buffers"
				list={buffers}
				noun="buffer"
				search="Search name, state, access …"
				textOf={textOf}
				only={id}
				columns={bufferColumns(may)}
				action={<FormButton name="buffer" primary />}
				empty="buffers"
			>
				<Registered buffers={buffers.items} />
			</List>
			<Section
				title="Memory windows"
				form="window"
				list={{ ...windows, items: windows.items.filter((row) => !windowId || String(row.id) === windowId) }}
				columns={windowColumns(may, useConnectionNames())}
				sort={wsort}
				onSort={(value) => set({ wsort: value })}
				empty="windows"
			/>
		</div>
	);
}
