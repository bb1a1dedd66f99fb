// SPDX-License-Identifier: Apache-2.0
//
// The first line of an explanation when the network between two machines is at fault. The peer runs two_guests_peer.mjs.

import { existsSync, readFileSync } from "node:fs";

import { explain } from "./explained.mjs";
import { Daemon, PATIENCE_MS, WAIT_S, dev, equal, finish, run, scenario, until } from "./lib.mjs";

const told = `${process.env.LAB_SHARED}/peer.json`;
const peer_addr = process.env.LAB_PEER_ADDR;

await until("the peer to be ready", () => existsSync(told));
const { port, rping_port, buffer: target } = JSON.parse(readFileSync(told, "utf8"));

// Does something to what leaves by the interface to the peer, and undoes it.
async function spoiled(how, undo, play) {
	const [{ dev: netdev }] = JSON.parse(await run("ip", "-j", "route", "get", peer_addr));

	await run(...how(netdev));
	try {
		return await play(netdev);
	} finally {
		await run(...undo(netdev));
	}
}

// The cause of a connection's end. A question that is not answered in time leads to another cause, so a scenario in which
// the peer's device answers tries again.
async function cause_of(daemon, { id }) {
	await daemon.end_of(id);
	const { summary, cause } = await explain(daemon, { id });

	console.log(`     ${summary}`);
	return cause.code;
}

const gaps = () => Number(readFileSync(`/sys/class/infiniband/${dev}/ports/1/hw_counters/rcvd_seq_err`, "utf8"));
const lossy = (percent) => (netdev) => ["tc", "qdisc", "add", "dev", netdev, "root", "netem", "loss", `${percent}%`];
const lossless = (netdev) => ["tc", "qdisc", "del", "dev", netdev, "root"];
const delayed = (time) => (netdev) => ["tc", "qdisc", "add", "dev", netdev, "root", "netem", "delay", time];
const slow = (netdev) => ["tc", "qdisc", "add", "dev", netdev, "root", "tbf", "rate", "500kbit", "burst", "32kbit", "latency", "20s"];
// This side hears nothing of RoCE v2.
const deaf = (netdev) => ["sh", "-c", `tc qdisc add dev ${netdev} clsact && tc filter add dev ${netdev} ingress protocol ip flower \
	ip_proto udp dst_port 4791 action drop`];
const hearing = (netdev) => ["tc", "qdisc", "del", "dev", netdev, "clsact"];
const narrow = (netdev) => ["ip", "link", "set", "dev", netdev, "mtu", "700"];
const jumbo = (netdev) => ["ip", "link", "set", "dev", netdev, "mtu", "4200"];
// The kernel keeps the MTU that it has learned of a route for ten minutes.
const wide = (netdev) => ["sh", "-c", `ip link set dev ${netdev} mtu 1500 && ip route flush cache`];

await scenario("MTUs that differ are told before the first byte", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	await spoiled(jumbo, wide, async () => {
		const connection = await daemon.post("/v1/connections", { dst_addr: peer_addr, dst_port: port });

		equal(await cause_of(daemon, connection), "refused_with_words", "the cause");
		equal((await daemon.connection(connection.id)).error.detail.includes("path MTU"), true, "the error names the path MTU");
	});
	const open = await daemon.connect({ dst_addr: peer_addr, dst_port: port });

	await spoiled(narrow, wide, () => until("mtu_above_port", async () =>
		(await explain(daemon, open)).findings.some(({ code }) => code === "mtu_above_port")));
	await daemon.stop();
});

await scenario("the first line names a network that is slow", async () => {
	const daemon = await Daemon.start("d");
	const source = await daemon.ready().then(() => daemon.buffer(target.size_bytes));
	const write = ({ id }, more) => daemon.try("POST", "/v1/transfers", { op: "write", connection: id, buffer: source.id,
		remote: { addr: target.addr, rkey: target.rkey }, ...more }, { wait_s: WAIT_S });

	await spoiled(delayed("300ms"), lossless, () => until("timeout_too_short", async () => {
		const connection = await daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { ack_timeout: 14, retry_count: 1 } });

		await write(connection, { length_bytes: 64, timeout_ms: PATIENCE_MS });
		return await cause_of(daemon, connection) === "timeout_too_short";
	}));
	await until("too_slow", async () => {
		const connection = await daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { ack_timeout: 22, retry_count: 6 } });

		// A chunk takes 4 s; the device holds all of them, so that the deadline ends the connection.
		await spoiled(slow, lossless, () => write(connection, { chunk_bytes: 262_144, timeout_ms: 10_000 }));
		return await cause_of(daemon, connection) === "too_slow";
	}, 3 * PATIENCE_MS);
	await daemon.stop();
});

await scenario("the first line names what a firewall on the way may be", async () => {
	const daemon = await Daemon.start("d");
	const source = await daemon.ready().then(() => daemon.buffer(target.size_bytes));

	await until("not_acknowledged", async () => {
		const connection = await daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { ack_timeout: 14, retry_count: 2 } });

		return spoiled(deaf, hearing, async () => {
			await daemon.try("POST", "/v1/transfers", { op: "write", connection: connection.id,
				buffer: source.id, remote: { addr: target.addr, rkey: target.rkey }, timeout_ms: PATIENCE_MS }, { wait_s: WAIT_S });
			return await cause_of(daemon, connection) === "not_acknowledged";
		});
	});
	await until("wrong_remote", async () => {
		const connection = await daemon.post("/v1/connections", { bringup: "manual", qp_type: "rc", device: dev,
			qp: { ack_timeout: 14, retry_count: 1 } }, WAIT_S);
		const { local } = connection.manual;

		await daemon.post(`/v1/connections/${connection.id}/remote`, { ...local, gid: `::ffff:${peer_addr}` }, WAIT_S);
		return spoiled(deaf, hearing, async () => {
			await daemon.try("POST", `/v1/connections/${connection.id}/messages`, { data: "hello" }, { wait_s: WAIT_S });
			return await cause_of(daemon, connection) === "wrong_remote";
		});
	});
	// The CM repeats its request after some seconds.
	await spoiled(deaf, hearing, () => until("no_answer", async () =>
		await cause_of(daemon, await daemon.post("/v1/connections", { dst_addr: peer_addr, dst_port: port, timeout_ms: 12_000 })) ===
			"no_answer", 3 * PATIENCE_MS));
	await daemon.stop();
});

