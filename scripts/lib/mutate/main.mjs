// SPDX-License-Identifier: Apache-2.0
//
// usage: main.mjs OPTIONS: what scripts/mutate does after it has read its options. OPTIONS is JSON with origin, folder, count,
// seed, only, json, again, list, guest.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { survivors_of } from "./again.mjs";
import { Judge, diff_of, label_of } from "./judge.mjs";
import { Reach } from "./reach.mjs";
import { sample } from "./sample.mjs";
import { tests_of } from "./suites.mjs";
import { Tree, sources_of } from "./tree.mjs";

const PRODUCT = /^(base|rdma|daemon|api|cmd)\/.*\.c$/;

const options = JSON.parse(process.argv[2]);
const say = (text) => process.stderr.write(`mutate: ${text}\n`);

const origin_text = () => (options.again ? `the survivors in ${options.again}` : `seed ${options.seed}`);

const commit_of = (root) =>
	spawnSync("git", ["-C", root, "describe", "--always", "--dirty"], { encoding: "utf8" }).stdout?.trim() || "unknown";

// Runs every test without a mutant. Returns those that passed; a test that does not can't notice anything.
async function measure_all(tests, reach) {
	const passed = [];

	for (const [at, test] of tests.entries()) {
		const { outcome, output } = await reach.measure(test);
		if (outcome === "passed")
			passed.push(test);
		else
			say(`${test.name} ${outcome} without a mutant, and takes no part${outcome === "skipped" ? "" : `:\n${output}`}`);
		if ((at + 1) % 25 === 0)
			say(`${at + 1} of ${tests.length} tests run without a mutant`);
	}
	return passed;
}

function record(mutant, { reached, killer }, duration_ms) {
	const { file, line, operator, before, after } = mutant;

	return {
		file, line, operator, before, after, reached, outcome: killer ? "killed" : "survived", killed_by: killer?.test ?? null,
		kind: killer?.kind ?? null, hung: killer?.outcome === "hung", duration_ms,
	};
}

function figures_of(records) {
	const killed = records.filter(({ outcome }) => outcome === "killed");

	return {
		killed,
		survivors: records.filter(({ outcome }) => outcome === "survived"),
		by: Object.fromEntries(["unit", "native", "guest"].map((kind) => [kind, killed.filter((each) => each.kind === kind).length])),
	};
}

// Written after each mutant, so that a run that is broken off has told what it found.
function write_json(commit, { records, skipped }) {
	const { killed, survivors, by } = figures_of(records);

	if (options.json)
		writeFileSync(options.json, `${JSON.stringify({
			seed: options.again ? null : options.seed, commit, mutants: records.length, killed: killed.length, killed_by_kind: by,
			survived: survivors.length, skipped, records,
		}, null, "\t")}\n`);
}

async function judge_all(mutants, judge, commit) {
	const records = [];
	const skipped = [];

	for (const mutant of mutants) {
		if (records.length === options.count)
			break;
		const started = Date.now();
		const verdict = await judge.judge(mutant, options.guest);
		if (verdict.skipped) {
			skipped.push({ file: mutant.file, line: mutant.line, operator: mutant.operator, why: verdict.skipped });
			continue;
		}
		records.push(record(mutant, verdict, Date.now() - started));
		const { outcome, killed_by, reached } = records.at(-1);
		say(`${records.length}: ${label_of(mutant)}: ${outcome}${killed_by ? ` by ${killed_by}` : ` ${reached} tests that reach it`}`);
		write_json(commit, { records, skipped });
	}
	return { records, skipped };
}

function report(commit, { records, skipped }) {
	const { killed, survivors, by } = figures_of(records);

	for (const survivor of survivors)
		console.log(`${diff_of(survivor)}# ${survivor.reached} tests reach the line\n`);
	write_json(commit, { records, skipped });
	console.log(`${origin_text()}, commit ${commit}: ${by.unit} killed by unit tests, ${by.native} by native suites, ${by.guest} in the guest; ${skipped.length} left out`);
	console.log(`${killed.length} of ${records.length} killed, ${survivors.length} survived`);
}

function list(mutants) {
	for (let at = 0; at < options.count; at++) {
		const { value, done } = mutants.next();
		if (done)
			return;
		console.log(diff_of(value));
	}
}

// Builds the copy. Returns its tests but those of a guest.
function built_tests(tree) {
	const said = tree.build();

	if (said)
		throw new Error(`the copy does not build:\n${said}`);
	return tests_of(tree.build_folder).filter(({ kind }) => kind !== "guest");
}

async function main() {
	const sources = sources_of(options.origin);
	const files = sources.filter((path) => PRODUCT.test(path) && path.startsWith(options.only));

	if (options.list) {
		list(sample(options.origin, files, options.seed));
		return;
	}
	const commit = commit_of(options.origin);
	const tree = new Tree(options.origin, sources, options.folder);
	const mutants = options.again ? survivors_of(tree.root, options.again) : sample(tree.root, files, options.seed);
	say(`${origin_text()}; builds a copy in ${options.folder}`);
	tree.configure();
	const known = options.again && options.guest ? [] : built_tests(tree);
	const reach = new Reach(tree, join(options.folder, "build/reach"));
	report(commit, await judge_all(mutants, new Judge(tree, reach, await measure_all(known, reach)), commit));
}

try {
	await main();
} catch (error) {
	say(error.message);
	process.exitCode = 1;
}
