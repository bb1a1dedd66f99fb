// SPDX-License-Identifier: Apache-2.0
//
// What it moves, and how long a round trip takes, since this page looks at it.
import { useState } from "preact/hooks";
import { request } from "../../api.js";
import { isOpen } from "../../collections.js";
import { bytes, count, ns, rate } from "../../format.js";
import { useMay, useStore } from "../../hooks.js";
import { hasValues } from "../../series.js";
import { Facts, Panel, Trouble } from "../../ui/bits.jsx";
import { Chart } from "../../ui/chart.jsx";

const RATES = [
	{ label: "Out", token: "--series-1", fill: true },
	{ label: "In", token: "--series-2", fill: true },
];
const TRIPS = [
	{ label: "Last", token: "--series-1" },
	{ label: "p50", token: "--series-2", dash: [5, 4] },
	{ label: "p99", token: "--series-3", dash: [2, 3] },
];

function Now({ value, label, series }) {
	return (
		<span class="now-value">
			<i style={{ background: `var(${series})` }} aria-hidden="true" />
			<span class="faint">{label}</span> <strong class="num">{value}</strong>
		</span>
	);
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
					["Sent and written", `${bytes(totals.outBytes)} in ${count(totals.outMessages)}`],
					["Received and read", `${bytes(totals.inBytes)} in ${count(totals.inMessages)}`],
				]}
			/>
		</Panel>
	);
}

/* [act, problem]: does it, brings the page up to date, and keeps what was refused. */
function useAct(method, path, json) {
	const store = useStore();
	const [problem, setProblem] = useState(null);
	async function act() {
		try {
			await request(method, path, { json });
			setProblem(null);
			store.refresh("connections");
		} catch (refused) {
			setProblem(refused);
		}
	}
	return [act, problem];
}

function Measure({ connection }) {
	const [begin, problem] = useAct("POST", "/v1/probes", { connection: connection.id });
	const may = useMay();
	return (
		<div class="panel-body measure">
			<p class="muted">Nothing measures the round trips of this connection.</p>
			{may && connection.state === "established" && (
				<button class="button" type="button" onClick={begin}>
					Measure round trips
				</button>
			)}
			{problem && <Trouble problem={problem} />}
		</div>
	);
}

function StopMeasuring({ probe }) {
	const [stop, problem] = useAct("DELETE", `/v1/probes/${probe}`);
	const may = useMay();
	return (
		<div class="panel-foot">
			<span class="faint">Probe #{probe}</span>
			{may && (
				<button class="button" type="button" onClick={stop}>
					Stop measuring
				</button>
			)}
			{problem && <Trouble problem={problem} />}
		</div>
	);
}

export function RoundTrips({ connection }) {
	const series = useStore().series.of(connection.id);
	const { rtt } = connection;
	if (!rtt && !isOpen(connection)) return null;
	if (!rtt)
		return (
			<Panel title="Round trips">
				<Measure connection={connection} />
			</Panel>
		);
	const share = rtt.sent ? rtt.lost / rtt.sent : 0;
	return (
		<Panel
			title="Round trips"
			aside={
				<span class="now-values">
					<Now label="last" series="--series-1" value={ns(rtt.last_ns)} />
					<Now label="p50" series="--series-2" value={ns(rtt.p50_ns)} />
					<Now label="p99" series="--series-3" value={ns(rtt.p99_ns)} />
				</span>
			}
		>
			{hasValues(series, ["last"]) && (
				<Chart
					label={`Round trip times: last ${ns(rtt.last_ns)}, median ${ns(rtt.p50_ns)}`}
					series={TRIPS}
					data={series.data(["last", "p50", "p99"])}
					version={series.times.at(-1)}
					format={ns}
					scale="decades"
				/>
			)}
			<Facts
				rows={[
					["p90", ns(rtt.p90_ns)],
					["p99.9", ns(rtt.p999_ns)],
					["Jitter", ns(rtt.jitter_ns)],
					[
						"Lost",
						`${count(rtt.lost)} of ${count(rtt.sent)}${rtt.lost ? ` (${(share * 100).toFixed(2)} %)` : ""}`,
					],
				]}
			/>
			{isOpen(connection) && <StopMeasuring probe={rtt.probe} />}
		</Panel>
	);
}
