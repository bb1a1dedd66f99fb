// SPDX-License-Identifier: Apache-2.0
//
// The suites of the guest that use what a folder does. A guest can't say which lines it reached: the folder decides.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { run_test, tests_of } from "./suites.mjs";

const TIMEOUT_MS = 900_000;

// The first folder that the file is in counts.
const SUITES = [
	["rdma/ud", ["rdma.ud", "api.guest"]],
	["daemon/datagrams", ["rdma.ud", "api.guest"]],
	["rdma/diagnose", ["rdma.explain", "rdma.refused"]],
	["daemon/observe", ["rdma.explain", "rdma.metrics", "rdma.events"]],
	["rdma/device", ["rdma.network", "rdma.unplug", "rdma.knobs"]],
	["rdma/fabric", ["rdma.network", "rdma.unplug", "rdma.silent"]],
	["rdma/data", ["rdma.verbs", "rdma.services", "rdma.bulk"]],
	["rdma/provider", ["rdma.verbs", "rdma.ways", "rdma.explain", "rdma.stop"]],
	["rdma/qp", ["rdma.knobs", "rdma.manual"]],
	["rdma", ["rdma.services", "rdma.stop", "rdma.silent"]],
	["daemon/kept", ["rdma.kept"]],
	["daemon/store", ["rdma.kept", "rdma.stop"]],
	["daemon/memory", ["rdma.memory", "rdma.resources"]],
	["daemon/work", ["rdma.services", "rdma.bulk"]],
	["daemon", ["rdma.services", "rdma.stop", "api.guest"]],
	["cmd/verbsctl", ["ctl.guest"]],
	["", ["api.guest", "rdma.stop"]],
];

const folder_of = (tree) => join(tree.root, "build/guest");

// A guest has the host's files read-only, so its programs are built without coverage.
function build(tree) {
	const folder = folder_of(tree);

	if (!existsSync(join(folder, "build.ninja")))
		spawnSync("cmake", ["--preset", "asan", "-B", folder], { cwd: tree.root });
	const said = tree.build(["verbsd", "verbsctl", "request_flood", "connect_flood"], folder);
	if (said)
		throw new Error(`the programs for the guest can't be built:\n${said}`);
}

// Builds the programs with the mutant. Returns the suites for a file, as tests_of() does.
export function guest_tests(tree, file) {
	const [, names] = SUITES.find(([folder]) => folder === "" || file.startsWith(`${folder}/`));

	build(tree);
	const known = tests_of(folder_of(tree));
	return names.map((name) => known.find((test) => test.name === name) ?? {
		name,
		kind: "guest",
		command: [join(tree.root, "tests/rdma/guest.sh"), name.replace("rdma.", ""), folder_of(tree)],
		environment: {},
		folder: tree.root,
		timeout_ms: TIMEOUT_MS,
	});
}

// Builds the programs with the sources as they are, and runs a suite.
export async function passes_in_guest(tree, test) {
	build(tree);
	return (await run_test(test, test.timeout_ms)).outcome === "passed";
}
