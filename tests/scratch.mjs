// SPDX-License-Identifier: Apache-2.0
//
// Temporary folders and files. All are in one folder, which is removed when the process ends, even after a failed test
// or a signal (except SIGKILL).

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";

const work = mkdtempSync(join(tmpdir(), "verbsd-test-"));

process.on("exit", () => rmSync(work, { recursive: true, force: true }));
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"])
	process.on(signal, () => process.exit(128 + constants.signals[signal]));

// Returns a new folder.
export const scratch_folder = (name) => mkdtempSync(join(work, `${name}-`));

// Returns the path of a file of that name, the same each time.
export const scratch_path = (name) => join(work, name);

export function scratch_file(name, text, mode = 0o644) {
	const path = scratch_path(name);

	writeFileSync(path, text, { mode });
	return path;
}
