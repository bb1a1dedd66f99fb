// SPDX-License-Identifier: Apache-2.0
// The command line itself: errors found before any request, and help.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CTL, ctl, environment } from './lib/ctl.mjs';
import { FakeServer, page } from './lib/server.mjs';

const MAN = new URL('../../docs/verbsctl.1.scd', import.meta.url);

async function helpLines(args) {
  const { code, stdout, stderr } = await ctl(null, args);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  return stdout.split('\n');
}

// Runs a command of the shell, in which $0 is verbsctl.
function inShell(command, args) {
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command, CTL, ...args], { encoding: 'utf8', env: environment() });
  return { status, stdout, stderr };
}

// The lines of a section of --help: [first word, rest].
function section(lines, title) {
  const from = lines.indexOf(title) + 1;
  return lines.slice(from, lines.indexOf('', from)).map((line) => line.trim().match(/^(\S+) *(.*)$/).slice(1));
}

// Every command as --help names it: "buffers put".
async function commands() {
  const found = [];
  let noun;
  for (const line of (await helpLines(['--help'])).join('\n').match(/Nouns and their verbs:\n((?: .*\n)+)/)[1].trimEnd().split('\n')) {
    const words = line.match(/[a-z-]+/g);
    if (/^ {2}\S/.test(line))
      noun = words.shift();
    found.push(...words.map((verb) => `${noun} ${verb}`));
  }
  return found;
}

