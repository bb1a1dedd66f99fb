#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Plays the cases against running daemons. README.md describes the format of a case.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readCases } from './lib/cases.mjs';
import { checks } from './lib/checks.mjs';
import { PATIENCE_S } from './lib/client.mjs';
import { Contract } from './lib/contract.mjs';
import { Coverage } from './lib/coverage.mjs';
import { send } from './lib/http.mjs';
import { Player } from './lib/player.mjs';

const USAGE = `usage: run.mjs [options] URL_A [URL_B]
       run.mjs --coverage-check DIR…

Plays tests/api/cases against verbsd at URL_A, and at URL_B where a case needs two on one RDMA device.

  --set NAME         native: cases that need no RDMA device (the default); fake: the rest of those that a scripted one
                     can do; guest: the rest, for a real one; all: every case that works with a real one
  --var NAME=VALUE   a variable of the cases; repeatable. LAB_DEV, LAB_ADDR, LAB_ADDR6: the RDMA device and the
                     addresses of its interface; SILENT_ADDR: its neighbour is known but never answers; NOBODY_ADDR: nobody has it;
                     TOKEN_URL with CONTROL_TOKEN and READ_TOKEN: a daemon with tokens;
                     MEMLOCK_URL: a daemon with a small RLIMIT_MEMLOCK
  --only PATTERN     only the cases whose name matches this regular expression
  --cases DIR        folder that holds cases/ and shared/ (default: beside this program)
  --patience S       how long a step that has "until" waits in vain (default: ${PATIENCE_S})
  --bodies FILE      append the JSON of every answer to FILE, a line each
  --coverage DIR     write what was seen of the contract to DIR/SET.json
  --coverage-check   compare what the runs that wrote to DIR… have seen with the contract
  --help             this text

Exit status: 0 all passed, 1 some failed, 2 wrong usage.`;

// The sets, each of which can do more. A case is of the first set that can do all that it `needs`.
const SETS = ['native', 'fake', 'guest'];

// The meaning of each word in a case's `needs`: the first set that can do it, and the variables without which the
// case is skipped.
const NEEDS = {
  none: { set: 'native', vars: [] },
  no_rdma: { set: 'native', vars: [] },
  tokens: { set: 'native', vars: ['TOKEN_URL', 'CONTROL_TOKEN', 'READ_TOKEN'] },
  rdma: { set: 'fake', vars: ['LAB_ADDR'] },
  rdma2: { set: 'guest', vars: ['LAB_ADDR', 'URL_B'] },
  device: { set: 'guest', vars: ['LAB_ADDR'] },
  ipv6: { set: 'guest', vars: ['LAB_ADDR6'] },
  silent: { set: 'guest', vars: ['SILENT_ADDR'] },
  nobody: { set: 'guest', vars: ['NOBODY_ADDR'] },
  memlock: { set: 'guest', vars: ['MEMLOCK_URL'] },
};

const OPTIONS = {
  set: { type: 'string', default: 'native' },
  var: { type: 'string', multiple: true, default: [] },
  only: { type: 'string', default: '' },
  cases: { type: 'string', default: fileURLToPath(new URL('.', import.meta.url)) },
  patience: { type: 'string', default: String(PATIENCE_S) },
  bodies: { type: 'string' },
  coverage: { type: 'string' },
  'coverage-check': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

class UsageError extends Error {}

function parse(argv) {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      options: OPTIONS,
      allowPositionals: true,
    });
    return { ...values, positionals };
  } catch (error) {
    throw new UsageError(error.message);
  }
}

function parseVars(list) {
  return Object.fromEntries(
    list.map((text) => {
      const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
      if (!name) throw new UsageError(`--var wants NAME=VALUE, not ${text}`);
      return [name, value];
    }),
  );
}

function daemonsOf([a, b], { TOKEN_URL: t, MEMLOCK_URL: m }) {
  return Object.fromEntries(Object.entries({ a, b, t, m }).filter(([, url]) => url !== undefined));
}

function unknownNeeds({ name, needs }) {
  const unknown = needs.filter((need) => !(need in NEEDS));
  if (unknown.length > 0)
    throw new UsageError(`case ${name}: needs ${unknown}, which nobody gives`);
}

const setOf = ({ needs }) => SETS[Math.max(...needs.map((need) => SETS.indexOf(NEEDS[need].set)))];

function select(cases, { set, only }) {
  cases.forEach(unknownNeeds);
  const pattern = new RegExp(only);
  const isOfSet = (one) => (set === 'all' ? !one.needs.includes('no_rdma') : setOf(one) === set);
  return cases.filter((one) => pattern.test(one.name) && isOfSet(one));
}

