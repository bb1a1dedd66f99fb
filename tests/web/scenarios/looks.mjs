// SPDX-License-Identifier: Apache-2.0
//
// Every view in light, dark and on a phone: screenshots are kept, nothing is wider than the window, and axe finds nothing.

import { row_of, sees } from "../ui.mjs";
import { PHONE } from "../world.mjs";

const LOOKS = { light: {}, dark: { scheme: "dark" }, phone: { viewport: PHONE, scale: 2 } };
const LONG = "a_name_that_is_as_long_as_a_name_may_be_which_is_63_characters_";

// Objects of every kind, in various states.
export async function furnish(world) {
	await world.fresh();
	const target = await world.make("b", "/v1/buffers", { size_bytes: 1 << 20, access: ["remote_write"] });
	const remote = { addr: target.addr, rkey: target.rkey };

	await world.make("a", "/v1/buffers", { size_bytes: 1 << 20, name: "source",
		access: ["remote_write", "remote_read", "remote_atomic", "mw_bind"] });
	await world.make("a", "/v1/buffers", { size_bytes: 12345, kind: "shared", name: LONG });
	await world.connection({ name: "steady" });
	await world.make("a", "/v1/windows", { buffer: "source", type: 1, access: ["remote_read"], name: "slot", size_bytes: 4096 });
	await world.make("a", "/v1/listeners", { addr: "::", port: 7472, name: "here", service: "echo" });
	await world.connection({ name: LONG });
	await world.make("a", "/v1/transfers", { op: "write", connection: "steady", buffer: "source", remote });
	await world.try("a", "POST", "/v1/transfers", { op: "write", connection: LONG, buffer: "source",
		remote: { ...remote, rkey: "0x1" } }, 60);
	await world.make("a", "/v1/transfer_batches", { transfers: [1, 2].map(() => ({ op: "write", connection: "steady", buffer: "source", remote })) });
	await world.make("a", "/v1/benchmarks", { connection: "steady", op: "write", size_bytes: 65536, count: 20,
		buffer: "source", remote });
	await world.make("a", "/v1/probes", { connection: "steady", count: 3, interval_ms: 0 });
	await world.make("a", "/v1/ud_endpoints", { name: "beacon", addr: world.addr, port: 7174 });
	await world.make("a", "/v1/ud_peers", { name: "itself", ud_endpoint: "beacon", dst_addr: world.addr, dst_port: 7174 });
	await world.make("a", "/v1/multicast_memberships", { name: "alarms", ud_endpoint: "beacon", addr: "239.1.1.1" });
	await world.make("a", "/v1/ud_endpoints/beacon/messages", { ud_peer: "itself", data: "hello" });
	// This benchmark keeps running, since nobody takes the messages out of the inbox.
	await world.call("a", "POST", "/v1/benchmarks", { connection: "steady", op: "send", size_bytes: 1000, count: 1000000,
		timeout_ms: 300000 });
	await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: 7999, name: "nobody" }, 60);
	await world.until("a", "/v1/connections?fields=*&state=failed", "those that failed", ({ total }) => total > 1);
}

const VIEWS = [
	["overview", "", (page) => page.getByRole("list", { name: "Failures, newest first" }).getByText("nobody", { exact: true })],
	["connections", "#/connections?show=all", (page) => row_of(page, "nobody")],
	["connection", "#/connections/steady", (page) => page.locator('.qp-node[data-state="RTS"][data-now]')],
	["connection-failed", `#/connections/${LONG}`, (page) => page.locator(".view-head").getByText("failed")],
	["listeners", "#/listeners", (page) => row_of(page, "here")],
	["datagrams", "#/datagrams?id=1", (page) => row_of(page, "alarms")],
	["transfers", "#/transfers?id=2", (page) => page.getByRole("region", { name: "Transfer 2: write" })],
	["batch", "#/transfers?batch=1", (page) => page.getByRole("region", { name: "Batch 1: 2 transfers" })],
	["benchmarks", "#/benchmarks?id=1", (page) => page.getByRole("region", { name: "Benchmark 1: write" })],
	["buffers", "#/buffers", (page) => row_of(page, "slot")],
	["devices", "#/devices", (page) => page.getByRole("heading", { name: "Port 1" })],
	["events", "#/events", (page) => page.locator(".event").filter({ hasText: "nobody listens" })],
	["form", "#/transfers", async (page) => {
		await page.getByRole("button", { name: "Run a transfer" }).click();
		return page.getByRole("dialog");
	}],
];

export async function every_view(world, look, options = LOOKS[look]) {
	const page = await world.page("a", "", options);

	for (const [name, hash, landmark] of VIEWS) {
		await page.goto(`${world.guest.url("a")}${hash}`);
		await sees(await landmark(page));
		await page.evaluate(() => document.fonts.ready);
		await world.shot(page, `${name}-${look}`);
		await world.fits(page, `${name} (${look})`);
		await world.accessible(page, `${name} (${look})`);
	}
}

export const scenarios = [
	["every view fits, in light, dark and on a phone", async (world) => {
		await furnish(world);
		for (const look of Object.keys(LOOKS))
			await every_view(world, look);
	}],
];
