// SPDX-License-Identifier: Apache-2.0
// Reads the folders of cases into one form: {name, about, needs, steps, cleanup}. There a step that asks is
// {about, request, expect}, and each row of a table is such a step.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const CASE_MEMBERS = ['about', 'needs', 'steps', 'cleanup'];
const STEP_MEMBERS = ['about', 'request', 'expect', 'raw', 'walk', 'await', 'abort', 'repeat', 'background'];
const KINDS = ['request', 'raw', 'walk', 'await', 'abort'];

// The status of an answer whose step names none.
const USUAL_STATUS = { GET: 200, HEAD: 200, PUT: 200, PATCH: 200, POST: 201, DELETE: 204 };

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${error.message}`);
  }
}

function refuseUnknown(where, object, known) {
  const extra = Object.keys(object).filter((key) => !known.includes(key));
  if (extra.length > 0) throw new Error(`${where}: unknown member ${extra}`);
}

// In a fragment "<name>" is a parameter; variables ("${name}") are replaced by the player.
function fillText(text, parameters) {
  const whole = /^<([a-z_]+)>$/.exec(text);
  const valueOf = (name) => {
    if (!(name in parameters)) throw new Error(`no parameter <${name}>`);
    return parameters[name];
  };
  return whole ? valueOf(whole[1]) : text.replace(/<([a-z_]+)>/g, (_, name) => valueOf(name));
}

function fill(value, parameters) {
  if (typeof value === 'string') return fillText(value, parameters);
  if (Array.isArray(value)) return value.map((item) => fill(item, parameters));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fill(item, parameters)]),
  );
}

// --- steps that ask

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

// "[invalid] STATUS [CODE] [/POINTER or ?PARAMETER] [~REGEX of the detail]" as {invalid, expect}.
function parseAnswer(where, text) {
  const found = /^(invalid )?(\d{3})(?: ([a-z_0-9]+))?(?: ([/?])(\S*))?(?: ~(.+))?$/.exec(text);
  if (!found) throw new Error(`${where}: "${text}" is not "[invalid] STATUS [CODE] [/POINTER or ?PARAMETER] [~DETAIL]"`);
  const [, invalid, status, code, kind, place, detail] = found;
  const errors = kind && [kind === '?' ? { parameter: place } : { pointer: `/${place}` }];
  const json = { ...(code && { code }), ...(errors && { errors }), ...(detail && { detail: `$match:${detail}` }) };
  const expect = { status: Number(status), ...(Object.keys(json).length > 0 && { json }) };
  return { invalid: invalid !== undefined, expect };
}

// `base` with the members of `change`; those that are "$absent" are left out.
function changed(base, change) {
  if (!isObject(base) || !isObject(change)) return change;
  const both = { ...base };
  for (const [name, value] of Object.entries(change))
    if (value === '$absent') delete both[name];
    else both[name] = changed(base[name], value);
  return both;
}

// A step {ask: "METHOD PATH", members of the request, expect} as {request, expect}.
function readAsk(where, { about, ask, expect = {}, background, repeat, ...request }) {
  const [, method, path] = /^([A-Z]+) (.+)$/s.exec(ask) ?? [];
  if (!method) throw new Error(`${where}: "${ask}" is not "METHOD PATH"`);
  const { invalid, expect: wanted } =
    typeof expect === 'string' ? parseAnswer(where, expect) : { expect: { status: USUAL_STATUS[method], ...expect } };
  const step = { request: { method, path, ...request, ...(invalid && { invalid }) } };
  if (about !== undefined) step.about = about;
  if (repeat !== undefined) step.repeat = repeat;
  return background === undefined ? { ...step, expect: wanted } : { ...step, background };
}

// A step with `refused` as a step for each row [about, what it changes in `json`, answer].
function readTable(where, { refused, json = {}, ...step }) {
  return refused.map(([about, change, expect, ...more]) => {
    if (!isObject(change) || typeof expect !== 'string' || more.length > 0)
      throw new Error(`${where}: row "${about}" is not [ABOUT, CHANGE, ANSWER]`);
    return readAsk(where, { ...step, about, json: changed(json, change), expect });
  });
}

function readStep(where, step) {
  if (step.refused) return readTable(where, step);
  if (step.ask) return [readAsk(where, step)];
  return [typeof step.expect === 'string' ? { ...step, expect: parseAnswer(where, step.expect).expect } : step];
}

// --- fragments

// Replaces "use" by the steps of the shared fragment.
function expandUse(folder, { use, with: given = {} }) {
  const path = join(folder, `${use}.json`);
  const { about, defaults = {}, steps, ...rest } = readJson(path);
  refuseUnknown(path, rest, []);
  refuseUnknown(`${path}: parameters`, given, Object.keys(defaults));
  const expanded = expand(folder, path, fill(steps, { ...defaults, ...given }));
  return expanded.map((step) => ({ about: step.about ?? about, ...step }));
}

function expand(folder, where, steps) {
  return steps.flatMap((step) => (step.use ? expandUse(folder, step) : readStep(where, step)));
}

function checkStep(where, step) {
  refuseUnknown(where, step, STEP_MEMBERS);
  if (KINDS.filter((kind) => kind in step).length !== 1)
    throw new Error(`${where}: a step is exactly one of ask, ${KINDS.slice(1)}`);
}

function readCase(folder, name) {
  const found = readJson(join(folder, 'cases', name, 'steps.json'));
  refuseUnknown(name, found, CASE_MEMBERS);
  if (!found.about || !found.needs || !found.steps?.length)
    throw new Error(`${name}: a case has about, needs and steps`);
  const [steps, cleanup] = [found.steps, found.cleanup ?? []].map((list) => expand(join(folder, 'shared'), name, list));
  [...steps, ...cleanup].forEach((step, i) => checkStep(`${name}: step ${i + 1}`, step));
  return { name, about: found.about, needs: found.needs.split(' '), steps, cleanup };
}

/** All cases below `folder`, ordered by name. */
export function readCases(folder) {
  return readdirSync(join(folder, 'cases'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => readCase(folder, entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
