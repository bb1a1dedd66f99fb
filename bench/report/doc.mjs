// SPDX-License-Identifier: Apache-2.0
//
// Writes the figures of a result into a document, between two markers. Rows of --large have a section of their own, so that a
// run without them leaves their figures.
import { readFileSync, writeFileSync } from "node:fs";
import { cells, head, loadText, machineText, markdownTable } from "./table.mjs";

const SECTIONS = [
  { begin: "<!-- figures: written by bench/run --doc -->", end: "<!-- end of figures -->", has: ({ id }) => !id.endsWith("_large") },
  { begin: "<!-- large figures: written by bench/run --large --doc -->", end: "<!-- end of large figures -->", has: ({ id }) => id.endsWith("_large") },
];

function figures(result) {
  const { date, command, versions, rdma, native, rows } = result;
  const lines = [`Run of ${date}: \`${command}\`; ${loadText(result)}.`, ""];
  if (rdma) lines.push(`- Rows with a device: ${machineText(rdma)}.`);
  if (native) lines.push(`- Rows without a device: ${machineText(native)}.`);
  lines.push(`- ${versions.join(", ")}.`, "", markdownTable([head, ...rows.map(cells)]));
  lines.push("", "How each was measured:", "", ...rows.map(({ id, note }) => `- \`${id}\`: ${note}`));
  return lines.join("\n");
}

function replaced(file, text, { begin, end }, result) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file} has no place for figures: ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n${figures(result)}\n${text.slice(to)}`;
}

export function writeFigures(file, result) {
  let text = readFileSync(file, "utf8");
  for (const section of SECTIONS) {
    const rows = result.rows.filter(section.has);
    if (rows.length > 0) text = replaced(file, text, section, { ...result, rows });
  }
  writeFileSync(file, text);
}
