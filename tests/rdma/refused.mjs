// SPDX-License-Identifier: Apache-2.0
//
// A peer reaches for memory that is not open to it: what the daemon that owns the memory notices, and that it is not
// alarmed by ordinary ends.

import { PATIENCE_MS, WAIT_S, addr, dev, equal, finish, ok, scenario, start_ready } from "./lib.mjs";

const CONNECTION = "/v1/connections";
const { LAB_SIW_ADDR, LAB_SIW_DEV } = process.env;
const PAGE = 4096;
const LONGER_THAN_A_RECEIVE = 8192;

// Two daemons; `far` owns the memory.
async function with_two(play) {
	const [near, far] = await start_ready("near far");

	await play(near, far);
	for (const daemon of [near, far])
		if (!daemon.gone)
			await daemon.stop();
}

const by_cm = (service, dst_addr = addr) => async (near, far) => {
	const { port, id } = await far.listen({ addr: dst_addr, port: 0, service });
	const here = await near.connect({ dst_addr, dst_port: port });
	const { items } = await far.until("/v1/connections?fields=*&state=established", "its side", ({ items }) =>
		items.some(({ listener }) => listener?.id === id));

	return [here, items.find(({ listener }) => listener?.id === id)];
};

// Without a connection manager nobody hears of the peer's end.
const by_hand = async (near, far, qp = {}) => {
	const make = (daemon) => daemon.post(CONNECTION, { bringup: "manual", qp_type: "rc", device: dev, service: "none", qp });
	const [here, there] = [await make(near), await make(far)];

	await near.post(`${CONNECTION}/${here.id}/remote`, there.manual.local, WAIT_S);
	await far.post(`${CONNECTION}/${there.id}/remote`, here.manual.local, WAIT_S);
	return [here, there];
};

const plus = (at, offset) => `0x${(BigInt(at) + BigInt(offset)).toString(16)}`;
const other_key = (rkey) => `0x${((parseInt(rkey, 16) ^ 0xff) >>> 0).toString(16).padStart(8, "0")}`;

// Each is forbidden to a peer, of a buffer of one page that may only be read.
const FORBIDDEN = {
	"a wrong key": ({ addr: at, rkey }) => ["read", { addr: at, rkey: other_key(rkey) }],
	"a range past the end": ({ addr: at, rkey }) => ["read", { addr: plus(at, PAGE - 1), rkey }],
	"a write where only reads are allowed": ({ addr: at, rkey }) => ["write", { addr: at, rkey }],
};

async function reach(near, far, here, device, what) {
	const target = await far.buffer(PAGE, { device, access: ["remote_read"] });
	const source = await near.buffer(64, { device });
	const [op, remote] = what(target);

	return (await near.try("POST", "/v1/transfers", { op, connection: here.id, buffer: source.id, remote, timeout_ms: PATIENCE_MS },
		{ wait_s: WAIT_S })).body;
}

const alarms = async (daemon) => (await daemon.get("/v1/events?type=security_peer_refused&limit=1000")).items;
const refusals = async (daemon) => (await daemon.get("/v1/stats")).peer_refusals_qp_state;

for (const [name, join] of [["with receives", by_cm("inbox")], ["without receives", by_cm("none")], ["without a connection manager", by_hand]])
	await scenario(`a forbidden access is noticed ${name}`, () => with_two(async (near, far) => {
		let count = 0;

		for (const [what, how] of Object.entries(FORBIDDEN)) {
			const [here, there] = await join(near, far);
			const problem = await reach(near, far, here, dev, how);

			equal(problem.code, "remote_access", `what the peer is told of ${what}`);
			await far.ended_with(there.id, "qp_fatal");
			const seen = await alarms(far);
			const { object, severity, detail } = seen.at(-1);

			equal(seen.length, ++count, `alarms after ${what}`);
			equal(object.id, there.id, "the connection of the alarm");
			equal(severity, "warning", "its severity");
			ok(/most likely/.test(detail), `it claims more than is known: ${detail}`);
			equal(await refusals(far), count, "refusals that are counted");
		}
		ok(/verbsd_peer_refusals_total\{evidence="qp_state"\} 3/.test((await far.get("/metrics")).toString()), "the metric does not count");
		equal(far.log().match(/security_peer_refused/g)?.length, count, "lines of the log");
		equal((await alarms(near)).length, 0, "alarms of the one who asked");
	}));

// How connections end otherwise, on each side.
const ENDS = {
	"the peer closes": (near, far, here) => near.post(`${CONNECTION}/${here.id}/close`, undefined, WAIT_S),
	"this side closes": (near, far, here, there) => far.post(`${CONNECTION}/${there.id}/close`, undefined, WAIT_S),
	"a message is longer than the receive": async (near, far, here, there, device) => {
		const buffer = await near.buffer(LONGER_THAN_A_RECEIVE, { device });

		await near.try("POST", "/v1/transfers", { op: "send", connection: here.id, buffer: buffer.id, timeout_ms: PATIENCE_MS }, { wait_s: WAIT_S });
	},
	"the peer is killed": async (near) => {
		near.kill("SIGKILL");
		await near.end();
	},
};

