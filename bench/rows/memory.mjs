// SPDX-License-Identifier: Apache-2.0
//
// Memory that an idle connection takes of the daemon that opened it.
import { figure, inTurn } from "../lib/samples.mjs";
import { call, listen, memory as memoryOf, openMany, startPair, stopPair } from "../lib/verbsd.mjs";

const SRQ_CQE = 30_000;

export const place = "rdma";

const how = ({ idle }) =>
  `The growth of proportional memory (Pss of /proc/PID/smaps) of the side that connects, by ${idle} connections, after as many that warmed it up.`;

function row(id, title, at_most, what) {
  return {
    id,
    title: () => title,
    unit: "KiB",
    better: "less",
    ...(at_most && { target: { at_most } }),
    note: (options) => `${how(options)} ${what}`,
  };
}

export const rows = [
  row("memory_own", "memory of an idle connection: ours", 24, "All but the mappings of the device."),
  row("memory_own_srq", "memory of an idle connection over an SRQ: ours", 8, "As memory_own."),
  row("memory_provider", "memory of an idle connection: the provider's queues", 0, "Only the mappings of the device: send and receive queue. qp.sq_depth and qp.rq_depth set their size."),
  row("memory_provider_srq", "memory of an idle connection over an SRQ: the provider's queues", 0, "As memory_provider."),
];

// An SRQ whose connections have room in its completion queue, which is theirs as well: the default holds about a hundred.
async function createSrq({ a }) {
  const cq = await call("POST", `${a.url}/v1/cqs`, 201, { cqe: SRQ_CQE });
  return (await call("POST", `${a.url}/v1/srqs`, 201, { cq: cq.id })).id;
}

// KiB per connection: { own, provider }.
async function sample(verbsd, count, srq) {
  const pair = await startPair(verbsd);
  const listener = await listen(pair);
  const qp = srq ? { srq: await createSrq(pair) } : {};
  const request = { dst_port: listener.port, qp };
  await openMany(pair, request, count);
  const before = memoryOf(pair.a.child);
  await openMany(pair, request, count);
  const after = memoryOf(pair.a.child);
  await stopPair(pair);
  return Object.fromEntries(["own", "provider"].map((of) => [of, (after[of] - before[of]) / 1024 / count]));
}

export async function measure({ verbsd, pairs, idle }, wants) {
  const outcomes = {};
  for (const suffix of ["", "_srq"]) {
    if (!wants(`memory_own${suffix}`) && !wants(`memory_provider${suffix}`)) continue;
    const { kib } = await inTurn(`memory${suffix}`, pairs, { kib: () => sample(verbsd, idle, suffix !== "") });
    for (const of of ["own", "provider"]) outcomes[`memory_${of}${suffix}`] = figure(kib.map((values) => values[of]));
  }
  return outcomes;
}
