// SPDX-License-Identifier: Apache-2.0
//
// A peer on another machine that loses power, and so sends no last packet. The peer runs two_guests_peer.mjs.

import { existsSync, readFileSync } from "node:fs";
import { randomBytes } from "node:crypto";

import { explain, foretold_ms, names_its_end } from "./explained.mjs";
import { Daemon, PATIENCE_MS, WAIT_S, addr, busy, dev, equal, finish, moves_bytes, ok, resources, resources_are_back, run, scenario, slow, until } from "./lib.mjs";

const told = `${process.env.LAB_SHARED}/peer.json`;
const ended = `${process.env.LAB_SHARED}/ended.json`;
const peer_off = new URL("../../lab/peer-off", import.meta.url).pathname;
const peer_addr = process.env.LAB_PEER_ADDR;

await until("the peer to be ready", () => existsSync(told));
const { port, buffer: target } = JSON.parse(readFileSync(told, "utf8"));

// Has the peer seen the end of the connection that came from this port?
const ended_there = (src_port) => existsSync(ended) && JSON.parse(readFileSync(ended, "utf8")).includes(src_port);

// Closes a connection while nothing gets through, and waits until the peer knows.
async function close_unheard(daemon, cut, mend) {
	const { id, local } = await daemon.connect({ dst_addr: peer_addr, dst_port: port });

	await cut();
	await daemon.post(`/v1/connections/${id}/close`, undefined, WAIT_S);
	await daemon.ended_with(id, "local_close");
	ok(!ended_there(local.port), "the peer knows already");
	await mend();
	await until("the peer to hear of the end", () => ended_there(local.port), 2 * PATIENCE_MS);
}

// Only a timer of the device detects a power cut. A device may take four times the configured time (IBTA 9.7.6.1.3),
// which also leaves room for a slow machine.
async function in_time(daemon, { id }, worst_ms, off_at) {
	const { error } = await daemon.connection(id);
	const took_ms = Date.parse(error.first.at) - off_at;

	console.log(`foretold: ${worst_ms} ms; from the power cut it took ${took_ms} ms`);
	ok(took_ms < worst_ms * 4 * slow, `it took ${took_ms} ms; ${worst_ms} were foretold`);
}

await scenario("the way to another machine is told before anybody connects", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	const { ready, facts } = await daemon.get(`/v1/reachability?dst_addr=${peer_addr}`);
	equal(facts.device.name, dev, "device");
	equal(facts.route.local, false, "that it is this host");
	equal(facts.route.gateway, false, "that there is a router");
	equal(facts.route.netdev, facts.sgid.netdev, "interface");
	equal(facts.sgid.type, "roce_v2", "type of the GID");
	ok(facts.path_mtu_bytes <= facts.route.mtu_bytes, `path MTU ${facts.path_mtu_bytes}`);
	ok(ready, "it is not ready");
	const connection = await daemon.connect({ dst_addr: peer_addr, dst_port: port });
	const { facts: { sgid, path_mtu_bytes, neighbour } } = await explain(daemon, connection);
	equal(JSON.stringify(sgid), JSON.stringify(facts.sgid), "GID of the connection");
	equal(path_mtu_bytes, facts.path_mtu_bytes, "path MTU of the connection");
	ok(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(neighbour.lladdr), `hardware address ${neighbour.lladdr}`);
	await daemon.post(`/v1/connections/${connection.id}/close`, {}, WAIT_S);
	await daemon.stop();
});

await scenario("a probe tells how long the way to another machine is", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	const { id: connection } = await daemon.connect({ dst_addr: peer_addr, dst_port: port });
	const probe = () => daemon.post("/v1/probes", { connection, count: 20, interval_ms: 5 }, WAIT_S);
	const near = await probe();
	const [{ dev: netdev }] = JSON.parse(await run("ip", "-j", "route", "get", peer_addr));

	// Below the ACK timeout, so nothing is retransmitted.
	await run("tc", "qdisc", "add", "dev", netdev, "root", "netem", "delay", "30ms");
	const far = await probe();

	await run("tc", "qdisc", "del", "dev", netdev, "root");
	for (const { state, completed, lost } of [near, far])
		equal(`${state} ${completed} ${lost}`, "done 20 0", "state, pings that came back and those that were lost");
	ok(far.rtt_ns.min >= 30e6, `a round trip of ${far.rtt_ns.min} ns over a way of 30 ms`);
	ok(far.late > 0, "none was late at an interval shorter than the way");
	console.log(`# round trips to the other machine: p50 ${(near.rtt_ns.p50 / 1e6).toFixed(2)} ms, p99.9 ` +
		`${(near.rtt_ns.p999 / 1e6).toFixed(2)} ms; with 30 ms more p50 ${(far.rtt_ns.p50 / 1e6).toFixed(2)} ms`);
	await daemon.post(`/v1/connections/${connection}/close`, {}, WAIT_S);
	await daemon.stop();
});

