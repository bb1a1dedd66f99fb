// SPDX-License-Identifier: Apache-2.0
//
// The production host of verbsd.yaml(5), as written there.
import { readFileSync } from "node:fs";

const manual = readFileSync(new URL("../docs/verbsd.yaml.5.scd", import.meta.url), "utf8");
const section = manual.match(/^## A production host\n(.*?)^# /ms)[1];

// The configuration, what is added to the unit, and the commands that make groups and tokens.
export const [settings, unit, commands] = [...section.matchAll(/^```\n(.*?)^```\n/gms)].map((block) => block[1]);
