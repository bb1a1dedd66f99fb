// SPDX-License-Identifier: Apache-2.0
// The contract leaves answers open: a client must ignore members and values that it does not know. The
// tests hold the daemon of the same sources against a strict form of the contract: an object has only the
// documented members, and a string only the documented values.

// Schemas below these keywords only test a value; to close them would change what they test.
const CONDITIONS = ['if', 'then', 'else', 'not'];

function closedValues({ type, 'x-extensible-enum': values }) {
  return [type].flat().includes('null') ? [...values, null] : values;
}

/** A copy of a part of the contract, in its strict form. */
export function strict(node) {
  if (Array.isArray(node)) return node.map(strict);
  if (node === null || typeof node !== 'object') return node;
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      CONDITIONS.includes(key) ? value : strict(value),
    ]),
  );
  if (Array.isArray(node['x-extensible-enum'])) {
    copy.enum = closedValues(node);
    delete copy['x-extensible-enum'];
  }
  if (Array.isArray(node.allOf) && !('unevaluatedProperties' in node))
    throw new Error('allOf can not be closed: write the properties in one place');
  if (node.type === 'object' && node.properties && !('additionalProperties' in node))
    copy.additionalProperties = false;
  return copy;
}

// --- the open form, as it is written

function* parts(document, node, path, seen) {
  if (node === null || typeof node !== 'object') return;
  yield [path, node];
  for (const [key, value] of Object.entries(node))
    if (!CONDITIONS.includes(key)) yield* parts(document, value, `${path}/${key}`, seen);
  if (typeof node.$ref !== 'string' || seen.has(node.$ref)) return;
  seen.add(node.$ref);
  const names = node.$ref.slice(2).split('/');
  const target = names.reduce((at, name) => at[name], document);
  yield* parts(document, target, node.$ref, seen);
}

// Every part of the document that requests, or answers, consist of, as [path, part].
function* reachable(document, ofAnswers) {
  const seen = new Set();
  for (const [path, item] of Object.entries(document.paths))
    for (const [key, value] of Object.entries(item)) {
      const own = key === 'parameters' ? { parameters: value } : value;
      const { parameters, requestBody, responses } = own;
      yield* parts(document, ofAnswers ? responses : [parameters, requestBody], `${path} ${key}`, seen);
    }
}

/** What is closed in answers, or open in requests, as lines of text. */
export function formFaults(document) {
  const faults = new Set();
  for (const [path, node] of reachable(document, true)) {
    if (node.additionalProperties === false) faults.add(`${path}: an answer is closed`);
    if (Array.isArray(node.enum)) faults.add(`${path}: an answer has an enum`);
  }
  for (const [path, node] of reachable(document, false)) {
    if (node.type === 'object' && node.properties && !('additionalProperties' in node))
      faults.add(`${path}: a request is open`);
    if (Array.isArray(node['x-extensible-enum'])) faults.add(`${path}: a request has no enum`);
  }
  return [...faults];
}
