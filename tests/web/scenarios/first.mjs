// SPDX-License-Identifier: Apache-2.0
//
// The first day of a user: empty lists with the commands that fill them, the keys, roles, and
// connections of one name.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";

import { row_of, sees, unlock } from "../ui.mjs";
import { equal, ok, PHONE } from "../world.mjs";

const sh = promisify(execFile);

// The lists, in an order in which each command finds the objects that it names; [view, name in first.js, path].
const LISTS = [["listeners", "listeners"], ["connections", "connections"], ["buffers", "buffers"], ["buffers", "windows"],
	["transfers", "transfers"], ["benchmarks", "benchmarks"], ["benchmarks", "probes"], ["datagrams", "endpoints", "ud_endpoints"],
	["datagrams", "peers", "ud_peers"], ["datagrams", "groups", "multicast_memberships"]];

async function commands_of_empty_lists(world) {
	const found = [];
	const page = await world.page("a");

	for (const [view, name, path = name] of LISTS) {
		await page.goto(`${world.guest.url("a")}#/${view}`);
		const box = page.getByLabel(`Commands for ${name}`, { exact: true });

		await sees(box);
		const [verbsctl, curl] = (await box.innerText()).replaceAll("192.0.2.10", world.addr).split("\n\n");
		found.push({ name, path, verbsctl, curl });
		await world.accessible(page, `an empty list of ${name}`);
	}
	return found;
}

// Objects that a command needs and that no command before it made.
const NEEDS = {
	peers: (world) => world.make("b", "/v1/ud_endpoints", { addr: world.addr, port: 7174 }),
	benchmarks: async (world) => {
		await world.call("a", "DELETE", "/v1/connections/to-b");
		await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 7472, service: "sink" });
		await world.connection({ name: "to-b" }, 7472);
	},
};

async function empty_lists_show_their_commands(world) {
	await world.fresh();
	const commands = await commands_of_empty_lists(world);
	const env = { ...process.env, PATH: `${join(world.guest.build, "cmd")}:${process.env.PATH}` };

	for (const tool of ["verbsctl", "curl"]) {
		await world.fresh();
		for (const { name, path, ...command } of commands) {
			await NEEDS[name]?.(world);
			const { total: before } = await world.get("a", `/v1/${path}?state=open,ended`);
			const { stdout } = await sh("bash", ["-ec", command[tool]], { env });
			const { total } = await world.get("a", `/v1/${path}?state=open,ended`);

			ok(total > before, `${command[tool]} made no row: ${stdout}`);
		}
	}
}

async function keys_are_listed(world) {
	await world.some();
	const page = await world.page("a");

	await sees(page.getByRole("heading", { name: "Overview" }));
	await page.keyboard.press("?");
	const keys = page.getByRole("dialog", { name: "Keys" });
	await sees(keys.getByText("Buffers, Benchmarks"));
	await world.accessible(page, "the list of keys");
	await page.keyboard.press("Escape");
	await keys.waitFor({ state: "hidden" });
	await page.getByRole("button", { name: "? keys" }).click();
	await sees(keys);
}

// Each label of the navigation is in sight as a whole, also on the narrowest phone.
async function every_view_has_its_name_on_a_phone(world) {
	await world.some();
	const page = await world.page("a", "", { viewport: PHONE, scale: 2 });
	const names = () => page.locator("nav .rail-link:visible span").evaluateAll((all) => all.map((it) => {
		const { left, right } = it.getBoundingClientRect();
		const cell = it.parentElement.getBoundingClientRect();

		return left >= cell.left && right <= cell.right && it.innerText;
	}));

	await sees(page.getByRole("heading", { name: "Overview" }));
	equal((await names()).join(), "Overview,Connections,Transfers,Events,More", "the names in sight");
	await world.shot(page, "navigation-phone");
	await page.getByRole("button", { name: "More" }).click();
	await sees(page.getByRole("button", { name: "Fewer" }));
	equal((await names()).filter(Boolean).length, 10, "how many names are in sight");
	await world.shot(page, "navigation-open-phone");
	await world.accessible(page, "the open navigation");
	await page.getByRole("link", { name: "Buffers" }).click();
	await sees(page.getByRole("heading", { name: "Buffers" }));
	await page.getByRole("link", { name: "Devices" }).waitFor({ state: "hidden" });
}

async function a_role_has_its_name(world) {
	await world.some();
	for (const [role, text] of [["operate", "operate"], ["read", "read only"]]) {
		const page = await world.page("a", "#/buffers", { before: (it) => it.route("**/v1", async (route) => {
			const response = await route.fetch();

			await route.fulfill({ json: { ...await response.json(), role } });
		}) });

		await sees(page.getByTitle("The role of this page").getByText(text, { exact: true }));
		equal(await page.getByRole("button", { name: "Make a buffer" }).count(), role === "read" ? 0 : 1, `the forms for ${role}`);
	}
}