for (const [where, device, at] of [["RoCE", dev, addr], ["iWARP", LAB_SIW_DEV, LAB_SIW_ADDR]])
	await scenario(`ordinary ends raise no alarm over ${where}`, () => with_two(async (near, far) => {
		for (const [what, end] of Object.entries(ENDS)) {
			const [here, there] = await by_cm("inbox", at)(near, far);

			await near.post(`${CONNECTION}/${here.id}/messages`, { data: "hello" }, WAIT_S);
			await end(near, far, here, there, device);
			await far.end_of(there.id);
			const seen = await alarms(far);

			equal(seen.map(({ detail }) => detail).join("; "), "", `alarms when ${what}`);
		}
	}));

// A write is done when it has left, so that the peer is not told. The device here says of all but a wrong key that it
// refused them (siw, Linux 6.1); that one looks like a disconnect of the peer.
const FORBIDDEN_WRITES = {
	"a wrong key": [({ addr: at, rkey }) => ["write", { addr: at, rkey: other_key(rkey) }], "peer_disconnect"],
	"a range past the end": [({ addr: at, rkey }) => ["write", { addr: plus(at, PAGE - 1), rkey }], "qp_fatal"],
	"a write where only reads are allowed": [({ addr: at, rkey }) => ["write", { addr: at, rkey }], "qp_fatal"],
};

await scenario("over iWARP the device says of some accesses that it refused them", () => with_two(async (near, far) => {
	const seen = {};

	for (const [what, [how]] of Object.entries(FORBIDDEN_WRITES)) {
		const [here, there] = await by_cm("inbox", LAB_SIW_ADDR)(near, far);

		await reach(near, far, here, LAB_SIW_DEV, how);
		seen[what] = (await far.end_of(there.id)).end_code;
		await near.end_of(here.id);
	}
	const all = await alarms(far);

	for (const [what, [, end_code]] of Object.entries(FORBIDDEN_WRITES))
		equal(seen[what], end_code, `the end after ${what}`);
	equal(all.length, 2, "alarms");
	ok(/device here refused/.test(all[0].detail), `the alarm says: ${all[0].detail}`);
	equal((await far.get("/v1/stats")).peer_refusals_async_event, 2, "refusals that are counted");
	equal((await alarms(near)).map(({ detail }) => detail).join("; "), "", "alarms of the one who asked");
}));

// A buffer and a queue pair of one owner after the other, and a peer that nobody tells: it goes on writing to the queue
// pair that is gone, or by the key that is. The long form: OWNERS=1000 tests/rdma/guest.sh refused build/dev
const OWNERS = Number(process.env.OWNERS || 100);
const HALF = PAGE / 2;
// A writer goes on for about half a second by this. Soft-RoCE takes 7 for no limit.
const STUBBORN = { ack_timeout: 13, retry_count: 6, sq_depth: 4, rq_depth: 1, recv_size_bytes: 64 };
const WRITERS = ["retry_exceeded", "remote_access"];

// Writes half of the owner's buffer, while those who wrote to the owners before go on.
async function one_owner(near, far, source, byte, past) {
	const target = await far.buffer(PAGE, { device: dev, access: ["remote_write"] });
	const [here, there] = await by_hand(near, far, STUBBORN);
	const remote = { addr: target.addr, rkey: target.rkey };
	const write = { op: "write", connection: here.id, buffer: source.id };

	await near.transfer("write", here, source, target, { length_bytes: HALF });
	const bytes = await far.bytes(target);

	ok(bytes.equals(Buffer.concat([Buffer.alloc(HALF, byte), Buffer.alloc(HALF)])), `another's bytes are in buffer ${target.id}`);
	if (past) {
		const { code } = await near.refused("POST", "/v1/transfers", { ...write, remote: past, timeout_ms: PATIENCE_MS }, WAIT_S);

		equal(code, "remote_access", "code of a write by the key of the owner before");
	} else {
		await near.post("/v1/benchmarks", { ...write, size_bytes: PAGE, tx_depth: 1, remote, count: 1_000_000, timeout_ms: 10 * PATIENCE_MS });
	}
	return { remote, leave: [`${CONNECTION}/${there.id}`, `/v1/buffers/${target.id}`] };
}

await scenario(`${OWNERS} owners follow one another, and late writes reach none of the next ones`, () => with_two(async (near, far) => {
	const sources = [];
	let past = null;

	for (const byte of [1, 2, 3, 4]) {
		const source = await near.buffer(PAGE, { device: dev });

		await near.fill(source, Buffer.alloc(PAGE, byte));
		sources.push([source, byte]);
	}
	for (let i = 0; i < OWNERS; i++) {
		const { remote, leave } = await one_owner(near, far, ...sources[i % sources.length], i % 5 === 4 ? past : null);

		for (const path of i % 2 ? leave : leave.reverse())
			await far.call("DELETE", path);
		past = remote;
	}
	await near.until("/v1/connections?fields=*&state=open", "the end of all writers", ({ total }) => total === 0, 2 * PATIENCE_MS);
	const { items } = await near.connections("ended");
	const ends = items.map(({ end_code }) => end_code);

	equal(ends.filter((code) => !WRITERS.includes(code)).join(), "", "other ends of writers");
	console.log(`     ${WRITERS.map((code) => `${ends.filter((end) => end === code).length} ${code}`).join(", ")}`);
}));

finish();
