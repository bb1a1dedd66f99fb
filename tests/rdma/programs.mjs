// SPDX-License-Identifier: Apache-2.0
//
// verbsd against independent programs, on either side; the ways to decide a request; two workers.

import { Daemon, PATIENCE_MS, Program, WAIT_S, addr, build, equal, finish, listens, ok, resources,
	resources_are_back, run, scenario, start_ready, transfers_work } from "./lib.mjs";

const PORT = 7471;
const port = String(PORT);

const listening = async (body, args, options) => {
	const daemon = await Daemon.start("d", args, options);

	await daemon.ready();
	await daemon.listen({ port: PORT, ...body });
	return daemon;
};

const all_went_by_peer = async (daemon, count) => {
	const { items } = await daemon.until("/v1/connections?fields=*&state=closed&limit=1000", `${count} closed connections`,
		({ total }) => total === count);

	for (const { id, end_code } of items)
		equal(end_code, "peer_disconnect", `the end of connection ${id}`);
};

await scenario("the echo service answers rdma_client", async () => {
	const daemon = await listening({ service: "echo" });

	await run("rdma_client", "-s", addr, "-p", port);
	await all_went_by_peer(daemon, 1);
	await daemon.stop();
});

// ucmatose lets the server disconnect first, and sends its messages after the server's.
const close_all = async (daemon, count) => {
	const { items } = await daemon.until("/v1/connections?fields=*&state=established&limit=1000", `${count} connections`,
		({ total }) => total === count);

	await Promise.all(items.map(({ id }) => daemon.post(`/v1/connections/${id}/close`, {}, WAIT_S)));
	for (const { id } of items)
		await daemon.ended_with(id, "local_close");
};

await scenario("ucmatose connects, many times at once", async () => {
	const daemon = await listening({});

	for (const count of [1, 20]) {
		const client = new Program("ucmatose", ["-s", addr, "-C", "0", "-c", String(count), "-p", port]);

		await close_all(daemon, count);
		await client.success();
	}
	await daemon.stop();
});

await scenario("ucmatose and the inbox exchange messages", async () => {
	const daemon = await listening({});
	const client = new Program("ucmatose", ["-s", addr, "-C", "10", "-S", "100", "-p", port]);
	const { items: [{ id }] } = await daemon.until("/v1/connections?fields=*&state=established", "a connection",
		({ total }) => total === 1);

	for (let i = 0; i < 10; i++)
		await daemon.post(`/v1/connections/${id}/messages`, { data: "x".repeat(100) }, WAIT_S);
	const { items } = await daemon.until(`/v1/connections/${id}/messages`, "ten messages", ({ total }) => total === 10);
	equal(items[9].length_bytes, 100, "length of the last message");
	await close_all(daemon, 1);
	await client.success();
	await daemon.stop();
});

// At its end one thread of rping closes the event channel that another thread may still read, which ends the process
// with -1 (rdma-core, librdmacm/examples/rping.c, cm_thread()). Therefore the daemon counts the pings too.
async function rping(...options) {
	const program = new Program("rping", ["-c", "-a", addr, "-p", port, "-V", ...options]);
	const { status } = await program.end();

	ok(status === 0 || status === 255 && /rdma_get_cm_event: Bad file descriptor\s*$/.test(program.output),
		`${program.what}: status ${status}; it said: ${program.output.slice(-300)}`);
	ok(!/mismatch/.test(program.output), `${program.what}: ${program.output.slice(-300)}`);
}

// In each ping the server reads from the client and writes to it.
async function pings_were_answered(daemon, wanted) {
	const { items } = await daemon.get("/v1/connections?fields=*&state=open,ended&limit=1000");
	const all = await Promise.all(items.map(({ id }) => daemon.connection(id)));

	for (const op of ["read", "write"])
		equal(all.reduce((sum, { counters }) => sum + (counters[op]?.completed ?? 0), 0), wanted, `${op}s for pings`);
}

