#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The layout of the files of cases. Usage: layout.mjs FILE… rewrites them.
//
// A step, a row and any other value that fits is one line. The members of a longer one fill as many lines as they need.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const WIDTH = 130;

const isComposed = (value) => value !== null && typeof value === 'object';

// The items of a value, each behind the text that it begins with.
const itemsOf = (value) =>
  Array.isArray(value)
    ? value.map((item) => ['', item])
    : Object.entries(value).map(([name, item]) => [`${JSON.stringify(name)}: `, item]);

const enclose = (value, inner) => (Array.isArray(value) ? `[${inner}]` : `{${inner}}`);

// Characters that an editor does not show are written with \u.
const escaped = (text) =>
  text.replace(/[\p{C}\p{Z}]/gu, (found) =>
    found === ' ' ? found : found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`));

function inOneLine(value) {
  if (!isComposed(value)) return escaped(JSON.stringify(value));
  const items = itemsOf(value).map(([start, item]) => start + inOneLine(item));
  return enclose(value, items.join(', '));
}

// A list with a line for each item, however short they are.
function inRows(items, indent) {
  const margin = ' '.repeat(indent);
  return `[\n${items.map((item) => `${margin}  ${write(item, indent + 2, indent + 2, 1)}`).join(',\n')}\n${margin}]`;
}

const isTable = (value) => Array.isArray(value.refused) && 'ask' in value;

// The value begins in the column `column`, further lines of it behind `indent` spaces; `tail` characters follow it.
function write(value, column, indent, tail) {
  const line = inOneLine(value);
  if (!isComposed(value) || (column + line.length + tail <= WIDTH && !isTable(value))) return line;
  const items = itemsOf(value);
  const lines = [];
  for (const [i, [start, item]] of items.entries()) {
    const closing = i === items.length - 1 ? tail + 1 : 1;
    const at = i === 0 ? column + 1 : indent + 1;
    const rows = start === '"refused": ' && isTable(value);
    const text = start + (rows ? inRows(item, indent + 1) : write(item, at + start.length, indent + 2, closing));
    const joined = `${lines.at(-1)}, ${text}`;
    const from = lines.length === 1 ? column + 1 : indent + 1;
    if (i > 0 && !joined.includes('\n') && from + joined.length + closing <= WIDTH) lines[lines.length - 1] = joined;
    else lines.push(text);
  }
  return enclose(value, lines.join(`,\n${' '.repeat(indent + 1)}`));
}

/** The text of a file: a line for each member, and for each item of `steps` and `cleanup`. */
export function layout(file) {
  const members = itemsOf(file).map(([start, item]) =>
    start + (/steps|cleanup/.test(start) ? inRows(item, 2) : write(item, 2 + start.length, 2, 1)));
  return `{\n  ${members.join(',\n  ')}\n}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const path of process.argv.slice(2)) writeFileSync(path, layout(JSON.parse(readFileSync(path, 'utf8'))));
