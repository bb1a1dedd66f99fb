// SPDX-License-Identifier: Apache-2.0
// Bytes into and out of buffers: streamed, complete, and with true byte counts.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { spawnSync } from 'node:child_process';
import { CTL, ctl, folder } from './lib/ctl.mjs';
import { buffer, problem } from './lib/samples.mjs';
import { FakeServer } from './lib/server.mjs';

const PUT = 'PUT /v1/buffers/target/data';
const GET = 'GET /v1/buffers/target/data';
const written = (length_bytes) => ({ algorithm: 'crc32c', checksum: '00000000', offset_bytes: 0, length_bytes });
const octets = { 'Content-Type': 'application/octet-stream' };
const unsatisfiable = { status: 416, json: problem({ status: 416, code: 'range_not_satisfiable',
  title: 'The range lies outside the buffer', detail: 'buffer/3 has 16 bytes', instance: '/v1/buffers/3',
  reason: undefined, cm_event: undefined }) };

function fileOf(t, bytes) {
  const path = join(folder(), 'file');
  writeFileSync(path, bytes);
  return path;
}

test('data: buf put sends a file with its length, and creates nothing', async (t) => {
  const server = await FakeServer.start(t, { [PUT]: { status: 200, json: written(0) } });
  const bytes = randomBytes(3 * 1024 * 1024 + 7);
  const { code, stdout, stderr } = await ctl(server, ['buf', 'put', 'target', fileOf(t, bytes), '--offset', '4K']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, `${bytes.length} bytes put\n`);
  assert.equal(stderr, '');
  assert.deepEqual(server.calls, [PUT, 'GET /v1/buffers/target']);
  const [{ headers, query, body }] = server.requests;
  assert.deepEqual(query, { offset_bytes: '4096' });
  assert.equal(headers['content-length'], String(bytes.length));
  assert.equal(headers['content-type'], 'application/octet-stream');
  assert.ok(bytes.equals(body));
});

test('data: buf put --create makes a buffer of the file\'s size', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/buffers': { status: 201, json: buffer({ id: 9 }) },
    'PUT /v1/buffers/9/data': { status: 200, json: written(4) } });
  const { code, stdout, stderr } = await ctl(server, ['buf', 'put', 'pail', fileOf(t, 'four'), '--create', '--access', 'remote_read']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, '4 bytes put\n');
  assert.deepEqual(server.requests[0].json, { name: 'pail', size_bytes: 4, access: ['remote_read'] });
  assert.equal(server.requests[1].body.toString(), 'four');
});

test('data: buf put --create leaves nothing behind when the bytes are refused', async (t) => {
  const server = await FakeServer.start(t, { 'POST /v1/buffers': { status: 201, json: buffer({ id: 9 }) },
    'PUT /v1/buffers/9/data': { status: 503, json: problem({ code: 'stopping', status: 503 }) }, 'DELETE /v1/buffers/9': { status: 204 } });
  assert.equal((await ctl(server, ['buf', 'put', 'pail', fileOf(t, 'four'), '--create'])).code, 1);
  assert.deepEqual(server.calls, ['POST /v1/buffers', 'PUT /v1/buffers/9/data', 'DELETE /v1/buffers/9']);
});

test('data: buf put --create names its operand when the name is taken', async (t) => {
  const taken = problem({ status: 409, code: 'name_taken', instance: undefined, errors: [{ pointer: '/name', detail: "the name 'pail' is taken" }] });
  const server = await FakeServer.start(t, { 'POST /v1/buffers': { status: 409, json: taken } });
  const { stderr } = await ctl(server, ['buf', 'put', 'pail', fileOf(t, 'four'), '--create']);
  assert.match(stderr, /name_taken: BUFFER: the name 'pail' is taken/);
});

