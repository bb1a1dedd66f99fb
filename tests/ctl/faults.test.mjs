// SPDX-License-Identifier: Apache-2.0
// The commands faults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl } from './lib/ctl.mjs';
import { fault } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const LIST = '/v1/faults';

test('faults: one is made of its options', async (t) => {
  const server = await FakeServer.start(t, { [`POST ${LIST}`]: { status: 201, json: fault() } });
  const { code, stderr } = await ctl(server, ['faults', 'create', 'delay_completions', '--delay', '200ms', '--target', 'to-b',
    '--after', '2', '--count', '5', '--probability', '50', '--expires', '1m', '--name', 'slow']);
  assert.equal(code, 0, stderr);
  const { json } = server.requests.find(({ method }) => method === 'POST');
  assert.deepEqual(json, { effect: 'delay_completions', delay_ms: 200, target: 'to-b', after: 2, count: 5, probability_percent: 50,
    expires_ms: 60000, name: 'slow' });
});

test('faults: a call fails with an errno', async (t) => {
  const server = await FakeServer.start(t, { [`POST ${LIST}`]: { status: 201, json: fault() } });
  assert.equal((await ctl(server, ['faults', 'create', 'fail_call', '--call', 'create_qp', '--errno', 'ENOMEM'])).code, 0);
  const { json } = server.requests.find(({ method }) => method === 'POST');
  assert.deepEqual(json, { effect: 'fail_call', call: 'create_qp', errno: 'ENOMEM' });
});

test('faults: the list shows how often each was hit', async (t) => {
  const server = await FakeServer.start(t, { [`GET ${LIST}`]: page([fault()]) });
  const { code, stdout } = await ctl(server, ['faults', 'ls']);
  assert.equal(code, 0);
  assert.match(stdout, /^ID +NAME +EFFECT +CALL +TARGET +SELECTOR +COUNT +FIRED +EXPIRES/);
  assert.match(stdout, /4 +slow +delay_completions +- +to-b +- +5 +3 /);
});

test('faults: one is ended', async (t) => {
  const server = await FakeServer.start(t, { [`DELETE ${LIST}/slow`]: { status: 204 } });
  assert.equal((await ctl(server, ['faults', 'rm', 'slow'])).code, 0);
});
