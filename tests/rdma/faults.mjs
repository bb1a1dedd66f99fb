// SPDX-License-Identifier: Apache-2.0
//
// Faults that clients inject, on a real device: what each does to a connection and its peer, and that all is well again
// when the fault is deleted.

import { Daemon, PATIENCE_MS, WAIT_S, addr, equal, finish, ok, resources, resources_are_back, scenario, transfers_work } from "./lib.mjs";

const PORT = 7471;
// Queue pairs of the pool would be made at any time, and count as calls.
const FOR_TESTS = ["--set", "fault_injection=true"];

let a, b;

const inject = (daemon, fault) => daemon.post("/v1/faults", fault);
const fired = (daemon, id, count = 1) =>
	daemon.until(`/v1/faults/${id}`, `${count} hits`, (fault) => fault.fired >= count);
const remove = (daemon, id) => daemon.call("DELETE", `/v1/faults/${id}`);

// Two ends of a connection. The passive one takes and forgets messages.
async function pair(qp = {}) {
	const here = await a.connect({ dst_port: PORT, qp });
	const { items } = await b.until("/v1/connections?state=established", "the other end", ({ total }) => total === 1);

	return [here, items[0]];
}

async function close_all() {
	await a.call("DELETE", "/v1/objects?kind=connection&all=true");
	for (const daemon of [a, b])
		await daemon.until("/v1/connections?state=open", "no open connection", ({ total }) => total === 0);
	await a.call("DELETE", "/v1/objects?kind=fault&all=true");
	await b.call("DELETE", "/v1/objects?kind=fault&all=true");
}

const send = (here, buffer, messages, timeout_ms = PATIENCE_MS) =>
	a.try("POST", "/v1/transfers", { op: "send", connection: here.id, buffer: buffer.id, length_bytes: 64 * messages,
		message_bytes: 64, timeout_ms }, { wait_s: WAIT_S });

await scenario("a daemon without the key in its configuration injects no faults", async () => {
	const plain = await Daemon.start("plain");
	equal((await plain.refused("POST", "/v1/faults", { effect: "qp_error" })).code, "fault_injection_off", "code");
	await plain.stop();
});

async function play() {
	[a, b] = [await Daemon.start("a", FOR_TESTS), await Daemon.start("b", FOR_TESTS)];
	await b.listen({ port: PORT, name: "door", service: "sink", qp: { rq_depth: 8 } });
	const buffer = await a.buffer(65536);
	await pair();
	await close_all();
	const before = await resources();

	// Held receives: the peer runs into RNR, and goes on without them.
	const [sender, holder] = await pair({ rnr_retry: 2 });
	const held = await inject(b, { effect: "hold_receives", target: holder.id, name: "held" });
	const { status, body } = await send(sender, buffer, 100);
	equal(`${status} ${body.code}`, "424 rnr_exceeded", "the answer for what found no receive");
	equal((await fired(b, held.id, 8)).fired, 8, "receives held");
	await a.ended_with(sender.id, "rnr_exceeded");
	const [patient, keeper] = await pair({ rnr_retry: 7 });
	const holding = await inject(b, { effect: "hold_receives", target: keeper.id });
	const waiting = send(patient, buffer, 100);
	await fired(b, holding.id, 8);
	await remove(b, holding.id);
	equal((await waiting).status, 201, "status of messages whose receives were held for a while");
	await close_all();

	// Completions that come late, and some that never come.
	const [slow] = await pair();
	const delay = await inject(a, { effect: "delay_completions", delay_ms: 50, target: slow.id });
	equal((await send(slow, buffer, 4)).status, 201, "status of messages with late completions");
	await fired(a, delay.id);
	await inject(a, { effect: "drop_completions", target: slow.id });
	equal((await send(slow, buffer, 1, 200)).body.code, "timed_out", "code of a message whose completion was lost");
	await a.end_of(slow.id);
	await close_all();

	// A listener that refuses.
	const refuse = await inject(b, { effect: "refuse_accepts", target: "door" });
	const { code } = await a.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: PORT, timeout_ms: PATIENCE_MS }, WAIT_S);
	equal(code, "rejected", "code of a refused request");
	const [turned_away] = (await a.get("/v1/connections?state=ended&sort=-id&limit=1")).items;
	const told = JSON.stringify(await a.get(`/v1/connections/${turned_away.id}/explain`));
	ok(/told to refuse connect requests/.test(told), `the reason is not told: ${told}`);
	equal((await b.get("/v1/listeners/door")).refused.fault, 1, "requests refused by a fault");
	await remove(b, refuse.id);

	// A call that fails once.
	const full = await inject(a, { effect: "fail_call", call: "create_qp", errno: "ENOMEM", count: 1 });
	const refused = await a.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: PORT, timeout_ms: PATIENCE_MS }, WAIT_S);
	ok(/a fault makes this call fail/.test(refused.detail), `the detail is ${refused.detail}`);
	equal((await a.get(`/v1/faults/${full.id}`)).fired, 1, "calls that failed");
	await transfers_work(a, (await pair())[0], b);
	await close_all();

	// A kept connection whose queue pair fails is made again, and by its name also the next one is meant.
	const kept = await a.post("/v1/connections", { name: "to-door", dst_addr: addr, dst_port: PORT, timeout_ms: PATIENCE_MS, keep: true,
		reconnect: "always", reconnect_min_ms: 50 }, WAIT_S);
	await inject(a, { effect: "qp_error", target: "to-door" });
	const again = await a.until(`/v1/connections/${kept.id}`, "the next try",
		({ created_at, state }) => created_at !== kept.created_at && state === "established");
	await a.ended_with(again.previous_id, "qp_fatal");
	await transfers_work(a, again, b);
	await a.call("DELETE", "/v1/kept_objects/to-door");
	await close_all();

	equal((await a.get("/v1/faults")).total + (await b.get("/v1/faults")).total, 0, "faults that are left");
	await resources_are_back(before);
	await a.stop();
	await b.stop();
}

await scenario("each fault does what it says, and all is well after it", play);

finish();
