// SPDX-License-Identifier: Apache-2.0
//
// One endpoint in full: its address for peers, its inbox, its counters, and how it ended.
import { clock, count, counted, endpoint as addressOf, hex } from "../../format.js";
import { ActionButton } from "../../forms/form.jsx";
import { useItem } from "../../hooks.js";
import { hashOf, navigate } from "../../router.js";
import { Copy, Trouble } from "../../ui/bits.jsx";
import { Detail } from "../../ui/detail.jsx";
import { words } from "../../words.js";
import { WorkRequests } from "../connection/facts.jsx";

function Mono({ children }) {
	return <span class="mono">{children}</span>;
}

/* The members of POST /v1/ud_peers that name this endpoint. Readers are not shown the Q_Key. */
function ForPeers({ item }) {
	const { lqpn: qpn, sgid: gid, lid, qkey } = item.qp_attr;
	const text = JSON.stringify({ qpn, gid, ...(lid ? { lid } : {}), ...(qkey ? { qkey } : {}) });
	return (
		<span class="with-copy">
			<Mono>{hex(qpn)}</Mono>
			<Copy text={text} label={`Copy QP number${qkey ? ", Q_Key" : ""} and GID for a peer`} />
		</span>
	);
}

function sidrOf({ requests, answered, refused }) {
	return requests > 0 && `${counted(requests, "request")}, ${count(answered)} answered, ${count(refused)} refused`;
}

function rowsOf(item) {
	const { qp, qp_attr: attr, inbox } = item;
	return [
		["Listens on", item.addr ? <Mono>{addressOf(item)}</Mono> : "no address"],
		[
			"Device",
			<a href={hashOf({ view: "devices", query: { id: item.device.id } })}>
				{item.device.name} port {item.port_num}
			</a>,
		],
		["QP number", <ForPeers item={item} />],
		["Q_Key", attr.qkey && <Mono>{attr.qkey}</Mono>],
		["GID", <Mono>{`${attr.sgid} (index ${attr.gid_index})`}</Mono>],
		["LID", attr.lid > 0 && attr.lid, "Only InfiniBand has LIDs."],
		["Longest message", `${count(item.max_message_bytes)} bytes`, "A datagram is one packet."],
		["Service", item.service],
		["Queues (send / receive)", `${qp.sq_depth} / ${qp.rq_depth}`],
		["Inbox", inbox.capacity > 0 && `${count(inbox.messages)} of ${count(inbox.capacity)} messages`],
		["Asked for its number", sidrOf(item.sidr), "SIDR requests of rdma_cm programs"],
		["Peers", count(item.ud_peer_count)],
		["Groups", count(item.multicast_membership_count)],
		["Completion queue", item.cq.name ?? `#${item.cq.id}`],
		["Created", clock(item.created_at), item.created_at],
		["Ended", item.ended_at && clock(item.ended_at), item.ended_at],
	];
}

function End({ item }) {
	const { end_code: code, error } = item;
	if (!code) return null;
	return <Trouble problem={{ title: words(code), detail: error?.detail ?? "", hint: error?.hint }} />;
}

export function Endpoint({ id, back }) {
	const { item, problem } = useItem("endpoints", id);
	const { grh_bytes: _, ...counters } = item?.counters ?? {};
	return (
		<>
			<Detail
				item={item}
				problem={problem}
				back={back}
				title={() => `Endpoint ${item.name ?? item.id}`}
				actions={() => (
					<ActionButton name="deleteEndpoint" item={item} label="Delete" onDone={() => navigate(back)} />
				)}
				rows={rowsOf}
			>
				{item?.end_code && (() => <End item={item} />)}
			</Detail>
			{item && <WorkRequests counters={counters} />}
		</>
	);
}
