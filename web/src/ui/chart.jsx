// SPDX-License-Identifier: Apache-2.0
//
// Lines over time, drawn by uPlot. series are [{label, token (a colour of the design system), dash}]; data is as for uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clock } from "../format.js";
import { useTheme } from "../hooks.js";
import { token } from "../theme.js";

const END_PX = 26; /* room for the half of the last time label that is beside the lines */
const LEAST_S = 60; /* shortest time axis, so that the first points are not stretched */
/* The steps of an axis of bytes are powers of two, which makes its labels round numbers. */
const BINARY = Array.from({ length: 60 }, (_, i) => 2 ** i);
const TIMES = [1, 5, 10, 15, 30, 60, 120, 300, 600];

function lineOf({ label, token: name, dash, fill }, format) {
	const colour = token(name);
	return {
		label,
		stroke: colour,
		width: 1.6,
		dash,
		fill: fill && `${colour}22`,
		points: { show: false },
		value: (_, value) => format(value),
	};
}

function axisOf({ grid, ...extra }) {
	return {
		stroke: token("--faint"),
		font: `11px ${token("--font")}`,
		grid: { stroke: token("--line"), width: 1, ...grid },
		ticks: { show: false },
		...extra,
	};
}

/* Only the grid lines at powers of ten are drawn. */
function powersOnly(_, splits) {
	return splits.map((value) => (Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6 ? value : null));
}

/* The axis goes from a power of ten to a power of ten, so that values of very different size can be compared. */
function decades(_, low, high) {
	const power = (value, round) => 10 ** round(Math.log10(Math.max(value ?? 1, 1)));
	return [power(low, Math.floor), Math.max(power(high, Math.ceil), power(low, Math.floor) * 10)];
}

function fromZero(_, low, high) {
	return [0, Math.max(high ?? 0, 1e-9) * 1.08 || 1];
}

function optionsFor({ series, format, scale, height, width }) {
	const y = scale === "decades" ? { distr: 3, range: decades } : { range: fromZero };
	const steps = { decades: { grid: { filter: powersOnly } }, binary: { incrs: BINARY } }[scale];
	return {
		width,
		height,
		padding: [10, END_PX, 0, 0],
		cursor: { y: false, points: { size: 6 } },
		legend: { live: true },
		scales: {
			x: { time: true, range: (_, low, high) => [Math.min(low ?? 0, (high ?? 0) - LEAST_S), high ?? 1] },
			y,
		},
		axes: [
			axisOf({ space: 76, size: 28, incrs: TIMES, values: (_, ticks) => ticks.map((s) => clock(s * 1000)) }),
			axisOf({
				size: 74,
				space: 30,
				values: (_, ticks) => ticks.map((value) => (value === null ? "" : format(value))),
				...steps,
			}),
		],
		series: [{ label: "Time", value: "{HH}:{mm}:{ss}" }, ...series.map((one) => lineOf(one, format))],
	};
}

/**
 * Chart - as wide as its place, drawn again when the theme changes
 * scale     "binary" for bytes, "decades" for values of very different size
 * version   changes whenever data has grown
 */
export function Chart({ label, series, data, version, format, scale, height = 190 }) {
	const holder = useRef(null);
	const plot = useRef(null);
	const theme = useTheme();
	useEffect(() => {
		const width = holder.current.clientWidth;
		plot.current = new uPlot(optionsFor({ series, format, scale, height, width }), data, holder.current);
		const observer = new ResizeObserver(([{ contentRect }]) =>
			plot.current.setSize({ width: contentRect.width, height }),
		);
		observer.observe(holder.current);
		return () => {
			observer.disconnect();
			plot.current.destroy();
		};
	}, [theme]);
	useEffect(() => plot.current.setData(data), [version]);
	return <div ref={holder} class="chart" role="img" aria-label={label} />;
}
