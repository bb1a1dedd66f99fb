// SPDX-License-Identifier: Apache-2.0
// The requests of each command, and its output for the answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, succeeds } from './lib/ctl.mjs';
import { benchmark, buffer, caller, connection, cq, device, drain, event, firstError, index, listener, logPage, rejected, timeline, transfer } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

// Cells of a table, without its titles.
const rowsOf = (text) => text.trimEnd().split('\n').slice(1).map((line) => line.trim().split(/ {1,}/));

const LISTS = [
  { args: ['ls'], path: '/v1/connections', items: [connection(), rejected({ id: 8, name: null })],
    heading: 'ID NAME STATE SIDE PEER SERVICE LQPN RQPN SENT RECV END-CODE',
    rows: [['7', 'to-b', 'established', 'active', '192.0.2.2:7471', 'inbox', '0x11', '0x12', '1.0', 'MiB', '0', 'B', '-'],
      ['8', '-', 'failed', 'active', '192.0.2.2:7471', 'inbox', '-', '-', '1.0', 'MiB', '0', 'B', 'rejected']] },
  { args: ['devices'], path: '/v1/devices', items: [device(), device({ id: 2, name: 'siw0', state: 'failed', ports: [], error: { code: 'permission_denied', detail: 'EPERM', hint: 'Check it.', first: null } })],
    heading: 'NAME STATE TRANSPORT PORTS GUID FIRMWARE ERROR',
    rows: [['rxe0', 'present', 'roce', '1', 'active,', 'MTU', '1024,', 'eth0', '0x505400fffe123456', '1.0', '-'],
      ['siw0', 'failed', 'roce', '-', '0x505400fffe123456', '1.0', 'EPERM']] },
  { args: ['cqs'], path: '/v1/cqs', items: [cq()],
    heading: 'ID NAME DEVICE WORKER CQE RESERVED OUTSTANDING HIGH COMPLETIONS ERRORS POLLS EMPTY ARMED TAKEN QPS',
    rows: [['1', '-', 'rxe0', '0', '1023', '80', '16', '20', '9', '0', '30', '21', '10', '9', '1']] },
  { args: ['listeners'], path: '/v1/listeners', items: [listener(), listener({ id: 2, name: 'v6', addr: '::' })],
    heading: 'ID NAME STATE ADDRESS DEVICE ACCEPT SERVICE REQUESTS ACCEPTED REJECTED WAITING',
    rows: [['1', 'front', 'listening', '0.0.0.0:7471', '-', 'auto', 'echo', '5', '4', '1', '0'],
      ['2', 'v6', 'listening', '[::]:7471', '-', 'auto', 'echo', '5', '4', '1', '0']] },
  { args: ['buf', 'ls'], path: '/v1/buffers', items: [buffer(), buffer({ id: 4, access: ['remote_write', 'remote_read'] })],
    heading: 'ID NAME STATE SIZE KIND ACCESS DEVICE USERS',
    rows: [['3', 'target', 'ready', '1.0', 'MiB', 'anonymous', 'remote_write', 'rxe0', '0'],
      ['4', 'target', 'ready', '1.0', 'MiB', 'anonymous', 'remote_write,remote_read', 'rxe0', '0']] },
  { args: ['transfers'], path: '/v1/transfers', items: [transfer()],
    heading: 'ID STATE OP CONN BUFFER LENGTH DONE WRS QUEUED WIRE RATE ERROR',
    rows: [['12', 'done', 'write', 'to-b', 'source', '1.0', 'MiB', '1.0', 'MiB', '4', '45.000', 'us', '2.000', 'ms', '500.0', 'MiB/s', '-']] },
];

for (const { args, path, items, heading, rows } of LISTS) {
  test(`objects: "${args.join(' ')}" shows a table`, async (t) => {
    const server = await FakeServer.start(t, { [`GET ${path}`]: page(items) });
    const { stdout } = await succeeds(server, args);
    assert.equal(stdout.split('\n')[0].trim().replace(/ +/g, ' '), heading);
    assert.deepEqual(rowsOf(stdout), rows);
  });

  test(`objects: "${args.join(' ')} --json" prints the server's JSON`, async (t) => {
    const server = await FakeServer.start(t, { [`GET ${path}`]: page(items) });
    const { stdout } = await succeeds(server, [...args, '--json']);
    assert.deepEqual(JSON.parse(stdout), { total: items.length, next: null, items });
    assert.ok(stdout.endsWith('}\n'));
  });
}

