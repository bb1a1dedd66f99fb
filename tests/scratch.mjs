// SPDX-License-Identifier: Apache-2.0
//
// Folders and files for the time that a test runs. All are in one folder, which goes with the process: also when a test
// fails, and when a signal ends it (but for SIGKILL).

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";

const work = mkdtempSync(join(tmpdir(), "verbsd-test-"));

process.on("exit", () => rmSync(work, { recursive: true, force: true }));
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"])
	process.on(signal, () => process.exit(128 + constants.signals[signal]));

// A new folder.
export const scratch_folder = (name) => mkdtempSync(join(work, `${name}-`));

// A path for a file of that name, the same each time.
export const scratch_path = (name) => join(work, name);

export function scratch_file(name, text, mode = 0o644) {
	const path = scratch_path(name);

	writeFileSync(path, text, { mode });
	return path;
}
