// SPDX-License-Identifier: Apache-2.0
//
// The two ends of a connection, its parameters, and its counters.
import { amount, asked, bytes, clock, count, endpoint, NONE, ns, nsBetween, refText } from "../../format.js";
import { useItem, useNow } from "../../hooks.js";
import { hashOf } from "../../router.js";
import { Copy, Facts, Meter, Panel } from "../../ui/bits.jsx";
import { isOpen } from "../../collections.js";
import { keptSays } from "../../words.js";

function CqUse({ id }) {
	const { item } = useItem("cqs", String(id));
	if (!item) return `#${id}`;
	const { outstanding_cqe: now, cqe: room, high_water_cqe: high } = item;
	return (
		<span class="cq-use">
			<Meter
				share={now / room}
				high={high / room}
				label={`${now} of ${room} entries in use, ${high} at most so far`}
			/>
			<span class="faint">
				CQ {id}: {count(now)} of {count(room)} entries in use, {count(high)} at most so far
			</span>
		</span>
	);
}

/* The time of the last answer is not known, only how many there were. */
function heartbeatText({ qp, heartbeats }) {
	if (!heartbeats) return null;
	const { sent, answered } = heartbeats;
	const when = `after ${ns(qp.heartbeat_ms * 1e6)} without a sign of life`;
	return sent === 0 ? `${when}; none was needed` : `${when}; ${count(answered)} of ${count(sent)} answered`;
}

function Mono({ children }) {
	return children ? <span class="mono">{children}</span> : null;
}

export function Ends({ connection }) {
	const { qp } = connection;
	return (
		<Panel title="Connection">
			<Facts
				rows={[
					[
						"Peer",
						connection.peer?.addr && (
							<span class="with-copy">
								<Mono>{endpoint(connection.peer)}</Mono>
								<Copy text={endpoint(connection.peer)} label="Copy the peer's address" />
							</span>
						),
					],
					["Local address", connection.local?.addr && <Mono>{endpoint(connection.local)}</Mono>],
					["Connect to", connection.dst_addr && <Mono>{asked(connection)}</Mono>],
					[
						"Device",
						connection.device && (
							<a
								href={hashOf({ view: "devices", query: { id: connection.device.id } })}
							>{`${connection.device.name} port ${connection.port_num ?? NONE}`}</a>
						),
					],
					["Listener", connection.listener && refText(connection.listener)],
					["Service", connection.service],
					["Heartbeat", heartbeatText(connection)],
					["Longest message", `${count(qp.recv_size_bytes)} bytes`],
					["Queues (send / receive)", `${qp.sq_depth} / ${qp.rq_depth}`],
					[
						"Inbox",
						connection.inbox?.capacity > 0 &&
							`${connection.inbox.messages} of ${connection.inbox.capacity} messages`,
					],
					["Completion queue", connection.cq && isOpen(connection) && <CqUse id={connection.cq.id} />],
					["Lost packets", connection.lost_packets],
					["Created", clock(connection.created_at, { millis: true }), connection.created_at],
					[
						"Established",
						connection.established_at && clock(connection.established_at, { millis: true }),
						connection.established_at,
					],
					[
						"Time to establish",
						connection.established_at && ns(nsBetween(connection.created_at, connection.established_at)),
					],
					["Ended", connection.ended_at && clock(connection.ended_at, { millis: true }), connection.ended_at],
				]}
			/>
		</Panel>
	);
}

/** Kept - how verbsd keeps the connection */
export function Kept({ desired }) {
	const now = useNow(1000);
	return (
		<Panel title="Kept">
			<Facts rows={keptSays(desired, now)} />
		</Panel>
	);
}

function Times({ value, tone = "" }) {
	return (
		<td class={`end num ${tone}`} title={count(value)}>
			{amount(value)}
		</td>
	);
}

/** WorkRequests - the counters of a connection or an endpoint, by operation; nothing before the first work request */
export function WorkRequests({ counters }) {
	const rows = Object.entries(counters).filter(
		([, { posted, completed, errors, flushed }]) => posted + completed + errors + flushed > 0,
	);
	if (rows.length === 0) return null;
	return (
		<Panel title="Work requests">
			<div class="scroll-x" tabIndex={0} role="group" aria-label="Work requests, by operation">
				<table class="small-table">
					<thead>
						<tr>
							{["Operation", "Posted", "Completed", "Bytes", "Errors", "Flushed"].map((label, i) => (
								<th
									key={label}
									scope="col"
									class={`${i ? "end" : ""} ${label === "Posted" ? "wide-only" : ""}`}
								>
									{label}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.map(([op, one]) => (
							<tr key={op}>
								<th scope="row">{op.replaceAll("_", " ")}</th>
								<Times value={one.posted} tone="wide-only" />
								<Times value={one.completed} />
								<td class="end num" title={`${count(one.bytes)} bytes`}>
									{bytes(one.bytes)}
								</td>
								<Times value={one.errors} tone={one.errors ? "bad-text" : "faint"} />
								<Times value={one.flushed} tone="faint" />
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</Panel>
	);
}
