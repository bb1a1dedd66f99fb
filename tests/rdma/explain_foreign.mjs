// SPDX-License-Identifier: Apache-2.0
//
// A part of the suite explain: a peer at the end of a cable, in a network namespace, that answers what no Linux answers
// (foreign_peer.mjs), and what happens to that cable and to the routes.

import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";

import { Daemon, PATIENCE_MS, Program, WAIT_S, equal, ok, run, scenario, until } from "./lib.mjs";
import { BRIEF, CONNECTION, failed, says } from "./explain_stage.mjs";

const DEVICE = "rxe_cable";
const HERE = "cable0", THERE = "cable1";
const HERE_ADDR = "fd00:79::1", PEER_ADDR = "fd00:79::2", SUBNET = "fd00:79::/64";
const BEHIND_ROUTER = "fd00:80::9", ROUTER = "fd00:79::9";
const OWN_ADDR = "198.18.0.1";
const PORT = 7590, SILENT_PORT = 1000;
const REJECTS_FROM = 2000, ACCEPTS_FROM = 3000, MUTE_PORT = 3255;
const NAK_INVALID = 0x61, NAK_OPERATION = 0x63;
const QP = { ack_timeout: 14, retry_count: 1 };

// Reasons of the kernel's rdma/ib_cm.h.
const REJECTIONS = [...[1, 3, 10, 12, 26, 27].map((reason) => [reason, "refused_by_cm"]), [28, "refused_by_program"]];

const there = (...command) => run("ip", "netns", "exec", "foreign", ...command);
const give_peer_its_address = () => run("ip", "-n", "foreign", "addr", "replace", `${PEER_ADDR}/64`, "dev", THERE, "nodad");

async function lay_cable() {
	await run("ip", "netns", "add", "foreign");
	await run("ip", "link", "add", HERE, "type", "veth", "peer", "name", THERE, "netns", "foreign");
	await run("ip", "addr", "add", `${HERE_ADDR}/64`, "dev", HERE, "nodad");
	await run("ip", "link", "set", HERE, "up");
	await give_peer_its_address();
	await run("ip", "-n", "foreign", "link", "set", THERE, "up");
	// Soft-RoCE sends no UDP checksum, and a socket over IPv6 takes no packet without.
	await there("tc", "qdisc", "add", "dev", THERE, "clsact");
	await there("tc", "filter", "add", "dev", THERE, "ingress", "protocol", "ipv6", "matchall", "action", "csum", "udp");
	await run("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", HERE);
	await peer_is_known();
}

// The kernel drops packets until it has taken up the carrier of a new cable. A connect in between finds nobody.
async function peer_is_known() {
	const socket = createSocket("udp6").unref();

	await until("the kernel to know the peer's host", async () => {
		socket.send("", SILENT_PORT, PEER_ADDR, () => {});
		return (await run("ip", "neigh", "show", PEER_ADDR, "dev", HERE)).includes("lladdr");
	});
	socket.close();
}

async function remove_cable() {
	await run("rdma", "link", "delete", DEVICE);
	await run("ip", "link", "del", HERE);
	await run("ip", "netns", "del", "foreign");
}

async function foreign_peer(...asks) {
	const script = new URL("foreign_peer.mjs", import.meta.url).pathname;
	const peer = new Program("ip", ["netns", "exec", "foreign", process.execPath, script, PEER_ADDR, ...asks]);

	await until("the foreign peer to hear", () => peer.output.includes("ready"));
	return peer;
}

const port_is = (state) => until(`port ${state}`, () =>
	readFileSync(`/sys/class/infiniband/${DEVICE}/ports/1/state`, "utf8").includes(state));

async function write(daemon, { id }) {
	const buffer = await daemon.buffer(4096, { device: DEVICE });

	await daemon.try("POST", "/v1/transfers", { op: "write", connection: id, buffer: buffer.id, length_bytes: 64,
		timeout_ms: PATIENCE_MS, remote: { addr: "0x1000", rkey: "0x00001234" } }, { wait_s: WAIT_S });
	return daemon.end_of(id);
}

const accepted = (daemon, port) => daemon.connect({ dst_addr: PEER_ADDR, dst_port: port, service: "none", qp: QP });

