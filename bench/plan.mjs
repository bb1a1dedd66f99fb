// SPDX-License-Identifier: Apache-2.0
//
// usage: plan.mjs list|places OPTIONS
//
// list: prints every row. places: prints where there is something to measure, rdma or native or both. OPTIONS as for
// measure.mjs. Exit status 2 when `only` names a row that there is not.
import { topics } from "./rows/index.mjs";
import { wantedRows } from "./rows/select.mjs";
import { printTable, targetText } from "./report/table.mjs";

const [what, text] = process.argv.slice(2);
const options = JSON.parse(text);
const ids = topics.flatMap(({ rows }) => rows.map(({ id }) => id));
const unknown = options.only.filter((id) => !ids.includes(id));

function lineOf(topic, row) {
  return [row.id, topic.large ? "with --large" : topic.place, `${targetText(row)} ${row.unit}`, row.title(options)];
}

if (unknown.length > 0) {
  process.stderr.write(`bench: there is no row ${unknown.join(", ")}; bench/run --list shows all\n`);
  process.exitCode = 2;
} else if (what === "list") {
  printTable([["id", "where", "target", "measured"], ...topics.flatMap((topic) => topic.rows.map((row) => lineOf(topic, row)))]);
} else {
  const wanted = topics.filter((topic) => wantedRows(topic, options).length > 0);
  console.log([...new Set(wanted.map(({ place }) => place))].join(" "));
}
