// SPDX-License-Identifier: Apache-2.0
//
// Memory: windows that are bound and revoked beside other work, access that windows and buffers grant and refuse,
// huge pages, and a registration of a gigabyte during which other requests proceed.

import { readFileSync } from "node:fs";

import { Daemon, Program, WAIT_S, build, dev, equal, finish, ok, proof, refusal, resources, resources_are_back, run,
	scenario, start_ready, until, write_file } from "./lib.mjs";
import { memory_of } from "../proc.mjs";
import { scratch_path } from "../scratch.mjs";

const PORT = 7471;
const PAGE = 4096;

async function pair() {
	const [a, b] = await start_ready("a b");

	await b.listen({ port: PORT });
	return [a, b];
}

// Returns a connection from a and its end at b.
async function connect(a, b) {
	const here = await a.connect({ dst_port: PORT });

	return [here, await b.accepted(here)];
}

const window = (daemon, buffer, connection, type, more = {}) => daemon.post("/v1/windows",
	{ buffer: buffer.id, ...(connection && { connection: connection.id }), type, access: ["remote_write", "remote_read"],
		...more }, WAIT_S);

const revoke = (daemon, { id }) => daemon.call("DELETE", `/v1/windows/${id}`, undefined, { wait_s: WAIT_S });

const behind = ({ addr: at, rkey }, bytes) => ({ addr: `0x${(BigInt(at) + BigInt(bytes)).toString(16)}`, rkey });

// Starts a transfer that the peer's device refuses, which ends the connection. The peer's verbsd learns of the refusal at once, and
// may move its queue pair to ERR before the device has sent the answer, which Soft-RoCE drops then (rxe_xmit_packet() in
// rxe_net.c): the request is flushed.
const REFUSED_ENDS = { remote_access: "IBV_WC_REM_ACCESS_ERR", peer_disconnect: "IBV_WC_WR_FLUSH_ERR" };

async function refused_by_peer(daemon, op, connection, buffer, remote, more = {}) {
	const { code, wc_status } = await daemon.refused("POST", "/v1/transfers",
		{ op, connection: connection.id, buffer: buffer.id, remote: { addr: remote.addr, rkey: remote.rkey }, ...more }, WAIT_S);

	ok(code in REFUSED_ENDS, `the end of a ${op} that is not allowed is ${code}`);
	equal(wc_status, REFUSED_ENDS[code], "its completion");
	await daemon.ended_with(connection.id, code);
}

const fill_of = (byte) => Buffer.alloc(PAGE, byte);
const page_of = async (daemon, buffer, n) => (await daemon.bytes(buffer)).subarray(n * PAGE, (n + 1) * PAGE);

for (const type of [1, 2]) {
	await scenario(`of two windows of type ${type} over one buffer one is revoked and the other goes on`, async () => {
		const before = await resources();
		const [a, b] = await pair();
		const [c1, p1] = await connect(a, b);
		const [c2, p2] = await connect(a, b);
		const target = await b.buffer(4 * PAGE, { access: ["mw_bind"] });
		const source = await a.buffer(PAGE);
		const w1 = await window(b, target, p1, type, { buffer_offset_bytes: 0, size_bytes: PAGE });
		const w2 = await window(b, target, p2, type, { buffer_offset_bytes: PAGE, size_bytes: PAGE });

		ok(w1.rkey !== w2.rkey, "both windows have the same key");
		await a.fill(source, fill_of(1));
		await a.transfer("write", c1, source, w1);
		await a.fill(source, fill_of(2));
		await a.transfer("write", c2, source, w2);
		ok((await page_of(b, target, 0)).equals(fill_of(1)), "w1 leads elsewhere");
		ok((await page_of(b, target, 1)).equals(fill_of(2)), "w2 leads elsewhere");

		await revoke(b, w1);
		await a.fill(source, fill_of(3));
		await refused_by_peer(a, "write", c1, source, w1);
		ok((await page_of(b, target, 0)).equals(fill_of(1)), "something was written by a key that is revoked");
		await a.transfer("write", c2, source, w2);
		ok((await page_of(b, target, 1)).equals(fill_of(3)), "the other window does not go on");
		await a.transfer("read", c2, source, w2);
		equal((await b.get(`/v1/windows/${w2.id}`)).state, "ready", "the other window");
		equal((await b.get("/v1/stats")).windows, 1, "the windows left");

		const { code, users } = await b.refused("DELETE", `/v1/buffers/${target.id}`);
		equal(code, "in_use", "deleting a buffer with a window");
		equal(users.join(), `/v1/windows/${w2.id}`, "its users");
		await a.stop();
		await b.stop();
		await resources_are_back(before);
		proof(`window_type_${type}`, "rc_cm");
	});

	await scenario(`a window of type ${type} gives its access and no other`, async () => {
		const [a, b] = await pair();
		const target = await b.buffer(2 * PAGE, { access: ["mw_bind"] });
		const source = await a.buffer(PAGE);

		for (const [given, other, op, refused] of [["remote_read", "remote_write", "read", "write"],
			["remote_write", "remote_read", "write", "read"]]) {
			const [here, there] = await connect(a, b);
			const w = await window(b, target, there, type, { size_bytes: PAGE, access: [given] });

			equal(w.access.join(), given, "the access shown");
			ok(!w.access.includes(other), "more access is shown");
			await a.transfer(op, here, source, w);
			await refused_by_peer(a, refused, here, source, w);
		}
	});
}

