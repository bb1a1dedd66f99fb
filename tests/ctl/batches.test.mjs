// SPDX-License-Identifier: Apache-2.0
// batches: transfers that start together.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ctl, folder } from './lib/ctl.mjs';
import { batch } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const POST = 'POST /v1/transfer_batches';
const one = { connection: 'to-b', op: 'send', buffer: 'source' };
const running = batch({ state: 'running', ended_at: null });

function fileOf(json) {
  const file = join(folder(), 'transfers.json');
  writeFileSync(file, typeof json === 'string' ? json : JSON.stringify(json));
  return file;
}

test('batches: the transfers of a file start together and are waited for', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: running }, 'GET /v1/transfer_batches/2': [{ json: running }, { json: batch() }] });
  const { code, stdout, stderr } = await ctl(server, ['transfer-batches', 'create', fileOf([one, { ...one, buffer: 3 }])]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'transfer_batch/2: done: 2 done, 0 failed, 0 cancelled, 0 timed out, 0 running\n');
  assert.deepEqual(server.requests[0].json, { transfers: [one, { ...one, buffer: 3 }] });
  assert.equal(server.requests[0].headers.prefer, undefined);
});

test('batches: a body of the API is taken as it is', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: running } });
  const { code, stdout } = await ctl(server, ['transfer-batches', 'create', '-', '--no-wait'], { input: JSON.stringify({ transfers: [one] }) });
  assert.equal(code, 0);
  assert.equal(stdout, 'transfer_batch/2: running: 2 done, 0 failed, 0 cancelled, 0 timed out, 0 running\n');
  assert.deepEqual(server.requests[0].json, { transfers: [one] });
  assert.equal(server.requests[0].headers.prefer, undefined);
});

test('batches: one that failed is told with each transfer that failed', async (t) => {
  const failures = [12, 13].map((id) => ({ kind: 'transfer', id, name: null, code: 'remote_access', detail: `the peer refused key ${id}` }));
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: running }, 'GET /v1/transfer_batches/2': { json: batch({ state: 'failed', counts: { ...batch().counts, done: 0, failed: 2 }, failures }) } });
  const { code, stdout, stderr } = await ctl(server, ['transfer-batches', 'create', fileOf([one])]);
  assert.equal(code, 1);
  assert.equal(stdout, 'transfer_batch/2: failed: 0 done, 2 failed, 0 cancelled, 0 timed out, 0 running\n');
  assert.equal(stderr, 'verbsctl: transfer/12: the peer refused key 12\nverbsctl: transfer/13: the peer refused key 13\n');
});

test('batches: the first failure is told once, with its cause; then the others', async (t) => {
  const error = { code: 'remote_access', detail: 'transfer 12: the peer refused key 12', hint: 'Look.', first: null, explain: '/v1/connections/7/explain' };
  const cause = { code: 'access_refused', detail: 'The key is old.', hint: 'Get it again.' };
  const failures = [12, 13].map((id) => ({ kind: 'transfer', id, name: null, code: 'remote_access', detail: `the peer refused key ${id}` }));
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: running }, 'GET /v1/connections/7/explain': { json: { cause } },
    'GET /v1/transfer_batches/2': { json: batch({ state: 'failed', failures, error }) } });
  const { code, stderr } = await ctl(server, ['transfer-batches', 'create', fileOf([one])]);
  assert.equal(code, 1);
  assert.equal(stderr, ['verbsctl: transfer_batch/2: remote_access: transfer 12: the peer refused key 12', '  cause         The key is old.',
    '  hint          Get it again.', '  explain       verbsctl explain 7', 'verbsctl: transfer/13: the peer refused key 13', ''].join('\n'));
});

for (const [what, name, says] of [['that is not there', '/nowhere/transfers.json', /nowhere\/transfers\.json: No such file/],
  ['that is not JSON', fileOf('[{]'), /transfers\.json: line 1: /]]) {
  test(`batches: a file ${what} is refused`, async (t) => {
    const server = await FakeServer.start(t);
    const { code, stderr } = await ctl(server, ['transfer-batches', 'create', name]);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.deepEqual(server.calls, []);
  });
}

test('batches: they are listed', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/transfer_batches': page([batch()]) });
  const [, line] = (await ctl(server, ['transfer-batches'])).stdout.split('\n');
  assert.equal(line.trim().replaceAll(/ +/g, ' '), '2 done 0 0 2 0 0 0 -');
});

test('batches: they are cancelled and deleted', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/transfer_batches/2/cancel': { json: batch({ state: 'failed' }) }, 'DELETE /v1/transfer_batches/2': { status: 204 } });
  assert.equal((await ctl(server, ['transfer-batches', 'cancel', '2'])).stdout, 'transfer_batch/2: failed\n');
  assert.equal((await ctl(server, ['transfer-batches', 'rm', '2'])).stdout, 'transfer_batch/2: gone\n');
});
