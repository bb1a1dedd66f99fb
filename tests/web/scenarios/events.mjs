// SPDX-License-Identifier: Apache-2.0
//
// The event feed: filters, and the pause button.

import { sees } from "../ui.mjs";

async function the_feed_can_be_filtered_and_paused(world) {
	await world.fresh();
	await world.make("a", "/v1/buffers", { size_bytes: 4096, name: "first" });
	await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: 7999 }, 60);
	const page = await world.page("a", "#/events");
	const feed = page.getByRole("list", { name: "Events, newest first" });
	const made = feed.locator(".event").filter({ hasText: "buffer registered" });
	const ended = feed.locator(".event").filter({ hasText: "connection ended" });

	await sees(made);
	await sees(ended);
	await page.getByLabel("Severity").selectOption("warning");
	await made.waitFor({ state: "hidden" });
	await sees(ended);
	await page.getByLabel("About").selectOption("buffer");
	await sees(page.getByText("No event matches"));
	await page.getByLabel("Severity").selectOption("debug");
	await sees(made);

	// While the feed is paused, new events are counted and not shown.
	await page.getByRole("button", { name: "Pause" }).click();
	await world.make("a", "/v1/buffers", { size_bytes: 8192 });
	await sees(page.getByRole("button", { name: /^Resume \([1-9]/ }));
	await feed.getByText("8192 bytes").waitFor({ state: "hidden" });
	await page.getByRole("button", { name: /^Resume/ }).click();
	await sees(feed.getByText("8192 bytes"));

	// An event has a link to its object.
	await page.getByLabel("About").selectOption("connection");
	await ended.getByRole("link").click();
	await sees(page.locator(".view-head").getByText("failed"));
}

export const scenarios = [["the event feed can be filtered and paused", the_feed_can_be_filtered_and_paused]];
