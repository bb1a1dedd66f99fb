// SPDX-License-Identifier: Apache-2.0
// A fake verbsd that gives the test's answers and records the requests.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { scratch_folder } from '../../scratch.mjs';
import { violationsOf } from './contract.mjs';

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request)
    chunks.push(chunk);
  return Buffer.concat(chunks);
}

function parsed(body) {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function write(response, answer) {
  const { status = 200, headers = {}, json, body = '' } = answer;
  const type = status >= 400 ? 'application/problem+json' : 'application/json';
  if (json !== undefined)
    response.writeHead(status, { 'Content-Type': type, ...headers }).end(JSON.stringify(json));
  else
    response.writeHead(status, headers).end(body);
}

export class FakeServer {
  // routes: { 'GET /v1/buffers': answer }. An answer is { status, headers, json | body }, a function of the recorded
  // request that returns one (or writes the response itself and returns nothing), or an array of them, one for each
  // request; the last one repeats. A request without a route gets 404.
  constructor(routes = {}) {
    this.routes = routes;
    this.requests = [];
    this.violations = [];
    this.server = createServer((request, response) => this.#serve(request, response));
  }

  // A request that openapi.yaml does not allow fails the test, unless `anything` is set.
  static async start(t, routes, { port = 0, host = '127.0.0.1', unix = false, anything = false } = {}) {
    const fake = new FakeServer(routes);
    const socket = unix ? join(scratch_folder('server'), 'socket') : null;
    await new Promise((resolve) => {
      if (unix)
        fake.server.listen(socket, resolve);
      else
        fake.server.listen(port, host, resolve);
    });
    fake.url = unix ? `unix:${socket}` : `http://127.0.0.1:${fake.server.address().port}`;
    t.after(async () => {
      await fake.stop();
      if (!anything)
        assert.deepEqual(fake.violations, []);
    });
    return fake;
  }

  get port() {
    return this.server.address().port;
  }

  async stop() {
    if (!this.server.listening)
      return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  // "METHOD path" of every request, for comparisons.
  get calls() {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  async #serve(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    const record = {
      method: request.method, path: pathname, url: request.url, query: Object.fromEntries(searchParams),
      headers: request.headers,
    };
    this.requests.push(record);
    const route = this.routes[`${request.method} ${pathname}`];
    let answer = Array.isArray(route) ? (route.length > 1 ? route.shift() : route[0]) : route;
    if (answer?.early)
      return write(response, answer);
    record.body = await bodyOf(request).catch(() => Buffer.alloc(0));
    record.json = parsed(record.body);
    this.violations.push(...violationsOf(record));
    if (typeof answer === 'function')
      answer = await answer(record, response);
    else if (!answer)
      answer = { status: 404, json: { type: '/v1/glossary/not_found', title: 'This verbsd has no such object or path',
        status: 404, code: 'not_found', detail: `${pathname} is nothing`, hint: 'List what there is.' } };
    if (answer)
      write(response, answer);
  }
}

export function page(items, { total = items.length, next = null } = {}) {
  return { json: { total, next, items } };
}
