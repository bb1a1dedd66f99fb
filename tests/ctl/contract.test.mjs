// SPDX-License-Identifier: Apache-2.0
// The fake server's answers follow openapi.yaml, so that the other tests are valid for verbsd.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from './lib/contract.mjs';
import * as samples from './lib/samples.mjs';

if (!contract) {
  console.log('skipped: the validator of tests/api is not installed (npm ci there)');
  process.exit(77);
}

const SAMPLES = {
  Buffer: samples.buffer(), Connection: samples.connection(), Cq: samples.cq(), Device: samples.device(),
  Event: samples.event(1), Index: samples.index(), Listener: samples.listener(), KeptObject: samples.keptObject(), Export: samples.exported(), Fault: samples.fault(), Message: samples.message(1, 'x'),
  Problem: samples.problem(), QpParamsFull: samples.qpParams(), Transfer: samples.transfer(), Pd: samples.pd(), Srq: samples.srq(), Window: samples.window(), Probe: samples.probe(), Copy: samples.copy(), Benchmark: samples.benchmark(), TransferBatch: samples.batch(), ConnectionBatch: samples.connectionBatch(),
  UdEndpoint: samples.endpoint(), UdPeer: samples.peer(), MulticastMembership: samples.group(),
};

for (const [schema, sample] of Object.entries(SAMPLES)) {
  test(`contract: the sample of ${schema} fits its schema`, () => {
    assert.deepEqual(contract.validate(schema, { $ref: `#/components/schemas/${schema}` }, sample), []);
  });
}

test('contract: the sample of a connection that was rejected fits its schema', () => {
  assert.deepEqual(contract.validate('Connection', { $ref: '#/components/schemas/Connection' }, samples.rejected()), []);
});
