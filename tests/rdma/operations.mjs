// SPDX-License-Identifier: Apache-2.0
//
// Every operation and service once, over whatever kind of connection: the rows of docs/verbs.md for a column.
//
// A pair is {a, b, from, to, device}: a connection `from` of daemon a and its other end, `to`, of daemon b.

import { randomBytes } from "node:crypto";
import { PATIENCE_MS, equal, ok, proof, refusal } from "./lib.mjs";

const SIZE_BYTES = 8192;

// Few enough for everybody's receives, and so that not every work request is signalled.
export const QP = { signal_every: 4, inline_bytes: 64, rq_depth: 32, retry_count: 7 };

// --- pairs -------------------------------------------------------------------------------------------------------

// By the connection manager; the listener has `service`, and both sides `qp`.
export async function cm_pair(a, b, { dst_addr, port, device, qp = QP, service = "inbox", here = "inbox" }) {
	const listener = await b.listen({ addr: dst_addr, port, qp, service });
	const from = await a.connect({ dst_addr, dst_port: port, qp, service: here });
	const { items } = await b.until("/v1/connections?state=established&limit=1000", "the other end", ({ items }) =>
		items.some((item) => item.listener === listener.id));

	await b.call("DELETE", `/v1/listeners/${listener.id}`);
	return { a, b, from, to: items.find((item) => item.listener === listener.id), device };
}

// By hand: each gets what the other one has.
export async function manual_pair(a, b, { transport, device, gid_index, qp = QP, service = "inbox", here = "inbox" }) {
	const ends = await Promise.all([[a, here], [b, service]].map(([daemon, service]) =>
		daemon.post("/v1/connections", { bringup: "manual", transport, device, gid_index, qp, service }, 60)));

	for (const [daemon, mine, other] of [[a, ends[0], ends[1]], [b, ends[1], ends[0]]])
		await daemon.post(`/v1/connections/${mine.id}/remote`, other.exchange, 60);
	const [from, to] = await Promise.all([a.connection_in(ends[0].id, "established"), b.connection_in(ends[1].id, "established")]);
	return { a, b, from, to, device };
}

export async function close_pair({ a, b, from, to }) {
	await a.post(`/v1/connections/${from.id}/close`, {}, 60);
	await b.try("POST", `/v1/connections/${to.id}/close`, {}, { wait_s: 60 });
	await b.end_of(to.id);
}

// --- what they do ------------------------------------------------------------------------------------------------

// The one message that came, which is taken out.
async function message(daemon, connection) {
	const path = `/v1/connections/${connection.id}/messages`;
	const { items } = await daemon.until(path, "a message", ({ total }) => total > 0);

	equal(items.length, 1, "number of messages");
	await daemon.call("DELETE", `${path}?through=${items[0].seq}`);
	return items[0];
}

// siw refuses what it has not.
const is_siw = ({ device }) => device === process.env.LAB_SIW_DEV;
const access = (pair) => ["remote_write", "remote_read", ...(is_siw(pair) ? [] : ["remote_atomic"])];

async function buffers(pair, size_bytes = SIZE_BYTES) {
	const source = await pair.a.buffer(size_bytes, { device: pair.device });
	const target = await pair.b.buffer(size_bytes, { device: pair.device, access: access(pair) });
	const bytes = randomBytes(size_bytes);

	await pair.a.fill(source, bytes);
	return { source, target, bytes };
}

const sends = (pair, op, source, more) => pair.a.transfer(op, pair.from, source, null, more);

// Nobody hears of a write when it has arrived; over UC not even the sender.
const arrives = async (pair, target, bytes) => {
	const end = Date.now() + PATIENCE_MS;

	while (!bytes.equals(await pair.b.bytes(target)))
		ok(Date.now() < end, "the bytes that arrived are others");
};

async function send(pair) {
	const { source } = await buffers(pair, 100);

	await sends(pair, "send", source);
	equal((await message(pair.b, pair.to)).length_bytes, 100, "length of the message");
}

