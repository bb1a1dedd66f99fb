// SPDX-License-Identifier: Apache-2.0
// The examples of openapi.yaml are valid.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Contract } from '../lib/contract.mjs';

const contract = new Contract(readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8'));

// Every media type with a schema and an example, with its path in the document.
function* examples(node, path = '') {
  if (node === null || typeof node !== 'object') return;
  if (node.schema && node.example !== undefined) yield [path, node];
  for (const [key, value] of Object.entries(node)) yield* examples(value, `${path}/${key}`);
}

test('examples: each satisfies its schema', () => {
  const all = [...examples(contract.document.paths)];

  assert.ok(all.length > 10, 'there are examples');
  for (const [path, { schema, example }] of all) {
    const absolute = JSON.stringify(schema).replaceAll('#/components/schemas/', 'openapi.yaml#/$defs/');
    const validate = contract.ajv.compile(JSON.parse(absolute));

    assert.ok(validate(example), `${path}: ${contract.ajv.errorsText(validate.errors)}`);
  }
});
