// SPDX-License-Identifier: Apache-2.0
// Compares requests and responses with openapi.yaml, in its strict form.
import Ajv2020 from 'ajv/dist/2020.js';
import YAML from 'yaml';
import { wholeContract } from '../../contract.mjs';
import { strict } from './strict.mjs';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const JSON_TYPES = ['application/json', 'application/problem+json'];
const SCHEMAS = 'openapi.yaml';
// Headers of answers that have a meaning of their own, which the contract declares for each answer that has them.
const DECLARED = [
  'ETag', 'Idempotency-Durable', 'Idempotency-Replayed', 'Idempotency-Server', 'Location', 'Preference-Applied', 'Retry-After', 'Verbsd-Event',
  'Verbsd-Server', 'Verbsd-Until',
];

/** Returns the media type of a Content-Type, without its parameters. */
export function mediaType(header) {
  return header === undefined ? undefined : header.split(';')[0].trim().toLowerCase();
}

// Makes references to schemas absolute, so that any part of the document compiles alone.
function absolute(node) {
  if (Array.isArray(node)) return node.map(absolute);
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string'
        ? value.replace('#/components/schemas/', `${SCHEMAS}#/$defs/`)
        : absolute(value),
    ]),
  );
}

function makeAjv(document) {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  });
  ajv.addFormat('binary', true);
  for (const word of ['x-role', 'x-short', 'x-optional']) ajv.addKeyword(word);
  ajv.addSchema({ $id: SCHEMAS, $defs: absolute(document.components.schemas) });
  return ajv;
}

