// SPDX-License-Identifier: Apache-2.0
//
// The cells of the table of connections.
import { isOpen } from "../../collections.js";
import { asked, count, endpoint, percent, rate, span } from "../../format.js";
import { hashOf } from "../../router.js";
import { Meter, State } from "../../ui/bits.jsx";
import { words } from "../../words.js";

/** peerOf - the address of the peer, or the address that was asked for */
export function peerOf(row) {
	return row.peer?.addr ? endpoint(row.peer) : (asked(row) ?? row.manual?.remote?.gid ?? "–");
}

/** sinceOf - the time of its last change: ended, established or created */
export function sinceOf(row) {
	return row.ended_at ?? row.established_at ?? row.created_at;
}

export function age(row, now) {
	return span(now - Date.parse(sinceOf(row)), 1);
}

/** textOf - the text that a search looks into */
export function textOf(row) {
	return [
		row.id,
		row.name,
		row.state,
		row.side,
		row.device?.name,
		peerOf(row),
		asked(row),
		endpoint(row.local),
		row.end_code,
		row.qp_attr?.state,
		row.qp_attr?.lqpn,
	].join(" ");
}

export function Name({ row }) {
	return (
		<span class="name">
			<a href={hashOf({ view: "connections", ref: String(row.id) })}>{row.name ?? `#${row.id}`}</a>
			{row.repeats > 1 && (
				<a
					href={hashOf({ view: "connections", query: { show: "all", tries: row.name } })}
					title={`the newest of ${row.repeats} connections of this name; show each`}
				>
					{" "}
					× {count(row.repeats)}
				</a>
			)}
			{row.name && !row.server_id && <span class="faint"> #{row.id}</span>}
			{row.server_id && (
				<span class="faint" title={`connection ${row.id}, of an earlier run of verbsd`}>
					{" "}
					earlier run
				</span>
			)}
			<span class="under narrow-only mono">{peerOf(row)}</span>
		</span>
	);
}

export function CqUse({ row, cqs }) {
	const cq = isOpen(row) ? cqs.get(row.cq?.id) : null;
	if (!cq) return <span class="faint">–</span>;
	const share = cq.outstanding_cqe / cq.cqe;
	const high = cq.high_water_cqe / cq.cqe;
	return (
		<Meter
			share={share}
			high={high}
			label={`CQ ${cq.id}: ${cq.outstanding_cqe} of ${cq.cqe} outstanding, at most ${percent(high)}`}
		/>
	);
}

export function Reason({ row }) {
	if (!row.end_code) return <State state={row.state} title={row.waits_for ?? undefined} />;
	return (
		<span class="state-and-reason">
			<State state={row.state} title={row.error?.detail} />
			<span class="faint reason">{words(row.end_code)}</span>
		</span>
	);
}

export function Rate({ value, open }) {
	return open ? <span class={value >= 1 ? "num" : "num faint"}>{rate(value)}</span> : <span class="faint">–</span>;
}

/* On narrow screens this column has both rates. */
export function Rates({ of, open }) {
	return (
		<span class="both">
			{open && <span class="narrow-only faint">↑ </span>}
			<Rate value={of?.out} open={open} />
			{open && (
				<span class="narrow-only">
					<span class="faint">↓ </span>
					<Rate value={of?.in} open={open} />
				</span>
			)}
		</span>
	);
}
