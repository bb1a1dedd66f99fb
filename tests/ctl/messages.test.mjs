// SPDX-License-Identifier: Apache-2.0
// recv: a message is printed before it is deleted, and verbsctl waits only for messages that can
// come.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CTL, ctl, IGNORE_SIGPIPE, SIGPIPE_STATUS, start, startPiped } from './lib/ctl.mjs';
import { connection, message } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const GET = 'GET /v1/connections/7/messages';
const DELETE = 'DELETE /v1/connections/7/messages';
const STATE = 'GET /v1/connections/7';
const gone = { status: 204 };

// An inbox that deletes messages on request.
function inbox(messages) {
  return {
    [GET]: ({ query }) => page(messages.filter(({ seq }) => seq > Number(query.after ?? 0)).slice(0, Number(query.limit))),
    [DELETE]: ({ query }) => {
      messages.splice(0, messages.filter(({ seq }) => seq <= Number(query.through)).length);
      return gone;
    },
    [STATE]: { json: connection() },
  };
}

test('messages: recv prints what is there, one a line, and deletes it', async (t) => {
  const held = [message(1, 'one'), message(2, 'two\nlines\u001b[1m'), message(3, 'AP8B', { encoding: 'base64' }), message(4, '', { imm: 7 })];
  const server = await FakeServer.start(t, inbox(held));
  const { code, stdout, stderr } = await ctl(server, ['recv', '7']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'one\ntwo\\nlines\\x1b[1m\nbase64:AP8B\nimm:7\n');
  assert.equal(stderr, '');
  assert.deepEqual(held, []);
  assert.equal(server.requests[1].url, '/v1/connections/7/messages?through=4');
});

test('messages: an empty inbox is no failure', async (t) => {
  const server = await FakeServer.start(t, inbox([]));
  const { code, stdout } = await ctl(server, ['recv', '7']);
  assert.equal(code, 0);
  assert.equal(stdout, '');
  assert.deepEqual(server.calls, [GET]);
});

test('messages: --keep leaves them there', async (t) => {
  const held = [message(1, 'one'), message(2, 'two')];
  const server = await FakeServer.start(t, inbox(held));
  const { stdout } = await ctl(server, ['recv', '7', '--keep']);
  assert.equal(stdout, 'one\ntwo\n');
  assert.equal(held.length, 2);
});

test('messages: --count takes no more than that many', async (t) => {
  const held = [message(1, 'one'), message(2, 'two'), message(3, 'three')];
  const server = await FakeServer.start(t, inbox(held));
  const { code, stdout } = await ctl(server, ['recv', '7', '--count', '2']);
  assert.equal(code, 0);
  assert.equal(stdout, 'one\ntwo\n');
  assert.deepEqual(held.map(({ seq }) => seq), [3]);
});

test('messages: --count waits for those that are missing', async (t) => {
  const held = [message(1, 'one')];
  const routes = inbox(held);
  const take = routes[GET];
  routes[GET] = (request) => {
    if (Number(request.query.after) === 1)
      held.push(message(2, 'two'));
    return take(request);
  };
  const server = await FakeServer.start(t, routes);
  const { code, stdout } = await ctl(server, ['recv', '7', '--count', '2']);
  assert.equal(code, 0);
  assert.equal(stdout, 'one\ntwo\n');
  assert.equal(server.requests[0].query.wait_ms, '30000');
});

test('messages: --json prints a line for each', async (t) => {
  const held = [message(1, 'one'), message(2, 'two')];
  const server = await FakeServer.start(t, inbox([...held]));
  const { stdout } = await ctl(server, ['recv', '7', '--json']);
  assert.deepEqual(stdout.trimEnd().split('\n').map((line) => JSON.parse(line)), held);
});

test('messages: --raw writes the very bytes', async (t) => {
  const bytes = Buffer.from([0, 1, 2, 250, 251, 252, 253, 10]);
  const server = await FakeServer.start(t, inbox([1, 2, 3, 4].map((n) =>
    message(n, bytes.subarray(0, 2 * n).toString('hex'), { encoding: 'hex' }))));
  const { code, bytes: got } = await ctl(server, ['recv', '7', '--raw']);
  assert.equal(code, 0);
  assert.deepEqual(got, Buffer.concat([1, 2, 3, 4].map((n) => bytes.subarray(0, 2 * n))));
  assert.equal(server.requests[0].query.encoding, 'hex');
});

