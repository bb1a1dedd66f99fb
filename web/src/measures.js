// SPDX-License-Identifier: Apache-2.0
//
// The progress and the results of benchmarks and probes. Pure.
import { count, ns, span } from "./format.js";

export function isMeasuring({ state }) {
	return state === "running";
}

/** shareOf - the progress of a benchmark from 0 to 1, by its count or by its time; of a failed one, the progress so far */
export function shareOf({ state, count: all, messages, duration_ms: ms, elapsed_ns: elapsed }) {
	if (state === "done") return 1;
	return Math.min(1, all === null ? (elapsed ?? 0) / (ms * 1e6) : messages / all);
}

/* Whole seconds as seconds, anything else in ms. */
function timeOf(ms) {
	return ms < 1000 || ms % 1000 ? `${count(ms)} ms` : span(ms);
}

/** lengthOf - the length of a benchmark: "1 000 messages", "2 s" */
export function lengthOf({ count: all, duration_ms: ms }) {
	if (all !== null) return all === 1 ? "1 message" : `${count(all)} messages`;
	return timeOf(ms);
}

/** rhythmOf - how often a probe pings: "ack, every 1 s", "rping, 10 times, one after another" */
export function rhythmOf({ kind, count: all, interval_ms: ms }) {
	const often = ms === 0 ? "one after another" : `every ${timeOf(ms)}`;
	return [kind, all !== null && (all === 1 ? "once" : `${count(all)} times`), all !== 1 && often]
		.filter(Boolean)
		.join(", ");
}

/** lostOf - "0 of 900", "3 of 900 (0.33 %)" */
export function lostOf({ lost, sent }) {
	const share = lost > 0 ? ` (${((lost / sent) * 100).toFixed(2)} %)` : "";
	return `${count(lost)} of ${count(sent)}${share}`;
}

/** latencyRows - [label, value] of a distribution; none before the first measurement */
export function latencyRows(latency) {
	if (!latency) return [];
	const labels = { min: "Shortest", mean: "Mean", p50: "p50", p90: "p90", p99: "p99", p999: "p99.9", max: "Longest" };
	return Object.entries(labels).map(([key, label]) => [label, ns(latency[key])]);
}
