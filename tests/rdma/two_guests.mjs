// SPDX-License-Identifier: Apache-2.0
//
// A peer on another machine, whose power is cut: no packet says goodbye. What runs there is two_guests_peer.mjs.

import { existsSync, readFileSync } from "node:fs";
import { randomBytes } from "node:crypto";

import { Daemon, busy, equal, finish, ok, resources, resources_are_back, run, scenario, until } from "./lib.mjs";

const told = `${process.env.LAB_SHARED}/peer.json`;
const peer_off = new URL("../../lab/peer-off", import.meta.url).pathname;
const peer_addr = process.env.LAB_PEER_ADDR;

await until("the peer to be ready", () => existsSync(told));
const { port, buffer: target } = JSON.parse(readFileSync(told, "utf8"));

await scenario("bytes cross to another machine, and a power cut ends what is busy", async () => {
	const before = await resources();
	const daemon = await Daemon.start("d");

	await daemon.ready();
	const used = await daemon.connect({ dst_addr: peer_addr, dst_port: port });
	const idle = await daemon.connect({ dst_addr: peer_addr, dst_port: port });
	const source = await daemon.buffer(target.size_bytes);
	const bytes = randomBytes(target.size_bytes);
	await daemon.fill(source, bytes);
	await daemon.transfer("write", used, source, target);
	await daemon.fill(source, Buffer.alloc(target.size_bytes));
	await daemon.transfer("read", used, source, target);
	ok(bytes.equals(await daemon.bytes(source)), "the bytes that came back are others");

	const end = busy(daemon, used, source, target);
	await daemon.until("/v1/stats", "a third transfer", ({ transfers_running, transfers_done }) =>
		transfers_running > 0 && transfers_done > 2);
	await run(peer_off);
	await daemon.ended_with(used.id, "retry_exceeded");
	const { code } = await end;
	ok(["retry_exceeded", "wrong_state"].includes(code), `what ended the transfers is ${code}`);
	const { items: [failed] } = await daemon.get("/v1/transfers?state=failed");
	if (failed)
		equal(failed.error.code, "retry_exceeded", "the error of the transfer");
	// Nothing tells of a silent peer while nothing is sent.
	equal((await daemon.connection(idle.id)).state, "established", "state of the idle connection");
	await daemon.post(`/v1/connections/${idle.id}/close`, {}, 60);
	await daemon.ended_with(idle.id, "local_close");
	await daemon.is_fine();
	await daemon.stop();
	await resources_are_back(before);
});

finish();
