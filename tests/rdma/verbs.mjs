// SPDX-License-Identifier: Apache-2.0
//
// Every operation between two daemons, over each kind of connection: the received bytes are compared with the sent
// ones. An operation that a kind does not have is refused before any object is made.

import { randomBytes } from "node:crypto";

import { Daemon, PATIENCE_MS, WAIT_S, addr, dev, equal, finish, ok, proof, refusal, resources, resources_are_back, scenario, served, until } from "./lib.mjs";

const PORT = 7473;
const CONNECTION = "/v1/connections";
const OPEN = ["remote_write", "remote_read", "remote_atomic"];
const IMMS = [0, 1, 0x12345678, 0xffffffff];

// --- the kinds of connection -------------------------------------------------------------------------------------

const by_cm = (dst_addr) => async ({ a, b }, qp, theirs) => {
	const { port } = await b.listen({ addr: dst_addr, port: 0, ...served(theirs) });
	const here = await a.connect({ dst_addr, dst_port: port, ...served(qp) });

	return [here, await b.accepted(here)];
};

const by_hand = (qp_type) => async ({ a, b }, qp, theirs) => {
	const here = await a.post(CONNECTION, { bringup: "manual", qp_type, device: dev, ...served(qp) });
	const there = await b.post(CONNECTION, { bringup: "manual", qp_type, device: dev, ...served(theirs) });

	await b.post(`${CONNECTION}/${there.id}/remote`, here.manual.local, WAIT_S);
	return [await a.post(`${CONNECTION}/${here.id}/remote`, there.manual.local, WAIT_S), there];
};

const WAYS = {
	rc_cm: { connect: by_cm(addr), device: dev },
	rc_manual: { connect: by_hand("rc"), device: dev },
	uc: { connect: by_hand("uc"), device: dev, unreliable: true },
	siw: { connect: by_cm(process.env.LAB_SIW_ADDR), device: process.env.LAB_SIW_DEV, iwarp: true },
};

// Runs `play` with two daemons of a kind; no object may be left behind.
async function with_daemons(way, play) {
	const before = await resources();
	const [a, b] = [await Daemon.start("a"), await Daemon.start("b")];
	const world = { ...way, a, b };

	await Promise.all([a.ready(), b.ready()]);
	// The default receives take 1024 bytes.
	world.join = (qp = {}, theirs = {}) => way.connect(world, qp, { recv_size_bytes: 4096, ...theirs });
	world.buffer = (daemon, size_bytes, more = {}) => daemon.buffer(size_bytes, { device: way.device, ...more });
	// A buffer filled with random bytes.
	world.filled = async (daemon, size_bytes, more = {}) => {
		const buffer = await world.buffer(daemon, size_bytes, more);
		const bytes = randomBytes(size_bytes);

		await daemon.fill(buffer, bytes);
		return { ...buffer, bytes };
	};
	await play(world);
	await a.stop();
	await b.stop();
	await resources_are_back(before);
}

const remote = ({ addr: at, rkey }, offset = 0) => ({ addr: `0x${(BigInt(at) + BigInt(offset)).toString(16)}`, rkey });

const transfer = (daemon, { id }, op, more) =>
	daemon.post("/v1/transfers", { connection: id, op, timeout_ms: PATIENCE_MS, ...more }, WAIT_S);

const is_done = (seen, wanted) => {
	equal(seen.state, "done", "state of the transfer");
	for (const [member, value] of Object.entries(wanted))
		equal(JSON.stringify(seen[member]), JSON.stringify(value), member);
	return seen;
};

// The message with this number, as soon as it has arrived.
async function message(daemon, { id }, seq) {
	const path = `${CONNECTION}/${id}/messages?encoding=base64&after=${seq - 1}`;
	const { items } = await daemon.until(path, `message ${seq}`, (seen) => seen.items.length > 0);

	equal(items[0].seq, seq, "number of the message");
	return { ...items[0], bytes: Buffer.from(items[0].data, "base64") };
}

const forget = (daemon, { id }, through) => daemon.call("DELETE", `${CONNECTION}/${id}/messages?through=${through}`);