async function send_imm(pair) {
	const { source } = await buffers(pair, 100);

	await sends(pair, "send_imm", source, { imm: 0xfeed0001 });
	const { op, imm, length_bytes } = await message(pair.b, pair.to);
	equal(`${op} ${imm} ${length_bytes}`, `send ${0xfeed0001} 100`, "the message");
}

async function write(pair) {
	const { source, target, bytes } = await buffers(pair);

	await pair.a.transfer("write", pair.from, source, target);
	await arrives(pair, target, bytes);
}

async function write_imm(pair) {
	const { source, target, bytes } = await buffers(pair);

	await pair.a.transfer("write_imm", pair.from, source, target, { imm: 7 });
	const { op, imm } = await message(pair.b, pair.to);
	equal(`${op} ${imm}`, "write_imm 7", "the message");
	await arrives(pair, target, bytes);
}

async function read(pair) {
	const { source, target, bytes } = await buffers(pair);

	await pair.b.fill(target, bytes.reverse());
	await pair.a.transfer("read", pair.from, source, target);
	ok(bytes.equals(await pair.a.bytes(source)), "the bytes that were read are others");
}

async function atomic(pair, op, operands, wanted) {
	const { source, target } = await buffers(pair, 8);
	const number = Buffer.alloc(8);

	number.writeBigUInt64LE(40n);
	await pair.b.fill(target, number);
	const { old_value } = await pair.a.transfer(op, pair.from, source, target, operands);
	equal(Number(old_value), 40, "the old value");
	equal(Number((await pair.b.bytes(target)).readBigUInt64LE()), wanted, "the new value");
}

const fetch_add = (pair) => atomic(pair, "fetch_add", { add: "0x2" }, 42);
const compare_swap = (pair) => atomic(pair, "compare_swap", { compare: "0x28", swap: "0x63" }, 99);

async function gathered(pair, op) {
	const { source, target, bytes } = await buffers(pair, 300);
	const sges = [200, 0, 100].map((offset) => ({ buffer: source.id, offset, length_bytes: 100 }));

	await pair.a.post("/v1/transfers", { op, connection: pair.from.id, sges,
		...(op === "write" && { remote: { addr: target.addr, rkey: target.rkey } }) }, 60);
	return { target, wanted: Buffer.concat([bytes.subarray(200), bytes.subarray(0, 200)]) };
}

async function scattered_read(pair) {
	const { source, target, bytes } = await buffers(pair, 200);
	const sges = [100, 0].map((offset) => ({ buffer: source.id, offset, length_bytes: 100 }));

	await pair.b.fill(target, bytes.reverse());
	await pair.a.post("/v1/transfers", { op: "read", connection: pair.from.id, sges,
		remote: { addr: target.addr, rkey: target.rkey } }, 60);
	ok(Buffer.concat([bytes.subarray(100), bytes.subarray(0, 100)]).equals(await pair.a.bytes(source)), "not scattered as asked");
}

async function sge_list(pair) {
	const { target, wanted } = await gathered(pair, "write");

	await arrives(pair, target, wanted);
	await gathered(pair, "send");
	equal((await message(pair.b, pair.to)).length_bytes, 300, "length of the message");
	if (pair.from.transport === "rc" && !is_siw(pair))
		await scattered_read(pair);
}

async function inline(pair) {
	const { source } = await buffers(pair, 64);

	await sends(pair, "send", source, { inline: true });
	equal((await message(pair.b, pair.to)).length_bytes, 64, "length of the message");
}

async function zero_length(pair) {
	const { source, target, bytes } = await buffers(pair, 64);

	await sends(pair, "send", source, { length_bytes: 0 });
	equal((await message(pair.b, pair.to)).length_bytes, 0, "length of the message");
	await pair.a.transfer("write", pair.from, source, target, { length_bytes: 0 });
	if (pair.from.transport === "rc")
		await pair.a.transfer("read", pair.from, source, target, { length_bytes: 0 });
	ok(!bytes.equals(await pair.b.bytes(target)), "bytes arrived though none were written");
}

