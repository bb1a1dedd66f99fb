// SPDX-License-Identifier: Apache-2.0
//
// The life of a connection by hand: listen, connect, watch, move bytes, lose the peer, and read the reason.

import { randomBytes } from "node:crypto";

import { fill, fill_form, go, has_value, row_of, sees, submit } from "../ui.mjs";
import { equal, ok } from "../world.mjs";

const PORT = "7471";
const SIZE = 8 << 20;

// Presses a copy button, and returns the text on the clipboard.
async function copied(page, label) {
	await page.getByRole("button", { name: label }).click();
	const text = await page.waitForFunction(() => navigator.clipboard.readText());

	return text.jsonValue();
}

async function offer_a_buffer(world) {
	const page = await world.page("b", "#/listeners");

	await submit(await fill_form(page, "Listen", { Port: PORT, Name: "in" }), "Listen");
	await sees(row_of(page, `0.0.0.0:${PORT}`).getByText("listening"));
	await go(page, "Buffers");
	await submit(await fill_form(page, "Make a buffer", { Size: "8 MiB", write: true, Name: "target" }), "Make it");
	await sees(row_of(page, "target").getByText("ready"));
	return { page, remote: await copied(page, /Copy address and key of target/) };
}

async function make_source(page) {
	await go(page, "Buffers");
	await submit(await fill_form(page, "Make a buffer", { Size: String(SIZE), Name: "source" }), "Make it");
	await sees(row_of(page, "source").getByText("ready"));
}

export async function connect(world, page) {
	await go(page, "Connections");
	await submit(await fill_form(page, "Connect", { Host: world.addr, Port: PORT, Name: "story" }), "Connect");
	await sees(page.getByRole("heading", { name: "story" }));
	await sees(page.locator(".view-head").getByText("established"));
	await sees(page.locator('.qp-node[data-state="RTS"][data-now]'));
	for (const step of ["RESET -> INIT", "INIT -> RTR", "RTR -> RTS"])
		await sees(page.getByText(step));
}

async function move_bytes(world, page, remote) {
	const dialog = await fill_form(page, "Run a transfer", { "Local buffer": { label: "source (1)" } });

	// The text that was copied on the other page fills in address and key.
	await fill(dialog, { "Remote address": remote });
	const { rkey } = JSON.parse(remote);
	await has_value(dialog.getByLabel("Remote key"), rkey);
	await submit(dialog, "Start");
	const transfer = page.getByRole("region", { name: "Transfer 1: write" });

	await sees(transfer.locator('[role="progressbar"][aria-valuenow="100"]'));
	await sees(transfer.getByText("done", { exact: true }));
	const sums = await Promise.all([world.get("a", "/v1/buffers/source/checksum"), world.get("b", "/v1/buffers/target/checksum")]);
	equal(sums[1].checksum, sums[0].checksum, "the checksum of what arrived");
}

// Writes again and again until a write fails.
async function keep_busy(world, { addr, rkey }) {
	for (;;) {
		const { status } = await world.try("a", "POST", "/v1/transfers", { op: "write", connection: "story", buffer: "source",
			remote: { addr, rkey }, timeout_ms: 60000 }, 60);

		if (status !== 201)
			return;
	}
}

async function lose_the_peer(world, page, remote) {
	await page.goto(`${world.guest.url("a")}#/connections/1`);
	const busy = keep_busy(world, remote);

	await world.until("a", "/v1/connections/1", "more bytes written", ({ counters }) => counters.write?.bytes > 2 * SIZE);
	await world.shot(page, "connection-busy");
	await world.kill("b");
	await busy;
	return world.until("a", "/v1/connections/1", "its end", ({ state }) => ["closed", "failed"].includes(state));
}

async function read_why(world, page, { state, end_code }) {
	await sees(page.locator(".view-head").getByText(state));
	await sees(page.locator("main").getByText(end_code.replaceAll("_", " ")));
	const explained = await world.get("a", "/v1/connections/1/explain");

	await sees(page.getByText(explained.summary));
	// A peer that was killed may look like one that closed: that end has no error.
	if (explained.error) {
		await page.getByText("As reported").click();
		await sees(page.getByText(explained.error.detail));
	}
	await world.shot(page, "connection-ended");
	await go(page, "Connections");
	await page.getByRole("button", { name: /^All/ }).click();
	await sees(row_of(page, "story").getByText(end_code.replaceAll("_", " ")));
	await go(page, "Events");
	await page.getByRole("searchbox").fill("connection_ended");
	await sees(page.locator(".event").filter({ hasText: end_code.replaceAll("_", " ") }));
	ok(explained.followed_by !== undefined, "errors after the first one are not counted");
}

// The advice says to compare the request with what the peer has.
export async function a_refused_write(world) {
	await world.fresh();
	const { id } = await world.connection();

	await world.make("a", "/v1/buffers", { size_bytes: 64, name: "source" });
	await world.try("a", "POST", "/v1/transfers", { op: "write", connection: id, buffer: "source",
		remote: { addr: "0x1000", rkey: "0x00000099" } }, 60);
	const page = await world.page("a", `#/connections/${id}`);

	await sees(page.locator(".view-head").getByText("failed"));
	await sees(page.getByText("write of 64 bytes at 0x1000 with key 0x00000099"));
}

export const scenarios = [
	["a write that the peer refuses is shown with its address and key", a_refused_write],
	["a connection made by the form reaches RTS, moves bytes, and shows why it ended after its peer was killed", async (world) => {
		await world.fresh();
		const { remote } = await offer_a_buffer(world);
		const page = await world.page("a");

		await make_source(page);
		await world.guest.put("a", "/v1/buffers/source/data", randomBytes(SIZE));
		await connect(world, page);
		await move_bytes(world, page, remote);
		const connection = await lose_the_peer(world, page, JSON.parse(remote));
		await read_why(world, page, connection);
	}],
];
