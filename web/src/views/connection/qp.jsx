// SPDX-License-Identifier: Apache-2.0
//
// The queue pair: a diagram of its states, the transitions it has made, and its attributes.
import { useEffect, useState } from "preact/hooks";
import { isOpen } from "../../collections.js";
import { hex, ns } from "../../format.js";
import { BOX, deadPeer, diagram, inWords } from "../../qp.js";
import { Facts, Panel } from "../../ui/bits.jsx";

function useNarrow() {
	const [narrow, setNarrow] = useState(false);
	useEffect(() => {
		const query = matchMedia("(max-width: 560px)");
		const look = () => setNarrow(query.matches);
		look();
		query.addEventListener("change", look);
		return () => query.removeEventListener("change", look);
	}, []);
	return narrow;
}

/* Every queue pair ends in ERR. That is bad only for a connection that was not closed on purpose. */
function toneOf({ name, now, seen }, isOver) {
	if (!now) return seen ? "seen" : "unseen";
	if (name !== "ERR" && name !== "SQE") return isOver ? "now-over" : "now";
	return isOver ? "now-over" : "now-bad";
}

function Node({ node, isOver }) {
	const { name, x, y, now, sinceNs } = node;
	const tone = toneOf(node, isOver);
	return (
		<g
			class={`qp-node qp-${tone}`}
			data-state={name}
			data-now={now || undefined}
			transform={`translate(${x} ${y})`}
		>
			{now && (
				<rect
					class="qp-halo"
					x={-BOX.width / 2 - 5}
					y={-BOX.height / 2 - 5}
					width={BOX.width + 10}
					height={BOX.height + 10}
					rx="13"
				/>
			)}
			<rect class="qp-box" x={-BOX.width / 2} y={-BOX.height / 2} width={BOX.width} height={BOX.height} rx="9" />
			<text class="qp-name" y={sinceNs === null ? 5 : -2}>
				{name}
			</text>
			{sinceNs !== null && (
				<text class="qp-time" y="13">
					{ns(sinceNs)}
				</text>
			)}
		</g>
	);
}

function Edge({ edge }) {
	const { path, count, last } = edge;
	const kind = last ? "last" : count ? "taken" : "open";
	return <path class={`qp-edge qp-edge-${kind}`} d={path} marker-end={`url(#qp-arrow-${kind})`} />;
}

function Arrow({ kind }) {
	return (
		<marker
			id={`qp-arrow-${kind}`}
			class={`qp-arrow-${kind}`}
			viewBox="0 0 8 8"
			refX="7"
			refY="4"
			markerWidth="7"
			markerHeight="7"
			orient="auto"
		>
			<path d="M0 0.5 8 4 0 7.5z" />
		</marker>
	);
}

function Diagram({ state, timeline, isOver }) {
	const { size, nodes, edges } = diagram(state, timeline, useNarrow() ? "tall" : "wide");
	const drawn = [...edges].sort((a, b) => a.count - b.count);
	return (
		<svg
			class="qp"
			viewBox={`0 0 ${size[0]} ${size[1]}`}
			style={{ maxWidth: `${size[0]}px` }}
			role="img"
			aria-label={inWords(state, timeline, ns)}
		>
			<defs>
				{["open", "taken", "last"].map((kind) => (
					<Arrow key={kind} kind={kind} />
				))}
			</defs>
			{drawn.map((edge) => (
				<Edge key={`${edge.from} ${edge.to}`} edge={edge} />
			))}
			{nodes.map((node) => (
				<Node key={node.name} node={node} isOver={isOver} />
			))}
		</svg>
	);
}

function gidOf({ sgid, gid_type: type, gid_index: index }) {
	if (!sgid) return null;
	return <span class="mono">{`${sgid} (${(type ?? "?").replace("roce_v", "RoCE v")}, index ${index})`}</span>;
}

export function QueuePair({ connection, timeline }) {
	const { qp_attr: qp } = connection;
	if (!qp)
		return (
			<Panel title="Queue pair">
				<p class="panel-body muted">
					{isOpen(connection)
						? "This connection has no queue pair yet."
						: "This connection ended before it had a queue pair."}
				</p>
			</Panel>
		);
	return (
		<Panel title="Queue pair" className="qp-panel">
			<div class="qp-holder">
				<Diagram state={qp.state} timeline={timeline?.items} isOver={connection.state === "closed"} />
			</div>
			<Facts
				rows={[
					["QP number here", <span class="mono">{hex(qp.lqpn)}</span>],
					["QP number of the peer", qp.rqpn > 0 && <span class="mono">{hex(qp.rqpn)}</span>],
					["Path MTU", qp.path_mtu_bytes && `${qp.path_mtu_bytes} bytes`],
					[
						"A dead peer is detected after",
						deadPeer(qp),
						"While data is sent: the ACK timeout times the tries, as the device rounds them",
					],
					[
						"RNR timer",
						qp.min_rnr_timer_ns &&
							`${ns(qp.min_rnr_timer_ns)}, retries ${qp.rnr_retry === 7 ? "without end" : qp.rnr_retry}`,
					],
					[
						"Concurrent reads (in / out)",
						qp.responder_resources != null && `${qp.responder_resources} / ${qp.initiator_depth}`,
					],
					["Local GID", gidOf(qp)],
					["Interface", qp.netdev && `${qp.netdev}${qp.vlan_id === null ? "" : `, VLAN ${qp.vlan_id}`}`],
				]}
			/>
		</Panel>
	);
}
