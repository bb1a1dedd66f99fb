// SPDX-License-Identifier: Apache-2.0
//
// usage: counted.mjs VERBSD WORKFOLDER [ROW,...]
//
// Counts what verbsd takes of the processor for fixed pieces of work, in ns for one of them, in a guest whose clock counts
// instructions (lab/README.md). Prints {kernel, rows}. One daemon has both ends of each connection, so the work
// of both counts; its clients are other processes, which don't count, and waiting does not count.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { output, setWorkFolder, stop } from "./lib/programs.mjs";
import { progress } from "./lib/samples.mjs";
import { call, startVerbsd } from "./lib/verbsd.mjs";

const [verbsd, work, only] = process.argv.slice(2);
const MIB = 1024 * 1024;
const WARM_ROUNDS = 3; // TCP, below siw, has its largest window by then
const ROUNDS = 4;
const KEPT = 1000;

// The processor time in ns of threads: Documentation/scheduler/sched-stats.rst.
const used = (tasks) => new Map(tasks.map((task) => [task, Number(readFileSync(`/proc/${task}/schedstat`, "utf8").split(" ")[0])]));

// The threads of the kernel that do a part of the work: chance decides which part.
const usedByKernel = () =>
  used(readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && /^\d+ \(.*\) . 2 /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))));

function usedByThreads(pid) {
  return new Map([...used(readdirSync(`/proc/${pid}/task`).map((task) => `${pid}/task/${task}`)), ...usedByKernel()]);
}

const sum = (threads) => [...threads.values()].reduce((all, ns) => all + ns, 0);

// Sends a request to each URL, one after the other over one TCP connection. curl(1) takes "URL#[1-9]" for nine URLs.
async function send(method, urls, count, status, body) {
  const more = [
    ...(method === "GET" ? [] : ["-H", "Prefer: wait=60"]),
    ...(body ? ["-d", JSON.stringify(body), "-H", "Content-Type: application/json"] : []),
  ];
  const seen = (await output("curl", ["-s", "-w", "%{http_code}\n", "-X", method, ...more, ...urls.flatMap((url) => ["-o", "/dev/null", url])]))
    .trim().split("\n");
  if (seen.length !== count || seen.some((one) => one !== String(status)))
    throw new Error(`${method} ${urls[0]}: ${seen.length} of ${count} answers, HTTP ${[...new Set(seen)].join(", ")}`);
}

const repeat = (method, url, count, status, body) => send(method, [`${url}#[1-${count}]`], count, status, body);

// Rows over rxe: `run` does the work `count` times, with what `prepare` returns; the others don't count.
function controlWorks(url, { listener, connection, local }) {
  const dst = { dst_addr: process.env.LAB_ADDR, dst_port: listener.port, labels: { of: "open" } };
  const opens = (count) => repeat("POST", `${url}/v1/connections`, count, 201, dst);
  const urlsOfOpen = async () =>
    (await call("GET", `${url}/v1/connections?label=of%3Dopen&limit=1000`, 200)).items.map(({ id }) => `${url}/v1/connections/${id}`);
  const closes = async (count) => send("DELETE", await urlsOfOpen(), count, 204);
  const gets = (target) => (count) => repeat("GET", `${url}${target}`, count, 200);
  return {
    open: { count: 50, run: opens, after: closes },
    close: { count: 50, before: opens, prepare: urlsOfOpen, run: (count, urls) => send("DELETE", urls, count, 204) },
    get: { count: 500, run: gets(`/v1/connections/${connection}`) },
    page: { count: 20, before: () => opens(50), run: gets("/v1/connections?limit=100"), after: () => closes(50) },
    scrape: { count: 50, run: gets("/metrics") },
    checksum: { count: 100, run: gets(`/v1/buffers/${local.id}/checksum`) },
  };
}

