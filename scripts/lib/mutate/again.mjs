// SPDX-License-Identifier: Apache-2.0
//
// The mutants that survived an earlier run, on sources whose lines may have moved since.

import { readFileSync } from "node:fs";
import { join } from "node:path";

// Returns the number of the line with this text that is nearest to `line`, or `line` when there is none.
function nearest(lines, text, line) {
	const found = lines.flatMap((each, at) => (each === text ? [at + 1] : []));

	return found.sort((a, b) => Math.abs(a - line) - Math.abs(b - line))[0] ?? line;
}

// Returns a generator of the survivors in the result `path`, which --json wrote.
export function* survivors_of(root, path) {
	const { records } = JSON.parse(readFileSync(path, "utf8"));

	for (const { file, line, operator, before, after, outcome } of records) {
		if (outcome === "survived")
			yield { file, line: nearest(readFileSync(join(root, file), "utf8").split("\n"), before, line), operator, before, after };
	}
}