const same = (seen, wanted, what) => ok(wanted.equals(seen), `${what}: the bytes are others`);

// An unreliable write is done when it has left, and may be lost: repeat it until it has arrived.
async function written({ a, b, unreliable }, connection, target, bytes, what, op, more) {
	const write = () => transfer(a, connection, op, more);
	let seen = await write();

	if (unreliable)
		await until(what, async () => {
			if (bytes.equals(await b.bytes(target)))
				return true;
			seen = await write();
			return false;
		});
	same(await b.bytes(target), bytes, what);
	return seen;
}

const not_supported = async (daemon, connection, op, more, capability) => {
	const problem = await daemon.refused("POST", "/v1/transfers", { connection: connection.id, op, ...more });

	equal(problem.code, "not_supported", `code of ${op}`);
	equal(problem.errors[0].pointer, "/op", `pointer of ${op}`);
	if (capability)
		equal(problem.capability, capability, `capability of ${op}`);
};

const SOMEWHERE = { addr: "0x1000", rkey: "0x1" };

// The key of an access of zero bytes is not checked, except by siw.
const nowhere = ({ iwarp }, target) => iwarp ? remote(target) : SOMEWHERE;

// --- the operations ----------------------------------------------------------------------------------------------

async function sends(world, column) {
	const { a, b, filled, join, iwarp } = world;
	const [here, there] = await join({}, { rq_depth: 32 });
	const source = await filled(a, 4096);
	let seq = 0;

	for (const length_bytes of [4096, 1, 64, 65, 0]) {
		is_done(await transfer(a, here, "send", { buffer: source.id, offset_bytes: 0, length_bytes }),
			{ bytes_done: length_bytes, wrs_done: 1, imm: null, inline: length_bytes > 0 && length_bytes <= 64 });
		const seen = await message(b, there, ++seq);
		equal(seen.op, "send", "op");
		equal(seen.imm, null, "imm");
		equal(seen.written_bytes, null, "written_bytes");
		same(seen.bytes, source.bytes.subarray(0, length_bytes), `a message of ${length_bytes}`);
	}
	proof("send", column);
	proof("zero_length", column);
	proof("inbox", column);
	if (iwarp) {
		await not_supported(a, here, "send_imm", { buffer: source.id, imm: 1 }, "send_imm");
		equal((await a.refused("POST", `${CONNECTION}/${here.id}/messages`, { data: "x", imm: 1 })).code,
			"not_supported", "a message with an immediate");
		refusal("send_imm", column, "not_supported");
		return;
	}
	for (const imm of IMMS) {
		is_done(await transfer(a, here, "send_imm", { buffer: source.id, length_bytes: 100, imm }), { imm });
		const seen = await message(b, there, ++seq);
		equal(seen.imm, imm, "imm");
		same(seen.bytes, source.bytes.subarray(0, 100), "a message with an immediate");
	}
	is_done(await transfer(a, here, "send_imm", { length_bytes: 0, imm: 7 }), { imm: 7, buffer: null, bytes_done: 0 });
	equal((await message(b, there, ++seq)).imm, 7, "imm of a message of nothing");
	await a.post(`${CONNECTION}/${here.id}/messages`, { data: "in the request", imm: 0xfffffffe }, WAIT_S);
	const seen = await message(b, there, ++seq);
	equal(seen.imm, 0xfffffffe, "imm of a message of a request");
	equal(seen.bytes.toString(), "in the request", "its bytes");
	proof("send_imm", column);
}