test('data: buf put tells of the bytes of a longer buffer, which a write would send too', async (t) => {
  const server = await FakeServer.start(t, { [PUT]: { status: 200, json: written(4) }, 'GET /v1/buffers/target': { json: buffer({ size_bytes: 9 }) } });
  const { code, stdout } = await ctl(server, ['buf', 'put', 'target', fileOf(t, 'four')]);
  assert.equal(code, 0);
  assert.equal(stdout, '4 bytes put; the other 5 of target are unchanged\n');
});

test('data: buf put --create has no other meaning beside other options', async (t) => {
  const server = await FakeServer.start(t, {});
  const path = fileOf(t, 'x');
  for (const [args, says] of [[[path, '--create', '--offset', '4'], /exclude each other/], [[path, '--kind', 'shared'], /need --create/],
    [['-', '--create'], /a file whose size is known/]]) {
    const { code, stderr } = await ctl(server, ['buf', 'put', 'pail', ...args]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
  assert.deepEqual(server.calls, []);
});

test('data: buf put does not hold the file in memory', async (t) => {
  let seen = 0;
  const server = await FakeServer.start(t, { [PUT]: { status: 200, json: written(0) } });
  server.server.removeAllListeners('request');
  server.server.on('request', (request, response) => {
    request.on('data', (chunk) => { seen += chunk.length; });
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(written(0))));
  });
  const path = join(folder(), 'sparse');
  spawnSync('truncate', ['-s', '256M', path]);
  // An address space too small for twice the file. Not under AddressSanitizer, which needs
  // terabytes of it.
  const limit = process.env.VBD_CTL_SANITIZED ? '' : 'ulimit -v 262144; ';
  const { code, stderr } = await ctlInShell(server, `${limit}exec "$0" buf put target "$1"`, [path]);
  assert.equal(code, 0, stderr);
  assert.equal(seen, 256 * 1024 * 1024);
});

async function ctlInShell(server, line, args) {
  const { spawn } = await import('node:child_process');
  const child = spawn('/bin/sh', ['-c', line, CTL, ...args], { env: { ...process.env, VBD_URL: '', VERBSD_URL: server.url } });
  let stderr = '';
  child.stderr.on('data', (chunk) => { stderr += chunk; });
  child.stdout.resume();
  const code = await new Promise((resolve) => { child.on('close', resolve); });
  return { code, stderr };
}

test('data: buf put takes standard input, whose length is unknown', async (t) => {
  const server = await FakeServer.start(t, { [PUT]: { status: 200, json: written(0) } });
  const bytes = randomBytes(200000);
  const { code, stdout } = await ctl(server, ['buf', 'put', 'target', '-'], { input: bytes });
  assert.equal(code, 0);
  assert.equal(stdout, '200000 bytes put\n');
  assert.equal(server.requests[0].headers['transfer-encoding'], 'chunked');
  assert.ok(bytes.equals(server.requests[0].body));
});

test('data: buf put reads a file to its end, whatever size it claims', async (t) => {
  const server = await FakeServer.start(t, { [PUT]: { status: 200, json: written(0) } });
  const path = join(folder(), 'fifo');
  spawnSync('mkfifo', [path]);
  for (const [name, wanted] of [['/proc/version', readFileSync('/proc/version')], ['/sys/kernel/mm/transparent_hugepage/enabled',
    readFileSync('/sys/kernel/mm/transparent_hugepage/enabled')], [path, 'from a FIFO']]) {
    const run = ctl(server, ['buf', 'put', 'target', name]);
    if (name === path)
      await writeFile(path, wanted);
    const { code, stdout, stderr } = await run;
    assert.equal(code, 0, stderr);
    assert.equal(stdout, `${wanted.length} bytes put\n`);
    assert.equal(server.requests.findLast(({ method }) => method === 'PUT').body.toString(), wanted.toString());
  }
  const { code, stderr } = await ctl(server, ['buf', 'put', 'pail', '/proc/version', '--create']);
  assert.equal(code, 2);
  assert.match(stderr, /a file whose size is known/);
});

