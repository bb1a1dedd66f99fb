// SPDX-License-Identifier: Apache-2.0
// history, and stats with and without --watch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, ctlOnTerminal, hasScript, start } from './lib/ctl.mjs';
import { connection, problem, rejected } from './lib/samples.mjs';
import { startOnTerminal } from './lib/screen.mjs';
import { FakeServer, page } from './lib/server.mjs';

const closed = (over) => connection({ state: 'closed', ended_at: '2026-03-04T06:06:07.612456789Z',
  end_code: 'peer_disconnect', ...over });

test('history: lists those that ended, the last first, with reason and how long they were there', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([closed({ id: 9, server_id: '9f1e77a0c2b4d655' }), rejected({ id: 8, name: null })]) });
  const { code, stdout } = await ctl(server, ['history']);
  assert.equal(code, 0);
  assert.deepEqual(server.requests.map(({ query: { fields, ...query } }) => query),
    [{ state: 'ended', sort: '-ended_at', limit: '500' }]);
  const [titles, first, second] = stdout.split('\n');
  assert.match(titles, /^ID NAME +ENDED +STATE +END-CODE +DURATION +PEER +SENT +RECV EARLIER-RUN +ERROR$/);
  assert.match(first, /^ 9 to-b 2026-03-04T06:06:07\.612Z closed peer_disconnect +1:00:00 192\.0\.2\.2:7471 +1\.0 MiB +0 B 9f1e77a0c2b4d655 -$/);
  assert.match(second, /^ 8 - +2026-\S+Z failed rejected +20\.000 ms 192\.0\.2\.2:7471 .* the peer rejected the connection$/);
});

test('history: --sort, --limit and --json as every list', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([closed()]) });
  assert.equal((await ctl(server, ['history', '--sort', '-bytes', '--limit', '3'])).code, 0);
  const { fields, ...query } = server.requests[0].query;
  assert.ok(fields.split(',').includes('ended_at'), fields);
  assert.deepEqual(query, { state: 'ended', limit: '3', sort: '-bytes' });
  assert.equal(JSON.parse((await ctl(server, ['history', '--json'])).stdout).items[0].id, 7);
});

// Returns the numbers of one snapshot after the other; the last one repeats.
const stats = (...looks) => ({ 'GET /v1/stats': looks.map((json) => ({ json: { server_id: 'a1', uptime_ms: 5, ...json } })) });

test('stats: --watch prints what changed, and by how much a second', async (t) => {
  const server = await FakeServer.start(t, stats({ a: 0, b: 7 }, { a: 50, b: 7 }, { a: 45, b: 7 }));
  const run = start(t, server, ['stats', '--watch', '100ms']);
  await run.until(({ stdout }) => stdout.includes('nothing'));
  const text = run.stdout.split(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/);
  assert.equal(text[0], '');
  assert.match(text[1], /^ {2}changed\nNAME VALUE CHANGE PER SECOND\na +50 +\+50 +\+[\d.]+\n$/);
  assert.match(text[2], /^ {2}changed\nNAME VALUE CHANGE PER SECOND\na +45 +-5 +-[\d.]+\n$/);
  assert.match(text[3], /^ {2}changed\nnothing\n/);
});

test('stats: --watch takes its time with a space, with =, as -w, or not at all', async (t) => {
  const server = await FakeServer.start(t, stats({ a: 0 }));
  for (const args of [['--watch', '100ms'], ['--watch=100ms'], ['-w', '100ms'], ['-w100ms'], ['--watch'], ['-w']]) {
    const run = start(t, server, ['stats', ...args]);
    await run.until(({ stdout }) => stdout.includes('nothing'));
  }
});

test('stats: --watch --json prints one object a look', async (t) => {
  const server = await FakeServer.start(t, stats({ a: 1 }, { a: 2 }));
  const run = start(t, server, ['stats', '--watch=100ms', '--json']);
  await run.until(({ stdout }) => stdout.split('\n').length > 3);
  assert.deepEqual(run.stdout.split('\n').slice(0, 2).map((line) => JSON.parse(line).a), [1, 2]);
});

test('stats: --watch lives through a restart, and says that the counters begin anew', async (t) => {
  const server = await FakeServer.start(t, stats({ a: 100 }));
  const { port } = server;
  const run = start(t, server, ['stats', '--watch', '100ms']);
  await run.until(({ stdout }) => stdout.includes('nothing'));
  await server.stop();
  await run.until(({ stderr }) => stderr.includes('trying again'));
  await FakeServer.start(t, stats({ server_id: 'b2', a: 1 }, { server_id: 'b2', a: 4 }), { port });
  await run.until(({ stdout }) => /\na +4 +\+3 /.test(stdout));
  assert.match(run.stderr, /^verbsctl: lost verbsd at \S+: .*; trying again\nverbsctl: verbsd at \S+ is back\nverbsctl: verbsd was restarted: its counters begin at 0 again\n$/);
  assert.doesNotMatch(run.stdout, /-9\d/);
});

test('stats: --watch ends where it is refused, or nobody ever was', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/stats': { status: 401, json: problem({ code: 'unauthorized', status: 401 }) } });
  assert.equal((await ctl(server, ['stats', '--watch'])).code, 1);
  const { url } = server;
  await server.stop();
  const { code, stderr } = await ctl({ url }, ['stats', '--watch']);
  assert.equal(code, 5);
  assert.match(stderr, /can't reach verbsd/);
});

test('stats: a time that makes no sense is told', async (t) => {
  const server = await FakeServer.start(t, {});
  for (const [args, text] of [[['--watch=soon'], /--watch must be a time, .*, not "soon"/], [['--watch', '5x'], /must be a time/],
    [['-w', '0'], /--watch must be 100 ms at least/], [['--watch='], /--watch must be a time/]]) {
    const { code, stderr } = await ctl(server, ['stats', ...args]);
    assert.equal(code, 2);
    assert.match(stderr, text);
  }
  assert.deepEqual(server.calls, []);
});

test('stats: on a terminal --watch keeps its place', { skip: !hasScript }, async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/stats': [{ json: { server_id: 'a1', a: 1, b: 1 } },
    { json: { server_id: 'a1', a: 3, b: 1 } }, { json: { server_id: 'a1', a: 3, b: 2 } }, { status: 403, json: problem({ code: 'forbidden', status: 403 }) }] });
  const { code, stdout } = await ctlOnTerminal(server, ['stats', '--watch', '100ms']);
  assert.equal(code, 1);
  const pictures = stdout.split('\u001b[H\u001b[2J');
  assert.equal(pictures.length, 3);
  assert.match(pictures[2], /changed since the start\r\nNAME[^\n]*\na +3 +\+2 +\+0\.0\r\nb +2 +\+1 /);
});

// The terminal scrolls when its last line ends.
for (const [lines, names] of [[8, 'abcde'], [5, 'ab'], [4, 'a'], [3, 'abcdefgh']])
  test(`stats: --watch shows the rows that a terminal of ${lines} lines has room for`, { skip: !hasScript }, async (t) => {
    const all = (value) => ({ json: { server_id: 'a1', ...Object.fromEntries([...'abcdefgh'].map((name) => [name, value])) } });
    const server = await FakeServer.start(t, { 'GET /v1/stats': [all(1), all(2)] });
    const run = startOnTerminal(t, server, ['stats', '--watch', '100ms'], { lines });
    const pictures = () => run.raw.split('\u001b[H\u001b[2J');
    await run.until(() => pictures().length > 2);
    assert.deepEqual([...pictures()[1].matchAll(/^([a-z]) +2 +\+1 /gm)].map(([, name]) => name).join(''), names);
  });