test('objects: connections of earlier runs are marked, where there are some', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections':
    page([connection(), rejected({ id: 6, server_id: '00000000000000a0' })]) });
  const { stdout } = await succeeds(server, ['ls', '--state', 'open,ended']);
  const [titles] = stdout.split('\n');
  assert.match(titles, / END-CODE +EARLIER-RUN$/);
  assert.deepEqual(rowsOf(stdout).map((cells) => cells.slice(-2)), [['-', '-'], ['rejected', '00000000000000a0']]);
});

test('objects: an empty list prints nothing, and standard error says where the ended ones are', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([]), 'GET /v1/buffers': page([]), 'GET /v1/pds': page([]) });
  for (const [args, says] of [[['ls'], 'no open connections; `verbsctl history` lists the ended ones\n'],
    [['ls', '--state', 'ended'], 'no connections in this list\n'], [['history'], 'no connections in this list\n'], [['pds'], 'no pds in this list\n'],
    [['buffers'], 'no open buffers; `verbsctl buffers --state ended` lists the ended ones\n'], [['ls', '--json'], '']]) {
    const { code, stdout, stderr } = await ctl(server, args);
    assert.equal(code, 0);
    assert.equal(stderr, says);
    if (!args.includes('--json'))
      assert.equal(stdout, '');
  }
});

test('objects: a list is read page by page, with the filters on each', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': [
    page([connection({ id: 1 }), connection({ id: 2 })], { total: 3, next: 'aQ_-' }),
    page([connection({ id: 3 })], { total: 3 })] });
  const { stdout } = await succeeds(server, ['ls', '--state', 'open', '--sort', '-id']);
  assert.deepEqual(rowsOf(stdout).map(([id]) => id), ['1', '2', '3']);
  assert.deepEqual(server.requests.map(({ query: { fields, ...query } }) => query), [
    { limit: '500', state: 'open', sort: '-id' },
    { limit: '500', after: 'aQ_-', state: 'open', sort: '-id' }]);
});

test('objects: --limit stops the paging, and --json says where it stopped', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers': page([buffer(), buffer({ id: 4 })], { total: 9, next: 'bQ' }) });
  const { stdout } = await succeeds(server, ['buf', 'ls', '--limit', '2', '--json']);
  const { total, next, items } = JSON.parse(stdout);
  assert.deepEqual([total, next, items.length], [9, 'bQ', 2]);
  assert.deepEqual(server.requests.map(({ query }) => query), [{ limit: '2', fields: '*' }]);
});

test('ls: the total is that of the first page', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers': [page([buffer()], { total: 2, next: 'a' }), page([buffer({ id: 4 })], { total: 3 })] });
  const { total, next, items } = JSON.parse((await ctl(server, ['buf', 'ls', '--json'])).stdout);
  assert.deepEqual([total, next, items.length], [2, null, 2]);
});

test('objects: a server whose pages never end is not asked for ever', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers': page([buffer()], { next: 'cQ' }) });
  await succeeds(server, ['buf', 'ls']);
  assert.equal(server.calls.length, 2);
});

test('objects: show tells one connection whole', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/to-b': { json: connection({ heartbeats: { sent: 9, answered: 8 }, new_member: { inner_ns: 5 } }) },
    'GET /v1/connections/7/timeline': { json: timeline() } });
  const { stdout } = await succeeds(server, ['show', 'to-b']);
  for (const line of [
    /^connection\/7 \(to-b\) {2}established$/m, /^ {2}dst addr +hostb$/m, /^ {2}dst port +7471$/m, /^ {2}local +192\.0\.2\.1:40001$/m,
    /^ {2}peer +192\.0\.2\.2:7471$/m, /^ {2}device +rxe0$/m,
    /^ {2}qp attr +lqpn 0x11, rqpn 0x12, state RTS, sq psn 3223814, rq psn 1881236, path mtu 1024, ack$/m,
    /^ {17}timeout 14, ack timeout 67\.109 ms, retry count 4, rnr retry 7, /m, /min rnr timer 640\.000 us, /, / dead peer detect 336 ms$/m,
    /^ {2}inbox +messages 2, capacity 16$/m, /^ {2}heartbeats +sent 9, answered 8$/m, /^ {2}new member +inner 5 ns$/m, /^ {2}established +2026-03-04T05:06:07\.112Z$/m,
    /^ {2}counters write +posted 4, completed 3, errors 1, flushed 0, bytes 1\.0 MiB, /m,
    /^ *0\.000 +call +rdma_resolve_addr +to 192\.0\.2\.2:7471$/m,
    /^ *1\.235 +cm_event +RDMA_CM_EVENT_ADDR_RESOLVED/m, /^ *12\.346 +qp +RTR -> RTS/m])
    assert.match(stdout, line);
});

