// SPDX-License-Identifier: Apache-2.0
//
// What the dashboard asks of Prometheus.

// Grafana puts these in: its variables, as when nothing is picked, and a range that fits a scrape every second.
const VARIABLES = { job: "verbsd", instance: ".*", device: ".*", __rate_interval: "30s" };

export const filled_in = (expr) => expr.replace(/\$\{?(\w+)\}?/g, (_, name) => VARIABLES[name]);

export const queries = ({ panels, annotations }) => [
	...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: title, expr }))),
	...annotations.list.filter(({ expr }) => expr).map(({ name, expr }) => ({ panel: `annotation ${name}`, expr })),
];
