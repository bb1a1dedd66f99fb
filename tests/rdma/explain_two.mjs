// SPDX-License-Identifier: Apache-2.0
//
// The first line of an explanation when the network between two machines is at fault. The peer runs two_guests_peer.mjs.

import { existsSync, readFileSync } from "node:fs";

import { explain } from "./explained.mjs";
import { Daemon, dev, equal, finish, run, scenario, until } from "./lib.mjs";

const told = `${process.env.LAB_SHARED}/peer.json`;
const peer_addr = process.env.LAB_PEER_ADDR;

await until("the peer to be ready", () => existsSync(told));
const { port, buffer: target } = JSON.parse(readFileSync(told, "utf8"));

// Does something to what leaves by the interface to the peer, and undoes it.
async function spoiled(how, undo, play) {
	const [{ dev: netdev }] = JSON.parse(await run("ip", "-j", "route", "get", peer_addr));

	await run(...how(netdev));
	await play(netdev);
	await run(...undo(netdev));
}

const gaps = () => Number(readFileSync(`/sys/class/infiniband/${dev}/ports/1/hw_counters/rcvd_seq_err`, "utf8"));
const lossy = (percent) => (netdev) => ["tc", "qdisc", "add", "dev", netdev, "root", "netem", "loss", `${percent}%`];
const lossless = (netdev) => ["tc", "qdisc", "del", "dev", netdev, "root"];
const mtu = (bytes) => (netdev) => ["ip", "link", "set", "dev", netdev, "mtu", String(bytes)];

await scenario("the first line names what is wrong with the network", async () => {
	const daemon = await Daemon.start("d");
	const source = await daemon.ready().then(() => daemon.buffer(target.size_bytes));
	const connect = (retry_count) => daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { ack_timeout: 14, retry_count } });
	const write = ({ id }) => daemon.try("POST", "/v1/transfers", { op: "write", connection: id, buffer: source.id,
		remote: { addr: target.addr, rkey: target.rkey }, timeout_ms: 60_000 }, { wait_s: 60 });
	const says = async (connection, code) => {
		await daemon.end_of(connection.id);
		const { summary, cause, evidence, hints } = await explain(daemon, connection);

		console.log(`     ${summary}`);
		equal(cause.code, code, `the cause (${summary} ${evidence.join(" ")})`);
		equal(hints[0], cause.advice, "the first advice");
	};

	const hurt = await connect(6);

	await spoiled(lossy(30), lossless, async (netdev) => {
		const before = gaps();
		const written = write(hurt);

		await until("a gap that the peer tells of", () => gaps() > before);
		await run("tc", "qdisc", "change", "dev", netdev, "root", "netem", "loss", "100%");
		await written;
	});
	await says(hurt, "packets_lost");
	for (const [how, undo, code] of [[lossy(100), lossless, "not_acknowledged"], [mtu(700), mtu(1500), "mtu_too_large"]]) {
		const connection = await connect(2);

		await spoiled(how, undo, () => write(connection));
		await says(connection, code);
	}
	const silent = await daemon.connect({ dst_addr: peer_addr, dst_port: port, qp: { heartbeat_ms: 500 } });

	await daemon.until(`/v1/connections/${silent.id}`, "an answered heartbeat", ({ heartbeats }) => heartbeats.answered > 0);
	await spoiled(lossy(100), lossless, () => daemon.end_of(silent.id));
	await says(silent, "peer_silent");
	await spoiled(lossy(100), lossless, async () => {
		const { id } = await daemon.post("/v1/connections", { dst_addr: peer_addr, dst_port: port, timeout_ms: 2000 });

		await says({ id }, "no_answer_yet");
	});
	await daemon.stop();
});

finish();
