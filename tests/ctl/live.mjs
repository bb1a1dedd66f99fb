// SPDX-License-Identifier: Apache-2.0
// live.mjs VERBSD: top, events -f and history over two real daemons; one of them is killed and one
// restarted. Runs in a guest of the lab ($LAB_ADDR is the address of its device), started by guest.sh; $VBD_CTL is the
// verbsctl.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ctl, folder, start } from './lib/ctl.mjs';
import { startOnTerminal } from './lib/screen.mjs';

const [verbsd] = process.argv.slice(2);
const { LAB_ADDR } = process.env;
const A = { url: 'http://127.0.0.1:7482' };
const B = { url: 'http://127.0.0.1:7483' };

// Starts a daemon and waits until it answers; the end of the test kills it.
async function daemon(t, server, log) {
  const child = spawn(verbsd, ['--listen', server.url.slice('http://'.length)], { stdio: ['ignore', 'ignore', openSync(log, 'a')] });
  child.ended = new Promise((resolve) => child.on('close', resolve));
  t.after(async () => { child.kill('SIGKILL'); await child.ended; });
  while ((await ctl(server, ['status'])).code !== 0)
    assert.equal(child.exitCode, null, `verbsd ended; see ${log}`);
  return child;
}

async function done(server, args) {
  const { code, stdout, stderr } = await ctl(server, args);
  assert.equal(code, 0, `verbsctl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

test('live: top shows what moves, why it ended, and a restart; events tell what they missed', async (t) => {
  const work = folder();
  const a = await daemon(t, A, join(work, 'a.log'));
  const b = await daemon(t, B, join(work, 'b.log'));
  await done(B, ['listen', '0.0.0.0:7484', '--name', 'front', '--service', 'sink', '--recv-size', '4K']);
  await done(A, ['connect', `${LAB_ADDR}:7484`, '--name', 'to-b']);
  await done(A, ['connect', `${LAB_ADDR}:7484`, '--name', 'quiet']);
  await done(A, ['buf', 'create', 'source', '--size', '1M']);

  const top = startOnTerminal(t, A, ['top', '--interval', '300ms'], { columns: 130 });
  const line = ({ text }, name) => text.split('\n').find((row) => row.includes(` ${name} `)) ?? '';
  await top.until((picture) => /established .* rxe0 .* \d+%/.test(line(picture, 'to-b')));
  const events = start(t, A, ['events', '-f', '-n', '10', '--json']);
  await events.until(({ stdout }) => stdout.includes('connection_established'));

  // Moving bytes show as a rate, which puts their connection on top; the other connection shows
  // none.
  let moving = true;
  const mover = (async () => {
    while (moving)
      await done(A, ['send', 'to-b', '--buffer', 'source', '--message-size', '4K']);
  })();
  await top.until((picture) => / rxe0 +[1-9][\d.]*[KM] +0 /.test(line(picture, 'to-b')));
  await top.until(({ text }) => text.indexOf(' to-b ') < text.indexOf(' quiet '));
  moving = false;
  await mover;

  // Round trips of a probe.
  await done(A, ['probes', 'create', 'quiet', '--no-wait']);
  await top.until((picture) => /% +[\d.]+[num]s/.test(line(picture, 'quiet')));

  // The peer dies while its connection is shown.
  top.type('/to-b\r');
  await top.until(/filter "to-b": 1 of 2/);
  top.type('\r');
  await top.until(/ state RTS, /);
  b.kill('SIGKILL');
  await b.ended;
  await ctl(A, ['send', 'to-b', 'anyone?']);
  // Either the kernel disconnects for it, or a send fails.
  await top.until(/connection\/1 \(to-b\) {2}(closed|failed)/);
  top.type('\u001b');
  await top.until(/no open connections|no connection matches/);
  top.type('a');
  await top.until((picture) => /^ *1 to-b +(closed|failed) .*[a-z_]$/.test(line(picture, 'to-b')));
  const history = await done(A, ['history']);
  assert.match(history, /^ *1 to-b .* (closed|failed) +[a-z_]+ /m);

  // A restart: no data of the run before is shown as current.
  a.kill('SIGTERM');
  assert.equal(await a.ended, 0);
  await top.until(/stale since \d+ s: .*; trying again/);
  await events.until(({ stderr }) => stderr.includes('trying again'));
  // The message is shown for ten seconds only, which may pass before the daemon is ready.
  const again = daemon(t, A, join(work, 'a.log'));
  await top.until(/verbsd was restarted/);
  await again;
  await events.until(({ stderr }) => /verbsd was restarted: .* after event \d+ before the restart are lost/.test(stderr));
  await done(A, ['listen', '0.0.0.0:7485', '--name', 'again']);
  await events.until(({ stdout }) => stdout.includes('"listener_created"'));
  top.type('q');
  assert.equal(await top.ended, 0);
});
