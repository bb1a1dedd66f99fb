// SPDX-License-Identifier: Apache-2.0
//
// scripts/mutate: which mutants a text has, that a seed draws the same ones again, and that of a small tree each
// mutant of the tested function is killed, and each one of the other function survives.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { SUITES } from "../../scripts/lib/mutate/guests.mjs";
import { mask, mutants_of } from "../../scripts/lib/mutate/operators.mjs";
import { scratch_folder, scratch_path } from "../scratch.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SCRIPT = join(ROOT, "scripts/mutate");

const run = (...args) => spawnSync(SCRIPT, args, { encoding: "utf8" });
const changes = (line) => mutants_of("a.c", `{\n${line}\n`).map(({ operator, after }) => `${operator}: ${after.trim()}`);

test("each operator changes one thing of a line", () => {
	assert.deepEqual(changes("\tif (a < b && c)"), [
		"negated condition: if (!(a < b && c))", "relation: if (a <= b && c)", "logic: if (a < b || c)",
	]);
	assert.deepEqual(changes("\tx = y + 0x0fU;"), ["arithmetic: x = y - 0x0fU;", "constant: x = y + 16U;", "constant: x = y + 14U;"]);
	assert.deepEqual(changes("\treturn VBD_OK;"), ["return code: return VBD_E_INTERNAL;"]);
	assert.deepEqual(changes("\t\treturn true;"), ["return code: return false;", "removed early exit: ;"]);
	assert.deepEqual(changes("\t(void)object->ops.free(first(a), b);"), ["removed call: ;"]);
	assert.deepEqual(changes("\tfor (i = n; i; i--)"), ["arithmetic: for (i = n; i; i++)"]);
});

test("no array or allocation grows, and no zero of an initializer changes", () => {
	assert.deepEqual(changes("\tchar text[48], one[1];"), ["array: char text[24], one[1];"]);
	assert.deepEqual(changes("\tstruct point p = {0};"), []);
	assert.deepEqual(changes("\tp = calloc(1, size);").filter((change) => change.startsWith("constant")), ["constant: p = calloc(0, size);"]);
	assert.deepEqual(changes("\ttext[2] = {1};"), [
		"constant: text[3] = {1};", "constant: text[1] = {1};", "constant: text[2] = {2};", "constant: text[2] = {0};",
	]);
});

test("only code is changed", () => {
	assert.equal(mask('a /* 1 < 2 */ = "3 + 4"; // 5\n#define B \\\n\t6\n7'), 'a             = _______;     \n           \n  \n7');
	assert.deepEqual(changes('\tx = "1 < 2"; /* 3 && 4 */'), []);
	assert.deepEqual(changes("\tint *p = &q->r;"), []);
});

test("a call that goes on in another line is not left out", () => {
	assert.deepEqual(changes("\tcall(a,\n\t\tb(c));"), []);
	assert.deepEqual(changes("\tx =\n\t\tb(c);"), []);
});

test("a seed draws the same mutants again, and another seed others", () => {
	const listed = (seed) => run("--list", "--seed", seed, "--count", "5", "--only", "base/").stdout;

	assert.equal(listed("7"), listed("7"));
	assert.notEqual(listed("7"), listed("8"));
});

test("a mutant of a tested function is killed, one of a function without a test survives", () => {
	const tree = join(scratch_folder("planted"), "tree");
	const json = scratch_path("mutants.json");
	cpSync(join(ROOT, "tests/mutate/planted"), tree, { recursive: true });
	const source = readFileSync(join(tree, "base/planted.c"), "utf8");
	const first_untested = source.split("\n").findIndex((line) => line.startsWith("int planted_more")) + 1;

	const { status, stdout, stderr } = run("--tree", tree, "--json", json, "--seed", "1", "--only", "base/");
	assert.equal(status, 0, stderr);
	const { records, killed, survived } = JSON.parse(readFileSync(json, "utf8"));
	assert.ok(killed > 0 && survived > 0, stderr);
	for (const { line, outcome, after } of records)
		assert.equal(outcome, line < first_untested ? "killed" : "survived", after);
	assert.equal(stdout.trimEnd().split("\n").at(-1), `${killed} of ${killed + survived} killed, ${survived} survived`);
	assert.match(stdout, /^-\treturn value \+ 3;\n\+\treturn value/m);
	assert.equal(readFileSync(join(tree, "base/planted.c"), "utf8"), source);
});

