// SPDX-License-Identifier: Apache-2.0
// top: the content of the screen, and its reaction to keys, sizes and a server that is away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, ctlOnTerminal, hasScript } from './lib/ctl.mjs';
import { connection, cq, index, problem, rejected, timeline } from './lib/samples.mjs';
import { Picture, startOnTerminal } from './lib/screen.mjs';
import { FakeServer, page } from './lib/server.mjs';

if (!hasScript) {
  console.log('skipped: script(1), which makes the terminal, is not installed');
  process.exit(77);
}

const FAST = ['top', '--interval', '100ms'];
const none = { posted: 0, completed: 0, errors: 0, flushed: 0, bytes: 0, signalled: 0 };

// A daemon whose connections move `speed` more bytes with every request; `over` has the members of each
// connection.
class Daemon {
  constructor({ serverId = 'a1', speeds = { 1: 0, 2: 1000000, 3: 5000 } } = {}) {
    this.serverId = serverId;
    this.looks = 0;
    this.over = {};
    this.ended = [rejected({ id: 9, name: 'refused' })];
    this.speeds = speeds;
    this.routes = {
      'GET /v1': () => ({ json: index({ server_id: this.serverId }) }),
      'GET /v1/stats': () => ({ json: this.stats() }),
      'GET /v1/connections': ({ query }) => this.list(query),
      'GET /v1/cqs': () => page([cq({ id: 1, cqe: 1000, outstanding_cqe: 420 })]),
    };
    for (const id of Object.keys(speeds))
      Object.assign(this.routes, { [`GET /v1/connections/${id}`]: () => ({ json: this.connection(Number(id)) }),
        [`GET /v1/connections/${id}/timeline`]: () => ({ json: timeline() }) });
  }

  stats() {
    return { server_id: this.serverId, uptime_ms: 3723000, connections: 3, connections_established: 2,
      connections_ended: 6, connections_failed: 1, transfers: 4 };
  }

  connection(id) {
    const bytes = this.looks * this.speeds[id];
    return connection({ id, name: `conn-${id}`, peer: { addr: `192.0.2.${id}`, port: 7471 },
      counters: { ...connection().counters, write: none, send: { ...none, completed: this.looks, bytes } }, ...this.over[id] });
  }

  list(query) {
    this.query = query;
    this.looks++;
    const open = Object.keys(this.speeds).map((id) => this.connection(Number(id)));
    return page(query.state === 'open' ? open : [...open, ...this.ended]);
  }
}

const start = async (t, daemon, args = FAST, options = {}) => {
  const server = await FakeServer.start(t, daemon.routes, options.server);
  return { server, run: startOnTerminal(t, server, args, options) };
};

// The ids at the start of the lines below the titles.
const idsOf = ({ text }) => text.split('\n').slice(4).map((line) => /^ *(\d+) /.exec(line)?.[1]).filter(Boolean).join('');
const shows = (ids) => (picture) => idsOf(picture) === ids;
const lineOf = (picture, name) => picture.text.split('\n').find((line) => line.includes(name)) ?? '';