await scenario("the rping service answers rping", async () => {
	const daemon = await listening({ service: "rping" });

	await rping("-C", "1000");
	for (const size of ["64", "4096", "65535"])
		await rping("-C", "50", "-S", size);
	await all_went_by_peer(daemon, 4);
	await pings_were_answered(daemon, 1150);
	await daemon.stop();
});

await scenario("the rping service answers eight rpings at once", async () => {
	const daemon = await listening({ service: "rping" });

	await Promise.all(Array.from({ length: 8 }, (_, i) => rping("-C", "100", "-S", String(64 << i))));
	await all_went_by_peer(daemon, 8);
	await pings_were_answered(daemon, 800);
	await daemon.stop();
});

// Servers to be killed, to check how verbsd reports their end. rping's server waits for a first message.
const servers = {
	"rping -s": ["rping", "-s", "-a", addr, "-p", port],
	ucmatose: ["ucmatose", "-b", addr, "-C", "10", "-p", port],
	rdma_server: ["rdma_server", "-p", port],
};

for (const [name, [command, ...args]] of Object.entries(servers)) {
	await scenario(`a connection to ${name} ends when that is killed`, async () => {
		const daemon = await Daemon.start("d");
		const server = new Program(command, args);

		await daemon.ready();
		await listens(PORT);
		const connection = await daemon.connect({ dst_port: PORT });
		equal(connection.state, "established", "state");
		server.kill("SIGKILL");
		await daemon.ended_with(connection.id, "peer_disconnect");
		const { error, counters } = await daemon.connection(connection.id);
		equal(error, null, "error");
		equal(counters.recv.errors, 0, "receive errors, flushes apart");
		await daemon.stop();
	});
}

await scenario("rdma_server gets its message and answers", async () => {
	const daemon = await Daemon.start("d");
	const server = new Program("rdma_server", ["-p", port]);

	await daemon.ready();
	await listens(PORT);
	const { id } = await daemon.connect({ dst_port: PORT });
	await daemon.post(`/v1/connections/${id}/messages`, { data: "0123456789abcdef" }, WAIT_S);
	await server.success();
	await daemon.ended_with(id, "peer_disconnect");
	equal((await daemon.get(`/v1/connections/${id}/messages`)).total, 1, "messages in the inbox");
	await daemon.stop();
});

await scenario("a request waits and is accepted by hand", async () => {
	const daemon = await listening({ accept: "manual", name: "hand" });
	const client = new Program("ucmatose", ["-s", addr, "-C", "0", "-p", port]);
	const { items: [{ id }] } = await daemon.until("/v1/connections?fields=*&state=requested", "a request",
		({ total }) => total === 1);

	equal((await daemon.get("/v1/listeners/hand")).waiting, 1, "waiting requests");
	await daemon.post(`/v1/connections/${id}/accept`, {}, WAIT_S);
	await close_all(daemon, 1);
	await client.success();
	await daemon.stop();
});

// ucmatose exits with 0 even then, so its output is checked.
await scenario("a client sees that its request was rejected by hand", async () => {
	const daemon = await listening({ accept: "manual" });
	const client = new Program("ucmatose", ["-s", addr, "-C", "0", "-p", port]);
	const { items: [{ id }] } = await daemon.until("/v1/connections?fields=*&state=requested", "a request",
		({ total }) => total === 1);

	await daemon.post(`/v1/connections/${id}/reject`);
	await client.end();
	ok(/RDMA_CM_EVENT_REJECTED/.test(client.output), `ucmatose said: ${client.output}`);
	await daemon.ended_with(id, "rejected_locally");
	await daemon.stop();
});

await scenario("a request that nobody decides is rejected at its deadline", async () => {
	const daemon = await listening({ accept: "manual", accept_timeout_ms: 300 });
	const client = new Program("ucmatose", ["-s", addr, "-C", "0", "-p", port]);

	await client.end();
	ok(/RDMA_CM_EVENT_REJECTED/.test(client.output), `ucmatose said: ${client.output}`);
	const { items: [{ id }] } = await daemon.until("/v1/connections?fields=*&state=failed", "a failed connection",
		({ total }) => total === 1);
	await daemon.ended_with(id, "timed_out");
	await daemon.stop();
});

