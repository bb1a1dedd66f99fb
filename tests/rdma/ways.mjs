// SPDX-License-Identifier: Apache-2.0
//
// Named resources and windows over queue pairs by hand and over iWARP, and what connections lack of datagrams.

import { Daemon, addr, dev, equal, finish, ok, proof, resources, resources_are_back, scenario, until } from "./lib.mjs";
import { QP, close_pair, cm_pair, manual_pair, refuses } from "./operations.mjs";

const { LAB_SIW_ADDR, LAB_SIW_DEV } = process.env;
const GID_INDEX = 1;
const PAGE = 4096;
const COLUMNS = { rc: "rc_manual", uc: "uc" };

async function with_two(play) {
	const before = await resources();
	const a = await Daemon.start("a");
	const b = await Daemon.start("b");

	await Promise.all([a.ready(), b.ready()]);
	await play(a, b);
	await a.stop();
	await b.stop();
	await resources_are_back(before);
}

// Both ends in a protection domain and on a completion queue of that name; memory of another domain can't be used.
async function resources_work(a, b, device, column, make) {
	for (const daemon of [a, b]) {
		await daemon.post("/v1/pds", { name: "apart", device });
		await daemon.post("/v1/cqs", { name: "own", device, depth_cqe: 512 });
	}
	const pair = await make({ ...QP, pd: "apart", cq: "own" });
	const { id } = await a.get("/v1/cqs/own");
	const buffer = await a.buffer(64, { device, pd: "apart" });
	const strange = await a.buffer(64, { device });

	equal(pair.from.cq, id, "the completion queue of the connection");
	await a.transfer("send", pair.from, buffer, null);
	ok((await a.get("/v1/cqs/own")).completions > 0, "no completion came to the queue that was named");
	const { code } = await a.refused("POST", "/v1/transfers",
		{ op: "send", connection: pair.from.id, buffer: strange.id }, 60);
	equal(code, "pd_mismatch", "memory of another domain");
	proof("pd", column);
	proof("cq", column);
	await close_pair(pair);
}

for (const transport of ["rc", "uc"])
	await scenario(`named resources over ${transport} by hand`, () => with_two(async (a, b) => {
		await resources_work(a, b, dev, COLUMNS[transport], (qp) =>
			manual_pair(a, b, { transport, device: dev, gid_index: GID_INDEX, qp }));
		await a.post("/v1/srqs", { name: "shared", device: dev, depth: 16, recv_size_bytes: 64 });
		await refuses("srq", COLUMNS[transport], a, "/v1/connections",
			{ bringup: "manual", transport, device: dev, qp: { srq: "shared" } }, "bad_value");
	}));

await scenario("named resources over iWARP", () => with_two(async (a, b) => {
	await resources_work(a, b, LAB_SIW_DEV, "siw", (qp) =>
		cm_pair(a, b, { dst_addr: LAB_SIW_ADDR, port: 7601, device: LAB_SIW_DEV, qp }));
	await refuses("cq_moderation", "siw", a, "/v1/cqs", { device: LAB_SIW_DEV, moderation: { count: 8 } });
}));

await scenario("connections over iWARP share receives", () => with_two(async (a, b) => {
	await b.post("/v1/srqs", { name: "shared", device: LAB_SIW_DEV, depth: 32, recv_size_bytes: 4096 });
	const listener = await b.listen({ addr: LAB_SIW_ADDR, port: 7602, qp: { srq: "shared" } });
	const connections = [await a.connect({ dst_addr: LAB_SIW_ADDR, dst_port: 7602 }),
		await a.connect({ dst_addr: LAB_SIW_ADDR, dst_port: 7602 })];

	for (const [i, { id }] of connections.entries())
		await a.post(`/v1/connections/${id}/messages`, { data: `message ${i}` }, 60);
	const { items } = await b.connections("established");
	const texts = await Promise.all(items.map(async ({ id }) =>
		(await b.until(`/v1/connections/${id}/messages`, "its message", ({ total }) => total === 1)).items[0].data));
	equal(texts.sort().join(), "message 0,message 1", "the messages");
	equal((await b.get("/v1/srqs/shared")).messages, 2, "messages of the queue");
	proof("srq", "siw");
	await b.call("DELETE", `/v1/listeners/${listener.id}`);
}));

for (const transport of ["rc", "uc"])
	await scenario(`windows over ${transport} by hand`, () => with_two(async (a, b) => {
		const pair = await manual_pair(a, b, { transport, device: dev, gid_index: GID_INDEX });

		for (const type of [1, 2]) {
			const target = await b.buffer(2 * PAGE, { device: dev, access: ["mw_bind"] });
			const source = await a.buffer(PAGE, { device: dev });
			const window = await b.post("/v1/windows", { buffer: target.id, connection: pair.to.id, type, offset: PAGE,
				length_bytes: PAGE, access: ["remote_write"] }, 60);
			const wanted = Buffer.concat([Buffer.alloc(PAGE), Buffer.alloc(PAGE, type)]);

			await a.fill(source, Buffer.alloc(PAGE, type));
			await a.transfer("write", pair.from, source, window);
			await until("the bytes that go through the window", async () => wanted.equals(await b.bytes(target)));
			await b.call("DELETE", `/v1/windows/${window.id}`, undefined, { wait_s: 60 });
			proof(`window_type_${type}`, COLUMNS[transport]);
		}
		await close_pair(pair);
	}));

await scenario("completion queues that can't be moderated say so", () => with_two(async (a) => {
	for (const column of ["rc_manual", "uc"])
		await refuses("cq_moderation", column, a, "/v1/cqs", { device: dev, moderation: { count: 8 } });
}));

await scenario("what only datagrams have", () => with_two(async (a, b) => {
	const by_cm = await cm_pair(a, b, { dst_addr: addr, port: 7630, device: dev });
	const by_hand = await manual_pair(a, b, { transport: "rc", device: dev, gid_index: GID_INDEX });
	const uc = await manual_pair(a, b, { transport: "uc", device: dev, gid_index: GID_INDEX });

	for (const [column, { from }] of Object.entries({ rc_cm: by_cm, rc_manual: by_hand, uc }))
		await refuses("multicast", column, a, "/v1/groups", { connection: from.id, addr: "239.1.2.3" }, "unknown_field");
	await refuses("multicast", "siw", a, "/v1/endpoints", { device: LAB_SIW_DEV });
	for (const pair of [by_cm, by_hand, uc])
		await close_pair(pair);
}));

await finish();
