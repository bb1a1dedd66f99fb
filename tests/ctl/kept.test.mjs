// SPDX-License-Identifier: Apache-2.0
// Kept objects: --keep of new ones, and the commands kept-objects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl } from './lib/ctl.mjs';
import { connection, keptObject, listener } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const LIST = '/v1/kept_objects';

test('kept: a new listener is kept', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/listeners': { status: 201, json: listener() } });
  const { code, stderr } = await ctl(server, ['listen', '0.0.0.0:7471', '--name', 'front', '--keep', '--share', 'operators']);
  assert.equal(code, 0, stderr);
  const { json } = server.requests.find(({ method }) => method === 'POST');
  assert.equal(json.keep, true);
  assert.equal(json.share, 'operators');
  assert.equal(json.name, 'front');
});

test('kept: a new connection says when it comes again', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections': { status: 201, json: connection() } });
  const { code, stderr } = await ctl(server, ['connect', 'hostb:7471', '--name', 'to-b', '--keep', '--reconnect', 'on_failure']);
  assert.equal(code, 0, stderr);
  const { json } = server.requests.find(({ method }) => method === 'POST');
  assert.equal(json.keep, true);
  assert.equal(json.reconnect, 'on_failure');
});

test('kept: the list shows the state and why the newest try failed', async (t) => {
  const server = await FakeServer.start(t, { [`GET ${LIST}`]: page([keptObject()]) });
  const { code, stdout } = await ctl(server, ['kept-objects', 'ls']);
  assert.equal(code, 0);
  assert.match(stdout, /^ID +NAME +KIND +STATE +SOURCE +OBJECT +TRIES/);
  assert.match(stdout, /2 +to-b +connection +waiting +config +7 +3 /);
});

test('kept: show tells the pauses with their unit', async (t) => {
  const server = await FakeServer.start(t, { [`GET ${LIST}/to-b`]: { json: keptObject() } });
  const { stdout } = await ctl(server, ['kept-objects', 'show', 'to-b']);
  assert.match(stdout, /^ {2}reconnect min +500 ms$/m);
  assert.match(stdout, /^ {2}reconnect max +30000 ms$/m);
});

test('kept: one is kept no longer', async (t) => {
  const server = await FakeServer.start(t, { [`DELETE ${LIST}/to-b`]: { status: 204 } });
  assert.equal((await ctl(server, ['kept-objects', 'rm', 'to-b'])).code, 0);
});
