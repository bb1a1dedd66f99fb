// SPDX-License-Identifier: Apache-2.0
//
// These are what run.mjs --fake plays: the main path of a user, with a daemon that connects to itself.

import { sees, submit } from "../ui.mjs";
import { equal } from "../world.mjs";
import { scenarios as first } from "./first.mjs";
import { scenarios as looks } from "./looks.mjs";
import { a_failure, an_idle_daemon } from "./overview.mjs";
import { a_refused_write, connect } from "./story.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, scale: 2 };

async function opened_and_closed(world, look, options) {
	await world.fresh();
	await world.make("a", "/v1/listeners", { addr: "0.0.0.0", port: 7471 });
	const page = await world.page("a", "", options);

	await an_idle_daemon(world, page);
	await connect(world, page);
	await world.fits(page, "an open connection");
	await world.shot(page, `opened-${look}`);
	await page.getByRole("button", { name: "Close", exact: true }).click();
	await sees(page.getByRole("dialog"));
	await world.shot(page, `question-${look}`);
	await submit(page.getByRole("dialog"), "Close it");
	await sees(page.locator(".view-head").getByText("closed"));
	await sees(page.locator("main").getByText("local close"));
	await world.shot(page, `closed-${look}`);
}

// A reverse proxy serves the daemon below a path, and something else at all other paths.
async function below_a_path(world) {
	const elsewhere = [];

	await world.fresh();
	await world.make("a", "/v1/listeners", { addr: "0.0.0.0", port: 7471 });
	const page = await world.page("a", "below/", { before: (it) => it.route("**", async (route) => {
		const url = new URL(route.request().url());

		if (!url.pathname.startsWith("/below/")) {
			elsewhere.push(url.pathname);
			await route.abort();
			return;
		}
		url.pathname = url.pathname.slice("/below".length);
		await route.continue({ url: url.href });
	}) });

	await connect(world, page);
	await page.goto(`${page.url().split("#")[0]}#/events`);
	const href = await page.getByRole("link", { name: "/v1/events" }).evaluate((link) => link.href);
	equal(new URL(href).pathname, "/below/v1/events", "the link to the events");
	equal(elsewhere.join(), "", "what the page asked for elsewhere");
}

export const scenarios = [
	["the page works below a path of a reverse proxy", below_a_path],
	["a connection is opened by the form, and closed", (world) => opened_and_closed(world, "light")],
	["a connection that nobody accepts is shown with its cause", async (world) => {
		await world.fresh();
		const page = await world.page("a");

		await a_failure(world, page);
		await sees(page.getByText("nobody listens on that port"));
		await page.getByRole("link", { name: "nobody" }).click();
		const why = page.getByRole("region", { name: "What happened" });
		await sees(why.getByText("What to do"));
		equal((await why.innerText()).match(/nobody listens/gi).length, 1, "how often the page says that nobody listens");
	}],
	["a write that the peer refuses is shown with its address and key", a_refused_write],
	...looks,
	...first,
	["a phone suffices to open and close a connection", (world) => opened_and_closed(world, "phone", PHONE)],
];
