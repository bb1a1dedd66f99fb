// SPDX-License-Identifier: Apache-2.0
// The examples of verbsctl(1), as printed there, over the scripted device of $VBD_VERBSD_FAKE, which connects to itself: so
// one daemon is both hosts. Only names of hosts and ports differ.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ca } from '../certificates.mjs';
import { scratch_folder } from '../scratch.mjs';
import { CTL, environment, watched } from './lib/ctl.mjs';

const VERBSD = process.env.VBD_VERBSD_FAKE;
const man = readFileSync(new URL('../../docs/verbsctl.1.scd', import.meta.url), 'utf8');
const blocks = [...man.match(/^# EXAMPLES\n(.*?)^# /ms)[1].matchAll(/^```\n(.*?)^```\n/gms)].map((block) => block[1]);

// A daemon with TLS that knows one operator; its files are in the folder. Resolves to its port.
async function daemon(t, work) {
  const [, token, hash] = execFileSync(VERBSD, ['--make-token'], { encoding: 'utf8' }).match(/^token: (.*)\ntoken_sha256: (.*)\n/);
  const file = (name, text) => writeFileSync(join(work, name), text, { mode: 0o600 });
  new Ca(work).issueServer();
  file('token', `${token}\n`);
  file('callers', `- {name: paper, role: operate, token_sha256: ${hash}}\n`);
  file('file', 'twelve bytes');
  symlinkSync(CTL, join(work, 'verbsctl'));
  const options = { callers_file: 'callers', 'tls.certificate': 'server.pem', 'tls.key': 'server.key' };
  const child = spawn(VERBSD, ['--listen', 'https://127.0.0.1:0', ...Object.entries(options).flatMap(([key, name]) => ['--set', `${key}=${join(work, name)}`])]);
  const run = watched(t, child, () => child.kill('SIGKILL'));
  await run.until(() => /serves HTTPS on .*, port \d+/.test(run.stderr));
  return run.stderr.match(/, port (\d+)/)[1];
}

test('examples: each command of the man page does what its text says', async (t) => {
  const work = scratch_folder('examples');
  const port = await daemon(t, work);
  const run = (block) => spawnSync('bash', ['-c', block.replace(/https:\/\/[ab]:7480/g, `https://127.0.0.1:${port}`).replace(/ b:7/g, ' 10.0.0.1:7')],
    { cwd: work, encoding: 'utf8', env: environment({ PATH: `${work}:${process.env.PATH}` }) });
  assert.equal(blocks.length, 2);

  const copied = run(`set -e\n${blocks[0]}`);
  assert.equal(copied.status, 0, copied.stderr);
  const [here, there] = copied.stdout.trim().split('\n').slice(-2).map((line) => line.split(' ')[0]);
  assert.match(here, /^[0-9a-f]{64}$/);
  assert.equal(here, there);

  // The second block begins in the environment that the first one has set.
  const failed = run(`${blocks[0].split('\n')[0]}\n${blocks[1]}`);
  assert.match(failed.stderr, /rejected/);
  assert.match(failed.stdout, /^It failed: nobody listens/);
});
