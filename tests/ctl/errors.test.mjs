// SPDX-License-Identifier: Apache-2.0
// For any answer, or none: the exit status that fits, a message with the reason, and no crash.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { CTL, ctl, folder } from './lib/ctl.mjs';
import { benchmark, caller, connection, drain, index, probe, problem, rejected, transfer } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const refusal = (over) => ({ status: 424, json: problem(over) });

test('errors: a problem names object, code, detail and hint', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections': refusal() });
  const { code, stdout, stderr } = await ctl(server, ['connect', '192.0.2.2:7471']);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, [
    'verbsctl: connection/7: rejected: nobody listens for connections at 192.0.2.2:7471',
    '  reject reason IB_CM_REJ_INVALID_SERVICE_ID',
    '  cm event      RDMA_CM_EVENT_REJECTED',
    '  cm status     8',
    '  hint          Is something listening on that port?', ''].join('\n'));
});

// As in an answer, and as an explanation names it.
const cause = { code: 'nobody_listens', detail: 'Nobody listens for connections at 192.0.2.2 port 7471.', hint: 'Start the listener on the peer.' };
const explain = '/v1/connections/7/explain';
const told = [
  '  cause         Nobody listens for connections at 192.0.2.2 port 7471.',
  '  hint          Start the listener on the peer.',
  '  explain       verbsctl explain 7', ''].join('\n');
// The error of an object that was followed to its end.
const ended = { code: 'rejected', detail: 'it was rejected', hint: 'Is something listening?', first: null, explain };

test('errors: the cause is told with what to do about it, and the command for the rest', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections': refusal({ cause, explain }) });
  const { code, stderr } = await ctl(server, ['connect', '192.0.2.2:7471']);
  assert.equal(code, 1);
  assert.ok(stderr.endsWith(`\n  cm status     8\n${told}`), stderr);
  assert.deepEqual(server.calls, ['POST /v1/connections']);
  assert.deepEqual(JSON.parse((await ctl(server, ['connect', '192.0.2.2:7471', '--json'])).stderr).cause, cause);
});

test('errors: verbsctl asks for the cause of what it followed to its end', async (t) => {
  const server = await FakeServer.start(t, { [`GET ${explain}`]: { json: { cause } },
    'POST /v1/connections': { status: 202, json: connection({ state: 'connecting' }) },
    'GET /v1/connections/7': { json: rejected({ error: ended }) },
    'POST /v1/transfers': { status: 202, json: transfer({ state: 'running' }) },
    'GET /v1/transfers/12': { json: transfer({ state: 'failed', error: ended }) },
    'POST /v1/probes': { status: 202, json: probe({ state: 'failed', error: ended }) },
    'POST /v1/benchmarks': { status: 202, json: benchmark({ state: 'failed', error: ended }) },
    'DELETE /v1/probes/6': { status: 204 }, 'DELETE /v1/benchmarks/4': { status: 204 } });
  for (const args of [['connect', '192.0.2.2:7471'], ['wait', '7'],
    ['write', '7', '--buffer', 'b', '--remote-addr', '0x1', '--remote-rkey', '0x1'], ['probe', '7'], ['bench', '7', '--size', '64']]) {
    const { code, stderr } = await ctl(server, args);
    assert.equal(code, 1, args.join(' '));
    assert.ok(stderr.endsWith(`: rejected: it was rejected\n${told}`), `${args.join(' ')}: ${stderr}`);
    assert.equal(server.calls.at(-1), `GET ${explain}`);
  }
});

test('errors: a cause that nobody knows yet is left to the command', async (t) => {
  const server = await FakeServer.start(t, { [`GET ${explain}`]: [{ status: 404, json: problem({ status: 404, code: 'not_found' }) }, { json: { cause: null } }],
    'POST /v1/connections': refusal({ explain }),
    'GET /v1/connections/7': { json: rejected({ error: ended }) } });
  for (const args of [['connect', '192.0.2.2:7471'], ['wait', '7'], ['wait', '7']]) {
    const { stderr } = await ctl(server, args);
    assert.match(stderr, /\n {2}hint +Is something listening[a-z ]*\?\n {2}explain +verbsctl explain 7\n$/);
    assert.doesNotMatch(stderr, /cause|not_found/);
  }
});

