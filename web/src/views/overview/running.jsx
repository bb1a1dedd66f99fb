// SPDX-License-Identifier: Apache-2.0
//
// The transfers, benchmarks and probes that run now.
import { bytes, count, ns, rate } from "../../format.js";
import { useList } from "../../hooks.js";
import { isMeasuring, shareOf } from "../../measures.js";
import { hashOf } from "../../router.js";
import { isRunning, progressOf, speedOf } from "../../transfers.js";
import { Panel, Progress } from "../../ui/bits.jsx";
import { words } from "../../words.js";

const MOST = 6;

function Line({ href, title, over, children }) {
	return (
		<li class="line">
			<span class="clip">
				<a href={href}>{title}</a> <span class="faint">{over}</span>
			</span>
			{children}
		</li>
	);
}

/* A bare "0" beside the bar would not say what it counts. */
function Speed({ value }) {
	return <span class="num">{value >= 1 ? rate(value) : <span class="faint">no bytes yet</span>}</span>;
}

function transferLine(row, nameOf) {
	const over = row.connection === null ? `endpoint ${row.ud_endpoint.id}` : nameOf(row.connection.id);
	return (
		<Line
			key={`transfer ${row.id}`}
			href={hashOf({ view: "transfers", query: { id: row.id } })}
			title={`Transfer ${row.id}: ${words(row.op)}`}
			over={`over ${over}`}
		>
			<Progress
				state="running"
				share={progressOf(row)}
				name={`Transfer ${row.id}`}
				text={`${bytes(row.bytes_done)} of ${bytes(row.length_bytes)}`}
			/>
			<Speed value={speedOf(row)} />
		</Line>
	);
}

function benchmarkLine(row, nameOf) {
	return (
		<Line
			key={`benchmark ${row.id}`}
			href={hashOf({ view: "benchmarks", query: { id: row.id } })}
			title={`Benchmark ${row.id}: ${row.op}`}
			over={`over ${nameOf(row.connection.id)}`}
		>
			<Progress
				state="running"
				share={shareOf(row)}
				name={`Benchmark ${row.id}`}
				text={`${count(row.messages)} messages`}
			/>
			<Speed value={row.bytes_per_s} />
		</Line>
	);
}

function probeLine(row, nameOf) {
	return (
		<Line
			key={`probe ${row.id}`}
			href={hashOf({ view: "benchmarks", query: { probe: row.id } })}
			title={`Probe ${row.id}: ${row.kind}`}
			over={`over ${nameOf(row.connection.id)}`}
		>
			<span class="num">
				<span class="faint">p50</span> {ns(row.rtt_ns?.p50)} <span class="faint">p99</span>{" "}
				{ns(row.rtt_ns?.p99)} <span class={row.lost ? "warn-text" : "faint"}>{count(row.lost)} lost</span>
			</span>
		</Line>
	);
}

export function Running({ nameOf }) {
	const benchmarks = useList("benchmarks").items.filter(isMeasuring);
	/* The transfer of a benchmark is shown as the benchmark. */
	const measured = new Set(benchmarks.map(({ transfer }) => transfer.id));
	const transfers = useList("transfers").items.filter((row) => isRunning(row) && !measured.has(row.id));
	const probes = useList("probes").items.filter(isMeasuring);
	const lines = [
		...transfers.map((row) => transferLine(row, nameOf)),
		...benchmarks.map((row) => benchmarkLine(row, nameOf)),
		...probes.map((row) => probeLine(row, nameOf)),
	];
	return (
		<Panel title="Running now" className="running-panel">
			{lines.length > 0 ? (
				<ul class="lines">{lines.slice(0, MOST)}</ul>
			) : (
				<p class="panel-body muted">No transfer, benchmark or probe is running.</p>
			)}
			{lines.length > MOST && (
				<p class="panel-foot note">
					{count(lines.length - MOST)} more: see{" "}
					<a href={hashOf({ view: "transfers", query: { show: "running" } })}>transfers</a> and{" "}
					<a href={hashOf({ view: "benchmarks", query: { show: "running" } })}>benchmarks</a>.
				</p>
			)}
		</Panel>
	);
}
