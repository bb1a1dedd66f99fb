// SPDX-License-Identifier: Apache-2.0
//
// The queries of the dashboard.

// Values that Grafana inserts: its variables with nothing selected, and a range for a scrape interval of one
// second.
const VARIABLES = { job: "verbsd", instance: ".*", device: ".*", __rate_interval: "30s" };

export const filled_in = (expr) => expr.replace(/\$\{?(\w+)\}?/g, (_, name) => VARIABLES[name]);

export const queries = ({ panels, annotations }) => [
	...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: title, expr }))),
	...annotations.list.filter(({ expr }) => expr).map(({ name, expr }) => ({ panel: `annotation ${name}`, expr })),
];
