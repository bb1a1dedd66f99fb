// SPDX-License-Identifier: Apache-2.0
//
// rules.mjs --check | --write
//
// Writes parts of the alert rules and of their tests: the texts of a rule with an annotation `explain` come from
// docs/why.md (which lint.why compares with the daemon), the annotations that a test expects come from the rule.
// --check reports differences; it also checks that each rule has all its parts, a test in which it fires, and one in
// which it does not.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

import { metric_names } from "./metric_names.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const RULES = "contrib/prometheus/verbsd.rules.yml";
const TESTS = "tests/contrib/verbsd.rules.test.yml";

let yaml;
try {
	yaml = createRequire(`${root}tests/api/`)("yaml");
} catch {
	console.log("skipped: no node_modules in tests/api (npm ci there)");
	process.exit(77);
}

const read = (path) => readFileSync(root + path, "utf8");
const findings = [];
const finding = (text) => findings.push(text);

// The way from an alert to the connections that have raised it.
const WHICH = "`verbsctl history --limit 5` lists the latest ended connections, and `verbsctl explain ID` says why one of them ended.";

// By name: meaning, likely causes, and hint.
function why() {
	const rows = new Map();

	/* Findings and event types have other columns. */
	for (const line of read("docs/why.md").split("\n## Findings")[0].split("\n")) {
		const [, name, , means, causes, hint] = line.split(" | ").join("|").split("|").map((cell) => cell.trim());

		if (/^`.*`$/.test(name ?? ""))
			rows.set(name.slice(1, -1), { means, causes: causes.split("<br>"), hint });
	}
	return rows;
}

function draw_rule(rule, rows) {
	const name = rule.getIn(["annotations", "explain"]);

	if (!name)
		return;
	const row = rows.get(name);

	if (!row) {
		finding(`${rule.get("alert")}: docs/why.md has no ${name}`);
		return;
	}
	rule.setIn(["annotations", "description"], `${row.means}. Likely: ${row.causes.join("; ")}.`);
	rule.setIn(["annotations", "runbook"], /_connections_ended_total/.test(rule.get("expr")) ? `${row.hint} ${WHICH}` : row.hint);
}

const expand = (text, labels) => text.replace(/\{\{ \$labels\.(\w+) \}\}/g, (all, label) => labels[label] ?? "");

function draw_test(test, rules) {
	for (const part of test.get("alert_rule_test").items) {
		const rule = rules.get(part.get("alertname"));

		for (const alert of part.get("exp_alerts").items) {
			const labels = alert.get("exp_labels").toJSON();

			for (const { key, value } of rule?.get("annotations").items ?? [])
				alert.setIn(["exp_annotations", String(key)], expand(String(value), labels));
			alert.get("exp_annotations").flow = false;
		}
	}
}

function check_rule(name, rule) {
	const { expr = "", labels = {}, annotations = {} } = rule.toJSON();

	for (const key of ["summary", "description", "runbook"])
		if (!annotations[key])
			finding(`${name}: no ${key}`);
	if (!["info", "warning", "critical"].includes(labels.severity))
		finding(`${name}: severity is ${labels.severity}`);
	if (JSON.stringify(annotations).includes("$value"))
		finding(`${name}: an annotation with $value changes at each evaluation`);
	for (const [metric] of expr.matchAll(/\bverbsd_\w+/g))
		if (!metric_names.has(metric.replace(/_(bucket|sum|count)$/, "")))
			finding(`${name}: the daemon has no ${metric}`);
}

function check_tests(name, tests) {
	const parts = tests.flatMap((test) => test.toJSON().alert_rule_test).filter(({ alertname }) => alertname === name);

	if (!parts.some(({ exp_alerts }) => exp_alerts.length))
		finding(`${name}: no test in which it fires`);
	if (!parts.some(({ exp_alerts }) => !exp_alerts.length))
		finding(`${name}: no test in which it is silent`);
}

function all() {
	const files = new Map([RULES, TESTS].map((path) => [path, yaml.parseDocument(read(path))]));
	const rules = new Map(files.get(RULES).get("groups").items
		.flatMap((group) => group.get("rules").items).map((rule) => [rule.get("alert"), rule]));
	const tests = files.get(TESTS).get("tests").items;
	const rows = why();

	for (const rule of rules.values())
		draw_rule(rule, rows);
	for (const test of tests)
		draw_test(test, rules);
	for (const [name, rule] of rules) {
		check_rule(name, rule);
		check_tests(name, tests);
	}
	return files;
}

const text_of = (document) => document.toString({ lineWidth: 0, singleQuote: true, flowCollectionPadding: false });
const write = process.argv[2] === "--write";

for (const [path, document] of all()) {
	if (write)
		writeFileSync(root + path, text_of(document));
	else if (read(path) !== text_of(document))
		finding(`${path}: is not what is drawn: cmake --build build/dev --target rules`);
}
for (const text of findings)
	console.log(text);
process.exit(findings.length ? 1 : 0);