test('messages: --raw does not pass off broken hex as bytes, and deletes nothing', async (t) => {
  for (const data of ['AAA', '0*0b', '====', '0x00']) {
    const server = await FakeServer.start(t, inbox([message(1, data, { encoding: 'hex' })]));
    const { code, stdout, stderr } = await ctl(server, ['recv', '7', '--raw']);
    assert.equal(code, 1, data);
    assert.equal(stdout, '');
    assert.match(stderr, /not hex/);
    assert.ok(!server.calls.includes(DELETE));
    await server.stop();
  }
});

test('messages: what could not be printed is not deleted', async (t) => {
  const server = await FakeServer.start(t, inbox([message(1, 'one')]));
  const { spawn } = await import('node:child_process');
  const child = spawn('/bin/sh', ['-c', 'exec "$0" recv 7 > /dev/full', CTL], { env: { ...process.env, VERBSD_URL: server.url } });
  let stderr = '';
  child.stderr.on('data', (chunk) => { stderr += chunk; });
  const code = await new Promise((resolve) => { child.on('close', resolve); });
  assert.equal(code, 1);
  assert.match(stderr, /No space left on device/);
  assert.ok(!server.calls.includes(DELETE));
});

test('messages: --follow ends with its reader, before another message comes', async (t) => {
  let waiting = 0;
  const server = await FakeServer.start(t, { ...inbox([]), [GET]: () => { waiting++; return new Promise(() => {}); } });
  const run = startPiped(t, server, ['recv', '7', '--follow']);
  await run.until(() => waiting === 1);
  run.child.stdin.end();
  assert.equal(await run.end(), SIGPIPE_STATUS);
  assert.equal(run.stderr, '');
});

// The second message is longer than a pipe holds: it is being written when the reader leaves.
test('messages: nothing is deleted for a reader that has left', async (t) => {
  for (const before of [':', IGNORE_SIGPIPE]) {
    const server = await FakeServer.start(t, inbox([message(1, 'one'), message(2, 'x'.repeat(1 << 20))]));
    const run = startPiped(t, server, ['recv', '7', '--follow'], { reader: 'head -n 1', before });
    assert.equal(await run.end(), SIGPIPE_STATUS);
    assert.equal(run.stdout, 'one\n');
    assert.equal(run.stderr, '');
    assert.deepEqual(server.calls, [GET]);
  }
});

test('messages: --timeout without a message has timed out', async (t) => {
  const server = await FakeServer.start(t, inbox([]));
  const { code, stderr } = await ctl(server, ['recv', '7', '--timeout', '50ms']);
  assert.equal(code, 3);
  assert.match(stderr, /no message came/);
  assert.ok(Number(server.requests[0].query.wait_ms) <= 51);
});

test('messages: --count that is not reached in time has timed out', async (t) => {
  const server = await FakeServer.start(t, inbox([message(1, 'one')]));
  const { code, stdout, stderr } = await ctl(server, ['recv', '7', '--count', '2', '--timeout', '50ms']);
  assert.equal(code, 3);
  assert.equal(stdout, 'one\n');
  assert.match(stderr, /1 of 2 messages came/);
});

// Returns the method and the query of each request.
const asked = (server) => server.requests.map(({ method, url }) => `${method} ${url.replace('/v1/connections/7', '')}`);

test('messages: recv asks for what is behind the last one, and does not wait', async (t) => {
  const held = [message(1, 'one'), message(5, 'five')];
  const server = await FakeServer.start(t, inbox(held));
  assert.equal((await ctl(server, ['recv', '7'])).code, 0);
  assert.deepEqual(asked(server), ['GET /messages?limit=100&after=0&wait_ms=0', 'DELETE /messages?through=5',
    'GET /messages?limit=100&after=5&wait_ms=0']);
});

test('messages: --count asks for no more than are missing', async (t) => {
  const held = [message(1, 'one'), message(2, 'two')];
  const routes = inbox(held);
  const take = routes[GET];
  routes[GET] = (request) => {
    if (Number(request.query.after) === 2)
      held.push(message(3, 'three'), message(4, 'four'));
    return take(request);
  };
  const server = await FakeServer.start(t, routes);
  assert.equal((await ctl(server, ['recv', '7', '--count', '3'])).stdout, 'one\ntwo\nthree\n');
  assert.deepEqual(asked(server), ['GET /messages?limit=3&after=0&wait_ms=30000', 'DELETE /messages?through=2',
    'GET /messages?limit=1&after=2&wait_ms=30000', 'DELETE /messages?through=3']);
});

