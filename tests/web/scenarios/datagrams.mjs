// SPDX-License-Identifier: Apache-2.0
//
// Endpoints, peers and groups: made by the forms, seen with their counters, and deleted.

import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";

import { chord, command_of, fill_form, focus_is, row_of, sees, submit, tab_to, unlock } from "../ui.mjs";
import { equal } from "../world.mjs";

const PORT = "7174";

// The endpoint of daemon b listens, so that its number can be asked for.
async function listen_at_b(world) {
	const page = await world.page("b", "#/datagrams");

	await sees(page.getByText("No endpoints yet"));
	await submit(await fill_form(page, "Make an endpoint", { "Listen on address": world.addr, Port: PORT, Name: "beacon" }), "Make it");
	await sees(row_of(page, "beacon").getByText("ready"));
	await sees(page.getByRole("region", { name: "Endpoint beacon" }).getByText(`${world.addr}:${PORT}`));
	return page;
}

// The endpoint of daemon a is made without a mouse.
async function make_by_keyboard(page) {
	await sees(page.getByRole("heading", { name: "Overview" }));
	await chord(page, "d", page.getByRole("heading", { name: "Datagrams" }));
	await tab_to(page, "Make an endpoint");
	await page.keyboard.press("Enter");
	await focus_is(page, "addr");
	await tab_to(page, "name");
	await page.keyboard.type("sender");
	await page.keyboard.press("Enter");
	await sees(page.getByRole("region", { name: "Endpoint sender" }));
}

async function add_peer_and_group(world, page) {
	const endpoint = { label: "sender (1)" };

	await submit(await fill_form(page, "Add a peer", { Endpoint: endpoint, Host: world.addr, Port: PORT, Name: "there" }), "Add it");
	await sees(row_of(page, "there").getByText("ready"));
	const { qp_attr: { lqpn: qpn } } = await world.get("b", "/v1/ud_endpoints/beacon");
	await sees(page.getByRole("region", { name: "Peer there" }).getByText(`0x${qpn.toString(16).padStart(6, "0")}`));

	const dialog = await fill_form(page, "Join a group", { Endpoint: endpoint, "Multicast address": "239.1.1.1", Name: "alarms" });
	const command = await command_of(dialog, "alarms");
	equal(command.includes("/v1/multicast_memberships"), true, "whether the command joins a group");
	await submit(dialog, "Join");
	await sees(row_of(page, "alarms").getByText("joined"));
}

async function send(world, page, other) {
	await world.make("a", "/v1/ud_endpoints/sender/messages", { ud_peer: "there", data: "hello" });
	await sees(row_of(page, "sender").locator(".col-sent").getByText("1", { exact: true }));
	await sees(row_of(other, "beacon").locator(".col-received").getByText("1", { exact: true }));
	await sees(other.getByRole("region", { name: "Endpoint beacon" }).getByText("1 of 16 messages"));
}

async function delete_all(page) {
	await page.getByRole("button", { name: /^Leave group alarms/ }).click();
	await submit(page.getByRole("dialog"), "Leave it");
	await sees(page.getByText("No groups yet"));
	await page.getByRole("button", { name: /^Delete peer there/ }).click();
	await submit(page.getByRole("dialog"), "Delete it");
	await sees(page.getByText("No peers yet"));
	await page.getByRole("button", { name: /^Delete endpoint sender/ }).click();
	await submit(page.getByRole("dialog"), "Delete it");
	await sees(page.getByText("No endpoints yet"));
}

// The daemon answers the question for the page's role late, as a busy one does: only then the page draws its actions.
const LATE_MS = 2000;
const learns_its_role_late = (page) => page.route((url) => url.pathname === "/v1", async (route) => {
	await setTimeout(LATE_MS);
	await route.continue();
}, { times: 1 });

async function endpoints_peers_and_groups(world) {
	await world.fresh();
	const other = await listen_at_b(world);
	const page = await world.page("a", "", { before: learns_its_role_late });

	await make_by_keyboard(page);
	await add_peer_and_group(world, page);
	await send(world, page, other);
	// An address names the objects that it shows.
	const deep = await world.page("a", "#/datagrams?id=1&peer=1&group=1");
	for (const name of ["Endpoint sender", "Peer there", "Group alarms"])
		await sees(deep.getByRole("region", { name }));
	await page.goto(`${world.guest.url("a")}#/datagrams`);
	await delete_all(page);
}

async function a_reader_sees_no_keys(world) {
	const tokens = { read: randomBytes(24).toString("hex"), control: randomBytes(24).toString("hex") };

	await world.fresh({ a: { tokens } });
	const { qp_attr: { qkey } } = await world.make("a", "/v1/ud_endpoints", { name: "beacon" });
	const page = await world.page("a", "#/datagrams?id=1");

	await unlock(page, tokens.read);
	await sees(page.getByRole("region", { name: "Endpoint beacon" }));
	equal(await page.getByText("Q_Key", { exact: true }).count(), 0, "how many Q_Keys a reader is shown");
	equal(await page.getByText(qkey).count(), 0, "how often the page has the Q_Key");
	equal(await page.getByRole("button", { name: /^(Make|Add|Join|Delete|Leave)/ }).count(), 0, "how many actions a reader is offered");
}

export const scenarios = [
	["an endpoint, a peer and a group are made, used and deleted", endpoints_peers_and_groups],
	["a reader sees datagrams without their keys", a_reader_sees_no_keys],
];
