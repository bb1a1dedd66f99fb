// SPDX-License-Identifier: Apache-2.0
//
// The peers to which endpoints send: an address handle, a queue pair number and a Q_Key each.
import { clock, count, endpoint, hex } from "../../format.js";
import { ActionButton } from "../../forms/form.jsx";
import { useItem, useList } from "../../hooks.js";
import { navigate } from "../../router.js";
import { actionColumn, measure, monoColumn, stateColumn } from "../../ui/columns.jsx";
import { Detail } from "../../ui/detail.jsx";
import { Section } from "../../ui/list.jsx";
import { endpointColumn, nameColumn } from "./cells.jsx";

const askedAt = ({ dst_addr: addr, dst_port: port }) => (addr === null ? null : endpoint({ addr, port }));
const numberOf = (row) => (row.qpn === null ? null : hex(row.qpn));

function columnsFor({ may, linkTo, endpointLink }) {
	return [
		nameColumn("Peer", linkTo, (row) => askedAt(row) ?? row.path?.gid ?? numberOf(row)),
		stateColumn("9%"),
		endpointColumn(endpointLink, "14%"),
		monoColumn("dst_addr", "Asked at", askedAt, "16%"),
		monoColumn("qpn", "QP number", numberOf, "11%"),
		monoColumn("gid", "GID", (row) => row.path?.gid, "20%"),
		measure("user_count", "Sending", (row) => row.user_count, count, "7%"),
		...actionColumn(may, (row) => <ActionButton small name="deletePeer" item={row} />),
	];
}

function pathRows(path) {
	if (!path) return [];
	return [
		["GID", path.gid && <span class="mono">{path.gid}</span>],
		["Local GID index", path.gid_index],
		["LID", path.lid > 0 && path.lid],
		["Service level", path.sl],
		["Hop limit", path.hop_limit],
		["Traffic class", path.traffic_class],
		["Flow label", path.flow_label],
	];
}

function rowsOf(item, endpointLink) {
	return [
		["Endpoint", endpointLink(item.ud_endpoint)],
		["Waits for", item.waits_for],
		["Asked at", item.dst_addr && <span class="mono">{askedAt(item)}</span>],
		["Sender of message", item.message],
		["QP number", numberOf(item) && <span class="mono">{numberOf(item)}</span>],
		["Q_Key", item.qkey && <span class="mono">{item.qkey}</span>],
		...pathRows(item.path),
		["Transfers under way", count(item.user_count)],
		["Created", clock(item.created_at), item.created_at],
	];
}

function One({ id, back, endpointLink }) {
	const { item, problem } = useItem("peers", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Peer ${item.name ?? item.id}`}
			actions={() => <ActionButton name="deletePeer" item={item} label="Delete" onDone={() => navigate(back)} />}
			rows={() => rowsOf(item, endpointLink)}
		/>
	);
}

/** Peers - linkTo(row) is the address of one of them, linkTo() that of none */
export function Peers({ id, linkTo, endpointLink, may, query, set }) {
	return (
		<Section
			title="Peers"
			form="peer"
			list={useList("peers")}
			columns={columnsFor({ may, linkTo, endpointLink })}
			sort={query.psort ?? "-id"}
			onSort={(psort) => set({ psort })}
			href={linkTo}
			empty="peers"
		>
			{id && <One key={id} id={id} back={linkTo()} endpointLink={endpointLink} />}
		</Section>
	);
}
