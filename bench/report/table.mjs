// SPDX-License-Identifier: Apache-2.0
//
// The cells of a table of rows, for a terminal and for Markdown.

export function number(value) {
  return Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(3);
}

export function rangeText({ min, max }) {
  return `${number(min)}..${number(max)}`;
}

export function targetText({ target }) {
  if (!target) return "-";
  return "at_most" in target ? `≤ ${target.at_most}` : `≥ ${target.at_least}`;
}

function metText(row) {
  if (row.failure) return "not measured";
  if (row.met === null) return "-";
  return row.met ? "yes" : "no";
}

function sideText(side) {
  return side ? `${side.label}: ${number(side.median)} ${side.unit}` : "-";
}

export const head = ["id", "measured", "median", "range", "target", "met", "A", "B", "pairs"];

export function cells(row) {
  const measured = row.failure ? ["-", "-"] : [unitText(row), rangeText(row.value)];
  return [row.id, row.title, ...measured, targetText(row), metText(row), sideText(row.a), sideText(row.b), String(row.pairs ?? 0)];
}

function unitText({ unit, value }) {
  return unit === "ratio" ? number(value.median) : `${number(value.median)} ${unit}`;
}

export function printTable(lines) {
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  for (const line of lines) console.log(line.map((cell, column) => cell.padEnd(widths[column])).join("  ").trimEnd());
}

export function markdownTable(lines) {
  const [first, ...rest] = lines.map((line) => `| ${line.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
  return [first, `|${"---|".repeat(lines[0].length)}`, ...rest].join("\n");
}

export function machineText({ mode, kernel, cpus, cpu, memory_bytes }) {
  const where = mode === "guest" ? "in the guest of the lab, rdma_rxe" : "on the machine itself";
  return `${where}; Linux ${/^[\d.]+/.exec(kernel)[0]}; ${cpus} processors, ${cpu}; ${Math.round(memory_bytes / 2 ** 20)} MiB`;
}

// On a machine with other work figures are worse, of all programs, and ranges wider.
export function loadText({ load }) {
  return `load average of the machine before the run: ${load}`;
}
