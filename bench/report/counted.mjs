// SPDX-License-Identifier: Apache-2.0
//
// usage: counted.mjs RESULT.json LIBRARIES COUNTED.tsv [1]
//
// Compares the rows of a result of bench/counted.mjs with those that are written down, and with 1 writes them there.
// Another kernel or library gives other numbers: then nothing is compared. Exit status 1 when a row is worse by more than 3 %.
import { readFileSync, writeFileSync } from "node:fs";
import { printTable } from "./table.mjs";

const HELD_PERCENT = 3;
const [resultFile, libraries, file, write] = process.argv.slice(2);
const { kernel, rows } = JSON.parse(readFileSync(resultFile, "utf8"));
const lines = readFileSync(file, "utf8").trimEnd().split("\n").map((line) => line.split("\t"));
const written = (key) => lines.find(([name]) => name === key)?.[1];
const made = { "# kernel": kernel, "# libraries": libraries };
const other = Object.keys(made).filter((key) => written(key) !== made[key]);

function verdict(id) {
  const percent = (100 * rows[id]) / Number(written(id)) - 100;
  const off = Math.abs(percent) > HELD_PERCENT && other.length === 0;
  const worse = off && percent > 0;
  return { id, percent, worse, text: worse ? "WORSE: find out why" : off ? "BETTER: write it down" : "" };
}

const unknown = Object.keys(rows).filter((id) => written(id) === undefined);
if (unknown.length > 0) throw new Error(`${file} has no row ${unknown.join(", ")}`);
const verdicts = Object.keys(rows).map(verdict);
const cells = ({ id, percent, text }) => [id, String(rows[id]), written(id), percent.toFixed(2), text];
printTable([["row", "ns", "written", "%", ""], ...verdicts.map(cells)]);
for (const key of other) console.log(`Not compared: ${key.slice(2)} ${made[key]}; written down for ${written(key)}.`);
if (write) {
  const fresh = lines.map(([key, value, ...more]) => [key, made[key] ?? rows[key] ?? value, ...more].join("\t"));
  writeFileSync(file, `${fresh.join("\n")}\n`);
} else if (verdicts.some(({ worse }) => worse)) {
  console.log("bench/run --counted --write writes these numbers down; the commit says why one is worse.");
  process.exitCode = 1;
}