test('objects: the timeline of a connection is shown alone', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/to-b/timeline': { json: timeline() } });
  const { stdout } = await succeeds(server, ['connections', 'timeline', 'to-b']);
  assert.match(stdout, /^ *MS +KIND +WHAT +DETAIL\n *0\.000 +call +rdma_resolve_addr/);
  assert.deepEqual(JSON.parse((await succeeds(server, ['connections', 'timeline', 'to-b', '--json'])).stdout), timeline());
});

test('objects: show says why a connection failed', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/7': { json: rejected() } });
  const { stdout } = await succeeds(server, ['show', '7']);
  for (const line of [/^connection\/7 \(to-b\) {2}failed$/m, /^ {2}error detail +the peer rejected the connection$/m,
    /^ {2}error first cm event +RDMA_CM_EVENT_REJECTED$/m, /^ {2}end code +rejected$/m, /^ {2}error hint +Is something listening there\?$/m])
    assert.match(stdout, line);
  assert.doesNotMatch(stdout, /qp attr|error first hint|null/);
});

const SHOWS = [
  { args: ['devices', 'show', 'rxe0'], path: '/v1/devices/rxe0', json: device(),
    lines: [/^device\/1 \(rxe0\) {2}present$/m, /^ {2}node guid +0x505400fffe123456$/m, /^ *1 +::ffff:192\.0\.2\.1 +roce_v2 +ipv4_mapped +eth0 +-$/m,
      /^ {2}limits +max qp 1048560, /m, /^ports 1\n {2}port num +1\n(.*\n)* {2}hw counters +sent pkts 42\n {2}cm counters tx msgs +req 3$/m, /^ {2}async events +port active 1$/m] },
  { args: ['listeners', 'show', 'front'], path: '/v1/listeners/front', json: listener(),
    lines: [/^listener\/1 \(front\) {2}listening$/m, /^ {2}addr +0\.0\.0\.0$/m, /^ {2}port +7471$/m, /^DEVICE +ADDR +PORT\nrxe0 +192\.0\.2\.1 +7471$/m, /^ {2}service +echo$/m] },
  { args: ['buf', 'show', '3'], path: '/v1/buffers/3', json: buffer(),
    lines: [/^buffer\/3 \(target\) {2}ready$/m, /^ {2}addr +0x7f0000001000$/m, /^ {2}rkey +0x1a71$/m] },
  { args: ['transfers', 'show', '12'], path: '/v1/transfers/12',
    json: transfer({ state: 'failed', error: { code: 'remote_access', detail: 'refused', hint: 'check', first: firstError({ op: 'write', wc_status: 'IBV_WC_REM_ACCESS_ERR' }) } }),
    lines: [/^transfer\/12 {2}failed$/m, /^ {2}error code +remote_access$/m, /^ {2}error first wc status +IBV_WC_REM_ACCESS_ERR$/m] },
];

for (const { args, path, json, lines } of SHOWS) {
  test(`objects: "${args.join(' ')}" shows one object`, async (t) => {
    const server = await FakeServer.start(t, { [`GET ${path}`]: { json } });
    const { stdout } = await succeeds(server, args);
    for (const line of lines)
      assert.match(stdout, line);
    assert.deepEqual(JSON.parse((await succeeds(server, [...args, '--json'])).stdout), json);
  });
}

test('objects: a reader is shown no key', async (t) => {
  const { addr, rkey, ...seen } = buffer();
  const server = await FakeServer.start(t, { 'GET /v1/buffers/3': { json: seen } });
  assert.doesNotMatch((await succeeds(server, ['buf', 'show', '3'])).stdout, /remote (addr|key)/);
});

const QP_ARGS = ['--sq-depth', '8', '--rq-depth', '9', '--recv-size', '64K', '--retry-count', '1', '--rnr-retry', '2',
  '--ack-timeout', '3', '--min-rnr-timer', '4', '--responder-resources', '5', '--initiator-depth', '6',
  '--remote-access', 'remote_read,remote_write'];