function templatePattern(template) {
  const escaped = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\{[a-z_]+\}/g, '([^/]+)')}$`);
}

/** The methods of an Allow header, without those that a server may answer without documenting them. */
export function methodList(header = '') {
  const all = header.split(',').map((method) => method.trim());
  return all.filter((method) => method && !['HEAD', 'OPTIONS'].includes(method)).sort();
}

// Converts a query or path value to the type of its schema.
function coerce(text, schema) {
  if (schema.type === 'array') return text.split(',');
  if (schema.type === 'integer' && /^-?\d+$/.test(text)) return Number(text);
  if (schema.type === 'array') return text.split(',').map((one) => coerce(one, schema.items));
  return text;
}

function parseJson(bytes) {
  try {
    return {
      value: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)),
    };
  } catch (error) {
    return { error: error.message };
  }
}

let loaded;

// Texts for people, also those that are put together: none has a constant of a library that verbsd is made of, as a text
// of such a library may, and none names a party twice, as "the peer waited for the peer" does.
const CONSTANT = /\b(?:JSON|MHD|GNUTLS|SQLITE|UV|YAML|CURLE?)_[A-Z_]+/;
const TWICE = /\b((?:the|an?) [a-z]+) (?:[a-z]+ ){1,3}?(?:for|of|by|with|from|to) \1\b|\b([a-z]+) \2\b/;

export function badTexts(value, name = '') {
  if (typeof value === 'object' && value) return Object.entries(value).flatMap(([key, item]) => badTexts(item, key));
  if (typeof value !== 'string' || !['detail', 'hint', 'title', 'text', 'causes', 'summary', 'advice'].includes(name)) return [];
  const found = CONSTANT.exec(value) ?? TWICE.exec(value);
  return found ? [`${name} has "${found[0]}": ${value}`] : [];
}

export class Contract {
  /** Takes the whole document, as clients see it. */
  constructor(document) {
    this.open = document;
    this.document = strict(this.open);
    this.ajv = makeAjv(this.document);
    this.validators = new Map();
    this.routes = Object.entries(this.document.paths).map(([template, item]) => ({
      template,
      item,
      pattern: templatePattern(template),
      literal: !template.includes('{'),
    }));
    this.codes = this.document.components.schemas.ProblemCode.enum;
    this.statusOfCode = new Map();
  }

  /** The contract of these sources, read once. It forgets what other runs have seen. */
  static load() {
    loaded ??= new Contract(wholeContract(YAML.parse));
    loaded.statusOfCode.clear();
    return loaded;
  }

  resolve(node) {
    if (!node?.$ref) return node;
    const parts = node.$ref.slice(2).split('/');
    return parts.reduce(
      (at, part) => at[part.replaceAll('~1', '/').replaceAll('~0', '~')],
      this.document,
    );
  }

  /** The route of a path without its query, or null. */
  route(pathname) {
    const found = this.routes.filter(({ pattern }) => pattern.test(pathname));
    return found.find(({ literal }) => literal) ?? found[0] ?? null;
  }

  methodsOf(route) {
    return METHODS.filter((method) => route.item[method]).map((method) => method.toUpperCase());
  }

  operation(method, pathname) {
    const route = this.route(pathname);
    const operation = route?.item[method.toLowerCase()];
    if (!operation) return null;
    const parameters = [...(route.item.parameters ?? []), ...(operation.parameters ?? [])];
    return {
      ...operation,
      template: route.template,
      parameters: parameters.map((one) => this.resolve(one)),
    };
  }

  /** All operations as {method, template, role, statuses}; 4XX and 5XX are not among the statuses. */
  operations() {
    return this.routes.flatMap(({ template, item }) =>
      this.methodsOf({ item }).map((method) => ({
        method,
        template,
        role: item[method.toLowerCase()]['x-role'],
        statuses: Object.keys(item[method.toLowerCase()].responses)
          .filter((status) => /^\d+$/.test(status))
          .map(Number),
      })),
    );
  }

  /** Violations of a schema by a value, as lines of text. */
  validate(key, schema, value) {
    if (!this.validators.has(key)) this.validators.set(key, this.ajv.compile(absolute(schema)));
    const check = this.validators.get(key);
    if (check(value)) return [];
    return check.errors.map(
      ({ instancePath, message, params }) =>
        `at ${instancePath || '/'}: ${message} ${JSON.stringify(params)}`,
    );
  }

  // --- requests

  /** Violations of the contract by a request, as lines of text; null for an unknown operation. */
  checkRequest({ method, path, headers, body }) {
    const url = new URL(path, 'http://h');
    const operation = this.operation(method, url.pathname);
    if (!operation) return null;
    return [
      ...this.checkPath(operation, url.pathname),
      ...this.checkQuery(operation, url.searchParams),
      ...this.checkHeaders(operation, headers),
      ...this.checkBody(operation, method, headers, body),
    ];
  }

  checkParameter(operation, parameter, text) {
    const key = `${operation.operationId} ${parameter.in} ${parameter.name}`;
    const schema = this.resolve(parameter.schema);
    return this.validate(key, parameter.schema, coerce(text, schema)).map(
      (line) => `${parameter.name}: ${line}`,
    );
  }

  checkPath(operation, pathname) {
    const parameter = operation.parameters.find((one) => one.in === 'path');
    if (!parameter) return [];
    const [, text] = templatePattern(operation.template).exec(pathname);
    return this.checkParameter(operation, parameter, decodeURIComponent(text));
  }

  checkQuery(operation, query) {
    const known = operation.parameters.filter((one) => one.in === 'query');
    const names = [...query.keys()];
    const failures = names
      .filter((name, i) => names.indexOf(name) !== i)
      .map((name) => `${name}: given twice`);
    for (const [name, text] of query) {
      const parameter = known.find((one) => one.name === name);
      failures.push(
        ...(parameter
          ? this.checkParameter(operation, parameter, text)
          : [`${name}: not a parameter`]),
      );
    }
    failures.push(...this.checkFields(operation, query.get('fields')));
    const missing = known.filter((one) => one.required && !query.has(one.name));
    return [...failures, ...missing.map((one) => `${one.name}: required`)];
  }

  // Each of `fields` is a member of what the operation answers with.
  checkFields({ responses }, fields) {
    const schema = this.resolve(responses['200'])?.content?.['application/json']?.schema;
    if (!fields || !schema) return [];
    const members = Object.keys(this.shown(schema).properties);
    return fields === '*'
      ? []
      : fields
          .split(',')
          .filter((name) => !members.includes(name))
          .map((name) => `fields: ${name}: not a member`);
  }

  // The schema of an object, or of an item of a list, of which a request can choose members.
  shown(schema) {
    const whole = this.resolve(schema);
    return whole['x-short'] ? whole : this.resolve(whole.properties.items.items);
  }

  checkHeaders(operation, headers) {
    return operation.parameters
      .filter((one) => one.in === 'header')
      .flatMap((parameter) => {
        const name = Object.keys(headers).find(
          (key) => key.toLowerCase() === parameter.name.toLowerCase(),
        );
        return name === undefined ? [] : this.checkParameter(operation, parameter, String(headers[name]));
      });
  }

  checkBody({ requestBody, operationId }, method, headers, body) {
    if (!requestBody) return [];
    if (body === undefined || body.length === 0)
      return requestBody.required ? ['a body is required'] : [];
    const name = Object.keys(headers).find((key) => key.toLowerCase() === 'content-type');
    const type = mediaType(headers[name]);
    const content = requestBody.content[type];
    if (!content) return [`Content-Type ${type}: not one of ${Object.keys(requestBody.content)}`];
    if (!JSON_TYPES.includes(type)) return [];
    const { value, error } = parseJson(body);
    return error ? [error] : this.validate(`${operationId} body`, content.schema, value);
  }

  // --- responses

  /** Violations of the contract by a response, as lines of text. `response.json` is set if the body is JSON. */
  checkResponse(request, response) {
    const url = new URL(request.path, 'http://h');
    const head = request.method === 'HEAD';
    const operation = this.operation(head ? 'GET' : request.method, url.pathname);
    const documented = operation?.responses[response.status];
    const kind = this.resolve(documented ?? { $ref: '#/components/responses/Problem' });
    const key = documented ? `${operation.operationId} ${response.status}` : 'problem';
    if (!documented && response.status < 400)
      return [`status ${response.status} is not documented for ${request.method} ${url.pathname}`];
    return [
      ...(head ? [] : this.checkContent(key, kind, response, url.searchParams)),
      ...this.checkResponseHeaders(kind, request, response, operation),
      ...(response.status >= 400 && !documented ? this.checkProblem(response) : []),
      ...(operation ? this.checkCode(operation, response.json?.code) : []),
    ];
  }

  checkContent(key, kind, response, query) {
    const type = mediaType(response.headers['content-type']);
    if (!kind.content)
      return response.body.length > 0 ? [`status ${response.status} has a body`] : [];
    const content = kind.content[type];
    if (!content) return [`Content-Type ${type} where ${Object.keys(kind.content)} is documented`];
    if (!JSON_TYPES.includes(type)) return [];
    const { value, error } = parseJson(response.body);
    if (error) return [`the body is not JSON: ${error}`];
    response.json = value;
    const failures = [...this.validate(key, content.schema, value), ...badTexts(value)];
    return response.status < 300 ? [...failures, ...this.checkShown(content.schema, value, query)] : failures;
  }

  // An object, or each item of a list, has the members that `fields` asks for, the short form, or all.
  checkShown(schema, value, query) {
    const whole = this.resolve(schema);
    const isList = Boolean(whole.properties?.items) && !whole['x-short'];
    const shown = isList ? this.resolve(whole.properties.items.items) : whole;
    if (!shown?.['x-short']) return [];
    const fields = query.get('fields') || (isList ? shown['x-short'].join() : '*');
    const asked = fields === '*' ? Object.keys(shown.properties) : ['id', ...fields.split(',')];
    const always = asked.filter((name) => !shown.properties[name]?.['x-optional'] && !shown.properties[name]?.['x-role']);
    return (isList ? value.items : [value]).flatMap((item) => [
      ...Object.keys(item).filter((name) => !asked.includes(name)).map((name) => `an item has ${name}, which is not in fields=${fields}`),
      ...always.filter((name) => !(name in item)).map((name) => `an item lacks ${name}`),
    ]);
  }

  checkResponseHeaders(kind, request, { status, headers }, operation) {
    const failures = [];
    const makes = status === 201 || (status === 202 && request.method === 'POST' && operation?.responses['201']);
    const prefers = request.method !== 'GET' && [200, 201, 202].includes(status) && operation?.parameters.some(({ name }) => name === 'Prefer');
    if (kind.headers?.Location && (headers.location !== undefined || makes))
      failures.push(...this.checkLink('Location', headers.location));
    for (const name of DECLARED)
      if (headers[name.toLowerCase()] !== undefined && !kind.headers?.[name])
        failures.push(`the header ${name} is not declared`);
    if (!/^[0-9a-f]{16}$/.test(headers['verbsd-server'] ?? ''))
      failures.push(`Verbsd-Server is ${headers['verbsd-server']}`);
    const prefer = Object.entries(request.headers ?? {}).find(
      ([name]) => name.toLowerCase() === 'prefer',
    )?.[1];
    const applied = headers['preference-applied'];
    const wait = /^wait=(\d+)$/.exec(prefer ?? '');
    if (prefers && wait && applied !== `wait=${Math.min(wait[1], 60)}`)
      failures.push(`Preference-Applied is ${applied}, though Prefer: ${prefer} was sent`);
    if (applied !== undefined && prefer === undefined)
      failures.push(`Preference-Applied: ${applied}, though no Prefer was sent`);
    if (status === 204 && headers['content-type']) failures.push('status 204 with a Content-Type');
    return failures;
  }

  // A path in a response must be a documented one.
  checkLink(what, path) {
    if (typeof path !== 'string' || !this.route(path))
      return [`${what} is ${path}, which is no path of the contract`];
    return [];
  }

  checkProblem({ status, headers, json }) {
    if (!json) return [];
    const failures = [];
    // A failure of what a request began is 424 whatever its code is, and stands at Location.
    const outcome = status === 424;
    const known = outcome ? status : (this.statusOfCode.get(json.code) ?? status);
    if (!outcome) this.statusOfCode.set(json.code, known);
    if (json.status !== status)
      failures.push(`the problem says status ${json.status}, the response ${status}`);
    if (json.type !== `/v1/glossary/${json.code}`)
      failures.push(`type ${json.type} does not fit code ${json.code}`);
    if (known !== status)
      failures.push(`code ${json.code} came with status ${known} before, now with ${status}`);
    if (status === 502 || status === 504) failures.push(`status ${status} is for gateways`);
    if (outcome && headers.location !== json.instance)
      failures.push(`Location is ${headers.location}, the instance ${json.instance}`);
    for (const [name, path] of [
      ['instance', json.instance],
      ['holder', json.holder],
      ...(json.users ?? []).map((user) => ['users', user]),
    ])
      failures.push(...(path === undefined ? [] : this.checkLink(name, path)));
    if (status === 405) failures.push(...this.checkAllow(headers.allow, json.allow));
    if (status === 401 && !/^bearer/i.test(headers['www-authenticate'] ?? ''))
      failures.push('status 401 without WWW-Authenticate: Bearer');
    if ([429, 503].includes(status) && !/^[1-9]\d*$/.test(headers['retry-after'] ?? ''))
      failures.push(`status ${status} without Retry-After`);
    return failures;
  }

  // An operation lists the codes that it can answer with, but for those of all requests.
  checkCode({ operationId, 'x-problem-codes': own = [] }, code) {
    if (!this.codes.includes(code)) return [];
    const all = this.document.info['x-problem-codes'] ?? [];
    return all.includes(code) || own.includes(code)
      ? []
      : [`code ${code} is not among the x-problem-codes of ${operationId}`];
  }

  checkAllow(header, member) {
    if (header === undefined || !Array.isArray(member))
      return ['status 405 wants both the header Allow and the member allow'];
    const list = header.split(',').map((method) => method.trim());
    return `${list.sort()}` === `${[...member].sort()}`
      ? []
      : [`the header Allow has ${list}, the member allow ${member}`];
  }

  /** The methods that a 405 must allow on this path, or null for an unknown path. */
  allowOf(pathname) {
    const route = this.route(pathname);
    return route && this.methodsOf(route);
  }
}
