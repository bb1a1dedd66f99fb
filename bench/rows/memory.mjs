// SPDX-License-Identifier: Apache-2.0
//
// Memory that an idle connection takes of the daemon that opened it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { figure, inTurn } from "../lib/samples.mjs";
import { call, listen, memory as memoryOf, openTogether, startPair, stats, stopPair } from "../lib/verbsd.mjs";

// The event log grows to its size, however many connections there are: a small one has it before the measurement.
const SETTINGS = ["records.events=256"];

export const place = "rdma";

const how = ({ idle }) =>
  `The proportional memory (Pss of /proc/PID/smaps) by which the side that connects grows with ${idle} connections, per connection, after it has opened as many before. Slabs (registered memory for receives) are counted only as far as connections use them. The guest has no transparent huge pages.`;

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
  row("memory_own", "memory of an idle connection, verbsd's own", 24, "The queues that the driver maps (from /dev/infiniband) are left out."),
  row("memory_own_srq", "memory of an idle connection over an SRQ, verbsd's own", 8, "The queues that the driver maps (from /dev/infiniband) are left out."),
  row("memory_provider", "memory of an idle connection, queues of the provider", 0, "Only the memory that the driver maps (from /dev/infiniband) is counted: the send queue, the receive queue and the completion queue. qp.sq_depth and qp.rq_depth set the size of these queues."),
  row("memory_provider_srq", "memory of an idle connection over an SRQ, queues of the provider", 0, "Only the memory that the driver maps (from /dev/infiniband) is counted."),
];

async function createSrq({ a }) {
  return (await call("POST", `${a.url}/v1/srqs`, 201, {})).id;
}

// Bytes: { own, provider }. Slabs are larger than what one connection takes, so that the last one is seldom full.
async function used({ a }) {
  const { own, provider } = memoryOf(a.child);
  const { receive_slabs_bytes, receive_slabs_taken_bytes } = await stats(a);
  return { own: own - (receive_slabs_bytes - receive_slabs_taken_bytes), provider };
}

// KiB per connection: { own, provider }.
async function sample(verbsd, count, srq) {
  const pair = await startPair(verbsd, SETTINGS);
  const open = async (request) => {
    await openTogether(pair, request, count);
    await call("DELETE", `${pair.a.url}/v1/objects?kind=connection_batch&all=true`, 200); // the record of what was made together
  };
  const listener = await listen(pair);
  const qp = srq ? { srq: await createSrq(pair) } : {};
  const request = { dst_port: listener.port, qp };
  await open(request);
  const before = await used(pair);
  await open(request);
  const after = await used(pair);
  await stopPair(pair);
  return Object.fromEntries(["own", "provider"].map((of) => [of, (after[of] - before[of]) / 1024 / count]));
}

const HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled";

// With transparent huge pages a heap grows in steps of 2 MiB, so that the figure would be one of chance. Only the guest, which
// nobody else uses, is set up without them.
async function withoutHugePages(body) {
  if (process.env.LAB_MODE !== "guest" || !existsSync(HUGE_PAGES)) return body();
  const [, former] = /\[(\w+)\]/.exec(readFileSync(HUGE_PAGES, "utf8"));
  writeFileSync(HUGE_PAGES, "never");
  try {
    return await body();
  } finally {
    writeFileSync(HUGE_PAGES, former);
  }
}

export async function measure({ verbsd, pairs, idle }, wants) {
  const outcomes = {};
  for (const suffix of ["", "_srq"]) {
    if (!wants(`memory_own${suffix}`) && !wants(`memory_provider${suffix}`)) continue;
    const { kib } = await inTurn(`memory${suffix}`, pairs, { kib: () => withoutHugePages(() => sample(verbsd, idle, suffix !== "")) });
    for (const of of ["own", "provider"]) outcomes[`memory_${of}${suffix}`] = figure(kib.map((values) => values[of]));
  }
  return outcomes;
}
