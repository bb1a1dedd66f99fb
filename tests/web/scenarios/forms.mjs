// SPDX-License-Identifier: Apache-2.0
//
// Forms: the curl command of a form makes the same request, and errors are shown at their fields.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { command_of, fill_form, focus_is, go, row_of, sees, submit } from "../ui.mjs";
import { equal, ok } from "../world.mjs";

const PORT = 7471;

// Runs a command in a shell on this machine, as a user does who pastes it there.
async function run(command, env = {}) {
	const { stdout } = await promisify(execFile)("/bin/sh", ["-c", command], { env: { PATH: process.env.PATH, ...env } });

	return stdout ? JSON.parse(stdout) : null;
}

async function commands_do_the_same(world) {
	await world.fresh();
	const page = await world.page("a", "#/buffers");
	let dialog = await fill_form(page, "Make a buffer", { Size: "64 KiB", read: true, Name: "by_curl" });
	const made = await run(await command_of(dialog, "by_curl"));

	equal(made.size_bytes, 65536, "the size of the buffer that curl made");
	equal(made.access.join(), "remote_read", "its access");
	await dialog.getByRole("button", { name: "Cancel" }).click();
	await sees(row_of(page, "by_curl"));
	equal((await world.get("a", "/v1/buffers")).total, 1, "the number of buffers, since the form itself was cancelled");

	await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: PORT });
	await go(page, "Connections");
	dialog = await fill_form(page, "Connect", { Host: world.addr, Port: String(PORT), Name: "by_curl" }, { "ACK timeout": "10" });
	equal((await run(await command_of(dialog, '"ack_timeout":10'))).name, "by_curl", "the name of the connection that curl made");
	await dialog.getByRole("button", { name: "Cancel" }).click();
	await sees(row_of(page, "by_curl").getByText("established"));
	equal((await world.get("a", "/v1/connections/by_curl")).qp.ack_timeout, 10, "its ACK timeout");

	await row_of(page, "by_curl").getByRole("link").click();
	await page.getByRole("button", { name: "Close", exact: true }).click();
	dialog = page.getByRole("dialog");
	await run(await command_of(dialog, "/close"));
	await dialog.getByRole("button", { name: "Cancel" }).click();
	await sees(page.locator(".view-head").getByText("closed"));
}

async function errors_are_shown_at_the_field(world) {
	await world.fresh();
	const page = await world.page("a", "#/connections");
	const dialog = await fill_form(page, "Connect", { Port: "70000" });
	const connect = dialog.getByRole("button", { name: "Connect", exact: true });

	await connect.click();
	await sees(dialog.getByText("Host: is required"));
	await sees(dialog.getByText("Port: a whole number, 1 to 65535"));
	await focus_is(page, "dst_addr");
	equal((await world.get("a", "/v1/connections?state=open,ended")).total, 0, "the number of connections");

	// An error that only the daemon can find is shown at the field that the refusal names.
	await dialog.getByLabel("Host", { exact: true }).fill(world.addr);
	await dialog.getByLabel("Port", { exact: true }).fill(String(PORT));
	await dialog.getByLabel("Name", { exact: true }).fill("7 is no name");
	await connect.click();
	await sees(dialog.locator(".is-wrong").filter({ has: page.getByLabel("Name", { exact: true }) }));
	await focus_is(page, "name");

	// With valid values the request is made, and the page shows the result.
	await dialog.getByLabel("Name", { exact: true }).fill("");
	await dialog.getByText("More", { exact: true }).click();
	await dialog.getByLabel("From address", { exact: true }).fill("192.0.2.77");
	await connect.click();
	await sees(dialog.locator(".is-wrong").filter({ has: page.getByLabel("From address", { exact: true }) }));
	await dialog.getByLabel("From address", { exact: true }).fill("");
	await connect.click();
	await dialog.waitFor({ state: "hidden" });
	await sees(page.locator(".view-head").getByText("failed"));
}

async function objects_can_be_ended(world) {
	await world.fresh();
	await world.connection({ name: "short" });
	await world.make("b", "/v1/buffers", { size_bytes: 4096, name: "gone" });
	const page = await world.page("a", "#/connections/short");

	await page.getByRole("button", { name: "Close", exact: true }).click();
	await submit(page.getByRole("dialog"), "Close it");
	await sees(page.locator(".view-head").getByText("closed"));
	await page.getByRole("button", { name: "Delete", exact: true }).click();
	await submit(page.getByRole("dialog"), "Delete it");
	await sees(page.getByText("No connections yet"));

	const other = await world.page("b", "#/buffers");
	await other.getByRole("button", { name: /^Delete buffer gone/ }).click();
	await submit(other.getByRole("dialog"), "Delete it");
	await sees(other.getByText("No buffers yet"));
	await go(other, "Listeners");
	await other.getByRole("button", { name: /^Stop listener/ }).click();
	await submit(other.getByRole("dialog"), "Stop it");
	await sees(other.getByText("No listeners yet"));
}

