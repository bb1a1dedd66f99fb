// SPDX-License-Identifier: Apache-2.0
// Plays one case against the daemons, and collects what is wrong as lines of text.
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { bytesOf } from './bytes.mjs';
import { send, sendRaw } from './http.mjs';
import { match, show } from './match.mjs';
import { substitute, UnknownVariable } from './vars.mjs';

const WAKE_MS = 2000;        // how long an `until` waits for an event before it tries again
const SETTLE_TRIES = 6;      // how often the gauges are looked at until nothing is left
const GAUGES = ['connections_open', 'listeners', 'buffers', 'transfers_running'];
const REQUEST_MEMBERS = ['on', 'token', 'method', 'path', 'headers', 'json', 'body', 'data', 'chunked', 'invalid'];
const EXPECT_MEMBERS = ['status', 'headers', 'json', 'bytes', 'took_ms', 'until', 'answers', 'closed', 'outside_contract', 'then'];

function refuseUnknown(what, object, known) {
  const extra = Object.keys(object).filter((key) => !known.includes(key));
  if (extra.length > 0)
    throw new Error(`${what} has unknown members ${extra}`);
}

function bodyOf({ json, body, data }) {
  if (json !== undefined)
    return { type: 'application/json', bytes: Buffer.from(JSON.stringify(json)) };
  if (body !== undefined)
    return { type: 'application/json', bytes: bytesOf(body) };
  if (data !== undefined)
    return { type: 'application/octet-stream', bytes: bytesOf(data) };
  return {};
}

const withoutNulls = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

function describe(request) {
  const body = request.body === undefined ? '' : ` ${show(request.body.subarray(0, 300).toString('latin1'))}`;
  return `${request.method} ${request.path} on ${request.on}${body}`;
}

function describeAnswer({ status, headers, body }) {
  const shown = body.subarray(0, 1500).toString('utf8');
  return `${status} ${headers['content-type'] ?? ''} ${shown}`.trim();
}

export class Player {
  /**
   * @param daemons   {a: URL, b: URL, …}, those that are there
   * @param vars      variables of all cases; must have CONTROL_TOKEN and READ_TOKEN when daemon t is there
   * @param contract  Contract
   * @param coverage  Coverage
   */
  constructor({ daemons, vars, contract, coverage }) {
    Object.assign(this, { daemons, contract, coverage });
    this.shared = { ...vars };
    for (const [name, url] of Object.entries(daemons)) {
      this.shared[`HOST_${name.toUpperCase()}`] = new URL(url).host;
      this.shared[`URL_${name.toUpperCase()}`] = url.replace(/\/$/, '');
    }
  }

  /** Plays a case with its cleanup and resolves to the failures, none when it passed. */
  async play(testCase) {
    this.vars = { ...this.shared };
    this.background = new Map();
    const before = await this.gauges();
    const failures = await this.playSteps(testCase.steps);
    failures.push(...await this.cleanUp(testCase.cleanup));
    failures.push(...await this.checkAlive());
    failures.push(...await this.checkNothingLeft(before));
    return failures;
  }

  async playSteps(steps) {
    for (const [i, step] of steps.entries()) {
      const failures = await this.playRepeated(step);
      if (failures.length > 0)
        return [`step ${i + 1}${step.about ? ` (${step.about})` : ''}:`, ...failures.map((line) => `  ${line}`)];
    }
    return [];
  }

  // What a failed case never created has no id: such a step of its cleanup has nothing to do.
  async cleanUp(steps) {
    const failures = [];
    for (const running of this.background.values())
      running.controller.abort();
    for (const step of steps) {
      const found = await this.playRepeated(step, true);
      failures.push(...found.map((line) => `cleanup: ${line}`));
    }
    return failures;
  }

  async playRepeated(step, lenient = false) {
    for (let i = 1; i <= (step.repeat ?? 1); i++) {
      this.vars.i = i;
      try {
        const failures = await this.playStep(step);
        if (failures.length > 0)
          return failures;
      } catch (error) {
        if (!(lenient && error instanceof UnknownVariable))
          return [error.code ? `${error.message} (${error.code})` : error.message];
      }
    }
    return [];
  }

  playStep(step) {
    if (step.raw)
      return this.playRaw(step);
    if (step.walk)
      return this.playWalk(step);
    if (step.shm)
      return this.playShm(step);
    if (step.await)
      return this.playAwait(step);
    if (step.abort)
      return this.playAbort(step);
    if (step.background)
      return this.playBackground(step);
    return this.playRequest(step);
  }

  // --- a request and its answer ------------------------------------------------------------------------------------

  authorization(on, token) {
    const name = token ?? (on === 't' ? 'control' : 'none');
    const tokens = { control: this.vars.CONTROL_TOKEN, read: this.vars.READ_TOKEN };
    return name === 'none' ? {} : { Authorization: `Bearer ${tokens[name] ?? name}` };
  }