test('messages: --timeout alone waits for the first ones only', async (t) => {
  const held = [message(1, 'one')];
  const server = await FakeServer.start(t, inbox(held));
  const { code, stdout } = await ctl(server, ['recv', '7', '--timeout', '2h']);
  assert.equal(code, 0);
  assert.equal(stdout, 'one\n');
  assert.deepEqual(asked(server), ['GET /messages?limit=100&after=0&wait_ms=30000', 'DELETE /messages?through=1',
    'GET /messages?limit=100&after=1&wait_ms=0']);
});

test('messages: --follow with --timeout waits for the next ones too', async (t) => {
  const server = await FakeServer.start(t, inbox([message(1, 'one')]));
  const { code, stdout, stderr } = await ctl(server, ['recv', '7', '--follow', '--timeout', '50ms']);
  assert.equal(code, 0);
  assert.equal(stdout, 'one\n');
  assert.equal(stderr, '');
  const waits = server.requests.filter(({ method, url }) => method === 'GET' && url.includes('wait_ms')).map(({ query }) => Number(query.wait_ms));
  assert.ok(waits.length > 1 && waits.every((ms) => ms <= 51), waits.join());
});

test('messages: of a connection that ended without a code no code is told', async (t) => {
  const server = await FakeServer.start(t, { ...inbox([]), [STATE]: { json: connection({ state: 'closed', end_code: null }) } });
  const { code, stderr } = await ctl(server, ['recv', '7', '--timeout', '2h']);
  assert.equal(code, 1);
  assert.equal(stderr, 'verbsctl: connection/7 has ended\nverbsctl: recv: no message came\n');
});

test('messages: --raw and --json exclude each other, and a file that can not be read is told', async (t) => {
  const server = await FakeServer.start(t, inbox([]));
  const both = await ctl(server, ['recv', '7', '--raw', '--json']);
  assert.equal(both.code, 2);
  assert.match(both.stderr, /--raw and --json exclude each other/);
  for (const [path, why] of [['/nowhere/x', 'No such file or directory'], ['/', 'Is a directory']]) {
    const { code, stderr } = await ctl(server, ['send', '7', '--file', path]);
    assert.equal(code, 1);
    assert.equal(stderr, `verbsctl: ${path}: ${why}\n`);
  }
  assert.deepEqual(server.calls, []);
});

test('messages: what is sent of buffers is one buffer or a list of ranges', async (t) => {
  const server = await FakeServer.start(t, inbox([]));
  for (const [args, why] of [
    [['--buffer', 'b', '--sges', 'b:0:4'], /^verbsctl: send: needs one of --buffer and --sges/],
    [['--sges', 'b:x:4'], /^verbsctl: send: --sges must be BUFFER:OFFSET:LENGTH,\.\.\., not "b:x:4"/],
  ]) {
    const { code, stderr } = await ctl(server, ['send', '7', ...args]);
    assert.equal(code, 2);
    assert.match(stderr, why);
  }
  assert.deepEqual(server.calls, []);
});

test('messages: --follow ends with the connection', async (t) => {
  const server = await FakeServer.start(t, { ...inbox([message(1, 'one')]), [STATE]: { json: connection({ state: 'closed',
    end_code: 'peer_disconnect' }) } });
  const { code, stdout, stderr } = await ctl(server, ['recv', '7', '--follow']);
  assert.equal(code, 0);
  assert.equal(stdout, 'one\n');
  assert.equal(stderr, 'verbsctl: connection/7 has ended: peer_disconnect\n');
});

test('messages: --count that a closed connection can not reach is a failure', async (t) => {
  const server = await FakeServer.start(t, { ...inbox([]), [STATE]: { json: connection({ state: 'failed' }) } });
  const { code, stderr } = await ctl(server, ['recv', '7', '--count', '1']);
  assert.equal(code, 1);
  assert.match(stderr, /0 of 1 messages came/);
});

test('messages: --follow prints each message as it comes', async (t) => {
  const held = [message(1, 'one')];
  const server = await FakeServer.start(t, inbox(held));
  const run = start(t, server, ['recv', '7', '--follow']);
  await run.until(({ stdout }) => stdout === 'one\n');
  held.push(message(2, 'two'));
  await run.until(({ stdout }) => stdout === 'one\ntwo\n');
});

test('messages: a server that counts backwards is not believed', async (t) => {
  const server = await FakeServer.start(t, { [GET]: page([message(2, 'two'), message(1, 'one')]), [DELETE]: gone });
  const { code, stderr } = await ctl(server, ['recv', '7']);
  assert.equal(code, 1);
  assert.match(stderr, /not in order/);
});

test('messages: recv on something unknown is told', async (t) => {
  const server = await FakeServer.start(t);
  const { code, stderr } = await ctl(server, ['recv', '7']);
  assert.equal(code, 4);
  assert.match(stderr, /not_found/);
});
