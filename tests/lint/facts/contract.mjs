// SPDX-License-Identifier: Apache-2.0
// The facts of openapi.yaml: paths, parameters, headers, members, values and codes.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { wholeContract } from '../../contract.mjs';
import { listFacts, wordFacts } from './lists.mjs';

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

const valuesOf = (schema) => (schema.enum ?? schema['x-extensible-enum'] ?? []).filter((value) => value !== null);

// The facts of a schema and of what stands in it, without those of the schemas that it refers to.
function schemaFacts(path, schema) {
  if (typeof schema !== 'object' || schema.$ref) return [];
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const members = Object.entries(schema.properties ?? {});
  const described = members.map(([name, member]) =>
    spaced(name, typeOf(member), schema.required?.includes(name) ? 'required' : '', boundsOf(member)));
  return [
    ...wordFacts('value', path, valuesOf(schema)),
    ...(schema.items ? schemaFacts(`${path}[]`, schema.items) : []),
    ...parts.flatMap((part) => schemaFacts(path, part)),
    ...listFacts(`member ${path}`, described, ', '),
    ...members.flatMap(([name, member]) => schemaFacts(`${path}.${name}`, member)),
  ];
}

function answerFacts(what, { headers = {}, content = {} }) {
  const types = Object.entries(content).map(([type, { schema }]) => `${type} ${typeOf(schema)}`);
  const names = Object.keys(headers).sort();
  return [
    spaced(`answer ${what}`, ...types, names.length > 0 ? `with ${names.join(' ')}` : ''),
    ...Object.values(content).flatMap(({ schema }) => schemaFacts(`answer ${what}`, schema)),
  ];
}

function parameterFacts(what, { name, in: place, required, schema }) {
  return [
    spaced(`parameter ${what} ${place} ${name}`, typeOf(schema), required ? 'required' : '', boundsOf(schema)),
    ...schemaFacts(`${what} ${name}`, schema),
  ];
}

// Answers and parameters that several operations have are named here, and described once.
function operationFacts(path, method, item) {
  const operation = item[method];
  const what = `${method.toUpperCase()} ${path}`;
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  const answers = Object.entries(operation.responses).filter(([status]) => !['4XX', '5XX'].includes(status)); // problems
  const isShared = (node) => node.$ref !== undefined;
  return [
    `operation ${what} ${operation.operationId} ${operation['x-role']}`,
    ...wordFacts('code', what, operation['x-problem-codes'] ?? []),
    ...listFacts(`parameter ${what}`, parameters.filter(isShared).map(({ $ref }) => nameOf($ref))),
    ...parameters.filter((parameter) => !isShared(parameter)).flatMap((parameter) => parameterFacts(what, parameter)),
    ...Object.entries(operation.requestBody?.content ?? {}).map(
      ([type, { schema }]) => `request ${what} ${type} ${typeOf(schema)}`,
    ),
    ...listFacts(`answer ${what}`, answers.filter(([, answer]) => isShared(answer)).map(([status, { $ref }]) => `${status} ${nameOf($ref)}`), ', '),
    ...answers.filter(([, answer]) => !isShared(answer)).flatMap(([status, answer]) => answerFacts(`${what} ${status}`, answer)),
  ];
}

/** The facts of the contract, as lines. */
export function contractFacts(root) {
  const { parse } = createRequire(join(root, 'tests/api/package.json'))('yaml');
  const document = wholeContract(parse, root);
  const { schemas, responses, parameters } = document.components;
  return [
    ...listFacts('code of all operations', document.info['x-problem-codes'] ?? []),
    ...Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).flatMap((method) => operationFacts(path, method, item)),
    ),
    ...Object.entries(parameters).flatMap(([name, parameter]) => parameterFacts(name, parameter)),
    ...Object.entries(responses).flatMap(([name, answer]) => answerFacts(name, answer)),
    ...Object.entries(schemas).flatMap(([name, schema]) => [
      spaced(`schema ${name}`, typeOf(schema), boundsOf(schema)),
      ...schemaFacts(name, schema),
    ]),
  ];
}
