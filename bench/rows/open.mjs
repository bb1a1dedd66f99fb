// SPDX-License-Identifier: Apache-2.0
//
// Opens one connection at a time, warm, against cmtime's share of many and against cmtime alone.
import { cmtime } from "../lib/others.mjs";
import { inTurn, median, ratio, side } from "../lib/samples.mjs";
import { closeSelected, curlOpens, listen, startPair, stopPair } from "../lib/verbsd.mjs";

const CMTIME_RUNS = 5;

export const place = "rdma";

const ours = ({ opens }) =>
  `A: POST /v1/connections until its 201 as curl sees it, the median of ${opens} over one keep-alive connection.`;

export const rows = [
  {
    id: "open_share",
    title: ({ opens }) => `open one, against a share of ${opens}`,
    unit: "ratio",
    better: "less",
    target: { at_most: 1.3 },
    note: (options) =>
      `${ours(options)} B: the phases of cmtime up to connect, per connection. It takes all through a phase together, so that ` +
      "they share the waiting, which a connection alone can't.",
  },
  {
    id: "open_alone",
    title: () => "open one, like for like",
    unit: "ratio",
    better: "less",
    target: { at_most: 1 },
    note: (options) =>
      `${ours(options)} B: cmtime -c 1, the median of ${CMTIME_RUNS} runs. Each is a fresh process whose first connection it is, ` +
      "which flatters A.",
  },
];

// In µs. Without the first one, which also opens the TCP connection.
async function openInTurn(pair, listener, count) {
  const [, ...lines] = await curlOpens(pair, { dst_port: listener.port, labels: { bench: "one" } }, count + 1);
  if (lines.some(([, connects]) => connects !== 0)) throw new Error("curl did not keep its connection");
  await closeSelected(pair, "bench=one");
  return median(lines.map(([, , seconds]) => seconds)) * 1e6;
}

// A single connection has no average, so the median of some runs.
async function cmtimeAlone() {
  const runs = [];
  while (runs.length < CMTIME_RUNS) runs.push((await cmtime(1)).open);
  return median(runs);
}

export async function measure({ verbsd, pairs, opens }) {
  const pair = await startPair(verbsd);
  const listener = await listen(pair);
  await openInTurn(pair, listener, opens); // the first ones fault pages in
  const values = await inTurn("open one", pairs, {
    verbsd: () => openInTurn(pair, listener, opens),
    share: async () => (await cmtime(opens)).open,
    alone: () => cmtimeAlone(),
  });
  await stopPair(pair);
  const a = side("verbsd", "µs", values.verbsd);
  return {
    open_share: ratio(a, side(`cmtime -c ${opens}`, "µs", values.share)),
    open_alone: ratio(a, side("cmtime -c 1", "µs", values.alone)),
  };
}
