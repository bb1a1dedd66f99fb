// SPDX-License-Identifier: Apache-2.0
//
// A thousand connections in one table. An emulated device would need a minute to open them, and other tests do that. Here
// the answer of the daemon is multiplied on its way to the page.

import { row_of, sees } from "../ui.mjs";
import { ok } from "../world.mjs";

const MANY = 1000;
const FAILED_EACH = 10;

// One of the many connections, a copy of one of two. Its counters grow with every `round`, and every tenth has failed.
function one_of(id, round, { open, failed }) {
	const template = id % FAILED_EACH === 0 ? failed : open;
	const copy = structuredClone(template);

	Object.assign(copy, { id, name: `row_${String(id).padStart(4, "0")}` });
	copy.counters.write ??= { posted: 0, completed: 0, errors: 0, flushed: 0, bytes: 0, signalled: 0 };
	copy.counters.write.bytes += round * id * 1000;
	return copy;
}

class Crowd {
	constructor(templates) {
		this.templates = templates;
		this.round = 0;
		this.gone = false;
	}

	answer(only_open) {
		const { open, failed } = this.templates;
		const templates = this.gone ? { open: failed, failed } : { open, failed };
		const all = Array.from({ length: MANY }, (_, i) => one_of(i + 1, this.round, templates));
		const items = all.filter(({ state }) => !only_open || !["closed", "failed"].includes(state));

		this.round++;
		return { items, total: items.length, next: null };
	}
}

async function templates_of(world) {
	const open = await world.connection();
	await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: 7999 }, 60);
	const { items } = await world.get("a", "/v1/connections?fields=*&state=open,ended");

	return { open: items.find(({ id }) => id === open.id), failed: items.find(({ state }) => state === "failed") };
}

const rows_are = (page, count) => page.waitForFunction((wanted) =>
	document.querySelector("table")?.getAttribute("aria-rowcount") === String(wanted + 1), count);

async function a_thousand_rows(world) {
	await world.fresh();
	const crowd = new Crowd(await templates_of(world));
	const page = await world.page("a", "#/connections?show=all&sort=id", { before: (it) => it.route("**/v1/connections?*", (route) =>
		route.fulfill({ json: crowd.answer(/state=open(&|$)/.test(route.request().url())) })) });

	await rows_are(page, MANY);
	// Only the rows in sight are in the document.
	const drawn = await page.locator("tr.row").count();
	ok(drawn < MANY / 5, `${drawn} rows are in the document`);
	await sees(row_of(page, "row_0001"));
	await page.evaluate(() => scrollTo(0, document.scrollingElement.scrollHeight));
	await sees(row_of(page, "row_1000"));
	await page.evaluate(() => scrollTo(0, 0));
	await sees(row_of(page, "row_0001"));

	await page.getByRole("button", { name: "Connection", exact: true }).click();
	await sees(row_of(page, "row_1000"));
	await page.waitForFunction(() => document.querySelector("tr.row a").textContent === "row_1000");

	await page.getByRole("searchbox").pressSequentially("row_07");
	await rows_are(page, 100);
	await page.getByRole("searchbox").fill("row_0777");
	await rows_are(page, 1);
	// The counters of all connections move meanwhile.
	await page.waitForFunction(() => /\d (B|.iB)\/s/.test(document.querySelector("tr.row")?.textContent));
	await page.getByRole("searchbox").fill("");
	await page.getByRole("button", { name: /^Failed/ }).click();
	await rows_are(page, MANY / FAILED_EACH);
	await world.shot(page, "a-thousand");

	// All connections end at once, and one event announces it.
	crowd.gone = true;
	await world.call("a", "POST", `/v1/connections/${crowd.templates.open.id}/close`, {}, 60);
	await rows_are(page, MANY);
	await page.getByRole("button", { name: /^Open/ }).click();
	await sees(page.getByText("No connection matches"));
}

export const scenarios = [["a thousand connections fit into a table", a_thousand_rows]];
