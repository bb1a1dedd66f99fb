// SPDX-License-Identifier: Apache-2.0
//
// The ten recipes of docs/recipes.md, written with openapi-fetch and the types that openapi-typescript makes. Usage:
// recipes_fetch.mjs URL ADDR, where ADDR reaches the daemon over RDMA.
import { randomUUID } from 'node:crypto';
import createClient from 'openapi-fetch';
import { dataOf, expect, firstEvent, given } from './expect.mjs';
import type { components, paths } from './types.mjs';

const [, , baseUrl, addr] = process.argv.map(String);
const api = createClient<paths>({ baseUrl, querySerializer: { array: { style: 'form', explode: false } } });
const prefer = { Prefer: 'wait=30' };
const ended = { until: 'ended', wait_ms: 60_000 } as const;

// Connect, and wait until the connection is established
const labels = { job: 'nightly' };
dataOf(await api.POST('/v1/listeners', { body: { name: 'porch', addr: '0.0.0.0', port: 7475 } }));
const connect = (name: string, dst_port: number) =>
  api.POST('/v1/connections', { params: { header: prefer }, body: { name, dst_addr: addr, dst_port, labels } });
dataOf(await connect('spare', 7475));
expect(dataOf(await connect('to-p', 7475)).state === 'established', 'the connection is established');
const ends = dataOf(
  await api.GET('/v1/connections', { params: { query: { listener: 'porch', sort: '-id', limit: 1 } } }),
);
const peersEnd = given(ends.items[0]).id;

// Put a file into a buffer of the peer
const file = new TextEncoder().encode('the bytes of a file\n');
dataOf(await api.POST('/v1/buffers', { body: { name: 'pail', size_bytes: file.length } }));
dataOf(
  await api.PUT('/v1/buffers/{ref}/data', {
    params: { path: { ref: 'pail' } },
    body: String.fromCharCode(...file),
    bodySerializer: () => file,
    headers: { 'Content-Type': 'application/octet-stream' },
  }),
);
const tray = dataOf(
  await api.POST('/v1/buffers', { body: { name: 'tray', size_bytes: 4096, access: ['remote_write'] } }),
);
const remote = { addr: given(tray.addr), rkey: given(tray.rkey) };
const write = { connection: 'to-p', op: 'write', buffer: 'pail', remote } as const;
const { id } = dataOf(await api.POST('/v1/transfers', { body: write }));

// Wait for a transfer
const done = dataOf(
  await api.GET('/v1/transfers/{ref}', { params: { path: { ref: String(id) }, query: ended } }),
);
expect(done.state === 'done', `the transfer is ${done.state}`);

// Find out which transfers of a batch failed
const astray = { ...write, connection: 'spare', remote: { ...remote, rkey: '0x00000000' } };
const batch = dataOf(await api.POST('/v1/transfer_batches', { body: { transfers: [write, astray] } }));
const counts = dataOf(
  await api.GET('/v1/transfer_batches/{ref}', { params: { path: { ref: String(batch.id) }, query: ended } }),
).counts;
expect(counts?.done === 1 && counts.failed === 1, 'one transfer of the batch failed');
const failed = dataOf(
  await api.GET('/v1/transfers', {
    params: { query: { batch: String(batch.id), state: ['failed', 'timed_out'], fields: 'connection,error' } },
  }),
);
expect(given(given(failed.items[0]).error).code !== '', 'the failed transfer has a code');

// Send a line, read a line
const path = { ref: 'to-p' };
dataOf(
  await api.POST('/v1/connections/{ref}/messages', { params: { path, header: prefer }, body: { data: 'hello\n' } }),
);
const inbox = dataOf(
  await api.GET('/v1/connections/{ref}/messages', {
    params: { path: { ref: String(peersEnd) }, query: { wait_ms: 60_000 } },
  }),
);
expect(inbox.items[0]?.data === 'hello\n', 'the peer reads the line');

// Repeat a request safely
const once = { params: { path, header: { 'Idempotency-Key': randomUUID() } }, body: { data: 'once' } };
const first = dataOf(await api.POST('/v1/connections/{ref}/messages', once));
const second = await api.POST('/v1/connections/{ref}/messages', once);
expect(dataOf(second).id === first.id, 'the message is sent once');
expect(second.response.headers.get('Idempotency-Replayed') === 'true', 'the second answer is the first one');

// Wait until any connection fails
const watched = { type: ['connection_ended' as const], severity: 'warning' as const, limit: 1 };
const stream = api.GET('/v1/events/stream', { params: { query: watched }, parseAs: 'text' });
const refused = await connect('nobody', 7476);
expect(refused.error?.status === 424, `nobody listens there: ${refused.error?.detail}`);
const event: components['schemas']['Event'] = JSON.parse(firstEvent(dataOf(await stream)));
expect(event.object?.name === 'nobody', 'the event names the connection that failed');

// Close all connections of a job
const closed = dataOf(
  await api.POST('/v1/objects/-/cancel', { params: { query: { kind: 'connection', label: 'job=nightly' } } }),
);
expect(closed.selected === 1, 'the connection of the job is closed');

// Ask why a connection ended
const why = dataOf(await api.GET('/v1/connections/{ref}/explain', { params: { path: { ref: 'nobody' } } }));
expect(why.summary.length > 0 && why.hints.length > 0, `why it failed: ${why.summary}`);

// Count the failures of each peer
const failures = dataOf(
  await api.GET('/v1/connections', {
    params: { query: { state: ['failed'], sort: '-ended_at', fields: 'peer,end_code,ended_at', limit: 1000 } },
  }),
).items;
expect(failures.filter(({ peer }) => peer?.addr === addr).length === 3, 'both ends of spare, and nobody, failed');
