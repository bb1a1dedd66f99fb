// SPDX-License-Identifier: Apache-2.0
// The metrics: names, types and labels as a daemon shows them. Those that only a host with an RDMA device shows come from the
// sources, so that the facts are the same on every host.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metric_names } from '../../contrib/metric_names.mjs';

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
        return await get(socket, '/metrics?connections=1');
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

const OF_PORTS = 'api/observe/metrics_ports.c';
const OF_KERNEL = /^verbsd_(kernel_|known_|leaked_|collector_(duration|age)_)/;
const DEVICE_LABELS = ['device', 'port', 'cq'];

function shownFacts(root, text) {
  const ofPorts = readFileSync(join(root, OF_PORTS), 'utf8').match(/verbsd_\w+/g);
  const ofDevices = [...ofPorts, ...[...metric_names].filter((name) => OF_KERNEL.test(name))];
  const families = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].filter(([, name]) => !ofDevices.includes(name));
  const names = families.map(([, name]) => name);
  const labels = [...text.matchAll(/^(\w+)\{(.*)\} [^ ]+$/gm)].flatMap(([, name, list]) =>
    [...list.matchAll(/(\w+)="/g)].map(([, label]) => [name, label]),
  );
  const familyOf = (name) => (names.includes(name) ? name : name.replace(/_(bucket|sum|count)$/, ''));
  const hidden = [...metric_names].filter((name) => !names.includes(name));
  return [
    ...families.map(([, name, type]) => `metric ${name} ${type}`),
    ...labels
      .map(([name, label]) => [familyOf(name), label])
      .filter(([name, label]) => names.includes(name) && !DEVICE_LABELS.includes(label))
      .map(([name, label]) => `metric ${name} label ${label}`),
    ...hidden.map((name) => `metric ${name}`),
  ];
}

function labelFacts(root) {
  const folder = join(root, 'api/observe');
  return readdirSync(folder)
    .filter((file) => /^metrics.*\.c$/.test(file))
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/VBD_LABEL\("(\w+)"/g)].map(
        ([, label]) => `metric label ${label} in ${file}`,
      ),
    );
}

/** Names, types and labels of metrics, as lines. */
export async function metricFacts(root, program) {
  return [...shownFacts(root, await readMetrics(program)), ...labelFacts(root)];
}
