// SPDX-License-Identifier: Apache-2.0
import { isOpen } from "../../collections.js";
import { ns } from "../../format.js";
import { Spark } from "../../ui/bits.jsx";
import { age, CqUse, Name, peerOf, Rate, Rates, Reason, sinceOf } from "./cells.jsx";

function Trip({ rtt }) {
	if (!rtt) return <span class="faint">–</span>;
	return (
		<span
			class={rtt.lost ? "num warn-text" : "num"}
			title={`median; 99 of 100 within ${ns(rtt.p99_ns)}; ${rtt.lost} of ${rtt.sent} lost`}
		>
			{ns(rtt.p50_ns)}
		</span>
	);
}

/** columnsFor - the columns for these rows; the round trips have a column only if a connection is measured */
export function columnsFor(rows, { store, cqs, now }) {
	const rateOf = (row) => store.rates.of(row.id).rate;
	const measured = rows.some(({ rtt }) => rtt);
	return [
		{
			key: "id",
			label: "Connection",
			width: "15.5%",
			value: (row) => row.name ?? row.id,
			cell: (row) => <Name row={row} />,
		},
		{
			key: "state",
			label: "State",
			width: "17%",
			value: (row) => `${row.state} ${row.end_code ?? ""}`,
			cell: (row) => <Reason row={row} />,
		},
		{
			key: "qp",
			label: "QP",
			wide: true,
			width: "4.2rem",
			value: (row) => row.qp_attr?.state,
			cell: (row) => <span class="mono">{row.qp_attr?.state ?? "–"}</span>,
		},
		{
			key: "peer",
			label: "Peer",
			wide: true,
			value: peerOf,
			cell: (row) => (
				<span class="mono clip" title={peerOf(row)}>
					{peerOf(row)}
				</span>
			),
		},
		{
			key: "device",
			label: "Device",
			wide: true,
			width: "4.9rem",
			value: (row) => row.device?.name,
			cell: (row) => <span class="mono">{row.device?.name ?? "–"}</span>,
		},
		{
			key: "out",
			label: "Out",
			end: true,
			firstDown: true,
			width: "5.8rem",
			value: (row) => rateOf(row)?.out ?? -1,
			cell: (row) => <Rates of={rateOf(row)} open={isOpen(row)} />,
		},
		{
			key: "in",
			label: "In",
			end: true,
			wide: true,
			firstDown: true,
			width: "5.8rem",
			value: (row) => rateOf(row)?.in ?? -1,
			cell: (row) => <Rate value={rateOf(row)?.in} open={isOpen(row)} />,
		},
		measured && {
			key: "rtt",
			label: "RTT",
			end: true,
			wide: true,
			width: "5.25rem",
			value: (row) => row.rtt?.p50_ns,
			cell: (row) => <Trip rtt={row.rtt} />,
		},
		{
			key: "trend",
			label: "Trend",
			roomy: true,
			fixed: true,
			width: "5.6rem",
			cell: (row) => <Spark values={store.rates.of(row.id).history} />,
		},
		{
			key: "cq",
			label: "CQ",
			wide: true,
			firstDown: true,
			width: "5.75rem",
			value: (row) => cqs.get(row.cq?.id)?.outstanding_cqe,
			cell: (row) => <CqUse row={row} cqs={cqs} />,
		},
		{
			key: "age",
			label: "Since",
			end: true,
			wide: true,
			firstDown: true,
			width: "4.2rem",
			value: (row) => Date.parse(sinceOf(row)),
			cell: (row) => (
				<span class="num faint" title={sinceOf(row)}>
					{age(row, now)}
				</span>
			),
		},
	].filter(Boolean);
}