test('errors: a deadline that passed is 3, and an object that is not there is 4', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/connections': { status: 424, json: problem({ code: 'timed_out' }) },
    'POST /v1/transfers': { status: 202, json: transfer({ state: 'running' }) },
    'GET /v1/transfers/12': { json: transfer({ state: 'failed', error: { code: 'timed_out', detail: 'too slow', hint: 'wait' } }) } });
  for (const [args, status] of [[['connect', 'h:1'], 3], [['show', 'x'], 4], [['buf', 'get', 'x'], 4], [['rm', 'x'], 4],
    [['write', '7', '--buffer', 'b', '--remote-addr', '0x1', '--remote-rkey', '0x1'], 3]])
    assert.equal((await ctl(server, args)).code, status, args.join(' '));
});

test('errors: every member of a problem that helps is told', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/7': refusal({
    code: 'wrong_state', reject_reason: 'IB_CM_REJ_TIMEOUT', call: 'ibv_reg_mr', errno: 'ENOMEM',
    wc_status: 'IBV_WC_REM_ACCESS_ERR', vendor_err: 129, users: ['/v1/transfers/1', '/v1/transfers/2'],
    holder: '/v1/buffers/3', limit: 64, limit_name: 'limits.transfers', allow: ['GET', 'PUT'],
    device: 'rxe0', capability: 'srq', kept_object: '/v1/kept_objects/2', caller: 'alice', new_member: 'x' }) });
  const { code, stderr } = await ctl(server, ['show', '7']);
  assert.equal(code, 1);
  for (const line of ['reject reason IB_CM_REJ_TIMEOUT', 'call          ibv_reg_mr', 'errno         ENOMEM',
    'wc status     IBV_WC_REM_ACCESS_ERR', 'vendor err    129', 'users         /v1/transfers/1,/v1/transfers/2', 'holder        /v1/buffers/3',
    'limit         64', 'limit name    limits.transfers', 'allow         GET,PUT', 'device        rxe0', 'capability    srq',
    'kept object   /v1/kept_objects/2', 'caller        alice', 'new member    x'])
    assert.ok(stderr.includes(`\n  ${line}\n`), line);
});

test('errors: faults of a request are told as options and operands, all of them', async (t) => {
  const missing = { code: 'missing_field', detail: '/buffer is missing: messages of more than 16384 bytes need one', pointer: '/buffer' };
  const server = await FakeServer.start(t, {
    'POST /v1/benchmarks': { status: 400, json: problem({ status: 400, instance: undefined, cm_event: undefined, cm_status: undefined, reject_reason: undefined, title: 'A required member is missing',
      ...missing, pointer: undefined, hint: 'See `size_bytes` in /v1/openapi.yaml.', errors: [missing,
        { code: 'out_of_range', detail: '9 is not between 1 and 8', pointer: '/tx_depth' },
        { code: 'bad_value', detail: 'there is no such op', pointer: '/op' },
        { code: 'unknown_field', detail: '/new is unknown', pointer: '/new' },
        { code: 'wrong_type', detail: 'must be a name', pointer: '/connection' }], errors_total: 8 }) } });
  const { code, stderr } = await ctl(server, ['bench', '7', '--size', '64K', '--tx-depth', '9']);
  assert.equal(code, 1);
  assert.equal(stderr, [
    'verbsctl: bench: missing_field: --buffer is missing: messages of more than 16384 bytes need one',
    '  also          --tx-depth: 9 is not between 1 and 8', '  also          --op: there is no such op', '  also          /new is unknown',
    '  also          CONNECTION: must be a name', '  also          3 more faults', '  hint          See `size_bytes` in /v1/openapi.yaml.', ''].join('\n'));
});

test('errors: a fault of a query names its option', async (t) => {
  const server = await FakeServer.start(t, {
    'GET /v1/buffers': { status: 400, json: problem({ status: 400, code: 'bad_value', instance: undefined, cm_event: undefined, cm_status: undefined, reject_reason: undefined, title: 'A value is not allowed',
      detail: 'not now', errors: [{ code: 'bad_value', detail: 'not now', parameter: 'state' }],
      hint: 'Ask GET /v1/buffers, or raise timeout_ms.' }) },
    'GET /v1/cqs': { status: 429, headers: { 'Retry-After': '7' }, json: problem({ status: 429, instance: undefined, cm_event: undefined, code: 'too_many_requests',
      limit: 4, limit_name: 'limits.polls' }) } });
  assert.equal((await ctl(server, ['buf', 'ls', '--state', 'ready'])).stderr, [
    'verbsctl: buf ls: bad_value: --state: not now',
    '  hint          Ask GET /v1/buffers, or raise timeout_ms.', ''].join('\n'));
  const { stderr } = await ctl(server, ['cqs']);
  assert.match(stderr, /^ {2}limit name {4}limits\.polls$/m);
  assert.match(stderr, /^ {2}try again in {2}7 s$/m);
});

