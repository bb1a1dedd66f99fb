// SPDX-License-Identifier: Apache-2.0
//
// The speed of a connection: a benchmark by the form, and a probe that is started and stopped.

import { fill_form, go, row_of, sees, submit } from "../ui.mjs";
import { equal, ok } from "../world.mjs";

async function a_benchmark_is_run(page, world) {
	const dialog = await fill_form(page, "Run a benchmark", { Operation: "send", Size: "1 KiB", "Outstanding at most": "1",
		"Number of messages": "20" });

	await submit(dialog, "Start");
	const detail = page.getByRole("region", { name: "Benchmark 1: send" });

	await sees(detail.getByText("done", { exact: true }));
	await sees(detail.locator('[role="progressbar"][aria-valuenow="100"]'));
	const { messages, latency_ns: latency } = await world.get("a", "/v1/benchmarks/1");

	equal(messages, 20, "how many messages the benchmark sent");
	ok(latency.p50 <= latency.p99, "the median is above the 99th percentile");
	for (const label of ["Bandwidth", "Messages per second", "Latency, p50", "Latency, p99"])
		await sees(detail.getByText(label, { exact: true }));
	await sees(row_of(page, "#1 send").getByRole("link", { name: "measured" }));
}

// A benchmark that would run for minutes is stopped, and its record is deleted.
async function a_benchmark_is_stopped(page, world) {
	await world.call("a", "POST", "/v1/benchmarks", { connection: 1, op: "send", size_bytes: 0, tx_depth: 1, duration_ms: 600000 });
	await sees(row_of(page, "#2 send").getByText("running"));
	await page.getByRole("button", { name: "Stop benchmark 2" }).click();
	await submit(page.getByRole("dialog"), "Stop it");
	await page.getByRole("button", { name: /^Failed/ }).click();
	await sees(row_of(page, "#2 send").getByText("cancelled"));
	await page.getByRole("button", { name: "Delete the record of benchmark 2" }).click();
	await submit(page.getByRole("dialog"), "Delete it");
	await sees(page.getByText("No benchmark matches"));
}

async function a_probe_is_begun_and_stopped(page) {
	await page.getByRole("button", { name: "Measure round trips" }).click();
	await sees(page.getByText("ack, every 1 s"));
	await sees(page.locator(".now-value").filter({ hasText: /p99 .*[0-9] [µm]?s/ }));
	await page.getByRole("button", { name: "Stop measuring" }).click();
	await sees(page.getByText("is done"));

	// A second probe runs with the values of the form.
	await submit(await fill_form(page, "Options", { "Every (ms)": "0", "Number of pings": "5" }), "Start");
	await sees(page.getByRole("link", { name: "Probe 2" }));
	await sees(page.getByText("0 of 5"));
	await page.getByRole("link", { name: "Probe 2" }).click();
	await sees(page.getByRole("region", { name: "Probe 2: ack" }).getByText("ack, 5 times, one after another"));
	for (const probe of ["#1 ack", "#2 ack"])
		await sees(row_of(page, probe).getByText("done"));
}

export const scenarios = [["a benchmark and a probe are begun, read and ended by the page", async (world) => {
	await world.fresh();
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 7471, service: "sink" });
	await world.connection({ name: "measured" });
	const page = await world.page("a", "#/connections/measured");

	await a_benchmark_is_run(page, world);
	await a_benchmark_is_stopped(page, world);
	await go(page, "Connections");
	await row_of(page, "measured").getByRole("link").click();
	await a_probe_is_begun_and_stopped(page);
}]];
