// SPDX-License-Identifier: Apache-2.0
// Reads the folders of cases into one form: {name, about, needs, steps, cleanup}.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const CASE_MEMBERS = ['about', 'needs', 'steps', 'cleanup'];
const STEP_MEMBERS = [
  'about',
  'request',
  'expect',
  'raw',
  'walk',
  'await',
  'abort',
  'repeat',
  'background',
];
const KINDS = ['request', 'raw', 'walk', 'await', 'abort'];

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

// Replaces "use" by the steps of the shared fragment. Cleanup runs in reverse order.
function expandUse(folder, { use, with: given = {} }, cleanup) {
  const path = join(folder, `${use}.json`);
  const { about, defaults = {}, steps, cleanup: own = [], ...rest } = readJson(path);
  refuseUnknown(path, rest, []);
  refuseUnknown(`${path}: parameters`, given, Object.keys(defaults));
  const parameters = { ...defaults, ...given };
  const expanded = expand(folder, fill(steps, parameters), cleanup);
  cleanup.unshift(...fill(own, parameters));
  return expanded.map((step) => ({ about: step.about ?? about, ...step }));
}

function expand(folder, steps, cleanup) {
  return steps.flatMap((step) => (step.use ? expandUse(folder, step, cleanup) : [step]));
}

function checkStep(where, step) {
  refuseUnknown(where, step, STEP_MEMBERS);
  if (KINDS.filter((kind) => kind in step).length !== 1)
    throw new Error(`${where}: a step is exactly one of ${KINDS}`);
}

// A folder with request.json and expect.json is a case with one step.
function readFolder(path) {
  const steps = join(path, 'steps.json');
  if (existsSync(steps)) return readJson(steps);
  const { about, needs, raw, ...request } = readJson(join(path, 'request.json'));
  const expect = readJson(join(path, 'expect.json'));
  return {
    about,
    needs,
    steps: [raw === undefined ? { request, expect } : { raw: { bytes: raw, ...request }, expect }],
  };
}

function readCase(folder, name) {
  const found = readFolder(join(folder, 'cases', name));
  refuseUnknown(name, found, CASE_MEMBERS);
  if (!found.about || !found.needs || !found.steps?.length)
    throw new Error(`${name}: a case has about, needs and steps`);
  const ofFragments = [];
  const steps = expand(join(folder, 'shared'), found.steps, ofFragments);
  const cleanup = [...(found.cleanup ?? []), ...ofFragments];
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
