// SPDX-License-Identifier: Apache-2.0
//
// The suites of the guest that use what a folder does. A guest can't say which lines it reached: the folder decides.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { run_test, tests_of } from "./suites.mjs";

const TIMEOUT_MS = 2_460_000;

// The first folder that the file is in counts. Those that each scripts/test runs come first (guest.*), then those of
// scripts/test --full.
export const SUITES = [
	["rdma/ud", ["guest.datagrams", "api.guest"]],
	["daemon/datagrams", ["guest.datagrams", "api.guest"]],
	["rdma/diagnose", ["rdma.explain", "rdma.refused"]],
	["daemon/observe", ["guest.ends", "rdma.explain", "rdma.events"]],
	["rdma/device", ["guest.data", "guest.ends", "rdma.knobs"]],
	["rdma/fabric", ["guest.data", "guest.ends", "rdma.silent"]],
	["rdma/data", ["guest.data", "rdma.services", "rdma.bulk"]],
	["rdma/provider", ["guest.data", "guest.programs", "rdma.ways", "rdma.explain"]],
	["rdma/qp", ["rdma.knobs", "rdma.manual"]],
	["rdma", ["guest.programs", "rdma.services", "rdma.silent"]],
	["daemon/kept", ["guest.ends"]],
	["daemon/store", ["guest.ends", "guest.programs"]],
	["daemon/memory", ["guest.data", "rdma.resources"]],
	["daemon/work", ["guest.data", "rdma.services", "rdma.bulk"]],
	["daemon", ["guest.programs", "rdma.services", "api.guest"]],
	["cmd/verbsctl", ["ctl.guest"]],
	["", ["api.guest", "guest.programs"]],
];

const folder_of = (tree) => join(tree.root, "build/guest");

// A guest has the host's files read-only, so its programs are built without coverage.
function build(tree) {
	const folder = folder_of(tree);

	if (!existsSync(join(folder, "build.ninja")))
		spawnSync("cmake", ["--preset", "asan", "-B", folder], { cwd: tree.root });
	const said = tree.build(["verbsd", "verbsctl", "request_flood", "connect_flood", "jansson_bytes"], folder);
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
