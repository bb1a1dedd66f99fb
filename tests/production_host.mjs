// SPDX-License-Identifier: Apache-2.0
//
// The blocks of docs/production.md, as written there.
import { readFileSync } from "node:fs";

const page = readFileSync(new URL("../docs/production.md", import.meta.url), "utf8");

// Returns the blocks below a heading: [{ language, text }].
const below = (heading) => [...page.split(/^## /m).find((section) => section.startsWith(`${heading}\n`))
	.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, text]) => ({ language, text }));

// Returns the blocks in a language below a heading.
export const blocks = (heading, language) => below(heading).filter((block) => block.language === language).map(({ text }) => text);

export const [callers] = blocks("Who may do what", "yaml");
export const [files] = blocks("Who may do what", "sh");
export const [settings] = blocks("The configuration", "yaml");
export const [unit] = blocks("The configuration", "ini");
