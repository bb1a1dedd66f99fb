// SPDX-License-Identifier: Apache-2.0
// Completion, requested from the program and from bash itself.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CTL, ctl, folder } from './lib/ctl.mjs';
import { buffer, connection } from './lib/samples.mjs';
import { FakeServer, page } from './lib/server.mjs';

const script = (shell) => fileURLToPath(new URL(`../../cmd/verbsctl/verbsctl.${shell}`, import.meta.url));

async function candidates(server, ...words) {
  const { code, stdout, stderr } = await ctl(server, ['__complete', '--', ...words]);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  return stdout.split('\n').filter(Boolean);
}

const nowhere = { url: 'http://127.0.0.1:1' };

test('completion: commands, verbs, options and values need no server', async () => {
  const all = await candidates(nowhere, '');
  for (const name of ['buf', 'buffers', 'connect', 'devices', 'events', 'ls', 'show', 'ud-endpoints'])
    assert.ok(all.includes(name), name);
  assert.ok(!all.includes('__complete'));
  assert.equal(new Set(all).size, all.length);
  assert.deepEqual(await candidates(nowhere, 'con'), ['connect', 'connections', 'connection-batches', 'config']);
  assert.deepEqual(await candidates(nowhere, 'buffer', 's'), ['show', 'sum']);
  assert.deepEqual(await candidates(nowhere, 'completion', ''), ['bash', 'zsh', 'fish']);
  assert.deepEqual(await candidates(nowhere, '-o', ''), ['json', 'text']);
  assert.deepEqual(await candidates(nowhere, 'buf', ''), ['ls', 'show', 'create', 'put', 'get', 'map', 'sum', 'wait', 'rm']);
  assert.deepEqual(await candidates(nowhere, 'buffers', 's'), ['show', 'sum']);
  assert.deepEqual(await candidates(nowhere, 'listeners', 's'), ['show', 'set']);
  assert.deepEqual(await candidates(nowhere, 'ls', '--s'), ['--state', '--sort', '--server']);
  assert.deepEqual(await candidates(nowhere, 'listen', '0.0.0.0', '--accept', ''), ['auto', 'manual', 'reject']);
  assert.deepEqual(await candidates(nowhere, 'listen', '--service', 'e'), ['echo']);
  assert.deepEqual(await candidates(nowhere, 'buf', 'put', 'x', ''), [':file']);
  assert.deepEqual(await candidates(nowhere, 'buf', 'get', 'x', '-o', ''), [':file']);
  assert.deepEqual(await candidates(nowhere, '--token-file', ''), [':file']);
  assert.deepEqual(await candidates(nowhere, 'ls', ''), []);
  assert.deepEqual(await candidates(nowhere, 'top', '--sort', 'r'), ['recv/s', 'rtt', 'rtt99', 'recv']);
  assert.deepEqual(await candidates(nowhere, 'history', '--sort', 'd'), ['duration', 'device']);
  assert.deepEqual(await candidates(nowhere, 'events', '--follow', '--f'), ['--follow']);
});

test('completion: names and ids come from the server of the line', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers': page([buffer(), buffer({ id: 4, name: null })]),
    'GET /v1/connections': page([connection()]) });
  assert.deepEqual(await candidates(server, 'show', ''), ['to-b', '7']);
  assert.deepEqual(await candidates(nowhere, '-s', server.url, 'buf', 'rm', 'a', ''), ['target', '3', '4']);
  assert.deepEqual(await candidates(server, 'buf', 'put', 'ta'), ['target']);
  assert.deepEqual(await candidates(server, 'write', ''), ['to-b', '7']);
  assert.deepEqual(await candidates(server, 'write', '--timeout', '5s', ''), ['to-b', '7']);
  assert.deepEqual(await candidates(server, 'windows', 'create', '--connection', ''), ['to-b', '7']);
  assert.equal(server.requests[0].query.fields, 'id,name');
});

test('completion: a server that is away, refuses or talks nonsense completes nothing', async (t) => {
  assert.deepEqual(await candidates(nowhere, 'show', ''), []);
  const server = await FakeServer.start(t, { 'GET /v1/connections': [{ status: 401, json: { code: 'unauthorized' } },
    { body: '<html>' }, { json: { items: 5 } }] });
  for (let i = 0; i < 3; i++)
    assert.deepEqual(await candidates(server, 'show', ''), []);
});