test('top: shows the daemon, and a row for each connection with its rates', async (t) => {
  const daemon = new Daemon();
  daemon.over[3] = { rtt: { probe: { id: 1, name: null }, sent: 9, completed: 9, lost: 0, last_ns: 12345, jitter_ns: 1, p50_ns: 1, p90_ns: 1,
    p99_ns: 45600, p999_ns: 1 } };
  const { run } = await start(t, daemon, FAST, { columns: 120 });
  await run.until((picture) => / rxe0 +[1-9][\d.]*[KM] /.test(lineOf(picture, 'conn-2')));
  await run.until(/^verbsd 0\.1\.0 at http:\/\/127\.0\.0\.1:\d+, up 1:02:03\n/);
  await run.until(/\n3 open, 2 established {2}sent \S+\/s {2}recv 0\/s {2}transfers 4 {2}ended: 5 closed, 1 failed\n/);
  await run.until(/\nID +NAME +STATE +PEER +DEVICE +SENT\/s +RECV\/s +OPS\/s +CQ +RTT +RTT99 +SENT +RECV\n/);
  await run.until((picture) => /^ 3 conn-3 +established +192\.0\.2\.3:7471 +rxe0 .* 42% 12\.3us 45\.6us /.test(lineOf(picture, 'conn-3')));
  await run.until((picture) => / 0 +0 +\S+ +42% +- +- +0 +0$/.test(lineOf(picture, 'conn-1')));
  await run.until(shows('231'));
  run.type('q');
  assert.equal(await run.ended, 0);
  assert.match(run.raw, /\u001b\[\?1049l/); // the terminal has its old content
});

test('top: asks for what it shows and no more', async (t) => {
  const daemon = new Daemon();
  const { run } = await start(t, daemon);
  await run.until(/conn-1/);
  assert.equal(daemon.query.state, 'open');
  assert.equal(daemon.query.limit, '1000');
  assert.deepEqual(daemon.query.fields.split(',').sort(),
    ['counters', 'cq', 'device', 'end_code', 'id', 'name', 'peer', 'rtt', 'state']);
});

test('top: an older daemon without round trips is asked without them', async (t) => {
  const daemon = new Daemon();
  const { 'GET /v1/connections': list } = daemon.routes;
  daemon.routes['GET /v1/connections'] = (request) => (request.query.fields.includes('rtt')
    ? { status: 400, json: problem({ code: 'bad_value', status: 400 }) } : list(request));
  const { run } = await start(t, daemon);
  await run.until(shows('231'));
  await run.until(/sorted by sent\/s\n/);
});

test('top: sorts by the key that is pressed, and the other way round by a second press', async (t) => {
  const { run } = await start(t, new Daemon());
  await run.until(shows('231'));
  run.type('i');
  await run.until(shows('123'));
  await run.until(/sorted by id/);
  run.type('i');
  await run.until(shows('321'));
  await run.until(/sorted by id, reversed/);
  run.type('>');
  await run.until(/sorted by name\n/);
  run.type('r');
  await run.until(/sorted by name, reversed/);
});

test('top: --sort, --filter and --all begin as told', async (t) => {
  const { run } = await start(t, new Daemon(), [...FAST, '--sort', 'peer', '--filter', 'RE', '--all']);
  await run.until(/sorted by peer, ended ones too, filter "RE": 1 of 4/);
  await run.until(shows('9'));
});

test('top: the filter narrows the list while it is typed, and Escape brings all back', async (t) => {
  const { run } = await start(t, new Daemon(), [...FAST, '--sort', 'id']);
  await run.until(shows('123'));
  run.type('/');
  await run.until(/filter: _/);
  run.type('conn-3');
  await run.until(shows('3'));
  run.type('q\u007f');
  await run.until(/filter: conn-3_/);
  run.type('\r');
  await run.until(/filter "conn-3": 1 of 3/);
  run.type('/zzz\r');
  await run.until(/no connection matches the filter/);
  run.type('\u001b');
  await run.until(shows('123'));
});

test('top: a key without a meaning is ignored, and the next one is not', async (t) => {
  const { run } = await start(t, new Daemon());
  await run.until(shows('231'));
  run.type('\u001b[15~i'); // F5
  await run.until(/sorted by id/);
  await run.until(shows('123'));
});

test('top: a shows connections that ended, and why', async (t) => {
  const { run } = await start(t, new Daemon(), [...FAST, '--sort', 'id'], { columns: 130 });
  await run.until(shows('123'));
  run.type('a');
  await run.until(shows('1239'));
  await run.until((picture) => /failed .* rejected$/.test(lineOf(picture, 'refused')));
  run.type('a');
  await run.until(shows('123'));
});

test('top: Enter shows all of the chosen connection, and Escape the list again', async (t) => {
  const daemon = new Daemon();
  const { run } = await start(t, daemon, [...FAST, '--sort', 'id']);
  await run.until(shows('123'));
  run.type('j\u001bOB\r'); // two steps down
  await run.until(/connection\/3 \(conn-3\) {2}established/);
  await run.until(/peer detect 336 ms/);
  await run.until(({ text }) => !/timeline/.test(text)); // the timeline is further down
  run.type('G');
  await run.until(/RESET|RTR -> RTS/);
  run.type('g');
  await run.until(/connection\/3/);
  daemon.over[3] = { state: 'failed', ended_at: '2026-03-04T05:06:09.123456789Z' };
  daemon.routes['GET /v1/connections/3/explain'] = { json: { summary: 'It failed, and this sentence goes on for longer than a '
    + 'terminal of eighty columns has room for.', causes: [], hints: ['Look at the cable.'], findings: [], facts: {} } };
  await run.until(/\nconnection\/3 \(conn-3\) {2}failed\nIt failed, [^\n]*\n {16}[^\n]*room for\.\n {2}what to do +Look at the cable\.\n\n {2}side/);
  run.type('\u001b');
  await run.until(shows('123'));
  run.type('\r');
  await run.until(/connection\/3 /);
});

test('top: a connection that is forgotten while it is looked at is told as that', async (t) => {
  const daemon = new Daemon();
  const { run } = await start(t, daemon, [...FAST, '--sort', 'id']);
  await run.until(shows('123'));
  run.type('\r');
  await run.until(/connection\/1 /);
  delete daemon.routes['GET /v1/connections/1'];
  delete daemon.speeds[1];
  await run.until(/no longer has this connection/);
  run.type('\u001b');
  await run.until(shows('23'));
});

test('top: ? tells the keys', async (t) => {
  const { run } = await start(t, new Daemon());
  await run.until(/conn-1/);
  run.type('?');
  await run.until(/show ended connections too/);
  await run.until(/t {2}sent\/s/);
  run.type('q'); // back
  await run.until(/conn-1/);
  run.type('q');
  assert.equal(await run.ended, 0);
});

test('top: fits the terminal again when its size changes', async (t) => {
  const { run } = await start(t, new Daemon(), FAST, { columns: 120 });
  await run.until(/SENT +RECV\n/);
  run.resize(12, 60);
  await run.until(/\nID NAME +STATE +SENT\/s +RECV\/s +OPS\/s +CQ +RTT\n(.*\n){7}q quit/);
  run.resize(30, 120);
  await run.until(/PEER[^\n]*RECV\n/);
});

test('top: a list that is longer than the terminal scrolls with the choice', async (t) => {
  const speeds = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [i + 1, 0]));
  const { run } = await start(t, new Daemon({ speeds }), [...FAST, '--sort', 'id'], { lines: 9 });
  await run.until(shows('1234'));
  run.type('G');
  await run.until(shows('27282930'));
  run.type('kkkk');
  await run.until(shows('26272829'));
  run.type('g');
  await run.until(shows('1234'));
});

