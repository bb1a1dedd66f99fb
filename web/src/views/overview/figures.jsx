// SPDX-License-Identifier: Apache-2.0
//
// The most important figures, each with a link to its details.
import { count, counted, ns, rate } from "../../format.js";
import { useTraffic } from "../../hooks.js";
import { hashOf } from "../../router.js";

/* The alert rules in contrib/prometheus use the same bound. */
const LAG_BAD_NS = 250e6;

/* tone is "bad" for a figure that needs attention, else "". */
function Figure({ label, value, note, href, tone = "" }) {
	const inside = (
		<>
			<span class="figure-label">{label}</span>
			<strong class={`figure-value num ${tone && `${tone}-text`}`}>{value}</strong>
			<span class="figure-note">{note}</span>
		</>
	);
	return href ? (
		<a class="figure panel" href={href}>
			{inside}
		</a>
	) : (
		<div class="figure panel">{inside}</div>
	);
}

function Leaked({ leaked }) {
	if (leaked === undefined)
		return <Figure label="Leaked objects" value="–" note="the kernel does not list its RDMA objects" />;
	return (
		<Figure
			label="Leaked objects"
			value={count(leaked)}
			note={leaked ? "held by the kernel, unknown to verbsd" : "the kernel holds only known objects"}
			tone={leaked ? "bad" : ""}
		/>
	);
}

function Moving({ stats }) {
	const traffic = useTraffic();
	return (
		<Figure
			label="Out / in"
			value={`${rate(traffic?.out.at(-1))} / ${rate(traffic?.in.at(-1))}`}
			note={`${counted(stats.transfers, "transfer")}, ${counted(stats.probes, "probe")} running`}
			href={hashOf({ view: "transfers", query: { show: "running" } })}
		/>
	);
}

/** Figures - failures are those of the last hour, null before they are known */
export function Figures({ stats, failures }) {
	const { loop_lag_p99_ns: p99, loop_lag_max_ns: longest } = stats;
	return (
		<div class="figures">
			<Figure
				label="Established connections"
				value={count(stats.connections_established)}
				note={`${count(stats.connections)} open in total`}
				href={hashOf({ view: "connections", query: { show: "open" } })}
			/>
			<Moving stats={stats} />
			<Figure
				label="Failures, last hour"
				value={failures ? count(failures.length) : "–"}
				note="warnings and errors"
				href={hashOf({ view: "events", query: { severity: "warning" } })}
				tone={failures?.length ? "bad" : ""}
			/>
			<Figure
				label="Loop lag, p99"
				value={ns(p99)}
				note={`${ns(longest)} at most`}
				tone={p99 > LAG_BAD_NS ? "bad" : ""}
			/>
			<Leaked leaked={stats.leaked_objects} />
		</div>
	);
}