function reasonToSkip({ needs }, vars, hasDevice) {
  const missing = needs
    .flatMap((need) => NEEDS[need].vars)
    .find((name) => vars[name] === undefined);
  if (missing) return `${missing} was not given`;
  return needs.includes('no_rdma') && hasDevice ? 'this machine has an RDMA device' : null;
}

async function hasDevice(url) {
  try {
    const { body } = await send(url, { method: 'GET', path: '/v1/devices?state=present' });
    return JSON.parse(body.toString('utf8')).total > 0;
  } catch {
    return false; // the cases will report the error
  }
}

class Report {
  constructor(print) {
    Object.assign(this, { print, passed: 0, failed: 0, skipped: 0 });
  }

  skip(name, reason) {
    this.skipped++;
    this.print(`skip ${name}: ${reason}`);
  }

  result(name, failures, tookMs) {
    this[failures.length > 0 ? 'failed' : 'passed']++;
    const took = tookMs === undefined ? '' : ` (${tookMs} ms)`;
    this.print(`${failures.length > 0 ? 'FAIL' : 'ok  '} ${name}${took}`);
    failures.forEach((line) => this.print(`     ${line}`));
  }

  // Cases that were not played count as failed, because their result is unknown.
  abandon(names) {
    this.failed += names.length;
    this.print(
      `FAIL ${names.length} cases were not played, for a daemon is gone: ${names.join(' ')}`,
    );
  }

  end() {
    this.print(
      `${this.passed} passed, ${this.failed} failed${this.skipped ? `, ${this.skipped} skipped` : ''}`,
    );
    return this.failed > 0 || this.passed === 0 ? 1 : 0;
  }
}

async function playCases(cases, player, report) {
  const device = await hasDevice(player.daemons.a);
  for (const [i, testCase] of cases.entries()) {
    const reason = reasonToSkip(testCase, player.shared, device);
    if (reason) {
      report.skip(testCase.name, reason);
      continue;
    }
    const began = Date.now();
    const failures = await player.play(testCase);
    report.result(testCase.name, failures, Date.now() - began);
    if (failures.length > 0 && (await player.aftermath.deadDaemons()).length > 0)
      return report.abandon(cases.slice(i + 1).map(({ name }) => name));
  }
}

async function playAll(options, contract, print) {
  const vars = { RUN: `${process.pid}-${Date.now()}`, ...parseVars(options.var) };
  const daemons = daemonsOf(options.positionals, vars);
  const coverage = new Coverage();
  const patienceMs = Number(options.patience) * 1000;
  const player = new Player({ daemons, vars, contract, coverage, bodies: options.bodies, patienceMs });
  const report = new Report(print);
  await playCases(select(readCases(options.cases), options), player, report);
  // No device makes these answers.
  const drawn = ['native', 'all'].includes(options.set) ? Object.entries(checks) : [];
  for (const [name, check] of drawn.filter(([text]) => new RegExp(options.only).test(text)))
    report.result(name, await check(daemons.a, contract).catch((error) => [error.message]));
  if (options.coverage) coverage.write(options.coverage, options.set);
  return report.end();
}

function checkCoverage({ positionals, cases }, contract, print) {
  const coverage = new Coverage();
  positionals.forEach((folder) => coverage.read(folder));
  const excuses = JSON.parse(readFileSync(new URL('unprovoked.json', import.meta.url), 'utf8'));
  const gaps = coverage.gaps(contract, excuses);
  gaps.forEach((line) => print(line));
  print(`codes seen: ${[...coverage.codes].sort().join(' ')}`);
  const operations = contract.operations().length;
  print(
    gaps.length > 0
      ? `${gaps.length} gaps`
      : `all ${operations} operations and their documented statuses were seen`,
  );
  return gaps.length > 0 ? 1 : 0;
}

/** Runs the program with these arguments; resolves to its exit status. */
export async function main(argv, print = console.log) {
  const options = parse(argv);
  if (options.help) {
    print(USAGE);
    return 0;
  }
  if (![...SETS, 'all'].includes(options.set)) throw new UsageError(`--set is one of ${SETS},all`);
  if (options.positionals.length === 0)
    throw new UsageError(options['coverage-check'] ? 'no folder given' : 'no URL given');
  const contract = Contract.load();
  return options['coverage-check']
    ? checkCoverage(options, contract, print)
    : playAll(options, contract, print);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof UsageError ? `run.mjs: ${error.message}` : error.stack);
    process.exitCode = 2;
  }
}