const QP_BODY = { sq_depth: 8, rq_depth: 9, recv_size_bytes: 65536, retry_count: 1, rnr_retry: 2, ack_timeout: 3,
  min_rnr_timer: 4, responder_resources: 5, initiator_depth: 6, remote_access: ['remote_read', 'remote_write'] };

const CHANGES = [
  { args: ['listen', '0.0.0.0:7471', '--name', 'front', '--service', 'echo', '--accept', 'manual', '--accept-timeout', '5s',
    '--backlog', '16', ...QP_ARGS],
  call: 'POST /v1/listeners', answer: { status: 201, json: listener() },
  body: { name: 'front', service: 'echo', accept: 'manual', accept_timeout_ms: 5000, backlog: 16, qp: QP_BODY,
    addr: '0.0.0.0', port: 7471 },
  says: 'listener/1 (front): listening at 0.0.0.0:7471, accept auto, service echo\n' },
  { args: ['listen', '[::1]:7'], call: 'POST /v1/listeners', answer: { status: 201, json: listener() },
    body: { addr: '::1', port: 7 } },
  { args: ['connect', 'hostb:7471', '--initiator-depth', '0', '--responder-resources', '0'], call: 'POST /v1/connections',
    answer: { status: 201, json: connection() }, prefer: 'wait=60', body: { qp: { initiator_depth: 0, responder_resources: 0 }, dst_addr: 'hostb', dst_port: 7471 } },
  { args: ['listen', 'fe80::1'], call: 'POST /v1/listeners', answer: { status: 201, json: listener() },
    body: { addr: 'fe80::1' } },
  { args: ['listeners', 'set', 'front', '--accept', 'manual'], call: 'PATCH /v1/listeners/front',
    answer: { json: listener({ accept: 'manual' }) }, body: { accept: 'manual' },
    says: 'listener/1 (front): listening at 0.0.0.0:7471, accept manual, service echo\n' },
  { args: ['listeners', 'rm', 'front'], call: 'DELETE /v1/listeners/front', answer: { status: 204 },
    says: 'listener/front: gone\n' },
  { args: ['connect', 'hostb:7471', '--name', 'to-b', '--service', 'echo', '--timeout', '2500ms', '--src', '192.0.2.1', '--tos', '8',
    ...QP_ARGS],
  call: 'POST /v1/connections', answer: { status: 201, json: connection() }, prefer: 'wait=60',
  body: { name: 'to-b', service: 'echo', timeout_ms: 2500, src_addr: '192.0.2.1', tos: 8, qp: QP_BODY,
    dst_addr: 'hostb', dst_port: 7471 },
  says: 'connection/7 (to-b): established with 192.0.2.2:7471, QP 0x11 -> 0x12, service inbox\n' },
  { args: ['connect', '[fe80::2]:7471'], call: 'POST /v1/connections', answer: { status: 201, json: connection() },
    prefer: 'wait=60', body: { dst_addr: 'fe80::2', dst_port: 7471 } },
  { args: ['connect', 'h:1', '--no-wait'], call: 'POST /v1/connections',
    answer: { status: 202, json: connection({ state: 'resolving_addr' }) }, body: { dst_addr: 'h', dst_port: 1 },
    says: 'connection/7 (to-b): resolving_addr\n' },
  { args: ['accept', '9', '--name', 'in', '--service', 'inbox'], call: 'POST /v1/connections/9/accept',
    answer: { json: connection({ id: 9, name: 'in' }) }, prefer: 'wait=60', body: { name: 'in', service: 'inbox' },
    says: 'connection/9 (in): established with 192.0.2.2:7471, QP 0x11 -> 0x12, service inbox\n' },
  { args: ['reject', '9'], call: 'POST /v1/connections/9/reject',
    answer: { json: connection({ state: 'closed', end_code: 'rejected_locally' }) },
    says: 'connection/7 (to-b): closed (rejected_locally)\n' },
  { args: ['close', 'to-b'], call: 'POST /v1/connections/to-b/close', prefer: 'wait=15',
    answer: { json: connection({ state: 'closed', end_code: 'local_close' }) },
    says: 'connection/7 (to-b): closed (local_close)\n' },
  { args: ['close', 'to-b', '--no-wait'], call: 'POST /v1/connections/to-b/close',
    answer: { status: 202, json: connection({ state: 'draining' }) }, says: 'connection/7 (to-b): draining\n' },
  { args: ['rm', 'to-b'], call: 'DELETE /v1/connections/to-b', prefer: 'wait=15', answer: { status: 204 },
    says: 'connection/to-b: gone\n' },
  { args: ['rm', 'to-b'], call: 'DELETE /v1/connections/to-b', prefer: 'wait=15',
    answer: { status: 202, json: connection({ state: 'draining' }) }, says: 'connection/to-b: draining\n' },
  { args: ['buf', 'create', 'target', '--size', '1M', '--access', 'remote_write,remote_read', '--kind', 'shared', '--device', 'rxe0'],
    call: 'POST /v1/buffers', answer: { status: 201, json: buffer() },
    body: { size_bytes: 1048576, access: ['remote_write', 'remote_read'], kind: 'shared', device: 'rxe0', name: 'target' } },
  { args: ['buf', 'create', '--size', '4096'], call: 'POST /v1/buffers', answer: { status: 201, json: buffer({ name: null }) },
    body: { size_bytes: 4096 } },
  { args: ['buf', 'rm', '3'], call: 'DELETE /v1/buffers/3', answer: { status: 204 }, says: 'buffer/3: gone\n' },
  { args: ['transfers', 'cancel', '12'], call: 'POST /v1/transfers/12/cancel', prefer: 'wait=15',
    answer: { status: 200, json: transfer({ state: 'cancelled' }) }, says: 'transfer/12: cancelled\n' },
  { args: ['benchmarks', 'cancel', '4'], call: 'POST /v1/benchmarks/4/cancel', prefer: 'wait=15',
    answer: { status: 202, json: benchmark({ state: 'running' }) }, says: 'benchmark/4: running\n' },
  { args: ['probes', 'rm', '6'], call: 'DELETE /v1/probes/6', prefer: 'wait=15', answer: { status: 204 }, says: 'probe/6: gone\n' },
  { args: ['transfers', 'rm', '12'], call: 'DELETE /v1/transfers/12', prefer: 'wait=15',
    answer: { status: 202, json: transfer({ state: 'cancelling' }) }, says: 'transfer/12: cancelling\n' },
];

