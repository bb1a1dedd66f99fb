// SPDX-License-Identifier: Apache-2.0
// Plays one case against the daemons, and collects the failures as lines of text.
import { Aftermath } from './aftermath.mjs';
import { bytesOf } from './bytes.mjs';
import { Client, describe, describeAnswer, refuseUnknown } from './client.mjs';
import { sendRaw } from './http.mjs';
import { match, show } from './match.mjs';
import { substitute, UnknownVariable } from './vars.mjs';

const EXPECT_MEMBERS = [
  'status',
  'headers',
  'json',
  'bytes',
  'text',
  'took_ms',
  'until',
  'answers',
  'closed',
  'outside_contract',
  'then',
];

export class Player {
  /**
   * @param daemons {a: URL, b: URL, …}, those that are running
   * @param vars variables of all cases; must have CONTROL_TOKEN and READ_TOKEN if daemon t runs
   * @param contract Contract
   * @param coverage Coverage
   * @param bodies file to which the JSON of every answer is appended; optional
   * @param patienceMs how long `until` waits in vain; optional
   */
  constructor({ daemons, vars, contract, coverage, bodies, patienceMs }) {
    const tokens = { control: vars.CONTROL_TOKEN, read: vars.READ_TOKEN };
    Object.assign(this, { daemons, contract, coverage });
    this.client = new Client({ daemons, tokens, contract, bodies, patienceMs });
    this.aftermath = new Aftermath(this.client);
    this.shared = { ...vars };
    for (const [name, url] of Object.entries(daemons)) {
      this.shared[`HOST_${name.toUpperCase()}`] = new URL(url).host;
      this.shared[`URL_${name.toUpperCase()}`] = url.replace(/\/$/, '');
    }
  }

  /** Plays a case with its cleanup. Resolves to the failures. */
  async play(testCase) {
    this.vars = { ...this.shared };
    this.background = new Map();
    await this.aftermath.begin();
    const failures = await this.playSteps(testCase.steps);
    failures.push(...(await this.cleanUp(testCase.cleanup)));
    failures.push(...(await this.aftermath.end()));
    return failures;
  }

  async playSteps(steps) {
    for (const [i, step] of steps.entries()) {
      const failures = await this.playRepeated(step);
      if (failures.length > 0)
        return [
          `step ${i + 1}${step.about ? ` (${step.about})` : ''}:`,
          ...failures.map((line) => `  ${line}`),
        ];
    }
    return [];
  }

