// SPDX-License-Identifier: Apache-2.0
//
// Runs the lines of docs/recipes.md, as a user would paste them.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { Program, ok } from "../rdma/lib.mjs";
import { scratch_path } from "../scratch.mjs";

const page = fileURLToPath(new URL("../../docs/recipes.md", import.meta.url));

// An emulated guest starts each of the programs slowly.
const PATIENCE_MS = 120_000;
const MOST_LINES = 2;

// Returns {title: lines}; the lines before the first recipe have the page's own title.
export function read_recipes() {
	const recipes = {};
	let title = "";

	for (const line of readFileSync(page, "utf8").split("\n")) {
		if (line.startsWith("#")) {
			title = line.replace(/^#+ /, "");
			recipes[title] = [];
		} else if (line.startsWith("    ")) {
			recipes[title].push(line.slice(4));
		}
	}
	for (const [name, lines] of Object.entries(recipes).slice(1))
		ok(lines.length >= 1 && lines.length <= MOST_LINES, `${name}: ${lines.length} lines`);
	return recipes;
}

// Begins to run the lines of one recipe, after setting the variables `set`; any line that fails ends it.
export const begin = (lines, set) => new Program("bash", ["-euo", "pipefail", "-c",
	[...Object.entries(set).map(([name, value]) => `${name}='${value}'`), ...lines, `printf %s "\${C:-}" >'${scratch_path("C")}'`].join("\n")]);

// Returns the output of a recipe, and the variable C as it left it.
export async function finished(program) {
	const output = await program.success(PATIENCE_MS);

	return { output, C: readFileSync(scratch_path("C"), "utf8") };
}