for (const { args, call, answer, body, prefer, says } of CHANGES) {
  test(`objects: "${args.join(' ')}" is ${call}, ${answer.status ?? 200}`, async (t) => {
    const server = await FakeServer.start(t, { [call]: answer });
    const { stdout } = await succeeds(server, args);
    assert.deepEqual(server.calls, [call]);
    const [request] = server.requests;
    assert.deepEqual(request.json, body);
    assert.equal(request.headers.prefer, prefer);
    if (/^(POST|PATCH)/.test(call))
      assert.equal(request.headers['content-type'], 'application/json');
    if (says !== undefined)
      assert.equal(stdout, says);
    const { stdout: json } = await succeeds(server, [...args, '--json']);
    assert.deepEqual(json ? JSON.parse(json) : undefined, answer.json);
  });
}

test('objects: connect waits on when the server stops waiting first', async (t) => {
  const server = await FakeServer.start(t, {
    'POST /v1/connections': { status: 202, json: connection({ state: 'resolving_addr', qp: null }) },
    'GET /v1/connections/7': [{ json: connection({ state: 'connecting' }) }, { json: connection() }] });
  const { stdout } = await succeeds(server, ['connect', 'h:1', '--timeout', '10m']);
  assert.match(stdout, /^connection\/7 \(to-b\): established/);
  assert.equal(server.requests[0].headers.prefer, 'wait=60');
  assert.deepEqual(server.calls, ['POST /v1/connections', 'GET /v1/connections/7', 'GET /v1/connections/7']);
});

test('objects: connect fails with the reason when the connection ends while it waits', async (t) => {
  const server = await FakeServer.start(t, {
    'POST /v1/connections': { status: 202, json: connection({ state: 'connecting' }) },
    'GET /v1/connections/7': { json: rejected() } });
  const { code, stdout, stderr } = await ctl(server, ['connect', 'h:1']);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, [
    'verbsctl: connection/7: rejected: the peer rejected the connection',
    '  cm event      RDMA_CM_EVENT_REJECTED', '  cm status     8', '  hint          Is something listening there?', ''].join('\n'));
  const { stderr: json } = await ctl(server, ['connect', 'h:1', '--json']);
  assert.equal(JSON.parse(json).code, 'rejected');
});

