// SPDX-License-Identifier: Apache-2.0
//
// Says of each row whether it became better or worse than in an older result.
import { number, printTable, rangeText } from "./table.mjs";

// A range of fewer samples says too little about noise.
export const PAIRS_MIN = 3;

// "better" and "worse" only where the ranges of both runs have nothing in common.
export function verdict(before, after) {
  if (!before) return "new row";
  if (before.failure || after.failure) return "not measured";
  if (before.title !== after.title || before.unit !== after.unit) return "measures something else";
  if (Math.min(before.pairs, after.pairs) < PAIRS_MIN) return "too few samples";
  const [a, b] = [before.value, after.value];
  if (a.min <= b.max && b.min <= a.max) return "same";
  return b.median < a.median === (after.better === "less") ? "better" : "worse";
}

function line(before, after) {
  const values = [before, after].map((row) => (row?.value ? `${number(row.value.median)} (${rangeText(row.value)})` : "-"));
  return [after.id, after.title, ...values, after.unit, verdict(before, after)];
}

export function printComparison(old, rows) {
  const find = (id) => old.rows.find((row) => row.id === id);
  console.log(`\nAgainst the run of ${old.date}, ${old.versions[0]}. Ranges that overlap are the same; fewer than ${PAIRS_MIN} samples say nothing.\n`);
  printTable([["id", "measured", "before", "now", "unit", "verdict"], ...rows.map((row) => line(find(row.id), row))]);
}