async function signal_every(pair) {
	const { source } = await buffers(pair, 160);
	const count = async () => (await pair.a.connection(pair.from.id)).counters.send;
	const before = await count();

	await sends(pair, "send", source, { message_bytes: 10 });
	const { posted, completed, signalled } = await count();
	equal(posted - before.posted, 16, "sends posted");
	equal(completed - before.completed, 16, "sends completed");
	equal(signalled - before.signalled, 4, "sends that asked for a completion");
	const path = `/v1/connections/${pair.to.id}/messages`;
	const { items } = await pair.b.until(path, "all messages", ({ total }) => total === 16);
	await pair.b.call("DELETE", `${path}?through=${items[15].seq}`);
}

async function inbox(pair) {
	await pair.a.post(`/v1/connections/${pair.from.id}/messages`, { data: "hello" }, 60);
	equal((await message(pair.b, pair.to)).data, "hello", "the message");
}

const OPERATIONS = { send, send_imm, write, write_imm, read, fetch_add, compare_swap, sge_list, inline, zero_length, signal_every,
	inbox };

// All rows named, on one pair. Without a column they are not what is to be proved.
export async function operations_work(column, pair, rows) {
	for (const row of rows) {
		await OPERATIONS[row](pair).catch((error) => {
			error.message = `${row}: ${error.message}`;
			throw error;
		});
		if (column)
			proof(row, column);
	}
}

// Each service has a pair of its own, from `make` with the services of both sides.
export async function recv_works(column, make) {
	const pair = await make({ service: "none" });
	const { source, target, bytes } = await buffers(pair, 100);
	const { id } = await pair.b.post("/v1/transfers", { op: "recv", connection: pair.to.id, buffer: target.id,
		timeout_ms: PATIENCE_MS });

	await sends(pair, "send", source);
	const { received } = await pair.b.until(`/v1/transfers/${id}`, "the receive", ({ state }) => state === "done");
	equal(received.length_bytes, 100, "length of what was received");
	ok(bytes.equals(await pair.b.bytes(target)), "the bytes that arrived are others");
	await close_pair(pair);
	proof("recv", column);
}

export async function echo_works(column, make) {
	const pair = await make({ service: "echo" });

	await pair.a.post(`/v1/connections/${pair.from.id}/messages`, { data: "there and back" }, 60);
	equal((await message(pair.a, pair.from)).data, "there and back", "the echo");
	await close_pair(pair);
	proof("echo", column);
}

export async function sink_works(column, make) {
	const pair = await make({ service: "sink" });

	for (let i = 0; i < 20; i++)
		await pair.a.post(`/v1/connections/${pair.from.id}/messages`, { data: "gone" }, 60);
	await pair.b.until(`/v1/connections/${pair.to.id}`, "twenty receives", ({ counters }) => counters.recv.completed === 20);
	await close_pair(pair);
	proof("sink", column);
}

export async function rping_works(column, make) {
	const pair = await make({ service: "rping", here: "rping_client" });
	const { id } = await pair.a.post("/v1/probes", { connection: pair.from.id, kind: "rping", count: 10, size_bytes: 64,
		timeout_ms: PATIENCE_MS });
	const probe = await pair.a.until(`/v1/probes/${id}`, "the end of the probe", ({ state }) => state !== "running");

	equal(`${probe.state} ${probe.completed} ${probe.mismatched}`, "done 10 0", "the probe");
	await close_pair(pair);
	proof("rping", column);
	proof("rping_client", column);
}

// --- what is refused ---------------------------------------------------------------------------------------------

// A request that is refused with that code. Not supported is something by a device, which is named with what it lacks, or
// by a kind of connection.
export async function refuses(row, column, daemon, path, body, code = "not_supported") {
	const problem = await daemon.refused("POST", path, body, 60);

	equal(problem.code, code, `the code of the refusal of ${row} (${problem.detail})`);
	if (code === "not_supported")
		ok((problem.device && problem.capability) || /\b(uc|ud|endpoint)\b/.test(problem.detail), `the refusal of ${row} names no device or capability: ${problem.detail}`);
	refusal(row, column, code);
}