test('objects: status shows the daemon, its checks and its drain, and the caller with each quota', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1': { json: index() }, 'GET /v1/caller': { json: caller() }, 'GET /v1/drain': { json: drain('drained') },
    'GET /readyz': { json: { status: 'ok', checks: [{ name: 'loop', status: 'ok', detail: 'turns' }] } } });
  const { stdout } = await succeeds(server, ['status']);
  assert.deepEqual(stdout.trimEnd().split('\n').map((line) => line.trim().replace(/ +/g, ' ')), [
    'status ok', `url ${server.url}`, 'server service verbsd', 'server version 0.1.0', 'server role control', 'server caller control',
    'server server id 00000000000000a1', 'server started 2026-03-04T05:06:07.000Z', 'server now 2026-03-04T05:06:07.500Z',
    'server uptime 12300 ms', 'server store status none',
    'server store detail there is no state_dir: events and records end with this run', 'server fault injection false',
    'drain state drained, since 2026-01-31T12:00:00.000Z, deadline', '2026-01-31T12:00:30.000Z, transfer count 0, connection count 17',
    'caller name alice', 'caller role operate', 'caller client 192.0.2.7:40312', 'caller authenticated by certificate',
    'caller certificate name CN:alice', 'caller expires 2027-01-31T12:00:00.000Z', 'caller quotas connections limit 16, used 3',
    'caller quotas buffers used 2', 'caller quotas pinned used 0 B', 'caller quotas transfers used 0',
    'caller quotas streams limit 4, used 1', '', 'checks', 'NAME STATUS DETAIL', 'loop ok turns']);
  for (const line of stdout.split('\n\n')[0].trimEnd().split('\n')) // the values stand below each other
    assert.match(line, /^(?=.{28}\S).{27} |^ {28}/, line);
  assert.deepEqual(server.requests.map(({ url }) => url), ['/readyz?verbose', '/v1', '/v1/drain', '/v1/caller']);
  const { stdout: json } = await succeeds(server, ['status', '--json']);
  assert.deepEqual(Object.keys(JSON.parse(json)), ['status', 'checks', 'url', 'server', 'drain', 'caller']);
});

test('objects: a drain begins with a deadline, is waited for, and is taken back', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/drain': { json: drain('draining') }, 'GET /v1/drain': { json: drain('drained') },
    'DELETE /v1/drain': { status: 204 } });
  const begun = await succeeds(server, ['drain', '--deadline', '30s']);
  assert.match(begun.stdout, /^ {2}state +draining\n {2}since +2026.*\n {2}deadline +2026-01-31T12:00:30\.000Z\n {2}transfer count +3\n {2}connection count +17\n$/);
  assert.deepEqual(server.requests[0].json, { deadline_ms: 30000 });
  assert.match((await succeeds(server, ['drain', '--wait'])).stdout, /^ {2}state +drained\n(.*\n)* {2}transfer count +0\n/);
  await succeeds(server, ['undrain']);
  assert.deepEqual(server.calls, ['POST /v1/drain', 'POST /v1/drain', 'GET /v1/drain', 'DELETE /v1/drain']);
});

test('objects: events prints the log, oldest first', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/events': [
    { json: logPage([event(1), event(2)], { last: 3 }) },
    { json: logPage([event(3, { severity: 'warning', object: null })]) },
    { json: logPage([], { last: 3, next: '00000000000000a1-3' }) }] });
  const { stdout } = await succeeds(server, ['events', '--type', 'connection_established', '--object', 'connection/7',
    '--severity', 'info']);
  assert.deepEqual(stdout.trimEnd().split('\n').map((line) => line.trim().replace(/ +/g, ' ')), [
    '1 2026-03-04T05:06:07.001Z info connection/7 connection_established event number 1',
    '2 2026-03-04T05:06:07.002Z info connection/7 connection_established event number 2',
    '3 2026-03-04T05:06:07.003Z warning - connection_established event number 3']);
  assert.deepEqual(server.requests[1].query, { limit: '500', after: '00000000000000a1-2', type: 'connection_established',
    object: 'connection/7', severity: 'info' });
});

test('objects: events --lines shows the last ones, and --json the page', async (t) => {
  const items = [event(1), event(2), event(3)];
  const answer = logPage(items);
  const server = await FakeServer.start(t, { 'GET /v1/events': ({ query }) =>
    ({ json: query.after === '00000000000000a1-3' ? { ...answer, items: [] } : answer }) });
  const { stdout } = await succeeds(server, ['events', '-n', '1', '--json']);
  assert.deepEqual(JSON.parse(stdout), { ...answer, items: [event(3)] });
});

