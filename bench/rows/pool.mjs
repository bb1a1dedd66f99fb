// SPDX-License-Identifier: Apache-2.0
//
// Opens one connection at a time, with and without queue pairs that were made beforehand.
import { until } from "../lib/programs.mjs";
import { inTurn, median, ratio, side } from "../lib/samples.mjs";
import { closeSelected, curlOpens, listen, startPair, stats, stopPair } from "../lib/verbsd.mjs";

const LABEL = "bench=pool";

export const place = "rdma";

export const rows = [
  {
    id: "open_pool",
    title: () => "open one, with a pool of queue pairs against without",
    unit: "ratio",
    better: "less",
    note: ({ opens }) =>
      `POST /v1/connections until its 201 as curl sees it, the median of ${opens} over one keep-alive connection. A: both sides with a ` +
      `qp_pool of ${opens + 1}, filled before each sample, so that every open finds a queue pair. B: both with qp_pool 0. The pool takes ` +
      "ibv_create_qp and the move to INIT off the way of an open; their processor time was spent before.",
  },
];

// A pool is filled while nothing opens. A fresh daemon fills it after its first open only, which says what of.
async function pooled(pair, queuePairs) {
  for (const daemon of [pair.a, pair.b])
    await until(`${queuePairs} queue pairs in the pool`, daemon.child, async () => (await stats(daemon)).qp_pool_queue_pairs === queuePairs);
}

// In µs. Without the first one, which also opens the TCP connection.
async function openInTurn({ pair, listener, queuePairs }, count) {
  await pooled(pair, queuePairs);
  const before = await stats(pair.a);
  const [, ...lines] = await curlOpens(pair, { dst_port: listener.port, labels: { bench: "pool" } }, count + 1);
  const { qp_pool_hits: hits } = await stats(pair.a);
  await closeSelected(pair, LABEL);
  if (hits - before.qp_pool_hits !== queuePairs) throw new Error(`${hits - before.qp_pool_hits} opens of ${count + 1} found a queue pair in the pool`);
  return median(lines.map(([, , seconds]) => seconds)) * 1e6;
}

// Two daemons that have opened before, which also faults pages in.
async function start(verbsd, queuePairs, count) {
  const pair = await startPair(verbsd, [`qp_pool=${queuePairs}`]);
  const listener = await listen(pair);
  await curlOpens(pair, { dst_port: listener.port, labels: { bench: "pool" } }, count + 1);
  await closeSelected(pair, LABEL);
  return { pair, listener, queuePairs };
}

export async function measure({ verbsd, pairs, opens }) {
  const withPool = await start(verbsd, opens + 1, opens);
  const without = await start(verbsd, 0, opens);
  const values = await inTurn("open one, pool", pairs, {
    with: () => openInTurn(withPool, opens),
    without: () => openInTurn(without, opens),
  });
  await stopPair(withPool.pair);
  await stopPair(without.pair);
  return { open_pool: ratio(side(`qp_pool ${opens + 1}`, "µs", values.with), side("qp_pool 0", "µs", values.without)) };
}
