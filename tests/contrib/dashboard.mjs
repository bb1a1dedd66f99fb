// SPDX-License-Identifier: Apache-2.0
//
// The Grafana dashboard without Grafana: it can be imported, has the right layout, and queries series that exist. (That
// the queries return data is tested against a live Prometheus in tests/rdma/examples.mjs.)

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { scratch_file } from "../scratch.mjs";
import { filled_in, queries } from "./dashboard_queries.mjs";
import { metric_names } from "./metric_names.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ROWS = [/state and end reason/, /manager: outcomes/, /throughput/i, /latency/, /round trips/i, /completion queues/i, /async events/,
	/memory/i, /event log, control loop and API/i, /kernel: connection manager/i, /kernel: ports/i, /leaked/i];

const text = readFileSync(`${root}contrib/grafana/verbsd.json`, "utf8");
const dashboard = JSON.parse(text);
const histograms = new Set([...text.matchAll(/(verbsd_\w+)_bucket/g)].map(([, name]) => name));
const findings = [];
const check = (condition, finding) => { if (!condition) findings.push(finding); };

function check_frame() {
	const { uid, title, schemaVersion, templating, panels } = dashboard;
	const variables = templating.list.map(({ name }) => name);

	check(uid === "verbsd" && title, "no uid and title");
	check(Number.isInteger(schemaVersion) && schemaVersion >= 36, `schemaVersion is ${schemaVersion}`);
	check(!("id" in dashboard), "an id of somebody's Grafana is in it");
	for (const name of ["DS_PROMETHEUS", "instance", "device"])
		check(variables.includes(name), `no variable ${name}`);
	for (const [, name] of text.matchAll(/\$\{?(\w+)/g))
		check(name.startsWith("__") || variables.includes(name), `$${name} is no variable`);
	for (const wanted of ROWS)
		check(panels.some(({ type, title: of }) => type === "row" && wanted.test(of)), `no row ${wanted}`);
	check(new Set(panels.map(({ id }) => id)).size === panels.length, "two panels have the same id");
}

function overlap(a, b) {
	return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function check_panels() {
	const { panels } = dashboard;

	panels.forEach((panel, i) => {
		const { title, type, description, gridPos, targets = [] } = panel;

		check(title, `panel ${panel.id} has no title`);
		check(gridPos.x + gridPos.w <= 24, `${title}: is wider than the page`);
		for (const other of panels.slice(i + 1))
			check(!overlap(gridPos, other.gridPos), `${title} and ${other.title} are in the same place`);
		if (type === "row")
			return;
		check(description, `${title}: no description`);
		check(panel.datasource.uid === "${DS_PROMETHEUS}", `${title}: has a data source of its own`);
		check(targets.length, `${title}: asks for nothing`);
		check(new Set(targets.map(({ refId }) => refId)).size === targets.length, `${title}: two targets of one refId`);
	});
}

function check_queries() {
	const asked = queries(dashboard);

	for (const { panel, expr } of asked)
		for (const [name] of expr.matchAll(/\bverbsd_\w+/g)) {
			const family = name.replace(/_(bucket|sum|count)$/, "");

			check(metric_names.has(histograms.has(family) ? family : name), `${panel}: the daemon has no ${name}`);
		}
	check_syntax(asked);
}

// As recording rules, which promtool can check.
function check_syntax(asked) {
	const rules = asked.map(({ expr }, i) => ({ record: `query:${i}`, expr: filled_in(expr) }));
	const file = scratch_file("rules.json", JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
	const { status, stdout, stderr } = spawnSync("promtool", ["check", "rules", file], { encoding: "utf8" });

	check(status === 0, `promtool says: ${stdout}${stderr}`);
}

check_frame();
check_panels();
check_queries();
for (const finding of findings)
	console.log(`contrib/grafana/verbsd.json: ${finding}`);
process.exit(findings.length ? 1 : 0);