test("a line of verbsctl is known to be tested, although the test kills it", () => {
	const tree = join(scratch_folder("killed"), "tree");
	const [first, second] = [scratch_path("found.json"), scratch_path("tried.json")];
	const file = "cmd/verbsctl/forever.c";
	cpSync(join(ROOT, "tests/mutate/planted"), tree, { recursive: true });
	const lines = readFileSync(join(tree, file), "utf8").split("\n");
	const at = lines.findIndex((line) => line.includes("40 + 2"));
	const after = lines[at].replace("40 + 2", "40 + 3");
	writeFileSync(first, JSON.stringify({ records: [
		{ file, line: at + 1, operator: "constant", before: lines[at], after, outcome: "survived" }] }));

	const { status, stderr } = run("--tree", tree, "--again", first, "--json", second);
	assert.equal(status, 0, stderr);
	const { records: [{ outcome, killed_by }] } = JSON.parse(readFileSync(second, "utf8"));
	assert.deepEqual([outcome, killed_by], ["killed", "ctl.forever"]);
});

test("the survivors of a result are tested again, where their lines have moved to", () => {
	const tree = join(scratch_folder("again"), "tree");
	const [first, second] = [scratch_path("first.json"), scratch_path("second.json")];
	cpSync(join(ROOT, "tests/mutate/planted"), tree, { recursive: true });
	const planted = join(tree, "base/planted.c");
	const source = readFileSync(planted, "utf8");
	const at = source.split("\n").indexOf("\treturn value + 3;");
	const record = (outcome, line, before, after) => ({ file: "base/planted.c", line, operator: "constant", before, after, outcome });
	writeFileSync(first, JSON.stringify({ records: [
		record("survived", at + 1, "\treturn value + 3;", "\treturn value + 4;"),
		record("survived", at + 1, "\treturn value + 5;", "\treturn value + 6;"),
		record("killed", 1, "\t\treturn -1;", "\t\treturn -2;"),
	] }));
	writeFileSync(planted, `/* A line more. */\n${source}`);

	const { status, stderr } = run("--tree", tree, "--again", first, "--json", second);
	assert.equal(status, 0, stderr);
	const { records, skipped } = JSON.parse(readFileSync(second, "utf8"));
	assert.deepEqual(records.map(({ line, after, outcome }) => [line, after, outcome]), [[at + 2, "\treturn value + 4;", "survived"]]);
	assert.deepEqual(skipped.map(({ why }) => why), ["the line is another one"]);
});

test("the suites of the guest that try survivors are there", () => {
	const rows = readFileSync(join(ROOT, "tests/rdma/CMakeLists.txt"), "utf8");
	const is_there = (name) => ({
		api: () => existsSync(join(ROOT, "tests/api/run-guest.sh")),
		ctl: () => existsSync(join(ROOT, "tests/ctl/guest.sh")),
		guest: (rest) => rows.includes(`guest_test(${rest} `),
		rdma: (rest) => existsSync(join(ROOT, `tests/rdma/${rest}.mjs`)),
	})[name.split(".")[0]](name.split(".")[1]);

	assert.deepEqual(SUITES.flatMap(([, names]) => names).filter((name) => !is_there(name)), []);
});

test("a wrong option is refused with a hint", () => {
	for (const args of [["--count", "0"], ["--seed", "x"], ["--seed"], ["--tree", "/nowhere/at/all"], ["--again", "/nowhere/at/all"], ["--fast"]]) {
		const { status, stderr } = run(...args);
		assert.equal(status, 2, args.join(" "));
		assert.match(stderr, /--help/);
	}
});