// The list begins with the open ones. Connections of one name are one row, which leads to each of them.
async function a_name_is_one_row(world) {
	await world.fresh();
	for (let i = 0; i < 3; i++)
		await world.try("a", "POST", "/v1/connections", { dst_addr: world.addr, dst_port: 7998, name: "to-c" }, 60);
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 7471 });
	await world.connection({ name: "steady" });
	const page = await world.page("a", "#/connections");

	await sees(row_of(page, "steady"));
	equal(await page.locator("tr.row").filter({ hasText: "failed" }).count(), 0, "how many ended ones are shown at first");
	await page.getByRole("button", { name: /^Failed/ }).click();
	await sees(row_of(page, "to-c"));
	equal(await page.locator("tr.row").count(), 1, "how many rows the name has");
	await world.accessible(page, "a row of several");
	await row_of(page, "to-c").getByRole("link", { name: "× 3" }).click();
	await page.waitForFunction(() => document.querySelectorAll("tr.row").length === 3);
	await sees(page.getByText("Only the connections named to-c are shown."));

	// The events of the states are not among those that are shown at first.
	await page.goto(`${world.guest.url("a")}#/events`);
	const feed = page.getByRole("list", { name: "Events, newest first" });
	await sees(feed.locator(".event").filter({ hasText: "to-c" }));
	equal(await feed.locator(".severity-debug").count(), 0, "how many events are below info");
	await page.getByLabel("Severity").selectOption("debug");
	await sees(feed.locator(".severity-debug"));
}

async function what_was_deleted_is_gone(world) {
	await world.fresh();
	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 7471, service: "sink" });
	await world.connection({ name: "steady" });
	const benchmark = { connection: "steady", op: "send", size_bytes: 1000, duration_ms: 600000 };
	await world.call("a", "POST", "/v1/benchmarks", benchmark);
	const page = await world.page("a");
	const running = page.getByRole("region", { name: "Running now" });

	await sees(running.getByText("Benchmark 1: send"));
	await page.goto(`${world.guest.url("a")}#/benchmarks`);
	await sees(row_of(page, "#1 send"));
	await world.try("a", "POST", "/v1/benchmarks/1/cancel", {}, 60);
	await world.call("a", "DELETE", "/v1/benchmarks/1");
	await row_of(page, "#1 send").waitFor({ state: "hidden" });
	await page.goto(`${world.guest.url("a")}#/overview`);
	await sees(running.getByText("No transfer, benchmark or probe is running."));
}

async function a_token_is_asked_for(world) {
	const tokens = { read: randomBytes(24).toString("hex"), control: randomBytes(24).toString("hex") };

	await world.fresh({ a: { tokens } });
	const page = await world.page("a");

	await sees(page.getByText(/^A token of the role read/));
	await world.accessible(page, "the form for the token");
	await unlock(page, tokens.control);
	await sees(page.getByRole("heading", { name: "Overview" }));
	await world.call("a", "POST", "/v1/drain");
	await sees(page.getByRole("status", { name: "Drain" }));
	await world.accessible(page, "a banner");
	await world.fresh();
}

// The chart has the bytes that moved before the page was opened, also after a reload.
async function traffic_of_before_is_shown(world) {
	await world.fresh();
	const { addr, rkey } = await world.make("b", "/v1/buffers", { size_bytes: 1 << 20, access: ["remote_write"] });
	await world.make("a", "/v1/buffers", { size_bytes: 1 << 20, name: "source" });
	await world.connection({ name: "steady" });
	await world.make("a", "/v1/transfers", { op: "write", connection: "steady", buffer: "source", remote: { addr, rkey } });
	const moved = ({ items }) => items.some(({ out_bytes_per_s: out }) => out > 0);
	const { items } = await world.until("a", "/v1/stats/traffic", "a sample of what moved", moved);
	const page = await world.page("a");
	const chart = page.getByRole("img", { name: /^Bytes per second of all connections in the last 15 minutes/ });

	ok(items.length > 1, "the first sample has bytes");
	await sees(chart);
	await page.reload();
	await sees(chart);
	await world.shot(page, "traffic");
}

export const scenarios = [
	["the traffic of before the page was opened is in the chart", traffic_of_before_is_shown],
	["a token is asked for, with the roles that there are", a_token_is_asked_for],
	["each empty list shows the commands that make its first row", empty_lists_show_their_commands],
	["the key ? lists the keys", keys_are_listed],
	["each view has its name on a phone", every_view_has_its_name_on_a_phone],
	["a role is shown by its name", a_role_has_its_name],
	["connections of one name are one row", a_name_is_one_row],
	["a benchmark that another client deletes is gone", what_was_deleted_is_gone],
];
