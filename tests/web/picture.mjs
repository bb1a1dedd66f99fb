// SPDX-License-Identifier: Apache-2.0
//
// picture.mjs BUILDDIR FILE: makes the picture of docs/tour.md. It shows the overview of a busy daemon: connections to a
// second daemon in the guest, a probe, writes of a size that changes, and a connection that failed.

import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

import { Guest } from "./lab.mjs";
import { World } from "./world.mjs";

const [, , folder, file] = process.argv;
const SIZE = { width: 1280, height: 860 };
const WATCHED_MS = 45_000;

async function keep_busy(world, remote, until_ms) {
	for (let i = 0; Date.now() < until_ms; i++)
		await world.make("a", "/v1/transfers", { op: "write", connection: "to-b", buffer: "source", remote,
			length_bytes: (8 + 6 * Math.round(Math.sin(i / 3))) << 18 });
}

async function draw(world) {
	await world.fresh();
	const { addr, rkey } = await world.make("b", "/v1/buffers", { size_bytes: 4 << 20, access: ["remote_write"] });

	await world.make("a", "/v1/buffers", { size_bytes: 4 << 20, name: "source" });
	await world.connection({ name: "to-b" }, 7472);
	await world.connection({ name: "backup" }, 7472);
	await world.call("a", "POST", "/v1/probes", { connection: "to-b" });
	await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: 7999, name: "to-c" }, 60);
	const page = await world.page("a", "#/overview", { viewport: SIZE });

	await keep_busy(world, { addr, rkey }, Date.now() + WATCHED_MS);
	await page.screenshot({ path: resolve(file), animations: "disabled" });
}

const guest = await Guest.boot(realpathSync(folder));
const browser = await chromium.launch({ executablePath: process.env.VERBSD_CHROMIUM ?? "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu"] });
const world = new World({ guest, browser, patience_ms: 60_000 });

process.on("exit", () => guest.kill());
await draw(world);
await browser.close();
await world.stop();
