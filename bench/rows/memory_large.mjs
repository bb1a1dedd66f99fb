// SPDX-License-Identifier: Apache-2.0
//
// Memory of a daemon with very many idle connections that have the default parameters.
import { figure, progress } from "../lib/samples.mjs";
import { listen, memory, openTogether, startPair, stats, stopPair } from "../lib/verbsd.mjs";

const REQUEST_MOST = 1000; // connections of one request
const MIB = 1024 * 1024;

export const place = "rdma";
export const large = true;

const how = ({ scale_large }) =>
  `Proportional memory (Pss of /proc/PID/smaps) of the whole process on the side that connects, with ${scale_large} connections that were ` +
  "opened with the default parameters.";

function row(id, what, more) {
  return {
    id,
    title: ({ scale_large }) => `memory of the daemon with ${scale_large} idle connections, ${what}`,
    unit: "MiB",
    better: "less",
    target: { at_most: 512 },
    note: (options) => `${how(options)} ${more}`,
  };
}

export const rows = [
  row("memory_own_large", "without the provider's queues", "The queues that the driver maps (from /dev/infiniband) are left out."),
  row("memory_all_large", "with the provider's queues", "The queues that the driver maps (from /dev/infiniband) are included; qp.sq_depth and qp.rq_depth set the size of these queues."),
];

async function sample({ verbsd, scale_large }) {
  const pair = await startPair(verbsd);
  const { port } = await listen(pair, { backlog: 1024 });
  for (let open = 0; open < scale_large; open += REQUEST_MOST)
    await openTogether(pair, { dst_port: port }, Math.min(REQUEST_MOST, scale_large - open));
  const { connections } = await stats(pair.a);
  if (connections !== scale_large) throw new Error(`${connections} connections are open, not ${scale_large}`);
  const { own, provider } = memory(pair.a.child);
  await stopPair(pair);
  progress(`${scale_large} connections with default parameters: own ${(own / MIB).toFixed(0)} MiB, provider ${(provider / MIB).toFixed(0)} MiB`);
  return { own: own / MIB, all: (own + provider) / MIB };
}

export async function measure(options) {
  const samples = [];
  while (samples.length < options.rounds) samples.push(await sample(options));
  return Object.fromEntries(["own", "all"].map((of) => [`memory_${of}_large`, figure(samples.map((values) => values[of]))]));
}
