// SPDX-License-Identifier: Apache-2.0
//
// The first page: it shows what runs, what failed and which limits are near their end, and leads to each of them.

import { chord, focus_is_visible, row_of, sees, tab_to } from "../ui.mjs";

const panel = (page, name) => page.getByRole("region", { name, exact: true });

export async function an_idle_daemon(world, page) {
	await sees(page.getByRole("heading", { name: "Overview" }));
	await sees(page.getByText("No connection moves bytes now."));
	await sees(page.getByText("No transfer, benchmark or probe is running."));
	await sees(page.getByText("Nothing failed in the last hour."));
	await sees(panel(page, "Connections by state").getByText("0 open"));
	await sees(panel(page, "Devices and ports").getByRole("link", { name: world.guest.dev }));
	await sees(panel(page, "Devices and ports").getByText("active"));
	for (const label of ["Loop lag, p99", "Leaked objects"])
		await sees(page.getByText(label));
}

async function a_busy_daemon(world, page) {
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 7471, service: "sink" });
	await world.connection({ name: "steady" });
	await world.call("a", "POST", "/v1/probes", { connection: "steady" });
	await world.call("a", "POST", "/v1/benchmarks", { connection: "steady", op: "send", size_bytes: 1000, duration_ms: 600000 });
	await sees(panel(page, "Connections by state").locator(".line").filter({ hasText: "established" }).getByText("1", { exact: true }));
	await sees(panel(page, "Running now").getByText("Benchmark 1: send"));
	await sees(panel(page, "Running now").locator(".line").filter({ hasText: "Probe 1: ack" }).getByText("over steady"));
	await sees(page.getByRole("list", { name: "Busiest connections" }).getByRole("link", { name: "steady" }));
	await sees(page.locator(".now-value").filter({ hasText: /out .*[1-9].*B\/s/ }));
}

export async function a_failure(world, page) {
	await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: 7999, name: "nobody" }, 60);
	const failure = page.getByRole("list", { name: "Failures, newest first" }).locator(".failure").filter({ hasText: "nobody" });

	await sees(failure.getByText("rejected", { exact: true }));
	await failure.getByRole("link", { name: "nobody" }).click();
	await sees(page.locator(".view-head").getByText("failed"));
	await page.goBack();
	await sees(failure);
}

async function a_limit(world, page) {
	for (let i = 0; i < 4; i++)
		await world.make("a", "/v1/buffers", { size_bytes: 4096 });
	await sees(page.locator('[data-limit="buffers"]').getByText("4 of 4"));
	await sees(panel(page, "Limits").getByText(/near the end/));
}

async function by_keyboard(page) {
	await page.locator("main").focus();
	await tab_to(page, "steady");
	await focus_is_visible(page);
	await page.keyboard.press("Enter");
	await sees(page.getByRole("heading", { name: "steady" }));
	await chord(page, "o", page.getByRole("heading", { name: "Overview" }));
	await tab_to(page, "All in events");
	await page.keyboard.press("Enter");
	await sees(page.locator(".event").filter({ hasText: "rejected" }));
}

// The failures of before a page was opened are there too, and every figure leads to its list.
async function another_visitor(world) {
	const page = await world.page("a", "#/overview");

	await sees(page.getByRole("list", { name: "Failures, newest first" }).getByRole("link", { name: "nobody" }));
	await page.getByRole("link", { name: /^Established connections/ }).click();
	await sees(row_of(page, "steady"));
}

export const scenarios = [["the overview shows what runs, what failed and what is near its limit", async (world) => {
	await world.fresh({ a: { args: ["--set", "limits.buffers=4"] } });
	const page = await world.page("a");

	await an_idle_daemon(world, page);
	await a_busy_daemon(world, page);
	await a_failure(world, page);
	await a_limit(world, page);
	await by_keyboard(page);
	await another_visitor(world);
}]];
