// SPDX-License-Identifier: Apache-2.0
// probe, bench: started, followed to the end or an interrupt, and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, start } from './lib/ctl.mjs';
import { benchmark, buffer, probe } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const none = { last_ns: null, jitter_ns: null, rtt_ns: null };
const ping = (over) => probe({ kind: 'ack', count: null, interval_ms: 1000, size_bytes: 0, timeout_ms: null, ...over });
const running = { state: 'running', ended_at: null };
const cancelled = { code: 'cancelled', text: 'was cancelled', hint: 'Somebody deleted it.' };

// The answer to the cancel, after which the object has ended.
const stopping = (sample) => {
  const state = { stopped: false };
  state.answer = () => {
    state.stopped = true;
    return { status: 202, json: sample };
  };
  return state;
};

test('probe: one with a count is told when it is over, and is gone then', async (t) => {
  const server = await FakeServer.start(t, {
    'POST /v1/probes': { status: 202, json: ping({ ...running, ...none, count: 100, completed: 0 }) },
    'GET /v1/probes/6': [{ json: ping({ ...running, count: 100 }) }, { json: ping({ count: 100 }) }],
    'DELETE /v1/probes/6': { status: 204 },
  });
  const { code, stdout, stderr } = await ctl(server, ['probe', '7', '-n', '100', '--interval', '10ms', '--kind', 'ack']);

  assert.equal(code, 0, stderr);
  assert.deepEqual(server.requests[0].json, { connection: 7, count: 100, interval_ms: 10, kind: 'ack' });
  assert.deepEqual(server.calls, ['POST /v1/probes', 'GET /v1/probes/6', 'GET /v1/probes/6', 'DELETE /v1/probes/6']);
  assert.match(stdout, /^probe\/6 {2}done\n {2}connection +to-b\n {2}kind +ack\n(.*\n)* {2}sent +100\n {2}completed +100\n {2}late +0\n {2}lost +0\n/);
  assert.match(stdout, /^ {2}jitter +700 ns\n {2}rtt +min 9\.000 us, .*p999\n +30\.000 us, max 31\.000 us$/m);
});

// A probe that goes on until it is cancelled.
function serverOfProbe(t) {
  const state = stopping(ping(running));
  return FakeServer.start(t, {
    'POST /v1/probes': { status: 202, json: ping({ ...running, ...none }) },
    'GET /v1/probes/6': () => ({ json: ping(state.stopped ? {} : running) }),
    'POST /v1/probes/6/cancel': state.answer,
    'DELETE /v1/probes/6': { status: 204 },
  });
}

test('probe: without a count it tells how it goes until it is interrupted, which is no failure', async (t) => {
  const server = await serverOfProbe(t);
  const run = start(t, server, ['probe', 'to-b']);

  await run.until(({ stdout }) => /^100 sent, 100 back, 0 late, 0 lost, 0 with other bytes; last 9\.500 us, p50 10\.500 us/m.test(stdout));
  run.child.kill('SIGINT');
  assert.equal(await run.ended, 0);
  assert.deepEqual(server.requests[0].json, { connection: 'to-b' });
  assert.deepEqual(server.calls.filter((call) => !call.startsWith('GET')).slice(1), ['POST /v1/probes/6/cancel', 'DELETE /v1/probes/6']);
  assert.match(run.stdout, /^probe\/6 {2}done\n/m);
});

test('probe: one that has ended when it is cancelled is not asked for again', async (t) => {
  const server = await FakeServer.start(t, {
    'POST /v1/probes': { status: 202, json: ping({ ...running, ...none }) },
    'GET /v1/probes/6': { json: ping(running) },
    'POST /v1/probes/6/cancel': { json: ping() },
    'DELETE /v1/probes/6': { status: 204 },
  });
  const run = start(t, server, ['probe', '7']);

  await run.until(() => server.calls.length > 1);
  run.child.kill('SIGTERM');
  assert.equal(await run.ended, 0);
  assert.deepEqual(server.calls.slice(-2), ['POST /v1/probes/6/cancel', 'DELETE /v1/probes/6']);
});

test('probe: what ended it is told, behind what it found', async (t) => {
  const error = { code: 'peer_disconnect', first: null, detail: 'connection 7 ended after 100 pings: the peer hung up', hint: 'Ask the peer.' };
  const server = await FakeServer.start(t, {
    'POST /v1/probes': { status: 202, json: ping({ ...running, ...none }) },
    'GET /v1/probes/6': { json: ping({ state: 'failed', error }) },
    'DELETE /v1/probes/6': { status: 204 },
  });
  const { code, stdout, stderr } = await ctl(server, ['probe', '7']);

  assert.equal(code, 1);
  assert.match(stdout, /^probe\/6 {2}failed\n(.*\n)* {2}sent +100\n/);
  assert.match(stderr, /connection 7 ended after 100 pings/);
});

