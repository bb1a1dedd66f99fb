// SPDX-License-Identifier: Apache-2.0
// Objects that have the same commands: create, list, show, change and delete.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, succeeds } from './lib/ctl.mjs';
import { cq, endpoint, group, message, pd, peer, probe, srq, transfer, window } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const KINDS = [
  { name: 'pds', kind: 'pd', sample: pd(), row: '2 tenant rxe0 false 1',
    create: ['tenant', '--device', 'rxe0'], body: { name: 'tenant', device: 'rxe0' } },
  { name: 'cqs', kind: 'cq', sample: cq({ name: 'deep', auto: false }), row: '1 deep rxe0 0 1023 80 16 20 9 0 30 21 10 9 1',
    create: ['deep', '--depth', '4096', '--moderation-count', '16', '--moderation-period', '50'],
    body: { name: 'deep', cqe: 4096, moderation: { count: 16, period_us: 50 } },
    set: ['--depth', '8192'], change: { cqe: 8192 } },
  { name: 'srqs', kind: 'srq', sample: srq(), row: '4 pool rxe0 tenant 1 512 500 64 3 3 2',
    create: ['pool', '--pd', 'tenant', '--cq', '1', '--depth', '512', '--recv-size', '4K', '--limit', '64'],
    body: { name: 'pool', pd: 'tenant', cq: 1, max_wr: 512, recv_size_bytes: 4096, srq_limit: 64 },
    set: ['--limit', '0'], change: { srq_limit: 0 } },
  { name: 'windows', kind: 'window', sample: window(), row: '5 slit ready 2 target to-b 4096 4.0 KiB remote_write',
    create: ['slit', '--buffer', 'vault', '--connection', '7', '--type', '2', '--offset', '4K', '--length', '4K',
      '--access', 'remote_write'],
    body: { name: 'slit', buffer: 'vault', connection: 7, type: 2, buffer_offset_bytes: 4096, size_bytes: 4096,
      access: ['remote_write'] }, waits: true },
  { name: 'probes', kind: 'probe', sample: probe(), row: '6 done rping to-b 100 100 0 10.500 us 20.000 us',
    create: ['7', '--kind', 'rping', '-n', '100', '--size', '64'],
    body: { connection: 7, kind: 'rping', count: 100, size_bytes: 64 }, waits: true },
  { name: 'ud-endpoints', path: '/v1/ud_endpoints', kind: 'ud_endpoint', sample: endpoint(),
    row: '2 mail ready rxe0 0x21 ::ffff:192.0.2.1 1024 192.0.2.1 7475 inbox',
    create: ['mail', '--addr', '192.0.2.1', '--port', '7475', '--qkey', '0x1234567', '--rq-depth', '16'],
    body: { name: 'mail', addr: '192.0.2.1', port: 7475, qkey: '0x1234567', qp: { rq_depth: 16 } } },
  { name: 'ud-peers', path: '/v1/ud_peers', kind: 'ud_peer', sample: peer(), row: '3 post ready mail 0x22 ::ffff:192.0.2.2 0 192.0.2.2 7475',
    create: ['post', '--endpoint', 'mail', '--gid', '::ffff:192.0.2.2', '--qpn', '34', '--qkey', '0x1234567'],
    body: { name: 'post', ud_endpoint: 'mail', gid: '::ffff:192.0.2.2', qpn: 34, qkey: '0x1234567' } },
  { name: 'multicast-memberships', path: '/v1/multicast_memberships', kind: 'multicast_membership', sample: group(), row: '4 news joined mail 239.1.2.3 full ::ffff:239.1.2.3',
    create: ['news', '--endpoint', '2', '--addr', '239.1.2.3', '--mode', 'full'],
    body: { name: 'news', ud_endpoint: 2, addr: '239.1.2.3', mode: 'full' }, waits: true },
];

for (const { name, path = `/v1/${name}`, kind, sample, row, create, body, set, change, waits } of KINDS) {
  test(`resources: ${name} are listed`, async (t) => {
    const server = await FakeServer.start(t, { [`GET ${path}`]: page([sample]) });
    const [, line] = (await succeeds(server, [name])).stdout.split('\n');
    assert.equal(line.trim().replaceAll(/ +/g, ' '), row);
  });

  test(`resources: one of the ${name} is made`, async (t) => {
    const server = await FakeServer.start(t, { [`POST ${path}`]: { status: 201, json: sample } });
    const { stdout } = await succeeds(server, [name, 'create', ...create]);
    assert.deepEqual(server.requests[0].json, body);
    assert.equal(server.requests[0].headers.prefer, waits ? 'wait=60' : undefined);
    assert.ok(stdout.startsWith(`${kind}/${sample.id}`), stdout);
  });

  test(`resources: one of the ${name} is shown, each member with its unit`, async (t) => {
    const server = await FakeServer.start(t, { [`GET ${path}/${sample.id}`]: { json: sample } });
    const { stdout } = await succeeds(server, [name, 'show', String(sample.id)]);
    assert.match(stdout, /created +2026-03-04T05:06:07/);
    assert.doesNotMatch(stdout, /null/);
    assert.deepEqual(JSON.parse((await succeeds(server, [name, 'show', String(sample.id), '--json'])).stdout), sample);
  });

  test(`resources: ${name} are deleted, and one in use says by whom`, async (t) => {
    const server = await FakeServer.start(t, {
      [`DELETE ${path}/1`]: { status: 204 },
      [`DELETE ${path}/2`]: { status: 409, json: { type: '/v1/glossary/in_use', title: 'The object is in use',
        status: 409, code: 'in_use', detail: 'it is used', users: ['/v1/connections/7'] } } });
    const { code, stdout, stderr } = await ctl(server, [name, 'rm', '1', '2']);
    assert.equal(code, 1);
    assert.equal(stdout, `${kind}/1: gone\n`);
    assert.match(stderr, /users +\/v1\/connections\/7/);
  });

  if (set) {
    test(`resources: one of the ${name} is changed`, async (t) => {
      const server = await FakeServer.start(t, { [`PATCH ${path}/x`]: { json: sample } });
      await succeeds(server, [name, 'set', 'x', ...set]);
      assert.deepEqual(server.requests[0].json, change);
    });
  }
}

