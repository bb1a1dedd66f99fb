// SPDX-License-Identifier: Apache-2.0
// The table, the comparison and the document of bench/run, of results that are made up here.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { quantileBetween } from "../../bench/lib/samples.mjs";
import { verdict } from "../../bench/report/compare.mjs";
import { topics } from "../../bench/rows/index.mjs";
import { wantedRows } from "../../bench/rows/select.mjs";
import { scratch_file } from "../scratch.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const RUN = path.join(ROOT, "bench/run");
const DOCUMENT = path.join(ROOT, "docs/internals/performance.md");

function row(better, ...values) {
  const sorted = [...values].sort((a, b) => a - b);
  const value = { median: sorted[values.length >> 1], min: sorted[0], max: sorted.at(-1), values };
  return { id: "some", title: "something", unit: "ratio", better, pairs: values.length, value };
}

function result(...rows) {
  const machine = { mode: "guest", kernel: "6.1.0-1", cpus: 2, cpu: "a processor", memory_bytes: 2 ** 31 };
  return { date: "2026-01-02 03:04 UTC", command: "bench/run", versions: ["verbsd 1", "node 18"], load: 0.5, rdma: machine, native: null, rows };
}

function complete(more) {
  const side = { label: "verbsd", unit: "ms", median: 2 };
  return { ...row("less", 1, 2, 3), target: { at_most: 1.5 }, met: false, note: "As it is made.", a: side, ...more };
}

function run(...args) {
  return spawnSync(RUN, args, { encoding: "utf8" });
}

function stored(name, value) {
  return scratch_file(name, JSON.stringify(value));
}

test("ranges that overlap are the same, others better or worse by what the row wants", () => {
  assert.equal(verdict(row("less", 1, 2, 3), row("less", 3, 4, 5)), "same");
  assert.equal(verdict(row("less", 1, 2, 3), row("less", 4, 5, 6)), "worse");
  assert.equal(verdict(row("more", 1, 2, 3), row("more", 4, 5, 6)), "better");
  assert.equal(verdict(row("less", 4, 5, 6), row("less", 1, 2, 3)), "better");
});

test("what can't be compared is not judged", () => {
  const now = row("less", 1, 2, 3);
  assert.equal(verdict(undefined, now), "new row");
  assert.equal(verdict({ ...now, failure: "no device" }, now), "not measured");
  assert.equal(verdict({ ...now, title: "of another size" }, now), "measures something else");
  assert.equal(verdict(row("less", 4, 5), now), "too few samples");
});

test("a quantile is of what a histogram counted in between", () => {
  const before = [[1, 100], [4, 100], [Infinity, 100]];
  assert.equal(quantileBetween(before, [[1, 100], [4, 110], [Infinity, 110]], 0.5), 2.5);
  assert.equal(quantileBetween(before, [[1, 110], [4, 110], [Infinity, 110]], 1), 1);
  assert.equal(quantileBetween(before, [[1, 100], [4, 100], [Infinity, 110]], 0.5), 4);
});

test("no two rows have the same id, and each has a note", () => {
  const rows = topics.flatMap((topic) => topic.rows);
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
  for (const { id, note, better } of rows) {
    assert.ok(note({}).length > 20, id);
    assert.ok(["less", "more"].includes(better), id);
  }
});

test("large rows are measured with --large or by name only", () => {
  const topic = topics.find(({ large }) => large);
  const [{ id }] = topic.rows;
  assert.deepEqual(wantedRows(topic, { only: [], large: false }), []);
  assert.deepEqual(wantedRows(topic, { only: [], large: true }), topic.rows);
  assert.deepEqual(wantedRows(topic, { only: [id], large: false }).map((row) => row.id), [id]);
});

test("the document explains every row", () => {
  const text = readFileSync(DOCUMENT, "utf8").split("## The last run")[0];
  const explained = [...text.matchAll(/`([a-z]+_[a-z0-9_]+|stop)`/g)].map(([, id]) => id);
  const larger = (id) => /_(65536|262144|1048576)$/.test(id); // "`write_16384` and larger"
  const ids = topics.filter(({ large }) => !large).flatMap(({ rows }) => rows.map(({ id }) => id));
  assert.deepEqual(ids.filter((id) => !explained.includes(id) && !larger(id)), []);
});

