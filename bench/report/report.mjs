// SPDX-License-Identifier: Apache-2.0
//
// usage: report.mjs RESULT.json OLD.json|'' DOCUMENT|''
//
// Prints the table of a result. With OLD.json, says what became better or worse; with DOCUMENT, writes the figures there.
// Exit status 1 when a row was not measured.
import { readFileSync } from "node:fs";
import { printComparison } from "./compare.mjs";
import { writeFigures } from "./doc.mjs";
import { cells, head, loadText, machineText, printTable } from "./table.mjs";

const [resultFile, oldFile, document] = process.argv.slice(2);
const result = JSON.parse(readFileSync(resultFile, "utf8"));
const { rows } = result;

console.log("A and B were taken in turn (A B A B …). Absolute figures vary by 3 from run to run under emulation: compare ratios.\n");
printTable([head, ...rows.map(cells)]);
console.log("");
for (const { id, note, failure } of rows) console.log(`${id}: ${failure ? `NOT MEASURED: ${failure}` : note}`);
console.log("");
if (result.rdma) console.log(`With a device: ${machineText(result.rdma)}.`);
if (result.native) console.log(`Without a device: ${machineText(result.native)}.`);
console.log(`Versions: ${result.versions.join(", ")}. Run of ${result.date}: ${result.command}; ${loadText(result)}.`);
const judged = rows.filter(({ met }) => typeof met === "boolean");
console.log(`Targets met: ${judged.filter(({ met }) => met).length} of ${judged.length}.`);

if (oldFile) printComparison(JSON.parse(readFileSync(oldFile, "utf8")), rows);
if (document) writeFigures(document, result);
if (rows.some(({ failure }) => failure)) process.exitCode = 1;
