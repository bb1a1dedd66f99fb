// SPDX-License-Identifier: Apache-2.0
// Prints everything that users depend on, one fact a line, sorted: usage surface.mjs ROOT BUILD. The facts come from openapi.yaml,
// from the list of codes, and from the programs themselves: their help, their configuration, and the metrics that a
// daemon without an RDMA device shows.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractFacts } from './facts/contract.mjs';
import { metricFacts } from './facts/metrics.mjs';
import { commandFacts, configFacts, daemonFacts } from './facts/programs.mjs';

const [root, build] = process.argv.slice(2);
const read = (path) => readFileSync(join(root, path), 'utf8');

// The rows of base/status.h.
function codeFacts() {
  const rows = read('base/status.h').matchAll(/X\(\w+, "(\w+)", (\d+),/g);
  return [...rows].map(([, code, status]) => `problem ${code} ${status}`);
}

const facts = [
  ...contractFacts(root),
  ...codeFacts(),
  ...commandFacts(join(build, 'cmd/verbsctl')),
  ...daemonFacts(join(build, 'cmd/verbsd')),
  ...configFacts(join(build, 'cmd/verbsd')),
  ...(await metricFacts(root, join(build, 'cmd/verbsd'))),
];
const inOrder = [...new Set(facts)].sort((a, b) => (a < b ? -1 : 1));
process.stdout.write(`${inOrder.join('\n')}\n`);
