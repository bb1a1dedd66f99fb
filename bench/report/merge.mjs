// SPDX-License-Identifier: Apache-2.0
//
// usage: merge.mjs FILE COMMAND VERSIONS LOAD RESULT.json…
//
// Makes one result of what measure.mjs printed in each place, and writes it to FILE. LOAD is the load average of the machine
// before the run.
import { readFileSync, writeFileSync } from "node:fs";

const [file, command, versions, load, ...parts] = process.argv.slice(2);
const date = `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`;
const result = { date, command, versions: versions.split(", "), load: Number(load), rdma: null, native: null, rows: [] };
for (const part of parts) {
  const { place, machine, rows } = JSON.parse(readFileSync(part, "utf8"));
  result[place] = machine;
  result.rows.push(...rows);
}
writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
