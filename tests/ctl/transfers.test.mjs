// SPDX-License-Identifier: Apache-2.0
// write, read and send: the requests, the checks before them, and the report of the outcome.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ctl, folder } from './lib/ctl.mjs';
import { buffer, firstError, problem, transfer } from './lib/samples.mjs';
import { FakeServer } from './lib/server.mjs';

const POST = 'POST /v1/transfers';
const MESSAGES = 'POST /v1/connections/to-b/messages';
const local = { 'GET /v1/buffers/source': { json: buffer({ id: 5, name: 'source', access: [] }) } };
const base = ['to-b', '--buffer', 'source'];
const done = { status: 201, json: transfer() };

test('transfers: write names the peer\'s memory by address and key', async (t) => {
  const server = await FakeServer.start(t, { [POST]: done });
  const { code, stdout, stderr } = await ctl(server, ['write', '7', '--buffer', 'source', '--offset', '1K',
    '--length', '4K', '--remote-addr', '0x7f0000001000', '--remote-rkey', '0x00001a71', '--remote-offset', '16',
    '--chunk-size', '64K', '--timeout', '5s']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'transfer/12: write of 1048576 bytes done, 2.000 ms on the wire, 500.0 MiB/s\n');
  assert.deepEqual(server.calls, [POST]);
  assert.deepEqual(server.requests[0].json, { connection: 7, buffer: 'source', offset_bytes: 1024, length_bytes: 4096,
    chunk_bytes: 65536, timeout_ms: 5000, op: 'write', remote: { addr: '0x7f0000001000', rkey: '0x1a71', offset_bytes: 16 } });
  assert.equal(server.requests[0].headers.prefer, 'wait=60');
});

test('transfers: --remote asks the peer\'s verbsd for address and key', async (t) => {
  const server = await FakeServer.start(t, { ...local, [POST]: done });
  const peer = await FakeServer.start(t, { 'GET /v1/buffers/target': { json: buffer({ size_bytes: 2097152 }) } });
  const { code, stderr } = await ctl(server, ['write', ...base, '--remote', `${peer.url}#target`, '--remote-offset', '1M'],
    { env: { VERBSD_TOKEN: 'mine', VERBSD_PEER_TOKEN: 'theirs' } });
  assert.equal(code, 0, stderr);
  assert.deepEqual(peer.calls, ['GET /v1/buffers/target']);
  assert.equal(peer.requests[0].headers.authorization, 'Bearer theirs');
  const [request] = server.requests.filter(({ method }) => method === 'POST');
  assert.equal(request.headers.authorization, 'Bearer mine');
  assert.deepEqual(request.json, { connection: 'to-b', buffer: 'source', op: 'write',
    remote: { addr: '0x7f0000001000', rkey: '0x1a71', size_bytes: 2097152, offset_bytes: 1048576 } });
});

test('transfers: the token for one verbsd is not shown to another', async (t) => {
  const server = await FakeServer.start(t, { ...local, [POST]: done });
  const peer = await FakeServer.start(t, { 'GET /v1/buffers/target': { json: buffer() } });
  await ctl(server, ['write', ...base, '--remote', `${peer.url}#target`], { env: { VERBSD_TOKEN: 'mine' } });
  assert.equal(peer.requests[0].headers.authorization, undefined);
  const file = join(folder(), 'token');
  writeFileSync(file, 'theirs\n');
  await ctl(server, ['write', ...base, '--remote', `${peer.url}#target`, '--peer-token-file', file]);
  assert.equal(peer.requests[1].headers.authorization, 'Bearer theirs');
});

test('transfers: --remote may be a unix socket, or the same server', async (t) => {
  const server = await FakeServer.start(t, { ...local, [POST]: done, 'GET /v1/buffers/near': { json: buffer() } });
  const peer = await FakeServer.start(t, { 'GET /v1/buffers/target': { json: buffer() } }, { unix: true });
  assert.equal((await ctl(server, ['write', ...base, '--remote', `${peer.url}#target`])).code, 0);
  assert.equal((await ctl(server, ['write', ...base, '--remote', '#near'])).code, 0);
  assert.ok(server.calls.includes('GET /v1/buffers/near'));
});

const REFUSED = [
  { what: 'access that was not granted', op: 'read', buffer: buffer(), says: /does not grant remote_read; create it with --access/ },
  { what: 'a peer that shows no key', op: 'write', buffer: (({ addr, rkey, ...rest }) => rest)(buffer()),
    says: /the read role does not see them/ },
  { what: 'a buffer that grants peers nothing, and so has no key', op: 'write', buffer: buffer({ access: [], rkey: null }), says: /does not grant remote_write; create it with --access/ },
];

for (const { what, op, buffer: remote, says } of REFUSED) {
  test(`transfers: ${what} is refused here, since the device would break the connection over it`, async (t) => {
    const server = await FakeServer.start(t, { ...local, [POST]: done });
    const peer = await FakeServer.start(t, { 'GET /v1/buffers/target': { json: remote } });
    const { code, stderr } = await ctl(server, [op, ...base, '--remote', `${peer.url}#target`]);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.ok(!server.calls.includes(POST));
  });
}

test('transfers: memory that the peer does not have is told with the option that names it', async (t) => {
  const server = await FakeServer.start(t, { ...local, [POST]: done });
  const peer = await FakeServer.start(t);
  for (const remote of [`${peer.url}#target`, '#target']) {
    const { code, stderr } = await ctl(server, ['write', ...base, '--remote', remote]);
    assert.equal(code, 4);
    assert.ok(stderr.startsWith(`verbsctl: --remote ${remote}: not_found: `), stderr);
  }
});

