// SPDX-License-Identifier: Apache-2.0
//
// A daemon that is killed and started again, and a daemon that hangs.

import { go, row_of, sees } from "../ui.mjs";

const STALE = /verbsd does not answer/;

async function a_restart_is_survived(world) {
	await world.fresh();
	await world.connection({ name: "before" });
	const page = await world.page("a", "#/connections");

	await sees(row_of(page, "before").getByText("established"));
	// By the answer that names its role the page knows which run of the daemon it talks to.
	await sees(page.getByTitle("The role of this page"));
	// A reload of the page would lose this mark.
	await page.evaluate(() => { window.same_page = true; });
	await world.kill("a");
	await sees(page.getByRole("alert").filter({ hasText: STALE }));
	await sees(page.getByRole("banner").getByText("Stale"));
	await sees(row_of(page, "before"));
	await world.shot(page, "stale");

	await world.start("a");
	await sees(page.getByRole("banner").getByText("Live"));
	await sees(page.getByText("verbsd was restarted"));
	await sees(page.getByText("No connections yet"));
	await page.getByRole("alert").waitFor({ state: "hidden" });
	await world.connection({ name: "after" });
	await sees(row_of(page, "after").getByText("established"));
	await page.waitForFunction(() => window.same_page);
	await go(page, "Events");
	await sees(page.locator(".event").filter({ hasText: "daemon started" }));
}

async function a_daemon_that_hangs_is_noticed(world) {
	await world.fresh();
	const page = await world.page("a", "#/connections");

	await sees(page.getByText("No connections yet"));
	await world.guest.signal("a", "SIGSTOP");
	await sees(page.getByRole("alert").filter({ hasText: STALE }));
	await world.guest.signal("a", "SIGCONT");
	await sees(page.getByRole("banner").getByText("Live"));
	await page.getByRole("alert").waitFor({ state: "hidden" });
	// The page receives events again.
	await world.connection({ name: "later" });
	await sees(row_of(page, "later"));
}

export const scenarios = [
	["the page survives a restart of the daemon and announces it", a_restart_is_survived],
	["the page says that it is stale while the daemon hangs", a_daemon_that_hangs_is_noticed],
];
