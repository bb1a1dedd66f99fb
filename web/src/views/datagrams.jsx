// SPDX-License-Identifier: Apache-2.0
//
// Datagrams: the endpoints, the peers to which they send, and the multicast groups of which they are members.
import { count, endpoint as addressOf, hex } from "../format.js";
import { ActionButton, FormButton } from "../forms/form.jsx";
import { useList, useMay } from "../hooks.js";
import { hashOf } from "../router.js";
import { Meter } from "../ui/bits.jsx";
import { actionColumn, measure, monoColumn, stateColumn } from "../ui/columns.jsx";
import { List, useQuery } from "../ui/list.jsx";
import { Endpoint } from "./datagrams/endpoint.jsx";
import { Groups } from "./datagrams/groups.jsx";
import { nameColumn } from "./datagrams/cells.jsx";
import { Peers } from "./datagrams/peers.jsx";

const CHOICES = [
	["all", "All", () => true],
	["ready", "Ready", ({ state }) => state === "ready"],
	["failed", "Failed", ({ state }) => state === "failed"],
];

const listensAt = (row) => (row.addr ? addressOf(row) : null);

function Inbox({ row }) {
	const { messages, capacity } = row.inbox;
	if (!capacity) return <span class="faint">–</span>;
	return <Meter share={messages / capacity} label={`${messages} of ${capacity} messages in the inbox`} />;
}

function columnsFor(may, linkTo) {
	return [
		nameColumn("Endpoint", linkTo, (row) => listensAt(row) ?? `QP ${hex(row.qp_attr.lqpn)}`),
		stateColumn("8%"),
		monoColumn("addr", "Listens on", (row) => listensAt(row), "16%"),
		monoColumn("device", "Device", (row) => row.device.name, "8%"),
		monoColumn("lqpn", "QP number", (row) => hex(row.qp_attr.lqpn), "11%"),
		...(may ? [monoColumn("qkey", "Q_Key", (row) => row.qp_attr.qkey, "9%")] : []),
		measure("sent", "Sent", (row) => row.counters.send.completed + row.counters.send_imm.completed, count, "7%"),
		measure("received", "Received", (row) => row.counters.recv.completed, count, "8.5%"),
		{
			key: "inbox",
			label: "Inbox",
			wide: true,
			firstDown: true,
			width: "9.5%",
			value: (row) => row.inbox.messages,
			cell: (row) => <Inbox row={row} />,
		},
		...actionColumn(may, (row) => <ActionButton small name="deleteEndpoint" item={row} />),
	];
}

function textOf(row) {
	return [
		row.id,
		row.name,
		row.state,
		listensAt(row),
		row.device.name,
		row.qp_attr.sgid,
		row.qp_attr.lqpn,
		hex(row.qp_attr.lqpn),
	].join(" ");
}

export function DatagramsView({ route }) {
	const endpoints = useList("endpoints");
	const [query, set] = useQuery(route);
	const { id, peer, group } = query;
	const may = useMay();
	const linkTo = (member) => (row) => hashOf({ view: "datagrams", query: { ...query, [member]: row?.id ?? "" } });
	const endpointLink = (ref) => <a href={linkTo("id")(ref)}>{ref.name ?? `endpoint ${ref.id}`}</a>;
	return (
		<div class="view">
			<List
				route={route}
				title="Datagrams"
				list={endpoints}
				noun="endpoint"
				search="Search name, address, QP number …"
				textOf={textOf}
				choices={CHOICES}
				columns={columnsFor(may, linkTo("id"))}
				href={linkTo("id")}
				action={<FormButton name="endpoint" primary />}
				empty="endpoints"
			>
				{id && <Endpoint key={id} id={id} back={linkTo("id")()} />}
			</List>
			<Peers id={peer} linkTo={linkTo("peer")} endpointLink={endpointLink} may={may} query={query} set={set} />
			<Groups id={group} linkTo={linkTo("group")} endpointLink={endpointLink} may={may} query={query} set={set} />
		</div>
	);
}
