// SPDX-License-Identifier: Apache-2.0
// The whole of what commands ask and print, held against printed.golden. If a difference is right:
// VBD_CTL=build/dev/cmd/verbsctl node tests/ctl/printed.test.mjs --print >tests/ctl/printed.golden
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ctl } from './lib/ctl.mjs';
import * as s from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const GOLDEN = new URL('./printed.golden', import.meta.url);
const get = (path, json) => ({ [`GET ${path}`]: { json } });
const list = (path, ...items) => ({ [`GET ${path}`]: page(items) });
const made = (path, json, status = 201) => ({ [`POST ${path}`]: { status, json } });
const refused = (path, over, headers = {}) => ({ [`GET ${path}`]: { status: over.status ?? 400, headers, json: s.problem(over) } });

const { qp_attr } = s.connection();
const first = (over) => ({ code: 'x', detail: 'what happened', hint: 'What to do.', first: s.firstError(over) });
const desired = { id: 2, source: 'api', state: 'waiting', tries: 3, next_try_at: '2026-03-04T05:06:09.000456789Z' };
const kept = s.connection({ name: null, desired, previous_id: 5, server_id: '00000000000000a0', listener: { id: 1, name: 'front' },
  heartbeats: { sent: 9, answered: 8 }, qp: s.qpParams({ heartbeat_ms: 5000 }),
  private_data: { local: { encoding: 'text', data: 'hello' }, peer: { encoding: 'hex', data: '00ff' } },
  peer: { addr: 'fe80::2', port: 7471 }, local: { addr: null, port: 0 }, inbox: null,
  error: first({ cm_event: 'RDMA_CM_EVENT_REJECTED', wc_status: 'IBV_WC_RETRY_EXC_ERR', call: 'ibv_post_send', errno: 'ENOMEM' }) });
const uc = s.connection({ state: 'connecting', waits_for: 'RDMA_CM_EVENT_ESTABLISHED', qp_type: 'uc', established_at: null, dst_addr: null,
  qp_attr: { ...qp_attr, dead_peer_detect_ms: null, rnr_retry: 6, gid_index: null } });
const manual = s.connection({ state: 'awaiting_remote', bringup: 'manual', dst_addr: null, peer: { addr: null, port: 0 },
  manual: { remote: null, local: { gid: '::ffff:192.0.2.2', lid: 3, qpn: 18, psn: 99, port_mtu_bytes: 1024 } } });
const idle = s.connection({ counters: { send: { posted: 0 } }, inbox: { messages: 0, capacity: 0 } });
const [port] = s.device().ports;
const dual = s.device({ state: 'failed', error: first(), memlock: { locked_bytes: 4096, limit_bytes: 65536 }, removed_at: '2026-03-04T05:06:08.000456789Z',
  ports: [{ ...port, gids: [...port.gids, { gid_index: 2, gid: '::1', type: 'ib', scope: 'global', netdev: 'eth1' }, { gid_index: 3, gid: '::2', netdev: null }],
    counters: { port_rcv_data: 5 }, cm_counters: { tx_msgs: { req: 3 }, tx_retries: { req: 1 }, rx_msgs: { rep: 2 }, rx_duplicates: { rep: 4 } } },
    { ...port, port_num: 2, state: 'down', gids: [], hw_counters: {}, cm_counters: {} }] });

const why = (over = {}) => ({ kind: 'wc_status', name: 'IBV_WC_RNR_RETRY_EXC_ERR', number: 13, status: null, severity: null,
  detail: 'The peer had no receive', causes: [], hint: 'Raise timeout_ms, or ask GET /v1/probes.', data: null, ...over });
const explanation = (over = {}, facts = {}) => ({
  connection: { id: 7, name: null }, state: 'failed', summary: 'It failed.', cause: null, evidence: [], possible_causes: [], request: null,
  causes: [], hints: [], findings: [], end_code: 'x', error: null, preceded_by: null, followed_by: { flushed: 0, errors: 0 },
  facts: { device: { id: 1, name: 'rxe0' }, port_state: 'down', sgid: null, dgid: null, route: null, neighbour: null, path_mtu_bytes: null,
    dead_peer_detect_ms: null, min_rnr_timer_ns: null, listener: null, memlock: { locked_bytes: 0, limit_bytes: null }, ...facts }, ...over });