async function with_peer(play) {
	const daemon = await Daemon.start("near");

	await daemon.ready();
	const peer = await foreign_peer();

	await play(daemon);
	peer.kill("SIGKILL");
	await peer.end();
	await daemon.stop();
}

await scenario("a cable to a peer that is no Linux", lay_cable);

await scenario("a CM that rejects, and a device that refuses", () => with_peer(async (daemon) => {
	for (const [reason, code] of REJECTIONS)
		await says(daemon, await failed(daemon, { dst_addr: PEER_ADDR, dst_port: REJECTS_FROM + reason }), code);
	for (const [syndrome, code] of [[NAK_INVALID, "peer_qp_forbids"], [NAK_OPERATION, "peer_device_failed"]])
		await says(daemon, await write(daemon, await accepted(daemon, ACCEPTS_FROM + syndrome)), code);
}));

await scenario("a peer that asks for a connection and does not confirm it", async () => {
	const daemon = await Daemon.start("near");

	await daemon.ready();
	const listener = await daemon.listen({ addr: HERE_ADDR, port: PORT });
	const peer = await foreign_peer(HERE_ADDR, String(PORT));
	const { items } = await daemon.until(`${CONNECTION}?fields=*`, "its request", ({ items }) =>
		items.some(({ listener: of }) => of?.id === listener.id));
	await says(daemon, await daemon.end_of(items[0].id), "not_confirmed");
	peer.kill("SIGKILL");
	await daemon.stop();
});

await scenario("a host that is up, and does not answer", async () => {
	const daemon = await Daemon.start("near");

	await daemon.ready();
	await says(daemon, await failed(daemon, { dst_addr: PEER_ADDR, dst_port: SILENT_PORT, ...BRIEF }), "no_answer");
	await daemon.stop();
});

await scenario("a device that acknowledges nothing", () => with_peer(async (daemon) =>
	says(daemon, await write(daemon, await accepted(daemon, MUTE_PORT)), "not_acknowledged")));

await scenario("another host takes the peer's address", () => with_peer(async (daemon) => {
	const { id } = await accepted(daemon, MUTE_PORT);

	await run("ip", "neigh", "replace", PEER_ADDR, "lladdr", "02:00:00:00:00:77", "dev", HERE, "nud", "permanent");
	const { cause } = await says(daemon, await daemon.end_of(id), "address_taken");
	const { error } = await daemon.connection(id);

	ok(error.detail.includes("has another hardware address now"), `the error says so: ${error.detail}`);
	equal(error.hint, cause.hint, "the hint of the error");
	await run("ip", "neigh", "del", PEER_ADDR, "dev", HERE);
}));

await scenario("a cable that was out for a moment, a route that moved, and a router that is silent", () => with_peer(async (daemon) => {
	const fell = await accepted(daemon, MUTE_PORT);

	await run("ip", "-n", "foreign", "link", "set", THERE, "down");
	await port_is("DOWN");
	await run("ip", "-n", "foreign", "link", "set", THERE, "up");
	await give_peer_its_address();
	await port_is("ACTIVE");
	await says(daemon, await write(daemon, fell), "port_fell", "is up again");

	const moved = await accepted(daemon, MUTE_PORT);

	await run("ip", "-6", "route", "add", SUBNET, "dev", "rdma0", "metric", "1");
	await run("ip", "-6", "route", "del", SUBNET, "dev", HERE, "metric", "256");
	await says(daemon, await write(daemon, moved), "route_moved");
	await run("ip", "-6", "route", "add", SUBNET, "dev", HERE);
	await run("ip", "-6", "route", "del", SUBNET, "dev", "rdma0");

	await run("ip", "-6", "route", "add", `${BEHIND_ROUTER}/128`, "via", ROUTER, "dev", HERE);
	await says(daemon, await failed(daemon, { dst_addr: BEHIND_ROUTER, dst_port: PORT }), "host_gone");
	await run("ip", "addr", "add", `${OWN_ADDR}/32`, "dev", "lo");
	await says(daemon, await failed(daemon, { dst_addr: OWN_ADDR, dst_port: PORT }), "address_without_rdma", "an address of this host");
	await run("ip", "addr", "del", `${OWN_ADDR}/32`, "dev", "lo");
}));

await scenario("the cable is removed", remove_cable);