await scenario("two workers share the connections", async () => {
	const [daemon, peer] = await start_ready("two peer", ["--workers", "2"]);

	await daemon.listen({ port: PORT, service: "echo" });
	const connections = await Promise.all(Array.from({ length: 8 }, () => peer.connect({ dst_port: PORT })));
	for (const side of [daemon, peer]) {
		const { items } = await side.get("/v1/cqs?fields=*");
		const used = new Map();

		items.forEach((cq) => used.set(cq.worker, (used.get(cq.worker) ?? 0) + cq.qp_count));
		ok(used.get(0) > 0 && used.get(1) > 0, `connections by worker: ${JSON.stringify([...used])}`);
	}
	await Promise.all(connections.map(async (connection, i) => {
		await peer.post(`/v1/connections/${connection.id}/messages`, { data: `echo ${i}` }, WAIT_S);
		const { items } = await peer.until(`/v1/connections/${connection.id}/messages`, "the echo",
			({ total }) => total === 1);
		equal(items[0].data, `echo ${i}`, "the echo");
		await transfers_work(peer, connection, daemon, 256 << 10);
	}));
	await run("rdma_client", "-s", addr, "-p", port);
	await peer.stop();
	await daemon.stop();
});

// The requests of the flood have no queue pair; what is accepted is never confirmed. This suite runs with AddressSanitizer,
// whose allocator keeps freed memory: that memory stays flat is asserted by flood.mjs.
await scenario("a flood of connect requests leaves the daemon and its other connections alone", async () => {
	const before = await resources();
	const daemon = await listening({
		name: "front", service: "sink", accept_timeout_ms: 500, connects_per_s: 20, connects_burst: 5, max_connections: 10,
	}, ["--set", "records.ended=10"]);
	const flood = async (count) => JSON.parse(
		await new Program(`${build}/tests/rdma/connect_flood`, [addr, port, String(count)]).success(4 * PATIENCE_MS));

	await daemon.listen({ name: "back", port: PORT + 1, service: "sink" });
	const ours = await daemon.connect({ dst_addr: addr, dst_port: PORT + 1 });
	let over = false;
	const flooding = flood(3000).finally(() => { over = true; });
	let slowest_ms = 0, answers = 0;
	while (!over) {
		const asked = performance.now();
		await daemon.get("/livez");
		slowest_ms = Math.max(slowest_ms, performance.now() - asked);
		answers++;
		await daemon.post(`/v1/connections/${ours.id}/messages`, { data: "still here" }, WAIT_S);
	}
	const seen = await flooding;
	const listener = await daemon.get("/v1/listeners/front");
	const { items: events } = await daemon.get("/v1/events?type=security_connect_refused&limit=1000");

	console.log(`flood: ${JSON.stringify(seen)}; refused ${JSON.stringify(listener.refused)}; slowest of ${answers} answers ` +
		`of /livez ${slowest_ms.toFixed(1)} ms; ${events.length} events`);
	ok(seen.rejected > 1000, `only ${seen.rejected} were rejected`);
	ok(seen.reasons > 1000, `only ${seen.reasons} rejections had a reason`);
	ok(seen.unsendable >= 1000, "the kernel sent 196 bytes of private data in a request");
	ok(listener.refused.rate + listener.refused.max_connections > 1000, "the listener refused few");
	ok(listener.connections <= 10, `${listener.connections} connections of the listener`);
	ok(events.length < 200, `${events.length} events`);
	await daemon.until("/v1/listeners/front", "no connection of the flood", ({ connections }) => connections === 0);
	await daemon.post(`/v1/connections/${ours.id}/close`, {}, WAIT_S);
	await daemon.stop();
	await resources_are_back(before);
});

finish();