const cause = (detail) => ({ code: 'c', detail, hint: 'Do it.', evidence: [] });
const full = explanation({ hints: ['Raise timeout_ms.', 'Wait.'], evidence: ['One.', 'Two.'], possible_causes: [cause('It is slow.'), cause('It is gone.')],
  request: { op: 'write', length_bytes: 64, remote_addr: '0x7f00', rkey: '0x1' }, causes: [{ name: 'A', detail: 'a' }, { name: 'B', detail: 'b' }],
  server_id: 'a0', error: first(), preceded_by: { what: 'RTR -> RTS' }, followed_by: { flushed: 0, errors: 2 },
  findings: [{ severity: 'info', code: 'flushed', detail: 'x' }, { severity: 'warning', code: 'mtu', detail: 'y' }, { severity: 'info', code: 'rnr', detail: 'z' }] },
{ sgid: { gid: '::1', type: 'roce_v2', scope: 'global' }, dgid: { gid: '::2' }, route: { netdev: 'eth0', src: null, next_hop: '192.0.2.2' },
  neighbour: { state: 'stale' }, path_mtu_bytes: 1024, dead_peer_detect_ms: 336, min_rnr_timer_ns: 640000, listener: { backlog: 5, waiting: 1 },
  memlock: { locked_bytes: 2048, limit_bytes: 4096 } });

const failedTransfer = s.transfer({ state: 'failed', batch: { id: 2, name: null }, imm: 5, old_value: '0x1', received: { length_bytes: 12, imm: 77 },
  sges: [{ buffer: 3, offset_bytes: 0, length_bytes: 8 }], wire_ns: 0, error: first({ wc_status: 'IBV_WC_REM_ACCESS_ERR' }) });
const ended = (from, to, over = {}) => s.rejected({ created_at: from, ended_at: to, ...over });
const T = (text) => `2026-03-04T${text}.000000000Z`;
const faults = [{ code: 'a', detail: 'must be more', pointer: '/size_bytes' }, { code: 'b', detail: 'is unknown', pointer: '/odd' },
  { code: 'c', detail: '/op is wrong', pointer: '/op' }, { code: 'd', detail: 'no place' }, { code: 'e', pointer: '/connection' },
  { code: 'f', detail: 'not now', parameter: 'fields' }];
const unchanged = { reloaded: [], restart_needed: [], callers_added: [], callers_changed: [], callers_removed: [] };
const none = { instance: undefined, cm_event: undefined, cm_status: undefined, reject_reason: undefined };

