// SPDX-License-Identifier: Apache-2.0
//
// The tests of a build, as ctest knows them, and one run of one of them.

import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TIMEOUT_MS = 300_000;
// The test can't run here, or the machine failed: no verdict on a mutant.
const NO_VERDICT = [77, 75];
// A mutant is killed as hanging long after the test would have ended on a busy machine.
const GRACE_MS = 20_000;
const GRACE_FACTOR = 8;

const KINDS = { unit: "unit", api: "native", ctl: "native", guest: "guest", rdma: "guest" };

// Returns the tests of a build: { name, kind, command, environment, folder, timeout_ms }. Kind is unit, native or guest.
export function tests_of(build_folder) {
	const { stdout } = spawnSync("ctest", ["--test-dir", build_folder, "--show-only=json-v1"],
		{ encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });

	return JSON.parse(stdout).tests.flatMap(({ name, command, properties }) => {
		const property = (wanted) => properties.find((each) => each.name === wanted)?.value;
		const kind = KINDS[property("LABELS")?.[0]];
		const environment = Object.fromEntries((property("ENVIRONMENT") ?? []).map((text) => text.split(/=(.*)/s, 2)));

		return kind && command
			? [{ name, kind, command, environment, folder: property("WORKING_DIRECTORY"), timeout_ms: (property("TIMEOUT") ?? 0) * 1000 || TIMEOUT_MS }]
			: [];
	});
}

// Returns how long a test may take with a mutant, in ms, if it took `normal_ms` without.
export const deadline_ms = ({ timeout_ms }, normal_ms) => Math.min(timeout_ms, GRACE_MS + GRACE_FACTOR * normal_ms);

// Kills what a test left running, as far as it is in the test's process group.
function kill_group(pid) {
	try {
		process.kill(-pid, "SIGKILL");
	} catch (error) {
		if (error.code !== "ESRCH")
			throw error;
	}
}

// Runs a test in a process group and a temporary folder of its own. Resolves to { outcome, duration_ms, output },
// outcome being passed, failed, skipped or hung.
export function run_test({ command: [program, ...args], environment, folder }, limit_ms) {
	const scratch = mkdtempSync(join(tmpdir(), "verbsd-mutate-"));
	const path = join(scratch, "output");
	const output = openSync(path, "w");
	const env = { ...process.env, ...environment, TMPDIR: scratch };
	const started = Date.now();

	return new Promise((resolve, reject) => {
		const child = spawn(program, args, { cwd: folder, env, detached: true, stdio: ["ignore", output, output] });
		let hung = false;
		const timer = setTimeout(() => {
			hung = true;
			kill_group(child.pid);
		}, limit_ms);
		const end = () => {
			clearTimeout(timer);
			closeSync(output);
		};

		child.on("error", (error) => {
			end();
			reject(error);
		});
		child.on("exit", (status) => {
			end();
			kill_group(child.pid);
			const text = readFileSync(path, "utf8").slice(-4000);
			rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
			const outcome = hung ? "hung" : status === 0 ? "passed" : NO_VERDICT.includes(status) ? "skipped" : "failed";
			resolve({ outcome, duration_ms: Date.now() - started, output: text });
		});
	});
}