test('resources: --no-wait returns while a window is being bound', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/windows': { status: 202, json: window({ state: 'binding' }) } });
  await succeeds(server, ['windows', 'create', '--buffer', '3', '--connection', '7', '--type', '1', '--access',
    'remote_read', '--no-wait']);
  assert.equal(server.requests[0].headers.prefer, undefined);
});

test('resources: nested members are shown on a line of their own', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/probes/6': { json: probe() } });
  const { stdout } = await succeeds(server, ['probes', 'show', '6']);
  assert.match(stdout, /^ {2}rtt +min 9\.000 us, mean 11\.000 us, p50 10\.500 us, p90 15\.000 us, p99 20\.000 us, p999\n {16}30\.000 us, max 31\.000 us$/m);
});

test('resources: a peer is resolved where it is', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/ud_peers': { status: 201, json: peer() } });
  await succeeds(server, ['ud-peers', 'resolve', '[fd00::2]:7475', '--endpoint', 'mail', '--name', 'post',
    '--private-data', 'who', '--timeout', '5s']);
  assert.deepEqual(server.requests[0].json, { name: 'post', ud_endpoint: 'mail', private_data: { data: 'who' },
    timeout_ms: 5000, dst_addr: 'fd00::2', dst_port: 7475 });
  assert.equal((await ctl(server, ['ud-peers', 'resolve', 'nowhere', '--endpoint', 'mail'])).code, 2);
});

test('resources: datagrams are sent to a peer and taken from an inbox', async (t) => {
  const server = await FakeServer.start(t, {
    'POST /v1/ud_endpoints/mail/messages': { status: 201, json: transfer({ op: 'send', connection: null, ud_endpoint: 2, ud_peer: 3 }) },
    'POST /v1/transfers': { status: 201, json: transfer({ op: 'send', connection: null, ud_endpoint: 2, multicast_membership: 4 }) },
    'GET /v1/ud_endpoints/mail/messages': [page([message(1, 'to all')]), page([])],
    'DELETE /v1/ud_endpoints/mail/messages': { status: 204 } });
  await succeeds(server, ['ud-endpoints', 'send', 'mail', 'hello', '--peer', 'post']);
  assert.deepEqual(server.requests[0].json, { ud_peer: 'post', data: 'hello' });
  await succeeds(server, ['ud-endpoints', 'send', 'mail', '--buffer', 'b', '--group', '4']);
  assert.deepEqual(server.requests[1].json, { ud_endpoint: 'mail', multicast_membership: 4, buffer: 'b', op: 'send' });
  assert.equal((await succeeds(server, ['ud-endpoints', 'recv', 'mail'])).stdout, 'to all\n');
});

test('resources: labels are given to an object, and select objects', async (t) => {
  const server = await FakeServer.start(t, {
    'POST /v1/pds': { status: 201, json: KINDS.find(({ kind }) => kind === 'pd').sample },
    'GET /v1/pds': page([]),
    'DELETE /v1/objects': { status: 200, json: { selected: 2, objects: [], dry_run: false, done: 1, pending: 0, failed: 1,
      failures: [{ kind: 'pd', id: 4, name: null, code: 'in_use', detail: 'it is used' }] } },
    'POST /v1/objects/-/cancel': { status: 202, json: { selected: 3, objects: [], dry_run: false, done: 1, pending: 2, failed: 0, failures: [] } } });
  await succeeds(server, ['pds', 'create', 'mine', '--label', 'job=nightly,team']);
  assert.deepEqual(server.requests[0].json, { name: 'mine', labels: { job: 'nightly', team: '' } });
  await ctl(server, ['pds', 'ls', '--label', 'job=a b']);
  assert.equal(server.requests[1].query.label, 'job=a b');
  const { stdout, stderr } = await ctl(server, ['pds', 'rm', '--label', 'job']);
  assert.equal(server.requests[2].query.label, 'job');
  assert.match(stdout, /selected +2/);
  assert.match(stderr, /pd\/4: it is used/);
  assert.match((await succeeds(server, ['close', '--label', 'job=x'])).stdout, /under way +2/);
  assert.equal((await ctl(server, ['pds', 'rm'])).code, 2);
  assert.equal((await ctl(server, ['pds', 'rm', '4', '--label', 'job'])).code, 2);
});