async function writes_and_reads(world, column) {
	const { a, b, buffer, filled, join, iwarp, unreliable } = world;
	const size_bytes = unreliable ? 16 << 10 : 1 << 20;
	const [here, there] = await join({}, { rq_depth: 32 });
	const source = await filled(a, size_bytes);
	const target = await buffer(b, size_bytes, { access: OPEN.slice(0, 2) });
	let seen = await written(world, here, target, source.bytes, "a write", "write",
		{ buffer: source.id, remote: remote(target), chunk_bytes: 5000 });

	is_done(seen, { bytes_done: size_bytes, wrs_done: Math.ceil(size_bytes / 5000), old_value: null, received: null });
	is_done(await transfer(a, here, "write", { length_bytes: 0, remote: nowhere(world, target) }), { bytes_done: 0, wrs_done: 1 });
	proof("write", column);
	proof("zero_length", column);
	if (unreliable) {
		await not_supported(a, here, "read", { buffer: source.id, remote: remote(target) });
		refusal("read", column, "not_supported");
	} else {
		await a.fill(source, Buffer.alloc(size_bytes));
		is_done(await transfer(a, here, "read", { buffer: source.id, remote: remote(target), chunk_bytes: 7000 }),
			{ bytes_done: size_bytes, wrs_done: Math.ceil(size_bytes / 7000) });
		same(await a.bytes(source), source.bytes, "a read");
		is_done(await transfer(a, here, "read", { length_bytes: 0, remote: nowhere(world, target) }), { bytes_done: 0 });
		proof("read", column);
	}
	if (iwarp) {
		await not_supported(a, here, "write_imm", { buffer: source.id, remote: remote(target), imm: 1 }, "write_imm");
		refusal("write_imm", column, "not_supported");
		return;
	}
	// Each transfer sends its immediate data once, into however many requests it is cut.
	let seq = 0;
	for (const imm of IMMS) {
		const bytes = randomBytes(size_bytes);

		await a.fill(source, bytes);
		seen = await written(world, here, target, bytes, "a write with an immediate", "write_imm",
			{ buffer: source.id, remote: remote(target), chunk_bytes: size_bytes / 4, imm });
		is_done(seen, { imm, wrs_done: 4 });
		const told = await message(b, there, ++seq);
		equal(told.op, "write_imm", "op");
		equal(told.imm, imm, "imm");
		equal(told.written_bytes, size_bytes / 4, "written_bytes");
		equal(told.bytes.length, 0, "its own bytes");
		if (unreliable)
			seq = (await b.get(`${CONNECTION}/${there.id}/messages`)).items.at(-1).seq;
	}
	is_done(await transfer(a, here, "write_imm", { length_bytes: 0, remote: SOMEWHERE, imm: 9 }), { imm: 9 });
	equal((await message(b, there, ++seq)).imm, 9, "imm of a write of nothing");
	const { counters } = await a.connection(here.id);
	ok(counters.write_imm.completed >= IMMS.length + 1, "writes with an immediate are counted");
	ok(counters.write.completed >= 3 * IMMS.length, "the chunks before are counted as writes");
	proof("write_imm", column);
}

const word = (value) => {
	const bytes = Buffer.alloc(8);

	bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
	return bytes;
};

async function atomics(world, column) {
	const { a, b, buffer, join, iwarp, unreliable } = world;
	const [here] = await join();
	const target = await buffer(b, 64, { access: iwarp ? OPEN.slice(0, 2) : OPEN });
	const result = await buffer(a, 64);
	const at = { remote: remote(target, 8) };
	const holds = async (value, what) => same((await b.bytes(target)).subarray(8, 16), word(value), what);

	if (iwarp || unreliable) {
		await not_supported(a, here, "fetch_add", { add: "0x1", ...at }, iwarp && "atomics");
		await not_supported(a, here, "compare_swap", { compare: "0x0", swap: "0x1", ...at }, iwarp && "atomics");
		refusal("fetch_add", column, "not_supported");
		refusal("compare_swap", column, "not_supported");
		return;
	}
	const add = async (value, old) => is_done(await transfer(a, here, "fetch_add", { add: value, ...at }),
		{ old_value: old, bytes_done: 8, wrs_done: 1, buffer: null });
	await add("0x5", "0x0000000000000000");
	await add("0xfffffffffffffff0", "0x0000000000000005");
	await holds(0xfffffffffffffff5n, "a sum");
	await add("0x10", "0xfffffffffffffff5");
	await holds(0x5n, "a sum that wrapped");
	is_done(await transfer(a, here, "fetch_add", { add: "0x100", buffer: result.id, offset_bytes: 16, ...at }),
		{ old_value: "0x0000000000000005", buffer: { id: result.id, name: result.name }, offset_bytes: 16, length_bytes: 8 });
	same((await a.bytes(result)).subarray(16, 24), word(0x5n), "the old value in a buffer");
	// Many at once; none is lost.
	await a.post("/v1/transfer_batches", { transfers: Array.from({ length: 100 }, () =>
		({ connection: here.id, op: "fetch_add", add: "0x1000", ...at })) }, WAIT_S);
	await holds(0x5n + 0x100n + 100n * 0x1000n, "a hundred sums");
	proof("fetch_add", column);

	const swap = async (compare, value, old) =>
		is_done(await transfer(a, here, "compare_swap", { compare, swap: value, ...at }), { old_value: old, bytes_done: 8 });
	await swap("0x64105", "0xdeadbeefcafef00d", "0x0000000000064105");
	await holds(0xdeadbeefcafef00dn, "what was swapped in");
	await swap("0x1", "0x2", "0xdeadbeefcafef00d");
	await holds(0xdeadbeefcafef00dn, "what was not swapped");
	same((await b.bytes(target)).subarray(0, 8), Buffer.alloc(8), "what stands before");
	same((await b.bytes(target)).subarray(16), Buffer.alloc(48), "what stands behind");
	proof("compare_swap", column);
}

