// SPDX-License-Identifier: Apache-2.0
//
// Requests without an RDMA device, good and bad. Usage: client.mjs URL.
import createClient from 'openapi-fetch';
import { dataOf, expect } from './expect.mjs';
import type { paths } from './types.mjs';

const api = createClient<paths>({ baseUrl: String(process.argv[2]) });

const health = dataOf(await api.GET('/livez', { params: { query: { verbose: '1' } } }));
expect(health.status === 'ok' && (health.checks ?? []).length > 0, 'health has a status and checks');

const index = dataOf(await api.GET('/v1'));
expect(index.role === 'control', 'the index says the role of this client');
expect(
  index.routes.some(({ method, path }) => method === 'POST' && path === '/v1/buffers'),
  'the index lists the routes',
);

const page = dataOf(await api.GET('/v1/events', { params: { query: { limit: 1 } } }));
const [event] = page.items;
expect(event?.type === 'daemon_started', 'the first event is the start of the daemon');
expect(page.last >= (event?.seq ?? 0), 'a page of events has the newest number');

const connections = dataOf(await api.GET('/v1/connections'));
expect(connections.total === connections.items.length, 'a list has its items');

const refused = await api.POST('/v1/buffers', { body: { size_bytes: 4096, access: ['remote_write'] } });
expect(refused.error?.code === 'no_device', 'without a device a buffer is a problem');
expect(refused.error?.status === refused.response.status, 'a problem repeats its status');

const unknown = await api.POST('/v1/buffers', { body: { size_bytes: 4096, colour: 'red' } });
expect(unknown.error?.code === 'unknown_field', 'an unknown member is refused');

// @ts-expect-error The contract has no such value.
const value = await api.POST('/v1/buffers', { body: { size_bytes: 4096, kind: 'paper' } });
expect(value.error?.errors?.[0]?.pointer === '/kind', 'the problem points at the member');

const missing = await api.GET('/v1/buffers/{ref}', { params: { path: { ref: 'nobody' } } });
expect(missing.error?.code === 'not_found', 'an unknown name is not found');
