// SPDX-License-Identifier: Apache-2.0
//
// Measures on the machine itself what an Idempotency-Key costs: the answer waits until the database has it on the disk.
import { mkdtempSync } from "node:fs";
import path from "node:path";
import { stop } from "../lib/programs.mjs";
import { inTurn, median, ratio, side } from "../lib/samples.mjs";
import { postBuffers, startFake } from "../lib/verbsd.mjs";

const CLIENTS = 50;
const OF_EACH = 10; // requests of each client
const ALONE = 100; // requests of the client that is alone

export const place = "native";

const HOW =
  "The request is POST /v1/buffers with 4 KiB. verbsd runs with the scripted device of the tests and a state_dir on the disk of this machine. " +
  "An older verbsd answers before the answer is on the disk.";

export const rows = [
  {
    id: "keyed_alone",
    title: () => "POST with an Idempotency-Key compared with one without, one at a time",
    unit: "ratio",
    better: "less",
    note: () => `A: the median time with a key. B: the median time without a key. ${HOW}`,
  },
  {
    id: "keyed_together",
    title: () => `POST with an Idempotency-Key compared with one without, ${CLIENTS} at a time`,
    unit: "ratio",
    better: "less",
    note: () => `A: the median time with a key. B: the median time without a key. ${HOW}`,
  },
];

// The median of the times of one sample in ms.
async function sample(daemon, clients, ofEach, keyed) {
  const times = await Promise.all(Array.from({ length: clients }, () => postBuffers(daemon, ofEach, keyed)));
  return median(times.flat());
}

export async function measure({ verbsd, work, pairs }, wants) {
  const outcomes = {};
  const daemon = await startFake(verbsd, [`state_dir=${mkdtempSync(path.join(work, "state-"))}`]);
  for (const [id, clients, ofEach] of [
    ["keyed_alone", 1, ALONE],
    ["keyed_together", CLIENTS, OF_EACH],
  ]) {
    if (!wants(id)) continue;
    await sample(daemon, clients, ofEach, false);
    const take = (keyed) => () => sample(daemon, clients, ofEach, keyed);
    const { key, none } = await inTurn(id, pairs, { key: take(true), none: take(false) });
    outcomes[id] = ratio(side("with a key", "ms", key), side("without", "ms", none));
  }
  await stop(daemon.child);
  return outcomes;
}