// `count` ranges of different lengths, scattered over a buffer in reverse order, and their concatenated
// bytes.
function ranges_of({ id, bytes }, count) {
	const sges = Array.from({ length: count }, (_, i) =>
		({ buffer: id, offset_bytes: (count - 1 - i) * 200 + (i % 7), length_bytes: 1 + (i * 37) % 150 }));

	return {
		sges,
		all: bytes && Buffer.concat(sges.map(({ offset_bytes, length_bytes }) => bytes.subarray(offset_bytes, offset_bytes + length_bytes))),
		length_bytes: sges.reduce((sum, { length_bytes }) => sum + length_bytes, 0),
	};
}

// The current bytes of the ranges.
const bytes_of = (bytes, sges) =>
	Buffer.concat(sges.map(({ offset_bytes, length_bytes }) => bytes.subarray(offset_bytes, offset_bytes + length_bytes)));

// The ranges as an answer shows them: each names its buffer.
const shown = (sges) => sges.map(({ buffer: id, ...range }) => ({ buffer: { id, name: null }, ...range }));

async function lists(world, column) {
	const { a, b, buffer, device, filled, join, unreliable, iwarp } = world;
	const { limits: { max_sge, max_sge_rd } } = await a.get(`/v1/devices/${device}`);
	const [here, there] = await join({ max_send_sge: max_sge }, { service: "none", max_recv_sge: max_sge, rq_depth: 4 });
	const source = await filled(a, max_sge * 200 + 10);
	const target = await filled(b, max_sge * 200 + 10, { access: OPEN.slice(0, 2) });
	const from = ranges_of(source, max_sge);
	const into = ranges_of({ id: target.id }, max_sge);

	// The send gathers ranges, the receive scatters them; bytes between the ranges stay
	// unchanged.
	const received = transfer(b, there, "recv", { sges: into.sges });
	await b.until(`${CONNECTION}/${there.id}`, "a receive", ({ counters }) => counters.recv?.posted === 1);
	is_done(await transfer(a, here, "send", { sges: from.sges }),
		{ wrs_done: 1, bytes_done: from.length_bytes, buffer: null, sges: shown(from.sges) });
	is_done(await received, { sges: shown(into.sges), received: { op: "send", length_bytes: from.length_bytes, written_bytes: null, imm: null } });
	const now = await b.bytes(target);
	same(bytes_of(now, into.sges).subarray(0, from.length_bytes), from.all, "what was gathered and scattered");
	const wanted = Buffer.from(target.bytes);
	let done = 0;
	for (const { offset_bytes, length_bytes } of into.sges) {
		from.all.copy(wanted, offset_bytes, done, done + length_bytes);
		done += length_bytes;
	}
	same(now, wanted, "all of the buffer");

	// With empty ranges in between, and a second buffer.
	const second = await filled(a, 50);
	const mixed = [{ buffer: source.id, offset_bytes: 3, length_bytes: 10 }, { buffer: source.id, offset_bytes: 0, length_bytes: 0 },
		{ buffer: second.id }];
	const flat = await buffer(b, 60, { access: OPEN.slice(0, 2) });
	const gathered = Buffer.concat([source.bytes.subarray(3, 13), second.bytes]);
	is_done(await written(world, here, flat, gathered, "a write of ranges", "write", { sges: mixed, remote: remote(flat) }),
		{ wrs_done: 1, bytes_done: 60 });
	const all = await buffer(b, from.length_bytes, { access: OPEN.slice(0, 2) });
	is_done(await written(world, here, all, from.all, "a write of many ranges", "write",
		{ sges: from.sges, remote: remote(all) }), { wrs_done: 1, bytes_done: from.length_bytes });

	if (!unreliable) {
		const count = Math.min(max_sge, max_sge_rd || max_sge);
		const mine = await buffer(a, source.bytes.length);
		const scattered = ranges_of({ id: mine.id }, count);
		const bytes = await b.bytes(all);

		is_done(await transfer(a, here, "read", { sges: scattered.sges, remote: remote(all) }), { wrs_done: 1 });
		same(bytes_of(await a.bytes(mine), scattered.sges), bytes.subarray(0, scattered.length_bytes), "a scattered read");
		if (iwarp) {
			const problem = await a.refused("POST", "/v1/transfers",
				{ connection: here.id, op: "read", sges: ranges_of({ id: mine.id }, count + 1).sges, remote: remote(all) });
			equal(problem.code, "out_of_range", "a read into more ranges than the device takes");
		}
	}
	for (const [op, daemon, { id }] of [["send", a, here], ["recv", b, there]]) {
		const of = op === "send" ? source : target;
		const problem = await daemon.refused("POST", "/v1/transfers", { connection: id, op,
			sges: Array.from({ length: max_sge + 1 }, () => ({ buffer: of.id, length_bytes: 1 })) });

		equal(problem.code, "out_of_range", `one range too many for a ${op}`);
		equal(problem.errors[0].pointer, "/sges", "pointer");
	}
	proof("sge_list", column);
}