await scenario("the first line names what is wrong with the network", async () => {
	const daemon = await Daemon.start("d");
	const source = await daemon.ready().then(() => daemon.buffer(target.size_bytes));
	const connect = (retry_count) => daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { ack_timeout: 14, retry_count } });
	const write = ({ id }, timeout_ms = PATIENCE_MS) => daemon.try("POST", "/v1/transfers", { op: "write", connection: id, buffer: source.id,
		remote: { addr: target.addr, rkey: target.rkey }, timeout_ms }, { wait_s: WAIT_S });
	const says = async (connection, code) => {
		await daemon.end_of(connection.id);
		const { summary, cause, evidence, hints } = await explain(daemon, connection);

		console.log(`     ${summary}`);
		equal(cause.code, code, `the cause (${summary} ${evidence.join(" ")})`);
		equal(hints[0], cause.hint, "the first hint");
	};

	// A retry_count of 7 is for ever on Soft-RoCE.
	const slowed = await connect(7);

	await spoiled(lossy(20), lossless, () => until("packets_lost while it goes on", async () => {
		const { items } = await daemon.get("/v1/transfers?state=running");

		if (!items.length)
			void write(slowed);
		const { cause } = await explain(daemon, slowed);

		return cause?.code === "packets_lost" && cause.detail.includes("which slows");
	}, 3 * PATIENCE_MS));
	await daemon.call("DELETE", `/v1/connections/${slowed.id}`);
	const hurt = await connect(6);

	await spoiled(lossy(30), lossless, async (netdev) => {
		const before = gaps();
		const written = write(hurt);

		await until("a gap that the peer tells of", () => gaps() > before);
		await run("tc", "qdisc", "change", "dev", netdev, "root", "netem", "loss", "100%");
		await written;
		await says(hurt, "packets_lost");
	});
	for (const [how, undo, code] of [[lossy(100), lossless, "not_acknowledged"], [narrow, wide, "mtu_too_large"]]) {
		const connection = await connect(2);

		// The device reports nothing of packets that do not fit: the deadline ends the write.
		await spoiled(how, undo, async () => {
			await write(connection, 10_000);
			await says(connection, code);
		});
	}
	const silent = await daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { heartbeat_ms: 500 } });

	await daemon.until(`/v1/connections/${silent.id}`, "an answered heartbeat", ({ heartbeats }) => heartbeats.answered > 0);
	await spoiled(lossy(100), lossless, () => says(silent, "not_acknowledged"));
	// The kernel forgets a host that has not answered for some seconds.
	await daemon.connect({ dst_addr: peer_addr, dst_port: port });
	await spoiled(lossy(100), lossless, async () => {
		const { id } = await daemon.post("/v1/connections", { dst_addr: peer_addr, dst_port: port, timeout_ms: 2000 });

		await says({ id }, "no_answer");
	});
	await daemon.stop();
});

await scenario("the first line tells a device that answers when the peer has disconnected", async () => {
	// A verbsd that reports nothing, and asks for no report: it looks by itself.
	const daemon = await Daemon.start("d", ["--set", "peer_reports=false"]);

	await daemon.ready();
	const connection = await daemon.connect({ dst_addr: peer_addr, dst_port: rping_port });

	// The service rping ends a connection whose peer does not speak its protocol.
	await daemon.post(`/v1/connections/${connection.id}/messages`, { data: "hello" }, WAIT_S);
	const left = async (says) => {
		const { cause } = await daemon.get(`/v1/connections/${connection.id}/explain`);

		return cause?.code === "peer_left" && cause.detail.includes(says);
	};

	await until("peer_left, and its device answers", () => left("still answers"));
	await spoiled(deaf, hearing, () => until("peer_left, or its host is gone", () => left("its host is gone")));
	await daemon.stop();
});

await scenario("the first line names what may drop a port of TCP", async () => {
	const daemon = await Daemon.start("d");
	const dst_addr = process.env.LAB_SIW_ADDR.replace(/\d+$/, "2");

	await daemon.ready();
	await run("tc", "qdisc", "add", "dev", "siwnet0", "clsact");
	await run("tc", "filter", "add", "dev", "siwnet0", "egress", "protocol", "ip", "flower", "ip_proto", "tcp", "dst_port", "7904",
		"action", "drop");
	await until("no_answer", async () => {
		const connection = await daemon.post("/v1/connections", { dst_addr, dst_port: 7904, timeout_ms: 2000 });

		return await cause_of(daemon, connection) === "no_answer";
	});
	await run("tc", "qdisc", "del", "dev", "siwnet0", "clsact");
	await daemon.stop();
});

await scenario("the first line names a device that is not that of the route", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	const { body } = await daemon.try("POST", "/v1/connections", { dst_addr: peer_addr, dst_port: port,
		device: process.env.LAB_SIW_DEV, timeout_ms: 8000 });

	equal(await cause_of(daemon, { id: body.id ?? body.instance.split("/").at(-1) }), "wrong_device", "the cause");
	await daemon.stop();
});

finish();