test('errors: with --json a problem is printed on standard error as it came', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections/7': refusal() });
  const { code, stdout, stderr } = await ctl(server, ['show', '7', '--json']);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.deepEqual(JSON.parse(stderr), problem());
});

test('errors: an answer of another server, as a page of HTML, becomes one line', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': { status: 431,
    headers: { 'Content-Type': 'text/html' },
    body: '<html><head><title>Request too big</title></head><body>Your HTTP\nheader was too big</body></html>' } });
  const { code, stderr } = await ctl(server, ['ls']);
  assert.equal(code, 1);
  assert.match(stderr, /^verbsctl: http:\S+ answered HTTP 431, and not as verbsd does: is it verbsd, or a proxy\?\n$/);
});

test('errors: nobody listens there', async (t) => {
  const server = await FakeServer.start(t);
  const { url } = server;
  await server.stop();
  const { code, stderr } = await ctl({ url }, ['ls']);
  assert.equal(code, 5);
  assert.equal(stderr, `verbsctl: can't reach verbsd at ${url}: Connection refused; is it running? It serves no TCP as installed: set \`listen\` in its verbsd.yaml\n`);
});

test('errors: a unix socket that is not there', async () => {
  const { code, stderr } = await ctl({ url: 'unix:/nonexistent/verbsd.sock' }, ['ls']);
  assert.equal(code, 5);
  assert.match(stderr, /can't reach verbsd: there is no \/nonexistent\/verbsd\.sock; `systemctl status/);
});

// A server that sends these bytes and closes, whatever the request.
async function rawServer(t, bytes) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(bytes));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => new Promise((resolve) => { server.close(resolve); }));
  return { url: `http://127.0.0.1:${server.address().port}` };
}

const BROKEN = {
  'nothing at all': '',
  'no HTTP': 'SSH-2.0-OpenSSH_9.2\r\n',
  'half an answer': 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"total": 1,',
  'an empty answer': 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'an error without a body': 'HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n',
  'something that is not JSON': 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello',
  'JSON that breaks off': 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"items":',
  'a number too large': 'HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{"total": 99999999999999999999999999999999}'.slice(0, 63),
  'a redirect': 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
  'a problem that is a list': 'HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\n[1, 2, 3]',
};

for (const [what, bytes] of Object.entries(BROKEN)) {
  test(`errors: ${what} is a failure with a message`, async (t) => {
    const { code, stdout, stderr } = await ctl(await rawServer(t, bytes), ['ls']);
    assert.equal(code, bytes ? 1 : 5);
    assert.equal(stdout, '');
    assert.match(stderr, /^verbsctl: \S/);
  });
}

test('errors: a connection that is reset before the answer is that of a forwarded socket without verbsd', async (t) => {
  const server = createServer((socket) => { socket.once('data', () => socket.resetAndDestroy()); });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => new Promise((resolve) => { server.close(resolve); }));
  const url = `http://127.0.0.1:${server.address().port}`;
  const { code, stderr } = await ctl({ url }, ['ls']);
  assert.equal(code, 5);
  assert.equal(stderr, `verbsctl: no answer from verbsd at ${url}: Recv failure: Connection reset by peer; `
    + 'if ssh forwards this address, verbsd does not run at the other end, or ssh has ended\n');
});

const READS = [['ls'], ['show', '7'], ['devices'], ['devices', 'show', 'x'], ['cqs'], ['listeners'],
  ['listeners', 'show', '1'], ['buf', 'ls'], ['buf', 'show', '3'], ['buf', 'sum', '3'], ['transfers'],
  ['transfers', 'show', '12'], ['status'], ['events'], ['recv', '7'], ['listen', '0.0.0.0'],
  ['connect', 'h:1'], ['close', '7'], ['reject', '7'], ['accept', '7'], ['rm', '7'], ['send', '7', 'x'],
  ['buf', 'create', '--size', '1'], ['buf', 'rm', '3'], ['transfers', 'rm', '12'],
  ['write', '7', '--buffer', '3', '--remote', '#3'],
  ['listeners', 'set', '1', '--accept', 'auto']];

