// SPDX-License-Identifier: Apache-2.0
// The facts of openapi.yaml: paths, parameters, headers, members, values and codes.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { wholeContract } from '../../contract.mjs';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const nameOf = (ref) => ref.split('/').pop();
const spaced = (...words) => words.filter((word) => word !== '').join(' ');

// The type of a schema in one word.
function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  const some = schema.anyOf ?? schema.oneOf;
  if (some && !schema.properties) return some.map(typeOf).sort().join('|');
  if ('const' in schema) return JSON.stringify(schema.const);
  const types = [schema.type ?? 'any'].flat();
  return types.map((type) => wordOf(type, schema)).join('|');
}

function wordOf(type, { items, additionalProperties }) {
  if (type === 'array') return `[${typeOf(items ?? {})}]`;
  if (type === 'object' && typeof additionalProperties === 'object')
    return `map of ${typeOf(additionalProperties)}`;
  return type;
}

// The bounds and the default of a schema.
function boundsOf(schema) {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  const range = (name, low, high) =>
    low === undefined && high === undefined ? '' : `${name}${low ?? ''}..${high ?? ''}`;
  return spaced(
    range('', minimum, maximum),
    range('length ', minLength, maxLength),
    range('items ', minItems, maxItems),
    pattern ? `pattern ${pattern}` : '',
    'default' in schema ? `default ${JSON.stringify(schema.default)}` : '',
  );
}

function valueFacts(path, schema) {
  const values = schema.enum ?? schema['x-extensible-enum'] ?? [];
  return values.filter((value) => value !== null).map((value) => `value ${path} ${value}`);
}

// The facts of a schema and of what stands in it, without those of the schemas that it refers to.
function schemaFacts(path, schema) {
  if (typeof schema !== 'object' || schema.$ref) return [];
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [
    ...valueFacts(path, schema),
    ...(schema.items ? schemaFacts(`${path}[]`, schema.items) : []),
    ...parts.flatMap((part) => schemaFacts(path, part)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
      spaced(
        `member ${path}.${name}`,
        typeOf(member),
        schema.required?.includes(name) ? 'required' : '',
        boundsOf(member),
      ),
      ...schemaFacts(`${path}.${name}`, member),
    ]),
  ];
}

function answerFacts(what, answer) {
  if (answer.$ref) return [`answer ${what} ${nameOf(answer.$ref)}`];
  const { headers = {}, content = {} } = answer;
  const types = Object.entries(content).map(([type, { schema }]) => `${type} ${typeOf(schema)}`);
  const names = Object.keys(headers).sort();
  return [
    spaced(`answer ${what}`, ...types, names.length > 0 ? `with ${names.join(' ')}` : ''),
    ...Object.values(content).flatMap(({ schema }) => schemaFacts(`answer ${what}`, schema)),
  ];
}

function operationFacts(resolve, path, method, item) {
  const operation = item[method];
  const what = `${method.toUpperCase()} ${path}`;
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve);
  return [
    `operation ${what} ${operation.operationId} ${operation['x-role']}`,
    ...(operation['x-problem-codes'] ?? []).map((code) => `code ${what} ${code}`),
    ...parameters.flatMap(({ name, in: place, required, schema }) => [
      spaced(`parameter ${what} ${place} ${name}`, typeOf(schema), required ? 'required' : '', boundsOf(schema)),
      ...schemaFacts(`${what} ${name}`, schema),
    ]),
    ...Object.entries(operation.requestBody?.content ?? {}).map(
      ([type, { schema }]) => `request ${what} ${type} ${typeOf(schema)}`,
    ),
    ...Object.entries(operation.responses)
      .filter(([status]) => !['4XX', '5XX'].includes(status)) // problems
      .flatMap(([status, answer]) => answerFacts(`${what} ${status}`, answer)),
  ];
}

/** The facts of the contract, as lines. */
export function contractFacts(root) {
  const { parse } = createRequire(join(root, 'tests/api/package.json'))('yaml');
  const document = wholeContract(parse, root);
  const resolve = (node) =>
    node.$ref ? node.$ref.slice(2).split('/').reduce((at, name) => at[name], document) : node;
  const { schemas, responses } = document.components;
  return [
    ...(document.info['x-problem-codes'] ?? []).map((code) => `code of all operations ${code}`),
    ...Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).flatMap((method) => operationFacts(resolve, path, method, item)),
    ),
    ...Object.entries(responses).flatMap(([name, answer]) => answerFacts(name, answer)),
    ...Object.entries(schemas).flatMap(([name, schema]) => [
      spaced(`schema ${name}`, typeOf(schema), boundsOf(schema)),
      ...schemaFacts(name, schema),
    ]),
  ];
}
