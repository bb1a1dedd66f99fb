// SPDX-License-Identifier: Apache-2.0
// Variables in cases: "${name}" anywhere in a string, and "${name+N}" for a number or hex string plus N; "${N*x}" is N times
// the character x.

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?:([+-])(\d+|[A-Za-z_][A-Za-z0-9_]*))?\}/g;

const REPETITION = /\$\{(\d+)\*(.)\}/g;

export class UnknownVariable extends Error {}

function lookUp(vars, name) {
  if (vars[name] === undefined) throw new UnknownVariable(`no variable ${name}`);
  return vars[name];
}

function add(value, by) {
  if (typeof value === 'string' && value.startsWith('0x'))
    return '0x' + (BigInt(value) + BigInt(by)).toString(16);
  return Number(value) + by;
}

function valueOf(vars, [, name, sign, operand]) {
  const value = lookUp(vars, name);
  if (!sign) return value;
  const number = Number(/^\d/.test(operand) ? operand : lookUp(vars, operand));
  return add(value, sign === '-' ? -number : number);
}

// A string that is only a reference keeps the type of the variable; in a longer string it becomes
// text.
function inString(text, vars) {
  const matches = [...text.matchAll(REFERENCE)];
  if (matches.length === 1 && matches[0][0] === text) return valueOf(vars, matches[0]);
  const long = text.replace(REPETITION, (_, times, character) => character.repeat(times));
  return long.replace(REFERENCE, (...match) => String(valueOf(vars, match)));
}

/** Returns a copy of the value with all references replaced; throws UnknownVariable. */
export function substitute(value, vars) {
  if (typeof value === 'string') return inString(value, vars);
  if (Array.isArray(value)) return value.map((item) => substitute(item, vars));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [inString(key, vars) + '', substitute(item, vars)]),
  );
}
