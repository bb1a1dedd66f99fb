// SPDX-License-Identifier: Apache-2.0
// The parts of the contract that the cases have used: stored in a file for each run, and checked for
// all runs together.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const byName = (a, b) => (a < b ? -1 : 1);

// The operations of all kinds go one way in the daemon for these answers: one of them shows the way.
const WAYS = [
  [/^GET .*\/\{ref\} 304$/, '304 of an object'],
  [/^(DELETE \/v1\/[a-z_]+|POST .*\/-\/[a-z]+) 202$/, '202 of a selection'],
  [/^POST .*\/\{ref\}\/cancel (200|202)$/, 'a cancelled task'],
  [/^GET \/livez 503$/, '503 of a stuck worker'],
  [/^GET .*\/fd 200$/, 'an answer with a descriptor'],
  [/^DELETE \/v1\/(transfers|transfer_batches|connection_batches|benchmarks|probes)\/\{ref\} 202$/, '202 of a deleted task'],
];

/** Returns the name of the way that an answer goes, such as "GET /v1/buffers/{ref} 200"; else the answer itself. */
export const wayOf = (line) => WAYS.find(([pattern]) => pattern.test(line))?.[1] ?? line;

export class Coverage {
  constructor() {
    this.seen = new Set(); // "GET /v1/buffers/{ref} 200"
    this.codes = new Set(); // codes of problems
    this.problems = new Set(); // "POST /v1/buffers no_device"
  }

  // The `error` of a transfer has the same codes as a problem.
  addCodes({ json }) {
    for (const code of [json?.code, json?.error?.code])
      if (typeof code === 'string') this.codes.add(code);
  }

  add(contract, request, response) {
    // The body of an endless stream is not read.
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const operation = contract.operation(method, request.path.split('?')[0]);
    if (operation) this.seen.add(`${method} ${operation.template} ${response.status}`);
    this.addCodes(response);
    if (operation && response.status >= 400 && response.json?.code)
      this.problems.add(`${method} ${operation.template} ${response.json.code}`);
  }

  write(folder, name) {
    mkdirSync(folder, { recursive: true });
    const content = {
      seen: [...this.seen].sort(byName),
      codes: [...this.codes].sort(byName),
      problems: [...this.problems].sort(byName),
    };
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(content, null, 2)}\n`);
  }

  read(folder) {
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
      const { seen, codes } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      seen.forEach((line) => this.seen.add(line));
      codes.forEach((code) => this.codes.add(code));
    }
  }

  /** Every documented 2xx and 503 that no case has received, and every code neither received nor excused. */
  gaps(contract, excuses) {
    const wanted = contract
      .operations()
      .flatMap(({ method, template, statuses }) =>
        statuses.map((status) => `${method} ${template} ${status}`),
      );
    const shared = new Set([...this.seen].map(wayOf));
    return [
      ...wanted.filter((line) => !this.seen.has(line) && !shared.has(wayOf(line)) && !(wayOf(line) in excuses)).map((line) => `not seen: ${line}`),
      ...contract.codes
        .filter((code) => !this.codes.has(code) && !(code in excuses))
        .map((code) => `not seen: code ${code}`),
      ...Object.keys(excuses)
        .filter((code) => !contract.codes.includes(code) && !WAYS.some(([, way]) => way === code))
        .map((code) => `excused, but no code: ${code}`),
    ];
  }
}
