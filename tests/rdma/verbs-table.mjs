// SPDX-License-Identifier: Apache-2.0
//
// verbs-table.mjs BUILDDIR [--write]: compares the tables of docs/verbs.md with the proofs of the last run of the
// suites in BUILDDIR (guest.sh keeps their output), or writes the tables. No cell of the first table may be empty.

import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const SKIPPED = 77;
const here = dirname(fileURLToPath(import.meta.url));
const docs = join(here, "../../docs/verbs.md");
const [BUILD, OPTION] = process.argv.slice(2);
const said_in = join(BUILD ?? "build/dev", "tests/rdma");
const BEGIN = "<!-- drawn by tests/rdma/verbs-table.mjs -->";
const END = "<!-- as far as this -->";

const COLUMNS = { rc_cm: "RC, CM", rc_manual: "RC, manual", uc: "UC", ud: "UD", siw: "iWARP (siw)" };

// In the order of the table; any other suite is an error.
const ROWS = {
	Operations: ["send", "send_imm", "write", "write_imm", "read", "fetch_add", "compare_swap", "recv", "sge_list", "inline",
		"zero_length", "signal_every"],
	Resources: ["manual_bringup", "private_data", "pd", "cq", "cq_moderation", "srq", "window_type_1", "window_type_2", "multicast"],
	Services: ["inbox", "echo", "sink", "rping", "rping_client"],
	Measurements: ["probe_ack", "probe_echo", "probe_rping", "bench_send", "bench_write", "bench_read"],
	Networks: ["ipv4", "ipv6", "ipv6_link_local", "vlan"],
};
const PROGRAM = /^peer:[\w.-]+$/;

const mistakes = [];

// --- reading the output of the suites ----------------------------------------------------------------------------

// One proof or refusal for each line: row, column, code (of a refusal), suite, test.
function read_suite(file) {
	const found = [];

	for (const line of readFileSync(join(said_in, file), "utf8").split("\n")) {
		const said = /^(proof|refusal): (\S+) (\S+) (?:([a-z_]+) )?([a-z_]+): (.+)$/.exec(line);

		if (said)
			found.push({ row: said[2], column: said[3], code: said[4] ?? null, suite: said[5], test: said[6] });
		else if (/^(proof|refusal):/.test(line))
			mistakes.push(`${file}: can't read: ${line}`);
	}
	return found;
}

function read_all() {
	const suites = readdirSync(here).filter((file) => file.endsWith(".mjs")).map((file) => basename(file, ".mjs"));

	return suites.sort().map((suite) => `${suite}.txt`).filter((file) => existsSync(join(said_in, file))).flatMap(read_suite);
}

// --- writing the tables ------------------------------------------------------------------------------------------

// Each test has a number within its suite, in the order of the names.
function number_tests(said) {
	const suites = new Map();

	for (const { suite, test } of said)
		suites.set(suite, (suites.get(suite) ?? new Set()).add(test));
	return new Map([...suites].sort().map(([suite, tests]) => [suite, [...tests].sort()]));
}

function reference(tests, group) {
	const suites = new Map();

	for (const { suite, test } of group) {
		const number = tests.get(suite).indexOf(test) + 1;
		suites.set(suite, [...new Set([...(suites.get(suite) ?? []), number])].sort((a, b) => a - b));
	}
	return [...suites].sort().map(([suite, numbers]) => `[${suite}](#${suite}) ${numbers.join(", ")}`).join("; ");
}

function cell(tests, group) {
	const works = group.filter(({ code }) => !code);
	const codes = [...new Set(group.flatMap(({ code }) => code ?? []))].sort();
	const parts = works.length ? [`yes: ${reference(tests, works)}`] : [];

	for (const code of codes)
		parts.push(`\`${code}\`: ${reference(tests, group.filter((entry) => entry.code === code))}`);
	return parts.join("<br>");
}

const line = (...cells) => `| ${cells.join(" | ")} |`;

function draw_table(tests, said, title, rows) {
	const lines = [`### ${title}`, "", line("", ...Object.values(COLUMNS)), line("---", ...Object.keys(COLUMNS).map(() => "---"))];

	for (const row of rows) {
		const cells = Object.keys(COLUMNS).map((column) =>
			cell(tests, said.filter((entry) => entry.row === row && entry.column === column)));

		Object.keys(COLUMNS).filter((_, i) => cells[i] === "").forEach((column) =>
			mistakes.push(`nothing was proved or refused for ${row} in ${column}`));
		lines.push(line(`\`${row}\``, ...cells));
	}
	return [...lines, ""];
}

function draw_programs(tests, said) {
	const lines = ["### Other programs", "", line("Program", "Over", "Shown by"), line("---", "---", "---")];
	const programs = [...new Set(said.map(({ row }) => row).filter((row) => PROGRAM.test(row)))].sort();

	for (const program of programs) {
		const group = said.filter(({ row }) => row === program);
		const columns = Object.keys(COLUMNS).filter((column) => group.some((entry) => entry.column === column));
		lines.push(line(`\`${program.slice("peer:".length)}\``, columns.map((column) => COLUMNS[column]).join("; "),
			reference(tests, group)));
	}
	return [...lines, ""];
}

function draw_tests(tests) {
	const lines = ["## The tests", ""];

	for (const [suite, names] of tests)
		lines.push(`### ${suite}`, "", `\`tests/rdma/${suite}.mjs\``, "", ...names.map((name, i) => `${i + 1}. ${name}`), "");
	return lines;
}

function draw(said) {
	const tests = number_tests(said);

	return [BEGIN, "", ...Object.entries(ROWS).flatMap(([title, rows]) => draw_table(tests, said, title, rows)),
		...draw_programs(tests, said), ...draw_tests(tests), END].join("\n");
}

// --- main --------------------------------------------------------------------------------------------------------

function check_names(said) {
	const rows = new Set(Object.values(ROWS).flat());

	for (const { row, column, suite, test } of said) {
		if (!rows.has(row) && !PROGRAM.test(row))
			mistakes.push(`${suite}: ${test}: there is no row ${row}`);
		if (!(column in COLUMNS))
			mistakes.push(`${suite}: ${test}: there is no column ${column}`);
	}
}

function main() {
	const said = read_all();

	if (said.length === 0) {
		console.log(`skipped: no suite has run in ${said_in}`);
		process.exit(SKIPPED);
	}
	check_names(said);
	const before = readFileSync(docs, "utf8");
	const after = before.slice(0, before.indexOf(BEGIN)) + draw(said) + before.slice(before.indexOf(END) + END.length);
	if (OPTION === "--write")
		writeFileSync(docs, after);
	else if (before !== after)
		mistakes.push(`docs/verbs.md is not what was proved; after a run of all suites: ` +
			`node tests/rdma/${basename(process.argv[1])} ${BUILD} --write`);
	mistakes.forEach((mistake) => console.log(mistake));
	process.exit(mistakes.length ? 1 : 0);
}

main();