await scenario("a window of type 2 is for its connection's peer only", async () => {
	const [a, b] = await pair();
	const [c1, p1] = await connect(a, b);
	const [c2] = await connect(a, b);
	const target = await b.buffer(PAGE, { access: ["mw_bind"] });
	const source = await a.buffer(PAGE);
	const w = await window(b, target, p1, 2);

	await refused_by_peer(a, "write", c2, source, w);
	await a.transfer("write", c1, source, w);
	await a.call("POST", `/v1/connections/${c1.id}/close`, undefined, { wait_s: WAIT_S });
	const ended = await b.until(`/v1/windows/${w.id}`, "its end", ({ state }) => state === "revoked");
	equal(ended.error.code, "peer_disconnect", "why it ended");
});

await scenario("a window of type 1 is for every peer and outlives connections", async () => {
	const [a, b] = await pair();
	const [c1, p1] = await connect(a, b);
	const [c2] = await connect(a, b);
	const target = await b.buffer(PAGE, { access: ["mw_bind"] });
	const source = await a.buffer(PAGE);
	const w = await window(b, target, null, 1);

	await a.transfer("write", c1, source, w);
	await b.call("POST", `/v1/connections/${p1.id}/close`, undefined, { wait_s: WAIT_S });
	await a.transfer("write", c2, source, w);
	await revoke(b, w);
	await refused_by_peer(a, "write", c2, source, w);
});

await scenario("a buffer gives by its own key what its access says", async () => {
	const [a, b] = await pair();
	const source = await a.buffer(PAGE);

	for (const [access, op] of [["remote_read", "write"], ["remote_write", "read"]]) {
		const [here] = await connect(a, b);
		const target = await b.buffer(PAGE, { access: [access] });

		await refused_by_peer(a, op, here, source, target);
	}
	for (const access of [["mw_bind"], []])
		equal((await b.buffer(PAGE, { access })).rkey, null, "the key of a buffer that no peer can reach");
});

for (const type of [1, 2]) {
	await scenario(`a window of type ${type} begins and ends exactly where it says`, async () => {
		const [a, b] = await pair();
		const target = await b.buffer(3 * PAGE, { access: ["mw_bind"] });
		const source = await a.buffer(2 * PAGE);
		const range = { buffer_offset_bytes: PAGE + 1, size_bytes: PAGE - 2 };

		for (const [from, length_bytes] of [[-1, 1], [-1, 2], [PAGE - 3, 2], [PAGE - 2, 1], [0, PAGE - 1]]) {
			const [here, there] = await connect(a, b);
			const w = await window(b, target, there, type, range);

			equal(w.addr, behind(target, range.buffer_offset_bytes).addr, "its address");
			await a.fill(source, fill_of(5));
			await a.transfer("write", here, source, w, { length_bytes: PAGE - 2 });
			await a.transfer("write", here, source, behind(w, PAGE - 3), { length_bytes: 1 });
			await a.fill(source, fill_of(6));
			await refused_by_peer(a, "write", here, source, behind(w, from), { length_bytes });
			await revoke(b, w);
		}
		const bytes = await b.bytes(target);
		ok(bytes.subarray(PAGE + 1, 2 * PAGE - 1).equals(Buffer.alloc(PAGE - 2, 5)), "what is inside was not written");
		ok(bytes.subarray(0, PAGE + 1).every((byte) => byte === 0) && bytes.subarray(2 * PAGE - 1)
			.every((byte) => byte === 0), "something outside was written");
	});
}

