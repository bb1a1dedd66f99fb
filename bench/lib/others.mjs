// SPDX-License-Identifier: Apache-2.0
//
// Runs the programs that verbsd is compared with, and reads the figures that they print.
import { answers, freePort, output, start, stop, until } from "./programs.mjs";
import { progress } from "./samples.mjs";

const MIB = 1024 * 1024;
const PERFTEST_RUNS = 5;
const SERVER_RUNS = 3;

// A listener of rdma_cm has no TCP port that could be tried, but the kernel lists it.
async function isListening(port) {
  const ids = JSON.parse((await output("rdma", ["-j", "resource", "show", "cm_id"])) || "[]");
  return ids.some((id) => id.state === "LISTEN" && String(id["src-addr"]?.split(":").at(-1) ?? id["src-port"]) === String(port));
}

// Runs the same program as server and as client; returns what the client prints.
async function withServerOnce(program, args, atServer, atClient) {
  const port = await freePort();
  const common = [...args, "-p", String(port)];
  const server = start(program, program, [...common, ...atServer]);
  try {
    await until(`port ${port}`, server, () => isListening(port));
    return await output(program, [...common, ...atClient]);
  } finally {
    await stop(server, "SIGKILL");
  }
}

// The same until it succeeds: the kernel lists a listener a moment before it takes requests, and refuses one in between.
async function withServer(...programs) {
  for (let run = 1; run < SERVER_RUNS; run++)
    try {
      return await withServerOnce(...programs);
    } catch (error) {
      progress(`once more: ${error.message}`);
    }
  return withServerOnce(...programs);
}

// The times in µs per connection of each step of cmtime's client: { "create id": …, connect: …, disconnect: … }.
async function cmtimeSteps(connections) {
  const printed = await withServer("cmtime", ["-c", String(connections)], ["-b", process.env.LAB_ADDR], ["-s", process.env.LAB_ADDR]);
  const lines = [...printed.matchAll(/^(\w[\w ]*?)\s*:.*\s([\d.]+)\s*$/gm)];
  if (lines.length < 7 || printed.includes("event:")) throw new Error(`cmtime failed:\n${printed}`);
  return Object.fromEntries(lines.map(([, step, time_us]) => [step, Number(time_us)]));
}

// µs per connection: open is the sum of the phases up to established; close is the disconnect.
export async function cmtime(connections) {
  const steps = await cmtimeSteps(connections);
  const phases = ["create id", "resolve addr", "resolve route", "create qp", "connect"];
  return { open: phases.reduce((sum, step) => sum + steps[step], 0), close: steps.disconnect };
}

// The columns of the line of figures that perftest prints for messages of this size.
async function perftestOnce(program, args, size_bytes) {
  const all = ["-R", "-F", "-s", String(size_bytes), ...args];
  const printed = await withServer(program, all, [], [process.env.LAB_ADDR]);
  const line = new RegExp(`^\\s*${size_bytes}\\s+\\d+\\s.*$`, "m").exec(printed);
  if (!line) throw new Error(`${program} printed no figures:\n${printed}`);
  return line[0].trim().split(/\s+/).map(Number);
}

// The figure that `read` takes of the columns. perftest turns cycles into time by a frequency that it measures, or with -F by
// 0 when that failed, as it does now and then on a busy machine. It prints 0 or inf then, and another run is needed.
async function perftest(program, args, size_bytes, read) {
  for (let run = 1; run <= PERFTEST_RUNS; run++) {
    const value = read(await perftestOnce(program, args, size_bytes));
    if (Number.isFinite(value) && value > 0) return value;
  }
  throw new Error(`${program} could not tell the frequency of the processor in ${PERFTEST_RUNS} runs`);
}

// µs, t_typical. Of a send it is half a round trip, of a read all of it.
export function perftestLatency(program, size_bytes, count, mode) {
  const args = ["-n", String(count), ...(mode === "events" ? ["-e"] : [])];
  return perftest(program, args, size_bytes, (columns) => columns[4]);
}

// MiB/s, which perftest calls MB/sec. It prints two decimals, so that of small messages its rate of messages says more.
export function perftestBandwidth(program, size_bytes, count) {
  return perftest(program, ["-n", String(count)], size_bytes, ([, , , average, rate_mpps]) =>
    size_bytes < 4096 ? (rate_mpps * 1e6 * size_bytes) / MIB : average,
  );
}

// GET per second that a server answers to 10 clients.
export async function wrk(url, seconds) {
  const printed = await output("wrk", ["-t1", "-c10", `-d${seconds}s`, "--timeout", "60s", url]);
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(printed);
  if (!rate || /Socket errors|Non-2xx/.test(printed)) throw new Error(`wrk ${url}:\n${printed}`);
  return Number(rate[1]);
}

export async function startBare(program, bodyFile) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const child = start("bare_mhd", program, [String(port), bodyFile]);
  await until("an answer", child, () => answers(url));
  return { child, url };
}
