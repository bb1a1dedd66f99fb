// SPDX-License-Identifier: Apache-2.0
//
// Round trips of 64 bytes, one at a time, polling and with events.
import { perftestLatency } from "../lib/others.mjs";
import { inTurn, ratio, side } from "../lib/samples.mjs";
import { call, startPair, stopPair, withConnection } from "../lib/verbsd.mjs";

const SIZE_BYTES = 64;
const READ_BUFFER_BYTES = 4096;

export const place = "rdma";

const sendNote = (poll, option) =>
  `A: the median round trip of a probe of kind echo, both sides with qp.poll ${poll}. B: twice t_typical of ib_send_lat -R${option}; ` +
  "t_typical is half a round trip.";
const readNote = (poll, option) =>
  `A: the median latency of a benchmark with tx_depth 1 and qp.poll ${poll}. B: t_typical of ib_read_lat -R${option}.`;

function row(id, title, at_most, note) {
  return { id, title: () => title, unit: "ratio", better: "less", target: { at_most }, note: () => note };
}

export const rows = [
  row("send_busy", "round trip of 64 B, polling", 1.1, sendNote("busy", "")),
  row("send_events", "round trip of 64 B, with events", 1, sendNote("events", " -e")),
  row("read_busy", "read of 64 B, one at a time, polling", 1, readNote("busy", "")),
  row("read_events", "read of 64 B, one at a time, with events", 1, readNote("events", " -e")),
];

function sampleSend(pair, poll, count) {
  return withConnection(pair, { service: "echo", qp: { poll } }, { service: "sink", qp: { poll } }, async ({ id }) => {
    const ping = { connection: id, kind: "echo", size_bytes: SIZE_BYTES, interval_ms: 0, count, timeout_ms: 60_000 };
    return (await call("POST", `${pair.a.url}/v1/probes`, 201, ping)).rtt_ns.p50 / 1e3;
  });
}

function sampleRead(pair, remote, poll, count) {
  return withConnection(pair, {}, { qp: { poll } }, async ({ id }) => {
    const reads = { connection: id, op: "read", size_bytes: SIZE_BYTES, tx_depth: 1, count, remote, timeout_ms: 60_000 };
    return (await call("POST", `${pair.a.url}/v1/benchmarks`, 201, reads)).latency_ns.p50 / 1e3;
  });
}

async function compare(id, label, pairs, ours, theirs) {
  const values = await inTurn(id, pairs, { verbsd: ours, perftest: theirs });
  return ratio(side("verbsd", "µs", values.verbsd), side(label, "µs", values.perftest));
}

export async function measure({ verbsd, pairs, latency_count }, wants) {
  const pair = await startPair(verbsd);
  const buffer = { size_bytes: READ_BUFFER_BYTES, access: ["remote_read"] };
  const { addr, rkey } = await call("POST", `${pair.b.url}/v1/buffers`, 201, buffer);
  const outcomes = {};
  for (const mode of ["busy", "events"]) {
    const option = mode === "events" ? " -e" : "";
    if (wants(`send_${mode}`)) {
      const theirs = async () => 2 * (await perftestLatency("ib_send_lat", SIZE_BYTES, latency_count, mode));
      const ours = () => sampleSend(pair, mode, latency_count);
      outcomes[`send_${mode}`] = await compare(`send_${mode}`, `ib_send_lat -R${option}`, pairs, ours, theirs);
    }
    if (wants(`read_${mode}`)) {
      const theirs = () => perftestLatency("ib_read_lat", SIZE_BYTES, latency_count, mode);
      const ours = () => sampleRead(pair, { addr, rkey }, mode, latency_count);
      outcomes[`read_${mode}`] = await compare(`read_${mode}`, `ib_read_lat -R${option}`, pairs, ours, theirs);
    }
  }
  await stopPair(pair);
  return outcomes;
}
