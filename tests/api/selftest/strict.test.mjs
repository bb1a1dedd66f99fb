// SPDX-License-Identifier: Apache-2.0
// The contract is open for clients, and closed for the tests.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Contract } from '../lib/contract.mjs';
import { formFaults, strict } from '../lib/strict.mjs';

const contract = Contract.load();

const HEALTH = { status: 'ok', checks: [{ name: 'loop', status: 'ok', detail: 'turns' }] };

function answerOfLivez(json) {
  return contract.checkResponse(
    { method: 'GET', path: '/livez' },
    {
      status: 200,
      headers: { 'content-type': 'application/json', 'verbsd-server': '00000000000000a1' },
      body: new TextEncoder().encode(JSON.stringify(json)),
    },
  );
}

test('strict: an answer as documented passes', () => {
  assert.deepEqual(answerOfLivez(HEALTH), []);
});

test('strict: an undocumented member of an answer fails', () => {
  assert.match(answerOfLivez({ ...HEALTH, mood: 'good' })[0], /additional properties/);
});

test('strict: an undocumented member of an object in an answer fails', () => {
  const checks = [{ ...HEALTH.checks[0], mood: 'good' }];
  assert.match(answerOfLivez({ ...HEALTH, checks })[0], /additional properties/);
});

test('strict: an undocumented value in an answer fails', () => {
  assert.match(answerOfLivez({ ...HEALTH, status: 'so so' })[0], /allowed values/);
});

test('strict: null is a value where the type has it', () => {
  const { enum: values } = strict({ type: ['string', 'null'], 'x-extensible-enum': ['rc'] });
  assert.deepEqual(values, ['rc', null]);
});

test('strict: a map stays open, and so does a condition', () => {
  const map = { type: 'object', properties: {}, additionalProperties: { type: 'integer' } };
  const condition = { if: { type: 'object', properties: { a: { const: 1 } } } };
  assert.deepEqual(strict(map), map);
  assert.deepEqual(strict(condition), condition);
});

test('codes: a problem with a code that the operation does not list fails', () => {
  const problem = (code) => {
    const json = { type: `/v1/glossary/${code}`, title: 't', status: 409, code, detail: 'd' };
    const headers = { 'content-type': 'application/problem+json' };
    const body = new TextEncoder().encode(JSON.stringify(json));
    const answer = { status: 409, headers, body };
    const faults = contract.checkResponse({ method: 'DELETE', path: '/v1/pds/1' }, answer);
    return faults.filter((line) => line.includes('x-problem-codes'));
  };
  assert.deepEqual(problem('in_use'), []);
  assert.deepEqual(problem('not_found'), []);
  assert.deepEqual(problem('address_in_use'), [
    'code address_in_use is not among the x-problem-codes of delete_pd',
  ]);
});

test('contract: answers are open, requests are closed', () => {
  assert.deepEqual(formFaults(contract.open), []);
});

test('contract: a closed answer and an open request are found', () => {
  const schema = { type: 'object', properties: { a: { enum: [1] } }, additionalProperties: false };
  const open = { type: 'object', properties: { a: { 'x-extensible-enum': [1] } } };
  const content = (one) => ({ content: { 'application/json': { schema: one } } });
  const post = { requestBody: content(open), responses: { 200: content(schema) } };
  const faults = formFaults({ paths: { '/x': { post } } }).map((line) => line.split(': ')[1]);
  assert.deepEqual(faults.sort(), [
    'a request has no enum',
    'a request is open',
    'an answer has an enum',
    'an answer is closed',
  ]);
});
