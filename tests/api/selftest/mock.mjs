// SPDX-License-Identifier: Apache-2.0
// A mock of verbsd with buffers that have no memory: enough of the contract for the runner to pass, and a hook that
// changes an answer, for the runner to fail.
import http from 'node:http';
import { readFileSync } from 'node:fs';
import { Contract } from '../lib/contract.mjs';

const TEXT = readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8');
const CONTRACT = Contract.load().open;
const SUMMARY = CONTRACT.components.schemas.Buffer['x-short'];
const PATHS = CONTRACT.paths;
const STATS = CONTRACT.components.schemas.Stats.required;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const SERVER_ID = '00000000000000a1';
const NOW = '2026-01-01T00:00:00.000000000Z';
const STATUS = {
  not_found: 404,
  method_not_allowed: 405,
  name_taken: 409,
  missing_field: 400,
  malformed_json: 400,
  internal: 500,
};

const methodsOf = (template) =>
  METHODS.filter((method) => PATHS[template][method]).map((method) => method.toUpperCase());
function routes() {
  return Object.keys(PATHS).flatMap((path) =>
    methodsOf(path).map((method) => ({
      method,
      path,
      role: PATHS[path][method.toLowerCase()]['x-role'],
    })),
  );
}

function problem(code, more = {}) {
  const status = STATUS[code];
  const headers = { 'Content-Type': 'application/problem+json' };
  if (more.allow) headers.Allow = more.allow.join(', ');
  return {
    status,
    headers,
    json: {
      type: `/v1/glossary/${code}`,
      title: code,
      status,
      code,
      detail: 'here',
      hint: 'Do otherwise.',
      ...more,
    },
  };
}

const ok = (json, status = 200, headers = {}) => ({
  status,
  headers: { 'Content-Type': 'application/json', ...headers },
  json,
});

class State {
  constructor() {
    this.buffers = [];
    this.keeps = false; // whether DELETE /v1/objects deletes nothing
    this.requests = 0;
    this.events = 1;
    this.lastId = 0;
  }

  stats() {
    return {
      ...Object.fromEntries(STATS.map((name) => [name, 0])),
      server_id: SERVER_ID,
      buffers: this.buffers.length,
      events: this.events,
      http_request_duration_count: this.requests,
    };
  }