test('transfers: a peer that is out of reach is named', async (t) => {
  const server = await FakeServer.start(t, { ...local, [POST]: done });
  const peer = await FakeServer.start(t);
  await peer.stop();
  const { code, stderr } = await ctl(server, ['read', ...base, '--remote', `${peer.url}#target`]);
  assert.equal(code, 5);
  assert.ok(stderr.includes(`can't reach verbsd at ${peer.url}`));
});

test('transfers: one that outlasts the server\'s wait is followed to its end', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: transfer({ state: 'queued' }) },
    'GET /v1/transfers/12': [{ json: transfer({ state: 'running', bytes_done: 5 }) }, { json: transfer() }] });
  const { code, stdout, stderr } = await ctl(server, ['write', ...base, '--remote-addr', '0x1', '--remote-rkey', '0x2',
    '--timeout', '1h', '--json']);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  assert.deepEqual(JSON.parse(stdout), transfer());
  assert.equal(server.requests[0].headers.prefer, 'wait=60');
});

test('transfers: --no-wait returns at once', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: transfer({ state: 'queued', wire_ns: null }) } });
  const { code, stdout } = await ctl(server, ['read', ...base, '--remote-addr', '0x1', '--remote-rkey', '0x2', '--no-wait']);
  assert.equal(code, 0);
  assert.equal(stdout, 'transfer/12: write of 1048576 bytes queued\n');
  assert.equal(server.requests[0].headers.prefer, undefined);
  assert.equal(server.requests[0].json.op, 'read');
});

test('transfers: one that fails while it is followed is told with reason and hint', async (t) => {
  const error = { code: 'remote_access', detail: 'the peer refused the key', hint: 'Check addr and rkey.',
    first: firstError({ op: 'write', wc_status: 'IBV_WC_REM_ACCESS_ERR', vendor_err: 0 }) };
  const server = await FakeServer.start(t, { [POST]: { status: 202, json: transfer({ state: 'running' }) },
    'GET /v1/transfers/12': { json: transfer({ state: 'failed', error }) } });
  const { code, stdout, stderr } = await ctl(server, ['write', ...base, '--remote-addr', '0x1', '--remote-rkey', '0x2']);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, 'verbsctl: transfer/12: remote_access: the peer refused the key\n' +
    '  op            write\n  wc status     IBV_WC_REM_ACCESS_ERR\n  vendor err    0\n  hint          Check addr and rkey.\n');
});

test('transfers: one that timed out without an error object still fails', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201, json: transfer({ state: 'timed_out' }) } });
  const { code, stderr } = await ctl(server, ['write', ...base, '--remote-addr', '0x1', '--remote-rkey', '0x2']);
  assert.equal(code, 3);
  assert.equal(stderr, 'verbsctl: transfer/12: timed_out\n');
});

test('transfers: the problem that ended it is told', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 409, json: problem({ code: 'wrong_state', status: 409,
    title: 'The object\'s state does not allow that', detail: 'connection/7 is closed' }) } });
  const { code, stderr } = await ctl(server, ['write', ...base, '--remote-addr', '0x1', '--remote-rkey', '0x2']);
  assert.equal(code, 1);
  assert.match(stderr, /connection\/7: wrong_state: .*connection\/7 is closed\n/);
});

test('transfers: send carries text, bytes of a file and standard input', async (t) => {
  const server = await FakeServer.start(t, { [MESSAGES]: { status: 201, json: transfer({ op: 'send', buffer: null,
    length_bytes: 5, bytes_done: 5, wire_ns: null }) } });
  const file = join(folder(), 'message');
  writeFileSync(file, Buffer.from([0, 255, 1]));
  const text = await ctl(server, ['send', 'to-b', 'hällo', '--timeout', '2s']);
  assert.equal(text.code, 0, text.stderr);
  assert.equal(text.stdout, 'transfer/12: send of 5 bytes done\n');
  await ctl(server, ['send', 'to-b', '--file', file]);
  await ctl(server, ['send', 'to-b', '-'], { input: 'from a pipe\n' });
  await ctl(server, ['send', 'to-b', '--', '-v']);
  await ctl(server, ['send', 'to-b', '-'], { input: '' });
  assert.deepEqual(server.requests.map(({ json }) => json), [{ data: 'hällo', timeout_ms: 2000 },
    { data: '00ff01', encoding: 'hex' }, { data: 'from a pipe\n' }, { data: '-v' }, { data: '' }]);
  assert.deepEqual(server.requests.map(({ headers }) => headers.prefer).slice(0, 2), ['wait=60', 'wait=60']);
});

test('transfers: send refuses a message that is too long for a request', async (t) => {
  const server = await FakeServer.start(t, { [MESSAGES]: done });
  const longest = await ctl(server, ['send', 'to-b', '-'], { input: Buffer.alloc(16384, 'x') });
  assert.equal(longest.code, 0, longest.stderr);
  const { code, stderr } = await ctl(server, ['send', 'to-b', '-'], { input: Buffer.alloc(1000000, 'x') });
  assert.equal(code, 1);
  assert.match(stderr, /longer than 16384 bytes; put it into a buffer and use --buffer/);
  assert.equal(server.calls.length, 1);
});

test('transfers: send takes a range of a buffer', async (t) => {
  const server = await FakeServer.start(t, { [POST]: { status: 201, json: transfer({ op: 'send' }) } });
  const { code } = await ctl(server, ['send', '7', '--buffer', 'source', '--offset', '8', '--length', '20000']);
  assert.equal(code, 0);
  assert.deepEqual(server.requests[0].json, { buffer: 'source', offset_bytes: 8, length_bytes: 20000, op: 'send', connection: 7 });
});
