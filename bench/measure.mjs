// SPDX-License-Identifier: Apache-2.0
//
// usage: measure.mjs native|rdma OPTIONS
//
// Takes the measurements of the rows of one place, and prints them as JSON. OPTIONS is a JSON object: verbsd, bare:
// programs; against: an older verbsd, against_name: its revision, empty for none; work: a folder; only: ids of rows, empty for all; large: whether all has those of large; the others are
// sizes of samples, which bench/run sets.
import os from "node:os";
import { failureText, measureAgainst } from "./lib/against.mjs";
import { setWorkFolder, stopAll } from "./lib/programs.mjs";
import { median, progress } from "./lib/samples.mjs";
import { topics } from "./rows/index.mjs";
import { wantedRows } from "./rows/select.mjs";

const [place, text] = process.argv.slice(2);
const options = JSON.parse(text);

function summary(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), values };
}

function isMet(target, value) {
  if (!target) return null;
  return "at_most" in target ? value <= target.at_most : value >= target.at_least;
}

// A row of the result from what is declared of it and what was measured, or why it was not.
function finish({ id, title, unit, better, target, note }, outcome) {
  const row = { id, title: title(options), unit, better, target: target ?? null, note: note(options) };
  if (outcome.failure) return { ...row, failure: outcome.failure };
  const value = summary(outcome.values);
  const sides = ["a", "b"].filter((name) => outcome[name]);
  for (const name of sides) row[name] = { label: outcome[name].label, unit: outcome[name].unit, ...summary(outcome[name].values) };
  return { ...row, pairs: value.values.length, value, met: isMet(target, value.median) };
}

// The row that tells by how much verbsd has changed. The target compares with another program, so it is none of this row.
function asChange({ id, title, unit, better, note }) {
  const what = `A: verbsd as it is now. B: verbsd of ${options.against_name}.`;
  return { id, title, unit: "ratio", better, note: () => `${what} In ${unit === "ratio" ? "the unit of the A of" : "the unit of"} the row: ${note(options)}` };
}

// A topic that fails leaves those after it to be measured.
async function measureTopic(topic) {
  const rows = wantedRows(topic, options);
  const ids = rows.map(({ id }) => id);
  try {
    const outcomes = options.against
      ? await measureAgainst(topic, options, rows)
      : await topic.measure(options, (id) => ids.includes(id));
    return rows.map((row) => finish(options.against ? asChange(row) : row, outcomes[row.id]));
  } catch (error) {
    const failure = failureText(error);
    progress(`${ids.join(", ")}: ${failure}`);
    return rows.map((row) => finish(row, { failure }));
  } finally {
    await stopAll();
  }
}

setWorkFolder(options.work);
const rows = [];
for (const topic of topics.filter((one) => one.place === place && wantedRows(one, options).length > 0))
  rows.push(...(await measureTopic(topic)));
const machine = {
  mode: process.env.LAB_MODE ?? "native",
  kernel: os.release(),
  cpus: os.cpus().length,
  cpu: os.cpus()[0].model,
  memory_bytes: os.totalmem(),
};
process.stdout.write(JSON.stringify({ place, machine, rows }));
