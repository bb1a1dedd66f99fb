// SPDX-License-Identifier: Apache-2.0
// Runs verbsctl ($VBD_CTL) with an environment that inherits nothing.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { scratch_folder } from '../../scratch.mjs';

export const CTL = process.env.VBD_CTL;
if (!CTL)
  throw new Error('VBD_CTL must name the verbsctl to test');

// A failed test then shows the command, its output and the requests.
export const IN_VAIN_MS = 60000;

const KEPT = ['PATH', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'];

export function environment(extra) {
  const kept = KEPT.filter((name) => name in process.env).map((name) => [name, process.env[name]]);
  return { ...Object.fromEntries(kept), LC_ALL: 'C.UTF-8', TERM: 'xterm', ...extra };
}

function collect(child, input) {
  const out = [];
  const err = [];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.stderr.on('data', (chunk) => err.push(chunk));
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  return new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({
      code, signal, bytes: Buffer.concat(out), stdout: Buffer.concat(out).toString(),
      stderr: Buffer.concat(err).toString(),
    }));
  });
}

// Sets VERBSD_URL to the server's URL, if there is a server.
export function ctl(server, args, { env = {}, input, program = CTL } = {}) {
  const where = server ? { VERBSD_URL: server.url } : {};
  return collect(spawn(program, args, { env: environment({ ...where, ...env }) }), input);
}

// A run that succeeds without a word on standard error.
export async function succeeds(server, args) {
  const run = await ctl(server, args);
  assert.equal(run.code, 0, run.stderr);
  assert.equal(run.stderr, '');
  return run;
}

// The run of a child process that does not end by itself. The end of the test calls `kill`.
export function watched(t, child, kill) {
  const run = { child, stdout: '', stderr: '', ended: new Promise((resolve) => child.on('close', resolve)) };
  let over = false;
  run.ended.then(() => { over = true; });
  child.stdout.on('data', (chunk) => { run.stdout += chunk; });
  child.stderr.on('data', (chunk) => { run.stderr += chunk; });
  // Polls, because the condition may concern the server.
  const until = async (holds, mayEnd) => {
    const end = Date.now() + IN_VAIN_MS;
    while (!holds(run)) {
      if ((over && !mayEnd) || Date.now() > end)
        throw new Error(`${over ? 'ended too early' : 'waited in vain'} for ${holds}: ${run.stdout}${run.stderr}`);
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
  };
  // Resolves when the condition holds.
  run.until = (holds) => until(holds, false);
  // Resolves to the exit status.
  run.end = async () => {
    await until(() => over, true);
    return run.ended;
  };
  t.after(async () => { kill(); await run.ended; });
  return run;
}

// Starts verbsctl and returns the child process, for commands that do not end by themselves. The end of the
// test kills it.
export function start(t, server, args, { env = {} } = {}) {
  const child = spawn(CTL, args, { env: environment({ VERBSD_URL: server.url, ...env }) });
  child.stdin.end();
  return watched(t, child, () => child.kill('SIGKILL'));
}

// The status of a program that SIGPIPE ended.
export const SIGPIPE_STATUS = 128 + 13;

// Starts verbsctl with a pipe to `reader`, a command of bash, which then ends with the status of verbsctl. By default
// the reader reads nothing, and leaves when the test ends the child's standard input. `before` runs before verbsctl.
export function startPiped(t, server, args, { reader = 'read <&3', before = ':' } = {}) {
  const line = `exec 3<&0; (${before}; exec ${[CTL, ...args].map(quoted).join(' ')}) < /dev/null | { ${reader}; }; exit "\${PIPESTATUS[0]}"`;
  const child = spawn('bash', ['--norc', '-c', line], { detached: true, env: environment({ VERBSD_URL: server.url }) });
  return watched(t, child, () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH')
        throw error;
    }
  });
}

export const IGNORE_SIGPIPE = "trap '' PIPE";

export const hasScript = spawnSync('script', ['--version']).status === 0;

export const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

// Runs verbsctl on a terminal: standard input, output and error are one pty, made by script(1).
export function ctlOnTerminal(server, args, { env = {}, redirect = '' } = {}) {
  const line = [CTL, ...args].map(quoted).join(' ') + redirect;
  return collect(spawn('script', ['-qefc', line, '/dev/null'],
    { env: environment({ VERBSD_URL: server.url, SHELL: '/bin/sh', ...env }) }));
}

export const folder = () => scratch_folder('ctl');