test('top: text for the larger terminal stays inside the one that shrank', () => {
  const picture = new Picture(24, 80);
  picture.write('\u001b[24;1H');
  picture.resize(1, 4);
  picture.write('late\u001b[2;9r\nnext\u001b[M\u001b[5;5Hx');
  assert.equal(picture.cells.length, 1);
  assert.equal(picture.cells[0].length, 4);
});

test('top: a tiny terminal says what it would need, and grows', async (t) => {
  const { run } = await start(t, new Daemon(), FAST, { lines: 4, columns: 20 });
  await run.until(/^needs 24 x 6/);
  run.resize(24, 80);
  await run.until(/conn-1/);
  run.resize(1, 1);
  run.resize(6, 24);
  await run.until(/^verbsd[^\n]*\n[^\n]*\n[^\n]*\nID/);
  run.type('q');
  assert.equal(await run.ended, 0);
});

test('top: says since when it is stale while the server is away, and goes on when it is back', async (t) => {
  const daemon = new Daemon();
  const { server, run } = await start(t, daemon);
  const { port } = server;
  await run.until(shows('231'));
  await server.stop();
  await run.until(/stale since \d+ s: .*; trying again/);
  await run.until(shows('231'));
  run.type('i'); // keys still work
  await run.until(shows('123'));
  await FakeServer.start(t, daemon.routes, { port });
  await run.until(/sorted by id/);
});

test('top: after a restart it shows the new connections, without rates from the old ones', async (t) => {
  const { server, run } = await start(t, new Daemon());
  const { port } = server;
  await run.until(shows('231'));
  await server.stop();
  await run.until(/stale/);
  await FakeServer.start(t, new Daemon({ serverId: 'b2', speeds: { 2: 0, 4: 0 } }).routes, { port });
  await run.until(/verbsd was restarted/);
  await run.until(shows('24'));
});

