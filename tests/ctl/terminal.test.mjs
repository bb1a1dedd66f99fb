// SPDX-License-Identifier: Apache-2.0
// Output for terminals only (progress bars, colours, escaping of raw bytes), on a pty made by
// script(1).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ctl, ctlOnTerminal, folder, hasScript } from './lib/ctl.mjs';
import { connection, event, logPage, message, probe, rejected, transfer } from './lib/samples.mjs';
import { startOnTerminal } from './lib/screen.mjs';
import { FakeServer, page } from './lib/server.mjs';

if (!hasScript) {
  console.log('skipped: script(1), which makes the terminal, is not installed');
  process.exit(77);
}

const write = ['write', '7', '--buffer', '3', '--remote-addr', '0x1', '--remote-rkey', '0x2'];
const BAR = /write {2} ?\d+% \[=*>? *\] [\d.]+ [KM]?i?B {2}[\d.]+ [KMG]?i?B\/s/;

// A transfer of about a second that reports progress in ten steps.
function slowTransfer() {
  const steps = Array.from({ length: 6 }, (_, i) => ({ json: transfer({ state: 'running', bytes_done: i * 200000 }) }));
  return { 'POST /v1/transfers': { status: 202, json: transfer({ state: 'queued', bytes_done: 0 }) },
    'GET /v1/transfers/12': [...steps, { json: transfer() }] };
}

test('terminal: a long transfer shows a bar, and takes it away', async (t) => {
  const server = await FakeServer.start(t, slowTransfer());
  const { code, stdout } = await ctlOnTerminal(server, write);
  assert.equal(code, 0);
  assert.match(stdout, BAR);
  assert.match(stdout, /\r\u001b\[Ktransfer\/12: write of 1048576 bytes done/);
  assert.equal(server.requests[0].headers.prefer, 'wait=1');
});

test('terminal: there is no bar when standard error is none', async (t) => {
  const redirected = await ctlOnTerminal(await FakeServer.start(t, slowTransfer()), write, { redirect: ' 2>/dev/null' });
  assert.doesNotMatch(redirected.stdout, /%|\u001b/);
  const { stdout, stderr } = await ctl(await FakeServer.start(t, slowTransfer()), write);
  assert.doesNotMatch(stdout + stderr, /%|\u001b/);
  const dumb = await ctlOnTerminal(await FakeServer.start(t, slowTransfer()), write, { env: { TERM: 'dumb' } });
  assert.doesNotMatch(dumb.stdout, /%|\u001b/);
});

test('terminal: a long put shows a bar', async (t) => {
  const path = join(folder(), 'file');
  writeFileSync(path, Buffer.alloc(8 * 1024 * 1024));
  const server = await FakeServer.start(t);
  let body;
  server.server.removeAllListeners('request');
  server.server.on('request', (request, response) => {
    request.once('data', () => {
      request.pause();
      body = request;
    });
    request.on('end', () => response.writeHead(204).end());
  });
  const run = startOnTerminal(t, server, ['buf', 'put', 'target', path]);
  await run.until(/put target {2} *\d+% \[/);
  body.resume();
  assert.equal(await run.ended, 0);
  assert.match(run.raw, /\r\u001b\[K8388608 bytes put/);
});

test('terminal: a long get shows a bar', async (t) => {
  const path = join(folder(), 'file');
  const octets = { 'Content-Type': 'application/octet-stream' };
  let half;
  const server = await FakeServer.start(t, { 'GET /v1/buffers/long/data': (_, response) => {
    response.writeHead(200, { ...octets, 'Content-Length': '2000' });
    response.write(Buffer.alloc(1000));
    half = response;
  } });
  const run = startOnTerminal(t, server, ['buf', 'get', 'long', '-o', path]);
  await run.until(/get long {2} 50% \[/);
  half.end(Buffer.alloc(1000));
  assert.equal(await run.ended, 0);
});

test('terminal: a command that waits says so, and takes it away', async (t) => {
  let waiting;
  const server = await FakeServer.start(t, { 'POST /v1/probes': (_, response) => { waiting = response; } });
  const run = startOnTerminal(t, server, ['probes', 'create', '7']);
  await run.until(/^probes create {2}waiting, \d+ s$/m);
  waiting.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify(probe()));
  assert.equal(await run.ended, 0);
  assert.match(run.raw, /\r\u001b\[Kprobe\/6/);
});

test('terminal: raw bytes do not go there by accident', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers/b/data': { body: 'raw' },
    'GET /v1/connections/7/messages': page([message(1, 'cmF3', { encoding: 'base64' })]) });
  for (const args of [['buf', 'get', 'b'], ['recv', '7', '--raw']]) {
    const { code, stdout } = await ctlOnTerminal(server, args);
    assert.equal(code, 2);
    assert.match(stdout, /raw bytes may upset the terminal/);
  }
  assert.deepEqual(server.calls, []);
  assert.equal((await ctlOnTerminal(server, ['buf', 'get', 'b', '-o', '-'], { env: { TERM: 'dumb' } })).stdout, 'raw');
});

test('terminal: states are coloured there, and nowhere else', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([connection(), rejected({ id: 8 })]),
    'GET /v1/connections/7': { json: connection() } });
  const ESC = /\u001b/;
  assert.match((await ctlOnTerminal(server, ['ls'])).stdout, /\u001b\[32m *established *\u001b\[0?m/);
  assert.match((await ctlOnTerminal(server, ['show', '7'])).stdout, /\u001b\[32mestablished\u001b\[0m/);
  for (const args of [['ls'], ['show', '7']]) {
    assert.doesNotMatch((await ctlOnTerminal(server, args, { env: { NO_COLOR: '1' } })).stdout, ESC);
    assert.doesNotMatch((await ctlOnTerminal(server, args, { redirect: ' | cat' })).stdout, ESC);
    assert.doesNotMatch((await ctl(server, args)).stdout, ESC);
  }
});

test('terminal: what is bad is red, and a warning yellow', async (t) => {
  const bad = [event(1, { severity: 'error' }), event(2, { severity: 'warning' }), event(3)];
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([rejected()]), 'GET /v1/connections/8': { json: rejected({ id: 8 }) },
    'GET /v1/connections/9': { json: connection({ id: 9, state: 'draining' }) },
    'GET /v1/events': ({ query }) => ({ json: logPage(query.after === 'oldest' ? bad : [], { next: '00000000000000a1-3' }) }) });
  assert.match((await ctlOnTerminal(server, ['ls'])).stdout, /\u001b\[31m *failed *\u001b\[0?m/);
  assert.match((await ctlOnTerminal(server, ['show', '8'])).stdout, /^connection\/8 \(to-b\) {2}\u001b\[31mfailed\u001b\[0m\r\n/);
  assert.match((await ctlOnTerminal(server, ['show', '9'])).stdout, /^connection\/9 \(to-b\) {2}draining\r\n/);
  const shown = (await ctlOnTerminal(server, ['events'])).stdout.split('\r\n');
  assert.match(shown[0], /Z \u001b\[31merror {2}\u001b\[0m connection\/7/);
  assert.match(shown[1], /Z \u001b\[33mwarning\u001b\[0m connection\/7/);
  assert.match(shown[2], /Z info {4}connection\/7/);
  assert.doesNotMatch((await ctl(server, ['events'])).stdout, /\u001b/);
  assert.doesNotMatch((await ctlOnTerminal(server, ['events'], { env: { TERM: 'dumb' } })).stdout, /\u001b/);
  assert.match((await ctlOnTerminal(server, ['events'], { env: { NO_COLOR: '' } })).stdout, /\u001b\[31m/);
});