// The ways are what netem does to each packet that leaves. The device repeats what is lost, and may give up.
const BAD_WAYS = {
	"loses 5 %": ["loss", "5%"],
	"changes the order": ["delay", "4ms", "reorder", "60%"],
	"doubles a fifth": ["duplicate", "20%"],
};
const UPSET = { ack_timeout: 14, retry_count: 7 };
const SIZE = 65_536;

// Returns the port's counters of what went wrong on the way.
async function upsets(daemon) {
	const { ports: [{ hw_counters }] } = await daemon.get(`/v1/devices/${dev}`);

	return ["completer_retry_err", "rcvd_seq_err", "retry_exceeded_err"]
		.map((name) => [name, hw_counters[name]]);
}

// Writes and reads back, and returns how both ended. What is done has arrived.
async function there_and_back(daemon, connection, source) {
	const bytes = randomBytes(SIZE);
	const move = async (op) => {
		const { body } = await daemon.try("POST", "/v1/transfers", { op, connection: connection.id, buffer: source.id,
			remote: { addr: target.addr, rkey: target.rkey }, timeout_ms: PATIENCE_MS }, { wait_s: WAIT_S });

		return body.code ?? body.state;
	};

	await daemon.fill(source, bytes);
	const written = await move("write");

	if (written !== "done")
		return [written];
	await daemon.fill(source, Buffer.alloc(SIZE));
	const read = await move("read");

	if (read === "done")
		ok(bytes.equals(await daemon.bytes(source)), "the bytes that came back are others");
	return [written, read];
}

await scenario("a way that loses, reorders or doubles packets slows transfers, or ends them by name", async () => {
	const daemon = await Daemon.start("d");
	const [{ dev: netdev }] = JSON.parse(await run("ip", "-j", "route", "get", peer_addr));
	const connect = () => daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: UPSET });

	await daemon.ready();
	const source = await daemon.buffer(SIZE);
	for (const [what, how] of Object.entries(BAD_WAYS)) {
		const connections = [await connect(), await connect(), await connect()];
		const before = new Map(await upsets(daemon));
		const ends = [];

		await run("tc", "qdisc", "add", "dev", netdev, "root", "netem", ...how);
		for (const connection of connections)
			ends.push(...await there_and_back(daemon, connection, source));
		await run("tc", "qdisc", "del", "dev", netdev, "root");
		const more = (await upsets(daemon)).map(([name, count]) => `${name} ${count - before.get(name)}`);

		console.log(`     a way that ${what}: ${ends.join(" ")}; ${more.join(", ")}`);
		for (const end of ends)
			ok(["done", "retry_exceeded", "timed_out"].includes(end), `a transfer over a way that ${what} ended with ${end}`);
		for (const { id } of connections)
			await daemon.call("DELETE", `/v1/connections/${id}`);
	}
	equal((await there_and_back(daemon, await connect(), source)).join(), "done,done", "ends over a way that is mended");
	await daemon.stop();
});

await scenario("a disconnect that is lost is repeated until the other machine has heard it", async () => {
	const daemon = await Daemon.start("d");
	const [{ dev: netdev }] = JSON.parse(await run("ip", "-j", "route", "get", peer_addr));

	await daemon.ready();
	await close_unheard(daemon, () => run("tc", "qdisc", "add", "dev", netdev, "root", "netem", "loss", "100%"),
		() => run("tc", "qdisc", "del", "dev", netdev, "root"));
	await daemon.stop();
});

// On Linux 6.1 its CM never hears anything again after it has tried to send while its interface was down.
await scenario("Soft-RoCE whose interface was down disconnects afterwards, and can connect again", async () => {
	const daemon = await Daemon.start("d");
	const [{ dev: netdev }] = JSON.parse(await run("ip", "-j", "route", "get", peer_addr));

	await daemon.ready();
	await close_unheard(daemon, () => run("ip", "link", "set", netdev, "down"), () => run("ip", "link", "set", netdev, "up"));
	const { id } = await daemon.connect({ dst_addr: peer_addr, dst_port: port });

	await daemon.post(`/v1/connections/${id}/close`, {}, WAIT_S);
	await daemon.stop();
});

// The host's own firewall drops what it sends, and tells the kernel so. Soft-RoCE then tries again for ever
// (rxe_send() in rxe_net.c, 6.1), and rdma_destroy_id(3) waits for messages that never leave. An egress filter is told
// to the kernel as nftables tells a drop in the hook output. No program may post a send meanwhile: the second one on a
// queue pair never returns from the kernel, which a guest with one processor doesn't survive (rxe_requester() schedules
// the task that rxe_do_task() runs in the poster's context, and is told to run once more each time).
async function fire_wall(netdev) {
	await run("tc", "qdisc", "add", "dev", netdev, "clsact");
	await run("tc", "filter", "add", "dev", netdev, "egress", "protocol", "ip", "flower", "ip_proto", "udp",
		"dst_port", "4791", "action", "drop");
}

// An answer in seconds, on a busy emulated machine, or an error.
async function answers(daemon, method, path, body) {
	const late = new Promise((_, fail) => setTimeout(() => fail(new Error(`${method} ${path}: no answer`)), 20_000 * slow).unref());

	return Promise.race([daemon.try(method, path, body), late]);
}

