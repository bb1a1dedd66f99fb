// SPDX-License-Identifier: Apache-2.0
//
// Draws the memory of verbsd over the requests of a soak as SVG: soak_plot.mjs JSON…; see scripts/soak.
import { readFileSync } from "node:fs";

const [WIDTH, HEIGHT] = [720, 260]; // of a chart
const LEFT = 64;
const TOP = 44;
const PLOT = { width: WIDTH - LEFT - 24, height: HEIGHT - TOP - 44 };
const MIB = 1 << 20;
const WHERE = { guest: "Soft-RoCE in a guest", fake: "over the scripted provider" };

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, " ");

// The smallest of 1, 2, 5, 10, … that cuts the range into five steps at most.
function step_of(range) {
	const power = 10 ** Math.floor(Math.log10(range / 5));

	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => range / step <= 5);
}

const ticks = (greatest) => {
	const step = step_of(greatest);

	return Array.from({ length: Math.floor(greatest / step) + 1 }, (_, i) => i * step);
};

function chart({ where, seconds, requests, seed, samples, idle }, top) {
	const greatest = { requests, mib: Math.max(...samples.map(({ rss_bytes }) => rss_bytes)) / MIB * 1.15 };
	const x = (count) => (LEFT + count / greatest.requests * PLOT.width).toFixed(1);
	const y = (mib) => (top + TOP + (1 - mib / greatest.mib) * PLOT.height).toFixed(1);
	const line = samples.map((sample) => `${x(sample.requests)},${y(sample.rss_bytes / MIB)}`).join(" ");
	const bottom = top + TOP + PLOT.height;

	return [
		`<text class="title" x="${LEFT}" y="${top + 24}">${grouped(requests)} requests in ${grouped(seconds)} s, ${WHERE[where]} (seed ${seed})</text>`,
		...ticks(greatest.mib).flatMap((mib) => [
			`<line class="grid" x1="${LEFT}" x2="${LEFT + PLOT.width}" y1="${y(mib)}" y2="${y(mib)}"/>`,
			`<text class="mib" x="${LEFT - 8}" y="${Number(y(mib)) + 4}">${mib} MiB</text>`,
		]),
		...ticks(greatest.requests).map((count) => `<text class="count" x="${x(count)}" y="${bottom + 18}">${grouped(count)}</text>`),
		`<polyline points="${line}"/>`,
		...idle.map((sample) => `<circle cx="${x(sample.requests)}" cy="${y(sample.rss_bytes / MIB)}" r="3"/>`),
	].join("\n");
}

const runs = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")));

console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT * runs.length}" font-family="sans-serif" font-size="12">
<!-- Drawn by scripts/soak (plot) from the samples of its runs. -->
<title>Resident memory of verbsd over the requests of a soak</title>
<style>
text { fill: #444 } .title { font-size: 14px; fill: #111 } .mib { text-anchor: end } .count { text-anchor: middle }
.grid { stroke: #ddd } polyline { fill: none; stroke: #1f6feb; stroke-width: 1.5 } circle { fill: #c2410c }
</style>
<rect width="100%" height="100%" fill="#fff"/>
${runs.map((run, i) => chart(run, i * HEIGHT)).join("\n")}
</svg>`);
