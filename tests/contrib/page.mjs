// SPDX-License-Identifier: Apache-2.0
//
// Runs the commands that a page shows, and compares what they print with what the page shows.
//
// ```sh        commands; each must succeed
// ```text      the output of the ```sh block before it
// ```console   commands behind a prompt, which may fail, with their output below
//
// In an output all numbers are alike, line breaks count as blanks, and "…" stands for anything. Where a page shows another
// output, a copy of the page with the real one is written into the results folder.

import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

import { PATIENCE_MS, Failure, Program, ok } from "../rdma/lib.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const BLOCK = /^```(sh|text|console)\n(.*?)^```$/gms;
const PROMPT = /^\S*\$ /m;
const MARK = "--- the next block ---";
const WIDTH = 128;

// Returns {language, heading, text} of each block of the page, and of each command of a console; `text` is as the page has it.
export function blocks_of(page) {
	const all = readFileSync(join(root, page), "utf8");

	return [...all.matchAll(BLOCK)].flatMap(({ 1: language, 2: block, index }) => {
		const heading = [...all.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1];

		return (language === "console" ? block.split(/^(?=\S*\$ )/m) : [block]).map((text) => ({ language, heading, text }));
	});
}

const first_line = (text) => text.slice(0, text.indexOf("\n") + 1);
const commands_of = ({ language, text }) => language === "console" ? `{ ${first_line(text).replace(PROMPT, "")}} || true\n` : text;

const alike = (text) => text.replace(/0x[0-9a-f]+|\d[\d.]*( ?(ns|us|ms|s|[KMG]i?B(\/s)?|B(\/s)?)\b)?/g, "#").replace(/\s+/g, " ").trim();

function matches(shown, printed) {
	const parts = alike(shown).split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));

	return new RegExp(`^${parts.join(".*")}$`, "s").test(alike(printed));
}

// Breaks lines at blanks, as a terminal of that width would.
const folded = (text) => text.trimEnd().split("\n").map((line) => line.replace(new RegExp(`(.{1,${WIDTH}})( +|$)`, "g"), "$1\n").trimEnd()).join("\n") + "\n";

// Writes a copy of the page that has the real output into the results folder, for whoever finds the new one right.
function corrected(page, { language, text }, printed) {
	const path = join(process.env.LAB_RESULTS ?? ".", basename(page));
	const command = language === "console" ? first_line(text) : "";

	writeFileSync(path, readFileSync(join(root, page), "utf8").replace(text, () => command + folded(printed)));
	return path;
}

// play PAGE BLOCKS {set, here}: runs the blocks one after the other in one shell, in which `set` are the variables; `here`
// changes the commands for this host.
export async function play(page, blocks, { set = {}, here = (text) => text } = {}) {
	const runs = blocks.filter(({ language }) => language !== "text");
	const script = ["exec 2>&1", ...Object.entries(set).map(([name, value]) => `export ${name}='${value}'`),
		...runs.map((block) => `${here(commands_of(block))}\necho '${MARK}'`)].join("\n");
	const program = new Program("bash", ["-euo", "pipefail", "-c", script]);
	const { status } = await program.end(4 * PATIENCE_MS);
	const printed = program.output.split(`${MARK}\n`);

	ok(status === 0, `${page}: status ${status} of\n${runs[printed.length - 1]?.text}it printed: ${printed.at(-1).slice(-600)}`);
	for (const [i, run] of runs.entries()) {
		const next = blocks[blocks.indexOf(run) + 1];
		const shown = run.language === "console" ? run : next?.language === "text" && next;
		const output = shown && (shown === run ? run.text.slice(first_line(run.text).length) : shown.text);

		if (shown && !matches(output, printed[i]))
			throw new Failure(`${page} shows\n${output}and this was printed:\n${printed[i]}see ${corrected(page, shown, printed[i])}`);
	}
	return printed;
}
