// SPDX-License-Identifier: Apache-2.0
//
// usage: measure.mjs native|rdma OPTIONS
//
// Takes the measurements without a device (native), or with one (rdma), and prints them as JSON. OPTIONS is a JSON
// object: verbsd, bare: programs; work: a folder; pairs: number of samples; wrk_s, opens, transfer_mib: size of one
// sample.
import { writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { call, freePort, output, setWorkFolder, start, startBare, startVerbsd, stop, stopAll, until } from "./programs.mjs";

const CHUNK_BYTES = 65536;
const MIB = 1024 * 1024;
const CMTIME_RUNS = 5;
const [what, text] = process.argv.slice(2);
const options = JSON.parse(text);

function progress(line) {
  process.stderr.write(`bench: ${line}\n`);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Takes one sample of each in turn, `pairs` times: { name: [value, …] }.
async function inTurn(title, samplers) {
  const values = Object.fromEntries(Object.keys(samplers).map((name) => [name, []]));
  for (let pair = 1; pair <= options.pairs; pair++) {
    for (const [name, sample] of Object.entries(samplers)) values[name].push(await sample());
    const latest = Object.entries(values).map(([name, list]) => `${name} ${list.at(-1).toFixed(1)}`);
    progress(`${title}, ${pair} of ${options.pairs}: ${latest.join(", ")}`);
  }
  return values;
}

// The ratios of A to B for each pair. Both are { label, values }.
function result(title, unit, better, a, b, note) {
  const ratios = a.values.map((value, pair) => value / b.values[pair]);
  const summary = { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
  for (const side of [a, b]) side.median = median(side.values);
  return { title, unit, better, pairs: ratios.length, a, b, ratio: { ...summary, values: ratios }, note };
}

// --- GET per second --------------------------------------------------------------------------------------------------

async function wrk(url) {
  const printed = await output("wrk", ["-t1", "-c10", `-d${options.wrk_s}s`, url]);
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(printed);
  if (!rate || /Socket errors|Non-2xx/.test(printed)) throw new Error(`wrk ${url}:\n${printed}`);
  return Number(rate[1]);
}

async function measureGet(id, title, url, note) {
  const body = await (await fetch(url)).text();
  const bodyFile = path.join(options.work, "body.json");
  writeFileSync(bodyFile, body);
  const bare = await startBare(options.bare, bodyFile);
  await wrk(url); // a warm-up for both: the first run of a program is slow under emulation
  await wrk(bare.url);
  const values = await inTurn(title, { verbsd: () => wrk(url), bare: () => wrk(bare.url) });
  await stop(bare.child);
  const about = `wrk, 1 thread, 10 connections, ${options.wrk_s} s a sample, ${Buffer.byteLength(body)} bytes of JSON in both. ${note}`;
  const a = { label: "verbsd", values: values.verbsd };
  const b = { label: "bare libmicrohttpd", values: values.bare };
  return { id, ...result(title, "1/s", "more", a, b, about) };
}

async function measureNative() {
  const verbsd = await startVerbsd("native", options.verbsd, "/livez");
  const note =
    "Natively, as GET /v1/stats: without a device no connection can be made, so this stands in for it. " +
    "It shows the cost of the server; stats are encoded by other code than a connection.";
  const rows = [await measureGet("get_native", "GET per second, natively, /v1/stats", `${verbsd.url}/v1/stats`, note)];
  await stop(verbsd.child);
  return rows;
}

// --- other programs that listen by rdma_cm ---------------------------------------------------------------------------

// The listener has no TCP port that could be tried, but the kernel lists it.
async function isListening(port) {
  const ids = JSON.parse((await output("rdma", ["-j", "resource", "show", "cm_id"])) || "[]");
  return ids.some((id) => id.state === "LISTEN" && String(id["src-addr"]?.split(":").at(-1) ?? id["src-port"]) === String(port));
}

async function withServer(name, program, args, port, body) {
  const server = start(name, program, args);
  await until(`port ${port}`, server, () => isListening(port));
  const printed = await body();
  await stop(server, "SIGKILL");
  return printed;
}

// --- bandwidth -------------------------------------------------------------------------------------------------------

async function prepareTransfer(pair) {
  const size = { size_bytes: options.transfer_mib * MIB };
  const target = await call("POST", `${pair.b.url}/v1/buffers`, 201, { ...size, access: ["remote_write"] });
  const source = await call("POST", `${pair.a.url}/v1/buffers`, 201, size);
  const remote = { addr: target.addr, rkey: target.rkey };
  return { connection: pair.connection.id, op: "write", buffer: source.id, chunk_bytes: CHUNK_BYTES, timeout_ms: 60000, remote };
}

// In MiB/s.
async function transfer(pair, request) {
  const done = await call("POST", `${pair.a.url}/v1/transfers`, 201, request);
  return done.bytes_done / MIB / (done.wire_ns / 1e9);
}

// In MiB/s, which is what perftest means by MB/sec.
async function ibWriteBw() {
  const port = await freePort();
  const iterations = (options.transfer_mib * MIB) / CHUNK_BYTES;
  const args = ["-R", "-F", "-s", String(CHUNK_BYTES), "-n", String(iterations), "-p", String(port)];
  const printed = await withServer("ib_write_bw", "ib_write_bw", args, port, () =>
    output("ib_write_bw", [...args, process.env.LAB_ADDR]),
  );
  const row = new RegExp(`^\\s*${CHUNK_BYTES}\\s+\\d+\\s+[\\d.]+\\s+([\\d.]+)`, "m").exec(printed);
  if (!row) throw new Error(`ib_write_bw printed no figures:\n${printed}`);
  return Number(row[1]);
}

async function measureBandwidth(pair) {
  const request = await prepareTransfer(pair);
  const title = `write, 64 KiB each, ${options.transfer_mib} MiB`;
  const values = await inTurn(title, {
    verbsd: () => transfer(pair, request),
    ib_write_bw: () => ibWriteBw(),
  });
  const a = { label: "verbsd", values: values.verbsd };
  const b = { label: "ib_write_bw -R", values: values.ib_write_bw };
  const about =
    "verbsd: bytes / wire_ns of one transfer with chunk_bytes 65536, over all of two buffers. ib_write_bw: its BW average " +
    "for as many writes, all from and to the same 64 KiB. It never sleeps (for writes it can't), and so competes with the " +
    "software device for the CPUs.";
  return [{ id: "bandwidth", ...result(title, "MiB/s", "more", a, b, about) }];
}

// --- opening a connection --------------------------------------------------------------------------------------------

// Opens connections by curl, one after the other over one keep-alive connection, or all at once. Returns the seconds
// that each took for the client.
async function openByHttp(pair, count, ...more) {
  const body = JSON.stringify({ dst_addr: process.env.LAB_ADDR, dst_port: pair.listener.port });
  const format = "%{http_code} %{num_connects} %{time_total}\n";
  const common = ["-s", "-o", "/dev/null", "-w", format, "-d", body, "-H", "Content-Type: application/json", "-H", "Prefer: wait=30"];
  const printed = await output("curl", [...common, ...more, `${pair.a.url}/v1/connections#[1-${count}]`]);
  const lines = printed.trim().split("\n").map((line) => line.split(" ").map(Number));
  if (lines.length !== count || lines.some(([status]) => status !== 201)) throw new Error(`opens failed:\n${printed}`);
  await closeOthers(pair);
  return lines;
}

async function closeOthers(pair) {
  const { items } = await call("GET", `${pair.a.url}/v1/connections?limit=1000&fields=id`, 200);
  for (const { id } of items) if (id !== pair.connection.id) await call("DELETE", `${pair.a.url}/v1/connections/${id}`, 204);
}

// In µs. Without the first one, which also opens the TCP connection.
async function openInTurn(pair) {
  const [, ...lines] = await openByHttp(pair, options.opens + 1);
  if (lines.some(([, connects]) => connects !== 0)) throw new Error("curl did not keep its connection");
  return median(lines.map(([, , seconds]) => seconds)) * 1e6;
}

// In µs per connection.
async function openAtOnce(pair) {
  const lines = await openByHttp(pair, options.opens, "-Z", "--parallel-immediate", "--parallel-max", String(options.opens));
  return (Math.max(...lines.map(([, , seconds]) => seconds)) / options.opens) * 1e6;
}

// In µs per connection: the sum of the client's phases up to established.
async function cmtime(connections) {
  const port = await freePort();
  const args = ["-c", String(connections), "-p", String(port)];
  const printed = await withServer("cmtime", "cmtime", [...args, "-b", process.env.LAB_ADDR], port, () =>
    output("cmtime", [...args, "-s", process.env.LAB_ADDR]),
  );
  const steps = ["create id", "resolve addr", "resolve route", "create qp", "connect"].map((step) =>
    Number(new RegExp(`^${step}\\s*:.*\\s([\\d.]+)$`, "m").exec(printed)?.[1]),
  );
  if (steps.some(Number.isNaN) || printed.includes("event:")) throw new Error(`cmtime failed:\n${printed}`);
  return steps.reduce((sum, step) => sum + step);
}

// A single connection has no average, so the median of some runs.
async function cmtimeAlone() {
  const runs = [];
  while (runs.length < CMTIME_RUNS) runs.push(await cmtime(1));
  return median(runs);
}

async function measureOpen(pair) {
  await openInTurn(pair); // the first transfers fault pages in
  const title = "open a connection";
  const count = options.opens;
  const values = await inTurn(title, {
    verbsd: () => openInTurn(pair),
    cmtime: () => cmtime(count),
    verbsd_at_once: () => openAtOnce(pair),
    cmtime_1: () => cmtimeAlone(),
  });
  const alone = { label: "verbsd, one at a time", values: values.verbsd };
  const atOnce = { label: `verbsd, ${count} at once`, values: values.verbsd_at_once };
  const theirsMany = { label: `cmtime -c ${count}`, values: values.cmtime };
  const theirsAlone = { label: "cmtime -c 1", values: values.cmtime_1 };
  const ours = `POST /v1/connections until its 201 as curl sees it, median of ${count} over one keep-alive connection.`;
  const phases = "cmtime: create id + resolve addr + resolve route + create qp + connect, per connection.";
  const overlap = "With more than one it takes all of them through a phase together, so that they share the waiting, which a connection alone can't.";
  return [
    { id: "open", ...result(title, "µs", "less", alone, theirsMany, `${ours} ${phases} ${overlap}`) },
    { id: "open_alone", ...result(title, "µs", "less", alone, theirsAlone, `Both alone. A as above, warm; B the median of ${CMTIME_RUNS} runs, each a fresh process whose first connection it is, which flatters A.`) },
    { id: "open_at_once", ...result(title, "µs", "less", atOnce, theirsMany, `Both many: ${count} POST at once until the last 201, divided by ${count}. B as above.`) },
  ];
}

async function preparePair() {
  const a = await startVerbsd("a", options.verbsd, "/readyz");
  const b = await startVerbsd("b", options.verbsd, "/readyz");
  const listener = await call("POST", `${b.url}/v1/listeners`, 201, { addr: process.env.LAB_ADDR, port: 0 });
  const dst = { dst_addr: process.env.LAB_ADDR, dst_port: listener.port };
  const connection = await call("POST", `${a.url}/v1/connections`, 201, dst);
  return { a, b, listener, connection };
}

async function measureRdma() {
  const pair = await preparePair();
  const rows = [...(await measureBandwidth(pair)), ...(await measureOpen(pair))];
  const where = process.env.LAB_MODE === "native" ? "natively" : "in the guest";
  const url = `${pair.a.url}/v1/connections/${pair.connection.id}`;
  rows.push(await measureGet("get_connection", `GET per second, ${where}, a connection`, url, "An established connection."));
  await stop(pair.a.child);
  await stop(pair.b.child);
  return rows;
}

setWorkFolder(options.work);
try {
  const rows = await { native: measureNative, rdma: measureRdma }[what]();
  const machine = { mode: process.env.LAB_MODE ?? "native", kernel: os.release(), cpus: os.cpus().length, cpu: os.cpus()[0].model };
  process.stdout.write(JSON.stringify({ machine, rows }));
} catch (error) {
  progress(error.message);
  process.exitCode = 1;
} finally {
  await stopAll();
}