// Command lines, and the answers of the server.
const CASES = [
  [['ls'], list('/v1/connections', s.connection(), s.rejected({ id: 8, name: null }), kept, { id: 9 })],
  [['ls', '--limit', '3', '--state', 'open,ended'], list('/v1/connections', s.connection())],
  [['pds', '--label', 'job=a b,c'], list('/v1/pds', s.pd())],
  [['show', '7'], { ...get('/v1/connections/7', s.connection()), ...get('/v1/connections/7/timeline', { ...s.timeline(), dropped: 3 }) }],
  [['show', 'k'], { ...get('/v1/connections/k', kept), ...get('/v1/connections/7/timeline', { items: [], dropped: 2 }) }],
  [['show', 'uc'], get('/v1/connections/uc', uc)],
  [['show', 'm'], get('/v1/connections/m', manual)],
  [['show', 'idle'], get('/v1/connections/idle', idle)],
  [['show', '8'], get('/v1/connections/8', s.rejected({ id: 8, name: null }))],
  [['connections', 'timeline', '7'], get('/v1/connections/7/timeline', s.timeline())],
  [['connections', 'prepare', 'm'], made('/v1/connections', manual)],
  [['history'], list('/v1/connections', ended(T('05:00:00'), T('05:00:59')), ended(T('05:00:00'), T('06:01:02'), { server_id: 'a0' }),
    ended(T('05:00:01'), T('05:00:00')), ended(T('05:00:00'), T('05:00:00')), { id: 9 })],
  [['history', '--sort', 'id'], list('/v1/connections', s.rejected())],
  [['devices'], list('/v1/devices', s.device(), dual, s.device({ ports: [] }))],
  [['devices', 'show', 'x'], get('/v1/devices/x', dual)],
  [['devices', 'show', 'y'], get('/v1/devices/y', s.device({ ports: [], async_events: {}, limits: {} }))],
  [['listeners'], list('/v1/listeners', s.listener(), s.listener({ addr: '::', device: { id: 1, name: 'rxe0' } }))],
  [['listeners', 'show', '1'], get('/v1/listeners/1', s.listener({ desired, error: first(), reachable: [{ device: { id: 1, name: 'rxe0' }, addr: 'fe80::1', port: 7 }, { device: { id: 2, name: 'rxe1' }, addr: '192.0.2.1', port: 8 }] }))],
  [['listeners', 'set', '1', '--max-per-peer', '0'], { 'PATCH /v1/listeners/1': { json: s.listener() } }],
  [['listeners', 'set', '1', '--connects-burst', '0'], { 'PATCH /v1/listeners/1': { json: s.listener() } }],
  [['buf', 'ls'], list('/v1/buffers', s.buffer(), s.buffer({ access: ['remote_write', 'remote_read'], size_bytes: 17 }))],
  [['buf', 'show', '3'], get('/v1/buffers/3', s.buffer({ desired }))],
  [['buf', 'show', '4'], get('/v1/buffers/4', s.buffer({ access: [] }))],
  [['transfers'], list('/v1/transfers', s.transfer(), failedTransfer)],
  [['transfers', 'show', '12'], get('/v1/transfers/12', s.transfer())],
  [['transfers', 'show', '13'], get('/v1/transfers/13', failedTransfer)],
  [['send', '7', 'x'], made('/v1/connections/7/messages', s.transfer({ op: 'send' }))],
  [['transfer-batches', 'show', '2'], get('/v1/transfer_batches/2', s.batch())],
  [['connection-batches', 'show', '5'], get('/v1/connection_batches/5', s.connectionBatch())],
  [['benchmarks', 'show', '4'], get('/v1/benchmarks/4', s.benchmark())],
  [['probes', 'show', '6'], get('/v1/probes/6', s.probe())],
  [['probes'], list('/v1/probes', s.probe(), s.probe({ state: 'running', rtt_ns: null }))],
  [['pds', 'show', '2'], get('/v1/pds/2', s.pd())],
  [['cqs', 'show', '1'], get('/v1/cqs/1', s.cq())],
  [['srqs', 'show', '4'], get('/v1/srqs/4', s.srq())],
  [['windows', 'show', '5'], get('/v1/windows/5', s.window())],
  [['faults', 'show', '4'], get('/v1/faults/4', s.fault())],
  [['kept-objects', 'show', '2'], get('/v1/kept_objects/2', s.keptObject())],
  [['copies', 'ls'], list('/v1/copies', s.copy(), s.copy({ state: 'failed', fault: 'no_space' }))],
  [['copies', 'show', '3'], get('/v1/copies/3', s.copy())],
  [['cp', '-r', 'models:llama', '192.0.2.2:incoming/llama'], { ...get('/v1/exports/models', s.exported()), 'GET /v1/exports/192.0.2.2': { status: 404, json: s.problem({ code: 'not_found' }) }, ...made('/v1/copies', s.copy()) }],
  [['exports', 'ls'], list('/v1/exports', s.exported())],
  [['exports', 'show', 'models'], get('/v1/exports/models', s.exported())],
  [['ud-endpoints', 'show', '2'], get('/v1/ud_endpoints/2', s.endpoint())],
  [['ud-peers', 'show', '3'], get('/v1/ud_peers/3', s.peer())],
  [['multicast-memberships', 'show', '4'], get('/v1/multicast_memberships/4', s.group())],
  [['windows', 'rm', '5'], { 'DELETE /v1/windows/5': { status: 202, json: s.window({ state: 'ending' }) } }],
  [['status'], { ...get('/v1', s.index({ uptime_ms: 999 })), ...get('/v1/caller', s.caller()),
    ...get('/v1/drain', { state: 'draining', transfer_count: 1, connection_count: 2, deadline_at: T('05:00:00') }),
    ...get('/readyz', { status: 'degraded', checks: [{ name: 'loop', status: 'ok', detail: 'turns' }, { name: 'store', status: 'degraded', detail: null }] }) }],
  [['config', 'reload'], { 'POST /v1/reload': { json: { reloaded: ['log_level'], restart_needed: ['workers'], callers_added: ['backup', 'dash'], callers_changed: [], callers_removed: ['alice'] } } }],
  [['config', 'reload'], { 'POST /v1/reload': { json: unchanged } }],
  [['config', 'reload', '--json'], { 'POST /v1/reload': { json: unchanged } }],
  [['drain', '--wait'], { ...made('/v1/drain', { state: 'draining' }, 202), ...get('/v1/drain', { state: 'serving' }) }],
  [['glossary'], get('/v1/glossary', { items: [why(), why({ kind: 'event_type', name: 'x', number: null, status: 404, severity: 'warning',
    causes: ['one', 'raise timeout_ms'], data: ['state', 'port'] })] })],
  [['explain', '7'], get('/v1/connections/7/explain', full)],
  [['explain', '8'], get('/v1/connections/8/explain', explanation({}, { route: { netdev: 'lo', src: '127.0.0.1', next_hop: '127.0.0.1' } }))],
  [['explain', '9'], get('/v1/connections/9/explain', explanation({ request: { op: 'write', remote_addr: null }, followed_by: { flushed: 1, errors: 0 } }))],
  [['events'], { 'GET /v1/events': [{ json: s.logPage([s.event(1, { detail: 'it went', object: { kind: 'connection', id: 7, name: 'to-b' } }),
    s.event(2, { severity: 'error', object: { kind: 'buffer', id: 3, name: null }, type: 'buffer_failed', data: { state: 'failed' } }),
    s.event(3, { severity: 'warning', detail: 'lost now', type: 'x', data: { state: 'lost' } }), s.event(4, { object: null, type: 'y', data: null })]) },
  { json: s.logPage([], { next: '00000000000000a1-4' }) }] }],
  [['events', '--after', 'a0-5', '-n', '1', '--severity', 'info'], { 'GET /v1/events': [{ json: s.logPage([s.event(90), s.event(91)], { first: 90, compacted: true }) },
    { json: s.logPage([], { next: '00000000000000a1-91' }) }] }],
  [['events', '--after', 'a0-17'], { 'GET /v1/events': [{ json: s.logPage([s.event(1)], { restarted: true, next: 'a0-17' }) }] }],
  [['events', '--after', 'a0-17', '--json'], { 'GET /v1/events': [{ json: s.logPage([s.event(18)], { restarted: true, resumed: true }) },
    { json: s.logPage([s.event(19)]) }, { json: s.logPage([], { next: '00000000000000a1-19' }) }] }],
  [['buf', 'rm', '--label', 'a'], { 'DELETE /v1/objects': { json: { selected: 3, done: 1, pending: 0, failed: 2,
    failures: [{ kind: 'buffer', id: 4, detail: 'it is used' }, { kind: 'buffer', id: 5, detail: 'it is used too' }] } } }],
  [['transfers', 'cancel', '--all', '--dry-run'], { 'POST /v1/objects/-/cancel': { json: { selected: 2, objects: [3, 4].map((id) => ({ kind: 'transfer', id })) } } }],
  [['close', '--label', 'a b', '--no-wait'], { 'POST /v1/objects/-/cancel': { json: { selected: 2, objects: [], done: 0, pending: 2, failed: 0, failures: [] } } }],
  [['wait', '8', '--until', 'ended'], get('/v1/connections/8', s.rejected({ id: 8 }))],
  [['buf', 'sum', 'b', '--json'], get('/v1/buffers/b/checksum', { algorithm: 'crc32c', checksum: '00', offset_bytes: 0, length_bytes: 8 })],

  // The server refuses.
  [['show', '1'], refused('/v1/connections/1', { status: 404, code: 'not_found', title: 'No such object', detail: 'no such object: 1', hint: '' })],
  [['show', '2'], refused('/v1/connections/2', { title: 'It is closed', detail: 'it is CLOSED: since long' })],
  [['show', '3'], refused('/v1/connections/3', { ...none, code: undefined, title: undefined, detail: undefined, hint: undefined, limit: 0 })],
  [['show', '4'], refused('/v1/connections/4', { instance: '/v1/transfer_batches/2', cm_status: undefined, wc_status: 'IBV_WC_X', vendor_err: undefined,
    limit: 4, limit_name: 'limits.x', holder: '/v1/srqs/1', users: ['/v1/ud_peers/1', '/v2/x', '/v1/xyz', '/v1/x/1', 7], allow: ['GET'], call: 'c', errno: 'E' })],
  [['explain', 'f'], refused('/v1/connections/f/explain', { status: 424, explain: '/v1/connections/7/explain',
    cause: cause('The peer is far away, and so are all of its neighbours, its switches, its routers and its cables, as it seems.') })],
  [['show', '5'], refused('/v1/connections/5', { status: 429, instance: '/v1/devices' }, { 'Retry-After': '1' })],
  [['buf', 'create', '--size', '1'], { 'POST /v1/buffers': { status: 400, json: s.problem({ ...none, ...faults[0], hint: 'See `size_bytes`, /size_bytes or access.', errors: faults, errors_total: 6 }) } }],
  [['bench', '7', '--size', '1'], { 'POST /v1/benchmarks': { status: 400, json: s.problem({ ...none, ...faults[3], errors: faults.slice(3), errors_total: 7 }) } }],
  [['pds', 'show', '1'], { 'GET /v1/pds/1': { status: 500, body: '<p>one</p>  <b>two\n</b>' } }],
  [['pds', 'show', '1'], { 'GET /v1/pds/1': { status: 500, body: 'x'.repeat(300) } }],
  [['pds', 'show', '1'], { 'GET /v1/pds/1': { status: 500, json: { title: 'only a title' } } }],

  // Help needs no server.
  [['--help'], {}], [['buffers', '--help'], {}], [['connections', 'create', '--help'], {}], [['status', '-h'], {}], [['devices', 'show', '--help'], {}],
];

