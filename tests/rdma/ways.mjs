// SPDX-License-Identifier: Apache-2.0
//
// Named resources and windows on queue pairs brought up by hand and on iWARP, datagram operations on connections
// (refused), and the removal of one of two devices.

import { Daemon, PATIENCE_MS, Program, WAIT_S, addr, dev, equal, finish, ok, proof, refusal, resources,
	resources_are_back, run, scenario, transfers_work, until, with_daemons } from "./lib.mjs";
import { QP, close_pair, cm_pair, manual_pair, refuses } from "./operations.mjs";

const { LAB_SIW_ADDR, LAB_SIW_DEV } = process.env;
const GID_INDEX = 1;
const PAGE = 4096;
const PORT = 7471;
const COLUMNS = { rc: "rc_manual", uc: "uc" };

// Both ends use a protection domain and a completion queue by name; memory of another domain can't be used.
async function resources_work(a, b, device, column, make) {
	for (const daemon of [a, b]) {
		await daemon.post("/v1/pds", { name: "apart", device });
		await daemon.post("/v1/cqs", { name: "own", device, cqe: 512 });
	}
	const pair = await make({ ...QP, pd: "apart", cq: "own" });
	const { id } = await a.get("/v1/cqs/own");
	const buffer = await a.buffer(64, { device, pd: "apart" });
	const strange = await a.buffer(64, { device });

	equal(pair.from.cq.id, id, "the completion queue of the connection");
	await a.transfer("send", pair.from, buffer, null);
	ok((await a.get("/v1/cqs/own")).completions > 0, "no completion came to the queue that was named");
	const { code } = await a.refused("POST", "/v1/transfers",
		{ op: "send", connection: pair.from.id, buffer: strange.id }, WAIT_S);
	equal(code, "pd_mismatch", "memory of another domain");
	proof("pd", column);
	proof("cq", column);
	await close_pair(pair);
}

for (const qp_type of ["rc", "uc"])
	await scenario(`named resources over ${qp_type} by hand`, () => with_daemons("a b", async (a, b) => {
		await resources_work(a, b, dev, COLUMNS[qp_type], (qp) =>
			manual_pair(a, b, { qp_type, device: dev, gid_index: GID_INDEX, qp }));
		await a.post("/v1/srqs", { name: "shared", device: dev, max_wr: 16, recv_size_bytes: 64 });
		await refuses("srq", COLUMNS[qp_type], a, "/v1/connections",
			{ bringup: "manual", qp_type, device: dev, qp: { srq: "shared" } }, "bad_value");
	}));

await scenario("named resources over iWARP", () => with_daemons("a b", async (a, b) => {
	await resources_work(a, b, LAB_SIW_DEV, "siw", (qp) =>
		cm_pair(a, b, { dst_addr: LAB_SIW_ADDR, port: 7601, device: LAB_SIW_DEV, qp }));
	await refuses("cq_moderation", "siw", a, "/v1/cqs", { device: LAB_SIW_DEV, moderation: { count: 8 } });
}));

await scenario("connections over iWARP share receives", () => with_daemons("a b", async (a, b) => {
	await b.post("/v1/srqs", { name: "shared", device: LAB_SIW_DEV, max_wr: 32, recv_size_bytes: 4096 });
	const listener = await b.listen({ addr: LAB_SIW_ADDR, port: 7602, qp: { srq: "shared" } });
	const connections = [await a.connect({ dst_addr: LAB_SIW_ADDR, dst_port: 7602 }),
		await a.connect({ dst_addr: LAB_SIW_ADDR, dst_port: 7602 })];

	for (const [i, { id }] of connections.entries())
		await a.post(`/v1/connections/${id}/messages`, { data: `message ${i}` }, WAIT_S);
	const texts = await Promise.all(connections.map(async (connection) => {
		const { id } = await b.accepted(connection);

		return (await b.until(`/v1/connections/${id}/messages`, "its message", ({ total }) => total === 1)).items[0].data;
	}));
	equal(texts.join(), "message 0,message 1", "the messages");
	equal((await b.get("/v1/srqs/shared")).messages, 2, "messages of the queue");
	proof("srq", "siw");
	await b.call("DELETE", `/v1/listeners/${listener.id}`);
}));

for (const qp_type of ["rc", "uc"])
	await scenario(`windows over ${qp_type} by hand`, () => with_daemons("a b", async (a, b) => {
		const pair = await manual_pair(a, b, { qp_type, device: dev, gid_index: GID_INDEX });

		for (const type of [1, 2]) {
			const target = await b.buffer(2 * PAGE, { device: dev, access: ["mw_bind"] });
			const source = await a.buffer(PAGE, { device: dev });
			const window = await b.post("/v1/windows", { buffer: target.id, connection: pair.to.id, type, buffer_offset_bytes: PAGE,
				size_bytes: PAGE, access: ["remote_write"] }, WAIT_S);
			const wanted = Buffer.concat([Buffer.alloc(PAGE), Buffer.alloc(PAGE, type)]);

			await a.fill(source, Buffer.alloc(PAGE, type));
			await a.transfer("write", pair.from, source, window);
			await until("the bytes that go through the window", async () => wanted.equals(await b.bytes(target)));
			await b.call("DELETE", `/v1/windows/${window.id}`, undefined, { wait_s: WAIT_S });
			proof(`window_type_${type}`, COLUMNS[qp_type]);
		}
		await close_pair(pair);
	}));

