// SPDX-License-Identifier: Apache-2.0
//
// The round trip times of a connection: the panel starts and stops a probe, and draws its results.
import { useState } from "preact/hooks";
import { request } from "../../api.js";
import { isOpen } from "../../collections.js";
import { count, ns } from "../../format.js";
import { FormButton } from "../../forms/form.jsx";
import { useItem, useMay, useStore } from "../../hooks.js";
import { isMeasuring, lostOf, rhythmOf } from "../../measures.js";
import { hashOf } from "../../router.js";
import { hasValues } from "../../series.js";
import { Facts, Panel, Trouble } from "../../ui/bits.jsx";
import { Chart } from "../../ui/chart.jsx";
import { Now } from "./rates.jsx";

const TRIPS = [
	{ label: "Last", token: "--series-1" },
	{ label: "p50", token: "--series-2", dash: [5, 4] },
	{ label: "p99", token: "--series-3", dash: [2, 3] },
];

/* [act, problem]: act() makes the request and refreshes the page; problem is the refusal, or null. */
function useAct(method, path, json) {
	const store = useStore();
	const [problem, setProblem] = useState(null);
	async function act() {
		try {
			await request(method, path, { json });
			setProblem(null);
			store.refresh("connections");
			store.refresh("probes");
		} catch (refused) {
			setProblem(refused);
		}
	}
	return [act, problem];
}

function Begin({ connection, label }) {
	const [begin, problem] = useAct("POST", "/v1/probes", { connection: connection.id });
	const may = useMay();
	if (!may || connection.state !== "established") return null;
	return (
		<>
			<span class="aside">
				<button class="button" type="button" onClick={begin}>
					{label}
				</button>
				<FormButton name="probe" given={{ connection: String(connection.id) }} label="Options" />
			</span>
			{problem && <Trouble problem={problem} />}
		</>
	);
}

function Stop({ probe }) {
	const [stop, problem] = useAct("POST", `/v1/probes/${probe.id}/cancel`);
	const may = useMay();
	return (
		<>
			{may && (
				<button class="button" type="button" onClick={stop}>
					Stop measuring
				</button>
			)}
			{problem && <Trouble problem={problem} />}
		</>
	);
}

/* The probe that measured this, with the buttons that stop it or start another one. */
function Foot({ connection, id, probe }) {
	return (
		<div class="panel-foot">
			<span class="faint">
				<a href={hashOf({ view: "benchmarks", query: { probe: id } })}>Probe {id}</a>
				{probe && (isMeasuring(probe) ? `: ${rhythmOf(probe)}` : ` is ${probe.state}`)}
			</span>
			{probe && isMeasuring(probe) && <Stop probe={probe} />}
			{probe && !isMeasuring(probe) && <Begin connection={connection} label="Measure again" />}
			{probe?.error && (
				<Trouble
					problem={{
						title: probe.error.code.replaceAll("_", " "),
						detail: probe.error.detail,
						hint: probe.error.hint,
					}}
				/>
			)}
		</div>
	);
}

function Trips({ connection, series }) {
	const { rtt } = connection;
	const { item: probe } = useItem("probes", String(rtt.probe.id));
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
					["Lost", lostOf(rtt)],
					["Late", probe?.late > 0 && count(probe.late), "These were not back when the next ping was due."],
					["Answered with other bytes", probe?.mismatched > 0 && count(probe.mismatched)],
				]}
			/>
			<Foot connection={connection} id={rtt.probe.id} probe={probe} />
		</Panel>
	);
}

export function RoundTrips({ connection }) {
	const series = useStore().series.of(connection.id);
	if (connection.rtt) return <Trips key={connection.rtt.probe.id} connection={connection} series={series} />;
	if (!isOpen(connection)) return null;
	return (
		<Panel title="Round trips">
			<div class="panel-body measure">
				<p class="muted">Nothing measures the round trips of this connection.</p>
				<Begin connection={connection} label="Measure round trips" />
			</div>
		</Panel>
	);
}