async function windows_are_bound_and_revoked(world) {
	await world.fresh();
	// A bind is a work request, which needs the queue pair of a connection.
	await world.connection();
	await world.make("a", "/v1/buffers", { size_bytes: 65536, name: "wide", access: ["mw_bind"] });
	const page = await world.page("a", "#/buffers");
	const dialog = await fill_form(page, "Bind a memory window", { Buffer: { label: "wide (1)" }, read: true, Length: "4 KiB",
		Name: "narrow" });

	await submit(dialog, "Bind");
	await sees(row_of(page, "narrow").getByText("ready"));
	// A buffer with a window can't be deleted, and the page shows the reason.
	await page.getByRole("button", { name: /^Delete buffer wide/ }).click();
	await page.getByRole("dialog").getByRole("button", { name: "Delete it" }).click();
	await sees(page.getByRole("dialog").getByRole("alert"));
	await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
	await page.getByRole("button", { name: /^Revoke window narrow/ }).click();
	await submit(page.getByRole("dialog"), "Revoke it");
	await row_of(page, "narrow").waitFor({ state: "hidden" });
}

async function a_running_transfer_is_seen_and_cancelled(world) {
	await world.fresh();
	const { id } = await world.connection();
	await world.make("a", "/v1/buffers", { size_bytes: 4096 });
	// A receive without a matching send stays until it is cancelled.
	const { status } = await world.try("a", "POST", "/v1/transfers", { op: "recv", connection: id, buffer: 1 });

	ok(status >= 400, "a receive beside a service is refused");
	const bare = await world.connection({ service: "none" });
	await world.call("a", "POST", "/v1/transfers", { op: "recv", connection: bare.id, buffer: 1, timeout_ms: 600000 });
	const page = await world.page("a", "#/transfers?show=running");

	await sees(row_of(page, "#1 recv").getByText("running"));
	await page.getByRole("button", { name: /^Cancel transfer 1/ }).click();
	await submit(page.getByRole("dialog"), "Cancel it");
	await sees(page.getByText("No transfer matches"));
	await page.getByRole("button", { name: /^Failed/ }).click();
	await sees(row_of(page, "#1 recv").getByText("cancelled"));
	await row_of(page, "#1 recv").getByRole("button", { name: "Delete the record of transfer 1" }).click();
	await submit(page.getByRole("dialog"), "Delete it");
	await row_of(page, "#1 recv").waitFor({ state: "hidden" });
}

async function a_batch_is_seen_with_its_transfers_and_cancelled(world) {
	await world.fresh();
	const { id } = await world.connection({ service: "none" });
	await world.make("a", "/v1/buffers", { size_bytes: 4096 });
	const receive = { op: "recv", connection: id, buffer: 1, timeout_ms: 600000 };

	await world.call("a", "POST", "/v1/transfers", receive);
	await world.call("a", "POST", "/v1/transfer_batches", { transfers: [receive, receive] });
	const page = await world.page("a", "#/transfers?id=2");

	await page.getByRole("link", { name: "batch 1" }).click();
	await sees(page.getByRole("region", { name: "Batch 1: 2 transfers" }).getByTitle("0 of 2 transfers done"));
	await sees(row_of(page, "#3 recv"));
	await row_of(page, "#1 recv").waitFor({ state: "hidden" });
	await page.getByRole("region", { name: "Batch 1: 2 transfers" }).getByRole("button", { name: "Cancel" }).click();
	await submit(page.getByRole("dialog"), "Cancel it");
	await sees(page.getByText("2 cancelled"));
}

async function connections_made_together_are_seen_with_their_batch(world) {
	await world.fresh();
	await world.connection({ name: "alone" });
	const { port } = await world.make("b", "/v1/listeners", { addr: "0.0.0.0", port: 0 });

	await world.call("a", "POST", "/v1/connection_batches", { count: 3, connections: [{ name: "w", dst_addr: world.addr, dst_port: port }] }, 60);
	const page = await world.page("a", "#/connections");

	await sees(row_of(page, "alone"));
	await page.getByRole("link", { name: "batch 1: 3 established" }).click();
	const batch = page.getByRole("region", { name: "Batch 1: 3 connections" });
	await sees(batch.getByTitle("3 of 3 connections established"));
	await sees(row_of(page, "w-3"));
	await row_of(page, "alone").waitFor({ state: "hidden" });
	await batch.getByRole("button", { name: "Delete the record" }).click();
	await submit(page.getByRole("dialog"), "Delete it");
	await sees(row_of(page, "alone"));
	await sees(row_of(page, "w-1"));
}

export const scenarios = [
	["the curl command of a form does what the form does", commands_do_the_same],
	["an error in a form is shown at its field", errors_are_shown_at_the_field],
	["objects can be closed, deleted and stopped", objects_can_be_ended],
	["a memory window is bound and revoked", windows_are_bound_and_revoked],
	["connections made together are seen with their batch", connections_made_together_are_seen_with_their_batch],
	["a batch is seen with its transfers and cancelled", a_batch_is_seen_with_its_transfers_and_cancelled],
	["a running transfer is shown, and can be cancelled", a_running_transfer_is_seen_and_cancelled],
];