await scenario("windows are revoked while their connection is busy", async () => {
	const [a, b] = await pair();
	const [here, there] = await connect(a, b);
	const target = await b.buffer(PAGE, { access: ["mw_bind"] });
	const source = await b.buffer(16 << 20);
	const sink = await a.buffer(16 << 20, { access: ["remote_write"] });
	const big = await b.post("/v1/transfers", { op: "write", connection: there.id, buffer: source.id,
		remote: { addr: sink.addr, rkey: sink.rkey }, chunk_bytes: 65536 });
	const small = await a.buffer(PAGE);

	for (let i = 0; i < 5; i++) {
		const w = await window(b, target, there, 2);

		await a.transfer("write", here, small, w);
		await revoke(b, w);
	}
	equal((await b.until(`/v1/transfers/${big.id}`, "the big one's end", ({ ended_at }) => ended_at)).state, "done",
		"the transfer beside them");
});

await scenario("daemons stop with windows bound, being bound and being revoked", async () => {
	const before = await resources();
	const [a, b] = await pair();
	const [, there] = await connect(a, b);
	const target = await b.buffer(PAGE, { access: ["mw_bind"] });
	const windows = await Promise.all([1, 2, 1, 2].map((type) => window(b, target, there, type)));

	await b.call("DELETE", `/v1/windows/${windows[0].id}`);
	await b.call("DELETE", `/v1/windows/${windows[1].id}`);
	await b.post("/v1/windows", { buffer: target.id, type: 1, access: ["remote_read"] });
	await b.stop();
	await a.stop();
	await resources_are_back(before);
});

// --- iWARP -------------------------------------------------------------------------------------------------------

await scenario("siw has no windows, and verbsd refuses to make them there", async () => {
	const device = process.env.LAB_SIW_DEV;
	const a = await Daemon.start("a");

	await a.ready();
	const plain = await a.buffer(PAGE, { device });
	for (const type of [1, 2]) {
		const problem = await a.refused("POST", "/v1/windows", { buffer: plain.id, type, access: ["remote_read"] });

		equal(problem.code, "not_supported", `a window of type ${type}`);
		equal(problem.device, device, "the device that lacks it");
		equal(problem.capability, `mw_type_${type}`, "what it lacks");
		refusal(`window_type_${type}`, "siw", problem.code);
	}
	for (const access of ["mw_bind", "remote_atomic"]) {
		const { code } = await a.refused("POST", "/v1/buffers", { size_bytes: PAGE, device, access: [access] });

		equal(code, "not_supported", `access ${access}`);
	}
	equal((await a.get("/v1/buffers")).total, 1, "the buffers");
});

// --- buffers -----------------------------------------------------------------------------------------------------

const NR_HUGEPAGES = "/proc/sys/vm/nr_hugepages";
const free_hugepages = () => Number(/^HugePages_Free:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))[1]);

await scenario("a buffer of huge pages takes whole ones and gives them back", async () => {
	const [a, b] = await pair();
	const [here] = await connect(a, b);
	const source = await a.buffer(PAGE);
	const wanted = { size_bytes: (4 << 20) + 1, kind: "hugepage", access: ["remote_write"] };
	const { code, detail } = await b.refused("POST", "/v1/buffers", wanted);

	equal(code, "no_memory", "without huge pages");
	ok(/echo \d+ > \/sys.*\/nr_hugepages/.test(detail), `it does not say how to get them: ${detail}`);
	write_file(NR_HUGEPAGES, "64");
	const free = free_hugepages();
	const target = await b.buffer(wanted.size_bytes, wanted);

	equal(target.page_size_bytes, 2 << 20, "the page size");
	equal(free_hugepages(), free - 3, "the huge pages left");
	await a.fill(source, fill_of(9));
	await a.transfer("write", here, source, behind(target, 4 << 20), { length_bytes: 1 });
	equal((await b.bytes(target))[4 << 20], 9, "its last byte");
	await b.call("DELETE", `/v1/buffers/${target.id}`);
	await until("the huge pages to be back", () => free_hugepages() === free);
	write_file(NR_HUGEPAGES, "0");
});

// --- shared buffers ----------------------------------------------------------------------------------------------

// Runs a Python program that has the shared memory as `m`, and returns what it prints.
const mapping = (socket, program) => run(`${build}/cmd/verbsctl`, "-s", `unix:${socket}`, "buffers", "map", "frames", "--",
	"python3", "-c", `import mmap, os; fd = int(os.environ["VERBSD_BUFFER_FD"]); m = mmap.mmap(fd, 0); ${program}`);

