// SPDX-License-Identifier: Apache-2.0
//
// node steady.mjs LABEL NAME TIMES HARD: the part of scripts/steady behind its options; "" means any label or name, and not hard.

import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const BUILD = "build/asan";
const OUTPUT = join(BUILD, "steady");
const [label, name, times, hard] = process.argv.slice(2);
const AT_A_TIME = hard ? 1 : 4;
const PROCESSOR = "0"; // the only one that --hard leaves to tests
// Tests of these labels boot guests.
const GUEST_LABELS = ["guest", "lab", "rdma"];
const SKIPPED = 77;

// Returns { name, command, labels, env, cwd, timeout_s } of each test that ctest knows.
function all_tests() {
	const json = execFileSync("ctest", ["--test-dir", BUILD, "--show-only=json-v1"], { maxBuffer: 1 << 26 });

	return JSON.parse(json).tests.filter((test) => test.command).map((test) => {
		const properties = Object.fromEntries(test.properties.map(({ name, value }) => [name, value]));

		return {
			name: test.name,
			command: test.command,
			labels: properties.LABELS ?? [],
			env: Object.fromEntries((properties.ENVIRONMENT ?? []).map((pair) => pair.split(/=(.*)/s).slice(0, 2))),
			cwd: properties.WORKING_DIRECTORY,
			timeout_s: properties.TIMEOUT ?? 300,
		};
	});
}

function is_meant(test) {
	if (test.labels.some((one) => GUEST_LABELS.includes(one)) && !(hard && (name || label))) return false;
	return test.name.includes(name) && (label ? test.labels.includes(label) : !test.labels.includes("lint"));
}

// Returns the files that put a process into a cgroup with half a processor; none without the right to make one.
function half_a_processor() {
	const group = `verbsd-steady-${process.pid}`;

	for (const [root, limits] of [["/sys/fs/cgroup/cpu", { "cpu.cfs_quota_us": "50000" }], ["/sys/fs/cgroup", { "cpu.max": "50000 100000" }]]) {
		const folder = join(root, group);

		try {
			mkdirSync(folder);
			process.on("exit", () => rmdirSync(folder));
			for (const [file, value] of Object.entries(limits)) writeFileSync(join(folder, file), value, { flag: "r+" });
			return [join(folder, "cgroup.procs")];
		} catch {
			continue;
		}
	}
	return [];
}

// Stops the processes of a test now and then, for up to two seconds. Returns what ends that.
function pause_at_random(pid) {
	let timer, stopped = false;

	function next() {
		stopped = !stopped;
		try {
			process.kill(-pid, stopped ? "SIGSTOP" : "SIGCONT");
		} catch {
			return; // the test has ended
		}
		timer = setTimeout(next, Math.random() * (stopped ? 2000 : 10000));
	}
	timer = setTimeout(next, Math.random() * 5000);
	return () => clearTimeout(timer);
}

function hardened(command, groups) {
	const enter = groups.map((file) => `echo $$ >${file}; `).join("");

	return ["taskset", "-c", PROCESSOR, "sh", "-c", `${enter}exec "$@"`, "-", ...command];
}

// Resolves to why the test failed, and its output; to null if it passed. A hang is ended with all that the test has
// started: each one has a process group of its own.
function run(test, groups) {
	const command = hard ? hardened(test.command, groups) : test.command;
	const TMPDIR = mkdtempSync(join(tmpdir(), "s-")); // short, since a path of a unix socket has 107 bytes
	const log_path = `${TMPDIR}.log`;
	const log = openSync(log_path, "w");
	const child = spawn(command[0], command.slice(1),
		{ cwd: test.cwd, env: { ...process.env, ...test.env, TMPDIR }, detached: true, stdio: ["ignore", log, log] });
	const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), test.timeout_s * 1000);
	const go_on = hard ? pause_at_random(child.pid) : () => {};

	return new Promise((resolve) => child.on("close", (status, signal) => {
		const failure = { why: signal ?? `exit status ${status}`, output: readFileSync(log_path, "utf8") };

		clearTimeout(timer);
		go_on();
		closeSync(log);
		for (const path of [TMPDIR, log_path]) rmSync(path, { recursive: true, force: true });
		resolve(status === 0 || status === SKIPPED ? null : failure);
	}));
}

function shuffle(list) {
	for (let i = list.length - 1; i > 0; i--) {
		const other = Math.floor(Math.random() * (i + 1));

		[list[i], list[other]] = [list[other], list[i]];
	}
	return list;
}

async function repeat(tests, times) {
	const queue = shuffle(tests.flatMap((test) => Array(times).fill(test)));
	const total = queue.length;
	const failures = new Map(); // how often, by name

	const groups = hard ? half_a_processor() : [];

	async function work() {
		for (let test = queue.pop(); test; test = queue.pop()) {
			const failure = await run(test, groups);

			if (!failure) continue;
			if (!failures.has(test.name)) writeFileSync(join(OUTPUT, `${test.name}.txt`), failure.output);
			failures.set(test.name, (failures.get(test.name) ?? 0) + 1);
			console.error(`${test.name}: ${failure.why} (${total - queue.length} of ${total}); see ${OUTPUT}/${test.name}.txt`);
		}
	}
	await Promise.all(Array.from({ length: AT_A_TIME }, work));
	return { total, failures };
}

const tests = all_tests().filter(is_meant);

if (!tests.length) {
	console.error(`steady: no such test has ${label ? `the label ${label}` : `"${name}" in its name`}`);
	process.exit(2);
}
mkdirSync(OUTPUT, { recursive: true });
if (hard) {
	const stress = spawn("taskset", ["-c", PROCESSOR, "stress-ng", "--quiet", "--cpu", "1"], { stdio: "ignore" });

	process.on("exit", () => stress.kill());
}
const { total, failures } = await repeat(tests, Number(times));
let failed = 0;

for (const [test, count] of failures) {
	console.log(`failed: ${test}: ${count} of ${times}`);
	failed += count;
}
console.log(`${total - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
