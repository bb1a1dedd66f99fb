// SPDX-License-Identifier: Apache-2.0
//
// usage: measure.mjs native|rdma OPTIONS
//
// Takes the measurements of the rows of one place, and prints them as JSON. OPTIONS is a JSON object: verbsd, bare:
// programs; work: a folder; only: ids of rows, empty for all; large: whether all has those of large; the others are
// sizes of samples, which bench/run sets.
import os from "node:os";
import { setWorkFolder, stopAll, takeDeaths } from "./lib/programs.mjs";
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
function finish({ id, title, unit, better, target, note }, outcome, failure) {
  const row = { id, title: title(options), unit, better, target: target ?? null, note: note(options) };
  if (failure) return { ...row, failure };
  const value = summary(outcome.values);
  const sides = ["a", "b"].filter((name) => outcome[name]);
  for (const name of sides) row[name] = { label: outcome[name].label, unit: outcome[name].unit, ...summary(outcome[name].values) };
  return { ...row, pairs: value.values.length, value, met: isMet(target, value.median) };
}

// A topic that fails leaves those after it to be measured.
async function measureTopic(topic) {
  const rows = wantedRows(topic, options);
  const ids = rows.map(({ id }) => id);
  try {
    const outcomes = await topic.measure(options, (id) => ids.includes(id));
    return rows.map((row) => finish(row, outcomes[row.id]));
  } catch (error) {
    const failure = [error.message, error.cause?.message, ...takeDeaths()].filter(Boolean).join("; ");
    progress(`${ids.join(", ")}: ${failure}`);
    return rows.map((row) => finish(row, null, failure));
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