const WRONG = [
  { args: [], says: /needs a command/ },
  { args: ['conect', 'x:1'], says: /no command "conect"; did you mean "connect"\?/ },
  { args: ['list'], says: /did you mean "listen"\?/ },
  { args: ['buf', 'pt', 'a', 'b'], says: /no command "buf pt"; did you mean "buf put"\?/ },
  { args: ['frobnicate'], says: /no command "frobnicate"; see `verbsctl --help`/ },
  { args: ['reachability'], says: /reachability: needs a verb; see `verbsctl reachability --help`/ },
  { args: ['buffers', 'rn'], says: /no command "buffers rn"; did you mean "buffers rm"\?/ },
  { args: ['bufers', 'ls'], says: /no command "bufers"; did you mean "buffers"\?/ },
  { args: ['s', 'ls'], says: /no command "s"/ },
  { args: ['ls', '-o', 'yaml'], says: /--output must be json or text, not "yaml"/ },
  { args: ['ls', '-o'], says: /--output needs json\|text/ },
  { args: ['status', 'delete'], says: /no command "status delete"/ },
  { args: ['show'], says: /show: needs CONNECTION/ },
  { args: ['show', '1', '2'], says: /"2" is one operand too many/ },
  { args: ['ls', '-s', 'http://127.1:7480'], says: /"http:\/\/127\.1:7480" is not an address of verbsd/ },
  { args: ['ls', '-s', '0x7f000001:7480'], says: /is not an address of verbsd/ },
  { args: ['ls', '-s', 'https://0:7480'], says: /is not an address of verbsd/ },
  { args: ['show', ''], says: /must not be empty/ },
  { args: ['ls', '--nope'], says: /ls: no option --nope/ },
  { args: ['ls', '-Z'], says: /ls: no option -Z/ },
  { args: ['ls', '--state'], says: /--state needs STATE/ },
  { args: ['ls', '--json=yes'], says: /--json takes no value/ },
  { args: ['ls', '--limit', 'ten'], says: /--limit must be a number, not "ten"/ },
  { args: ['ls', '--limit', '-1'], says: /--limit must be a number/ },
  { args: ['ls', '--limit', '99999999999999999999'], says: /--limit must be a number/ },
  { args: ['buf', 'create', 'x', '--size', '1Q'], says: /--size must be a number of bytes/ },
  { args: ['buf', 'create', 'x', '--size', '1.5K'], says: /--size must be a number of bytes/ },
  { args: ['buf', 'create', 'x', '--size', '1Kx'], says: /--size must be a number of bytes/ },
  { args: ['buf', 'create', 'x', '--size', ''], says: /--size must be a number of bytes/ },
  { args: ['connect', 'h:1', '--timeout', '1.2.3s'], says: /--timeout must be a time/ },
  { args: ['connect', 'h:1', '--timeout', '-1s'], says: /--timeout must be a time/ },
  { args: ['connect', 'h:1', '--timeout', '99999999999h'], says: /--timeout must be a time/ },
  { args: ['buf', 'create', 'x', '--size', '9999999T'], says: /--size must be a number of bytes/ },
  { args: ['connect', 'h:1', '--timeout', 'soon'], says: /--timeout must be a time/ },
  { args: ['connect', 'host'], says: /is not HOST:PORT/ },
  { args: ['connect', 'host:seven'], says: /is not HOST:PORT/ },
  { args: ['connect', '::1:7471'], says: /is not HOST:PORT/ },
  { args: ['connect', ':7471'], says: /is not HOST:PORT/ },
  { args: ['connect', '[::1:7471'], says: /is not HOST:PORT/ },
  { args: ['listen', '[::]7471'], says: /is not ADDR or ADDR:PORT/ },
  { args: ['listeners', 'set', 'x'], says: /needs an option with a new value/ },
  { args: ['write', '1'], says: /needs one of --buffer and --sges/ },
  { args: ['write', '1', '--buffer', 'b'], says: /needs --remote, or --remote-addr/ },
  { args: ['write', '1', '--buffer', 'b', '--remote-addr', '0x1'], says: /needs --remote/ },
  { args: ['write', '1', '--buffer', 'b', '--remote', '#x', '--remote-rkey', '0x1'],
    says: /needs --remote/ },
  { args: ['write', '1', '--buffer', 'b', '--remote', 'http://h'], says: /must be URL#NAME/ },
  { args: ['write', '1', '--buffer', 'b', '--remote-addr', '4096', '--remote-rkey', '0x1'],
    says: /--remote-addr must be a number in hex/ },
  { args: ['send', '1'], says: /needs one of TEXT, --file, --buffer and --sges/ },
  { args: ['send', '1', 'text', '--buffer', 'b'], says: /needs one of/ },
  { args: ['send', '1', 'text', '--offset', '4'], says: /belong to --buffer/ },
  { args: ['recv', '1', '--raw', '--json'], says: /exclude each other/ },
  { args: ['-s', 'ftp://x', 'ls'], says: /not an address of verbsd/ },
  { args: ['-s', 'http://user:pass@x', 'ls'], says: /not an address of verbsd/ },
  { args: ['-s', 'unix:relative', 'ls'], says: /a socket is unix:\/PATH/ },
  { args: ['--token-file', '/nonexistent', 'ls'], says: /token file \/nonexistent: No such file/ },
];

for (const { args, says } of WRONG) {
  test(`usage: "${args.join(' ')}" is refused with 2 and sends nothing`, async (t) => {
    const server = await FakeServer.start(t);
    const { code, stdout, stderr } = await ctl(server, args);
    assert.equal(code, 2);
    assert.match(stderr, says);
    assert.match(stderr, /^verbsctl: [^\n]*\n$/);
    assert.equal(stdout, '');
    assert.deepEqual(server.calls, []);
  });
}

test('usage: an option of a command that is also a common one is told once', async () => {
  const lines = await helpLines(['buf', 'get', '--help']);
  assert.equal(lines.filter((line) => line.includes('-o, ')).length, 1);
  assert.match(lines.join('\n'), /-o, --output FILE/);
});

test('usage: each command explains itself, and the man page knows it and its options', async () => {
  const man = readFileSync(MAN, 'utf8');
  const [kinds] = man.match(/^_NOUN_ is [^.]+/m);
  const found = await commands();
  assert.ok(found.includes('connections create') && found.includes('multicast-memberships rm'), found.join());
  for (const name of found) {
    const lines = await helpLines([...name.split(' '), '--help']);
    assert.match(lines[0], new RegExp(`^Usage: verbsctl ${name}( .*)? \\[OPTION\\.\\.\\.\\]$`));
    const [noun, verb] = name.split(' ');
    assert.ok(man.includes(`*${name}*`) || (kinds.includes(`*${noun}*`) && man.includes(`\n_NOUN_ *${verb}*`)), `man page: ${name}`);
    for (const [option] of lines.join('\n').matchAll(/--[a-z][a-z0-9-]*/g))
      assert.ok(man.includes(`*${option.replaceAll('-', '\\-')}*`) || man.includes(`*${option}*`), `man page: ${option}`);
  }
});

test('usage: each short form is another name of one command, and the man page says of which', async () => {
  const man = readFileSync(MAN, 'utf8');
  const shorts = section(await helpLines(['--help']), 'Short forms:');
  assert.ok(shorts.length > 10);
  for (const [short, rest] of shorts) {
    const [, whole] = rest.match(/^([a-z-]+(?: [a-z-]+)?)(?: {2,}|$)/);
    assert.deepEqual(await helpLines([short, '--help']), await helpLines([...whole.split(' '), '--help']), short);
    assert.match(man, new RegExp(`\\|[ :]*\\*${short}\\*\n:[ :]*\\*${whole}\\*`), `man page: ${short}`);
  }
});

test('usage: each noun has verbs of its own help, and alone it lists', async (t) => {
  const server = await FakeServer.start(t, { 'GET /v1/buffers': page([]) });
  const text = (await helpLines(['buf', '--help'])).join('\n');
  assert.match(text, /^Usage: verbsctl \[OPTION...\] buffers VERB/);
  assert.match(text, /buffers put BUFFER FILE/);
  assert.doesNotMatch(text, /connections/);
  for (const args of [['buffers'], ['buffers', 'ls'], ['buf'], ['buf', '--json'], ['buffers', '--limit', '5']])
    assert.equal((await ctl(server, args)).code, 0, args.join(' '));
  assert.deepEqual(new Set(server.calls), new Set(['GET /v1/buffers']));
});

test('usage: --help wins over missing operands, and needs no server', async () => {
  const { code, stdout } = await ctl(null, ['show', '--help']);
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: verbsctl connections show CONNECTION/);
});

test('usage: --version prints one line', async () => {
  const { code, stdout } = await ctl(null, ['--version']);
  assert.equal(code, 0);
  assert.match(stdout, /^verbsctl \d+\.\d+\.\d+\n$/);
});

test('usage: output that can not be written is a failure', async () => {
  for (const args of [['--help'], ['--version'], ['buffers', '--help'], ['completion', 'bash']])
    assert.deepEqual(inShell('exec "$0" "$@" > /dev/full', args),
      { status: 1, stdout: '', stderr: 'verbsctl: standard output: No space left on device\n' });
});

test('usage: a closed descriptor is no other file', () => {
  const lost = { status: 1, stdout: '', stderr: 'verbsctl: standard output: Bad file descriptor\n' };
  assert.deepEqual(inShell('exec "$0" "$@" >&-', ['--version']), lost);
  assert.deepEqual(inShell('exec "$0" "$@" <&- >&-', ['--version']), lost);
  assert.deepEqual(inShell('exec "$0" "$@" >&- 2>&-', ['--version']), { status: 1, stdout: '', stderr: '' });
  assert.deepEqual(inShell('exec "$0" "$@" <&-', ['transfer-batches', 'create', '-']).status, 1);
  assert.match(inShell('exec "$0" "$@" <&-', ['send', '7', '--file', '-']).stderr, /^verbsctl: -: Bad file descriptor\n$/);
});