await scenario("completion queues can't be moderated, and verbsd says so", () => with_daemons("a b", async (a) => {
	for (const column of ["rc_manual", "uc"])
		await refuses("cq_moderation", column, a, "/v1/cqs", { device: dev, moderation: { count: 8 } });
}));

await scenario("queue pairs other than UD have no multicast groups", () => with_daemons("a b", async (a, b) => {
	const by_cm = await cm_pair(a, b, { dst_addr: addr, port: 7630, device: dev });
	const by_hand = await manual_pair(a, b, { qp_type: "rc", device: dev, gid_index: GID_INDEX });
	const uc = await manual_pair(a, b, { qp_type: "uc", device: dev, gid_index: GID_INDEX });

	for (const [column, { from }] of Object.entries({ rc_cm: by_cm, rc_manual: by_hand, uc }))
		await refuses("multicast", column, a, "/v1/multicast_memberships", { connection: from.id, addr: "239.1.2.3" }, "unknown_field");
	await refuses("multicast", "siw", a, "/v1/ud_endpoints", { device: LAB_SIW_DEV });
	for (const pair of [by_cm, by_hand, uc])
		await close_pair(pair);
}));

// Removing one of two devices meets the same checks as removing the only one; librdmacm keeps the other one
// open.
await scenario("one of two devices is unplugged and comes back", async () => {
	const before = await resources();
	const [{ netdev }] = JSON.parse(await run("rdma", "-j", "link", "show", `${LAB_SIW_DEV}/1`));
	const daemon = await Daemon.start("d");

	await daemon.ready();
	await daemon.listen({ addr: LAB_SIW_ADDR, port: PORT, name: "siw" });
	await daemon.listen({ addr, port: PORT, name: "rxe" });
	const other = await daemon.connect({ dst_port: PORT });
	for (let i = 0; i < 2; i++) {
		const { id } = await daemon.connect({ dst_addr: LAB_SIW_ADDR, dst_port: PORT });
		const { status } = await new Program("timeout", ["30", "rdma", "link", "delete", LAB_SIW_DEV]).end();

		ok(status === 0, `rdma link delete: status ${status}`);
		await daemon.ended_with(id, "device_removed", "peer_disconnect");
		equal((await daemon.get("/v1/listeners/siw")).state, "lost", "state of the listener");
		equal((await daemon.connection(other.id)).state, "established", "state of the connection on the other device");
		await transfers_work(daemon, other, daemon, 64 << 10);
		await run("rdma", "link", "add", LAB_SIW_DEV, "type", "siw", "netdev", netdev);
		await daemon.until("/v1/listeners/siw", "state listening", ({ state }) => state === "listening");
	}
	await transfers_work(daemon, await daemon.connect({ dst_addr: LAB_SIW_ADDR, dst_port: PORT }), daemon, 64 << 10, LAB_SIW_DEV);
	await daemon.stop();
	await resources_are_back(before);
});

// libsiw refuses a queue at one certain offset, and then each later one in its place: after 55 queue pairs.
await scenario("an iWARP device has as many queue pairs as it says", () => with_daemons("a b", async (a) => {
	const count = 100;

	await a.listen({ addr: LAB_SIW_ADDR, port: PORT, service: "sink" });
	const { id } = await a.post("/v1/connection_batches",
		{ count, connections: [{ dst_addr: LAB_SIW_ADDR, dst_port: PORT, timeout_ms: PATIENCE_MS }] });
	const { counts, failures } = await a.until(`/v1/connection_batches/${id}`, "its end", ({ state }) => state !== "running");
	equal(counts.established, count, `connections (${JSON.stringify(failures.items?.[0] ?? failures)})`);
}));

await scenario("a bring-up by hand is refused over iWARP", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	for (const qp_type of ["rc", "uc"]) {
		const problem = await daemon.refused("POST", "/v1/connections", { bringup: "manual", qp_type, device: LAB_SIW_DEV });

		equal(problem.code, "not_supported", "code");
		equal(problem.device, LAB_SIW_DEV, "device");
		equal(problem.capability, qp_type === "rc" ? "manual_bringup" : "uc", "capability");
		equal((await daemon.get("/v1/connections?state=open,ended")).total, 0, "connections");
	}
	await daemon.stop();
	refusal("manual_bringup", "siw", "not_supported");
	for (const peer of ["ibv_rc_pingpong", "ibv_uc_pingpong"])
		refusal(`peer:${peer}`, "siw", "not_supported");
});

await finish();