test('objects: events --after reports events that the log no longer has', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/events':
    { json: logPage([event(90)], { first: 90, compacted: true }) } });
  const { code, stdout, stderr } = await ctl(server, ['events', '--after', '00000000000000a1-5']);
  assert.equal(code, 0);
  assert.match(stdout, /event number 90/);
  assert.match(stderr, /events are lost: the log no longer holds those between 5 and 90/);
});

test('objects: sizes and times are read with their units', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/buffers': { status: 201, json: buffer() },
    'POST /v1/connections': { status: 201, json: connection() } });
  const sizes = { 17: 17, '1K': 1024, '2k': 2048, '3KiB': 3072, '4kb': 4096, '1M': 1048576, '2GiB': 2147483648, '1T': 1099511627776 };
  for (const [text, bytes] of Object.entries(sizes)) {
    await succeeds(server, ['buf', 'create', '--size', text]);
    assert.equal(server.requests.at(-1).json.size_bytes, bytes, text);
  }
  await succeeds(server, ['connect', 'h:1', '--heartbeat', '5s']);
  assert.equal(server.requests.at(-1).json.qp.heartbeat_ms, 5000);
  const times = { 5: 5000, 0.25: 250, '1.5s': 1500, '20ms': 20, '2m': 120000 };
  for (const [text, ms] of Object.entries(times)) {
    await succeeds(server, ['connect', 'h:1', '--timeout', text]);
    assert.equal(server.requests.at(-1).json.timeout_ms, ms, text);
  }
});

test('objects: a country that writes 0,5 still reads 0.5', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections': { status: 201, json: connection() } });
  const { code } = await ctl(server, ['connect', 'h:1', '--timeout', '0.5s'], { env: { LC_ALL: 'de_DE.UTF-8' } });
  assert.equal(code, 0);
  assert.equal(server.requests[0].json.timeout_ms, 500);
});

test('glossary: says what a name means, why, and what to do', async (t) => {
  const why = { kind: 'wc_status', name: 'IBV_WC_RNR_RETRY_EXC_ERR', number: 13, status: null, severity: null, detail: 'The peer had no receive',
    causes: ['it is slow', 'it is stuck'], hint: 'Post more.', data: null };
  const server = await FakeServer.start(t, { 'GET /v1/glossary/a%20b': { json: { items: [why] } } });
  const { stdout } = await succeeds(server, ['glossary', 'show', 'a b']);
  assert.deepEqual(server.requests.map(({ url }) => url), ['/v1/glossary/a%20b']);
  assert.equal(stdout, [
    'IBV_WC_RNR_RETRY_EXC_ERR  wc_status', '  number        13', '  detail        The peer had no receive',
    '  causes        it is slow', '                it is stuck', '  hint          Post more.', ''].join('\n'));
});

const explanation = {
  connection: { id: 7, name: null }, state: 'failed', summary: 'It failed: the peer is dead.',
  cause: { code: 'host_gone', detail: 'The peer is dead.', hint: 'Ping the peer.' },
  evidence: ['Nobody answers.', 'It was\u001b[31m there.'],
  possible_causes: [{ code: 'packets_lost', detail: 'The path loses packets.', hint: 'Look for drops.', evidence: [] }],
  request: { op: 'write', transfer: 3, length_bytes: 64, bytes_done: 0, remote_addr: '0x7f00', rkey: '0x00001f2e' },
  causes: [{ name: 'IBV_WC_RETRY_EXC_ERR', detail: 'No answer', causes: ['the peer is dead', 'the cable'] }],
  hints: ['Ping the peer.', 'Look at\u001b[31m it.'],
  findings: [{ severity: 'info', code: 'flushed', detail: '3 were flushed.' },
    { severity: 'info', code: 'rnr_timer', detail: 'It waits.' }],
  end_code: 'retry_exceeded',
  error: { code: 'retry_exceeded', detail: 'write: No answer', hint: 'Ping the peer.', first: null },
  preceded_by: { kind: 'qp', what: 'RTR -> RTS' },
  followed_by: { flushed: 3, errors: 1 },
  facts: { device: { id: 1, name: 'rxe0' }, port_state: 'active', sgid: { gid: '::1', type: 'roce_v2', scope: 'global' }, dgid: null,
    route: { netdev: 'eth0', src: '192.0.2.1', next_hop: '192.0.2.2' }, neighbour: { state: 'reachable' },
    path_mtu_bytes: 1024, dead_peer_detect_ms: 336, min_rnr_timer_ns: 640000, listener: null,
    memlock: { locked_bytes: 2048, limit_bytes: null } },
};

