// SPDX-License-Identifier: Apache-2.0
//
// The multicast groups of which endpoints are members.
import { clock, count } from "../../format.js";
import { ActionButton } from "../../forms/form.jsx";
import { useItem, useList } from "../../hooks.js";
import { navigate } from "../../router.js";
import { actionColumn, measure, monoColumn, stateColumn } from "../../ui/columns.jsx";
import { Detail } from "../../ui/detail.jsx";
import { Section } from "../../ui/list.jsx";
import { endpointColumn, nameColumn } from "./cells.jsx";

const MODES = { full: "sends and receives", send_only: "only sends" };

function columnsFor({ may, linkTo, endpointLink }) {
	return [
		nameColumn("Group", linkTo, (row) => row.addr),
		stateColumn("9%"),
		endpointColumn(endpointLink, "14%"),
		monoColumn("addr", "Address", (row) => row.addr, "16%"),
		{
			key: "mode",
			label: "Mode",
			wide: true,
			width: "14%",
			value: (row) => MODES[row.mode],
			cell: (row) => MODES[row.mode],
		},
		monoColumn("mgid", "MGID", (row) => row.mgid, "20%"),
		measure("user_count", "Sending", (row) => row.user_count, count, "7%"),
		...actionColumn(may, (row) => <ActionButton small name="leaveGroup" item={row} />),
	];
}

function rowsOf(item, endpointLink) {
	return [
		["Endpoint", endpointLink(item.ud_endpoint)],
		["Waits for", item.waits_for],
		["Address", <span class="mono">{item.addr}</span>],
		["Mode", MODES[item.mode]],
		["MGID", item.mgid && <span class="mono">{item.mgid}</span>],
		["MLID", item.mlid],
		["Service level", item.sl],
		["Q_Key", item.qkey && <span class="mono">{item.qkey}</span>],
		["Transfers under way", count(item.user_count)],
		["Created", clock(item.created_at), item.created_at],
	];
}

function One({ id, back, endpointLink }) {
	const { item, problem } = useItem("groups", id);
	return (
		<Detail
			item={item}
			problem={problem}
			back={back}
			title={() => `Group ${item.name ?? item.addr}`}
			actions={() => <ActionButton name="leaveGroup" item={item} label="Leave" onDone={() => navigate(back)} />}
			rows={() => rowsOf(item, endpointLink)}
		/>
	);
}

/** Groups - linkTo(row) is the address of one of them, linkTo() that of none */
export function Groups({ id, linkTo, endpointLink, may, query, set }) {
	return (
		<Section
			title="Groups"
			form="group"
			list={useList("groups")}
			columns={columnsFor({ may, linkTo, endpointLink })}
			sort={query.gsort ?? "-id"}
			onSort={(gsort) => set({ gsort })}
			href={linkTo}
			empty="groups"
		>
			{id && <One key={id} id={id} back={linkTo()} endpointLink={endpointLink} />}
		</Section>
	);
}
