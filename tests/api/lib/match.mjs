// SPDX-License-Identifier: Apache-2.0
// Compares a value with the expectation of a case, and lists every difference with its JSON pointer.
//
// Objects match partially, arrays item by item, other values by equality. A string that begins with `$`, and an
// object whose members all begin with `$`, are matchers; README.md lists them.
import { bytesOf, crc32c, sha256 } from './bytes.mjs';

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

const words = {
  $any: (value) => value !== undefined,
  $absent: (value) => value === undefined,
  $int: (value) => Number.isInteger(value),
  $string: (value) => typeof value === 'string',
  $text: (value) => typeof value === 'string' && value.trim() !== '',
  $hex: (value) => typeof value === 'string' && /^0x[0-9a-f]{1,16}$/.test(value),
  $time: (value) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/.test(value),
};

const wordsWithArgument = {
  $match: (pattern, value) => typeof value === 'string' && new RegExp(pattern, 's').test(value),
  $capture: (name, value, captures) => {
    captures[name] = value;
    return value !== undefined;
  },
  $find: (argument, value, captures) => {
    const colon = argument.indexOf(':');
    const found = new RegExp(argument.slice(colon + 1), 's').exec(value);
    captures[argument.slice(0, colon)] = found?.[1];
    return found !== null;
  },
};

export function show(value) {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

function differs(at, expected, got) {
  return [`at ${at || '/'}: expected ${show(expected)}, got ${show(got)}`];
}

function matchWord(expected, value, at, captures) {
  if (expected in words) return words[expected](value) ? [] : differs(at, expected, value);
  const [, name, argument] = /^(\$[a-z]+):(.*)$/s.exec(expected) ?? [];
  if (!(name in wordsWithArgument)) throw new Error(`no such matcher: ${expected}`);
  return wordsWithArgument[name](argument, value, captures) ? [] : differs(at, expected, value);
}

// Captures of a failed try must not be used by the case.
function attempt(expected, value, captures) {
  const mine = {};
  const failures = match(expected, value, mine);
  if (failures.length === 0) Object.assign(captures, mine);
  return failures.length === 0;
}

// The items must occur in this order; others may be between them.
function matchOrdered(expected, value, at, captures) {
  let from = 0;
  for (const wanted of expected) {
    const index = value.findIndex((item, i) => i >= from && attempt(wanted, item, captures));
    if (index < 0)
      return [`at ${at}: expected ${show(wanted)} behind the first ${from} of ${show(value)}`];
    from = index + 1;
  }
  return [];
}

function matchContains(expected, value, at, captures) {
  return expected
    .filter((wanted) => !value.some((item) => attempt(wanted, item, captures)))
    .map((wanted) => `at ${at}: expected an item ${show(wanted)} in ${show(value)}`);
}

const compare = (test) => (expected, value, at, captures, name) =>
  test(value, expected) ? [] : differs(at, { [name]: expected }, value);

const lengthOf = (value) => (isObject(value) ? Object.keys(value).length : value?.length);

const operators = {
  $all: (expected, value, at, captures) =>
    expected.flatMap((one) => match(one, value, captures, at)),
  $one: (expected, value, at, captures) =>
    expected.some((one) => attempt(one, value, captures))
      ? []
      : differs(at, { $one: expected }, value),
  $not: (expected, value, at) =>
    attempt(expected, value, {}) ? differs(at, { $not: expected }, value) : [],
  $equals: (expected, value, at) => matchExactly(expected, value, at),
  $gte: compare((value, limit) => value >= limit),
  $lte: compare((value, limit) => value <= limit),
  $length: (expected, value, at, captures) =>
    match(expected, lengthOf(value), captures, `${at} (length)`),
  $base64: (expected, value, at) => match(bytesOf(expected).toString('base64'), value, {}, at),
  $sha256: (expected, value, at) => match(sha256(bytesOf(expected)), value, {}, at),
  $crc32c: (expected, value, at) => match(crc32c(bytesOf(expected)), value, {}, at),
};

const arrayOperators = {
  $each: (expected, value, at, captures) =>
    value.flatMap((item, i) => match(expected, item, captures, `${at}/${i}`)),
  $contains: matchContains,
  $ordered: matchOrdered,
};

function matchOperator(name, expected, value, at, captures) {
  if (name in operators) return operators[name](expected, value, at, captures, name);
  if (!(name in arrayOperators)) throw new Error(`no such matcher: ${name}`);
  if (!Array.isArray(value)) return differs(at, 'an array', value);
  return arrayOperators[name](expected, value, at, captures);
}

function matchExactly(expected, value, at = '') {
  const failures = match(expected, value, {}, at);
  if (!isObject(expected) || !isObject(value)) return failures;
  const extra = Object.keys(value).filter((key) => !(key in expected));
  return [
    ...failures,
    ...extra.map((key) => `at ${at}/${key}: expected nothing, got ${show(value[key])}`),
  ];
}

function matchObject(expected, value, at, captures) {
  const keys = Object.keys(expected);
  if (keys.length > 0 && keys.every((key) => key.startsWith('$')))
    return keys.flatMap((key) => matchOperator(key, expected[key], value, at, captures));
  if (!isObject(value)) return differs(at, expected, value);
  return keys.flatMap((key) => match(expected[key], value[key], captures, `${at}/${key}`));
}

function matchArray(expected, value, at, captures) {
  if (!Array.isArray(value)) return differs(at, expected, value);
  if (expected.length !== value.length)
    return [
      `at ${at || '/'}: expected ${expected.length} items, got ${value.length}: ${show(value)}`,
    ];
  return expected.flatMap((item, i) => match(item, value[i], captures, `${at}/${i}`));
}

const isOperator = (name) => name in operators || name in arrayOperators;

/** The unknown matchers of an expectation. */
export function unknownMatchers(expected) {
  if (typeof expected === 'string')
    return !expected.startsWith('$') ||
      expected.startsWith('${') ||
      expected in words ||
      /^\$(match|capture|find):/.test(expected)
      ? []
      : [expected];
  if (Array.isArray(expected)) return expected.flatMap(unknownMatchers);
  if (!isObject(expected)) return [];
  const names = Object.keys(expected).filter((name) => name.startsWith('$') && !isOperator(name));
  return [...names, ...Object.values(expected).flatMap(unknownMatchers)];
}

/** Returns the differences as lines of text. Values for $capture are stored in `captures`. */
export function match(expected, value, captures = {}, at = '') {
  if (typeof expected === 'string' && expected.startsWith('$'))
    return matchWord(expected, value, at, captures);
  if (Array.isArray(expected)) return matchArray(expected, value, at, captures);
  if (isObject(expected)) return matchObject(expected, value, at, captures);
  return expected === value ? [] : differs(at, expected, value);
}
