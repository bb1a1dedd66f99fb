// SPDX-License-Identifier: Apache-2.0
//
// The actions of a user on the page. They find things by visible names: of buttons, labels and texts.

const TABS_MAX = 60;

/** Opens a form by its button, fills it in, and returns the dialog; the fields of `more` are those behind "More". */
export async function fill_form(page, button, values, more = {}) {
	await page.getByRole("button", { name: button, exact: true }).click();
	const dialog = page.getByRole("dialog");

	await fill(dialog, values);
	if (Object.keys(more).length) {
		await dialog.getByText("More", { exact: true }).click();
		await fill(dialog, more);
	}
	return dialog;
}

export async function fill(dialog, values) {
	for (const [label, value] of Object.entries(values)) {
		const field = dialog.getByLabel(label, { exact: true });
		const kind = await field.evaluate((element) => (element.type === "checkbox" ? "checkbox" : element.localName));

		if (kind === "select")
			await field.selectOption(value);
		else if (kind === "checkbox")
			await field.setChecked(value);
		else
			await field.fill(value);
	}
}

/** Submits, and waits until the dialog closes, which it does after success. */
export async function submit(dialog, button) {
	await dialog.getByRole("button", { name: button, exact: true }).click();
	await dialog.waitFor({ state: "hidden" });
}

/** The curl command of a dialog, as soon as it contains `part`. */
export async function command_of(dialog, part) {
	const command = dialog.getByRole("figure", { name: "The same with curl" }).locator("pre").filter({ hasText: part });

	await command.waitFor();
	return command.innerText();
}

/** Waits until a field has that value. */
export async function has_value(field, value) {
	await field.evaluate((element, wanted) => new Promise((done) => {
		const look = () => (element.value === wanted ? done() : requestAnimationFrame(look));

		look();
	}), value);
}

/** Goes to a view by the navigation. */
export const go = (page, view) => page.getByRole("navigation").getByRole("link", { name: view }).click();

export const sees = (locator) => locator.first().waitFor({ state: "visible" });
export const row_of = (page, name) => page.locator("tr.row").filter({ hasText: name });

/** The label, name or text of the element with the focus. */
export const name_of_focus = (page) => page.evaluate(() => document.activeElement.getAttribute("aria-label") ||
	document.activeElement.name || document.activeElement.innerText.trim());

/** Waits until the element of that label, name or text has the focus. */
export async function focus_is(page, wanted) {
	await page.waitForFunction((name) => [document.activeElement.getAttribute("aria-label"), document.activeElement.name,
		document.activeElement.innerText.trim()].includes(name), wanted);
}

// Waits until an element of that label, name or text is shown that can have the focus: the page may still be loading, and
// draws the buttons of actions only when it knows the role of its user.
async function can_have_focus(page, wanted) {
	await page.waitForFunction((name) => [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex]")]
		.some((it) => !it.disabled && it.checkVisibility() && [it.getAttribute("aria-label"), it.name, it.innerText.trim()].includes(name)),
	wanted);
}

/** Presses Tab until the element of that label, name or text has the focus. */
export async function tab_to(page, wanted) {
	const passed = [];

	await can_have_focus(page, wanted);
	for (let i = 0; i < TABS_MAX; i++) {
		await page.keyboard.press("Tab");
		passed.push(await name_of_focus(page));
		if (passed.at(-1) === wanted)
			return;
	}
	throw new Error(`Tab does not lead to ${wanted}, but to ${passed.join(", ")}`);
}

/** Fails unless an outline or a shadow marks the element with the focus. */
export async function focus_is_visible(page) {
	const shown = await page.evaluate(() => {
		const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);

		return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
	});

	if (!shown)
		throw new Error("the element with the focus is not marked");
}

/** Presses "g" and a letter until `landmark` is there: the pause between the two may be too long on a busy machine. */
export async function chord(page, key, landmark) {
	for (let tries = 0; tries < 10 && !await landmark.isVisible(); tries++) {
		await page.keyboard.press("g");
		await page.keyboard.press(key);
		await landmark.waitFor({ timeout: 2000 }).catch(() => {});
	}
	await sees(landmark);
}

/** Enters a token. */
export async function unlock(page, token) {
	await page.getByRole("textbox", { name: "Token" }).fill(token);
	await page.getByRole("button", { name: "Unlock" }).click();
}