test('explain: says what became of a connection', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/7/explain': { json: explanation } });
  const { stdout } = await succeeds(server, ['explain', '7']);
  assert.deepEqual(server.requests.map(({ url }) => url), ['/v1/connections/7/explain']);
  assert.equal(stdout, [
    'It failed: the peer is dead.', '  what to do    Ping the peer.', '                Look at\\x1b[31m it.',
    '  because       Nobody answers.', '                It was\\x1b[31m there.', '  or maybe      The path loses packets.',
    '  request       at 0x7f00 with key 0x00001f2e: write of 64 bytes',
    '  status        IBV_WC_RETRY_EXC_ERR: No answer',
    '  just before   RTR -> RTS', '  error         write: No answer', '  after that    3 flushes and 1 errors, which are its consequences',
    '  findings      info flushed: 3 were flushed.', '                info rnr_timer: It waits.', '  device           rxe0', '  port state       active',
    '  sgid             gid ::1, type roce_v2, scope global',
    '  route            netdev eth0, src 192.0.2.1, next hop 192.0.2.2', '  neighbour        state reachable', '  path mtu         1024',
    '  dead peer detect 336 ms', '  min rnr timer    640.000 us', '  memlock          locked 2.0 KiB', ''].join('\n'));
});

test('reachability: says which way a connection would go', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/reachability': { json: { ...explanation, summary: 'By eth0.' } } });
  const { stdout } = await succeeds(server, ['reachability', 'show', 'a b:7471', '--device', 'rxe0', '--src', '::1']);
  const { searchParams } = new URL(server.requests[0].url, 'http://h');
  assert.deepEqual(Object.fromEntries(searchParams), { dst_addr: 'a b', dst_port: '7471', device: 'rxe0', src_addr: '::1' });
  assert.match(stdout, /^By eth0\.\n/);
});

test('explain: gives the JSON of a connection as it came', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/7/explain': { json: explanation } });
  const { stdout } = await succeeds(server, ['explain', '--json', '7']);
  assert.deepEqual(JSON.parse(stdout), explanation);
});

test('objects: nouns in the singular and other names of verbs are the same commands', async (t) => {
  for (const args of [['connection', 'list'], ['connections', 'ls', '--label', 'team=x'], ['buffer', 'get', 'target', '-o', '-'],
    ['listener', 'get', 'front'], ['connection', 'delete', '7'], ['connection-batch', 'get', '4']]) {
    const server = await FakeServer.start(t);
    await ctl(server, args);
    assert.deepEqual(server.requests.slice(0, 1).map(({ method, path, query }) => [method, path, query.label]),
      [{ list: ['GET', '/v1/connections', undefined], ls: ['GET', '/v1/connections', 'team=x'], delete: ['DELETE', '/v1/connections/7', undefined],
        get: ['GET', { buffer: '/v1/buffers/target/data', listener: '/v1/listeners/front', 'connection-batch': '/v1/connection_batches/4' }[args[0]],
          undefined] }[args[1]]], args.join(' '));
  }
});

test('objects: -o json is --json, before the command and behind it', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([connection()]) });
  for (const args of [['-o', 'json', 'ls'], ['ls', '--output=json'], ['ls', '--json', '-o', 'text']])
    assert.equal(JSON.parse((await succeeds(server, args)).stdout).items[0].id, 7, args.join(' '));
  assert.match((await succeeds(server, ['ls', '-o', 'text'])).stdout, /^ID NAME/);
});

test('objects: version tells the one of verbsctl also where no verbsd is', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1': { json: index({ version: '9.9\u001b[2J' }) } });
  const own = (await ctl(null, ['--version'])).stdout;
  assert.equal((await succeeds(server, ['version'])).stdout, `${own}verbsd 9.9\\x1b[2J\n`);
  assert.deepEqual(JSON.parse((await succeeds(server, ['version', '--json'])).stdout), { verbsctl: own.trim().split(' ')[1], verbsd: '9.9\u001b[2J' });
  const { url } = server;
  await server.stop();
  assert.deepEqual((({ code, stdout }) => [code, stdout])(await ctl({ url }, ['version'])), [5, own]);
});
