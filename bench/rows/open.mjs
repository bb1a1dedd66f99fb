// SPDX-License-Identifier: Apache-2.0
//
// Opens one connection at a time, warm, against cmtime's share of many and against cmtime alone.
import { cmtime } from "../lib/others.mjs";
import { inTurn, median, ratio, side } from "../lib/samples.mjs";
import { closeSelected, curlOpens, listen, startPair, stopPair } from "../lib/verbsd.mjs";

const CMTIME_RUNS = 5;

export const place = "rdma";

const ours = ({ opens }) =>
  `A: the time from POST /v1/connections to the 201, as curl measures it; the median of ${opens} requests over one keep-alive connection.`;

export const rows = [
  {
    id: "open_share",
    title: ({ opens }) => `open one, compared with the share of one in cmtime's ${opens}`,
    unit: "ratio",
    better: "less",
    target: { at_most: 1.3 },
    note: (options) =>
      `${ours(options)} B: the phases of cmtime up to connect, per connection. cmtime takes all connections through a phase ` +
      "together, so the connections share the waiting time. A connection alone can't share it.",
  },
  {
    id: "open_alone",
    title: () => "open one, compared with cmtime opening one",
    unit: "ratio",
    better: "less",
    target: { at_most: 1 },
    note: (options) =>
      `${ours(options)} B: the time of cmtime -c 1, the median of ${CMTIME_RUNS} runs. Each run of cmtime is a fresh process that opens ` +
      "its first connection, while verbsd has opened others before. So the ratio looks better for verbsd than it is.",
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
