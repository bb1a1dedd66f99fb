// SPDX-License-Identifier: Apache-2.0
//
// A thousand connections in one table.

import { row_of, sees } from "../ui.mjs";
import { equal, ok } from "../world.mjs";

const MANY = 1000;
const AT_A_TIME = 20;
const PORT = 7471;
// Small queues: it is their number that is tried here.
const QP = { sq_depth: 1, rq_depth: 1, recv_size_bytes: 64 };

async function connect_many(world) {
	let next = 1;
	const lane = async () => {
		while (next <= MANY) {
			const name = `row_${String(next++).padStart(4, "0")}`;

			await world.make("a", "/v1/connections", { dst_addr: world.addr, dst_port: PORT, name, qp: QP, timeout_ms: 60000 });
		}
	};

	await Promise.all(Array.from({ length: AT_A_TIME }, lane));
}

const names_in_sight = (page) => page.locator("tr.row a").allInnerTexts();

async function a_thousand_rows(world) {
	await world.fresh();
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: PORT, qp: QP });
	const page = await world.page("a", "#/connections?sort=id");
	const table = page.getByRole("table", { name: "Connections" });

	// They come while the page is looked at.
	await sees(page.getByText("No connections yet"));
	await connect_many(world);
	await page.waitForFunction((count) => document.querySelector("table")?.getAttribute("aria-rowcount") === String(count + 1), MANY);

	// Only those in sight are in the document.
	const drawn = await page.locator("tr.row").count();
	ok(drawn < 200, `${drawn} rows are in the document`);
	await sees(row_of(page, "row_0001"));
	await page.evaluate(() => scrollTo(0, document.scrollingElement.scrollHeight));
	await sees(row_of(page, "row_1000"));
	await page.evaluate(() => scrollTo(0, 0));
	await sees(row_of(page, "row_0001"));

	await page.getByRole("button", { name: "Connection", exact: true }).click();
	await sees(row_of(page, "row_1000"));
	ok((await names_in_sight(page))[0].includes("row_1000"), "sorted downwards the last is not first");
	await page.getByRole("searchbox").pressSequentially("row_07");
	await page.waitForFunction(() => document.querySelector("table").getAttribute("aria-rowcount") === "101");
	await page.getByRole("searchbox").fill("row_0777");
	await page.waitForFunction(() => document.querySelectorAll("tr.row").length === 1);
	await page.getByRole("searchbox").fill("");
	await world.shot(page, "a-thousand");

	// And they all end at once.
	await world.kill("b");
	await page.getByRole("button", { name: /^Open/ }).click();
	await sees(page.getByText("No connection matches"));
	equal((await world.get("a", "/v1/connections?state=open&limit=1")).total, 0, "how many are open");
	await table.waitFor({ state: "hidden" });
}

export const scenarios = [["a thousand connections are a table like another", a_thousand_rows]];