// Each one is tried as a whole answer and as an item of a list.
const ODD = [{}, [], { items: {} }, { items: [null, 3, 'x', [], {}, { id: 'x' }] }, { next: 5, items: [{}] },
  { id: {}, name: [], state: 5, qp_attr: 'x', counters: 7, end_code: {}, peer: [], timeline: [1, null], access: 'all',
    ports: [null, { gids: [null, 7] }], checks: 'all', status: 'ok', size_bytes: -1, addr: 5 },
  { state: 'established', peer: { addr: 5, port: 'x' }, error: [], timeline: {} },
  { status: 'failing', checks: [1, {}], first: 'x', last: 'y', next: -3, compacted: 'maybe', items: [5] }];

for (const args of READS) {
  test(`errors: "${args.join(' ')}" survives odd answers`, async (t) => {
    for (const json of ODD) {
      const routes = new Proxy({}, { get: () => ({ json }) });
      const server = await FakeServer.start(t, routes);
      for (const extra of [[], ['--json']]) {
        const { code, signal, stderr } = await ctl(server, [...args, ...extra]);
        assert.equal(signal, null, stderr);
        assert.ok(code === 0 || code === 1, `${code}: ${stderr}`);
        assert.doesNotMatch(stderr, /Sanitizer|runtime error|out of memory/);
      }
      await server.stop();
    }
  });
}

test('errors: what a server says can not steer the terminal', async (t) => {
  const evil = 'a\u001b[2J\u0007b\r\nc\u009bd\u202ee\u007f';
  const server = await FakeServer.start(t, {
    'GET /v1/connections': page([connection({ name: evil, end_code: evil, error: { code: evil, detail: evil, hint: evil, first: null } })]),
    'GET /v1/connections/7': { json: connection({ name: evil, waits_for: evil, device: { id: 1, name: evil } }) },
    'GET /v1/connections/8': { status: 404, json: problem({ title: evil, detail: evil, hint: evil, instance: evil }) },
    'GET /v1/connections/9': { status: 500, body: evil },
  });
  for (const args of [['ls'], ['ls', '--json'], ['show', '7'], ['show', '7', '--json'], ['show', '8'],
    ['show', '8', '--json'], ['show', '9']]) {
    const { stdout, stderr } = await ctl(server, args);
    assert.doesNotMatch(stdout + stderr, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/, args.join(' '));
    assert.ok((stdout + stderr).length > 0);
  }
  assert.equal(JSON.parse((await ctl(server, ['show', '7', '--json'])).stdout).name, evil);
  assert.match((await ctl(server, ['show', '8'])).stderr, /a\\x1b\[2J\\x07b\\x0d\\nc\\u009bd\\u202ee\\x7f/);
});

test('errors: one of several operands that fails does not keep the others from their turn', async (t) => {
  const server = await FakeServer.start(t, { 'DELETE /v1/buffers/a': { status: 204 },
    'DELETE /v1/buffers/c': { status: 204 } });
  const { code, stdout, stderr } = await ctl(server, ['buf', 'rm', 'a', 'b', 'c']);
  assert.equal(code, 4);
  assert.equal(stdout, 'buffer/a: gone\nbuffer/c: gone\n');
  assert.match(stderr, /not_found/);
});

test('errors: names are escaped in paths, also "." and ".."', async (t) => {
  const server = await FakeServer.start(t, {}, { anything: true });
  for (const name of ['..', 'a/b', 'a?b#c', 'ü', '%2e'])
    await ctl(server, ['show', name]);
  assert.deepEqual(server.requests.map(({ url }) => url), ['/v1/connections/..', '/v1/connections/a%2Fb',
    '/v1/connections/a%3Fb%23c', '/v1/connections/%C3%BC', '/v1/connections/%252e']);
});

test('errors: an object may be named as it is printed, by its own kind', async (t) => {
  const server = await FakeServer.start(t, {}, { anything: true });
  for (const args of [['explain', 'connection/7'], ['transfer-batches', 'show', 'transfer_batch/3'], ['show', 'transfer/7'], ['show', 'connection/x']])
    await ctl(server, args);
  assert.deepEqual(server.requests.map(({ url }) => url), ['/v1/connections/7/explain', '/v1/transfer_batches/3', '/v1/connections/transfer%2F7',
    '/v1/connections/connection%2Fx']);
});

test('errors: an object that an option or an operand names may be named so, too', async (t) => {
  const server = await FakeServer.start(t, {}, { anything: true });
  const far = ['--remote-addr', '0x1', '--remote-rkey', '0x1', '--no-wait'];
  for (const args of [['write', 'connection/3', '--buffer', 'buffer/4', ...far], ['write', 'buffer/3', '--buffer', 'buffer/x', ...far],
    ['transfers', 'read', '3', '--sges', 'buffer/4:8:16', ...far], ['connect', 'h:1', '--pd', 'pd/5', '--device', 'device/2', '--no-wait'],
    ['ud-endpoints', 'send', 'ud_endpoint/6', '--buffer', 'b', '--peer', 'ud_peer/7', '--no-wait']])
    await ctl(server, args);
  assert.deepEqual(server.requests.map(({ json }) => [json.connection, json.buffer ?? json.sges?.[0].buffer, json.qp?.pd, json.device,
    json.ud_endpoint, json.ud_peer].filter((value) => value !== undefined)),
  [[3, 4], ['buffer/3', 'buffer/x'], [3, 4], [5, 2], ['b', 6, 7]]);
});

test('errors: the server comes from -s, then VERBSD_URL, with port 7480 when none is given', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/pds/1': { json: { server_id: 'a' } } });
  const elsewhere = { url: 'http://127.0.0.1:1' };
  assert.equal((await ctl(elsewhere, ['-s', server.url, 'pds', 'show', '1'])).code, 0);
  assert.equal((await ctl(elsewhere, ['pds', 'show', '1', '-s', `127.0.0.1:${server.port}`])).code, 0);
  assert.equal((await ctl(elsewhere, ['pds', 'show', '1', `--server=${server.url}/`])).code, 0);
  assert.equal((await ctl(server, ['pds', 'show', '1'])).code, 0);
  assert.equal((await ctl(elsewhere, ['pds', 'show', '1'])).code, 5);
  const { stderr } = await ctl(null, ['pds', 'show', '1', '-s', 'http://127.0.0.99']);
  assert.match(stderr, /can't reach verbsd at http:\/\/127\.0\.0\.99: Connection refused/);
});

test('errors: a unix socket serves as well', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/pds/1': { json: { server_id: 'a' } } }, { unix: true });
  const { code, stdout } = await ctl(server, ['pds', 'show', '1', '--json']);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), { server_id: 'a' });
  assert.equal(server.requests[0].headers.host, 'localhost');
});

