// SPDX-License-Identifier: Apache-2.0
// The metrics of a daemon without an RDMA device: names, types and labels.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function get(socketPath, path) {
  return new Promise((resolve, reject) => {
    const request = http.get({ socketPath, path }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
    });
    request.on('error', reject);
  });
}

// Starts a daemon on a unix socket, and reads its metrics once it answers.
async function readMetrics(program) {
  const folder = mkdtempSync(join(tmpdir(), 'surface-'));
  const socket = join(folder, 's');
  const daemon = spawn(program, ['--listen', '', '--unix-socket', socket], { stdio: 'ignore' });
  const ended = once(daemon, 'exit');
  const lost = ended.then(() => Promise.reject(new Error(`${program} did not come up`)));
  const wait = () => new Promise((resolve) => setTimeout(resolve, 50));
  const read = async () => {
    for (;;) {
      try {
        return await get(socket, '/metrics');
      } catch {
        await wait();
      }
    }
  };
  try {
    return await Promise.race([read(), lost]);
  } finally {
    daemon.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  }
}

/** Names, types and labels of metrics, as lines. */
export async function metricFacts(root, program) {
  const text = await readMetrics(program);
  const families = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  const labels = [...text.matchAll(/^(\w+)\{(.*)\} [^ ]+$/gm)].flatMap(([, name, list]) =>
    [...list.matchAll(/(\w+)="/g)].map(([, label]) => [name, label]),
  );
  const familyOf = (name) =>
    families.map(([, family]) => family).find((family) => name === family || name.replace(/_(bucket|sum|count)$/, '') === family);
  return [
    ...families.map(([, name, type]) => `metric ${name} ${type}`),
    ...labels.map(([name, label]) => `metric ${familyOf(name)} label ${label}`),
  ];
}
