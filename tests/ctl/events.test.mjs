// SPDX-License-Identifier: Apache-2.0
// events -f: no event twice, no silent gap, whatever happens to the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctl, IGNORE_SIGPIPE, SIGPIPE_STATUS, start, startPiped } from './lib/ctl.mjs';
import { event, logPage, problem } from './lib/samples.mjs';
import { FakeServer } from './lib/server.mjs';

// An event log that answers as openapi.yaml says. A poll without a result waits until an event is added. A place in the
// log is "00000000000000a1-17", or "17" of this run.
class Log {
  constructor(count, { first = 1, serverId = '00000000000000a1', resumes = false } = {}) {
    this.first = first;
    this.items = Array.from({ length: count }, (_, i) => event(first + i));
    this.waiting = [];
    this.routes = { 'GET /v1/events': (request) => this.page(request) };
    this.serverId = serverId;
    this.resumes = resumes; // the log has the events of the run before
  }

  get last() {
    return this.first + this.items.length - 1;
  }

  add(over) {
    this.items.push(event(this.last + 1, over));
    this.waiting.splice(0).forEach((wake) => wake());
  }

  drop(count) {
    this.items.splice(0, count);
    this.first += count;
  }

  // The number of a place; 0 and `restarted` for a place of another run.
  number(place) {
    if (place === 'now')
      return { after: this.last, restarted: false };
    if (place === 'oldest')
      return { after: 0, restarted: false };
    const [, run, number] = /^(\w+)-(\d+)$/.exec(place);
    const restarted = run !== this.serverId || Number(number) > this.last;
    return { after: restarted && !this.resumes ? 0 : Number(number), restarted };
  }

  async page({ query }) {
    const { after, restarted } = this.number(query.after);
    if (query.wait_ms && after >= this.last)
      await new Promise((resolve) => { this.waiting.push(resolve); });
    const items = this.items.filter(({ seq }) => seq > after).slice(0, Number(query.limit));
    return { json: logPage(items, { server_id: this.serverId, first: this.first, last: this.last, restarted,
      resumed: restarted && this.resumes, next: `${this.serverId}-${items.at(-1)?.seq ?? after}`, compacted: after + 1 < this.first }) };
  }
}

const numbers = (text) => [...text.matchAll(/event number (\d+)/g)].map(([, n]) => Number(n));

test('events: -f -n 10 shows the last ten, then each as it comes', async (t) => {
  const log = new Log(20);
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(({ stdout }) => numbers(stdout).at(-1) === 20);
  log.add();
  await run.until(({ stdout }) => numbers(stdout).at(-1) === 21);
  assert.deepEqual(numbers(run.stdout), [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
  assert.ok(server.requests.some(({ query }) => query.wait_ms === '30000' && query.after === '00000000000000a1-20'));
  assert.equal(run.stderr, '');
});

test('events: -f shows what happens from now on, and the state it led to', async (t) => {
  const log = new Log(20);
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f']);
  await run.until(() => log.waiting.length === 1);
  log.add({ data: { state: 'draining' } });
  await run.until(({ stdout }) => numbers(stdout).at(-1) === 21);
  assert.deepEqual(numbers(run.stdout), [21]);
  assert.match(run.stdout, /event number 21 \(draining\)\n$/);
});

test('events: -f --after starts where it is told', async (t) => {
  const log = new Log(5);
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '--after', '00000000000000a1-3', '--json']);
  await run.until(({ stdout }) => stdout.split('\n').length === 3);
  assert.deepEqual(run.stdout.trimEnd().split('\n').map((line) => JSON.parse(line).seq), [4, 5]);
});

test('events: -f tells when the log dropped events before they were read', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(() => log.waiting.length === 1);
  for (let i = 0; i < 10; i++)
    log.items.push(event(log.last + 1));
  log.drop(8);
  log.add();
  await run.until(({ stdout }) => numbers(stdout).at(-1) === 14);
  assert.deepEqual(numbers(run.stdout), [1, 2, 3, 9, 10, 11, 12, 13, 14]);
  await run.until(({ stderr }) => stderr.includes('events are lost: the log no longer holds those between 3 and 9'));
});

test('events: -f takes up again behind the last event when the server was away', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const { port } = server;
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(() => log.waiting.length === 1);
  await server.stop();
  await run.until(({ stderr }) => stderr.includes('trying again'));
  log.waiting.splice(0);
  log.add();
  await FakeServer.start(t, log.routes, { port });
  await run.until(({ stdout }) => numbers(stdout).at(-1) === 4);
  assert.deepEqual(numbers(run.stdout), [1, 2, 3, 4]);
  assert.match(run.stderr, /^verbsctl: lost verbsd at \S+: .*; trying again\nverbsctl: verbsd at \S+ is back\n$/);
});

test('events: -f starts anew after a restart, whose numbers mean other events', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const { port } = server;
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(() => log.waiting.length === 1);
  await server.stop();
  await run.until(({ stderr }) => stderr.includes('trying again'));
  await FakeServer.start(t, new Log(5, { serverId: '00000000000000b2' }).routes, { port });
  await run.until(({ stdout }) => numbers(stdout).length === 8);
  assert.deepEqual(numbers(run.stdout), [1, 2, 3, 1, 2, 3, 4, 5]);
  assert.match(run.stderr, /verbsd was restarted: its events are numbered from 1 again; any events after event 3 before the restart are lost\n/);
});

