// SPDX-License-Identifier: Apache-2.0
//
// Connections brought up by hand: between two daemons, with the pingpongs of libibverbs on either side, and a QP
// moved through its states.

import net from "node:net";

import { Daemon, Program, WAIT_S, dev, equal, finish, network_of, ok, proof, refusal, resources, resources_are_back,
	run, scenario, scenario_with, start_ready, transfers_work, until } from "./lib.mjs";
import { connected, line_of, read_bytes, read_line } from "./pingpong.mjs";

const PORT = 18515;
const MESSAGE_BYTES = 4096;
const RECEIVES = { recv_size_bytes: MESSAGE_BYTES };
const CONNECTION = "/v1/connections";
const columns = { rc: "rc_manual", uc: "uc" };

const manual = (daemon, qp_type, body = {}) =>
	daemon.post(CONNECTION, { bringup: "manual", qp_type, device: dev, ...body });

const remote = (daemon, { id }, local, more = {}) =>
	daemon.post(`${CONNECTION}/${id}/remote`, { ...local, ...more }, WAIT_S);

const step = (daemon, { id }, state) => daemon.post(`${CONNECTION}/${id}/qp_state`, { state }, WAIT_S);

const joined = async ([a, b], qp_type, { ours = {}, theirs = {} } = {}) => {
	const here = await manual(a, qp_type, ours);
	const there = await manual(b, qp_type, theirs);

	await remote(a, here, there.manual.local);
	await remote(b, there, here.manual.local);
	return [here, there];
};

const say = (daemon, { id }, data) => daemon.post(`${CONNECTION}/${id}/messages`, { data }, WAIT_S);

const hears = async (daemon, { id }, data, count = 1) => {
	const { items } = await daemon.until(`${CONNECTION}/${id}/messages`, `${count} messages`, ({ total }) => total === count);

	equal(items.at(-1).data, data, "the last message");
};

// The state of the QP in the kernel.
const kernel_state = async ({ manual: { local: { qpn } } }) => {
	const qps = JSON.parse(await run("rdma", "-j", "resource", "show", "qp"));

	return qps.find(({ lqpn }) => lqpn === qpn)?.state;
};

const looks = async (daemon, connection, state, qp_state) => {
	const seen = await daemon.connection(connection.id);

	equal(seen.state, state, "state");
	equal(seen.qp_attr.state, qp_state, "state of the QP");
	equal(await kernel_state(connection), qp_state, "state of the QP in the kernel");
	return seen;
};

for (const qp_type of ["rc", "uc"]) {
	await scenario(`two daemons connect by the values that their clients pass on, ${qp_type}`, async () => {
		const before = await resources();
		const daemons = await start_ready("a b");
		const [here, there] = await joined(daemons, qp_type);
		const [a, b] = daemons;

		for (const [daemon, { id }] of [[a, here], [b, there]]) {
			const seen = await daemon.connection(id);

			equal(seen.state, "established", "state");
			equal(seen.qp_type, qp_type, "qp_type");
			equal(seen.bringup, "manual", "bringup");
		}
		await say(a, here, "hello");
		await hears(b, there, "hello");
		await say(b, there, "hello yourself");
		await hears(a, here, "hello yourself");
		if (qp_type === "rc")
			await transfers_work(a, here, b);
		for (const [daemon, { id }] of [[a, here], [b, there]]) {
			await daemon.post(`${CONNECTION}/${id}/close`, undefined, WAIT_S);
			await daemon.ended_with(id, "local_close");
			await daemon.stop();
		}
		await resources_are_back(before);
		proof("manual_bringup", columns[qp_type]);
		proof("send", columns[qp_type]);
		proof("inbox", columns[qp_type]);
		if (qp_type === "rc") {
			proof("write", columns[qp_type]);
			proof("read", columns[qp_type]);
		}
	});
}

await scenario("each GID of the device can be chosen", async () => {
	const daemons = await start_ready("a b");
	const [a, b] = daemons;
	const { ports: [{ gids }] } = await a.get(`/v1/devices/${dev}`);
	const seen = new Set();

	for (const [qp_type, column] of Object.entries(columns)) {
		for (const gid of gids) {
			const chosen = { gid_index: gid.gid_index };
			const [here, there] = await joined(daemons, qp_type, { ours: chosen, theirs: chosen });
			const { qp_attr } = await a.connection(here.id);

			equal(here.manual.local.gid, gid.gid, "GID to exchange");
			equal(qp_attr.gid_index, gid.gid_index, "index of the GID");
			await say(a, here, gid.gid);
			await hears(b, there, gid.gid);
			await a.post(`${CONNECTION}/${here.id}/close`, undefined, WAIT_S);
			await b.post(`${CONNECTION}/${there.id}/close`, undefined, WAIT_S);
			seen.add(network_of(gid));
			proof(network_of(gid), column);
		}
	}
	for (const network of ["ipv4", "ipv6", "ipv6_link_local", "vlan"])
		ok(seen.has(network), `the device has no GID for ${network}`);
	await a.stop();
	await b.stop();
});