// Rows over siw: rxe computes a CRC of each packet by the processor, 30 times what copying the bytes takes.
function dataWorks(url, { connection, local, remote }) {
  const benchmark = (op) => (count) =>
    call("POST", `${url}/v1/benchmarks`, 201, { connection, op, size_bytes: 64, count, tx_depth: 1, buffer: local.id, remote });
  const transfers = (op) => (count) =>
    repeat("POST", `${url}/v1/transfers`, count, 201, { connection, op, buffer: local.id, length_bytes: MIB, remote });
  return {
    write_64: { count: 1000, run: benchmark("write") },
    read_64: { count: 1000, run: benchmark("read") },
    write_1mib: { count: 200, run: transfers("write") },
    read_1mib: { count: 200, run: transfers("read") },
    message: { count: 200, run: (count) => repeat("POST", `${url}/v1/connections/${connection}/messages`, count, 201, { data: "hello" }) },
  };
}

async function countOnce({ count, before, prepare, run, after }, { child }) {
  await before?.(count);
  const prepared = await prepare?.();
  const from = usedByThreads(child.pid);
  await run(count, prepared);
  const to = usedByThreads(child.pid);
  if ([...from.keys()].some((task) => !to.has(task))) throw new Error("a thread of verbsd ended, with the time that it had used");
  await after?.(count);
  return (sum(to) - sum(from)) / count;
}

// The least, after rounds that warm up: what chance adds is never negative.
async function count(id, work, daemon) {
  const rounds = [];
  for (let round = 0; round < WARM_ROUNDS + ROUNDS; round++) rounds.push(Math.round(await countOnce(work, daemon)));
  progress(`${id}, ns, ${WARM_ROUNDS} rounds that warm up, then ${ROUNDS}: ${rounds.join(" ")}`);
  return Math.min(...rounds.slice(WARM_ROUNDS));
}

// TCP acknowledges each segment, or each second one, as its windows happen to grow: 5 % of a write of 1 MiB over siw.
async function acknowledgeEachSegment(addr) {
  const route = (await output("ip", ["route", "show", "table", "local", addr])).trim().split(/\s+/);
  await output("ip", ["route", "change", "table", "local", ...route, "quickack", "1"]);
}

async function connect({ url }, addr, device) {
  const post = (where, body) => call("POST", `${url}${where}`, 201, body);
  const listener = await post("/v1/listeners", { addr, port: 0, service: "sink" });
  const local = await post("/v1/buffers", { size_bytes: MIB, device });
  const remote = await post("/v1/buffers", { size_bytes: MIB, device, access: ["remote_write", "remote_read"] });
  const { id } = await post("/v1/connections", { dst_addr: addr, dst_port: listener.port });
  return { listener, connection: id, local, remote: { addr: remote.addr, rkey: remote.rkey } };
}

// From the start of the process until it is ready, with so many kept buffers to make.
async function startWithKept() {
  const settings = [`state_dir=${path.join(work, "state")}`];
  const rounds = [];
  const keeper = await startVerbsd("keeper", verbsd, "/readyz", settings);
  for (let made = 0; made < KEPT; made++)
    await call("POST", `${keeper.url}/v1/buffers`, 201, { name: `kept-${made}`, size_bytes: 4096, keep: true });
  await stop(keeper.child);
  while (rounds.length < ROUNDS) {
    const before = sum(usedByKernel());
    const kept = await startVerbsd("kept", verbsd, "/readyz", settings);
    rounds.push(sum(usedByThreads(kept.child.pid)) - before);
    await stop(kept.child);
  }
  return Math.min(...rounds);
}

const { LAB_ADDR, LAB_DEV, LAB_SIW_ADDR, LAB_SIW_DEV } = process.env;
const wants = (id) => !only || only.split(",").includes(id);
const rows = {};
async function countAll(works, daemon) {
  for (const [id, one] of Object.entries(works)) {
    if (!wants(id)) continue;
    rows[id] = await count(id, one, daemon);
  }
}

setWorkFolder(work);
// The place of memory has a part in the cost of its use.
writeFileSync("/proc/sys/kernel/randomize_va_space", "0");
await acknowledgeEachSegment(LAB_SIW_ADDR);
const daemon = await startVerbsd("verbsd", verbsd, "/readyz");
await countAll(controlWorks(daemon.url, await connect(daemon, LAB_ADDR, LAB_DEV)), daemon);
await countAll(dataWorks(daemon.url, await connect(daemon, LAB_SIW_ADDR, LAB_SIW_DEV)), daemon);
await stop(daemon.child);
if (wants("start_1000")) rows.start_1000 = Math.round(await startWithKept());
process.stdout.write(JSON.stringify({ kernel: os.release(), rows }));
