// SPDX-License-Identifier: Apache-2.0
//
// Lines over time, by uPlot. series: [{label, token (a colour of the design system), dash}]; data as uPlot takes it.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clock } from "../format.js";
import { useTheme } from "../hooks.js";
import { token } from "../theme.js";

const LEAST_S = 60; /* a chart that begins is not stretched */
/* Steps of an axis of bytes: powers of two, so that its labels are round. */
const BINARY = Array.from({ length: 60 }, (_, i) => 2 ** i);
const TIMES = [1, 5, 10, 15, 30, 60, 120, 300, 600];

function lineOf({ label, token: name, dash, fill }, format) {
	const colour = token(name);
	return { label, stroke: colour, width: 1.6, dash, fill: fill && `${colour}22`, points: { show: false }, value: (_, value) => format(value) };
}

function axisOf(extra) {
	return { stroke: token("--faint"), font: `11px ${token("--font")}`, grid: { stroke: token("--line"), width: 1 }, ticks: { show: false }, ...extra };
}

function optionsFor({ series, format, binary, height, width }) {
	return {
		width,
		height,
		padding: [10, 8, 0, 0],
		cursor: { y: false, points: { size: 6 } },
		legend: { live: true },
		scales: {
			x: { time: true, range: (_, low, high) => [Math.min(low ?? 0, (high ?? 0) - LEAST_S), high ?? 1] },
			y: { range: (_, low, high) => [0, Math.max(high ?? 0, 1e-9) * 1.08 || 1] },
		},
		axes: [
			axisOf({ space: 76, size: 28, incrs: TIMES, values: (_, ticks) => ticks.map((s) => clock(s * 1000)) }),
			axisOf({ size: 74, space: 30, values: (_, ticks) => ticks.map(format), ...(binary ? { incrs: BINARY } : {}) }),
		],
		series: [{ label: "Time", value: "{HH}:{mm}:{ss}" }, ...series.map((one) => lineOf(one, format))],
	};
}

/** Chart - drawn anew when the theme changes, and as wide as it may be; `version` says that data has grown */
export function Chart({ label, series, data, version, format, binary = false, height = 190 }) {
	const holder = useRef(null);
	const plot = useRef(null);
	const theme = useTheme();
	useEffect(() => {
		const width = holder.current.clientWidth;
		plot.current = new uPlot(optionsFor({ series, format, binary, height, width }), data, holder.current);
		const observer = new ResizeObserver(([{ contentRect }]) => plot.current.setSize({ width: contentRect.width, height }));
		observer.observe(holder.current);
		return () => {
			observer.disconnect();
			plot.current.destroy();
		};
	}, [theme]);
	useEffect(() => plot.current.setData(data), [version]);
	return <div ref={holder} class="chart" role="img" aria-label={label} />;
}