  buildRequest(template) {
    const spec = substitute(template, this.vars);
    refuseUnknown('a request', spec, REQUEST_MEMBERS);
    const { on = 'a', token, method = 'GET', path, headers = {}, chunked, invalid = false } = spec;
    const { type, bytes } = bodyOf(spec);
    const all = { ...(type ? { 'Content-Type': type } : {}), ...this.authorization(on, token), ...headers };
    return { on, token, method, path, headers: withoutNulls(all), body: bytes, chunked, invalid };
  }

  // A case says of each request whether the contract allows it, so that neither can drift from the other.
  checkRequest(request, status) {
    const against = this.contract.checkRequest(request);
    if (against === null)
      return [];
    if (request.invalid)
      return against.length > 0 ? [] : ['the request is marked invalid, but the contract allows it'];
    const meant = status === undefined || status < 400 ? '' : ' (mark it invalid if that is meant)';
    return against.map((line) => `the contract does not allow the request${meant}: ${line}`);
  }

  async fetch(request, signal) {
    const response = await send(this.daemons[request.on], { ...request, signal });
    return { response, failures: this.checkResponse(request, response) };
  }

  checkResponse(request, response) {
    const failures = this.contract.checkResponse(request, response);
    if (request.token === 'read' && /"(rkey|private_data)"/.test(response.body.toString('utf8')))
      failures.push('a reader is shown a key or private data');
    return failures.map((line) => `against the contract: ${line}`);
  }

  record(request, response) {
    this.coverage.add(this.contract, request, response);
  }

  compare(expectTemplate, response) {
    const expect = substitute(expectTemplate, this.vars);
    refuseUnknown('an expectation', expect, EXPECT_MEMBERS);
    const captures = {};
    const failures = [
      ...match(expect.status ?? '$any', response.status, captures, 'status'),
      ...Object.entries(expect.headers ?? {}).flatMap(([name, wanted]) =>
        match(wanted, response.headers[name.toLowerCase()], captures, `header ${name}`)),
      ...(expect.json === undefined ? [] : match(expect.json, response.json, captures)),
      ...(expect.bytes === undefined ? [] : this.compareBytes(bytesOf(expect.bytes), response.body)),
      ...(expect.took_ms === undefined ? [] : match(expect.took_ms, response.took_ms, captures, 'took_ms')),
    ];
    if (failures.length === 0)
      Object.assign(this.vars, captures);
    return failures;
  }

  compareBytes(wanted, got) {
    if (wanted.length !== got.length)
      return [`expected ${wanted.length} bytes, got ${got.length}`];
    const at = wanted.findIndex((byte, i) => byte !== got[i]);
    return at < 0 ? [] : [`byte ${at}: expected ${wanted[at]}, got ${got[at]}`];
  }

  async playRequest({ request: template, expect = {} }) {
    const request = this.buildRequest(template);
    const wrong = this.checkRequest(request, expect.status);
    if (wrong.length > 0)
      return [describe(request), ...wrong];
    return this.tryRequest(request, expect, expect.until ?? 1);
  }

  // Between two tries it waits for the daemon's next event, by the daemon's own long poll.
  async tryRequest(request, expect, tries) {
    for (let i = 1; ; i++) {
      const seen = tries > 1 ? await this.lastEvent(request) : 0;
      const { response, failures } = await this.fetch(request);
      this.record(request, response);
      failures.push(...this.compare(expect, response));
      if (failures.length === 0)
        return [];
      if (i >= tries)
        return [describe(request), ...failures, `answer: ${describeAnswer(response)}`];
      await this.nextEvent(request, seen);
    }
  }

  async events(request, query) {
    const own = { ...request, method: 'GET', path: `/v1/events?${query}`, body: undefined };
    own.headers = this.authorization(request.on, request.token);
    const { response, failures } = await this.fetch(own);
    if (response.status !== 200 || failures.length > 0)
      throw new Error(`GET ${own.path}: ${failures.join('; ')} ${describeAnswer(response)}`);
    return response.json;
  }

  async lastEvent(request) {
    return (await this.events(request, 'limit=1')).last;
  }

  async nextEvent(request, seen) {
    await this.events(request, `after=${seen}&limit=1&wait_ms=${WAKE_MS}`);
  }

  // --- other kinds of steps ----------------------------------------------------------------------------------------

  async playBackground({ request: template, background }) {
    const name = substitute(background, this.vars);
    const request = this.buildRequest(template);
    const wrong = this.checkRequest(request);
    if (wrong.length > 0)
      return [describe(request), ...wrong];
    const controller = new AbortController();
    const answer = this.fetch(request, controller.signal);
    answer.catch(() => {});
    this.background.set(name, { request, controller, answer });
    return [];
  }

  takeBackground(template) {
    const name = substitute(template, this.vars);
    const running = this.background.get(name);
    this.background.delete(name);
    return running;
  }

  async playAwait({ await: name, expect }) {
    const { request, answer } = this.takeBackground(name);
    const { response, failures } = await answer;
    this.record(request, response);
    failures.push(...this.compare(expect, response));
    return failures.length ? [describe(request), ...failures, `answer: ${describeAnswer(response)}`] : [];
  }

