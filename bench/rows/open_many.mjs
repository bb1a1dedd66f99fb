// SPDX-License-Identifier: Apache-2.0
//
// Opens and closes many connections, against cmtime with as many.
import { cmtime } from "../lib/others.mjs";
import { figure, inTurn, ratio, side } from "../lib/samples.mjs";
import { closeSelected, listen, openMany, openTogether, startPair, stats, stopPair } from "../lib/verbsd.mjs";

const LABEL = "bench=many";

export const place = "rdma";

const cmtimePhases = ({ many }) =>
  `B: the sum of the phases create id, resolve addr, resolve route, create qp and connect of cmtime -c ${many}, per connection.`;

export const rows = [
  {
    id: "open_bulk",
    title: ({ many }) => `open ${many} by one request`,
    unit: "ratio",
    better: "less",
    target: { at_most: 1 },
    note: (options) =>
      `A: the time from POST /v1/connections with count ${options.many} to the 201, divided by ${options.many}. ${cmtimePhases(options)}`,
  },
  {
    id: "open_many",
    title: ({ many }) => `open ${many} by 100 HTTP clients`,
    unit: "ratio",
    better: "less",
    target: { at_most: 1.3 },
    note: (options) =>
      "A: one curl with 100 parallel transfers sends one POST for each connection; the time from its start to the last 201, divided by " +
      `${options.many}. ${cmtimePhases(options)}`,
  },
  {
    id: "close_many",
    title: ({ many }) => `close ${many}`,
    unit: "ratio",
    better: "less",
    target: { at_most: 1 },
    note: () =>
      "A: the time from DELETE by label until no connection is open: disconnect, drain, and destruction of the queue pairs. " +
      "B: the phase disconnect of cmtime. It does not include the destruction, which is another phase of cmtime.",
  },
  {
    id: "cpu_active",
    title: () => "processor time of an open on the side that connects",
    unit: "ms",
    better: "less",
    target: { at_most: 3 },
    note: () => "The growth of process_cpu_ns of /v1/stats during open_many, divided by the number of connections. The target is half of 6.0 ms.",
  },
  {
    id: "cpu_passive",
    title: () => "processor time of an open on the side that listens",
    unit: "ms",
    better: "less",
    target: { at_most: 2.6 },
    note: () => "Measured like cpu_active. The target is half of 5.2 ms.",
  },
];

// µs per connection to open by one request and by many, and to close, and the ms of processor time that both sides take to open one.
async function sampleVerbsd(pair, listener, count) {
  const request = { dst_port: listener.port, labels: { bench: "many" } };
  const bulk_s = await openTogether(pair, request, count);
  await closeSelected(pair, LABEL);
  const before = [await stats(pair.a), await stats(pair.b)];
  const open_s = await openMany(pair, request, count);
  const after = [await stats(pair.a), await stats(pair.b)];
  const [active_ms, passive_ms] = after.map(({ process_cpu_ns }, at) => (process_cpu_ns - before[at].process_cpu_ns) / 1e6 / count);
  const close_s = await closeSelected(pair, LABEL);
  const [bulk, open, close] = [bulk_s, open_s, close_s].map((seconds) => (seconds * 1e6) / count);
  return { bulk, open, close, active_ms, passive_ms };
}

export async function measure({ verbsd, pairs, many }) {
  const pair = await startPair(verbsd);
  const listener = await listen(pair);
  await sampleVerbsd(pair, listener, Math.ceil(many / 10)); // the first ones fault pages in
  const { ours, theirs } = await inTurn(`open and close ${many}`, pairs, {
    ours: () => sampleVerbsd(pair, listener, many),
    theirs: () => cmtime(many),
  });
  await stopPair(pair);
  const against = (ourStep, theirStep) =>
    ratio(
      side("verbsd", "µs each", ours.map((sample) => sample[ourStep])),
      side(`cmtime -c ${many}`, "µs each", theirs.map((sample) => sample[theirStep])),
    );
  return {
    open_bulk: against("bulk", "open"),
    open_many: against("open", "open"),
    close_many: against("close", "close"),
    cpu_active: figure(ours.map(({ active_ms }) => active_ms)),
    cpu_passive: figure(ours.map(({ passive_ms }) => passive_ms)),
  };
}