await scenario("a firewall that drops all that this host sends stops neither the API nor the end", async () => {
	const daemon = await Daemon.start("d", ["--set", "shutdown_timeout_ms=10000"]);
	const [{ dev: netdev }] = JSON.parse(await run("ip", "-j", "route", "get", peer_addr));
	const connections = [];

	await daemon.ready();
	// Few of them: each one makes the kernel spin, and with many no processor is left for anything else.
	while (connections.length < 5)
		connections.push(await daemon.connect({ dst_addr: peer_addr, dst_port: port }));
	const { id: listener } = await daemon.listen({ port: 0 });
	const { id: endpoint } = await daemon.post("/v1/ud_endpoints", { addr, port: 0 }, WAIT_S);

	await fire_wall(netdev);
	// The connection that is left ends with the daemon.
	for (const { id } of connections.slice(1, 4))
		equal((await answers(daemon, "DELETE", `/v1/connections/${id}`)).status < 300, true, "a connection is deleted");
	for (const path of [`/v1/listeners/${listener}`, `/v1/ud_endpoints/${endpoint}`])
		equal((await answers(daemon, "DELETE", path)).status < 300, true, `${path} is deleted`);
	for (const began = Date.now(); Date.now() < began + 10_000;) {
		equal((await answers(daemon, "GET", "/livez")).status, 200, "/livez");
		equal((await answers(daemon, "POST", "/v1/buffers", { size_bytes: 4096 })).status < 300, true, "a buffer is made");
	}
	const { status, body } = await answers(daemon, "POST", "/v1/connections",
		{ dst_addr: peer_addr, dst_port: port, timeout_ms: 2000 });
	ok(status === 202, `a connection begins: ${status}`);
	await daemon.ended_with(body.id, "timed_out", "resolve_failed", "unreachable");
	const { calls_running_end, calls_queued_end } = await daemon.get("/v1/stats");
	console.log(`     destructions that the kernel holds: ${calls_running_end}, and ${calls_queued_end} that wait`);
	ok(calls_running_end > 0, "the kernel holds no destruction");

	daemon.kill("SIGTERM");
	await until("the daemon to serve no more", () => daemon.try("GET", "/livez").then(() => false, () => true), 15_000 * slow);
	await run("tc", "qdisc", "del", "dev", netdev, "clsact");
	await daemon.end(PATIENCE_MS);
});

await scenario("bytes cross to another machine, and a power cut ends what is busy", async () => {
	const before = await resources();
	const daemon = await Daemon.start("d");

	await daemon.ready();
	const used = await daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { ack_timeout: 18 } });
	const idle = await daemon.connect({ dst_addr: peer_addr, dst_port: port });
	const watched = await daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { heartbeat_ms: 500 } });
	const probed = await daemon.connect({ dst_addr: peer_addr, dst_port: port });
	const source = await daemon.buffer(target.size_bytes);
	await moves_bytes(daemon, used, source, target);

	const end = busy(daemon, used, source, target);
	await daemon.until("/v1/stats", "a third transfer", ({ transfers, transfers_ended_done }) =>
		transfers > 0 && transfers_ended_done > 2);
	const probe = await daemon.post("/v1/probes", { connection: probed.id, interval_ms: 100 });

	await daemon.until(`/v1/probes/${probe.id}`, "a ping", ({ completed }) => completed > 0);
	const worst_ms = await foretold_ms(daemon, used);
	await daemon.until(`/v1/connections/${watched.id}`, "an answered heartbeat", ({ heartbeats }) => heartbeats.answered > 0);
	await run(peer_off);
	const off_at = Date.now();
	await daemon.ended_with(used.id, "retry_exceeded");
	await in_time(daemon, used, worst_ms, off_at);
	const { causes } = await names_its_end(daemon, used, "retry_exceeded");
	equal(causes[0].name, "IBV_WC_RETRY_EXC_ERR", "the closest cause");
	const { code } = await end;
	ok(["retry_exceeded", "wrong_state"].includes(code), `what ended the transfers is ${code}`);
	const { items: [failed] } = await daemon.get("/v1/transfers?state=failed");
	if (failed)
		equal(failed.error.code, "retry_exceeded", "the error of the transfer");
	// Heartbeats detect it on an idle connection.
	await daemon.ended_with(watched.id, "peer_silent");
	// A probe detects the power cut on an idle connection too.
	await daemon.ended_with(probed.id, "retry_exceeded");
	const { state, lost, error } = await daemon.get(`/v1/probes/${probe.id}`);

	equal(`${state} ${lost} ${error?.code}`, "failed 1 retry_exceeded", "the probe");
	equal((await daemon.connection(probed.id)).rtt.lost, 1, "lost pings that the connection tells of");
	// A silent peer goes undetected while nothing is sent.
	equal((await daemon.connection(idle.id)).state, "established", "state of the idle connection");
	await daemon.post(`/v1/connections/${idle.id}/close`, {}, WAIT_S);
	await daemon.ended_with(idle.id, "local_close");
	await daemon.is_fine();
	await daemon.stop();
	await resources_are_back(before);
});

finish();
