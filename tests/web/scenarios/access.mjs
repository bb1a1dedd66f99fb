// SPDX-License-Identifier: Apache-2.0
//
// Who may do what, and without a mouse.

import { randomBytes } from "node:crypto";

import { command_of, focus_is, name_of_focus, row_of, sees } from "../ui.mjs";
import { equal, ok } from "../world.mjs";

const token = () => randomBytes(24).toString("hex");

async function unlock(page, what) {
	await page.getByRole("textbox", { name: "Token" }).fill(what);
	await page.getByRole("button", { name: "Unlock" }).click();
}

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

	// A reload keeps it; another tab does not have it; it is in no cookie and no storage that stays.
	await page.reload();
	await sees(row_of(page, "kept"));
	const stays = await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie + location.href);
	ok(!stays.includes(tokens.read), "the token is stored where it stays");

	await page.getByRole("button", { name: "Forget the token" }).click();
	await unlock(page, tokens.control);
	await page.getByRole("button", { name: "Make a buffer" }).click();
	const command = await command_of(page.getByRole("dialog"), "size_bytes");
	ok(command.includes("$VERBSD_TOKEN") && !command.includes(tokens.control), "the command shows the token");
}

// Tab until something has the focus; how often is bounded by what can have it.
async function tab_to(page, wanted) {
	for (let i = 0; i < 60; i++) {
		await page.keyboard.press("Tab");
		if (await name_of_focus(page) === wanted)
			return;
	}
	throw new Error(`Tab does not lead to ${wanted}`);
}

// Of what has the focus, something must show that.
async function focus_is_visible(page) {
	const shown = await page.evaluate(() => {
		const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);

		return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
	});

	ok(shown, "what has the focus does not show it");
}

// "g" and a letter belong together for a moment only, which a busy machine may miss.
async function chord(page, key, landmark) {
	for (let tries = 0; tries < 10 && !await landmark.isVisible(); tries++) {
		await page.keyboard.press("g");
		await page.keyboard.press(key);
		await landmark.waitFor({ timeout: 2000 }).catch(() => {});
	}
	await sees(landmark);
}

async function by_keyboard_alone(world) {
	await world.fresh();
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 7471 });
	const page = await world.page("a");

	await sees(page.getByText("No connections yet"));
	await page.keyboard.press("Tab");
	await focus_is(page, "Skip to the content");
	await page.keyboard.press("Enter");
	equal(await page.evaluate(() => document.activeElement.id), "main", "where the skip link leads");

	// The form: opened, filled in and sent without a mouse.
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

	// To another view and back, to the search, and out of it.
	await chord(page, "e", page.getByRole("heading", { name: "Events" }));
	await chord(page, "c", row_of(page, "keyboard"));
	await page.keyboard.press("/");
	await page.keyboard.type("nobody of this name");
	await sees(page.getByText("No connection matches"));
	await page.keyboard.press("Escape");
	await sees(row_of(page, "keyboard"));

	// A column's head sorts, and says so.
	await tab_to(page, "State");
	await page.keyboard.press("Enter");
	await sees(page.locator('th[aria-sort="ascending"]').filter({ hasText: "State" }));
	await page.keyboard.press("Enter");
	await sees(page.locator('th[aria-sort="descending"]').filter({ hasText: "State" }));

	// Escape leaves a dialog, and the focus is where it was.
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
	["a token opens it, for as much as its role may", a_token_opens_it],
	["all of it can be done by keyboard", by_keyboard_alone],
	["the theme follows the system until somebody chooses", the_theme_is_kept],
];
