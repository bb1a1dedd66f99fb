// SPDX-License-Identifier: Apache-2.0
// Queue pairs brought up by hand, and the operations other than write, read and send.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, succeeds } from './lib/ctl.mjs';
import { buffer, connection, transfer } from './lib/samples.mjs';
import { FakeServer } from './lib/server.mjs';

const POST = 'POST /v1/transfers';
const REMOTE = ['--remote-addr', '0x7f0000001000', '--remote-rkey', '0x1a71'];
const remote = { addr: '0x7f0000001000', rkey: '0x1a71' };
const local = { lid: 0, gid: '::ffff:192.0.2.2', gid_index: 1, qpn: 18, psn: 99, port_mtu_bytes: 1024,
  path_mtu_bytes: null, qp_type: 'rc', gid_type: 'roce_v2', responder_resources: 16, initiator_depth: 16,
  recv_size_bytes: 1024 };
const prepared = connection({ id: 9, name: 'byhand', state: 'awaiting_remote', bringup: 'manual', manual: { local, remote: null },
  peer: { addr: null, port: 0 }, dst_addr: null, dst_port: null, established_at: null });

test('verbs: prepare makes a queue pair and prints what the peer must know', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections': { status: 201, json: prepared } });
  const { stdout } = await succeeds(server, ['connections', 'prepare', 'byhand', '--qp-type', 'uc', '--gid-index', '1', '--psn', '99',
    '--initial-state', 'RESET', '--signal-every', '4']);
  assert.deepEqual(server.requests[0].json, { name: 'byhand', bringup: 'manual', qp_type: 'uc', gid_index: 1, psn: 99,
    initial_state: 'RESET', qp: { signal_every: 4 } });
  assert.match(stdout, /^connection\/9 \(byhand\): awaiting_remote\n/);
  assert.match(stdout, /--psn 99 --gid ::ffff:192\.0\.2\.2 --lid 0 --qpn 18 --mtu 1024\n/);
});

test('verbs: remote takes the values of the options', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections/byhand/remote': { json: prepared } });
  await succeeds(server, ['connections', 'remote', 'byhand', '--gid', '::ffff:192.0.2.2', '--qpn', '18', '--psn', '99', '--mtu', '1024',
    '--lid', '0', '--bring-to', 'RTR']);
  assert.deepEqual(server.requests[0].json,
    { gid: '::ffff:192.0.2.2', lid: 0, qpn: 18, psn: 99, port_mtu_bytes: 1024, bring_to: 'RTR' });
});

test('verbs: a number may be hexadecimal, as show prints it', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections/byhand/remote': { json: prepared } });
  await succeeds(server, ['connections', 'remote', 'byhand', '--gid', '::ffff:192.0.2.2', '--qpn', '0x000012', '--psn', '0x34cb3f']);
  assert.deepEqual(server.requests[0].json, { gid: '::ffff:192.0.2.2', qpn: 18, psn: 0x34cb3f });
  const { code, stderr } = await ctl(server, ['connections', 'remote', 'byhand', '--qpn', '12h', '--psn', '1']);
  assert.equal(code, 2);
  assert.match(stderr, /--qpn must be a number, not "12h"/);
});

test('verbs: remote and qp-state wait for the outcome, and fail with it', async (t) => {
  const problem = { type: '/v1/glossary/addr_error', title: 'The address could not be resolved', status: 424, code: 'addr_error',
    detail: 'ibv_modify_qp: Connection timed out (ETIMEDOUT)', hint: 'No neighbour has that address.', instance: '/v1/connections/9' };
  const server = await FakeServer.start(t, { 'POST /v1/connections/byhand/remote': { status: 424, json: problem },
    'POST /v1/connections/byhand/qp_state': { json: prepared } });
  const { code, stderr } = await ctl(server, ['connections', 'remote', 'byhand', '--gid', '::ffff:192.0.2.9', '--qpn', '18', '--psn', '99']);
  assert.equal(code, 1);
  assert.match(stderr, /addr_error: .*Connection timed out/);
  await succeeds(server, ['connections', 'qp-state', 'byhand', 'RTR']);
  await succeeds(server, ['connections', 'qp-state', 'byhand', 'RTR', '--no-wait']);
  assert.deepEqual(server.requests.map(({ headers }) => headers.prefer), ['wait=60', 'wait=60', undefined]);
});

test('verbs: remote --from asks the peer\'s verbsd, and options go before what it says', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections/1/remote': { json: prepared } });
  const peer = await FakeServer.start(t, { 'GET /v1/connections/byhand': { json: prepared },
    'GET /v1/connections/cm': { json: connection() } });
  await succeeds(server, ['connections', 'remote', '1', '--from', `${peer.url}#byhand`, '--mtu', '256']);
  assert.deepEqual(server.requests[0].json, { ...local, port_mtu_bytes: 256 });
  const { code, stderr } = await ctl(server, ['connections', 'remote', '1', '--from', `${peer.url}#cm`]);
  assert.equal(code, 1);
  assert.match(stderr, /not brought up by hand/);
});

