// SPDX-License-Identifier: Apache-2.0
//
// verbsd over iWARP, where the way to established is another: the kernel moves the QP.

import { Daemon, equal, finish, resources, resources_are_back, scenario, transfers_work } from "./lib.mjs";

const PORT = 7471;
const dst_addr = process.env.LAB_SIW_ADDR;
const device = process.env.LAB_SIW_DEV;

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

finish();