// The answer to the first part of the body comes when the file has changed.
for (const [how, change, said] of [['grows', (path) => appendFileSync(path, 'more'), /has grown meanwhile/],
  ['shrinks', (path) => truncateSync(path, 100), /the file became shorter/]])
  test(`data: buf put of a file that ${how} is a failure`, async (t) => {
    const server = await FakeServer.start(t, {});
    const path = fileOf(t, randomBytes(64 << 20));
    server.server.removeAllListeners('request');
    server.server.on('request', (request, response) => {
      request.once('data', () => change(path));
      request.on('error', () => {});
      request.on('data', () => {});
      request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(written(0))));
    });
    const { code, stderr } = await ctl(server, ['buf', 'put', 'target', path]);
    assert.match(stderr, said);
    assert.equal(code, 1);
  });

test('data: an empty file is the server\'s to judge', async (t) => {
  const server = await FakeServer.start(t, { [PUT]: { status: 200, json: written(0) } }, { anything: true });
  const { code, stdout } = await ctl(server, ['buf', 'put', 'target', fileOf(t, '')]);
  assert.equal(code, 0);
  assert.equal(stdout, '0 bytes put\n');
});

test('data: buf put tells why a file can not be read, and asks nothing', async (t) => {
  const server = await FakeServer.start(t);
  const dir = folder();
  mkdirSync(join(dir, 'inner'));
  for (const [name, says] of [['missing', /missing: No such file/], ['inner', /inner: Is a directory/]]) {
    const { code, stderr } = await ctl(server, ['buf', 'put', 'target', join(dir, name)]);
    assert.equal(code, 1);
    assert.match(stderr, says);
  }
  assert.deepEqual(server.calls, []);
});

test('data: buf put tells the refusal of a server that does not read on', async (t) => {
  const server = await FakeServer.start(t, { [PUT]: { ...unsatisfiable, early: true } });
  for (const size of [100, 8 * 1024 * 1024]) {
    const { code, stderr } = await ctl(server, ['buf', 'put', 'target', fileOf(t, randomBytes(size))]);
    assert.equal(code, 1);
    assert.match(stderr, /buffer\/3: range_not_satisfiable: .*has 16 bytes/);
  }
});

test('data: a new file of buf get -o is its owner\'s only, and an old one keeps its mode', async (t) => {
  const server = await FakeServer.start(t, { [GET]: { headers: octets, body: Buffer.from('secret') } });
  const path = join(folder(), 'new');
  const mask = process.umask(0);
  t.after(() => process.umask(mask));
  assert.equal((await ctl(server, ['buf', 'get', 'target', '-o', path])).code, 0);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  chmodSync(path, 0o644);
  assert.equal((await ctl(server, ['buf', 'get', 'target', '-o', path])).code, 0);
  assert.equal(statSync(path).mode & 0o777, 0o644);
});

test('data: buf map tells the server\'s refusal, over TCP and over the unix socket, and runs nothing', async (t) => {
  const refusal = { status: 421, json: problem({ status: 421, code: 'unix_socket_only', title: 'A descriptor is given over the unix socket only',
    detail: 'no', instance: '/v1/buffers/target/fd', reason: undefined, cm_event: undefined }) };
  for (const unix of [false, true]) {
    const server = await FakeServer.start(t, { 'GET /v1/buffers/target/fd': refusal }, { unix });
    const path = join(folder(), 'ran');
    const { code, stderr } = await ctl(server, ['buf', 'map', '--read-only', 'target', '--', 'touch', path]);
    assert.equal(code, 1);
    assert.match(stderr, /unix_socket_only/);
    assert.ok(!existsSync(path));
    assert.deepEqual(server.requests.at(-1).query, { access: 'read' });
  }
});

test('data: buf map does not take an answer without a descriptor', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers/target/fd': { json: buffer() } }, { unix: true });
  const { code, stderr } = await ctl(server, ['buf', 'map', 'target', 'true']);
  assert.equal(code, 1);
  assert.match(stderr, /without a descriptor/);
});