// Runs verbsctl in a network where nobody listens: on a host without the service, on one where the service was not started, and
// where the folder is /run/verbsd.
const WITHOUT_SERVICE = 'mount -t tmpfs none /run && mount -t tmpfs none /etc && exec "$0" pds show 1';
const NOT_STARTED = 'mount -t tmpfs none /run && mount -t tmpfs none /etc && mkdir /etc/verbsd && exec "$0" pds show 1';
const IN_SERVICE = 'mount -t tmpfs none /run && mkdir /run/verbsd && mount --bind "$1" /run/verbsd && exec "$0" pds show 1';
const canMount = spawnSync('unshare', ['-rmn', 'true']).status === 0;
const inNamespaces = { skip: !canMount && 'no user namespaces' };

test('errors: a service that does not run is told, and TCP is tried only where there is none', inNamespaces, async () => {
  for (const line of [NOT_STARTED, IN_SERVICE]) {
    const { code, stderr } = await ctl(null, ['-rmn', 'sh', '-c', line, CTL, folder()], { program: 'unshare' });
    assert.equal(code, 5);
    assert.equal(stderr, "verbsctl: can't reach verbsd: there is no /run/verbsd/verbsd.sock; `systemctl status verbsd` says whether the service runs; "
      + 'if `unix_socket` of its verbsd.yaml is another path, --server unix:/PATH asks there\n');
  }
  const { stderr } = await ctl(null, ['-rmn', 'sh', '-c', WITHOUT_SERVICE, CTL], { program: 'unshare' });
  assert.equal(stderr, "verbsctl: can't reach verbsd at http://127.0.0.1:7480: Network is unreachable; is it running?\n");
});

test('errors: a user who may not open the socket is told who may', async (t) => {
  const server = await FakeServer.start(t, {}, { unix: true });
  const socket = server.url.slice('unix:'.length);
  const bare = process.getuid() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : ['env'];
  const [, ...args] = [...bare, CTL, 'pds', 'show', '1'];
  chmodSync(socket, 0o060);
  const { code, stderr } = await ctl(server, args, { program: bare[0] });
  assert.equal(code, 5);
  assert.equal(stderr, `verbsctl: can't reach verbsd at ${server.url}: you may not open this socket; use sudo, `
    + `or log in as a member of its group (\`ls -l ${socket}\`)\n`);
});

