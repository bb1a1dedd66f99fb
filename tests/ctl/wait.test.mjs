// SPDX-License-Identifier: Apache-2.0
// wait: until a state has come, can't come any more, or the time is over.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, SIGPIPE_STATUS, startPiped } from './lib/ctl.mjs';
import { connection, rejected, transfer } from './lib/samples.mjs';
import { FakeServer } from './lib/server.mjs';

const connecting = connection({ state: 'connecting', established_at: null });
// The answer comes when the time of the request is over.
const late = (json) => async ({ query }) => {
  await new Promise((resolve) => { setTimeout(resolve, Number(query.wait_ms)); });
  return { json };
};

test('wait: a connection is waited for until it is established', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/to-b': { json: connection() } });
  const { code, stdout, stderr } = await ctl(server, ['wait', 'to-b']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'connection/7 (to-b): established\n');
  assert.deepEqual(server.requests.map(({ query }) => query), [{ until: 'established', wait_ms: '30000' }]);
});

test('wait: all objects are waited for, in any state, and printed as JSON', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/transfers/12': { json: transfer() },
    'GET /v1/transfers/13': { json: transfer({ id: 13, state: 'failed' }) } });
  const { code, stdout } = await ctl(server, ['transfers', 'wait', '12', '13', '--until', 'ended', '--json']);
  assert.equal(code, 0);
  assert.deepEqual(stdout.trimEnd().split('\n').map((line) => JSON.parse(line).id), [12, 13]);
  assert.equal(server.requests[1].query.until, 'ended');
});

test('wait: a state that can not come any more is a failure, told with the reason', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/a': { json: rejected() },
    'GET /v1/connections/b': { json: connection() }, 'GET /v1/connections/c': { json: connection({ state: 'closed' }) } });
  const { code, stdout, stderr } = await ctl(server, ['wait', 'a', 'b', 'c']);
  assert.equal(code, 1);
  assert.equal(stdout, 'connection/7 (to-b): established\n');
  assert.match(stderr, /^verbsctl: connection\/7: rejected: .*\n/);
  assert.match(stderr, /connection\/7 is closed, and will not be established\n/);
});

test('wait: a deadline that ended the connection is a failure, not a wait that timed out', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/a':
    { json: rejected({ end_code: 'timed_out', error: { ...rejected().error, code: 'timed_out' } }) } });
  assert.equal((await ctl(server, ['wait', 'a'])).code, 1);
});

test('wait: --timeout counts for all objects together', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/a': late(connecting), 'GET /v1/connections/b': late(connecting),
    'GET /v1/connections/c': late(connection()) });
  const { code, stdout, stderr } = await ctl(server, ['wait', 'a', 'b', 'c', '--timeout', '100ms']);
  assert.equal(code, 3);
  assert.equal(stdout, 'connection/7 (to-b): established\n');
  assert.equal(stderr, 'verbsctl: connection/7 is connecting, and not yet established\n'.repeat(2));
  assert.equal(server.requests.at(-1).query.wait_ms, '0');
});

test('wait: ends with its reader, before the state comes', async (t) => {
  let waiting = 0;
  const server = await FakeServer.start(t, { 'GET /v1/connections/a': () => { waiting++; return new Promise(() => {}); } });
  const run = startPiped(t, server, ['wait', 'a']);
  await run.until(() => waiting === 1);
  run.child.stdin.end();
  assert.equal(await run.end(), SIGPIPE_STATUS);
  assert.equal(run.stderr, '');
});

test('wait: what is not there is 4, and what is no state is refused', async (t) => {
  const server = await FakeServer.start(t, {});
  assert.equal((await ctl(server, ['buffers', 'wait', 'x'])).code, 4);
  assert.equal((await ctl(server, ['buffers', 'wait', 'x', '--until', 'a b'])).code, 2);
  assert.equal(server.requests.length, 1);
});

const ENDED = { state: 'closed', ended_at: '2026-03-04T05:06:09.123456789Z', end_code: 'local_close', error: null };
const SHORT = ['--timeout', '1ms']; // the server has no time to answer early

for (const [until, more, over, code, said] of [
  ['established', [], {}, 0, 'connection/7 (to-b): established\n'],
  ['closed', SHORT, {}, 3, 'verbsctl: connection/7 is established, and not yet closed\n'],
  ['closed', [], {}, 1, 'verbsctl: connection/7 is established, and will not be closed\n'],
  ['established', [], ENDED, 1, 'verbsctl: connection/7 is closed, and will not be established\n'],
  ['changed', [], {}, 0, 'connection/7 (to-b): established\n'],
  ['changed', SHORT, {}, 3, 'verbsctl: connection/7 is established, and not yet changed\n'],
  ['open', [], {}, 0, 'connection/7 (to-b): established\n'],
  ['open', [], ENDED, 1, 'verbsctl: connection/7 is closed, and will not be open\n'],
  ['ended', SHORT, ENDED, 0, 'connection/7 (to-b): closed (local_close)\n'],
  ['ended', [], {}, 0, 'connection/7 (to-b): established\n'],
  ['ended', SHORT, {}, 3, 'verbsctl: connection/7 is established, and not yet ended\n'],
])
  test(`wait: until ${until}, ${more.length ? 'for a moment' : 'as long as it takes'}, ${over.state ?? 'established'}`, async (t) => {
    const server = await FakeServer.start(t, { 'GET /v1/connections/7': { json: connection({ name: 'to-b', end_code: null, ended_at: null, ...over }) } });
    const { code: got, stdout, stderr } = await ctl(server, ['wait', '7', '--until', until, ...more]);
    assert.equal(stdout + stderr, said);
    assert.equal(got, code);
    assert.equal(server.requests[0].query.until, until);
    assert.ok(more.length ? Number(server.requests[0].query.wait_ms) <= 2 : server.requests[0].query.wait_ms === '30000');
  });