async function receives(world, column) {
	const { a, b, buffer, filled, join, unreliable, iwarp } = world;
	const [here, there] = await join({}, { service: "none", rq_depth: 2 });
	const source = await filled(a, 1000);
	const target = await buffer(b, 1000, { access: OPEN.slice(0, 2) });
	const receive = (more) => b.post("/v1/transfers",
		{ connection: there.id, op: "recv", timeout_ms: PATIENCE_MS, ...more });
	const posted = (count) => b.until(`${CONNECTION}/${there.id}`, `${count} receives`,
		({ counters }) => counters.recv?.posted === count);
	const ended = ({ id }) => b.until(`/v1/transfers/${id}`, "its end", ({ ended_at }) => ended_at !== null);

	// Four are requested and two fit into the queue; the others follow in order when these are done.
	const four = [];
	for (let i = 0; i < 4; i++)
		four.push(await receive({ buffer: target.id, offset_bytes: i * 250, length_bytes: 250 }));
	await posted(2);
	for (let i = 0; i < 4; i++) {
		await transfer(a, here, "send", { buffer: source.id, offset_bytes: i * 250, length_bytes: 250 - i });
		is_done(await ended(four[i]),
			{ received: { op: "send", length_bytes: 250 - i, written_bytes: null, imm: null }, bytes_done: 250 - i });
		await posted(Math.min(4, 3 + i));
	}
	const now = await b.bytes(target);
	for (let i = 0; i < 4; i++)
		same(now.subarray(i * 250, i * 250 + 250 - i), source.bytes.subarray(i * 250, i * 250 + 250 - i), "what came");

	// A receive of zero bytes takes an empty message.
	const empty = await receive({ length_bytes: 0 });
	await posted(5);
	await transfer(a, here, "send", { length_bytes: 0 });
	is_done(await ended(empty), { received: { op: "send", length_bytes: 0, written_bytes: null, imm: null }, buffer: null });
	if (!iwarp) {
		const told = await receive({ length_bytes: 0 });
		await posted(6);
		await transfer(a, here, "write_imm", { buffer: source.id, length_bytes: 100, remote: remote(target, 500), imm: 77 });
		is_done(await ended(told), { received: { op: "write_imm", length_bytes: 0, written_bytes: 100, imm: 77 } });
		same((await b.bytes(target)).subarray(500, 600), source.bytes.subarray(0, 100), "what was written");
	}
	if (!unreliable && !iwarp) {
		// The sender waits for the receive.
		const sent = transfer(a, here, "send_imm", { buffer: source.id, length_bytes: 10, imm: 5 });
		await a.until(`${CONNECTION}/${here.id}`, "a send", ({ counters }) => counters.send_imm?.posted === 1);
		is_done(await ended(await receive({ buffer: target.id })),
			{ received: { op: "send", length_bytes: 10, written_bytes: null, imm: 5 } });
		is_done(await sent, {});
	}
	const problem = await a.refused("POST", "/v1/transfers", { connection: here.id, op: "recv", buffer: source.id });
	equal(problem.code, "wrong_state", "recv beside a service");
	equal(problem.errors[0].pointer, "/connection", "pointer");
	proof("recv", column);
}

