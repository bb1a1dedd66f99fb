// SPDX-License-Identifier: Apache-2.0
//
// Protection domains, completion queues and shared receive queues made by a user: shared, mixed up, resized while
// busy, deleted while in use, and the limits of the device.

import { PATIENCE_MS, WAIT_S, addr, dev, equal, finish, ok, proof, refusal, resources, resources_are_back, scenario,
	scenario_with, start_ready } from "./lib.mjs";

const PORT = 7471;
const SHARERS = 4;
const MESSAGES = 60;

const remove = (daemon, path) => daemon.call("DELETE", path);

const two = async () => {
	const [near, far] = await start_ready("near far");

	return { near, far };
};

const stop_both = async ({ near, far }) => {
	await near.stop();
	await far.stop();
};

// Connections of near with their other sides. Soft-RoCE counts waiting for a receive as a retry, so retries are
// unlimited.
const sharers = async ({ near, far }, count) => {
	const pairs = [];

	for (let i = 0; i < count; i++) {
		const connection = await near.connect({ dst_port: PORT, qp: { retry_count: 7 } });
		const { items } = await far.until("/v1/connections?fields=*&state=established&sort=-id", "its other side",
			({ total }) => total === i + 1);

		pairs.push({ connection, peer: items[0] });
	}
	return pairs;
};

const say = (near, { connection }, text) =>
	near.post(`/v1/connections/${connection.id}/messages`, { data: text, timeout_ms: PATIENCE_MS }, WAIT_S);

// Reads and deletes messages up to the last one; they must come in order.
const hear = async (far, { peer }, texts) => {
	for (let seen = 0; seen < texts.length;) {
		const { items } = await far.get(`/v1/connections/${peer.id}/messages?limit=8&after=${seen}`, WAIT_S);

		for (const { seq, data } of items) {
			equal(seq, seen + 1, "number of the message");
			equal(data, texts[seen++], "the message");
		}
		if (items.length)
			await remove(far, `/v1/connections/${peer.id}/messages?through=${seen}`);
	}
};

await scenario("connections share their receives, and each gets its own messages", async () => {
	const before = await resources();
	const daemons = await two();
	const { near, far } = daemons;

	await far.post("/v1/srqs", { name: "shared", device: dev, max_wr: 12, recv_size_bytes: 128, srq_limit: 8 });
	await far.listen({ port: PORT, qp: { srq: "shared" } });
	const pairs = await sharers(daemons, SHARERS);
	const texts = pairs.map((_, i) => Array.from({ length: MESSAGES }, (__, n) => `${n} of ${i}`));

	await Promise.all(pairs.flatMap((pair, i) => [
		(async () => {
			for (const text of texts[i])
				await say(near, pair, text);
		})(),
		hear(far, pair, texts[i]),
	]));
	const srq = await far.until("/v1/srqs/shared", "a limit event", ({ limit_events }) => limit_events > 0);

	equal(srq.messages, SHARERS * MESSAGES, "messages of the queue");
	ok(srq.refills > 0 && srq.refills < SHARERS * MESSAGES, `refills: ${srq.refills}`);
	equal(srq.qp_count, SHARERS, "queue pairs that use it");
	proof("srq", "rc_cm");

	// A new limit, and limit 0: in both cases all receives are posted again.
	await far.call("PATCH", "/v1/srqs/shared", { srq_limit: 0 });
	await say(near, pairs[0], "one more");
	await remove(far, `/v1/connections/${pairs[0].peer.id}/messages?through=${MESSAGES + 1}`).catch(() => {});
	const bad = await far.refused("PATCH", "/v1/srqs/shared", { srq_limit: 13 });

	equal(bad.code, "out_of_range", "a limit above the depth");
	await stop_both(daemons);
	await resources_are_back(before);
});

await scenario("who reads nothing holds the others back until it goes", async () => {
	const daemons = await two();
	const { near, far } = daemons;

	await far.post("/v1/srqs", { name: "shared", device: dev, max_wr: 4, recv_size_bytes: 128, srq_limit: 2 });
	await far.listen({ port: PORT, qp: { srq: "shared" } });
	const [slow, other] = await sharers(daemons, 2);

	for (let n = 0; n < 4; n++)
		await say(near, slow, `unread ${n}`);
	const held = await near.post(`/v1/connections/${other.connection.id}/messages`, { data: "held", timeout_ms: PATIENCE_MS }, 0);

	equal((await near.get(`/v1/transfers/${held.id}`)).state, "running", "a message without a receive");
	await remove(near, `/v1/connections/${slow.connection.id}`);
	await hear(far, other, ["held"]);
	const { items } = await far.get(`/v1/connections/${slow.peer.id}/messages`);

	equal(items.map(({ data }) => data).join(), "unread 0,unread 1,unread 2,unread 3", "what was not read");
	for (let n = 0; n < 12; n++) {
		await say(near, other, `after ${n}`);
		await remove(far, `/v1/connections/${other.peer.id}/messages?through=${n + 1}`);
	}
	await stop_both(daemons);
});

