// SPDX-License-Identifier: Apache-2.0
//
// A daemon that is gone, comes back as another, or hangs.

import { go, row_of, sees } from "../ui.mjs";

const STALE = /verbsd does not answer/;

async function a_restart_is_survived(world) {
	await world.fresh();
	await world.connection({ name: "before" });
	const page = await world.page("a", "#/connections");

	await sees(row_of(page, "before").getByText("established"));
	// Another page load would lose this.
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
	// And it hears again what happens.
	await world.connection({ name: "later" });
	await sees(row_of(page, "later"));
}

export const scenarios = [
	["a restart of the daemon is told, and survived", a_restart_is_survived],
	["a daemon that hangs makes the page say so, until it goes on", a_daemon_that_hangs_is_noticed],
];
