// SPDX-License-Identifier: Apache-2.0
// Sends the requests of the cases to the daemons, and compares every answer with the contract.
import { appendFileSync } from 'node:fs';
import { bytesOf } from './bytes.mjs';
import { send } from './http.mjs';
import { show } from './match.mjs';
import { substitute } from './vars.mjs';

// Only what hangs reaches it. LAB_SLOW says how many times slower than usual a guest is (lab/README.md).
export const PATIENCE_S = 60 * (process.env.LAB_SLOW || 1);
const WAIT_S = 60; // the most that verbsd waits for an answer
const WAKE_MS = 2000; // longest wait for an event before the next poll
const REQUEST_MEMBERS = [
  'on',
  'token',
  'method',
  'path',
  'headers',
  'wait',
  'json',
  'body',
  'data',
  'chunked',
  'invalid',
];
/** Throws if an object of a case has an unknown member. */
export function refuseUnknown(what, object, known) {
  const extra = Object.keys(object).filter((key) => !known.includes(key));
  if (extra.length > 0) throw new Error(`${what} has unknown members ${extra}`);
}

function bodyOf({ json, body, data }) {
  if (json !== undefined)
    return { type: 'application/json', bytes: Buffer.from(JSON.stringify(json)) };
  if (body !== undefined) return { type: 'application/json', bytes: bytesOf(body) };
  if (data !== undefined) return { type: 'application/octet-stream', bytes: bytesOf(data) };
  return {};
}

const withoutNulls = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** Formats a request for a person. */
export function describe(request) {
  const body =
    request.body === undefined ? '' : ` ${show(request.body.subarray(0, 300).toString('latin1'))}`;
  return `${request.method} ${request.path} on ${request.on}${body}`;
}

/** Formats an answer for a person. */
export function describeAnswer({ status, headers, body }) {
  const shown = body.subarray(0, 1500).toString('utf8');
  return `${status} ${headers['content-type'] ?? ''} ${shown}`.trim();
}

export class Client {
  /**
   * @param daemons {a: URL, b: URL, …}, those that are running
   * @param tokens {control, read} of daemon t
   * @param contract Contract
   * @param bodies file to which the JSON of every answer is appended; optional
   * @param patienceMs how long `until` waits in vain
   */
  constructor({ daemons, tokens, contract, bodies, patienceMs = PATIENCE_S * 1000 }) {
    Object.assign(this, { daemons, tokens, contract, bodies, patienceMs });
    this.asked = new Set(); // daemons that got a request, for the checks after the case
  }

  authorization(on, token) {
    const name = token ?? (on === 't' ? 'control' : 'none');
    return name === 'none' ? {} : { Authorization: `Bearer ${this.tokens[name] ?? name}` };
  }

  /** Returns the request of a case with the variables replaced. */
  buildRequest(template, vars) {
    const spec = substitute(template, vars);
    refuseUnknown('a request', spec, REQUEST_MEMBERS);
    const { on = 'a', token, method = 'GET', path, headers = {}, wait, chunked, invalid = false } = spec;
    const { type, bytes } = bodyOf(spec);
    const all = {
      ...(type ? { 'Content-Type': type } : {}),
      ...this.authorization(on, token),
      ...(wait ? { Prefer: `wait=${WAIT_S}` } : {}),
      ...headers,
    };
    return { on, token, method, path, headers: withoutNulls(all), body: bytes, chunked, invalid };
  }

  // A case says whether the contract allows each request, so that case and contract can't drift apart.
  checkRequest(request, status) {
    const against = this.contract.checkRequest(request);
    if (against === null) return [];
    if (request.invalid)
      return against.length > 0
        ? []
        : ['the request is marked invalid, but the contract allows it'];
    const meant = status === undefined || status < 400 ? '' : ' (mark it invalid if that is meant)';
    return against.map((line) => `the contract does not allow the request${meant}: ${line}`);
  }

  /** Sends a request. Resolves to {response, failures}: the violations of the contract by the answer. */
  async fetch(request, signal) {
    this.asked.add(request.on);
    const response = await send(this.daemons[request.on], { ...request, signal });
    return { response, failures: this.checkResponse(request, response) };
  }

  checkResponse(request, response) {
    const { headers, body } = response;
    if (this.bodies && /json$/.test(headers['content-type']) && body.length > 0)
      appendFileSync(this.bodies, body);
    const failures = this.contract.checkResponse(request, response);
    if (response.json?.code && response.headers['content-type'] === 'application/problem+json' && !response.json.hint)
      failures.push('a problem without a hint');
    if (request.token === 'read' && /"(rkey|private_data)"/.test(response.body.toString('utf8')))
      failures.push('a reader is shown a key or private data');
    return failures.map((line) => `against the contract: ${line}`);
  }

  async events(request, query) {
    const own = { ...request, method: 'GET', path: `/v1/events?${query}`, body: undefined };
    own.headers = this.authorization(request.on, request.token);
    const { response, failures } = await this.fetch(own);
    if (response.status !== 200 || failures.length > 0)
      throw new Error(`GET ${own.path}: ${failures.join('; ')} ${describeAnswer(response)}`);
    return response.json;
  }

  /** Returns the place of the newest event of the daemon that a request goes to. */
  async lastEvent(request) {
    return (await this.events(request, 'after=now')).next;
  }

  /**
   * Calls `look` at each event of the daemon that a request goes to, until it resolves to no failures. Resolves to the
   * last ones when that is in vain.
   */
  async until(request, look) {
    for (const end = Date.now() + this.patienceMs; ; ) {
      const seen = await this.lastEvent(request);
      const failures = await look();
      if (failures.length === 0 || Date.now() >= end) return failures;
      await this.nextEvent(request, seen);
    }
  }

  /** Waits for an event behind the given place, by the daemon's long poll, for a limited time. */
  async nextEvent(request, seen) {
    await this.events(request, `after=${seen}&limit=1&wait_ms=${WAKE_MS}`);
  }
}