async function inlines(world, column) {
	const { a, b, buffer, filled, join } = world;
	const INLINE_BYTES = world.iwarp ? 64 : 96;
	const [here, there] = await join({ inline_bytes: INLINE_BYTES });
	const source = await filled(a, 300);
	const target = await buffer(b, INLINE_BYTES, { access: OPEN.slice(0, 2) });

	is_done(await transfer(a, here, "send", { buffer: source.id, length_bytes: INLINE_BYTES, inline: true }), { inline: true });
	same((await message(b, there, 1)).bytes, source.bytes.subarray(0, INLINE_BYTES), "an inline send");
	is_done(await transfer(a, here, "send", { inline: true,
		sges: [{ buffer: source.id, offset_bytes: 200, length_bytes: 40 }, { buffer: source.id, length_bytes: 20 }] }), { inline: true });
	same((await message(b, there, 2)).bytes, Buffer.concat([source.bytes.subarray(200, 240), source.bytes.subarray(0, 20)]),
		"an inline send of two ranges");
	is_done(await written(world, here, target, source.bytes.subarray(10, 10 + INLINE_BYTES), "an inline write", "write",
		{ buffer: source.id, offset_bytes: 10, length_bytes: INLINE_BYTES, remote: remote(target), inline: true }), { inline: true });
	const problem = await a.refused("POST", "/v1/transfers",
		{ connection: here.id, op: "send", buffer: source.id, length_bytes: INLINE_BYTES + 1, inline: true });
	equal(problem.code, "out_of_range", "one byte too many");
	equal(problem.errors[0].pointer, "/inline", "pointer");
	proof("inline", column);
}

async function signals(world, column) {
	const { a, b, buffer, filled, join, unreliable } = world;
	const CHUNKS = 40;
	const size_bytes = CHUNKS * 256;
	const [here] = await join({ signal_every: 7, sq_depth: 16 });
	const source = await filled(a, size_bytes);
	const target = await buffer(b, size_bytes, { access: OPEN.slice(0, 2) });
	const more = { buffer: source.id, remote: remote(target), chunk_bytes: 256 };

	is_done(await written(world, here, target, source.bytes, "a write with few completions", "write", more),
		{ wrs_done: CHUNKS, bytes_done: size_bytes });
	const { counters: { write } } = await a.connection(here.id);
	equal(write.completed, write.posted, "writes completed");
	ok(write.signalled < write.posted / 2, `${write.signalled} of ${write.posted} writes asked for a completion`);
	if (!unreliable)
		equal(write.bytes, size_bytes, "bytes counted");
	// The queue and the limit of outstanding requests never fill up with unsignalled requests.
	is_done(await transfer(a, here, "write", { ...more, tx_depth: 3 }), { wrs_done: CHUNKS });
	const [slow] = await join({ signal_every: 4, sq_depth: 4 });
	is_done(await transfer(a, slow, "write", more), { wrs_done: CHUNKS });
	proof("signal_every", column);
}

