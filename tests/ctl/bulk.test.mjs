// SPDX-License-Identifier: Apache-2.0
// Many connections by one request: made together, and ended and deleted by selection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl } from './lib/ctl.mjs';
import { connectionBatch } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const POST = 'POST /v1/connection_batches';
const GET = 'GET /v1/connection_batches/5';
const CLOSE = 'POST /v1/objects/-/cancel';
const running = connectionBatch({ state: 'running', ended_at: null, counts: { queued: 1, connecting: 1, established: 0, failed: 0 } });
const selected = (over = {}) => ({ selected: 2, objects: [8, 9].map((id) => ({ kind: 'connection', id })), dry_run: false, done: 2, pending: 0, failed: 0, failures: [], ...over });

test('bulk: connections made together are waited for', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: running }, [GET]: [{ json: running }, { json: connectionBatch() }] });
  const { code, stdout, stderr } = await ctl(server, ['connect', 'h:1', '--count', '2', '--name', 'w']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'connection_batch/5: done: 2 established, 0 failed, 0 connecting, 0 queued\n');
  assert.deepEqual(server.requests[0].json, { count: 2, connections: [{ dst_addr: 'h', dst_port: 1, name: 'w' }] });
  assert.equal(server.requests[0].headers.prefer, undefined);
});

test('bulk: they need not be waited for', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: running } });
  const { code, stdout } = await ctl(server, ['connect', 'h:1', '-n', '2', '--no-wait']);
  assert.equal(code, 0);
  assert.match(stdout, /running: 0 established, 0 failed, 1 connecting, 1 queued/);
  assert.equal(server.requests[0].headers.prefer, undefined);
});

test('bulk: those that failed are told, and the others too', async (t) => {
  const failures = [{ kind: 'connection', id: 9, name: 'w-2', code: 'rejected', detail: 'the peer refused' }];
  const json = connectionBatch({ state: 'failed', counts: { queued: 0, connecting: 0, established: 1, failed: 1 }, failures });
  const server = await FakeServer.start(t, { [POST]: { status: 201, json } });
  const { code, stdout, stderr } = await ctl(server, ['connect', 'h:1', '--count', '2']);
  assert.equal(code, 1);
  assert.match(stdout, /failed: 1 established, 1 failed/);
  assert.match(stderr, /connection\/9: the peer refused/);
});

test('bulk: batches are listed, cancelled and deleted', async (t) => {
  const server = await FakeServer.start(t, {
    'GET /v1/connection_batches': page([connectionBatch()]),
    'POST /v1/connection_batches/5/cancel': { json: connectionBatch({ state: 'failed' }) },
    'DELETE /v1/connection_batches/5': { status: 204 },
  });
  const [, line] = (await ctl(server, ['connection-batches'])).stdout.split('\n');
  assert.equal(line.trim().replaceAll(/ +/g, ' '), '5 done 0 0 2 0 -');
  assert.equal((await ctl(server, ['connection-batches', 'cancel', '5'])).stdout, 'connection_batch/5: failed\n');
  assert.equal((await ctl(server, ['connection-batches', 'rm', '5'])).stdout, 'connection_batch/5: gone\n');
});

test('bulk: a selection is closed and waited for', async (t) => {
  const server = await FakeServer.start(t, { [CLOSE]: { json: selected() } });
  const { code, stdout } = await ctl(server, ['close', '--all']);
  assert.equal(code, 0);
  assert.match(stdout, /selected +2\s+done +2/);
  assert.deepEqual(server.requests[0].query, { kind: 'connection', all: 'true' });
  assert.equal(server.requests[0].headers.prefer, 'wait=15');
});

test('bulk: a dry run tells which objects are selected', async (t) => {
  const server = await FakeServer.start(t, { [CLOSE]: { json: selected({ dry_run: true, done: 0 }) }, 'DELETE /v1/objects': { json: selected({ dry_run: true, done: 0 }) } });
  const { stdout } = await ctl(server, ['close', '--label', 'job=x', '--dry-run']);
  assert.match(stdout, /^connection\/8\nconnection\/9\n\s*selected +2\n$/);
  assert.deepEqual(server.requests[0].query, { kind: 'connection', label: 'job=x', dry_run: 'true' });
  assert.equal(server.requests[0].headers.prefer, undefined);
  await ctl(server, ['rm', '--all', '--dry-run']);
  assert.deepEqual(server.requests[1].query, { kind: 'connection', all: 'true', dry_run: 'true' });
});

test('bulk: operands, --label and --all exclude each other', async (t) => {
  const server = await FakeServer.start(t);
  for (const args of [['close'], ['close', '8', '--all'], ['rm', '--label', 'a', '--all'], ['rm', '8', '--dry-run']])
    assert.equal((await ctl(server, args)).code, 2, args.join(' '));
  assert.deepEqual(server.calls, []);
});
