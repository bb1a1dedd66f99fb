// SPDX-License-Identifier: Apache-2.0
// Checks contrib/kubernetes/verbsd.yaml against the types of Kubernetes, and that these find a misspelt member. Prints each
// fault. Exits with 1 if there is any, or if a package is missing.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { scratch_file } from '../scratch.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const types = here('node_modules/kubernetes-types');
if (!existsSync(types) || !existsSync(here('../api/node_modules/yaml'))) {
  console.log('npm packages are missing: run npm ci in tests/contract and tests/api, or scripts/test');
  process.exit(1);
}
const { parse } = createRequire(here('../api/'))('yaml');

// A literal, since tsc looks for unknown members in these only.
const imports = `import type { DaemonSet } from '${types}/apps/v1.js';\n`;
const program = (name, manifest) =>
  scratch_file(`${name}.mts`, `${imports}export const it: DaemonSet = ${JSON.stringify(manifest)};\n`);

const manifest = parse(readFileSync(here('../../contrib/kubernetes/verbsd.yaml'), 'utf8'));
const { selector, template } = manifest.spec;
const [container] = template.spec.containers;
const shipped = program('shipped', manifest);
container.securityContext.readOnlyRootFileSystem = true;
const misspelt = program('misspelt', manifest);
const options = ['--strict', '--noEmit', '--module', 'NodeNext', '--target', 'ES2022'];
const { stdout } = spawnSync(here('node_modules/.bin/tsc'), [...options, shipped, misspelt], { encoding: 'utf8' });
const said = stdout.split('\n').filter((line) => line);
const isPlanted = (line) => line.includes('misspelt.mts');
const planted = said.some((line) => isPlanted(line) && line.includes('readOnlyRootFileSystem'));

// The types say nothing of names that have to be the same.
const unnamed = container.volumeMounts.filter(({ name }) => !template.spec.volumes.some((volume) => volume.name === name));
const faults = [
  ...said.filter((line) => !isPlanted(line)),
  ...(planted ? [] : ['tsc does not find the misspelt member']),
  ...unnamed.map(({ name }) => `no volume is named ${name}`),
  ...(selector.matchLabels.app === template.metadata.labels.app ? [] : ['the selector does not select the pods']),
];
for (const fault of faults) console.log(fault);
process.exitCode = faults.length ? 1 : 0;
