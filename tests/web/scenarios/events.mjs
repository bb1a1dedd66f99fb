// SPDX-License-Identifier: Apache-2.0
//
// The event feed: filters, and holding it still.

import { sees } from "../ui.mjs";

async function the_feed_can_be_filtered_and_held(world) {
	await world.fresh();
	await world.make("a", "/v1/buffers", { size_bytes: 4096, name: "first" });
	await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: 7999 }, 60);
	const page = await world.page("a", "#/events");
	const feed = page.getByRole("list", { name: "Events, newest first" });
	const made = feed.locator(".event").filter({ hasText: "buffer created" });
	const ended = feed.locator(".event").filter({ hasText: "connection ended" });

	await sees(made);
	await sees(ended);
	await page.getByLabel("Severity").selectOption("warning");
	await made.waitFor({ state: "hidden" });
	await sees(ended);
	await page.getByLabel("About").selectOption("buffer");
	await sees(page.getByText("No event matches"));
	await page.getByLabel("Severity").selectOption("");
	await sees(made);

	// Held still, what comes is counted and not shown.
	await page.getByRole("button", { name: "Hold still" }).click();
	await world.make("a", "/v1/buffers", { size_bytes: 8192 });
	await sees(page.getByRole("button", { name: /^Go on \([1-9]/ }));
	await feed.getByText("8192 bytes").waitFor({ state: "hidden" });
	await page.getByRole("button", { name: /^Go on/ }).click();
	await sees(feed.getByText("8192 bytes"));

	// An event leads to what it is about.
	await page.getByLabel("About").selectOption("connection");
	await ended.getByRole("link").click();
	await sees(page.locator(".view-head").getByText("failed"));
}

export const scenarios = [["the event feed can be filtered, and held still", the_feed_can_be_filtered_and_held]];
