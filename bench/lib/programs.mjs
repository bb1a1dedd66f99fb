// SPDX-License-Identifier: Apache-2.0
//
// Starts programs, waits for them, and reads their output.
import { spawn, execFile } from "node:child_process";
import { once } from "node:events";
import { openSync, closeSync, readFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { promisify } from "node:util";

const AWAIT_MS = 30_000;
const RUN_MS = 900_000;
const POLL_MS = 50;
const LOG_CHARS = 2000;
const run = promisify(execFile);
const running = new Set();
const died = [];
let work = ".";

export function setWorkFolder(folder) {
  work = folder;
}

// Runs a program, which must succeed, and returns its standard output.
export async function output(program, args) {
  const { stdout } = await run(program, args, { maxBuffer: 1 << 24, timeout: RUN_MS }).catch((error) => {
    throw new Error(`${program} ${args.join(" ")}: ${error.message}`);
  });
  return stdout;
}

// Starts a program in the background; its output goes to a file in the work folder.
export function start(name, program, args) {
  const log = path.join(work, `${name}.log`);
  const fd = openSync(log, "w");
  const child = spawn(program, args, { stdio: ["ignore", fd, fd] });
  closeSync(fd);
  child.name = name;
  child.log = log;
  running.add(child);
  child.on("error", (error) => (child.failure = error.message));
  child.on("exit", (code, signal) => {
    running.delete(child);
    if (!child.stopping && code !== 0) died.push(`${name} ended by itself, ${signal ?? `status ${code}`}: ${logTail(child)}`);
  });
  return child;
}

function logTail(child) {
  return readFileSync(child.log, "utf8").slice(-LOG_CHARS);
}

// Tells which programs failed without stop() since the last call, with their last words.
export function takeDeaths() {
  return died.splice(0);
}

export async function stop(child, signal = "SIGTERM") {
  if (!running.has(child)) return;
  child.stopping = true;
  child.kill(signal);
  await once(child, "exit");
}

export async function stopAll() {
  await Promise.all([...running].map((child) => stop(child, "SIGKILL")));
}

// Polls until the condition holds; throws if the child ends first.
export async function until(what, child, isSo) {
  const end = Date.now() + AWAIT_MS;
  while (!(await isSo())) {
    if (child.failure || child.exitCode !== null || Date.now() > end)
      throw new Error(`${child.name}: no sign of ${what}: ${child.failure ?? logTail(child)}`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

export async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

// Does a GET succeed?
export async function answers(url) {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}
