// SPDX-License-Identifier: Apache-2.0
//
// The ten recipes of docs/recipes.md, written with the client that @hey-api/openapi-ts makes. Usage:
// recipes_sdk.mjs URL ADDR, where ADDR reaches the daemon over RDMA.
import { randomUUID } from 'node:crypto';
import { dataOf, expect, firstEvent, given } from './expect.mjs';
import { client } from './sdk/client.gen.js';
import * as verbsd from './sdk/index.js';

const [, , baseUrl, addr] = process.argv.map(String);
client.setConfig({ baseUrl });
const headers = { Prefer: 'wait=30' };
const ended = { until: 'ended', wait_ms: 60_000 } as const;

// Connect, and wait until the connection is established
const labels = { job: 'nightly' };
dataOf(await verbsd.createListener({ body: { name: 'porch', addr: '0.0.0.0', port: 7475 } }));
const connect = (name: string, dst_port: number) =>
  verbsd.createConnection({ headers, body: { name, dst_addr: addr, dst_port, labels } });
dataOf(await connect('spare', 7475));
expect(dataOf(await connect('to-p', 7475)).state === 'established', 'the connection is established');
const ends = dataOf(await verbsd.listConnections({ query: { listener: 'porch', sort: '-id', limit: 1 } }));
const peersEnd = given(ends.items[0]).id;

// Put a file into a buffer of the peer
const file = new Blob(['the bytes of a file\n']);
dataOf(await verbsd.createBuffer({ body: { name: 'pail', size_bytes: file.size } }));
dataOf(await verbsd.putBufferData({ path: { ref: 'pail' }, body: file }));
const tray = dataOf(
  await verbsd.createBuffer({ body: { name: 'tray', size_bytes: 4096, access: ['remote_write'] } }),
);
const remote = { addr: given(tray.addr), rkey: given(tray.rkey) };
const write = { connection: 'to-p', op: 'write', buffer: 'pail', remote } as const;
const { id } = dataOf(await verbsd.createTransfer({ body: write }));

// Wait for a transfer
const done = dataOf(await verbsd.getTransfer({ path: { ref: String(id) }, query: ended }));
expect(done.state === 'done', `the transfer is ${done.state}`);

// Find out which transfers of a batch failed
const astray = { ...write, connection: 'spare', remote: { ...remote, rkey: '0x00000000' } };
const batch = String(dataOf(await verbsd.createTransferBatch({ body: { transfers: [write, astray] } })).id);
const { counts } = dataOf(await verbsd.getTransferBatch({ path: { ref: batch }, query: ended }));
expect(counts?.done === 1 && counts.failed === 1, 'one transfer of the batch failed');
const failed = dataOf(
  await verbsd.listTransfers({ query: { batch, state: ['failed', 'timed_out'], fields: 'connection,error' } }),
);
expect(given(given(failed.items[0]).error).code !== '', 'the failed transfer has a code');

// Send a line, read a line
const path = { ref: 'to-p' };
dataOf(await verbsd.sendMessage({ path, headers, body: { data: 'hello\n' } }));
const inbox = dataOf(
  await verbsd.listMessages({ path: { ref: String(peersEnd) }, query: { wait_ms: 60_000 } }),
);
expect(inbox.items[0]?.data === 'hello\n', 'the peer reads the line');

// Repeat a request safely
const once = { path, headers: { 'Idempotency-Key': randomUUID() }, body: { data: 'once' } };
const first = dataOf(await verbsd.sendMessage(once));
const second = await verbsd.sendMessage(once);
expect(dataOf(second).id === first.id, 'the message is sent once');
expect(second.response.headers.get('Idempotency-Replayed') === 'true', 'the second answer is the first one');

// Wait until any connection fails
const stream = verbsd.streamEvents({
  query: { type: ['connection_ended'], severity: 'warning', limit: 1 },
  parseAs: 'text',
});
const refused = await connect('nobody', 7476);
expect(refused.error?.status === 424, `nobody listens there: ${refused.error?.detail}`);
const event: verbsd.Event = JSON.parse(firstEvent(dataOf(await stream)));
expect(event.object?.name === 'nobody', 'the event names the connection that failed');

// Close all connections of a job
const closed = dataOf(await verbsd.cancelObjects({ query: { kind: 'connection', label: 'job=nightly' } }));
expect(closed.selected === 1, 'the connection of the job is closed');

// Ask why a connection ended
const why = dataOf(await verbsd.explainConnection({ path: { ref: 'nobody' } }));
expect(why.summary.length > 0 && why.hints.length > 0, `why it failed: ${why.summary}`);

// Count the failures of each peer
const failures = dataOf(
  await verbsd.listConnections({
    query: { state: ['failed'], sort: '-ended_at', fields: 'peer,end_code,ended_at', limit: 1000 },
  }),
).items;
expect(failures.filter(({ peer }) => peer?.addr === addr).length === 3, 'both ends of spare, and nobody, failed');
