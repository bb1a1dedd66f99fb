// SPDX-License-Identifier: Apache-2.0
//
// Measures on the machine itself, with verbsd over the scripted device of the tests: what many connections do to the control
// loop, and GET of a connection. One daemon is both ends of each connection.
import { figure, progress } from "../lib/samples.mjs";
import { stop } from "../lib/programs.mjs";
import { listen, open, openTogether, startFake, stats } from "../lib/verbsd.mjs";
import { compare } from "./get.mjs";
import { lagWhileScraped, QP, SETTINGS } from "./scale.mjs";

const ADDR = "10.0.0.1"; // of the scripted device
const REQUEST_MOST = 1000; // connections of one request

export const place = "native";

const HOW = "The daemon is verbsd with the scripted device of the tests, and has both ends of each connection.";

export const rows = [
  {
    id: "loop_lag_native",
    title: ({ scale }) => `p99.9 of loop_lag with 10 scrapers and ${scale} connections, on the machine itself`,
    unit: "ms",
    better: "less",
    target: { at_most: 2 },
    note: () => `Measured like loop_lag. ${HOW}`,
  },
  {
    id: "get_connection_native",
    title: () => "GET of a connection, on the machine itself",
    unit: "ratio",
    better: "more",
    target: { at_least: 0.5 },
    note: () => `Measured like get_connection. ${HOW}`,
  },
];

function start({ verbsd }) {
  return startFake(verbsd, SETTINGS);
}

async function openAll(daemon, count) {
  const pair = { a: daemon, b: daemon };
  const { port } = await listen(pair, { addr: ADDR, backlog: 1024, qp: QP });
  const pairs = Math.ceil(count / 2);
  for (let open = 0; open < pairs; open += REQUEST_MOST)
    await openTogether(pair, { dst_addr: ADDR, dst_port: port, qp: QP }, Math.min(REQUEST_MOST, pairs - open));
  const { connections } = await stats(daemon);
  if (connections !== 2 * pairs) throw new Error(`${connections} connections are open, not ${2 * pairs}`);
}

async function sampleLag(options) {
  const daemon = await start(options);
  await openAll(daemon, options.scale);
  const lag_ms = await lagWhileScraped(daemon, options.wrk_s);
  await stop(daemon.child);
  return lag_ms;
}

async function measureLag(options) {
  const values = [];
  while (values.length < options.pairs) {
    values.push(await sampleLag(options));
    progress(`loop_lag_native, ${values.length} of ${options.pairs}: ${values.at(-1).toPrecision(3)} ms`);
  }
  return figure(values);
}

async function measureGet(options) {
  const daemon = await start(options);
  const pair = { a: daemon, b: daemon };
  const { id } = await open(pair, await listen(pair, { addr: ADDR }), { dst_addr: ADDR });
  const outcome = await compare("get_connection_native", `${daemon.url}/v1/connections/${id}`, options);
  await stop(daemon.child);
  return outcome;
}

export async function measure(options, wants) {
  const outcomes = {};
  if (wants("loop_lag_native")) outcomes.loop_lag_native = await measureLag(options);
  if (wants("get_connection_native")) outcomes.get_connection_native = await measureGet(options);
  return outcomes;
}
