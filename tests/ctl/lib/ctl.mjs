// SPDX-License-Identifier: Apache-2.0
// Runs verbsctl ($VBD_CTL) with an environment that inherits nothing.
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

// Starts verbsctl and returns the child process, for commands that do not end by themselves. The end of the
// test kills it.
export function start(t, server, args, { env = {} } = {}) {
  const child = spawn(CTL, args, { env: environment({ VERBSD_URL: server.url, ...env }) });
  const run = { child, stdout: '', stderr: '', ended: new Promise((resolve) => child.on('close', resolve)) };
  child.stdin.end();
  child.stdout.on('data', (chunk) => { run.stdout += chunk; });
  child.stderr.on('data', (chunk) => { run.stderr += chunk; });
  // Resolves when the condition holds. Polls, because the condition may concern the server.
  run.until = async (holds) => {
    let over = false;
    run.ended.then(() => { over = true; });
    const end = Date.now() + IN_VAIN_MS;
    while (!holds(run)) {
      if (over || Date.now() > end)
        throw new Error(`${over ? 'ended too early' : 'waited in vain'} for ${holds}: ${run.stdout}${run.stderr}`);
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
  };
  t.after(async () => { child.kill('SIGKILL'); await run.ended; });
  return run;
}

export const hasScript = spawnSync('script', ['--version']).status === 0;

export const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

// Runs verbsctl on a terminal: standard input, output and error are one pty, made by script(1).
export function ctlOnTerminal(server, args, { env = {}, redirect = '' } = {}) {
  const line = [CTL, ...args].map(quoted).join(' ') + redirect;
  return collect(spawn('script', ['-qefc', line, '/dev/null'],
    { env: environment({ VERBSD_URL: server.url, SHELL: '/bin/sh', ...env }) }));
}

export const folder = () => scratch_folder('ctl');
