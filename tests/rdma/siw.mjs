// SPDX-License-Identifier: Apache-2.0
//
// verbsd over iWARP, where the way to established is another: the kernel moves the QP.

import {
	Daemon, Program, addr, equal, finish, ok, refusal, resources, resources_are_back,
	run, scenario, transfers_work,
} from "./lib.mjs";
import { close_pair, cm_pair, echo_works, operations_work, recv_works, refuses, rping_works, sink_works } from "./operations.mjs";

const PORT = 7471;
const dst_addr = process.env.LAB_SIW_ADDR;
const device = process.env.LAB_SIW_DEV;
const [{ netdev }] = JSON.parse(await run("rdma", "-j", "link", "show", `${device}/1`));

await scenario("a connection over iWARP carries a message, a write and a read", async () => {
	const before = await resources();
	const a = await Daemon.start("a");
	const b = await Daemon.start("b");

	await Promise.all([a.ready(), b.ready()]);
	await b.listen({ addr: dst_addr, port: PORT });
	const connection = await a.connect({ dst_addr, dst_port: PORT });
	equal(connection.device, device, "device");
	await a.post(`/v1/connections/${connection.id}/messages`, { data: "over iWARP" }, 60);
	const { items: [{ id }] } = await b.connections("established");
	const { items } = await b.until(`/v1/connections/${id}/messages`, "a message", ({ total }) => total === 1);
	equal(items[0].data, "over iWARP", "the message");
	await transfers_work(a, connection, b, 64 << 10, device);
	await a.post(`/v1/connections/${connection.id}/close`, {}, 60);
	await b.ended_with(id, "peer_disconnect");
	await a.stop();
	await b.stop();
	await resources_are_back(before);
});

const pair_on = (a, b) => (more) => cm_pair(a, b, { dst_addr, port: PORT, device, ...more });

async function with_two(play) {
	const before = await resources();
	const a = await Daemon.start("a");
	const b = await Daemon.start("b");

	await Promise.all([a.ready(), b.ready()]);
	await play(a, b, pair_on(a, b));
	await a.stop();
	await b.stop();
	await resources_are_back(before);
}

await scenario("the operations of iWARP", () => with_two(async (a, b, make) => {
	const pair = await make({ });

	await operations_work("siw", pair, ["inbox", "send", "write", "read", "sge_list", "inline", "zero_length", "signal_every"]);
	await close_pair(pair);
}));

await scenario("services over iWARP", () => with_two(async (a, b, make) => {
	await recv_works("siw", make);
	await echo_works("siw", make);
	await sink_works("siw", make);
	await rping_works("siw", make);
}));

await scenario("what iWARP lacks is refused", () => with_two(async (a, b, make) => {
	const pair = await make({ });
	const buffer = await a.buffer(4096, { device });
	const refused = (row, path, body) => refuses(row, "siw", a, path, body);
	const transfer = (op, more) => refused(op, "/v1/transfers", { op, connection: pair.from.id, buffer: buffer.id, ...more });
	const remote = { addr: "0x1000", rkey: "0x1" };

	await transfer("send_imm", { imm: 1 });
	await transfer("write_imm", { imm: 1, remote });
	await transfer("fetch_add", { add: "0x1", remote });
	await transfer("compare_swap", { compare: "0x1", swap: "0x1", remote });
	// siw fills one place only: max_sge_rd.
	const sges = [0, 64].map((offset) => ({ buffer: buffer.id, offset, length_bytes: 64 }));
	const { code } = await a.refused("POST", "/v1/transfers", { op: "read", connection: pair.from.id, sges, remote });
	equal(code, "out_of_range", "the code for a read into two places");
	await refused("manual_bringup", "/v1/connections", { bringup: "manual", device });
	await refused("manual_bringup", "/v1/connections", { bringup: "manual", transport: "uc", device });
	for (const type of [1, 2])
		await refused(`window_type_${type}`, "/v1/windows", { buffer: buffer.id, connection: pair.from.id, type, access: ["remote_read"] });
	await close_pair(pair);
}));

// What must hold when the only device goes holds for one of two as well; librdmacm has the other one still open.
await scenario("one of two devices is unplugged and comes back", async () => {
	const before = await resources();
	const daemon = await Daemon.start("d");

	await daemon.ready();
	await daemon.listen({ addr: dst_addr, port: PORT, name: "siw" });
	await daemon.listen({ addr, port: PORT, name: "rxe" });
	const other = await daemon.connect({ dst_port: PORT });
	for (let i = 0; i < 2; i++) {
		const { id } = await daemon.connect({ dst_addr, dst_port: PORT });
		const { status } = await new Program("timeout", ["5", "rdma", "link", "delete", device]).end();

		ok(status === 0, `rdma link delete: status ${status}`);
		await daemon.ended_with(id, "device_removed", "peer_disconnect");
		equal((await daemon.get("/v1/listeners/siw")).state, "lost", "state of the listener");
		equal((await daemon.connection(other.id)).state, "established", "state of the connection on the other device");
		await transfers_work(daemon, other, daemon, 64 << 10);
		await run("rdma", "link", "add", device, "type", "siw", "netdev", netdev);
		await daemon.until("/v1/listeners/siw", "state listening", ({ state }) => state === "listening");
	}
	await transfers_work(daemon, await daemon.connect({ dst_addr, dst_port: PORT }), daemon, 64 << 10, device);
	await daemon.stop();
	await resources_are_back(before);
});

await scenario("a bring-up by hand is refused over iWARP", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	for (const transport of ["rc", "uc"]) {
		const problem = await daemon.refused("POST", "/v1/connections", { bringup: "manual", transport, device });

		equal(problem.code, "not_supported", "code");
		equal(problem.device, device, "device");
		equal(problem.capability, transport === "rc" ? "manual_bringup" : "uc", "capability");
		equal((await daemon.get("/v1/connections")).total, 0, "connections");
	}
	await daemon.stop();
	refusal("manual_bringup", "siw", "not_supported");
	for (const peer of ["ibv_rc_pingpong", "ibv_uc_pingpong"])
		refusal(`peer:${peer}`, "siw", "not_supported");
});

finish();