test('data: buf get writes the bytes to standard output', async (t) => {
  const bytes = randomBytes(1024 * 1024);
  const server = await FakeServer.start(t, { [GET]: { headers: octets, body: bytes } });
  const { code, bytes: got, stderr } = await ctl(server, ['buf', 'get', 'target']);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  assert.ok(bytes.equals(got));
});

test('data: buf get writes a file', async (t) => {
  const bytes = randomBytes(100000);
  const path = fileOf(t, randomBytes(300000));
  const server = await FakeServer.start(t, { [GET]: { headers: octets, body: bytes } });
  const { code, stdout } = await ctl(server, ['buf', 'get', 'target', '-o', path]);
  assert.equal(code, 0);
  assert.equal(stdout, '');
  assert.ok(bytes.equals(readFileSync(path)));
});

test('data: buf get asks for a range', async (t) => {
  const server = await FakeServer.start(t, { [GET]: { headers: octets, body: 'cd' } });
  const { code, stdout } = await ctl(server, ['buf', 'get', 'target', '--offset', '2', '--length', '2']);
  assert.equal(code, 0);
  assert.equal(stdout, 'cd');
  assert.deepEqual(server.requests[0].query, { offset_bytes: '2', length_bytes: '2' });
});

test('data: buf get leaves a file alone when it is refused', async (t) => {
  const path = fileOf(t, 'precious');
  const server = await FakeServer.start(t, { [GET]: unsatisfiable });
  const { code, stderr } = await ctl(server, ['buf', 'get', 'target', '-o', path, '--offset', '99']);
  assert.equal(code, 1);
  assert.match(stderr, /range_not_satisfiable/);
  assert.equal(readFileSync(path, 'utf8'), 'precious');
  const missing = `${path}.new`;
  await ctl(server, ['buf', 'get', 'target', '-o', missing]);
  assert.ok(!existsSync(missing));
});

test('data: buf get says so when not all of it came', async (t) => {
  const path = fileOf(t, '');
  const server = await FakeServer.start(t, { [GET]: (_, response) => {
    response.writeHead(200, { ...octets, 'Content-Length': '1000' });
    response.write('only this', () => response.destroy());
  } });
  const { code, stderr } = await ctl(server, ['buf', 'get', 'target', '-o', path]);
  assert.equal(code, 1);
  assert.match(stderr, /no answer from verbsd at/);
  assert.match(stderr, /has only the first 9 bytes/);
});

test('data: buf get tells when the file can not be written', async (t) => {
  const server = await FakeServer.start(t, { [GET]: { headers: octets, body: 'bytes' } });
  const { code, stderr } = await ctl(server, ['buf', 'get', 'target', '-o', '/nonexistent/file']);
  assert.equal(code, 1);
  assert.equal(stderr, 'verbsctl: /nonexistent/file: No such file or directory\n');
  const full = await ctl(server, ['buf', 'get', 'target', '-o', '/dev/full']);
  assert.equal(full.code, 1);
  assert.match(full.stderr, /\/dev\/full: No space left on device/);
});

test('data: buf get asks for no more once the file can not be written', async (t) => {
  const server = await FakeServer.start(t, { [GET]: (_, response) => {
    response.writeHead(200, octets);
    // libcurl would take the number 1 as the success of a part of one byte.
    response.write('a');
    response.end('nd the rest');
  } });
  const { code, stderr } = await ctl(server, ['buf', 'get', 'target', '-o', '/dev/full']);
  assert.equal(code, 1);
  assert.equal(stderr.match(/No space left on device/g).length, 1, stderr);
});

test('data: buf sum prints checksum and name as sha256sum does', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers/target/checksum': { json: { algorithm: 'sha256',
    checksum: 'ab12', offset: 4, length_bytes: 8 } } });
  const { code, stdout } = await ctl(server, ['buf', 'sum', 'target', '--algorithm', 'sha256', '--offset', '4', '--length', '8']);
  assert.equal(code, 0);
  assert.equal(stdout, 'ab12  target\n');
  assert.deepEqual(server.requests[0].query, { algorithm: 'sha256', offset_bytes: '4', length_bytes: '8' });
});
