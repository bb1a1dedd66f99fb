// SPDX-License-Identifier: Apache-2.0
//
// What a person does with the page, by what a person sees: names of buttons, labels of fields, texts.

/** Opens a form by its button, fills it in, and gives the dialog; what is in `more` is behind "More". */
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

/** Submits, and waits until the dialog is gone, which it is when the daemon granted it. */
export async function submit(dialog, button) {
	await dialog.getByRole("button", { name: button, exact: true }).click();
	await dialog.waitFor({ state: "hidden" });
}

/** The curl command that a dialog shows, once it has `part` in it. */
export async function command_of(dialog, part) {
	const command = dialog.getByRole("figure", { name: "The same with curl" }).locator("pre").filter({ hasText: part });

	await command.waitFor();
	return command.innerText();
}

/** Until a field has that value. */
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

/** What has the focus: its label, or its name, or what it says. */
export const name_of_focus = (page) => page.evaluate(() => document.activeElement.getAttribute("aria-label") ||
	document.activeElement.name || document.activeElement.innerText.trim());

/** Until that has the focus. */
export async function focus_is(page, wanted) {
	await page.waitForFunction((name) => [document.activeElement.getAttribute("aria-label"), document.activeElement.name,
		document.activeElement.innerText.trim()].includes(name), wanted);
}
