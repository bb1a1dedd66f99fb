// SPDX-License-Identifier: Apache-2.0
//
// Stopping and killing a busy daemon, many connections in sequence and in parallel, and limits of the kernel. No
// object may be left behind.

import { mkdirSync, readFileSync } from "node:fs";

import { names_its_end } from "./explained.mjs";
import { Daemon, WAIT_S, addr, busy, dev, equal, finish, ok, open_fds, resources, resources_are_back, scenario,
	start_ready, transfers_work, until, write_file, wrote_something } from "./lib.mjs";

const PORT = 7471;

// Queue pairs made beforehand, where the objects in the kernel are counted while the daemons run.

async function pair(args = []) {
	const [a, b] = await start_ready("a b", args);

	await b.listen({ port: PORT });
	return [a, b];
}

// Makes connections from a to b, some at a time, since concurrency is not tested here.
async function connect_many(a, count, qp = {}) {
	const connections = [];

	while (connections.length < count) {
		const some = Math.min(25, count - connections.length);

		connections.push(...await Promise.all(Array.from({ length: some }, () => a.connect({ dst_port: PORT, qp }))));
	}
	return connections;
}

// Endless transfers on some of the connections.
async function make_busy(a, b, connections) {
	const ends = [];

	for (const connection of connections) {
		const source = await a.buffer(4 << 20);
		const target = await b.buffer(4 << 20, { access: ["remote_write"] });

		ends.push(busy(a, connection, source, target));
	}
	await wrote_something(a);
	return ends;
}

const all_ended_with = async (daemon, reason) => {
	await daemon.until("/v1/connections?fields=*&state=open", "no open connection", ({ total }) => total === 0);
	for (const { id, end_code } of (await daemon.get("/v1/connections?fields=*&state=ended&limit=1000")).items)
		equal(end_code, reason, `${daemon.name}: the end of connection ${id}`);
};

for (const signal of ["SIGTERM", "SIGINT"])
	await scenario(`${signal} stops a daemon with fifty connections and transfers`, async () => {
		const before = await resources();
		const [a, b] = await pair();
		const connections = await connect_many(a, 50);
		const ends = await make_busy(a, b, connections.slice(0, 4));

		await a.stop(signal);
		await Promise.all(ends);
		await all_ended_with(b, "peer_disconnect");
		await b.is_fine();
		await b.stop(signal);
		await resources_are_back(before);
	});

await scenario("SIGTERM stops the daemon that fifty connections with transfers lead to", async () => {
	const before = await resources();
	const [a, b] = await pair();
	// A disconnect message may be lost, and the kernel repeats it after four seconds. The transfers must not give up before.
	const connections = await connect_many(a, 50, { ack_timeout: 20 });
	const ends = await make_busy(a, b, connections.slice(0, 4));

	await b.stop();
	await Promise.all(ends);
	await a.until("/v1/connections?fields=*&state=open", "no open connection", ({ total }) => total === 0);
	await all_ended_with(a, "peer_disconnect");
	await a.stop();
	await resources_are_back(before);
});

// The peer, stopped by SIGSTOP, can't answer, which may delay the stop after the first signal. The second signal must
// not wait.
await scenario("a second signal stops at once", async () => {
	const before = await resources();
	const [a, b] = await pair();

	await connect_many(a, 10);
	b.kill("SIGSTOP");
	a.kill("SIGTERM");
	await until("the first signal to be taken", () => a.gone || a.log().includes("a second one stops at once"));
	a.kill("SIGTERM");
	const { status, signal } = await a.end();
	ok(signal === null && [0, 1].includes(status), `it ended with ${status ?? signal}`);
	b.kill("SIGCONT");
	await all_ended_with(b, "peer_disconnect");
	await b.stop();
	await resources_are_back(before);
});

await scenario("a daemon that is killed is a peer that disconnected, and everything says so", async () => {
	const before = await resources();
	const [a, b] = await pair();
	const qp = { ack_timeout: 20 };
	const first = await a.connect({ dst_port: PORT, qp });
	const second = await a.connect({ dst_port: PORT, qp });
	const [end] = await make_busy(a, b, [first]);

	b.kill("SIGKILL");
	await b.end();
	await end;
	for (const { id } of [first, second])
		await a.end_of(id);
	// If the kernel frees the memory before it disconnects, the last write fails for that reason.
	await names_its_end(a, first, "peer_disconnect", "remote_operation", "remote_access");
	const { error } = await names_its_end(a, second, "peer_disconnect");
	equal(error, null, "error of the idle connection");
	await a.is_fine();
	await a.stop();
	await resources_are_back(before);
});

await scenario("two hundred connections come and go", async () => {
	const before = await resources();
	const [a, b] = await pair();
	const cycle = async () => {
		const { id } = await a.connect({ dst_port: PORT });

		await a.post(`/v1/connections/${id}/close`, {}, WAIT_S);
		await a.call("DELETE", `/v1/connections/${id}`);
	};
	const open_now = async () => {
		await b.until("/v1/connections?fields=*&state=open", "no open connection", ({ total }) => total === 0);
		return [await resources(), open_fds(a.pid), open_fds(b.pid)];
	};

	for (let i = 0; i < 10; i++)
		await cycle();
	const [resources_then, fds_a, fds_b] = await open_now();
	for (let i = 0; i < 190; i += 5)
		await Promise.all(Array.from({ length: 5 }, cycle));
	await open_now();
	await resources_are_back(resources_then);
	// Clients of the API use descriptors too, and come and go.
	const slack = 16;
	ok(open_fds(a.pid) <= fds_a + slack && open_fds(b.pid) <= fds_b + slack,
		`descriptors grew from ${fds_a} and ${fds_b} to ${open_fds(a.pid)} and ${open_fds(b.pid)}`);
	await a.is_fine();
	await b.is_fine();
	await a.stop();
	await b.stop();
	await resources_are_back(before);
});