test('verbs: without the packet number, which a reader does not see, nothing is offered or taken', async (t) => {
  const { psn, ...shown } = local;
  const seen = { ...prepared, manual: { local: shown, remote: null } };
  const server = await FakeServer.start(t, { 'GET /v1/connections/byhand': { json: seen } });
  const { stdout } = await succeeds(server, ['show', 'byhand']);
  assert.doesNotMatch(stdout, /for the peer/);
  const { code, stderr } = await ctl(server, ['connections', 'remote', '1', '--from', `${server.url}#byhand`]);
  assert.equal(code, 1);
  assert.match(stderr, /--peer-token-file/);
  assert.equal(psn, 99);
});

test('verbs: qp-state takes one step', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections/9/qp_state': { json: prepared } });
  await succeeds(server, ['connections', 'qp-state', '9', 'INIT']);
  assert.deepEqual(server.requests[0].json, { state: 'INIT' });
});

test('verbs: write with an immediate is another operation', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201, json: transfer() } });
  await succeeds(server, ['write', '7', '--buffer', 'b', '--imm', '5', '--inline', ...REMOTE]);
  assert.deepEqual(server.requests[0].json, { connection: 7, buffer: 'b', imm: 5, inline: true, op: 'write_imm', remote });
});

test('verbs: pieces of buffers stand for a buffer', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201, json: transfer() } });
  await succeeds(server, ['write', '7', '--sges', 'a:0:1K,3:16,c', ...REMOTE]);
  assert.deepEqual(server.requests[0].json.sges,
    [{ buffer: 'a', offset_bytes: 0, length_bytes: 1024 }, { buffer: 3, offset_bytes: 16 }, { buffer: 'c' }]);
  for (const wrong of [['--sges', 'a:x'], ['--sges', 'a', '--buffer', 'b'], []]) {
    const { code, stderr } = await ctl(server, ['write', '7', ...wrong, ...REMOTE]);
    assert.equal(code, 2, stderr);
  }
  assert.equal(server.requests.length, 1);
});

test('verbs: atomics print what was there', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201,
    json: transfer({ op: 'fetch_add', old_value: '0x0000000000000029' }) } });
  const { stdout } = await succeeds(server, ['transfers', 'fetch-add', '7', '--add', '0x1', ...REMOTE]);
  assert.deepEqual(server.requests[0].json, { connection: 7, add: '0x1', op: 'fetch_add', remote });
  assert.match(stdout, /old value +0x0000000000000029\n/);
  await succeeds(server, ['transfers', 'compare-swap', '7', '--compare', '0x1', '--swap', '0x2', ...REMOTE]);
  assert.deepEqual(server.requests[1].json, { connection: 7, compare: '0x1', swap: '0x2', op: 'compare_swap', remote });
});

test('verbs: an atomic needs to know where', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201, json: transfer() } });
  for (const args of [['fetch-add', '7', '--add', '0x1'], ['compare-swap', '7', '--compare', '0x1', '--swap', '0x2']]) {
    const { code, stderr } = await ctl(server, ['transfers', ...args]);
    assert.equal(code, 2);
    assert.match(stderr, /needs --remote, or --remote-addr and --remote-rkey instead/);
  }
  assert.deepEqual(server.requests, []);
});

test('verbs: an atomic at a named buffer needs its access', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201, json: transfer() },
    'GET /v1/buffers/closed': { json: buffer({ access: ['remote_write'] }) } });
  const { code, stderr } = await ctl(server, ['transfers', 'fetch-add', '7', '--add', '0x1', '--remote', '#closed']);
  assert.equal(code, 1);
  assert.match(stderr, /does not grant remote_atomic/);
});

test('verbs: a posted receive tells what came', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201,
    json: transfer({ op: 'recv', received: { length_bytes: 12, imm: 77 } }) } });
  const { stdout } = await succeeds(server, ['transfers', 'recv', '7', '--sges', 'a:0:8,b:0:8']);
  assert.equal(server.requests[0].json.op, 'recv');
  assert.match(stdout, /received +12\n +immediate +77\n/);
});

test('verbs: a range of a buffer can go as many messages', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201, json: transfer({ op: 'send' }) } });
  await succeeds(server, ['send', '7', '--buffer', 'b', '--message-size', '64', '--tx-depth', '8']);
  assert.deepEqual(server.requests[0].json, { connection: 7, buffer: 'b', message_bytes: 64, tx_depth: 8, op: 'send' });
});