const PUNCH_HOLE = `import ctypes; libc = ctypes.CDLL(None, use_errno=True)
assert libc.fallocate64(fd, 3, ctypes.c_long(0), ctypes.c_long(len(m))) == 0, ctypes.get_errno()`;

async function pair_with_socket() {
	const socket = scratch_path("memory.sock");
	const a = await Daemon.start("a");
	const b = await Daemon.start("b", ["--unix-socket", socket]);

	await Promise.all([a.ready(), b.ready()]);
	await b.listen({ port: PORT });
	return [a, b, socket];
}

const SHARED = { name: "frames", kind: "shared", access: ["remote_write", "remote_read"] };

for (const huge of [false, true]) {
	await scenario(`a program and a peer share the bytes of a buffer${huge ? " of huge pages" : ""}`, async () => {
		if (huge)
			write_file(NR_HUGEPAGES, "2");
		const [a, b, socket] = await pair_with_socket();
		const [here] = await connect(a, b);
		const shared = await b.buffer(2 * PAGE, { ...SHARED, ...(huge && { page_size_bytes: 2 << 20 }) });
		const local = await a.buffer(2 * PAGE);

		equal(shared.page_size_bytes, huge ? 2 << 20 : PAGE, "the page size");
		await a.fill(local, Buffer.from("from the peer".padEnd(2 * PAGE)));
		await a.transfer("write", here, local, shared);
		equal((await mapping(socket, "print(m[:13].decode())")).trim(), "from the peer", "what the program sees");
		await mapping(socket, "m[4096:4112] = b'from the program'");
		await a.transfer("read", here, local, shared);
		equal((await a.bytes(local)).subarray(PAGE, PAGE + 16).toString(), "from the program", "what the peer sees");
		await b.call("DELETE", `/v1/buffers/${shared.id}`);
		if (huge)
			write_file(NR_HUGEPAGES, "0");
	});
}

await scenario("the memory of this host is used up, and nothing is killed", async () => {
	const [, b] = await pair_with_socket();
	const size_bytes = 192 << 20;

	for (const kind of ["anonymous", "shared"]) {
		let answer;

		while ((answer = await b.try("POST", "/v1/buffers", { kind, size_bytes }, { wait_s: WAIT_S })).status < 300);
		equal(answer.body.code, "no_memory", "the end of the memory");
		ok(!(await run("dmesg")).includes("Out of memory"), "the OOM killer");
		await b.is_fine();
		for (const { id } of (await b.get("/v1/buffers")).items)
			await b.call("DELETE", `/v1/buffers/${id}`, undefined, { wait_s: WAIT_S });
	}
});

await scenario("a program that has a shared buffer can't stop the daemon", async () => {
	write_file(NR_HUGEPAGES, "1");
	const [, b, socket] = await pair_with_socket();
	const itself = await b.connect({ dst_port: PORT });
	const number = await b.buffer(PAGE, { access: ["remote_atomic"] });

	for (const more of [{}, { page_size_bytes: 2 << 20 }]) {
		const { id } = await b.buffer(2 << 20, { ...SHARED, ...more });
		const { status } = await new Program("cp", ["/dev/null", memory_of(b.pid)]).end();

		ok(status !== 0, "cp has truncated it");
		await mapping(socket, PUNCH_HOLE);
		// The device pins the page that is no longer in the buffer, so the kernel has none for the hole.
		const { status: read } = await b.try("GET", `/v1/buffers/${id}/data`).catch(() => ({ status: 0 }));
		equal(read, more.page_size_bytes ? 0 : 200, "the answer to a download");
		const { status: sum } = await b.try("GET", `/v1/buffers/${id}/checksum`);
		equal(sum, more.page_size_bytes ? 507 : 200, "the answer to a checksum");
		const { status: put } = await b.try("PUT", `/v1/buffers/${id}/data`, Buffer.from("x"), { type: "application/octet-stream" });
		equal(put, more.page_size_bytes ? 507 : 200, "the answer to an upload");
		const atomic = { op: "fetch_add", add: "0x1", connection: itself.id, buffer: id, length_bytes: 8,
			remote: { addr: number.addr, rkey: number.rkey } };
		const { status: added, body } = await b.try("POST", "/v1/transfers", atomic, { wait_s: WAIT_S });
		equal([added, body.code].join(), more.page_size_bytes ? "424,no_memory" : "201,", "the answer to an atomic");
		equal((await b.connection(itself.id)).state, "established", "its connection");
		await b.call("DELETE", `/v1/buffers/${id}`);
	}
	await b.is_fine();
	write_file(NR_HUGEPAGES, "0");
});

