// SPDX-License-Identifier: Apache-2.0
//
// Starts verbsd, calls its API, and opens and closes many connections.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { answers, freePort, output, start, stop, until } from "./programs.mjs";

const POLL_MS = 20;
const CLOSE_MS = 300_000;
const OPEN_CLIENTS = 100;

// Starts verbsd on a free port, and waits until GET of readyPath succeeds; /readyz is for a device to connect by. Settings
// are of its configuration, as "limits.connections=20000".
export async function startVerbsd(name, program, readyPath, settings = []) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const more = settings.flatMap((setting) => ["--set", setting]);
  const child = start(name, program, ["--listen", `127.0.0.1:${port}`, "--log-level", "warning", ...more]);
  await until(readyPath, child, () => answers(url + readyPath));
  return { child, url };
}

// verbsd with the scripted device of the tests, of the same build. It needs neither a device nor a guest.
export function startFake(program, settings) {
  return startVerbsd("fake", path.resolve(path.dirname(program), "../tests/fake/verbsd_fake"), "/readyz", settings);
}

// Two daemons: a connects, b listens.
export async function startPair(program, settings) {
  const start = (name) => startVerbsd(name, program, "/readyz", settings);
  return { a: await start("a"), b: await start("b") };
}

export async function stopPair(pair) {
  await stop(pair.a.child);
  await stop(pair.b.child);
}

// Sends a request over a TCP connection of its own: the daemon ends one that stands idle, maybe just as a request begins.
function send(method, url, body, more = {}) {
  const headers = { "Content-Type": "application/json", Prefer: "wait=60", Connection: "close", ...more };
  return fetch(url, { method, headers, body: body && JSON.stringify(body) });
}

// Sends a request, which must be answered with this status; returns the parsed JSON.
export async function call(method, url, status, body, more) {
  const response = await send(method, url, body, more);
  const text = await response.text();
  if (response.status !== status) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return text && JSON.parse(text);
}

export function listen(pair, more = {}) {
  return call("POST", `${pair.b.url}/v1/listeners`, 201, { addr: process.env.LAB_ADDR, port: 0, ...more });
}

export function open(pair, listener, more = {}) {
  const dst = { dst_addr: process.env.LAB_ADDR, dst_port: listener.port };
  return call("POST", `${pair.a.url}/v1/connections`, 201, { ...dst, ...more });
}

// Calls body with a connection that is open for it alone: one that polls busily takes a processor all its life.
export async function withConnection(pair, atListener, atConnection, body) {
  const listener = await listen(pair, atListener);
  const connection = await open(pair, listener, atConnection);
  try {
    return await body(connection);
  } finally {
    await call("DELETE", `${pair.a.url}/v1/connections/${connection.id}`, 204);
    await call("DELETE", `${pair.b.url}/v1/listeners/${listener.id}`, 204);
  }
}

// Posts connections by curl and returns for each [HTTP status, TCP connections made, seconds]. All must be established.
export async function curlOpens(pair, request, count, ...more) {
  const body = JSON.stringify({ dst_addr: process.env.LAB_ADDR, timeout_ms: 60_000, ...request });
  const format = "%{http_code} %{num_connects} %{time_total}\n";
  const common = ["-s", "-o", "/dev/null", "-w", format, "-d", body, "-H", "Content-Type: application/json", "-H", "Prefer: wait=60"];
  const printed = await output("curl", [...common, ...more, `${pair.a.url}/v1/connections#[1-${count}]`]);
  const lines = printed.trim().split("\n").map((line) => line.split(" ").map(Number));
  const bad = lines.filter(([status]) => status !== 201).map(([status]) => status);
  if (bad.length > 0 || lines.length !== count)
    throw new Error(`${bad.length + count - lines.length} of ${count} opens failed: HTTP ${[...new Set(bad)].join(", ")}`);
  return lines;
}

// Opens connections by many HTTP clients, with a request for each. Returns the seconds from the start of the clients to
// the end of the last one.
export async function openMany(pair, request, count) {
  const begin = performance.now();
  await curlOpens(pair, request, count, "-Z", "--parallel-max", String(OPEN_CLIENTS));
  return (performance.now() - begin) / 1000;
}

// Opens connections by a single request. Returns the seconds until its answer.
export async function openTogether(pair, request, count) {
  const begin = performance.now();
  const { labels, ...rest } = request;
  const body = { count, labels, connections: [{ dst_addr: process.env.LAB_ADDR, timeout_ms: 60_000, ...rest }] };
  const { state } = await call("POST", `${pair.a.url}/v1/connection_batches`, 201, body);
  if (state !== "done") throw new Error(`the opens of one request: ${state}`);
  return (performance.now() - begin) / 1000;
}

// Deletes the connections with a label, and returns the seconds until none of them is open.
export async function closeSelected(pair, label) {
  const selection = `label=${encodeURIComponent(label)}`;
  const begin = performance.now();
  const response = await send("DELETE", `${pair.a.url}/v1/objects?kind=connection&${selection}`);
  const { failed } = await response.json();
  if (!response.ok || failed !== 0) throw new Error(`DELETE by ${selection}: ${response.status}, ${failed} failed`);
  while ((await call("GET", `${pair.a.url}/v1/connections?limit=1&fields=id&${selection}`, 200)).total > 0) {
    if (performance.now() - begin > CLOSE_MS) throw new Error(`connections with ${selection} do not end`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
  return (performance.now() - begin) / 1000;
}

// Makes buffers, one after the other, and returns the ms until each answer. Each is deleted outside of that time.
export async function postBuffers(daemon, count, keyed) {
  const times_ms = [];
  while (times_ms.length < count) {
    const begin = performance.now();
    const key = keyed ? { "Idempotency-Key": randomUUID() } : {};
    const { id } = await call("POST", `${daemon.url}/v1/buffers`, 201, { size_bytes: 4096 }, key);
    times_ms.push(performance.now() - begin);
    await call("DELETE", `${daemon.url}/v1/buffers/${id}`, 204);
  }
  return times_ms;
}

export function stats(daemon) {
  return call("GET", `${daemon.url}/v1/stats`, 200);
}

// The buckets of verbsd_loop_lag_seconds in /metrics: [[upper bound in ms, turns up to it], …].
export async function loopLag(daemon) {
  const text = await (await send("GET", `${daemon.url}/metrics`)).text();
  const buckets = text.matchAll(/^verbsd_loop_lag_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
  return [...buckets].map(([, bound, turns]) => [bound === "+Inf" ? Infinity : Number(bound) * 1000, Number(turns)]);
}

// Seconds that a daemon takes to end after SIGTERM.
export async function stopTime(daemon) {
  const begin = performance.now();
  await stop(daemon.child);
  return (performance.now() - begin) / 1000;
}

// Proportional memory of a process in bytes: the queues that the provider maps from the device, and all else.
export function memory(child) {
  const sums = { provider: 0, own: 0 };
  let of = "own";
  for (const line of readFileSync(`/proc/${child.pid}/smaps`, "utf8").split("\n")) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) of = line.includes("/dev/infiniband/") ? "provider" : "own";
    const pss = /^Pss:\s+(\d+) kB/.exec(line);
    if (pss) sums[of] += Number(pss[1]) * 1024;
  }
  return sums;
}