test('errors: the unix socket of the service is the default', inNamespaces, async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/pds/1': { json: { server_id: 'a' } } }, { unix: true });
  const socket = server.url.slice('unix:'.length);
  await rename(socket, join(dirname(socket), 'verbsd.sock'));
  const { code, stderr } = await ctl(null, ['-rm', 'sh', '-c', IN_SERVICE, CTL, dirname(socket)], { program: 'unshare' });
  assert.equal(code, 0, stderr);
  assert.equal(server.requests.length, 1);
});

test('errors: a proxy of the environment sees nothing', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/pds/1': { json: { server_id: 'a' } } });
  const { code } = await ctl(server, ['pds', 'show', '1'], { env: { http_proxy: 'http://127.0.0.1:1', ALL_PROXY: 'http://127.0.0.1:1' } });
  assert.equal(code, 0);
});

test('errors: the token comes from --token-file, VERBSD_TOKEN or VERBSD_TOKEN_FILE, in this order', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/pds/1': { json: {} } });
  const dir = folder();
  const file = (name, text) => { writeFileSync(join(dir, name), text); return join(dir, name); };
  const first = file('first', 'one\n# a comment\n');
  const second = file('second', 'two \r\n');
  await ctl(server, ['pds', 'show', '1', '--token-file', first], { env: { VERBSD_TOKEN: 'three' } });
  await ctl(server, ['pds', 'show', '1'], { env: { VERBSD_TOKEN: 'three', VERBSD_TOKEN_FILE: second } });
  await ctl(server, ['pds', 'show', '1'], { env: { VERBSD_TOKEN_FILE: second } });
  await ctl(server, ['pds', 'show', '1']);
  assert.deepEqual(server.requests.map(({ headers }) => headers.authorization),
    ['Bearer one', 'Bearer three', 'Bearer two', undefined]);
});

test('errors: a token that could add a header is refused', async (t) => {
  const server = await FakeServer.start(t);
  const dir = folder();
  writeFileSync(join(dir, 'empty'), '\n');
  for (const options of [{ env: { VERBSD_TOKEN: 'a b' } }, { env: { VERBSD_TOKEN: 'ü' } },
    { env: { VERBSD_TOKEN_FILE: join(dir, 'empty') } }]) {
    const { code } = await ctl(server, ['pds', 'show', '1'], options);
    assert.equal(code, 2);
  }
  assert.deepEqual(server.calls, []);
});

test('errors: 401 says what the server says about the token', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/pds/1': { status: 401, json: problem({ status: 401,
    code: 'unauthorized', title: 'A valid token is needed', detail: 'the token is unknown', instance: undefined, reject_reason: undefined,
    cm_event: undefined, hint: 'Check that the token is one of this verbsd.' }) } });
  const { code, stderr } = await ctl(server, ['pds', 'show', '1']);
  assert.equal(code, 1);
  assert.match(stderr, /unauthorized: the token is unknown\n/);
  assert.match(stderr, /hint +Check that the token is one of this verbsd\.\n/);
});

test('errors: a daemon that is degraded serves, so status exits with 0 and shows the check', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1': { json: index() }, 'GET /v1/caller': { json: caller() }, 'GET /v1/drain': { json: drain('serving') },
    'GET /readyz': { json: { status: 'degraded', checks: [{ name: 'store', status: 'degraded', detail: 'no room' }] } } });
  const { code, stdout, stderr } = await ctl(server, ['status']);
  assert.equal(code, 0);
  assert.match(stdout, /store +degraded +no room/);
  assert.equal(stderr, '');
});

test('errors: status exits with 1 and names the failing check when verbsd is not ready', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1': { json: index() }, 'GET /v1/caller': { json: caller() }, 'GET /v1/drain': { json: drain('serving') },
    'GET /readyz': { status: 503, json: { status: 'failing', checks: [{ name: 'loop', status: 'ok', detail: 'turns' },
      { name: 'device', status: 'failing', detail: 'no RDMA device' }] } } });
  const { code, stdout, stderr } = await ctl(server, ['status']);
  assert.equal(code, 1);
  assert.match(stdout, /^ {2}status +failing\n(.*\n)* {2}server version +0\.1\.0\n(.*\n)* {2}drain +state serving, /);
  assert.match(stdout, /\ndevice +failing +no RDMA device\n/);
  assert.match(stderr, /is not ready/);
});
