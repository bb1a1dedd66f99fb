// SPDX-License-Identifier: Apache-2.0
//
// Several connections at a time, of daemons with two workers and with one.
import { inTurn, ratio, side } from "../lib/samples.mjs";
import { call, listen, open, startPair, stopPair } from "../lib/verbsd.mjs";

const CONNECTIONS = 4;
const MIB = 1024 * 1024;
const QP = { sq_depth: 63 }; // the default is for idle connections
const KINDS = {
  workers_bandwidth: { title: "writes of 64 KiB", size_bytes: 65536, op: "write", unit: "MiB/s", of: ({ bytes_per_s }) => bytes_per_s / MIB },
  workers_ops: { title: "reads of 64 B", size_bytes: 64, op: "read", unit: "1/s", of: ({ bytes_per_s }) => bytes_per_s / 64 },
};

export const place = "rdma";

export const rows = Object.entries(KINDS).map(([id, { title }]) => ({
  id,
  title: () => `${title} over ${CONNECTIONS} connections at a time, with 2 workers compared with 1 worker`,
  unit: "ratio",
  better: "more",
  note: () =>
    `The sum of ${CONNECTIONS} benchmarks that run at the same time with qp.poll events. A: 2 workers in each daemon. B: 1 worker in each daemon. ` +
    "The daemons and the software device share the processors, so a second worker helps only if a processor is idle.",
}));

function messages({ messages_max, transfer_mib }, size_bytes) {
  return Math.min(messages_max, Math.floor((transfer_mib * MIB) / size_bytes));
}

async function sample(options, { size_bytes, op, of }, workers) {
  const pair = await startPair(options.verbsd, [`workers=${workers}`]);
  const listener = await listen(pair);
  const remote = await call("POST", `${pair.b.url}/v1/buffers`, 201, { size_bytes, access: ["remote_write", "remote_read"] });
  const local = await call("POST", `${pair.a.url}/v1/buffers`, 201, { size_bytes });
  const request = { op, size_bytes, count: messages(options, size_bytes), buffer: local.id, remote: { addr: remote.addr, rkey: remote.rkey }, timeout_ms: 120_000 };
  const connections = [];
  while (connections.length < CONNECTIONS) connections.push(await open(pair, listener, { qp: QP }));
  const done = await Promise.all(connections.map(({ id }) => call("POST", `${pair.a.url}/v1/benchmarks`, 201, { ...request, connection: id })));
  await stopPair(pair);
  return done.map(of).reduce((sum, rate) => sum + rate);
}

export async function measure(options, wants) {
  const outcomes = {};
  for (const [id, kind] of Object.entries(KINDS)) {
    if (!wants(id)) continue;
    const values = await inTurn(id, options.pairs, { two: () => sample(options, kind, 2), one: () => sample(options, kind, 1) });
    outcomes[id] = ratio(side("2 workers", kind.unit, values.two), side("1 worker", kind.unit, values.one));
  }
  return outcomes;
}
