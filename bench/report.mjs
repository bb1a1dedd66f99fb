// SPDX-License-Identifier: Apache-2.0
//
// usage: report.mjs NATIVE.json RDMA.json VERSIONS [FILE]
//
// Prints the table. Writes the JSON to FILE, or prints it after the table.
import { readFileSync, writeFileSync } from "node:fs";

const [nativeFile, rdmaFile, versions, jsonFile] = process.argv.slice(2);
const native = JSON.parse(readFileSync(nativeFile, "utf8"));
const rdma = JSON.parse(readFileSync(rdmaFile, "utf8"));
const rows = [...rdma.rows, ...native.rows];

function number(value) {
  return value >= 1000 ? value.toFixed(0) : value.toPrecision(3);
}

function printTable(lines) {
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  for (const line of lines) console.log(line.map((cell, column) => cell.padEnd(widths[column])).join("  ").trimEnd());
}

const head = ["", "measured", "A", "B", "A / B", "range", "pairs", "better", "A, B (medians)"];
const cells = rows.map((row, at) => [
  `${at + 1}`,
  row.title,
  row.a.label,
  row.b.label,
  number(row.ratio.median),
  `${number(row.ratio.min)}..${number(row.ratio.max)}`,
  String(row.pairs),
  row.better,
  `${number(row.a.median)}, ${number(row.b.median)} ${row.unit}`,
]);
console.log("Only the ratios A / B count: A and B were taken in turn (A B A B …). Absolute figures vary by 3 from run to run.\n");
printTable([head, ...cells]);
console.log("");
rows.forEach((row, at) => console.log(`${at + 1}: ${row.note}`));
const { mode, kernel, cpus, cpu } = rdma.machine;
console.log(`\nDevice: rdma_rxe ${mode === "native" ? "or hardware, natively" : "in the guest"}; kernel ${kernel}; ${cpus} CPUs, ${cpu}.`);
console.log(`Natively: kernel ${native.machine.kernel}; ${native.machine.cpus} CPUs, ${native.machine.cpu}.`);
console.log(`Versions: ${versions}.`);

const json = `${JSON.stringify({ versions: versions.split(", "), rdma: rdma.machine, native: native.machine, rows }, null, 2)}\n`;
if (jsonFile) writeFileSync(jsonFile, json);
else process.stdout.write(`\n${json}`);
