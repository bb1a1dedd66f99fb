// SPDX-License-Identifier: Apache-2.0
// Checks openapi.yaml and openapi-extra.yaml. Prints one line for each finding. Exits with 1 if there is any, or if
// a package is missing.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exampleFaults } from './examples.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const contract_paths = [here('../../openapi.yaml'), here('../../openapi-extra.yaml')];
const missing = [];

// The result of a check; none if it needs a package that is not installed.
async function unlessMissing(folder, check) {
  try {
    return await check();
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' && error.code !== 'ENOENT') throw error;
    missing.push(folder);
    return [];
  }
}

// Each listed code is a ProblemCode, and is listed once: by the operation, or for all operations in `info`.
function codeFaults({ codes, document: { info, paths } }) {
  const common = info['x-problem-codes'];
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const own = operations.map((operation) => [operation.operationId, operation['x-problem-codes'] ?? []]);
  const faultsOf = ([name, list]) => [
    ...list.filter((code) => !codes.includes(code)).map((code) => `${name} lists ${code}, which is no ProblemCode`),
    ...list.filter((code, i) => list.indexOf(code) !== i).map((code) => `${name} lists ${code} twice`),
  ];
  const repeated = own.flatMap(([name, list]) =>
    list.filter((code) => common.includes(code)).map((code) => `${name} lists ${code}, as info does for all operations`),
  );
  return [...[['info', common], ...own].flatMap(faultsOf), ...repeated];
}

async function ownFaults() {
  const { Contract } = await import('../api/lib/contract.mjs');
  const { formFaults } = await import('../api/lib/strict.mjs');
  const contract = Contract.load();
  return [
    ...formFaults(contract.open).map((line) => `form: ${line}`),
    ...codeFaults(contract).map((line) => `code: ${line}`),
    ...exampleFaults(contract).map((line) => `example: ${line}`),
  ];
}

// One file after the other: the library keeps the resolver of the first lint that runs.
async function redoclyFaults() {
  const { getLineColLocation, lint, loadConfig } = (await import('@redocly/openapi-core')).default;
  const config = await loadConfig({ configPath: here('redocly.yaml') });
  const problems = [];
  for (const ref of contract_paths) problems.push(...(await lint({ ref, config })));
  return problems.map(({ ruleId, message, location: [location] }) => {
    const { line } = getLineColLocation(location).start;
    return `redocly ${ruleId}: line ${line}, ${location.pointer}: ${message}`;
  });
}

async function spectralFaults(contract_path) {
  const spectral = here('node_modules/.bin/spectral');
  const args = ['lint', '--quiet', '--ruleset', here('spectral.yaml'), '--format', 'json', '--fail-severity', 'hint'];
  const run = promisify(execFile)(spectral, [...args, contract_path], { maxBuffer: 1 << 26 });
  const { stdout } = await run.catch((error) => {
    if (error.stdout === undefined || error.code === 'ENOENT') throw error;
    return error;
  });
  return JSON.parse(stdout).map(
    ({ code, message, path, range }) =>
      `spectral ${code}: line ${range.start.line + 1}, ${path.join('/')}: ${message}`,
  );
}

const found = await Promise.all([
  unlessMissing('tests/api', ownFaults),
  unlessMissing('tests/contract', redoclyFaults),
  ...contract_paths.map((path) => unlessMissing('tests/contract', () => spectralFaults(path))),
]);
const lines = found.flat();
for (const line of lines) console.log(line);
console.log(`${lines.length} findings`);
if (missing.length > 0)
  console.log(`npm packages are missing: run npm ci in ${[...new Set(missing)].join(' and ')}, or scripts/test`);
process.exitCode = lines.length + missing.length > 0 ? 1 : 0;
