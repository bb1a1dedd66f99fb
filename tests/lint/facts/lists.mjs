// SPDX-License-Identifier: Apache-2.0
// Lists of facts about one thing.

const WIDTH = 130;

/** A list as one line if the line is short; otherwise each item of it as a line. */
export function listFacts(prefix, items, separator = ' ') {
  if (items.length === 0) return [];
  const line = `${prefix} ${items.join(separator)}`;
  return line.length <= WIDTH ? [line] : items.map((item) => `${prefix} ${item}`);
}

const known = new Map(); // long lists with their names

/** As listFacts(), of words; a long list that another name has already is "WHAT NAME as OTHER". */
export function wordFacts(what, name, words) {
  const facts = listFacts(`${what} ${name}`, words);
  if (facts.length < 2) return facts;
  const list = `${what} ${[...words].sort()}`;
  const other = known.get(list);
  if (other === undefined) known.set(list, name);
  return other === undefined ? facts : [`${what} ${name} as ${other}`];
}