// A missing receive neither delays the sender nor is it an error.
async function loses({ a, b, join }) {
	const RECEIVES = 4;
	const SENT = 20;
	const [here, there] = await join({}, { rq_depth: RECEIVES });
	const say = async (data) => is_done(await a.post(`${CONNECTION}/${here.id}/messages`, { data }, WAIT_S), {});

	for (let i = 1; i <= SENT; i++)
		await say(`message ${i}`);
	for (let i = 1; i <= RECEIVES; i++)
		equal((await message(b, there, i)).bytes.toString(), `message ${i}`, "a message with a receive");
	await forget(b, there, RECEIVES);
	// A message may also be lost while receives are being posted again.
	let said = SENT;
	await until("a message behind those that are lost", async () => {
		await say(`message ${++said}`);
		return (await b.get(`${CONNECTION}/${there.id}`)).inbox.messages > 0;
	});
	const last = (await message(b, there, RECEIVES + 1)).bytes.toString();
	ok(Number(last.split(" ")[1]) > SENT, `the next one that came is ${last}`);
	const { total } = await b.get(`${CONNECTION}/${there.id}/messages`);
	const heard = await b.until(`${CONNECTION}/${there.id}`, "the lost ones counted",
		({ lost_packets }) => lost_packets === said - RECEIVES - total);
	equal(heard.counters.recv.completed, RECEIVES + total, "messages received");
	for (const [daemon, { id }, op] of [[a, here, "send"], [b, there, "recv"]]) {
		const { state, counters, error } = await daemon.connection(id);

		equal(state, "established", "state");
		equal(counters[op].errors, 0, "errors");
		equal(error, null, "error");
	}
	equal((await a.connection(here.id)).counters.send.completed, said, "messages sent");
	// Writes of the peer are invisible here, so the number of lost packets is unknown.
	await b.buffer(64, { device: dev, access: ["remote_write"] });
	equal((await b.connection(there.id)).lost_packets, null, "lost packets beside memory open to writes");
}

// --- errors on every kind of connection --------------------------------------------------------------------------

const WRONG = [
	["a misaligned atomic", { op: "fetch_add", add: "0x1", remote: { addr: "0x1004", rkey: "0x1" } }, "bad_value", "/remote/addr"],
	["an atomic of four bytes", { op: "fetch_add", add: "0x1", buffer: "here", length_bytes: 4, remote: SOMEWHERE }, "bad_value",
		"/length_bytes"],
	["an atomic without its operand", { op: "fetch_add", remote: SOMEWHERE }, "missing_field", "/add"],
	["a swap without what to compare", { op: "compare_swap", swap: "0x1", remote: SOMEWHERE }, "missing_field", "/compare"],
	["a swap without what to swap", { op: "compare_swap", compare: "0x1", remote: SOMEWHERE }, "missing_field", "/swap"],
	["an atomic of a list", { op: "fetch_add", add: "0x1", sges: [{ buffer: "here" }], remote: SOMEWHERE }, "bad_value", "/sges"],
	["an atomic that adds too much", { op: "fetch_add", add: "0x10000000000000000", remote: SOMEWHERE }, "out_of_range", "/add"],
	["a send that adds", { op: "send", buffer: "here", add: "0x1" }, "bad_value", "/add"],
	["an immediate too large", { op: "send_imm", buffer: "here", imm: 2 ** 32 }, "out_of_range", "/imm"],
	["an immediate below nothing", { op: "send_imm", buffer: "here", imm: -1 }, "out_of_range", "/imm"],
	["an immediate that is text", { op: "send_imm", buffer: "here", imm: "7" }, "wrong_type", "/imm"],
	["an immediate missing", { op: "write_imm", buffer: "here", remote: SOMEWHERE }, "missing_field", "/imm"],
	["an immediate too many", { op: "send", buffer: "here", imm: 1 }, "bad_value", "/imm"],
	["an inline read", { op: "read", buffer: "here", inline: true, remote: SOMEWHERE }, "bad_value", "/inline"],
	["a range past the end", { op: "send", sges: [{ buffer: "here", length_bytes: 8 }, { buffer: "here", offset_bytes: 60, length_bytes: 5 }] },
		"range_not_satisfiable", "/sges/1/length_bytes"],
	["a range of no buffer", { op: "send", sges: [{ buffer: "here" }, { buffer: "nowhere" }] }, "not_found", "/sges/1/buffer"],
	["a range without a buffer", { op: "send", sges: [{ offset_bytes: 1 }] }, "missing_field", "/sges/0/buffer"],
	["a range with more than it has", { op: "send", sges: [{ buffer: "here", length: 1 }] }, "unknown_field", "/sges/0/length"],
	["a range that is none", { op: "send", sges: ["here"] }, "wrong_type", "/sges/0"],
	["no ranges", { op: "send", sges: [] }, "out_of_range", "/sges"],
	["ranges that are none", { op: "send", sges: "here" }, "wrong_type", "/sges"],
	["ranges beside a buffer", { op: "send", buffer: "here", sges: [{ buffer: "here" }] }, "bad_value", "/buffer"],
	["ranges in chunks", { op: "write", sges: [{ buffer: "here" }], chunk_bytes: 8, remote: SOMEWHERE }, "bad_value", "/chunk_bytes"],
	["too many ranges", { op: "send", sges: Array.from({ length: 5 }, () => ({ buffer: "here" })) }, "out_of_range", "/sges"],
	["no buffer", { op: "send" }, "missing_field", "/buffer"],
	["bytes without a buffer", { op: "send", length_bytes: 8 }, "missing_field", "/buffer"],
	["a receive of the peer's memory", { op: "recv", buffer: "here", remote: SOMEWHERE }, "bad_value", "/remote"],
	["a receive beside a service", { op: "recv", buffer: "here" }, "wrong_state", "/connection"],
];