await scenario("a killed daemon leaves no shared memory behind", async () => {
	const size_bytes = 64 << 20;
	const shmem_bytes = () => Number(/^Shmem:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))[1]) * 1024;
	const b = await Daemon.start("b");

	await b.ready();
	await b.buffer(size_bytes, { kind: "shared" });
	// The files of the guest are in shared memory too. The kernel adds its counts up once in a second (vmstat_update() in
	// mm/vmstat.c, 6.1).
	await until("the buffer to take shared memory", () => shmem_bytes() >= size_bytes);
	const alive = shmem_bytes();

	b.kill("SIGKILL");
	await b.end();
	await until("the memory to be free", () => shmem_bytes() < alive - size_bytes / 2);
});

// As much as fits, but at most a gigabyte.
function large_bytes() {
	const [, kib] = /^MemAvailable:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"));

	return Math.min(1 << 30, Math.floor(Number(kib) * 1024 * 0.6 / PAGE) * PAGE);
}

await scenario("a large registration holds nothing up", async () => {
	const [a, b] = await pair();
	const [here] = await connect(a, b);
	const size_bytes = large_bytes();
	const target = await b.buffer(1 << 20, { access: ["remote_write"] });
	const source = await a.buffer(1 << 20);
	let transfers = 0, gets = 0, longest_ms = 0, registered = false;
	const began = Date.now();
	const large = a.post("/v1/buffers", { name: "large", size_bytes }).then((made) => { registered = true; return made; });
	const moving = (async () => {
		for (; !registered; transfers++)
			await a.transfer("write", here, source, target);
	})();
	moving.catch(() => {}); // the error is reported where `moving` is awaited

	await until("it to be seen", async () => (await a.get("/v1/buffers")).items.some(({ name }) => name === "large"));
	while (!registered) {
		const asked = Date.now();
		const { items } = await a.get("/v1/buffers?state=registering");

		if (!items.length)
			break;
		equal(items[0].name, "large", "what is being registered");
		longest_ms = Math.max(longest_ms, Date.now() - asked);
		gets++;
	}
	const made = await large;
	const took_ms = Date.now() - began;

	await moving;
	console.log(`     ${size_bytes} bytes in ${took_ms} ms; meanwhile ${transfers} transfers of 1 MiB and ${gets} answers, ` +
		`the slowest after ${longest_ms} ms`);
	equal(made.state, "ready", "the large one");
	ok(gets > 0, "nobody was answered while it was registered");
	ok(transfers > 0, "nothing moved while it was registered");
	const { id, state } = await a.call("POST", "/v1/buffers", { size_bytes: 4 << 20 }, { wait_s: 0 });
	equal(state, "registering", "one that nobody waits for");
	await a.until(`/v1/buffers/${id}`, "it to be ready", (seen) => seen.state === "ready");
	await a.call("DELETE", "/v1/buffers/large");
});

// Last scenario: a device that was added again is not the default device any more.
await scenario("a device goes with windows bound on it", async () => {
	const netdev = readFileSync(`/sys/class/infiniband/${dev}/ports/1/gid_attrs/ndevs/0`, "utf8").trim();
	const [a, b] = await pair();
	const [, there] = await connect(a, b);
	const target = await b.buffer(2 * PAGE, { access: ["mw_bind"] });

	for (const type of [1, 2]) {
		await window(b, target, there, type);
		await window(b, target, there, type, { size_bytes: PAGE });
	}
	await run("timeout", "30", "rdma", "link", "delete", dev);
	const { items } = await b.until("/v1/windows?state=open,ended", "their end", (page) => page.items.every(({ ended_at }) => ended_at));
	equal(items.length, 4, "the windows");
	for (const { id, state, error } of items) {
		equal(state, "revoked", `window ${id}`);
		ok(["device_removed", "peer_disconnect"].includes(error.code), `window ${id} ended with ${error.code}`);
	}
	await b.until(`/v1/buffers/${target.id}`, "its end", ({ state, user_count }) => state === "lost" && user_count === 0);
	await run("rdma", "link", "add", dev, "type", "rxe", "netdev", netdev);
});

finish();
