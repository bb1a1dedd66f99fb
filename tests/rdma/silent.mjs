// SPDX-License-Identifier: Apache-2.0
//
// Hosts that are silent: nothing at their address answers, or a server takes the TCP connection and says nothing. Over
// iWARP rdma_connect then blocks in the kernel for two minutes. Everything else of the daemon must not notice.



import { createServer } from "node:net";

import { Daemon, PATIENCE_MS, equal, finish, resources, resources_are_back, scenario, transfers_work } from "./lib.mjs";

const { LAB_SIW_ADDR, LAB_SIW_DEV } = process.env;
const PORT = 7471;
const MUTE_PORT = 7999;
/* Nobody has it, and the interface takes all packets: no answer and no error ever comes. */
const SILENT_ADDR = LAB_SIW_ADDR.replace(/\d+$/, "99");
/* More than the threads of libuv's pool, and fewer than the call threads. */
const SILENT = 8;


const state_of = async (daemon, { id }) => (await daemon.connection(id)).state;

// Begins to connect to a host that is silent.
async function begin(daemon, timeout_ms, dst_addr = SILENT_ADDR, dst_port = PORT) {
	const connection = await daemon.post("/v1/connections", { dst_addr, dst_port, timeout_ms });

	await daemon.until(`/v1/connections/${connection.id}`, "state connecting", ({ state }) => state === "connecting");
	return connection;
}

async function start() {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	await daemon.listen({ addr: LAB_SIW_ADDR, port: PORT });
	return daemon;
}

// All that a daemon does goes on while @pending still wait for their hosts.
async function serves_all_else(daemon, pending) {
	await daemon.get("/livez");
	const connection = await daemon.connect({ dst_addr: LAB_SIW_ADDR, dst_port: PORT });

	await transfers_work(daemon, connection, daemon, 1 << 20, LAB_SIW_DEV);
	await daemon.call("DELETE", `/v1/connections/${connection.id}`);
	for (const other of pending)
		equal(await state_of(daemon, other), "connecting", `connection ${other.id}, whose host is silent`);
}

await scenario("eight connects over iWARP to a silent host stop nothing else", async () => {
	const before = await resources();
	const daemon = await start();
	const pending = [];

	while (pending.length < SILENT)
		pending.push(await begin(daemon, PATIENCE_MS));
	equal((await daemon.get("/v1/stats")).calls_running_peer, SILENT, "calls_running_peer");
	await serves_all_else(daemon, pending);
	for (const { id } of pending)
		await daemon.call("DELETE", `/v1/connections/${id}`);
	await daemon.until("/v1/connections?state=open", "no open connection", ({ total }) => total === 0);
	await daemon.stop();
	await resources_are_back(before);
});

await scenario("a connect over iWARP to a silent host ends at its deadline", async () => {
	const before = await resources();
	const daemon = await start();
	const { id } = await begin(daemon, 1500);

	await daemon.ended_with(id, "timed_out");
	await daemon.stop();
	await resources_are_back(before);
});

await scenario("SIGTERM ends a daemon whose connects over iWARP are blocked", async () => {
	const before = await resources();
	const daemon = await start();

	for (let i = 0; i < SILENT; i++)
		await begin(daemon, PATIENCE_MS);
	await daemon.stop();
	await resources_are_back(before);
});

// siw destroys the queue pair and the id of such a connection only after 10 s, or when the server hangs up.
await scenario("a server that takes a TCP connection and says nothing stops nothing else", async () => {
	const before = await resources();
	const sockets = new Set();
	const server = createServer((socket) => sockets.add(socket.on("error", () => {})));

	await new Promise((listens) => server.listen(MUTE_PORT, LAB_SIW_ADDR, listens));
	const daemon = await start();
	const pending = [];

	for (let i = 0; i < SILENT; i++)
		pending.push(await begin(daemon, PATIENCE_MS, LAB_SIW_ADDR, MUTE_PORT));
	const { id } = await begin(daemon, 1000, LAB_SIW_ADDR, MUTE_PORT);

	await daemon.ended_with(id, "timed_out");
	for (const other of pending.slice(1))
		await daemon.call("DELETE", `/v1/connections/${other.id}`);
	// The kernel gives up the first one after 10 s, which it may take a busy machine to serve all else.
	await serves_all_else(daemon, []);
	for (const socket of sockets)
		socket.destroy();
	await daemon.until("/v1/connections?state=open", "no open connection", ({ total }) => total === 0);
	server.close();
	await daemon.stop();
	await resources_are_back(before);
});

await finish();