  async playAbort({ abort: name }) {
    this.takeBackground(name).controller.abort();
    return [];
  }

  async playRaw({ raw: template, expect: expectTemplate }) {
    const { on = 'a', bytes } = substitute(template, this.vars);
    const expect = substitute(expectTemplate, this.vars);
    const { answers: count = 1, closed = true, outside_contract: outside = false, then = [] } = expect;
    const sent = Array.isArray(bytes) ? Buffer.from(bytes.join('\r\n'), 'latin1') : bytesOf(bytes);
    const { answers, closed: isClosed, rest } = await sendRaw(this.daemons[on], sent, { answers: count, untilClosed: closed });
    const failures = [];
    if (answers.length !== count)
      failures.push(`expected ${count} answers, got ${answers.length}, then ${rest.length} bytes`);
    if (isClosed !== closed)
      failures.push(closed ? 'the connection was not closed' : 'the connection was closed');
    for (const [i, wanted] of [expectTemplate, ...then].entries())
      if (answers[i])
        failures.push(...this.compareRaw(wanted, answers[i], outside));
    const shown = answers.map((answer) => `answer: ${describeAnswer(answer)}`);
    return failures.length ? [show(sent.toString('latin1')), ...failures, ...shown] : [];
  }

  // Which path a malformed request means is anybody's guess, so its answer is held against Problem only.
  compareRaw(expect, answer, outside) {
    const wrong = outside || answer.status < 400 ? [] : this.checkResponse({ method: 'GET', path: '/' }, answer);
    return [...wrong, ...this.compare(expect, answer)];
  }

  // Follows `next` from page to page; what is matched is {pages, total, items} of all of them.
  async playWalk({ walk: template, expect = {} }) {
    const all = { pages: 0, total: null, items: [] };
    for (let after = null; ;) {
      const path = after === null ? template.path : `${template.path}&after=${after}`;
      const request = this.buildRequest({ ...template, path });
      const { response, failures } = await this.fetch(request);
      if (response.status !== 200 || failures.length > 0)
        return [describe(request), ...failures, `answer: ${describeAnswer(response)}`];
      this.record(request, response);
      all.pages++;
      all.total = response.json.total;
      all.items.push(...response.json.items);
      if (response.json.next === null)
        break;
      after = response.json.next;
    }
    const ids = all.items.map((item) => item.id ?? item.seq);
    const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
    const failures = match(substitute(expect.json, this.vars), all, this.vars);
    return twice.length ? [`items on two pages: ${twice}`, ...failures] : failures;
  }

  // Memory under /dev/shm as any other program of this host sees it.
  async playShm({ shm: template, expect = {} }) {
    const { name, write: bytes, offset = 0, length, absent } = substitute(template, this.vars);
    const path = join('/dev/shm', name);
    if (absent)
      return existsSync(path) ? [`${path} is still there`] : [];
    if (bytes !== undefined) {
      const file = openSync(path, 'r+');
      writeSync(file, bytesOf(bytes), 0, undefined, offset);
      closeSync(file);
      return [];
    }
    const all = readFileSync(path);
    const wanted = bytesOf(substitute(expect.bytes, this.vars));
    return this.compareBytes(wanted, all.subarray(offset, offset + (length ?? all.length)));
  }

  // --- after each case ---------------------------------------------------------------------------------------------

  async checkAlive() {
    const failures = [];
    for (const [on, url] of Object.entries(this.daemons)) {
      try {
        const response = await send(url, { method: 'GET', path: '/livez' });
        if (response.status !== 200)
          failures.push(`afterwards /livez of ${on} answers ${response.status}`);
      } catch (error) {
        failures.push(`afterwards /livez of ${on} does not answer: ${error.message}`);
      }
    }
    return failures;
  }

  async gaugesOf(on) {
    const request = { on, method: 'GET', path: '/v1/stats', headers: this.authorization(on) };
    const { response } = await this.fetch(request);
    return Object.fromEntries(GAUGES.map((name) => [name, response.json?.[name]]));
  }

  async gauges() {
    const found = {};
    for (const on of Object.keys(this.daemons)) {
      try {
        found[on] = await this.gaugesOf(on);
      } catch {
        found[on] = null;  // the case's own requests will say what is wrong
      }
    }
    return found;
  }

  async checkNothingLeft(before) {
    const failures = [];
    for (const on of Object.keys(this.daemons).filter((name) => before[name] !== null))
      failures.push(...await this.settle(on, before[on]).catch((error) => [error.message]));
    return failures;
  }

  async settle(on, before) {
    for (let i = 1; ; i++) {
      const seen = await this.lastEvent({ on });
      const after = await this.gaugesOf(on);
      const left = GAUGES.filter((name) => after[name] !== before[name]);
      if (left.length === 0)
        return [];
      if (i >= SETTLE_TRIES)
        return left.map((name) => `left behind on ${on}: ${name} was ${before[name]}, is ${after[name]}`);
      await this.nextEvent({ on }, seen);
    }
  }
}