  createBuffer(text) {
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      return problem('malformed_json');
    }
    if (!body.size_bytes) return problem('missing_field', { pointer: '/size_bytes' });
    const holder = this.buffers.find(({ name }) => body.name && name === body.name);
    if (holder) return problem('name_taken', { holder: `/v1/buffers/${holder.id}` });
    const id = ++this.lastId;
    const buffer = {
      id,
      name: body.name ?? null,
      state: 'ready',
      kind: 'anonymous',
      size_bytes: body.size_bytes,
      page_size_bytes: 4096,
      access: [],
      relaxed_ordering: false,
      on_demand_paging: false,
      device: { id: 1, name: 'mock0' },
      owner: null,
      labels: {},
      pd: { id: 1, name: null },
      addr: '0x1000',
      rkey: '0x1',
      created_at: NOW,
      user_count: 0,
      share: null,
      desired: null,
      error: null,
    };
    this.buffers.push(buffer);
    this.events++;
    return ok(buffer, 201, { Location: `/v1/buffers/${id}` });
  }

  page(items, query) {
    const after = Number((query.get('after') ?? 'p0').slice(1));
    const limit = Number(query.get('limit') ?? 100);
    const rest = items.filter(({ id }) => id > after);
    const page = rest.slice(0, limit);
    const fields = query.get('fields')?.split(',') ?? SUMMARY;
    const thin = (item) =>
      Object.fromEntries(
        Object.entries(item).filter(([name]) => name === 'id' || fields.includes(name)),
      );
    return ok({
      total: items.length,
      next: rest.length > limit ? `p${page.at(-1).id}` : null,
      items: page.map(thin),
    });
  }

  // All events of the mock concern buffers; a long poll that would wait gets an empty answer at
  // once.
  eventPage(query) {
    const place = query.get('after') ?? '0';
    const after = place === 'now' ? this.events : Number(place.split('-').at(-1));
    const limit = Number(query.get('limit') ?? 100);
    const all = Array.from({ length: this.events }, (_, i) => ({
      seq: i + 1,
      server_id: SERVER_ID,
      at: NOW,
      type: 'buffer_created',
      severity: 'info',
      object: null,
      detail: 'made',
      data: { state: 'registering', previous_state: null },
    }));
    const items = all.filter(({ seq }) => seq > after).slice(0, limit);
    return ok({
      server_id: SERVER_ID,
      now_ns: 5_000_000,
      first: 1,
      last: this.events,
      next: `${SERVER_ID}-${items.at(-1)?.seq ?? this.events}`,
      restarted: false,
      resumed: false,
      compacted: false,
      items,
    });
  }

  answer(method, url, text) {
    const query = url.searchParams;
    const lists = ['devices', 'cqs', 'listeners', 'connections', 'transfers'].map(
      (kind) => `/v1/${kind}`,
    );
    const [, ref] = /^\/v1\/buffers\/([^/]+)$/.exec(url.pathname) ?? [];
    const calls = {
      'GET /livez': () => ok({ status: 'ok' }),
      'GET /readyz': () => ok({ status: 'failing' }, 503),
      'GET /v1': () =>
        ok({
          service: 'verbsd',
          version: '0.0.0',
          role: 'control',
          server_id: SERVER_ID,
          started_at: NOW,
          now: NOW,
          uptime_ms: 1,
          store: { status: 'none', detail: 'no state_dir' },
          links: {},
          routes: routes(),
        }),
      'GET /v1/openapi.yaml': () => ({
        status: 200,
        headers: { 'Content-Type': 'application/yaml' },
        text: TEXT,
      }),
      'GET /v1/stats': () => ok(this.stats()),
      'GET /v1/events': () => this.eventPage(query),
      'GET /v1/buffers': () => this.page(this.buffers, query),
      'POST /v1/buffers': () => this.createBuffer(text),
      'DELETE /v1/objects': () => this.deleteAll(),
    };
    const call = calls[`${method} ${url.pathname}`];
    if (call) return call();
    if (method === 'GET' && lists.includes(url.pathname)) return this.page([], query);
    return ref ? this.one(method, ref, url.pathname) : this.other(method, url.pathname);
  }

  deleteAll() {
    const selected = this.keeps ? 0 : this.buffers.splice(0).length;
    const outcome = { selected, objects: [], dry_run: false, done: selected, pending: 0, failed: 0, failures: [] };
    return ok(outcome, 200, { 'Preference-Applied': 'wait=60' });
  }

  one(method, ref, pathname) {
    const index = this.buffers.findIndex(({ id, name }) => `${id}` === ref || name === ref);
    if (index >= 0 && method === 'GET') return ok(this.buffers[index]);
    if (index >= 0 && method === 'DELETE')
      return this.buffers.splice(index, 1) && { status: 204, headers: {}, text: '' };
    return this.other(method, pathname);
  }

  other(method, pathname) {
    const template =
      Object.keys(PATHS).find((path) => path === pathname) ??
      Object.keys(PATHS).find((path) =>
        new RegExp(`^${path.replace('{ref}', '[^/]+')}$`).test(pathname),
      );
    if (template && !methodsOf(template).includes(method))
      return problem('method_not_allowed', { allow: methodsOf(template) });
    return problem('not_found');
  }
}

function reply(response, { status, headers, json, text }) {
  const body = json === undefined ? text : JSON.stringify(json);
  const named = { ...headers, 'Verbsd-Server': SERVER_ID };
  response.writeHead(
    status,
    status === 204 ? named : { ...named, 'Content-Length': Buffer.byteLength(body) },
  );
  response.end(body);
}

/**
 * Starts the mock on a free port and resolves to {url, state, stop}. `spoil` gets {method, path} and the answer
 * {status, headers, json or text}, which it may change.
 */
export async function startMock(spoil = () => {}) {
  const state = new State();
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      state.requests++;
      const url = new URL(request.url, 'http://h');
      const answer = state.answer(request.method, url, Buffer.concat(chunks).toString('utf8'));
      spoil({ method: request.method, path: request.url }, answer, state);
      reply(response, answer);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${server.address().port}`, state, stop };
}
