// SPDX-License-Identifier: Apache-2.0
// A terminal for tests: runs verbsctl on a pty made by script(1), keeps the screen's content, sends keys and changes
// the size.
import { spawn, spawnSync } from 'node:child_process';
import { CTL, environment, IN_VAIN_MS, quoted } from './ctl.mjs';

// The part of terminfo's "xterm" that ncurses uses.
export class Picture {
  constructor(lines, columns) {
    this.line = 0;
    this.column = 0;
    this.styles = [];
    this.rest = '';
    this.resize(lines, columns);
  }

  resize(lines, columns) {
    this.columns = columns;
    this.cells = Array.from({ length: lines }, () => Array(columns).fill(' '));
    this.region = [0, lines - 1];
    this.#keepCursorInside();
  }

  get text() {
    return this.cells.map((cells) => cells.join('').trimEnd()).join('\n');
  }

  write(text) {
    const all = this.rest + text;
    // Handles a character, a control character, or a complete escape sequence; an incomplete one waits
    // for more.
    const token = /\u001b\[([?>]?)([\d;]*)([@-~])|\u001b[()].|\u001b[=>78Mc]|\u001b\][^\u0007]*\u0007|[^\u001b]/gu;
    let end = 0;
    for (let found = token.exec(all); found && found.index === end; found = token.exec(all)) {
      end = token.lastIndex;
      if (found[3])
        this.#control(found[1], found[2].split(';').map((n) => Number(n)), found[3]);
      else if (found[0] === '\u001bM')
        this.#up();
      else if (found[0][0] !== '\u001b')
        this.#character(found[0]);
    }
    this.rest = all.slice(end);
  }

  #character(c) {
    if (c === '\r') {
      this.column = 0;
    } else if (c === '\n') {
      this.#down();
    } else if (c === '\b') {
      this.column = Math.max(this.column - 1, 0);
    } else if (c >= ' ' && this.column < this.columns) {
      this.cells[this.line][this.column++] = c;
      this.last = c;
    }
  }

  // Like a terminal: what the program writes before it has heard of the new size may point outside.
  #keepCursorInside() {
    this.line = Math.min(Math.max(this.line, 0), this.cells.length - 1);
    this.column = Math.min(Math.max(this.column, 0), this.columns);
  }

  #down() {
    if (this.line === this.region[1])
      this.#scroll(this.region[0], -1);
    else
      this.line = Math.min(this.line + 1, this.cells.length - 1);
  }

  #up() {
    if (this.line === this.region[0])
      this.#scroll(this.region[0], 1);
    else
      this.line = Math.max(this.line - 1, 0);
  }

  // Moves the lines from the cursor to the region's end down by n; negative: up.
  #scroll(line, n) {
    const moving = this.cells.splice(line, this.region[1] - line + 1);
    const fresh = Array.from({ length: Math.min(Math.abs(n), moving.length) }, () => Array(this.columns).fill(' '));
    const kept = n > 0 ? [...fresh, ...moving.slice(0, moving.length - fresh.length)] : [...moving.slice(fresh.length), ...fresh];
    this.cells.splice(line, 0, ...kept);
  }

  #erase(line, from, to) {
    this.cells[line].fill(' ', from, to);
  }

  #control(mark, numbers, final) {
    const n = numbers[0] || 1;
    const row = this.cells[this.line];
    const todo = {
      H: () => { this.line = n - 1; this.column = (numbers[1] || 1) - 1; },
      A: () => { this.line -= n; },
      B: () => { this.line += n; },
      C: () => { this.column += n; },
      D: () => { this.column -= n; },
      G: () => { this.column = n - 1; },
      d: () => { this.line = n - 1; },
      X: () => this.#erase(this.line, this.column, this.column + n),
      K: () => this.#erase(this.line, numbers[0] === 1 ? 0 : this.column, numbers[0] === 1 ? this.column + 1 : this.columns),
      J: () => {
        this.#erase(this.line, numbers[0] === 2 ? 0 : this.column, this.columns);
        this.cells.forEach((_, i) => (numbers[0] === 2 || i > this.line) && this.#erase(i, 0, this.columns));
      },
      P: () => { row.splice(this.column, n); row.push(...Array(n).fill(' ')); row.length = this.columns; },
      '@': () => { row.splice(this.column, 0, ...Array(n).fill(' ')); row.length = this.columns; },
      L: () => this.#scroll(this.line, n),
      M: () => this.#scroll(this.line, -n),
      S: () => this.#scroll(this.region[0], -n),
      T: () => this.#scroll(this.region[0], n),
      r: () => {
        const last = this.cells.length - 1;
        this.region = [Math.min(n - 1, last), Math.min((numbers[1] || last + 1) - 1, last)];
        this.line = 0;
        this.column = 0;
      },
      b: () => { for (let i = 0; i < n; i++) this.#character(this.last); },
      m: () => { this.styles.push(...numbers); },
    }[final];
    if (!mark)
      todo?.();
    this.#keepCursorInside();
  }
}

// Starts verbsctl on a terminal of this size; the end of the test kills it. First the shell prints the terminal's
// name, so that stty(1) can change its size from outside.
export function startOnTerminal(t, server, args, { lines = 24, columns = 80, env = {} } = {}) {
  const line = `tty; stty rows ${lines} cols ${columns}; exec ${[CTL, ...args].map(quoted).join(' ')}`;
  const child = spawn('script', ['-qefc', line, '/dev/null'],
    { env: environment({ VERBSD_URL: server.url, SHELL: '/bin/sh', ...env }) });
  const picture = new Picture(lines, columns);
  const run = { picture, raw: '', code: undefined };
  child.stdin.on('error', () => {});
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text) => {
    run.raw += text;
    picture.write(text);
  });
  const ended = new Promise((resolve) => child.on('close', (code) => { run.code = code; resolve(code); }));
  run.type = (keys) => child.stdin.write(keys);
  run.resize = (newLines, newColumns) => {
    picture.resize(newLines, newColumns);
    spawnSync('stty', ['-F', /^\S+/.exec(run.raw)[0], 'rows', String(newLines), 'cols', String(newColumns)]);
  };
  run.ended = ended;
  // Resolves when the screen fulfils the condition.
  run.until = async (holds) => {
    const is = typeof holds === 'function' ? holds : ({ text }) => holds.test(text);
    const end = Date.now() + IN_VAIN_MS;
    while (!is(picture)) {
      if (run.code !== undefined || Date.now() > end)
        throw new Error(`ended with ${run.code}, and never showed ${holds}:\n${picture.text}`);
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
  };
  t.after(async () => { child.kill('SIGKILL'); await ended; });
  return run;
}
