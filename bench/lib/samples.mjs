// SPDX-License-Identifier: Apache-2.0
//
// Takes samples in turn, and makes ratios of them.
//
// A topic returns an outcome for each row: { values, a, b }. The values are its figures, one for each pair of
// samples. a and b, where there are two sides, are { label, unit, values }.

export function progress(line) {
  process.stderr.write(`bench: ${line}\n`);
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Takes one sample of each in turn, `pairs` times: { name: [value, …] }.
export async function inTurn(title, pairs, samplers) {
  const values = Object.fromEntries(Object.keys(samplers).map((name) => [name, []]));
  for (let pair = 1; pair <= pairs; pair++) {
    for (const [name, sample] of Object.entries(samplers)) values[name].push(await sample());
    const latest = Object.entries(values).map(([name, list]) => `${name} ${shown(list.at(-1))}`);
    progress(`${title}, ${pair} of ${pairs}: ${latest.join(", ")}`);
  }
  return values;
}

function shown(sample) {
  return typeof sample === "number" ? sample.toPrecision(4) : Object.values(sample).map((value) => value.toPrecision(4)).join("/");
}

export function side(label, unit, values) {
  return { label, unit, values };
}

// The outcome of a row that compares two sides.
export function ratio(a, b) {
  return { values: a.values.map((value, pair) => value / b.values[pair]), a, b };
}

// The outcome of a row that says by how much A exceeds B.
export function difference(a, b) {
  return { values: a.values.map((value, pair) => value - b.values[pair]), a, b };
}

// The outcome of a row that is an absolute figure.
export function figure(values) {
  return { values };
}

// A quantile of what was counted between two readings of a histogram's cumulative buckets, [[upper bound, count], …],
// by linear interpolation in its bucket, as histogram_quantile of Prometheus does it.
export function quantileBetween(before, after, quantile) {
  const grown = after.map(([bound, count], at) => [bound, count - before[at][1]]);
  const rank = quantile * grown.at(-1)[1];
  const at = grown.findIndex(([, count]) => count >= rank);
  const [low, below] = at > 0 ? grown[at - 1] : [0, 0];
  const [high, count] = grown[at];
  return high === Infinity ? low : low + ((high - low) * (rank - below)) / (count - below);
}
