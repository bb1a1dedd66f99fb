// SPDX-License-Identifier: Apache-2.0
//
// Every connection, those that have ended included.
import { useMemo } from "preact/hooks";
import { isOpen } from "../collections.js";
import { count, endpoint, percent, rate, span } from "../format.js";
import { FormButton } from "../forms/form.jsx";
import { useList, useNow, useStore } from "../hooks.js";
import { hashOf, navigate } from "../router.js";
import { matches, sorted } from "../table.js";
import { Empty, Meter, Spark, State, Trouble } from "../ui/bits.jsx";
import { Choice, Search } from "../ui/search.jsx";
import { Table } from "../ui/table.jsx";

const FILTERS = {
	all: () => true,
	open: isOpen,
	ended: (row) => row.state === "closed",
	failed: (row) => row.state === "failed",
};

/** peerOf - who is at the other end, or who was asked for */
function peerOf(row) {
	return row.peer?.addr ? endpoint(row.peer) : (row.dst ?? row.remote?.gid ?? "–");
}

/* When it became what it is. */
function sinceOf(row) {
	return row.ended_at ?? row.established_at ?? row.created_at;
}

function age(row, now) {
	return span(now - Date.parse(sinceOf(row)), 1);
}

function textOf(row) {
	return [row.id, row.name, row.state, row.role, row.device, peerOf(row), row.dst, endpoint(row.local), row.end?.reason, row.qp?.state, row.qp?.lqpn].join(" ");
}

function Name({ row }) {
	return (
		<span class="name">
			<a href={hashOf({ view: "connections", ref: String(row.id) })}>{row.name ?? `#${row.id}`}</a>
			{row.name && <span class="faint"> #{row.id}</span>}
			<span class="under narrow-only mono">{peerOf(row)}</span>
		</span>
	);
}

function CqUse({ row, cqs }) {
	const cq = isOpen(row) ? cqs.get(row.cq) : null;
	if (!cq) return <span class="faint">–</span>;
	const share = cq.outstanding_cqe / cq.capacity_cqe;
	const high = cq.high_water_cqe / cq.capacity_cqe;
	return <Meter share={share} high={high} label={`CQ ${cq.id}: ${cq.outstanding_cqe} of ${cq.capacity_cqe} outstanding, at most ${percent(high)}`} />;
}

function Reason({ row }) {
	if (!row.end) return <State state={row.state} title={row.waits_for ?? undefined} />;
	return (
		<span class="state-and-reason">
			<State state={row.state} title={row.end.text} />
			<span class="faint reason">{row.end.reason.replaceAll("_", " ")}</span>
		</span>
	);
}

function Rate({ value, open }) {
	return open ? <span class={value >= 1 ? "num" : "num faint"}>{rate(value)}</span> : <span class="faint">–</span>;
}

/* Where there is no room for two columns, both rates are in one. */
function Rates({ of, open }) {
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

function columnsFor(store, cqs, now) {
	const rateOf = (row) => store.rates.of(row.id).rate;
	return [
		{ key: "id", label: "Connection", width: "14.5%", value: (row) => row.name ?? row.id, cell: (row) => <Name row={row} /> },
		{ key: "state", label: "State", width: "16%", value: (row) => `${row.state} ${row.end?.reason ?? ""}`, cell: (row) => <Reason row={row} /> },
		{ key: "qp", label: "QP", wide: true, width: "4.5rem", value: (row) => row.qp?.state, cell: (row) => <span class="mono">{row.qp?.state ?? "–"}</span> },
		{ key: "peer", label: "Peer", wide: true, value: peerOf, cell: (row) => <span class="mono clip" title={peerOf(row)}>{peerOf(row)}</span> },
		{ key: "device", label: "Device", wide: true, width: "5.25rem", value: (row) => row.device, cell: (row) => <span class="mono">{row.device ?? "–"}</span> },
		{ key: "out", label: "Out", end: true, firstDown: true, width: "6.25rem", value: (row) => rateOf(row)?.out ?? -1, cell: (row) => <Rates of={rateOf(row)} open={isOpen(row)} /> },
		{ key: "in", label: "In", end: true, wide: true, firstDown: true, width: "6.25rem", value: (row) => rateOf(row)?.in ?? -1, cell: (row) => <Rate value={rateOf(row)?.in} open={isOpen(row)} /> },
		{ key: "trend", label: "Trend", wide: true, fixed: true, width: "5.75rem", cell: (row) => <Spark values={store.rates.of(row.id).history} /> },
		{ key: "cq", label: "CQ", wide: true, firstDown: true, width: "5.75rem", value: (row) => cqs.get(row.cq)?.outstanding_cqe, cell: (row) => <CqUse row={row} cqs={cqs} /> },
		{ key: "age", label: "Since", end: true, wide: true, firstDown: true, width: "6.25rem", value: (row) => Date.parse(sinceOf(row)), cell: (row) => <span class="num faint" title={sinceOf(row)}>{age(row, now)}</span> },
	];
}

function Nothing({ any }) {
	if (any) return <Empty title="No connection matches">Clear the search, or choose another state.</Empty>;
	return (
		<Empty title="No connections yet">
			<p class="muted">One is opened here by a peer that connects to a listener, or by</p>
			<pre class="command">curl --json '{"{"}"dst_addr": "192.0.2.10", "dst_port": 7471{"}"}' {location.origin}/v1/connections</pre>
		</Empty>
	);
}

export function ConnectionsView({ route }) {
	const { items, total, problem, loadedAt } = useList("connections");
	const cqs = useList("cqs").byId;
	const store = useStore();
	const now = useNow(5000);
	const { q = "", sort = "-age", show = "all" } = route.query;
	const set = (query) => navigate({ view: "connections", query: { ...route.query, ...query } }, { replace: true });
	const columns = columnsFor(store, cqs, now);
	const found = useMemo(() => (q ? items.filter((row) => matches(textOf(row), q)) : items), [items, q]);
	const filter = FILTERS[show] ?? FILTERS.all;
	const rows = sorted(found.filter(filter), columns, sort);
	const counts = (name) => count(found.filter(FILTERS[name]).length);

	return (
		<div class="view">
			<div class="view-head">
				<h1>Connections</h1>
				<Search value={q} label="Search name, peer, state, reason …" onInput={(text) => set({ q: text })} />
				<Choice
					label="Which to show"
					value={show}
					options={[
						["all", "All", counts("all")],
						["open", "Open", counts("open")],
						["ended", "Closed", counts("ended")],
						["failed", "Failed", counts("failed")],
					]}
					onChange={(value) => set({ show: value === "all" ? "" : value })}
				/>
				<FormButton name="connect" primary />
			</div>
			{problem && !loadedAt && problem.status !== 0 && <Trouble problem={problem} />}
			{loadedAt !== null && total > items.length && <p class="note">The first {count(items.length)} of {count(total)} are shown.</p>}
			{rows.length > 0 && (
				<Table label="Connections" columns={columns} rows={rows} sort={sort} onSort={(value) => set({ sort: value })} href={(row) => hashOf({ view: "connections", ref: String(row.id) })} />
			)}
			{loadedAt !== null && rows.length === 0 && <Nothing any={items.length > 0} />}
		</div>
	);
}
