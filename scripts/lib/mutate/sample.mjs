// SPDX-License-Identifier: Apache-2.0
//
// Mutants in an order that only the seed and the sources decide.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { mutants_of } from "./operators.mjs";

// Returns a generator of numbers from 0 up to 1, the same for the same seed (mulberry32).
function random_of(seed) {
	let state = seed >>> 0;

	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

function by_line(mutants) {
	const lines = new Map();

	for (const mutant of mutants)
		lines.set(mutant.line, [...(lines.get(mutant.line) ?? []), mutant]);
	return [...lines.values()];
}

function* draw(lines, random) {
	while (lines.length > 0) {
		const [drawn] = lines.splice(Math.floor(random() * lines.length), 1);
		yield drawn[Math.floor(random() * drawn.length)];
	}
}

// Returns a generator of one mutant of each line that has any, in random order. Lines are drawn, then one of the
// mutants of the line: a line with many operators is not drawn more often. The sources are read at once.
export function sample(root, files, seed) {
	return draw(files.flatMap((file) => by_line(mutants_of(file, readFileSync(join(root, file), "utf8")))), random_of(seed));
}