test('events: -f goes on over a restart of a verbsd that keeps its events', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const { port } = server;
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(() => log.waiting.length === 1);
  await server.stop();
  await run.until(({ stderr }) => stderr.includes('trying again'));
  await FakeServer.start(t, new Log(5, { serverId: '00000000000000b2', resumes: true }).routes, { port });
  await run.until(({ stdout }) => numbers(stdout).length === 5);
  assert.deepEqual(numbers(run.stdout), [1, 2, 3, 4, 5]);
  assert.match(run.stderr, /verbsd was restarted: no event is lost\n/);
});

test('events: -f sees a restart between two polls, whatever the new numbers are', async (t) => {
  const log = new Log(3);
  const { 'GET /v1/events': serve } = log.routes;
  log.routes['GET /v1/events'] = async (request) => ({ ...await serve(request),
    headers: request.query.wait_ms ? { Connection: 'close' } : {} });
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(() => log.waiting.length === 1);
  // This poll is answered; at the next one another run of the daemon has higher numbers than this
  // run had.
  server.routes = new Log(6, { serverId: '00000000000000b2' }).routes;
  log.add();
  await run.until(({ stdout }) => numbers(stdout).length === 10);
  assert.deepEqual(numbers(run.stdout), [1, 2, 3, 4, 1, 2, 3, 4, 5, 6]);
  assert.match(run.stderr, /^verbsctl: verbsd was restarted: .*after event 4 before the restart are lost\n$/);
});

test('events: -f through a server that closes every connection prints each event once', async (t) => {
  const log = new Log(2);
  const { 'GET /v1/events': serve } = log.routes;
  const closing = (answer) => ({ ...answer, headers: { Connection: 'close' } });
  log.routes['GET /v1/events'] = async (request) => closing(await serve(request));
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(() => log.waiting.length === 1);
  log.add();
  await run.until(({ stdout }) => numbers(stdout).at(-1) === 3);
  await run.until(() => log.waiting.length === 1);
  log.add();
  await run.until(({ stdout }) => numbers(stdout).at(-1) === 4);
  assert.deepEqual(numbers(run.stdout), [1, 2, 3, 4]);
  assert.equal(run.stderr, '');
});

test('events: -f --after a number that this run has not reached tells of a restart', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '--after', '00000000000000a1-9']);
  await run.until(({ stdout }) => numbers(stdout).length === 3);
  assert.match(run.stderr, /^verbsctl: verbsd was restarted: .*after event 9 before the restart are lost\n$/);
});

test('events: -f --after takes a place of a list', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '--after', '00000000000000a1-2']);
  await run.until(({ stdout }) => numbers(stdout).length === 1);
  assert.deepEqual(numbers(run.stdout), [3]);
  assert.equal(run.stderr, '');
});

test('events: -f bears a server that is stopping', async (t) => {
  const log = new Log(1);
  let refusals = 1;
  const { 'GET /v1/events': serve } = log.routes;
  log.routes['GET /v1/events'] = (request) => (request.query.wait_ms && refusals-- > 0
    ? { status: 503, json: problem({ code: 'stopping', status: 503 }) } : serve(request));
  const server = await FakeServer.start(t, log.routes);
  const run = start(t, server, ['events', '-f', '-n', '10']);
  await run.until(() => log.waiting.length === 1);
  log.add();
  await run.until(({ stdout }) => numbers(stdout).length === 2);
  assert.match(run.stderr, /it can't answer now; trying again/);
});

test('events: -f ends with 1 when it is refused', async (t) => {
  const log = new Log(1);
  const { 'GET /v1/events': serve } = log.routes;
  log.routes['GET /v1/events'] = (request) => (request.query.wait_ms
    ? { status: 403, json: problem({ code: 'forbidden', status: 403, detail: 'this role may not do that' }) } : serve(request));
  const server = await FakeServer.start(t, log.routes);
  const { code, stderr } = await ctl(server, ['events', '-f']);
  assert.equal(code, 1);
  assert.match(stderr, /forbidden: this role may not do that/);
});

test('events: -f does not wait for a server that was never there', async (t) => {
  const server = await FakeServer.start(t);
  const { url } = server;
  await server.stop();
  const { code, stderr } = await ctl({ url }, ['events', '-f']);
  assert.equal(code, 5);
  assert.match(stderr, /can't reach verbsd/);
});

test('events: -f ends with its reader, before another event comes', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const run = startPiped(t, server, ['events', '-f', '-n', '3'], { reader: 'head -n 1' });
  assert.equal(await run.end(), SIGPIPE_STATUS);
  assert.deepEqual(numbers(run.stdout), [1]);
  assert.equal(run.stderr, '');
});

test('events: -f ends with its reader also while the server is away', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const run = startPiped(t, server, ['events', '-f', '-n', '3']);
  await run.until(() => log.waiting.length === 1);
  await server.stop();
  await run.until(({ stderr }) => stderr.includes('trying again'));
  run.child.stdin.end();
  assert.equal(await run.end(), SIGPIPE_STATUS);
});

test('events: -f ends quietly with its reader where SIGPIPE is ignored, as in a service of systemd', async (t) => {
  const log = new Log(3);
  const server = await FakeServer.start(t, log.routes);
  const run = startPiped(t, server, ['events', '-f', '-n', '3'], { before: IGNORE_SIGPIPE });
  await run.until(() => log.waiting.length === 1);
  run.child.stdin.end();
  assert.equal(await run.end(), SIGPIPE_STATUS);
  assert.equal(run.stderr, '');
});
