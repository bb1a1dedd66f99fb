// SPDX-License-Identifier: Apache-2.0
//
// A drain, which the page begins, shows and takes back; a kept connection that is not there, and comes.

import { sees } from "../ui.mjs";

const PORT = 7998;

async function confirm(page, button, answer) {
	await page.getByRole("button", { name: button, exact: true }).click();
	await page.getByRole("dialog").getByRole("button", { name: answer, exact: true }).click();
	await page.getByRole("dialog").waitFor({ state: "hidden" });
}

async function a_drain(world) {
	await world.fresh();
	const page = await world.page("a", "#/overview");
	const banner = page.getByRole("status", { name: "Drain" });

	await confirm(page, "Drain", "Drain it");
	await sees(banner.getByText("verbsd is drained."));
	await page.getByRole("button", { name: "Drain", exact: true }).waitFor({ state: "hidden" });
	await world.shot(page, "drained");
	await confirm(page, "Serve again", "Serve again");
	await banner.waitFor({ state: "hidden" });

	// Another client's drain is shown too.
	await world.call("a", "POST", "/v1/drain");
	await sees(banner.getByText("Open: no connections."));
	await world.call("a", "DELETE", "/v1/drain");
	await banner.waitFor({ state: "hidden" });
	await sees(page.getByRole("button", { name: "Drain", exact: true }));
}

async function a_kept_connection(world) {
	await world.fresh();
	await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: PORT, name: "to-b", keep: true,
		reconnect_max_ms: 1000 }, 60);
	const page = await world.page("a", "#/overview");
	const away = page.getByRole("list", { name: "Kept objects that are not up" });

	await sees(away.getByRole("link", { name: "to-b" }));
	await sees(away.getByText("nobody listens on that port"));
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: PORT });
	await away.waitFor({ state: "hidden" });
	await page.goto(page.url().replace("overview", "connections/to-b"));
	await sees(page.locator(".view-head").getByText("established"));
	await sees(page.getByRole("region", { name: "Kept", exact: true }).getByText("up", { exact: true }));
	await sees(page.getByText("without a sign of life"));
}

export const scenarios = [
	["a drain is begun, shown and taken back", a_drain],
	["a kept connection that is not there is shown with its reason until it comes", a_kept_connection],
];
