// SPDX-License-Identifier: Apache-2.0
//
// The rates of a connection, since the page began to show it.
import { isOpen } from "../../collections.js";
import { bytes, counted, rate } from "../../format.js";
import { useStore } from "../../hooks.js";
import { hasValues } from "../../series.js";
import { Facts, Panel } from "../../ui/bits.jsx";
import { Chart } from "../../ui/chart.jsx";

export const RATES = [
	{ label: "Out", token: "--series-1", fill: true },
	{ label: "In", token: "--series-2", fill: true },
];

/** Now - the present value of a line of the chart, in its colour */
export function Now({ value, label, series }) {
	return (
		<span class="now-value">
			<i style={{ background: `var(${series})` }} aria-hidden="true" />
			<span class="faint">{label}</span> <strong class="num">{value}</strong>
		</span>
	);
}

function moved(byteCount, operations) {
	return operations === 0 ? "nothing" : `${bytes(byteCount)} in ${counted(operations, "operation")}`;
}

export function Rates({ connection, totals }) {
	const series = useStore().series.of(connection.id);
	const open = isOpen(connection);
	const drawn = hasValues(series, ["out", "in"]);
	if (!open && !drawn && totals.outMessages + totals.inMessages === 0) return null;
	const last = (name) => series?.columns[name].at(-1);
	const now = open && (
		<span class="now-values">
			<Now label="out" series="--series-1" value={rate(last("out"))} />
			<Now label="in" series="--series-2" value={rate(last("in"))} />
		</span>
	);
	return (
		<Panel title={open || drawn ? "Rates" : "Moved"} aside={now}>
			{drawn && (
				<Chart
					label={`Bytes per second: out ${rate(last("out"))}, in ${rate(last("in"))}`}
					series={RATES}
					data={series.data(["out", "in"])}
					version={series.times.at(-1)}
					format={rate}
					scale="binary"
				/>
			)}
			<Facts
				rows={[
					["Sent and written", moved(totals.outBytes, totals.outMessages)],
					["Received and read", moved(totals.inBytes, totals.inMessages)],
				]}
			/>
		</Panel>
	);
}
