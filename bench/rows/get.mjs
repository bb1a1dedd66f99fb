// SPDX-License-Identifier: Apache-2.0
//
// GET per second against a bare libmicrohttpd, which answers the same bytes.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { startBare, wrk } from "../lib/others.mjs";
import { stop } from "../lib/programs.mjs";
import { inTurn, ratio, side } from "../lib/samples.mjs";
import { listen, open, startPair, startVerbsd, stopPair } from "../lib/verbsd.mjs";

const load = "wrk sends requests over 10 HTTP connections to each program; bare_mhd, the bare libmicrohttpd, sends the same headers and body as verbsd.";

export async function compare(id, url, { bare, work, pairs, wrk_s }) {
  const bodyFile = path.join(work, `${id}.json`);
  writeFileSync(bodyFile, await (await fetch(url)).text());
  const other = await startBare(bare, bodyFile);
  await wrk(url, wrk_s); // a warm-up for both: the first run of a program is slow under emulation
  await wrk(other.url, wrk_s);
  const values = await inTurn(id, pairs, { verbsd: () => wrk(url, wrk_s), bare: () => wrk(other.url, wrk_s) });
  await stop(other.child);
  return ratio(side("verbsd", "1/s", values.verbsd), side("bare libmicrohttpd", "1/s", values.bare));
}

export const connection = {
  place: "rdma",
  rows: [
    {
      id: "get_connection",
      title: () => "GET of a connection",
      unit: "ratio",
      better: "more",
      target: { at_least: 0.5 },
      note: () => `The requests get one RDMA connection that is established. ${load}`,
    },
  ],
  async measure(options) {
    const pair = await startPair(options.verbsd);
    const { id } = await open(pair, await listen(pair));
    const get_connection = await compare("get_connection", `${pair.a.url}/v1/connections/${id}`, options);
    await stopPair(pair);
    return { get_connection };
  },
};

export const native = {
  place: "native",
  rows: [
    {
      id: "get_stats",
      title: () => "GET /v1/stats, on the machine itself",
      unit: "ratio",
      better: "more",
      target: { at_least: 0.5 },
      note: () => `Measured on the machine itself: without a device, and without the emulation of the guest. Requests that waited for the same snapshot of the kernel get the same document. ${load}`,
    },
  ],
  async measure(options) {
    const verbsd = await startVerbsd("native", options.verbsd, "/livez");
    const get_stats = await compare("get_stats", `${verbsd.url}/v1/stats`, options);
    await stop(verbsd.child);
    return { get_stats };
  },
};
