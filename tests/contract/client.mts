// SPDX-License-Identifier: Apache-2.0
// A client in TypeScript, as a user would write it: usage client.mjs URL. Its types are made from openapi.yaml; that it
// compiles shows that they fit, and that it ends with 0 shows that the daemon answers by them.
import type { components, paths } from './types.mjs';

type Schemas = components['schemas'];
type JsonOf<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;
type Success<Operation> = Operation extends { responses: infer All }
  ? JsonOf<All[keyof All & (200 | 201 | 202)]>
  : never;
type Asked<Operation> = Operation extends {
  requestBody?: { content: { 'application/json': infer Body } };
}
  ? Body
  : never;
type PathsWith<Method extends 'get' | 'post'> = {
  [Path in keyof paths]: [Success<paths[Path][Method]>] extends [never] ? never : Path;
}[keyof paths];
type Outcome<Body> = { status: number; body: Body } | { status: number; problem: Schemas['Problem'] };

declare const process: { argv: string[] };
const base = process.argv[2] ?? 'http://127.0.0.1:7480';

async function send<Body>(path: string, init: RequestInit): Promise<Outcome<Body>> {
  const answer = await fetch(`${base}${path}`, init);
  const json: unknown = await answer.json();
  const { status } = answer;
  return answer.ok
    ? { status, body: json as Body }
    : { status, problem: json as Schemas['Problem'] };
}

async function get<Path extends PathsWith<'get'>>(
  path: Path,
  query: Record<string, string> = {},
): Promise<Success<paths[Path]['get']>> {
  const outcome = await send<Success<paths[Path]['get']>>(`${path}?${new URLSearchParams(query)}`, {});
  if ('problem' in outcome) throw new Error(`GET ${path}: ${outcome.problem.detail}`);
  return outcome.body;
}

function post<Path extends PathsWith<'post'>>(
  path: Path,
  body: Asked<paths[Path]['post']>,
): Promise<Outcome<Success<paths[Path]['post']>>> {
  const headers = { 'Content-Type': 'application/json' };
  return send(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not so: ${what}`);
  console.log(`ok ${what}`);
}

const health = await get('/livez', { verbose: '1' });
expect(health.status === 'ok' && (health.checks ?? []).length > 0, 'health has a status and checks');

const index = await get('/v1');
expect(index.role === 'control', 'the index says the role of this client');
expect(
  index.routes.some(({ method, path }) => method === 'POST' && path === '/v1/buffers'),
  'the index lists the routes',
);

const page = await get('/v1/events', { limit: '1' });
const [event] = page.items;
expect(event?.type === 'daemon_started', 'the first event is the start of the daemon');
expect(page.last >= (event?.seq ?? 0), 'a page of events has the newest number');

const connections = await get('/v1/connections');
expect(connections.total === connections.items.length, 'a list has its items');

const refused = await post('/v1/buffers', { size_bytes: 4096, access: ['remote_write'] });
expect('problem' in refused && refused.problem.code === 'no_device', 'without a device a buffer is a problem');
expect('problem' in refused && refused.problem.status === refused.status, 'a problem repeats its status');

// @ts-expect-error The contract has no such member.
const unknown = await post('/v1/buffers', { size_bytes: 4096, colour: 'red' });
expect('problem' in unknown && unknown.problem.code === 'unknown_field', 'an unknown member is refused');

// @ts-expect-error The contract has no such value.
const value = await post('/v1/buffers', { size_bytes: 4096, kind: 'paper' });
expect('problem' in value && value.problem.errors?.[0]?.pointer === '/kind', 'the problem points at the member');

const missing = await send<Schemas['Buffer']>('/v1/buffers/nobody', {});
expect('problem' in missing && missing.problem.code === 'not_found', 'an unknown name is not found');
