// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads of several sizes, as many at a time as perftest has outstanding.
import { perftestBandwidth } from "../lib/others.mjs";
import { inTurn, ratio, side } from "../lib/samples.mjs";
import { call, startPair, stopPair, withConnection } from "../lib/verbsd.mjs";

const MIB = 1024 * 1024;
const PERFTEST_DEPTH = 128;
const MESSAGES_MIN = 16;
const SIZES = [
  [3, "3 B"],
  [4096, "4 KiB"],
  [16384, "16 KiB"],
  [65536, "64 KiB"],
  [262144, "256 KiB"],
  [MIB, "1 MiB"],
];

export const place = "rdma";

function row(op, size_bytes, size) {
  return {
    id: `${op}_${size_bytes}`,
    title: () => `${op} of ${size}`,
    unit: "ratio",
    better: "more",
    target: { at_least: 1 },
    note: (options) =>
      `Both send ${messages(options, size_bytes)} messages, with at most ${PERFTEST_DEPTH} outstanding. A: POST /v1/benchmarks with qp.poll events. ` +
      `B: ib_${op}_bw -R, a program that never sleeps, and so competes with the software device for the processors.`,
  };
}

export const rows = ["write", "read"].flatMap((op) => SIZES.map(([size_bytes, size]) => row(op, size_bytes, size)));

// As many as give samples of about the same length.
function messages({ messages_max, transfer_mib }, size_bytes) {
  return Math.max(MESSAGES_MIN, Math.min(messages_max, Math.floor((transfer_mib * MIB) / size_bytes)));
}

function benchmark(pair, request) {
  return withConnection(pair, {}, { qp: { sq_depth: PERFTEST_DEPTH } }, async ({ id }) => {
    const done = await call("POST", `${pair.a.url}/v1/benchmarks`, 201, { connection: id, timeout_ms: 120_000, ...request });
    return done.bytes_per_s / MIB;
  });
}

export async function measure(options, wants) {
  const pair = await startPair(options.verbsd);
  const remote = await call("POST", `${pair.b.url}/v1/buffers`, 201, { size_bytes: MIB, access: ["remote_write", "remote_read"] });
  const local = await call("POST", `${pair.a.url}/v1/buffers`, 201, { size_bytes: MIB });
  const outcomes = {};
  for (const op of ["write", "read"])
    for (const [size_bytes] of SIZES) {
      const id = `${op}_${size_bytes}`;
      if (!wants(id)) continue;
      const count = messages(options, size_bytes);
      const request = { op, size_bytes, count, buffer: local.id, remote: { addr: remote.addr, rkey: remote.rkey } };
      const values = await inTurn(id, options.pairs, {
        verbsd: () => benchmark(pair, request),
        perftest: () => perftestBandwidth(`ib_${op}_bw`, size_bytes, count),
      });
      outcomes[id] = ratio(side("verbsd", "MiB/s", values.verbsd), side(`ib_${op}_bw -R`, "MiB/s", values.perftest));
    }
  await stopPair(pair);
  return outcomes;
}
