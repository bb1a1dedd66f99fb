// SPDX-License-Identifier: Apache-2.0
//
// Tokens and roles, the use of the page by keyboard alone, and the theme.

import { randomBytes } from "node:crypto";

import { chord, command_of, focus_is, focus_is_visible, row_of, sees, tab_to, unlock } from "../ui.mjs";
import { equal, ok } from "../world.mjs";

const token = () => randomBytes(24).toString("hex");

async function a_token_opens_it(world) {
	const tokens = { read: token(), control: token() };

	await world.fresh({ a: { tokens } });
	await world.make("a", "/v1/buffers", { size_bytes: 4096, name: "kept", access: ["remote_read"] });
	const page = await world.page("a", "#/buffers");

	await sees(page.getByRole("heading", { name: "A token is needed" }));
	await unlock(page, token());
	await sees(page.getByText("verbsd does not know this token."));

	await unlock(page, tokens.read);
	await sees(row_of(page, "kept"));
	await sees(page.getByText("read only"));
	equal(await page.getByRole("button", { name: "Make a buffer" }).count(), 0, "how many forms a reader is offered");
	equal(await page.getByRole("button", { name: /Delete buffer/ }).count(), 0, "how many deletions");
	equal(await page.getByText("Address · key").count(), 0, "how many columns of addresses a reader sees");

	// A reload keeps the token. It is in no cookie and no storage that outlives the tab.
	await page.reload();
	await sees(row_of(page, "kept"));
	const stays = await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie + location.href);
	ok(!stays.includes(tokens.read), "the token is in a storage that outlives the tab");

	await page.getByRole("button", { name: "Forget the token" }).click();
	await unlock(page, tokens.control);
	await page.getByRole("button", { name: "Make a buffer" }).click();
	const command = await command_of(page.getByRole("dialog"), "size_bytes");
	ok(command.includes("$VERBSD_TOKEN") && !command.includes(tokens.control), "the command shows the token");
}

async function by_keyboard_alone(world) {
	await world.fresh();
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 7471 });
	const page = await world.page("a", "#/connections");

	await sees(page.getByText("No connections yet"));
	await page.keyboard.press("Tab");
	await focus_is(page, "Skip to the content");
	await page.keyboard.press("Enter");
	equal(await page.evaluate(() => document.activeElement.id), "main", "where the skip link leads");

	// The form is opened, filled in and sent without a mouse.
	await tab_to(page, "Connect");
	await focus_is_visible(page);
	await page.keyboard.press("Enter");
	await focus_is(page, "dst_addr");
	await page.keyboard.type(world.addr);
	await page.keyboard.press("Tab");
	await page.keyboard.type("7471");
	await tab_to(page, "name");
	await page.keyboard.type("keyboard");
	await page.keyboard.press("Enter");
	await sees(page.getByRole("heading", { name: "keyboard" }));
	await sees(page.locator(".view-head").getByText("established"));

	// Keys lead to another view and back, into the search and out of it.
	await chord(page, "e", page.getByRole("heading", { name: "Events" }));
	await chord(page, "c", row_of(page, "keyboard"));
	await page.keyboard.press("/");
	await page.keyboard.type("nobody of this name");
	await sees(page.getByText("No connection matches"));
	await page.keyboard.press("Escape");
	await sees(row_of(page, "keyboard"));

	// The head of a column sorts the table and names the order.
	await tab_to(page, "State");
	await page.keyboard.press("Enter");
	await sees(page.locator('th[aria-sort="ascending"]').filter({ hasText: "State" }));
	await page.keyboard.press("Enter");
	await sees(page.locator('th[aria-sort="descending"]').filter({ hasText: "State" }));

	// Escape closes a dialog, and the focus returns to its button.
	await tab_to(page, "keyboard");
	await page.keyboard.press("Enter");
	await sees(page.getByRole("heading", { name: "keyboard" }));
	await page.locator("main").focus();
	await tab_to(page, "Close");
	await page.keyboard.press("Enter");
	await sees(page.getByRole("dialog"));
	await page.keyboard.press("Escape");
	await page.getByRole("dialog").waitFor({ state: "hidden" });
	await focus_is(page, "Close");
}

async function the_theme_is_kept(world) {
	await world.some();
	const page = await world.page("a", "", { scheme: "dark" });
	const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const dark = await background();

	await page.getByRole("button", { name: "Change to light" }).click();
	await page.getByRole("button", { name: "Change to dark" }).waitFor();
	const light = await background();
	ok(dark !== light, "both themes have the same background");
	await page.reload();
	await page.getByRole("button", { name: "Change to dark" }).waitFor();
	equal(await background(), light, "the background after a reload");
}

export const scenarios = [
	["a token opens the page, with the rights of its role", a_token_opens_it],
	["the page can be used by keyboard alone", by_keyboard_alone],
	["the theme follows the system until the user chooses one", the_theme_is_kept],
];
