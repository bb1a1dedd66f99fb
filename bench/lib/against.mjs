// SPDX-License-Identifier: Apache-2.0
//
// Measures rows with an older verbsd and with the present one, in turn.
import { stopAll, takeDeaths } from "./programs.mjs";
import { progress, ratio, side } from "./samples.mjs";

export function failureText(error) {
  return [error.message, error.cause?.message, ...takeDeaths()].filter(Boolean).join("; ");
}

// The figure of one sample: of a row that compares two sides that of A, which is verbsd.
function figureOf(outcome, { unit }) {
  return outcome.a ? { value: outcome.a.values[0], unit: outcome.a.unit } : { value: outcome.values[0], unit };
}

// One sample of rows: { id: { value, unit } or { failure } }. An older verbsd may lack what one row needs, so that those that
// can't be measured together are measured one by one.
async function sample(topic, options, rows) {
  const ids = rows.map(({ id }) => id);
  try {
    const outcomes = await topic.measure({ ...options, pairs: 1, rounds: 1 }, (id) => ids.includes(id));
    return Object.fromEntries(rows.map((row) => [row.id, figureOf(outcomes[row.id], row)]));
  } catch (error) {
    const failure = failureText(error);
    await stopAll();
    if (rows.length === 1) return { [ids[0]]: { failure } };
    const alone = {};
    for (const row of rows) Object.assign(alone, await sample(topic, options, [row]));
    return alone;
  }
}

function outcomeOf(samples, id, against) {
  const [before, after] = ["before", "after"].map((when) => samples.map((pair) => pair[when][id]));
  const failed = (figures) => figures.find(({ failure }) => failure)?.failure;
  if (failed(after)) return { failure: failed(after) };
  if (failed(before)) return { failure: `${against} can't do it: ${failed(before)}` };
  const sideOf = (label, figures) => side(label, figures[0].unit, figures.map(({ value }) => value));
  return ratio(sideOf("after", after), sideOf("before", before));
}

// { id: outcome or { failure } } of the rows of a topic. A is the present verbsd, B the older one.
export async function measureAgainst(topic, options, rows) {
  const samples = [];
  let left = rows;
  while (samples.length < options.pairs && left.length > 0) {
    const before = await sample(topic, { ...options, verbsd: options.against }, left);
    const after = await sample(topic, options, left);
    samples.push({ before, after });
    for (const { id } of left) progress(`${id}, ${samples.length} of ${options.pairs}: before ${before[id].value ?? "-"}, after ${after[id].value ?? "-"}`);
    left = left.filter(({ id }) => !before[id].failure && !after[id].failure);
  }
  const of = ({ id }) => samples.filter(({ before }) => before[id]);
  return Object.fromEntries(rows.map((row) => [row.id, outcomeOf(of(row), row.id, options.against_name)]));
}
