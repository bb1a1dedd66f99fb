// SPDX-License-Identifier: Apache-2.0
//
// Writes the figures of a result into a document, between two markers.
import { readFileSync, writeFileSync } from "node:fs";
import { cells, head, loadText, machineText, markdownTable } from "./table.mjs";

const BEGIN = "<!-- figures: written by bench/run --doc -->";
const END = "<!-- end of figures -->";

function figures(result) {
  const { date, command, versions, rdma, native, rows } = result;
  const lines = [`Run of ${date}: \`${command}\`; ${loadText(result)}.`, ""];
  if (rdma) lines.push(`- Rows with a device: ${machineText(rdma)}.`);
  if (native) lines.push(`- Rows without a device: ${machineText(native)}.`);
  lines.push(`- ${versions.join(", ")}.`, "", markdownTable([head, ...rows.map(cells)]));
  lines.push("", "How each was measured:", "", ...rows.map(({ id, note }) => `- \`${id}\`: ${note}`));
  return lines.join("\n");
}

export function writeFigures(file, result) {
  const text = readFileSync(file, "utf8");
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${file} has no place for figures: ${BEGIN} … ${END}`);
  writeFileSync(file, `${text.slice(0, begin + BEGIN.length)}\n${figures(result)}\n${text.slice(end)}`);
}