  // A failed case may not have created an object, and has no id for it: its cleanup step is
  // skipped.
  async cleanUp(steps) {
    const failures = [];
    for (const running of this.background.values()) running.controller.abort();
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
        if (failures.length > 0) return failures;
      } catch (error) {
        if (!(lenient && error instanceof UnknownVariable))
          return [error.code ? `${error.message} (${error.code})` : error.message];
      }
    }
    return [];
  }

  playStep(step) {
    if (step.raw) return this.playRaw(step);
    if (step.walk) return this.playWalk(step);
    if (step.await) return this.playAwait(step);
    if (step.abort) return this.playAbort(step);
    if (step.background) return this.playBackground(step);
    return this.playRequest(step);
  }

  // --- a request and its answer

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
        match(wanted, response.headers[name.toLowerCase()], captures, `header ${name}`),
      ),
      ...(expect.json === undefined ? [] : match(expect.json, response.json, captures)),
      ...(expect.bytes === undefined
        ? []
        : this.compareBytes(bytesOf(expect.bytes), response.body)),
      ...(expect.text === undefined
        ? []
        : match(expect.text, response.body.toString('utf8'), captures, 'text')),
      ...(expect.took_ms === undefined
        ? []
        : match(expect.took_ms, response.took_ms, captures, 'took_ms')),
    ];
    if (failures.length === 0) Object.assign(this.vars, captures);
    return failures;
  }

  compareBytes(wanted, got) {
    if (wanted.length !== got.length) return [`expected ${wanted.length} bytes, got ${got.length}`];
    const at = wanted.findIndex((byte, i) => byte !== got[i]);
    return at < 0 ? [] : [`byte ${at}: expected ${wanted[at]}, got ${got[at]}`];
  }

  async playRequest({ request: template, expect = {} }) {
    const request = this.client.buildRequest(template, this.vars);
    const wrong = this.client.checkRequest(request, expect.status);
    if (wrong.length > 0) return [describe(request), ...wrong];
    const ask = () => this.tryRequest(request, expect);
    return expect.until ? this.client.until(request, ask) : ask();
  }

  async tryRequest(request, expect) {
    const { response, failures } = await this.client.fetch(request);
    this.record(request, response);
    failures.push(...this.compare(expect, response));
    return failures.length
      ? [describe(request), ...failures, `answer: ${describeAnswer(response)}`]
      : [];
  }

  // --- other kinds of steps

  async playBackground({ request: template, background }) {
    const name = substitute(background, this.vars);
    const request = this.client.buildRequest(template, this.vars);
    const wrong = this.client.checkRequest(request);
    if (wrong.length > 0) return [describe(request), ...wrong];
    const controller = new AbortController();
    const answer = this.client.fetch(request, controller.signal);
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
    return failures.length
      ? [describe(request), ...failures, `answer: ${describeAnswer(response)}`]
      : [];
  }

  async playAbort({ abort: name }) {
    this.takeBackground(name).controller.abort();
    return [];
  }

  async playRaw({ raw: template, expect: expectTemplate }) {
    const { on = 'a', bytes } = substitute(template, this.vars);
    const expect = substitute(expectTemplate, this.vars);
    const {
      answers: count = 1,
      closed = true,
      outside_contract: outside = false,
      then = [],
    } = expect;
    this.client.asked.add(on);
    const sent = Array.isArray(bytes) ? Buffer.from(bytes.join('\r\n'), 'latin1') : bytesOf(bytes);
    const {
      answers,
      closed: isClosed,
      rest,
    } = await sendRaw(this.daemons[on], sent, { answers: count, untilClosed: closed });
    const failures = [];
    if (answers.length !== count)
      failures.push(`expected ${count} answers, got ${answers.length}, then ${rest.length} bytes`);
    if (isClosed !== closed)
      failures.push(closed ? 'the connection was not closed' : 'the connection was closed');
    for (const [i, wanted] of [expectTemplate, ...then].entries())
      if (answers[i]) failures.push(...this.compareRaw(wanted, answers[i], outside));
    const shown = answers.map((answer) => `answer: ${describeAnswer(answer)}`);
    return failures.length ? [show(sent.toString('latin1')), ...failures, ...shown] : [];
  }

  // The path of a malformed request is ambiguous, so its answer is compared with Problem only.
  compareRaw(expect, answer, outside) {
    const wrong =
      outside || answer.status < 400
        ? []
        : this.client.checkResponse({ method: 'GET', path: '/' }, answer);
    this.coverage.addCodes(answer);
    return [...wrong, ...this.compare(expect, answer)];
  }

  // Fetches all pages by `next`. The value to match is {pages, total, items} of all pages.
  async playWalk({ walk: template, expect = {} }) {
    const all = { pages: 0, total: null, items: [] };
    for (let after = null; ;) {
      const path = after === null ? template.path : `${template.path}&after=${after}`;
      const request = this.client.buildRequest({ ...template, path }, this.vars);
      const { response, failures } = await this.client.fetch(request);
      if (response.status !== 200 || failures.length > 0)
        return [describe(request), ...failures, `answer: ${describeAnswer(response)}`];
      this.record(request, response);
      all.pages++;
      all.total = response.json.total;
      all.items.push(...response.json.items);
      if (response.json.next === null) break;
      after = response.json.next;
    }
    const ids = all.items.map((item) => item.id ?? item.seq);
    const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
    const failures = match(substitute(expect.json, this.vars), all, this.vars);
    return twice.length ? [`items on two pages: ${twice}`, ...failures] : failures;
  }
}
