// SPDX-License-Identifier: Apache-2.0
//
// The clock is set, a daemon stands still, its peer does: deadlines go by the time that this host has run. The long form:
// STILL_S=60 tests/rdma/guest.sh clocks build/dev "stood still"

import { readFileSync } from "node:fs";

import { PATIENCE_MS, WAIT_S, equal, finish, ok, run, scenario, sleep, transfers_work, until, with_daemons } from "./lib.mjs";

const PORT = 7471;
const HOUR_S = 3600;
const STILL_S = Number(process.env.STILL_S || 8); // how long a daemon stands still

// Patient with a slow guest: three intervals are 3 s, and the device repeats for 5 s.
const QP = { heartbeat_ms: 1000, ack_timeout: 18 };

const set_clock = (by_s) => run("date", "-s", `@${Math.floor(Date.now() / 1000) + by_s}`);
const answered = async (daemon, { id }) => (await daemon.connection(id)).heartbeats.answered;
const more_answers = async (daemon, connection) => {
	const before = await answered(daemon, connection);

	await until("answered heartbeats", async () => (await answered(daemon, connection)) > before + 1);
};

async function stopped(daemon) {
	daemon.kill("SIGSTOP");
	await until(`${daemon.name} to stand still`, () =>
		/^State:\s+T/m.test(readFileSync(`/proc/${daemon.pid}/status`, "utf8")));
}

await scenario("no deadline comes, and none stays away, because the clock is set", () => with_daemons("a b", async (a, b) => {
	await b.listen({ port: PORT, qp: { rq_depth: 1 }, service: "none" });
	const here = await a.connect({ dst_port: PORT, qp: { ...QP, retry_count: 7 } });
	const there = await b.accepted(here);
	const idle = await a.connect({ dst_port: PORT, qp: QP });
	const source = await a.buffer(64);
	const target = await b.buffer(64);
	const last = await a.newest_place();
	const poll = a.get(`/v1/events?after=${last}&type=buffer_created`, WAIT_S);
	// The transfer waits for a receive of the peer.
	const sent = await a.post("/v1/transfers", { op: "send", connection: here.id, buffer: source.id, timeout_ms: 10 * PATIENCE_MS });

	for (const hours of [6, -12, 6, 400 * 24, -800 * 24, 400 * 24]) {
		const before = await a.get("/v1");

		await set_clock(hours * HOUR_S);
		const { now, started_at, uptime_ms } = await a.get("/v1");
		const moved_h = (Date.parse(now) - Date.parse(before.now)) / 1000 / HOUR_S;

		equal(Math.round(moved_h), hours, "hours by which the times of answers have moved");
		equal(Math.round((Date.parse(now) - Date.parse(started_at) - uptime_ms) / 1000 / HOUR_S), 0, "hours that it did not run");
		await more_answers(a, idle);
		const { state } = await a.get(`/v1/transfers/${sent.id}`);
		ok(["queued", "running"].includes(state), `the transfer is ${state}`);
		for (const { id } of [here, idle])
			equal((await a.connection(id)).state, "established", `connection ${id}`);
	}
	await a.buffer(64);
	equal((await poll).items.length, 1, "events of the long poll that has waited all the time");
	await b.post("/v1/transfers", { op: "recv", connection: there.id, buffer: target.id, timeout_ms: PATIENCE_MS });
	await a.until(`/v1/transfers/${sent.id}`, "its end", ({ state }) => state === "done");
}));

await scenario("a daemon that stood still blames no peer, and goes on", () => with_daemons("a b", async (a, b) => {
	await b.listen({ port: PORT });
	const here = await a.connect({ dst_port: PORT, qp: QP });

	await more_answers(a, here);
	await stopped(a);
	await sleep(STILL_S * 1000);
	a.kill("SIGCONT");
	await more_answers(a, here);
	equal((await a.connection(here.id)).state, "established", "the connection");
	equal((await a.get("/v1/events?type=worker_stuck")).items.length, 0, "stuck workers");
	await transfers_work(a, here, b);
}));

await scenario("the host of a peer that stands still answers heartbeats, and a message to it does not get through", () =>
	with_daemons("a b", async (a, b) => {
		await b.listen({ port: PORT, qp: { rq_depth: 1 } });
		const here = await a.connect({ dst_port: PORT, qp: { ...QP, retry_count: 7 } });

		await stopped(b);
		await more_answers(a, here);
		equal((await a.connection(here.id)).state, "established", "the connection");
		const send = () => a.try("POST", `/v1/connections/${here.id}/messages`, { data: "xyz", timeout_ms: 3000 },
			{ wait_s: WAIT_S });

		// The one receive takes the first; nobody posts it again.
		ok((await send()).status < 300, "the first message");
		equal((await send()).body.code, "timed_out", "the end of the second message");
		b.kill("SIGCONT");
		await b.is_fine();
	}));

finish();