await scenario_with("d", "a QP of the CM can't be moved by hand", async (daemon) => {
	await daemon.listen({ port: 7471 });
	const { id } = await daemon.connect({ dst_port: 7471 });
	const { code } = await daemon.refused("POST", `${CONNECTION}/${id}/qp_state`, { state: "ERR" });

	equal(code, "wrong_state", "code");
	equal((await daemon.connection(id)).state, "established", "state");
	refusal("manual_bringup", "rc_cm", code);
});

// --- the pingpongs -----------------------------------------------------------------------------------------------

const local_of = async (socket) => ({ ...await read_line(socket), port_mtu_bytes: 1024 });

const pingpong = (qp_type, { manual: { local } }, iterations, ...more) => new Program(`ibv_${qp_type}_pingpong`, [
	"-d", dev, "-g", String(local.gid_index), "-m", "1024", "-s", String(MESSAGE_BYTES), "-n", String(iterations),
	...more]);

for (const qp_type of ["rc", "uc"]) {
	await scenario(`the echo service answers ibv_${qp_type}_pingpong`, async () => {
		const iterations = 1000;
		const daemon = await Daemon.start("d");
		const server = net.createServer();

		await daemon.ready();
		const connection = await manual(daemon, qp_type, { service: "echo", qp: RECEIVES });
		await new Promise((done) => server.listen(PORT, "127.0.0.1", done));
		const asked = new Promise((done) => server.once("connection", done));
		const client = pingpong(qp_type, connection, iterations, "127.0.0.1");
		const socket = await asked;

		await remote(daemon, connection, await local_of(socket));
		socket.write(line_of(connection.manual.local));
		ok(/done/.test(await read_bytes(socket, "done\0".length)), "the pingpong is not done");
		await client.success();
		socket.destroy();
		server.close();
		ok(new RegExp(`${iterations} iters`).test(client.output), `the pingpong said: ${client.output}`);
		const { counters } = await daemon.connection(connection.id);
		equal(counters.recv.completed, iterations, "messages that came");
		equal(counters.recv.bytes, iterations * MESSAGE_BYTES, "bytes that came");
		equal(counters.send.posted, iterations, "messages that went back");
		await daemon.stop();
		proof(`peer:ibv_${qp_type}_pingpong`, columns[qp_type]);
		proof("echo", columns[qp_type]);
	});

	// The server returns each message from the buffer that received it.
	await scenario(`ibv_${qp_type}_pingpong answers messages`, async () => {
		const iterations = 50;
		const daemon = await Daemon.start("d");

		await daemon.ready();
		const connection = await manual(daemon, qp_type, { qp: RECEIVES });
		const server = pingpong(qp_type, connection, iterations);
		const socket = await until("the pingpong to listen", () => connected(PORT).catch(() => null));

		socket.write(line_of(connection.manual.local));
		await remote(daemon, connection, await local_of(socket));
		socket.write("done\0");
		for (let i = 0; i < iterations; i++) {
			const data = String(i).padEnd(MESSAGE_BYTES, "x");

			await say(daemon, connection, data);
			await hears(daemon, connection, data);
			await daemon.call("DELETE", `${CONNECTION}/${connection.id}/messages?through=${i + 1}`);
		}
		await server.success();
		socket.destroy();
		await daemon.stop();
		proof(`peer:ibv_${qp_type}_pingpong`, columns[qp_type]);
	});
}

// --- a walk ----------------------------------------------------------------------------------------------------