async function refuses(world) {
	const { a, b, buffer, join } = world;
	const [here] = await join();

	await buffer(a, 64, { name: "here" });
	for (const [what, body, code, pointer] of WRONG) {
		const problem = await a.refused("POST", "/v1/transfers", { connection: here.id, ...body });

		equal(problem.code, code, `code of ${what}`);
		equal(problem.errors?.[0].pointer, pointer, `pointer of ${what}`);
	}
	for (const [qp, code, pointer] of [
		[{ signal_every: 65 }, "out_of_range", "/qp/signal_every"], [{ max_send_sge: 65 }, "out_of_range", "/qp/max_send_sge"],
		[{ max_recv_sge: 0 }, "out_of_range", "/qp/max_recv_sge"], [{ inline_bytes: 1025 }, "out_of_range", "/qp/inline_bytes"],
		[{ max_send_sge: 64 }, "resource_error", "/qp/max_send_sge"],
	]) {
		const { port } = await b.listen({ port: 0 });
		const problem = await a.refused("POST", CONNECTION, { dst_addr: addr, dst_port: port, qp }, WAIT_S);

		equal(problem.code, code, `code of ${JSON.stringify(qp)}`);
		equal(problem.errors?.[0].pointer, pointer, `pointer of ${JSON.stringify(qp)}`);
	}
	equal((await a.refused("POST", `${CONNECTION}/${here.id}/messages`, { data: "x", imm: 2 ** 32 })).errors[0].pointer, "/imm",
		"pointer of an immediate too large");
	equal((await a.get("/v1/transfers?state=open,ended")).total, 0, "transfers that were made");
	equal((await a.connection(here.id)).state, "established", "state of the connection");
}

for (const [column, way] of Object.entries(WAYS)) {
	const plays = { "sends": sends, "writes and reads": writes_and_reads, "atomic operations": atomics, "lists of ranges": lists,
		"receives of a client": receives, "inline": inlines, "completions for every Nth": signals };

	for (const [what, play] of Object.entries(plays))
		await scenario(`${column}: ${what}`, () => with_daemons(way, (world) => play(world, column)));
}
await scenario("uc: what is lost is counted, and no error", () => with_daemons(WAYS.uc, loses));
await scenario("what makes no sense is refused", () => with_daemons(WAYS.rc_cm, refuses));

finish();
