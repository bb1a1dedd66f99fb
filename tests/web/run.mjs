// SPDX-License-Identifier: Apache-2.0
//
// Usage: run.mjs BUILDDIR [--fake] [PART]
//
// Tests the dashboard of BUILDDIR's verbsd in Debian's Chromium on this machine, with two daemons and a real RDMA device in
// one guest of the lab; or, with --fake, some scenarios with one daemon over the scripted provider and no guest. PART selects
// the scenarios whose name contains it. Screenshots stay in BUILDDIR/web-artefacts (with --fake: web-fake-artefacts), those of
// the run before in the same with .before. The last line is
// "N passed, N failed"; the status is 77 where the test can't run.

import { existsSync, mkdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { Fake, Guest, lab_is_there } from "./lab.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const fake = process.argv.includes("--fake");
const [folder = "build/dev", only = ""] = process.argv.slice(2).filter((word) => word !== "--fake");
const CHROMIUM = process.env.VERBSD_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
	"--disable-sync", "--disable-dev-shm-usage"];
// This is generous, since the guest is emulated and its host may be busy. No scenario asserts a time.
const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 60_000);
// Each request of a page waits up to this long: finds scenarios that depend on how fast a daemon answers.
const LATE_MS = Number(process.env.LATE_MS ?? 0);
const SUITES = fake ? ["fake"]
	: ["story", "overview", "datagrams", "forms", "measure", "events", "access", "kept", "restart", "many", "looks"];

function skip(why) {
	console.log(`skipped: ${why}`);
	process.exit(77);
}

function check_what_is_needed() {
	if (!existsSync(CHROMIUM))
		skip(`there is no ${CHROMIUM} (Debian: chromium; VERBSD_CHROMIUM names another)`);
	if (!["playwright-core", "axe-core"].every((name) => existsSync(join(here, "node_modules", name))))
		skip(`the npm packages are missing: run npm ci in ${here}`);
	if (!fake && !lab_is_there())
		skip("lab/prepare failed, as it says above");
}

async function open_browser() {
	const { chromium } = await import("playwright-core");

	return chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS, timeout: PATIENCE_MS });
}

async function main() {
	check_what_is_needed();
	const build = realpathSync(folder);
	const artefacts = join(build, fake ? "web-fake-artefacts" : "web-artefacts");

	rmSync(`${artefacts}.before`, { recursive: true, force: true });
	if (existsSync(artefacts))
		renameSync(artefacts, `${artefacts}.before`);
	mkdirSync(artefacts, { recursive: true });
	const [{ World }, ...suites] = await Promise.all(["./world.mjs", ...SUITES.map((name) => `./scenarios/${name}.mjs`)]
		.map((path) => import(path)));
	const [guest, browser] = await Promise.all([(fake ? Fake : Guest).boot(build), open_browser()]);
	const world = new World({ guest, browser, artefacts, patience_ms: PATIENCE_MS, late_ms: LATE_MS });

	process.on("exit", () => guest.kill());
	for (const { scenarios } of suites)
		for (const [name, play] of scenarios)
			if (name.includes(only))
				await world.play(name, play);
	await browser.close();
	await world.play("the daemons stop with status 0", () => world.stop());
	console.log(`${world.passed} passed, ${world.failed} failed`);
	process.exit(world.failed === 0 ? 0 : 1);
}

main().catch((error) => {
	console.log(`not ok: ${error.stack}`);
	process.exit(1);
});
