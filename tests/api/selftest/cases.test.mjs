// SPDX-License-Identifier: Apache-2.0
// The cases themselves, without a daemon: they are well formed, and say correctly whether the contract allows
// each request.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { readCases } from '../lib/cases.mjs';
import { layout } from '../lib/layout.mjs';
import { Contract } from '../lib/contract.mjs';
import { wayOf } from '../lib/coverage.mjs';
import { unknownMatchers } from '../lib/match.mjs';
import { Client } from '../lib/client.mjs';

const FOLDER = fileURLToPath(new URL('..', import.meta.url));
const GIVEN = 'i RUN HOST_A URL_A LAB_ADDR LAB_DEV LAB_ADDR6 SILENT_ADDR NOBODY_ADDR CONTROL_TOKEN READ_TOKEN'.split(' ');

const contract = Contract.load();
const cases = readCases(FOLDER);
const excuses = JSON.parse(readFileSync(new URL('../unprovoked.json', import.meta.url), 'utf8'));

// A value of the type of the variable.
function sample(name) {
  if (/(^|_)(rkey|addr|target_addr)$/.test(name)) return '0x1000';
  if (/ADDR|HOST/.test(name)) return '192.0.2.1';
  if (/_asset$/.test(name)) return 'assets/main.js';
  if (/_tag$/.test(name)) return '"0"';
  if (name === 'connection_path') return '/v1/connections/1';
  if (/_path$|^location$/.test(name)) return '/v1/transfers/1';
  if (name === 'LAB_DEV') return 'rxe0';
  if (name === 'next') return '0123456789abcdef-1';
  if (name === 'run') return '0123456789abcdef';
  if (/(^|_)gid$/.test(name)) return '::ffff:192.0.2.1';
  if (/(^|_)qpn$/.test(name)) return 18;
  if (/(^|_)mtu$/.test(name)) return 1024;
  return name === 'limit' ? 262144 : 1;
}

const anything = new Proxy(
  {},
  { get: (_, name) => (typeof name === 'string' ? sample(name) : undefined) },
);

const client = new Client({ daemons: {}, tokens: {}, contract });
const build = (template) => client.buildRequest(template, anything);

const references = (value) =>
  [...JSON.stringify(value ?? null).matchAll(/\$\{([A-Za-z_]\w*)(?:[+-]([A-Za-z_]\w*))?/g)].flatMap(
    ([, a, b]) => (b ? [a, b] : [a]),
  );
const captures = (value) =>
  [...JSON.stringify(value ?? null).matchAll(/"\$(?:capture:(\w+)"|find:(\w+):)/g)].map(([, a, b]) => a ?? b);

test('every case uses variables that were captured before, or are given', () => {
  for (const { name, steps, cleanup } of cases) {
    const known = new Set(GIVEN);
    for (const step of steps) {
      const unknown = references(step).filter((variable) => !known.has(variable));
      assert.deepEqual(unknown, [], `${name}: ${step.about}`);
      captures(step.expect).forEach((variable) => known.add(variable));
    }
    assert.deepEqual(
      references(cleanup).filter((variable) => !known.has(variable)),
      [],
      `${name}: cleanup`,
    );
  }
});

test('every case uses matchers that exist', () => {
  for (const { name, steps } of cases)
    for (const { about, expect } of steps)
      for (const part of ['status', 'headers', 'json', 'text', 'took_ms'])
        assert.deepEqual(unknownMatchers(expect?.[part]), [], `${name}: ${about}`);
});

test('no case says how long it is patient', () => {
  const PREFERENCES = 'preferences-are-read-as-rfc-7240-says';
  for (const { name, steps, cleanup } of cases.filter((one) => one.name !== PREFERENCES))
    for (const { about, request, expect } of [...steps, ...cleanup]) {
      assert.ok(!/^wait=\d\d/.test(request?.headers?.Prefer), `${name}: ${about}: say "wait": true`);
      assert.ok([undefined, true].includes(expect?.until), `${name}: ${about}: "until" is true`);
    }
});

test('every request is allowed by the contract, or marked invalid', () => {
  for (const { name, steps, cleanup } of cases)
    for (const step of [...steps, ...cleanup].filter(({ request, walk }) => request ?? walk)) {
      const request = build(step.request ?? step.walk);
      assert.deepEqual(
        client.checkRequest(request, step.expect?.status),
        [],
        `${name}: ${step.about}: ${request.path}`,
      );
    }
});

test('every expected success is one that the contract documents', () => {
  for (const { name, steps } of cases)
    for (const { about, request, expect } of steps.filter(
      (step) => step.request && step.expect?.status < 400,
    )) {
      const { method, path } = build(request);
      const operation = contract.operation(
        method === 'HEAD' ? 'GET' : method,
        new URL(path, 'http://h').pathname,
      );
      assert.ok(
        operation?.responses[expect.status],
        `${name}: ${about}: ${method} ${path} ${expect.status}`,
      );
    }
});

test('every expected code is one that the contract has', () => {
  for (const { name, steps } of cases)
    for (const { about, expect } of steps.filter(
      (step) => typeof step.expect?.json?.code === 'string',
    ))
      assert.ok(contract.codes.includes(expect.json.code), `${name}: ${about}`);
});

test('every code is expected by a case, or excused', () => {
  const text = cases.map(({ steps }) => JSON.stringify(steps)).join();
  const missing = contract.codes.filter(
    (code) => !(code in excuses) && !text.includes(`"${code}"`),
  );
  assert.deepEqual(missing, []);
});

const isExcused = ({ method, template, statuses }) =>
  statuses
    .filter((status) => status < 300)
    .every((status) => wayOf(`${method} ${template} ${status}`) in excuses);

test('every operation is requested by a case, or its good answers are excused', () => {
  const seen = new Set();
  for (const { steps } of cases)
    for (const step of steps.filter(({ request, walk }) => request ?? walk)) {
      const { method, path } = build(step.request ?? step.walk);
      const operation = contract.operation(method, new URL(path, 'http://h').pathname);
      const status = step.expect?.status ?? 200;
      if (operation && (status < 400 || status.$one)) seen.add(`${method} ${operation.template}`);
    }
  const missing = contract
    .operations()
    .filter((operation) => !isExcused(operation))
    .map(({ method, template }) => `${method} ${template}`)
    .filter((line) => !seen.has(line));
  assert.deepEqual(missing, []);
});

const files = ['cases', 'shared'].flatMap((part) =>
  readdirSync(`${FOLDER}${part}`).map((name) => `${FOLDER}${part}/${part === 'cases' ? `${name}/steps.json` : name}`));

test('every shared fragment is used', () => {
  const text = files.map((path) => readFileSync(path, 'utf8')).join();
  for (const file of readdirSync(`${FOLDER}shared`))
    assert.ok(text.includes(`"use": "${file.replace('.json', '')}"`), file);
});

test('every file has the layout of lib/layout.mjs', () => {
  const isOther = (path) => readFileSync(path, 'utf8') !== layout(JSON.parse(readFileSync(path, 'utf8')));
  assert.deepEqual(files.filter(isOther), [], 'node tests/api/lib/layout.mjs FILE… writes it');
});