const lines = (mark, text) => text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined).map((line) => `${mark}${line}\n`).join('');

// A command: its requests, its standard output (:) and standard error (!), and its exit status.
async function printed(t, args, routes) {
  const server = await FakeServer.start(t, structuredClone(routes), { anything: true });
  const { code, stdout, stderr } = await ctl(server, args);
  const asked = server.requests.map(({ method, url, headers: { prefer }, json }) =>
    `> ${[method, url, prefer, json && JSON.stringify(json)].filter(Boolean).join(' ')}\n`);
  const text = `$ verbsctl ${args.join(' ')}\n${asked.join('')}${stdout && lines(':', stdout)}${stderr && lines('!', stderr)}= ${code}\n`;
  return text.replaceAll(server.url, 'URL').replaceAll(/ +$/gm, '');
}

if (process.argv.includes('--print')) {
  const afters = [];
  for (const [args, routes] of CASES)
    process.stdout.write(`${await printed({ after: (ends) => afters.push(ends) }, args, routes)}\n`);
  await Promise.all(afters.map((ends) => ends()));
} else {
  const golden = readFileSync(GOLDEN, 'utf8').split('\n\n$ ').map((part, i) => `${i ? '$ ' : ''}${part.trimEnd()}\n`);

  test('printed: the golden file has every case', () => assert.equal(golden.length, CASES.length));
  CASES.forEach(([args, routes], at) => {
    test(`printed: "${args.join(' ')}" asks and prints what was reviewed`, async (t) => {
      assert.equal(await printed(t, args, routes), golden[at]);
    });
  });
}
