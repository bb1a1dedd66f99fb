// SPDX-License-Identifier: Apache-2.0
//
// The metrics of the daemon, from the sources that have their names.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = [
	...["stats.c", "stats.h", "stats_work.c"].map((name) => `daemon/observe/${name}`),
	...["metrics.c", "metrics_objects.c", "metrics_ports.c"].map((name) => `api/observe/${name}`),
];

// The page has histograms without the suffixes of their series.
export const metric_names = new Set(SOURCES.flatMap((source) => readFileSync(root + source, "utf8").match(/verbsd_\w+/g)));