await scenario("verbsd does not delete an object in use, and names its users", async () => {
	const daemons = await two();
	const { near, far } = daemons;
	const pd = await far.post("/v1/pds", { name: "mine", device: dev });
	const cq = await far.post("/v1/cqs", { name: "mine", device: dev, cqe: 512 });
	const srq = await far.post("/v1/srqs", { name: "mine", pd: "mine", cq: "mine", max_wr: 32 });
	const buffer = await far.buffer(4096, { pd: "mine" });
	const listener = await far.listen({ port: PORT, qp: { srq: "mine" } });
	const [{ connection, peer }] = await sharers(daemons, 1);

	equal(peer.device.name, dev, "device of the connection");
	equal(peer.cq.id, cq.id, "its queue");
	for (const [path, users] of [
		[`/v1/pds/${pd.id}`, [`/v1/srqs/${srq.id}`, `/v1/buffers/${buffer.id}`]],
		[`/v1/cqs/${cq.id}`, [`/v1/srqs/${srq.id}`]],
		[`/v1/srqs/${srq.id}`, [`/v1/listeners/${listener.id}`, `/v1/connections/${peer.id}`]],
	]) {
		const problem = await far.refused("DELETE", path);

		equal(problem.status, 409, `${path}: status`);
		equal(problem.code, "in_use", `${path}: code`);
		equal(problem.users.join(), users.join(), `${path}: users`);
	}
	await remove(far, `/v1/listeners/${listener.id}`);
	await remove(near, `/v1/connections/${connection.id}`);
	await far.connection_in(peer.id, "closed", "failed");
	await remove(far, `/v1/srqs/${srq.id}`);
	await remove(far, `/v1/buffers/${buffer.id}`);
	await remove(far, "/v1/cqs/mine");
	await remove(far, "/v1/pds/mine");
	equal((await far.refused("GET", "/v1/pds/mine")).code, "not_found", "a deleted pd");
	proof("pd", "rc_cm");
	proof("cq", "rc_cm");
	await stop_both(daemons);
});

await scenario("two protection domains don't meet", async () => {
	const daemons = await two();
	const { near, far } = daemons;

	await near.post("/v1/pds", { name: "here", device: dev });
	await near.post("/v1/pds", { name: "there", device: dev });
	await near.post("/v1/srqs", { name: "of_there", pd: "there", max_wr: 8 });
	await far.listen({ port: PORT });
	const connection = await near.connect({ dst_port: PORT, qp: { pd: "here" } });
	const ours = await near.buffer(64, { pd: "here" });
	const others = await near.buffer(64, { pd: "there" });
	const plain = await near.buffer(64, { device: dev });

	await near.transfer("send", connection, ours);
	for (const [buffer, pd] of [[others, "there"], [plain, "default"]]) {
		const problem = await near.refused("POST", "/v1/transfers",
			{ op: "send", connection: connection.id, buffer: buffer.id });

		equal(problem.status, 409, "status");
		equal(problem.code, "pd_mismatch", "code");
		ok(problem.detail.includes("here") && problem.detail.includes(pd), `detail: ${problem.detail}`);
	}
	const mixed = await near.refused("POST", "/v1/connections",
		{ dst_addr: addr, dst_port: PORT, qp: { pd: "here", srq: "of_there" } });

	equal(mixed.code, "pd_mismatch", "a connection with an srq of another pd");
	await stop_both(daemons);
});

await scenario("a completion queue changes its depth while it is busy", async () => {
	const daemons = await two();
	const { near, far } = daemons;

	await near.post("/v1/cqs", { name: "busy", device: dev, cqe: 128 });
	await far.listen({ port: PORT, service: "sink" });
	const connection = await near.connect({ dst_port: PORT, qp: { cq: "busy", retry_count: 7 } });
	const source = await near.buffer(1 << 20, { device: dev });
	const reserved = (await near.get("/v1/cqs/busy")).reserved_cqe;
	const stream = near.transfer("send", connection, source, undefined, { message_bytes: 256 });

	for (const cqe of [1024, 256, 4096, reserved, 512]) {
		const cq = await near.call("PATCH", "/v1/cqs/busy", { cqe });

		ok(cq.cqe >= cqe, `${cq.cqe} of ${cqe}`);
	}
	equal((await stream).state, "done", "the transfer meanwhile");
	const small = await near.refused("PATCH", "/v1/cqs/busy", { cqe: reserved - 1 });

	equal(small.code, "in_use", "a depth below what is reserved");
	const cq = await near.get("/v1/cqs/busy");

	equal(cq.reserved_cqe, reserved, "what is reserved");
	equal(cq.error_completions, 0, "completions in error");
	await stop_both(daemons);
});

await scenario_with("d", "verbsd refuses by name what the device lacks", async (daemon) => {
	const device = await daemon.get(`/v1/devices/${dev}`);
	const problem = await daemon.refused("POST", "/v1/cqs",
		{ name: "never", device: dev, moderation: { count: 16, period_us: 50 } });

	ok(device.capabilities.includes("srq") && device.capabilities.includes("cq_resize"), `it has ${device.capabilities}`);
	ok(!device.capabilities.includes("cq_moderation"), `it has ${device.capabilities}`);
	equal(problem.status, 422, "status");
	equal(problem.code, "not_supported", "code");
	equal(problem.device, dev, "device");
	equal(problem.capability, "cq_moderation", "capability");
	equal((await daemon.refused("GET", "/v1/cqs/never")).code, "not_found", "nothing was made");
	refusal("cq_moderation", "rc_cm", "not_supported");
});

finish();