test("a stored result is printed with targets, and compared", () => {
  const now = stored("now.json", result(complete({})));
  const old = stored("old.json", result(complete(row("less", 7, 8, 9))));
  const { status, stdout } = run("--from", now, "--compare", old);
  assert.equal(status, 0);
  assert.match(stdout, /^some +something +2\.00 +1\.00\.\.3\.00 +≤ 1\.5 +no +verbsd: 2\.00 ms/m);
  assert.match(stdout, /^Targets met: 0 of 1\.$/m);
  assert.match(stdout, /^some .* ratio +better$/m);
});

test("a row that was not measured is named, and makes the run fail", () => {
  const { value, met, a, ...failed } = complete({ failure: "cmtime failed" });
  const { status, stdout } = run("--from", stored("failed.json", result(failed)));
  assert.equal(status, 1);
  assert.match(stdout, /^some: NOT MEASURED: cmtime failed$/m);
});

test("figures replace those in the document and nothing else", () => {
  const begin = "<!-- figures: written by bench/run --doc -->";
  const end = "<!-- end of figures -->";
  const document = scratch_file("performance.md", `before\n${begin}\nolder\n${end}\nafter\n`);
  const report = path.join(ROOT, "bench/report/report.mjs");
  const { status } = spawnSync(process.execPath, [report, stored("new.json", result(complete({}))), "", document]);
  const text = readFileSync(document, "utf8");
  assert.equal(status, 0);
  assert.ok(text.startsWith(`before\n${begin}\nRun of 2026-01-02 03:04 UTC: \`bench/run\`; load average of the machine before the run: 0.5.`));
  assert.ok(text.endsWith(`\n${end}\nafter\n`));
  assert.match(text, /^\| some \| something \| 2\.00 \|/m);
  assert.doesNotMatch(text, /older/);
});

test("figures of large rows have a place of their own", () => {
  const places = ["<!-- figures: written by bench/run --doc -->", "older", "<!-- end of figures -->"];
  const large = ["<!-- large figures: written by bench/run --large --doc -->", "older", "<!-- end of large figures -->"];
  const document = scratch_file("performance.md", [...places, ...large, ""].join("\n"));
  const report = path.join(ROOT, "bench/report/report.mjs");
  const row = { ...complete({}), id: "some_large" };
  const { status } = spawnSync(process.execPath, [report, stored("large.json", result(row)), "", document]);
  const text = readFileSync(document, "utf8");
  assert.equal(status, 0);
  assert.ok(text.startsWith(places.join("\n")));
  assert.match(text, /^\| some_large \| something \| 2\.00 \|/m);
});

test("wrong usage has its status", () => {
  assert.equal(run("--only", "no_such_row").status, 2);
  assert.equal(run("--pairs", "0").status, 2);
  assert.equal(run("--compare", "/no/such/file").status, 2);
});

const COUNTED = path.join(ROOT, "bench/report/counted.mjs");
const LIBRARIES = "gcc-12 1, libc6 2";

function counted(rows, { kernel = "6.1", write = "" } = {}) {
  const file = scratch_file("counted.tsv", `# row\tns\n# kernel\t6.1\n# libraries\t${LIBRARIES}\nopen\t1000\tusual\tan open\nget\t200\tfull\ta GET\n`);
  const { status, stdout } = spawnSync("node", [COUNTED, stored("counted.json", { kernel, rows }), LIBRARIES, file, write], { encoding: "utf8" });
  return { status, stdout, file: readFileSync(file, "utf8") };
}

test("a counted row that is worse by more than 3 % fails, and a better one is told", () => {
  assert.equal(counted({ open: 1029, get: 195 }).status, 0);
  const worse = counted({ open: 1031, get: 200 });
  assert.equal(worse.status, 1);
  assert.match(worse.stdout, /open +1031 +1000 +3\.10 +WORSE/);
  const better = counted({ get: 190 });
  assert.equal(better.status, 0);
  assert.match(better.stdout, /get +190 +200 +-5\.00 +BETTER/);
});

test("numbers of another kernel are printed and not compared", () => {
  const { status, stdout } = counted({ open: 2000 }, { kernel: "6.2" });
  assert.equal(status, 0);
  assert.match(stdout, /Not compared: kernel 6\.2; written down for 6\.1/);
});

test("counted numbers are written down with their kernel", () => {
  const { status, file } = counted({ open: 2000 }, { kernel: "6.2", write: "1" });
  assert.equal(status, 0);
  assert.match(file, /# kernel\t6\.2\n# libraries\tgcc-12 1, libc6 2\nopen\t2000\tusual\tan open\nget\t200\tfull\ta GET\n$/);
});

test("a counted row that is not written down is an error", () => {
  assert.equal(counted({ other: 1 }).status, 1);
});
