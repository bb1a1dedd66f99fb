// SPDX-License-Identifier: Apache-2.0
//
// Measures whether more open connections slow down answers, the control loop, and the end of the daemon.
import { wrk } from "../lib/others.mjs";
import { figure, progress, quantileBetween, ratio, side } from "../lib/samples.mjs";
import { listen, loopLag, openMany, startPair, stats, stopPair, stopTime } from "../lib/verbsd.mjs";

// The queues are short, so that thousands of connections of both sides fit into the memory of a guest.
export const QP = { sq_depth: 4, rq_depth: 2, recv_size_bytes: 256 };
export const SETTINGS = ["limits.connections=20000"]; // room for 10,000 and those that are reserved
const FEW = 10;
const LAG_SAMPLES = 5; // of wrk_s: a thousandth of the turns is to be some of them
const MANY_FRACTION = 4; // a page is compared with that at a quarter
const ANSWERS = {
  stats: { path: "/v1/stats", title: "GET /v1/stats" },
  metrics: { path: "/metrics", title: "GET /metrics" },
  page: { path: "/v1/connections?limit=100", title: "GET of a page of 100 connections" },
};

// The steps at which is measured: few connections, a quarter, all.
function steps(count) {
  return [FEW, Math.floor(count / MANY_FRACTION), count];
}

function answerRow(name, suffix, countOf, at) {
  const { title } = ANSWERS[name];
  return {
    id: `${name}_flat${suffix}`,
    title: (options) => `${title} with ${countOf(options)} connections, compared with ${steps(countOf(options))[at]} connections`,
    unit: "ratio",
    better: "less",
    target: { at_most: 1.2 },
    note: () => "The time per answer while wrk sends requests over 10 HTTP connections. One daemon is measured with few and then with many RDMA connections.",
  };
}

function scaleRows(suffix, countOf) {
  return [
    answerRow("stats", suffix, countOf, 0),
    answerRow("metrics", suffix, countOf, 0),
    answerRow("page", suffix, countOf, 1),
    {
      id: `loop_lag${suffix}`,
      title: (options) => `p99.9 of loop_lag with 10 scrapers and ${countOf(options)} connections`,
      unit: "ms",
      better: "less",
      target: { at_most: 2 },
      note: () =>
        "The duration of the turns of the control loop while wrk scrapes /metrics over 10 connections. The duration is interpolated linearly " +
        "between the buckets of verbsd_loop_lag_seconds, each of which is 4 times the one before. The target is for a processor that is not emulated.",
    },
    {
      id: `stop${suffix}`,
      title: (options) => `time to stop after SIGTERM with ${countOf(options)} open connections`,
      unit: "s",
      better: "less",
      target: { at_most: 2 },
      note: () => "The time from the signal to the end of the process that opened the connections; the peer is on the same machine.",
    },
  ];
}

// ms per answer of each kind: { stats, metrics, page }.
async function sampleAnswers(daemon, wrk_s) {
  const times = {};
  for (const [name, { path }] of Object.entries(ANSWERS)) times[name] = 1000 / (await wrk(daemon.url + path, wrk_s));
  return times;
}

// ms, the p99.9.
export async function lagWhileScraped(daemon, wrk_s) {
  const before = await loopLag(daemon);
  await wrk(`${daemon.url}/metrics`, LAG_SAMPLES * wrk_s);
  return quantileBetween(before, await loopLag(daemon), 0.999);
}

// Opens connections until there are as many.
async function openUpTo(pair, listener, open, count) {
  await openMany(pair, { dst_port: listener.port, qp: QP }, count - open);
  const { connections } = await stats(pair.a);
  if (connections !== count) throw new Error(`${connections} connections are open, not ${count}`);
}

async function sampleRound({ verbsd, wrk_s }, count) {
  const pair = await startPair(verbsd, SETTINGS);
  const listener = await listen(pair, { qp: QP });
  const answers = [];
  let open = 0;
  await sampleAnswers(pair.a, wrk_s); // a warm-up: the first run of a program is slow under emulation
  for (const step of steps(count)) {
    await openUpTo(pair, listener, open, step);
    open = step;
    answers.push(await sampleAnswers(pair.a, wrk_s));
  }
  const lag_ms = await lagWhileScraped(pair.a, wrk_s);
  const stop_s = await stopTime(pair.a);
  await stopPair(pair);
  return { answers, lag_ms, stop_s };
}

function outcomesOf(rounds, suffix, count) {
  const at = (name, step) => rounds.map(({ answers }) => answers[step][name]);
  const flat = (name, step) => {
    const b = side(`${steps(count)[step]} connections`, "ms", at(name, step));
    return ratio(side(`${count} connections`, "ms", at(name, 2)), b);
  };
  return {
    [`stats_flat${suffix}`]: flat("stats", 0),
    [`metrics_flat${suffix}`]: flat("metrics", 0),
    [`page_flat${suffix}`]: flat("page", 1),
    [`loop_lag${suffix}`]: figure(rounds.map(({ lag_ms }) => lag_ms)),
    [`stop${suffix}`]: figure(rounds.map(({ stop_s }) => stop_s)),
  };
}

export function scaleTopic(suffix, countOf, large) {
  return {
    place: "rdma",
    large,
    rows: scaleRows(suffix, countOf),
    async measure(options) {
      const count = countOf(options);
      const rounds = [];
      while (rounds.length < options.rounds) {
        const round = await sampleRound(options, count);
        rounds.push(round);
        const times = round.answers.map((of) => Object.values(of).map((ms) => ms.toPrecision(3)).join("/")).join(", ");
        progress(`${count} connections, ${rounds.length} of ${options.rounds}: stats/metrics/page ${times} ms; lag ${round.lag_ms.toPrecision(3)} ms; stop ${round.stop_s.toPrecision(3)} s`);
      }
      return outcomesOf(rounds, suffix, count);
    },
  };
}