await scenario("three hundred connections at once", async () => {
	const before = await resources();
	const [a, b] = await pair();

	await connect_many(a, 300);
	for (const daemon of [a, b]) {
		await daemon.until("/v1/connections?fields=*&state=established", "300 connections", ({ total }) => total === 300);
		const { items } = await daemon.get("/v1/cqs?fields=*&limit=1000");
		for (const { id, reserved_cqe, cqe, high_water_cqe } of items) {
			ok(reserved_cqe <= cqe, `CQ ${id}: ${reserved_cqe} entries of ${cqe} reserved`);
			ok(high_water_cqe <= cqe, `CQ ${id}: ${high_water_cqe} entries of ${cqe} used`);
		}
		equal(items.reduce((sum, cq) => sum + cq.qp_count, 0), 300, "connections of all completion queues");
		await daemon.is_fine();
	}
	const seen = new Set();
	for (let after = ""; after !== null;) {
		const page = await a.get(`/v1/connections?limit=70${after}`);

		equal(page.total, 300, "total of a page");
		page.items.forEach(({ id }) => seen.add(id));
		after = page.next && `&after=${page.next}`;
	}
	equal(seen.size, 300, "connections on all pages");
	await Promise.all([...seen].map((id) => a.post(`/v1/connections/${id}/close`, {}, WAIT_S)));
	await all_ended_with(a, "local_close");
	await all_ended_with(b, "peer_disconnect");
	await a.stop();
	await b.stop();
	await resources_are_back(before);
});

// The n-th kernel object can't be made, for each n.
await scenario("limits of the rdma cgroup are problems, and no more", async () => {
	const before = await resources();
	const group = "/sys/fs/cgroup/tight";
	mkdirSync(group, { recursive: true });
	const limit = (text) => write_file(`${group}/rdma.max`, `${dev} ${text}`);
	limit("hca_handle=max hca_object=max");
	const peer = await Daemon.start("peer");
	await peer.ready();
	await peer.listen({ port: PORT });
	const tight = await Daemon.start("tight", [], {
		prefix: ["sh", "-c", `echo $$ >${group}/cgroup.procs && exec "$@"`, "-"],
	});
	await tight.ready();

	let failures = 0;
	for (let objects = 2; objects < 16; objects++) {
		limit(`hca_handle=2 hca_object=${objects}`);
		for (const [path, body] of [["/v1/buffers", { size_bytes: 4096 }],
			["/v1/connections", { dst_addr: addr, dst_port: PORT }]]) {
			const { status, body: answer } = await tight.try("POST", path, body, { wait_s: WAIT_S });

			if (status === 201) {
				await tight.call("DELETE", `${path}/${answer.id}`, undefined, { wait_s: WAIT_S });
				continue;
			}
			failures++;
			equal(answer.code, path === "/v1/buffers" ? "device_limit" : "resource_error", `${objects} objects: code of POST ${path} (${answer.detail})`);
		}
		await tight.is_fine();
	}
	ok(failures > 1, "no limit was ever reached");
	limit("hca_handle=max hca_object=max");
	await transfers_work(tight, await tight.connect({ dst_port: PORT }), peer);
	await tight.stop();
	await peer.stop();
	await resources_are_back(before);
});

await scenario("at a limit of the rdma cgroup a buffer is refused", async () => {
	const before = await resources();
	const group = "/sys/fs/cgroup/limited";

	mkdirSync(group, { recursive: true });
	write_file(`${group}/rdma.max`, `${dev} hca_handle=max hca_object=max`);
	const daemon = await Daemon.start("limited", [], {
		prefix: ["sh", "-c", `echo $$ >${group}/cgroup.procs && exec "$@"`, "-"],
	});
	await daemon.ready();
	const [, now] = new RegExp(`^${dev} .*hca_object=(\\d+)`, "m").exec(readFileSync(`${group}/rdma.current`, "utf8"));

	write_file(`${group}/rdma.max`, `${dev} hca_handle=max hca_object=${now}`);
	equal((await daemon.refused("POST", "/v1/buffers", { size_bytes: 4096 }, WAIT_S)).code, "device_limit", "code of a buffer at the limit");
	await daemon.is_fine();
	await daemon.stop();
	await resources_are_back(before);
});

await scenario("a device that may not be opened is failed, and the daemon lives", async () => {
	const group = "/sys/fs/cgroup/none";
	mkdirSync(group, { recursive: true });
	write_file(`${group}/rdma.max`, `${dev} hca_handle=0 hca_object=max`);
	const daemon = await Daemon.start("none", [], {
		prefix: ["sh", "-c", `echo $$ >${group}/cgroup.procs && exec "$@"`, "-"],
	});

	await daemon.ready(false);
	const { items: [device] } = await daemon.until("/v1/devices", "a device", ({ total }) => total === 1);
	equal(device.state, "failed", "state of the device");
	ok(device.error, "it does not say why");
	const { code, detail } = await daemon.refused("POST", "/v1/buffers", { size_bytes: 4096 });

	equal(code, "device_limit", "code of a new buffer");
	ok(detail.includes(dev), `the refusal does not name the device: ${detail}`);
	equal((await daemon.get("/v1/devices")).total, 1, "devices");
	await daemon.stop();
});

finish();
