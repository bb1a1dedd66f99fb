// SPDX-License-Identifier: Apache-2.0
// The facts of verbsctl and verbsd, from what they print themselves.
import { execFileSync } from 'node:child_process';
import { listFacts } from './lists.mjs';

const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' });

// The lines below a heading, up to the next empty line.
function section(text, heading) {
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start < 0) return [];
  const end = lines.indexOf('', start);
  return lines.slice(start + 1, end < 0 ? undefined : end);
}

// "  -n, --lines N    text": the option and what it takes.
function optionOf(line) {
  const found = /^ {2,6}(-\w, )?(--[a-z][a-z0-9-]*)(?: ([^ ]+))?/.exec(line);
  return found && [found[1]?.slice(0, 2), found[2], found[3]].filter(Boolean).join(' ');
}

const optionsOf = (text, heading) => section(text, heading).map(optionOf).filter(Boolean);

// "  buffers    ls, show": nouns with their verbs, whose list may go on in the next line.
function nounsOf(help) {
  const nouns = new Map();
  let last;
  for (const line of section(help, 'Nouns and their verbs:')) {
    const [, noun, verbs] = /^ {2}([a-z-]+)? +(.*)$/.exec(line);
    last = noun ?? last;
    const names = verbs.split(',').map((verb) => verb.trim());
    nouns.set(last, [...(nouns.get(last) ?? []), ...names.filter((verb) => verb !== '')]);
  }
  return nouns;
}

function verbFacts(program, noun, verb) {
  const help = run(program, noun, verb, '--help');
  const [usage] = /^Usage: verbsctl .*$/m.exec(help);
  const operands = usage.replace(`Usage: verbsctl ${noun} ${verb}`, '').replace('[OPTION...]', '').trim();
  return [
    `verbsctl ${`${noun} ${verb} ${operands}`.trim()}`,
    ...listFacts(`verbsctl ${noun} ${verb}`, optionsOf(help, 'Options:')),
  ];
}

function shortFacts(help) {
  return section(help, 'Short forms:').map((line) => {
    const [, short, long] = /^ {2}([a-z-]+) +([a-z-]+(?: [a-z-]+)?) {2}/.exec(line);
    return `verbsctl short form ${short} = ${long}`;
  });
}

// "Exit status: 0 done, 1 refused or failed,\n2 ..." up to the period.
function exitFacts(help) {
  const [, list] = /Exit status: ([^.]*)\./.exec(help);
  return list.split(/,\s+(?=\d)/).map((one) => `verbsctl exit ${one.replace(/\s+/g, ' ')}`);
}

/** Commands, options and exit codes of verbsctl, as lines. */
export function commandFacts(program) {
  const help = run(program, '--help');
  const [, variables] = /Environment: ([^.]*)\./.exec(help);
  return [
    ...[...nounsOf(help)].flatMap(([noun, verbs]) => verbs.flatMap((verb) => verbFacts(program, noun, verb))),
    ...shortFacts(help),
    ...optionsOf(help, 'Common options:').map((option) => `verbsctl ${option}`),
    ...exitFacts(help),
    ...variables.split(/,\s+/).map((name) => `verbsctl variable ${name}`),
  ];
}

/** Options of verbsd, as lines. */
export function daemonFacts(program) {
  const lines = run(program, '--help').split('\n');
  return lines.map(optionOf).filter(Boolean).map((option) => `verbsd ${option}`);
}

/** Keys of the configuration with their defaults, as lines. */
export function configFacts(program) {
  let above = '';
  return run(program, '--dump-config').split('\n').flatMap((line) => {
    const [, indent, key, value] = /^( *)([a-z_]+):(.*)$/.exec(line) ?? [];
    if (key === undefined) return [];
    if (indent === '') above = key;
    const name = indent === '' ? key : `${above}.${key}`;
    return value === '' ? [] : [`config ${name}${value}`];
  });
}