test('completion: a name that means something to a shell is not offered', async (t) => {
  const names = ['$(reboot)', 'a b', '-rf', 'a;b', '`x`', 'a\nb', '~', '*', 'good'];
  const server = await FakeServer.start(t, { 'GET /v1/connections': page(names.map((name, i) => connection({ id: i + 1, name }))) });
  const offered = await candidates(server, 'show', '');
  assert.deepEqual(offered.filter((word) => !/^\d+$/.test(word)), ['good']);
});

// Bash's completions of a line at the cursor, which is at its end or at "^". Readline hands over the line split at
// `breaks`, and replaces only the part of the last word behind them.
async function inBash(t, line, { url }, breaks = ':=') {
  const [typed, behind = ''] = line.split('^');
  const split = (text) => text.match(new RegExp(breaks ? `[${breaks}]+|[^\\s${breaks}]+` : '\\S+', 'g'));
  const words = split(typed + behind);
  const cword = split(typed).length - (typed.endsWith(' ') ? 0 : 1);
  const dir = folder();
  symlinkSync(CTL, join(dir, 'verbsctl'));
  mkdirSync(join(dir, 'work'));
  for (const name of ['some file', 'C:x=some'])
    writeFileSync(join(dir, 'work', name), '');
  const program = `
    source "$SCRIPT"
    COMP_LINE=$1 COMP_POINT=$2 COMP_CWORD=$3 COMP_WORDS=("\${@:4}")
    (( COMP_CWORD < \${#COMP_WORDS[@]} )) || COMP_WORDS+=('')
    _verbsctl
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const child = spawn('bash', ['--norc', '-c', program, 'bash', typed + behind, typed.length, cword, ...words], { cwd: join(dir, 'work'),
    env: { ...process.env, PATH: `${dir}:${process.env.PATH}`, SCRIPT: script('bash'), VERBSD_URL: url } });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => { out += chunk; });
  child.stderr.on('data', (chunk) => { err += chunk; });
  await new Promise((resolve) => { child.on('close', resolve); });
  assert.equal(err, '');
  return out.split('\n').filter(Boolean);
}

test('completion: the bash script offers what the program offers', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([connection()]) });
  assert.deepEqual(await inBash(t, 'verbsctl dev', server), ['devices']);
  assert.deepEqual(await inBash(t, 'verbsctl buf s', server), ['show', 'sum']);
  assert.deepEqual(await inBash(t, 'verbsctl close ', server), ['to-b', '7']);
  assert.deepEqual(await inBash(t, 'verbsctl buf put x s', server), ['some file']);
  assert.deepEqual(await inBash(t, 'verbsctl  dev^x  ls', server), ['devices']);
});

test('completion: the bash script takes a word with ":" and "=" as one', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/connections': page([connection()]) });
  for (const breaks of [':=', '=', '']) {
    for (const where of [`-s ${server.url}`, `--server  ${server.url} --output text`])
      assert.deepEqual(await inBash(t, `verbsctl ${where} close a=b:=c `, nowhere, breaks), ['to-b', '7'], where);
  }
  assert.deepEqual(await inBash(t, `verbsctl -s ${server.url} buf s`, nowhere), ['show', 'sum']);
  for (const typed of [server.url, 'http:', 'a='])
    assert.deepEqual(await inBash(t, `verbsctl -s ${typed}`, nowhere), []);
});

test('completion: the bash script offers the part of a file name behind its last ":" or "="', async (t) => {
  for (const [typed, offered] of [['C', 'C:x=some'], ['C:', 'x=some'], ['C:x', 'x=some'], ['C:x=', 'some'], ['C:x=so', 'some']])
    assert.deepEqual(await inBash(t, `verbsctl buf put x ${typed}`, nowhere), [offered], typed);
  assert.deepEqual(await inBash(t, 'verbsctl buf put x C:x', nowhere, ''), ['C:x=some']);
});

test('completion: the program prints the script of each shell, without a server', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await ctl({ url: 'not an address' }, ['completion', shell]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, readFileSync(script(shell), 'utf8'));
  }
  const { code, stderr } = await ctl(nowhere, ['completion', 'zhs']);
  assert.equal(code, 2);
  assert.match(stderr, /did you mean "completion zsh"\?/);
});
