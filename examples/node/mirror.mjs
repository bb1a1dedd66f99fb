#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// usage: mirror.mjs FILE
//
// Prints each event of a verbsd from now on, each once, as a line of JSON, and keeps a mirror of its open connections,
// listeners and buffers in FILE, as of the newest event. Both go on when that verbsd is stopped or killed, and started again,
// if it has a state_dir. A refusal ends the program, and so do events that the log no longer holds. Environment: VERBSD_URL
// (default http://127.0.0.1:7480), VERBSD_TOKEN.

import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const { VERBSD_URL: url = "http://127.0.0.1:7480", VERBSD_TOKEN: token = "" } = process.env;

// Asks until there is an answer, and none of 503: verbsd may be down, stop or start.
const ask = async (path) => fetch(url + path, { headers: { Authorization: `Bearer ${token}` } });
const get = (path) => ask(path).then((answer) => (answer.status === 503 ? Promise.reject() : answer.json())).catch(() => pause(200).then(() => get(path)));

// Returns all items of a list, which comes in pages. The lists are read behind the events, so they are at least as new.
const list = (path, after = "") => get(`${path}?limit=1000${after}`).then(async ({ items, next }) => [...items, ...(next ? await list(path, `&after=${next}`) : [])]);

for (let page = await get("/v1/events?after=now"); ; page = await get(`/v1/events?after=${page.next}&limit=1000&wait_ms=60000`)) {
	if (!page.items || page.compacted || (page.restarted && !page.resumed)) throw new Error(`no events: ${JSON.stringify(page)}`);
	for (const event of page.items) console.log(JSON.stringify(event));
	writeFileSync(process.argv[2], JSON.stringify({ connections: await list("/v1/connections"), listeners: await list("/v1/listeners"), buffers: await list("/v1/buffers") }));
}