test('top: a server that takes requests and does not answer leaves the keys working', async (t) => {
  const daemon = new Daemon();
  const { run } = await start(t, daemon);
  await run.until(shows('231'));
  daemon.routes['GET /v1/stats'] = () => new Promise(() => {});
  await run.until(/stale since \d+ s: verbsd does not answer/);
  run.type('i');
  await run.until(shows('123'));
  run.type('q');
  assert.equal(await run.ended, 0);
});

test('top: what the server refuses later is told, and tried again', async (t) => {
  const daemon = new Daemon();
  const { run } = await start(t, daemon);
  await run.until(shows('231'));
  const { 'GET /v1/cqs': cqs } = daemon.routes;
  daemon.routes['GET /v1/cqs'] = { status: 503, json: problem({ code: 'stopping', status: 503, title: 'It is stopping' }) };
  await run.until(/stale since \d+ s: It is stopping; trying again/);
  daemon.routes['GET /v1/cqs'] = cqs;
  await run.until(/sorted by/);
});

test('top: names can not steer the terminal', async (t) => {
  const daemon = new Daemon();
  daemon.over[1] = { name: '\u001b]0;owned\u0007\u001b[2J' };
  const { run } = await start(t, daemon, FAST, { columns: 120 });
  await run.until(/\\x1b\]0;owned/);
  assert.ok(!run.raw.includes('\u001b]0;owned'));
});

test('top: colours states, but not with NO_COLOR', async (t) => {
  const colours = ({ styles }) => styles.some((n) => n >= 30 && n <= 37);
  const { run } = await start(t, new Daemon());
  await run.until(shows('231'));
  // Established is green; what is red has failed.
  await run.until(({ styles }) => styles.includes(32));
  assert.ok(!run.picture.styles.includes(31));
  const plain = (await start(t, new Daemon(), FAST, { env: { NO_COLOR: '1' } })).run;
  await plain.until(shows('231'));
  plain.type('i');
  await plain.until(shows('123'));
  assert.ok(!colours(plain.picture));
});

test('top: is refused where there is no terminal to draw on', async (t) => {
  const server = await FakeServer.start(t, new Daemon().routes);
  const piped = await ctl(server, ['top']);
  assert.equal(piped.code, 2);
  assert.match(piped.stderr, /^verbsctl: top: needs a terminal to draw on; `verbsctl ls` prints/);
  for (const TERM of ['no-such-terminal', 'dumb']) {
    const { code, stdout } = await ctlOnTerminal(server, ['top'], { env: { TERM } });
    assert.equal(code, 2);
    assert.match(stdout, /^\r?verbsctl: top: a terminal of this type \(TERM\) is not known here, or can't move its cursor/);
  }
});

test('top: options that make no sense are told before the terminal is touched', async (t) => {
  const server = await FakeServer.start(t, new Daemon().routes);
  for (const [args, text] of [
    [['--sort', 'bytes'], /--sort must be one of id\|name\|.*, not "bytes"/],
    [['--interval', '1ms'], /--interval must be 100 ms at least/],
    [['--interval', 'often'], /--interval must be a time/],
    [['--filter', 'x'.repeat(200)], /--filter is too long/],
    [['--json'], /`verbsctl ls --json` prints JSON/],
  ]) {
    const { code, stdout } = await ctlOnTerminal(server, ['top', ...args]);
    assert.equal(code, 2);
    assert.match(stdout, text);
    assert.ok(!stdout.includes('\u001b'));
  }
  assert.deepEqual(server.calls, []);
});

test('top: a server that was never there, or refuses, is told as everywhere else', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/stats': { status: 401, json: problem({ code: 'unauthorized', status: 401,
    detail: 'no token' }) } });
  const refused = await ctlOnTerminal(server, ['top']);
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /unauthorized: no token/);
  const { url } = server;
  await server.stop();
  const away = await ctlOnTerminal({ url }, ['top']);
  assert.equal(away.code, 5);
  assert.match(away.stdout, /can't reach verbsd/);
});
