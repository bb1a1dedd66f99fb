// SPDX-License-Identifier: Apache-2.0
// Compares the examples of openapi.yaml with their schemas.

// Every schema of the document with its examples, as [path, schema, value].
function* examples(node, path = '') {
  if (node === null || typeof node !== 'object') return;
  if (node.schema && node.example !== undefined) yield [path, node.schema, node.example];
  for (const [name, { value }] of Object.entries((node.schema && node.examples) ?? {}))
    yield [`${path}/examples/${name}`, node.schema, value];
  if (Array.isArray(node.examples) && node.type)
    for (const value of node.examples) yield [path, node, value];
  for (const [key, value] of Object.entries(node)) yield* examples(value, `${path}/${key}`);
}

/** The examples that do not satisfy their schemas, as lines of text. */
export function exampleFaults(contract) {
  const found = [...examples(contract.document)];
  if (found.length === 0) return ['there are no examples'];
  return found.flatMap(([path, schema, value]) =>
    contract.validate(`example ${path}`, schema, value).map((line) => `${path}: ${line}`),
  );
}