await scenario("a client moves a QP up to RTS, reads its state, and moves it down and up again", async () => {
	const before = await resources();
	const [a, b] = await start_ready("a b");
	const here = await manual(a, "rc", { initial_state: "RESET", service: "echo" });
	const there = await manual(b, "rc");
	let seen = await looks(a, here, "awaiting_remote", "RESET");

	equal(seen.waits_for, "the peer's QP attributes", "what it waits for");
	await remote(b, there, here.manual.local);

	for (let round = 1; round <= 2; round++) {
		await step(a, here, "INIT");
		seen = await looks(a, here, "awaiting_remote", "INIT");
		equal(seen.qp_attr.rqpn, null, "the remote QP in INIT");
		if (round === 1) {
			await remote(a, here, there.manual.local, { bring_to: "RTR" });
		} else {
			await step(b, there, "INIT");
			await step(b, there, "RTR");
			await step(b, there, "RTS");
			await step(a, here, "RTR");
		}
		seen = await looks(a, here, "awaiting_remote", "RTR");
		equal(seen.qp_attr.rqpn, there.manual.local.qpn, "the remote QP in RTR");
		equal(seen.qp_attr.rq_psn, there.manual.local.psn, "the PSN that is awaited");
		equal(seen.qp_attr.sq_psn, null, "the PSN to send in RTR");

		// The peer can receive before RTS; the echo has to wait for RTS.
		await say(b, there, `early ${round}`);
		await a.until(`${CONNECTION}/${here.id}`, "a message", ({ counters }) => counters.recv.completed === 3 * round - 2);
		equal((await a.connection(here.id)).counters.send?.posted ?? 0, 3 * (round - 1), "echoes in RTR");
		await step(a, here, "RTS");
		seen = await looks(a, here, "established", "RTS");
		ok(seen.qp_attr.sq_psn !== null, "there is no PSN to send in RTS");
		await hears(b, there, `early ${round}`, 3 * round - 2);

		await step(a, here, "SQD");
		await looks(a, here, "established", "SQD");
		await say(b, there, `drained ${round}`);
		await a.until(`${CONNECTION}/${here.id}`, "a message", ({ counters }) => counters.recv.completed === 3 * round - 1);
		equal((await a.connection(here.id)).counters.send?.posted ?? 0, 3 * round - 2, "echoes in SQD");
		await until("the send queue to drain", async () => (await a.try("POST", `${CONNECTION}/${here.id}/qp_state`,
			{ state: "RTS" }, { wait_s: WAIT_S })).status === 200);
		await looks(a, here, "established", "RTS");
		await hears(b, there, `drained ${round}`, 3 * round - 1);
		await say(b, there, `again ${round}`);
		await hears(b, there, `again ${round}`, 3 * round);

		// a goes down by ERR, b at once.
		seen = await step(a, here, "ERR");
		equal(seen.counters.recv.flushed, seen.counters.recv.posted - seen.counters.recv.completed, "flushed receives");
		await looks(a, here, "awaiting_remote", "ERR");
		const { code, detail } = await a.refused("POST", `${CONNECTION}/${here.id}/qp_state`, { state: "RTS" });
		equal(code, "wrong_state", "code");
		ok(/possible: RESET$/.test(detail), detail);
		await step(a, here, "RESET");
		await looks(a, here, "awaiting_remote", "RESET");
		await step(b, there, "RESET");
		await looks(b, there, "awaiting_remote", "RESET");
		await hears(b, there, `again ${round}`, 3 * round);
	}
	await a.stop();
	await b.stop();
	await resources_are_back(before);
	proof("manual_bringup", "rc_manual");
});

await scenario_with("a b", "a peer that sends to a QP in ERR hurts nobody", async (a, b) => {
	const [here, there] = await joined([a, b], "uc");
	const others = await joined([a, b], "rc");

	await say(b, there, "heard");
	await hears(a, here, "heard");
	await step(a, here, "ERR");
	for (let i = 0; i < 20; i++)
		await say(b, there, `lost ${i}`);
	await say(b, others[1], "beside it");
	await hears(a, others[0], "beside it");
	await step(a, here, "RESET");
	await step(a, here, "INIT");
	await step(a, here, "RTR");
	await step(a, here, "RTS");
	await say(a, here, "back");
	await hears(b, there, "back");
	await say(b, there, "heard again");
	await hears(a, here, "heard again", 2);
	proof("manual_bringup", "uc");
});

// --- ends --------------------------------------------------------------------------------------------------------

const ways = {
	RESET: async (daemon) => manual(daemon, "rc", { initial_state: "RESET" }),
	INIT: async (daemon) => manual(daemon, "uc"),
	RTR: async (daemon) => {
		const connection = await manual(daemon, "rc");

		return remote(daemon, connection, connection.manual.local, { bring_to: "RTR" });
	},
	RTS: async (daemon) => {
		const connection = await manual(daemon, "rc");

		return remote(daemon, connection, connection.manual.local);
	},
	SQD: async (daemon) => step(daemon, await ways.RTS(daemon), "SQD"),
	ERR: async (daemon) => step(daemon, await ways.RTS(daemon), "ERR"),
};

const one_in_each_state = (daemon) => Promise.all(Object.entries(ways).map(async ([state, way]) => {
	const connection = await way(daemon);

	equal(connection.qp_attr.state, state, "state of the QP");
	return connection;
}));

await scenario("the device goes, with a QP in each state", async () => {
	const daemon = await Daemon.start("d");
	const [{ netdev }] = JSON.parse(await run("rdma", "-j", "link", "show", `${dev}/1`));

	await daemon.ready();
	const connections = await one_in_each_state(daemon);
	await new Program("timeout", ["30", "rdma", "link", "delete", dev]).success();
	for (const { id } of connections)
		await daemon.ended_with(id, "device_removed");
	await run("rdma", "link", "add", dev, "type", "rxe", "netdev", netdev);
	await daemon.ready();
	await one_in_each_state(daemon);
	await daemon.stop();
});

await scenario_with("d", "the daemon stops, with a QP in each state", async (daemon) => {
	await one_in_each_state(daemon);
});

finish();
