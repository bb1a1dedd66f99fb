// SPDX-License-Identifier: Apache-2.0
//
// The rates of all connections and endpoints together in the last 15 minutes, and the connections that move the most.
import { rate } from "../../format.js";
import { useList, useStore, useTraffic } from "../../hooks.js";
import { busiest } from "../../summary.js";
import { hashOf } from "../../router.js";
import { Panel, Spark } from "../../ui/bits.jsx";
import { Chart } from "../../ui/chart.jsx";
import { Now, RATES } from "../connection/rates.jsx";

const MOST = 5;

function Busy({ row }) {
	const { connection, rate: now, history } = row;
	return (
		<li class="line">
			<a class="clip" href={hashOf({ view: "connections", ref: String(connection.id) })}>
				{connection.name ?? `connection ${connection.id}`}
			</a>
			<Spark values={history} />
			<span class="num">
				<span class="faint">out</span> {rate(now.out)} <span class="faint">in</span> {rate(now.in)}
			</span>
		</li>
	);
}

export function Traffic() {
	const store = useStore();
	const { items } = useList("connections");
	const traffic = useTraffic();
	const rows = busiest(items, store.rates, MOST);
	const moved = traffic?.out.some(Boolean) || traffic?.in.some(Boolean);
	const out = rate(traffic?.out.at(-1));
	const into = rate(traffic?.in.at(-1));
	return (
		<Panel
			title="Traffic"
			aside={
				<span class="now-values">
					<Now label="out" series="--series-1" value={out} />
					<Now label="in" series="--series-2" value={into} />
				</span>
			}
		>
			{moved && (
				<Chart
					label={`Bytes per second of all connections in the last 15 minutes: out ${out}, in ${into}`}
					series={RATES}
					data={[traffic.times, traffic.out, traffic.in]}
					version={traffic.times.at(-1)}
					format={rate}
					scale="binary"
				/>
			)}
			{rows.length > 0 ? (
				<ol class="lines" aria-label="Busiest connections">
					{rows.map((row) => (
						<Busy key={row.connection.id} row={row} />
					))}
				</ol>
			) : (
				<p class="panel-body muted">No connection moves bytes now.</p>
			)}
		</Panel>
	);
}
