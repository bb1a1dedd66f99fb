// SPDX-License-Identifier: Apache-2.0
// HTTPS: whom verbsctl trusts, how it proves who it is, and that a token goes to nobody in clear.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { Ca } from '../certificates.mjs';
import { ctl, folder } from './lib/ctl.mjs';
import { buffer, transfer } from './lib/samples.mjs';
import { FakeServer } from './lib/server.mjs';

const ca = new Ca(folder());
ca.issueServer();
ca.issue('alice');
ca.issue('expired', { days: -1 });
writeFileSync(ca.path('both.pem'), Buffer.concat([ca.read('alice.pem'), ca.read('alice.key')]));
const CA = ['--ca', ca.path('ca.pem')];
const ALICE = ['--cert', ca.path('alice.pem'), '--key', ca.path('alice.key')];

// Starts an HTTPS server that answers everything with `json` and notes the name and token of each client.
async function secure(t, json = {}, demands = { requestCert: true, rejectUnauthorized: false }) {
  const seen = [];
  const server = createServer({ ca: ca.read('ca.pem'), ...ca.credentials('server'), ...demands }, (request, response) => {
    seen.push([request.socket.getPeerCertificate().subject?.CN, request.headers.authorization]);
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(json));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => server.close());
  return { url: `https://127.0.0.1:${server.address().port}`, seen };
}

test('tls: the files come from options, or from the environment', async (t) => {
  const server = await secure(t);
  const env = { VERBSD_CA: ca.path('ca.pem'), VERBSD_CERT: ca.path('alice.pem'), VERBSD_KEY: ca.path('alice.key') };
  for (const [args, variables] of [[[...CA, ...ALICE], {}], [[], env], [[...CA, '--cert', ca.path('both.pem')], {}], [CA, { VERBSD_TOKEN: 'secret' }]]) {
    const { code, stderr } = await ctl(server, ['pds', 'show', '1', '--json', ...args], { env: variables });
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(server.seen, [['alice', undefined], ['alice', undefined], ['alice', undefined], [undefined, 'Bearer secret']]);
});

test('tls: a server whose certificate is of an unknown CA, or of another name, gets no request', async (t) => {
  const server = await secure(t);
  const unknown = await ctl(server, ['pds', 'show', '1'], { env: { VERBSD_TOKEN: 'secret' } });
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /no answer from verbsd at https:.*certificate.*; --ca names the file/i);
  const stranger = await secure(t, {}, { ...(ca.issueServer('other', 'DNS:other.example'), ca.credentials('other')) });
  const named = await ctl(stranger, ['pds', 'show', '1', ...CA], { env: { VERBSD_TOKEN: 'secret' } });
  assert.equal(named.code, 1);
  assert.match(named.stderr, /certificate/i);
  assert.deepEqual([...server.seen, ...stranger.seen], []);
});

test('tls: a certificate that the server refuses is told', async (t) => {
  const server = await secure(t, {}, { requestCert: true, rejectUnauthorized: true });
  for (const args of [[], ['--cert', ca.path('expired.pem'), '--key', ca.path('expired.key')]]) {
    const { code, stderr } = await ctl(server, ['pds', 'show', '1', ...CA, ...args]);
    assert.equal(code, 1);
    assert.match(stderr, /no answer from verbsd at https:/);
  }
  assert.deepEqual(server.seen, []);
});

test('tls: the verbsd of --remote is asked with the same files, and its own token', async (t) => {
  const peer = await secure(t, buffer({ name: 'target', state: 'ready', addr: '0x1', rkey: '0x2', access: ['remote_write'] }));
  const server = await FakeServer.start(t, { 'POST /v1/transfers': { status: 201, json: transfer({ state: 'done' }) } });
  const { code, stderr } = await ctl(server, ['write', '7', '--buffer', 'b', '--remote', `${peer.url}#target`, ...CA, ...ALICE],
    { env: { VERBSD_TOKEN: 'mine', VERBSD_PEER_TOKEN: 'theirs' } });
  assert.equal(code, 0, stderr);
  assert.deepEqual(peer.seen, [['alice', 'Bearer theirs']]);
});

test('tls: a token goes to another host in clear only with --insecure', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/pds/1': { json: {} } }, { host: '0.0.0.0' });
  const env = { VERBSD_TOKEN: 'secret' };
  // An own address that others reach: verbsctl takes it for another host.
  const own = Object.values(networkInterfaces()).flat().find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  const other = { url: server.url.replace('127.0.0.1', own ?? 'b.example') };
  for (const where of [other, { url: 'http://a.example' }, { url: 'a.example:1' }, { url: 'http://127.0.0.1.example' }, { url: 'http://localhost.example' }]) {
    const { code, stderr } = await ctl(where, ['pds', 'show', '1'], { env });
    assert.equal(code, 2, where.url);
    assert.match(stderr, /the token would go to .* in clear.*https:\/\/, or --insecure/);
  }
  assert.deepEqual(server.calls, []);
  for (const host of ['localhost', '127.0.0.1', '[::ffff:127.0.0.1]'])
    assert.equal((await ctl({ url: server.url.replace('127.0.0.1', host) }, ['pds', 'show', '1', '--json'], { env })).code, 0);
  assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), Array(3).fill('Bearer secret'));
  if (!own)
    return;
  assert.equal((await ctl(other, ['pds', 'show', '1', '--insecure', '--json'], { env })).code, 0);
  assert.equal((await ctl(other, ['pds', 'show', '1', '--json'])).code, 0);
  assert.deepEqual(server.requests.slice(3).map(({ headers }) => headers.authorization), ['Bearer secret', undefined]);
});

test('tls: files that are not there, and a key alone, are refused before anything is sent', async (t) => {
  const server = await secure(t);
  for (const [args, says] of [[['--ca', '/nonexistent'], /CA file \/nonexistent: No such file/],
    [['--cert', '/nonexistent'], /certificate file \/nonexistent/], [[...ALICE.slice(0, 3), '/nonexistent'], /key file \/nonexistent/],
    [['--key', ca.path('alice.key')], /--key needs --cert/]]) {
    const { code, stderr } = await ctl(server, ['pds', 'show', '1', ...args]);
    assert.equal(code, 2);
    assert.match(stderr, says);
  }
  assert.deepEqual(server.seen, []);
});
