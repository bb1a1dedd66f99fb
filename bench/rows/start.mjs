// SPDX-License-Identifier: Apache-2.0
//
// The first open after the start of both daemons.
import { difference, inTurn, median, side } from "../lib/samples.mjs";
import { call, listen, open, startPair, stopPair } from "../lib/verbsd.mjs";

const LATER_OPENS = 5;

export const place = "rdma";

export const rows = [
  {
    id: "first_open",
    title: () => "from rdma_establish to established: how much longer the first open after the start takes than later ones",
    unit: "ms",
    better: "less",
    target: { at_most: 10 },
    note: () =>
      `The value is A - B; both are from the timelines of connections. A: the first connection of two fresh daemons. B: the median of the next ${LATER_OPENS} connections. ` +
      "The difference is the cost of what happens once, such as a page fault or the start of a thread.",
  },
];

// ms from rdma_establish to the state established.
async function establishTime(pair, listener) {
  const { id } = await open(pair, listener);
  const { items } = await call("GET", `${pair.a.url}/v1/connections/${id}/timeline`, 200);
  const [from, to] = ["rdma_establish", "established"].map((name) => items.find(({ what }) => what === name).since_start_ns);
  return (to - from) / 1e6;
}

async function sample(verbsd) {
  const pair = await startPair(verbsd);
  const listener = await listen(pair);
  const first = await establishTime(pair, listener);
  const next = [];
  while (next.length < LATER_OPENS) next.push(await establishTime(pair, listener));
  await stopPair(pair);
  return { first, next: median(next) };
}

export async function measure({ verbsd, pairs }) {
  const { ms } = await inTurn("first open", pairs, { ms: () => sample(verbsd) });
  const a = side("the first", "ms", ms.map(({ first }) => first));
  return { first_open: difference(a, side("the next", "ms", ms.map(({ next }) => next))) };
}