test('probe: as JSON it is a line each time', async (t) => {
  const server = await FakeServer.start(t, {
    'POST /v1/probes': { status: 202, json: ping({ ...running, ...none }) },
    'GET /v1/probes/6': { json: ping() },
    'DELETE /v1/probes/6': { status: 204 },
  });
  const { code, stdout } = await ctl(server, ['probe', '7', '--json']);

  assert.equal(code, 0);
  assert.deepEqual(stdout.trim().split('\n').map((line) => JSON.parse(line)), [ping()]);
});

test('probe: as JSON it tells how it goes in lines too', async (t) => {
  const server = await serverOfProbe(t);
  const run = start(t, server, ['probe', '7', '--json']);

  await run.until(({ stdout }) => stdout.includes('\n'));
  run.child.kill('SIGINT');
  assert.equal(await run.ended, 0);
  const lines = run.stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines[0], ping(running));
  assert.deepEqual(lines.at(-1), ping());
});

test('bench: a write aims at the buffer of the peer', async (t) => {
  const server = await FakeServer.start(t, {
    'GET /v1/buffers/target': { json: buffer({ name: 'target', size_bytes: 65536, access: ['remote_write'] }) },
    'POST /v1/benchmarks': { status: 202, json: benchmark(running) },
    'GET /v1/benchmarks/4': { json: benchmark() },
    'DELETE /v1/benchmarks/4': { status: 204 },
  });
  const { code, stdout, stderr } = await ctl(server, ['bench', '7', '--size', '64K', '--tx-depth', '16',
    '--duration', '1s', '--buffer', '3', '--remote', '#target']);

  assert.equal(code, 0, stderr);
  const { remote, ...rest } = server.requests.find(({ method }) => method === 'POST').json;
  assert.deepEqual(rest, { connection: 7, op: 'write', size_bytes: 65536, tx_depth: 16, duration_ms: 1000, buffer: 3 });
  assert.deepEqual(Object.keys(remote), ['addr', 'rkey', 'size_bytes']);
  assert.match(stdout, /^ {2}op +write\n {2}size +64\.0 KiB\n {2}tx depth +16$/m);
  assert.match(stdout, /^ {2}messages +20000\n {2}bytes +1\.2 GiB\n {2}elapsed +1\.000 s\n {2}bytes per s +1\.2 GiB\n {2}messages per s +20000$/m);
  assert.match(stdout, /^ {2}latency +min 9\.000 us, .*p999\n +30\.000 us/m);
});

test('bench: a send needs nothing of the peer, and an interrupt prints the result so far', async (t) => {
  const state = stopping(benchmark(running));
  const server = await FakeServer.start(t, {
    'POST /v1/benchmarks': { status: 202, json: benchmark(running) },
    'GET /v1/benchmarks/4': () => ({ json: benchmark(state.stopped ? { state: 'cancelled', error: cancelled } : running) }),
    'POST /v1/benchmarks/4/cancel': state.answer,
    'DELETE /v1/benchmarks/4': { status: 204 },
  });
  const run = start(t, server, ['bench', 'to-b', '--size', '0', '-n', '1000000']);

  await run.until(() => server.calls.length > 1);
  run.child.kill('SIGINT');
  assert.equal(await run.ended, 0);
  assert.deepEqual(server.requests[0].json, { connection: 'to-b', op: 'send', size_bytes: 0, count: 1000000 });
  assert.match(run.stdout, /^ {2}messages +20000$/m);
});

test('bench: a missing option is refused before any request', async (t) => {
  const server = await FakeServer.start(t, {});

  for (const args of [[], ['--size', '64'], ['7', '--size', '64', '--op', 'write']])
    assert.equal((await ctl(server, ['bench', ...args])).code, 2);
  assert.deepEqual(server.calls, []);
});

test('benchmarks: they are listed', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/benchmarks': page([benchmark()]) });
  const [, line] = (await ctl(server, ['benchmarks'])).stdout.split('\n');

  assert.equal(line.trim().replaceAll(/ +/g, ' '), '4 done write to-b 64.0 KiB 16 20000 1.2 GiB 10.500 us 20.000 us');
});
