// SPDX-License-Identifier: Apache-2.0
//
// Networks: IPv4, IPv6 with and without scope, VLANs, two devices; and the GIDs that belong to them.

import { readFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { explain } from "./explained.mjs";
import { Daemon, WAIT_S, addr, dev, equal, finish, ok, proof, resources, resources_are_back, run, scenario, transfers_work, until } from "./lib.mjs";
import { close_pair, manual_pair } from "./operations.mjs";

const PORT = 7471;
const { LAB_ADDR6, LAB_SECOND_ADDR, LAB_SECOND_DEV, LAB_SIW_ADDR, LAB_SIW_DEV, LAB_VLAN_ADDR, LAB_VLAN_ADDR6 } = process.env;
const VLAN = "rdma0.7";
const SIW_ADDR6 = "fd00:77::1";
const SIW_VLAN = "siwnet0.8";
const SIW_VLAN_ADDR = "10.77.8.1";

// A dummy interface gets a link-local address when it is set up.
async function link_local(netdev) {
	const interfaces = JSON.parse(await run("ip", "-j", "-6", "addr", "show", "dev", netdev, "scope", "link"));
	const { local } = interfaces.flatMap(({ addr_info }) => addr_info ?? []).find(({ scope }) => scope === "link");

	return `${local}%${netdev}`;
}

// The 16 bytes in the format of the kernel's GID table.
function gid_of(address) {
	const groups = (text) => text.split(":").filter((group) => group !== "");
	const [bare] = address.split("%");

	if (isIPv4(bare)) {
		const bytes = bare.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
		return `0000:0000:0000:0000:0000:ffff:${bytes[0]}${bytes[1]}:${bytes[2]}${bytes[3]}`;
	}
	const [head, tail] = bare.split("::").map(groups);
	const zeros = Array(8 - head.length - (tail?.length ?? 0)).fill("0");
	return [...head, ...zeros, ...(tail ?? [])].map((group) => group.padStart(4, "0")).join(":");
}

const expand = (gid) => gid_of(gid.replace(/^::ffff:(?=\d+\.)/, ""));
const in_sysfs = (device, file) => readFileSync(`/sys/class/infiniband/${device}/ports/1/${file}`, "utf8").trim();

// Connects the daemon to itself, moves bytes both ways, and checks the explanation.
async function connects(daemon, dst_addr, device) {
	await daemon.listen({ addr: dst_addr, port: PORT, name: "here" });
	const foreseen = await daemon.get(`/v1/reachability?dst_addr=${encodeURIComponent(dst_addr)}`);
	const connection = await daemon.connect({ dst_addr, dst_port: PORT, device });
	const { findings, facts } = await explain(daemon, connection);

	equal(connection.device.name, device, "device");
	equal(connection.peer.addr, dst_addr, "address of the peer");
	ok(foreseen.ready, `it was not foreseen: ${foreseen.summary}`);
	equal(foreseen.facts.device.name, device, "device that was foreseen");
	equal(foreseen.facts.path_mtu_bytes, facts.path_mtu_bytes, "path MTU that was foreseen");
	equal(JSON.stringify(foreseen.facts.sgid), JSON.stringify(facts.sgid), "GID that was foreseen");
	equal(findings.find(({ severity }) => severity === "error"), undefined, "what is wrong with it");
	await transfers_work(daemon, connection, daemon, 64 << 10, device);
	await daemon.post(`/v1/connections/${connection.id}/close`, {}, WAIT_S);
	await daemon.call("DELETE", "/v1/listeners/here");
	return connection;
}

async function gid_in_use(daemon, connection) {
	const { ports } = await daemon.get(`/v1/devices/${connection.device.id}`);

	return ports[0].gids.find(({ gid_index }) => gid_index === connection.qp_attr.gid_index);
}

// Connects two QPs on the address with that GID index, without the connection manager.
async function by_hand(daemon, qp_type, gid_index) {
	const pair = await manual_pair(daemon, daemon, { qp_type, device: dev, gid_index });

	equal(pair.from.manual.local.gid_index, gid_index, "GID index of the QP");
	await daemon.post(`/v1/connections/${pair.from.id}/messages`, { data: "by hand" }, WAIT_S);
	await daemon.until(`/v1/connections/${pair.to.id}/messages`, "the message", ({ total }) => total === 1);
	await close_pair(pair);
}

// Resolves an endpoint on the address through the connection manager, from another endpoint there.
async function by_datagram(daemon, address, gid_index) {
	const there = await daemon.post("/v1/ud_endpoints", { addr: address, port: PORT });
	const here = await daemon.post("/v1/ud_endpoints", { device: dev, gid_index });
	const peer = await daemon.post("/v1/ud_peers", { ud_endpoint: here.id, dst_addr: address, dst_port: PORT }, WAIT_S);

	equal(there.qp_attr.gid_index, gid_index, "GID index of the endpoint");
	await daemon.post(`/v1/ud_endpoints/${here.id}/messages`, { ud_peer: peer.id, data: "a datagram" }, WAIT_S);
	await daemon.until(`/v1/ud_endpoints/${there.id}/messages`, "the datagram", ({ total }) => total === 1);
	for (const { id } of [here, there])
		await daemon.call("DELETE", `/v1/ud_endpoints/${id}`, undefined, { wait_s: WAIT_S });
}

async function roce_address(row, address, netdev, scope) {
	const before = await resources();
	const daemon = await Daemon.start("d");

	await daemon.ready();
	const connection = await connects(daemon, address, dev);
	const gid = await gid_in_use(daemon, connection);
	equal(expand(gid.gid), gid_of(address), "the connection's own GID");
	equal(gid.type, "roce_v2", "its type");
	equal(gid.scope, scope, "its scope");
	equal(gid.netdev, netdev, "its interface");
	equal(expand(connection.qp_attr.dgid), gid_of(address), "the peer's GID");
	proof(row, "rc_cm");
	await by_datagram(daemon, address, gid.gid_index);
	for (const [qp_type, column] of [["rc", "rc_manual"], ["uc", "uc"]]) {
		await by_hand(daemon, qp_type, gid.gid_index);
		proof(row, column);
	}
	await daemon.stop();
	await resources_are_back(before);
}

await scenario("a connection over IPv4", () => roce_address("ipv4", addr, "rdma0", "ipv4_mapped"));
await scenario("a connection over a global IPv6 address", () => roce_address("ipv6", LAB_ADDR6, "rdma0", "global"));
await scenario("a connection over a link-local IPv6 address", async () =>
	roce_address("ipv6_link_local", await link_local("rdma0"), "rdma0", "link_local"));
await scenario("a connection over a VLAN", () => roce_address("vlan", LAB_VLAN_ADDR, VLAN, "ipv4_mapped"));
await scenario("a connection over a VLAN and IPv6", () => roce_address("vlan", LAB_VLAN_ADDR6, VLAN, "global"));

await scenario("the GID table is the kernel's, and follows addresses that come and go", async () => {
	const daemon = await Daemon.start("d");
	const gids = async () => (await daemon.get(`/v1/devices/${dev}`)).ports[0].gids;
	const types = { "IB/RoCE v1": "roce_v1", "RoCE v2": "roce_v2" };

	await daemon.ready();
	for (const { gid, gid_index, type, netdev } of await gids()) {
		equal(expand(gid), in_sysfs(dev, `gids/${gid_index}`), `GID ${gid_index}`);
		equal(type, types[in_sysfs(dev, `gid_attrs/types/${gid_index}`)], `type of GID ${gid_index}`);
		equal(netdev, in_sysfs(dev, `gid_attrs/ndevs/${gid_index}`), `interface of GID ${gid_index}`);
	}
	ok((await gids()).length >= 6, "fewer GIDs than addresses");
	await run("ip", "addr", "add", "10.76.9.1/24", "dev", "rdma0");
	await until("the GID of the new address", async () =>
		(await gids()).some(({ gid }) => expand(gid) === gid_of("10.76.9.1")));
	await run("ip", "addr", "del", "10.76.9.1/24", "dev", "rdma0");
	await until("it to go", async () => (await gids()).every(({ gid }) => expand(gid) !== gid_of("10.76.9.1")));
	await daemon.stop();
});

await scenario("two devices keep apart what belongs to each", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	await daemon.listen({ port: PORT });
	const here = await daemon.connect({ dst_port: PORT });
	const there = await daemon.connect({ dst_addr: LAB_SECOND_ADDR, dst_port: PORT });
	equal(here.device.name, dev, "device of the first connection");
	equal(there.device.name, LAB_SECOND_DEV, "device of the second connection");
	await transfers_work(daemon, here, daemon, 64 << 10, dev);
	await transfers_work(daemon, there, daemon, 64 << 10, LAB_SECOND_DEV);
	const buffer = await daemon.buffer(4096, { device: dev });
	const { detail } = await daemon.refused("POST", "/v1/transfers", {
		op: "write", connection: there.id, buffer: buffer.id, remote: { addr: "0x1000", rkey: "0x1" },
	});
	ok(detail.includes(LAB_SECOND_DEV), `the refusal does not name the other device: ${detail}`);
	await daemon.stop();
});

const rename = (from, to) => run("rdma", "dev", "set", from, "name", to);

await scenario("two devices that exchange their names keep what is theirs", async () => {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	await daemon.listen({ port: PORT });
	const owned = [];
	for (const [device, dst_addr] of [[dev, addr], [LAB_SECOND_DEV, LAB_SECOND_ADDR]])
		owned.push({ device, connection: await daemon.connect({ dst_addr, dst_port: PORT }), buffer: await daemon.buffer(4096, { device }),
			id: (await daemon.get(`/v1/devices/${device}`)).id });

	// With and without a look at the names in between.
	for (const stands_still of [true, false, true, false]) {
		const last = await daemon.newest_place();

		if (stands_still)
			daemon.kill("SIGSTOP");
		for (const [from, to] of [[dev, "between"], [LAB_SECOND_DEV, dev], ["between", LAB_SECOND_DEV]])
			await rename(from, to);
		daemon.kill("SIGCONT");
		const names = owned.map(({ device }) => device).reverse();
		for (const [i, one] of owned.entries()) {
			one.device = names[i];
			await daemon.until(`/v1/devices/${one.id}`, `the name ${one.device}`, ({ name }) => name === one.device);
		}
		for (const { id, device, connection, buffer } of owned) {
			const { device: of_connection } = await daemon.connection(connection.id);
			const { device: of_buffer } = await daemon.get(`/v1/buffers/${buffer.id}`);

			equal(`${of_connection.id} ${of_connection.name}`, `${id} ${device}`, "device of the connection");
			equal(`${of_buffer.id} ${of_buffer.name}`, `${id} ${device}`, "device of the buffer");
			await transfers_work(daemon, connection, daemon, 4096, device);
		}
		ok((await daemon.get(`/v1/events?after=${last}&type=device_renamed`)).items.length >= 2, "events of the renames");
	}
	await daemon.stop();
});

async function netdev_of(address) {
	const interfaces = JSON.parse(await run("ip", "-j", "addr"));

	return interfaces.find(({ addr_info }) => addr_info.some(({ local }) => local === address)).ifname;
}

// The addresses of the name, in the order in which they are tried.
async function addresses_of(name) {
	const lines = (await run("getent", "ahosts", name)).trim().split("\n").filter((line) => line.includes("STREAM"));

	return lines.map((line) => line.split(/\s+/)[0]);
}

const NAME = "two.example";

await scenario("of a name with two addresses the one that somebody listens at is found", async () => {
	const daemon = await Daemon.start("d");

	await run("sh", "-c", `printf '%s ${NAME}\\n' ${addr} ${LAB_ADDR6} >/tmp/hosts && mount --bind /tmp/hosts /etc/hosts`);
	const [first, second] = await addresses_of(NAME);
	await daemon.ready();
	await daemon.listen({ addr: second, port: PORT, name: "here" });
	const connection = await daemon.connect({ dst_addr: NAME, dst_port: PORT });
	equal(connection.state, "established", "state");
	equal(connection.peer.addr, second, "address of the peer");
	const { items } = await daemon.get(`/v1/connections/${connection.id}/timeline`);
	const tries = items.filter(({ kind, what }) => kind === "try" && what === "failed");
	equal(tries.length, 1, "tries that failed");
	ok(tries[0].detail.startsWith(`${first}: `), `the try does not name its address: ${tries[0].detail}`);
	await daemon.call("DELETE", "/v1/listeners/here");
	const refused = await daemon.connect({ dst_addr: NAME, dst_port: PORT }, 0);
	const { end_code, error } = await daemon.end_of(refused.id);
	equal(end_code, "rejected", "why nobody is found");
	ok(/^[0-9a-f.:]+: .*; 2 tries in/.test(error.detail), `the detail does not name the address: ${error.detail}`);
	// No device has the first address of this name.
	await run("sh", "-c", `printf '%s ${NAME}\\n' 127.0.0.1 ${addr} >/tmp/hosts`);
	equal((await addresses_of(NAME))[0], "127.0.0.1", "first address");
	equal((await daemon.get("/v1/reachability?dst_addr=127.0.0.1")).ready, false, "readiness of the loopback");
	const way = await daemon.get(`/v1/reachability?dst_addr=${NAME}`);
	equal(way.addr, addr, "address that is explained");
	equal(way.ready, true, "readiness");
	await run("sh", "-c", `printf '%s ${NAME}\\n' 127.0.0.1 127.0.0.2 >/tmp/hosts`);
	equal((await daemon.get(`/v1/reachability?dst_addr=${NAME}`)).addr, (await addresses_of(NAME))[0], "address where none is ready");
	await run("umount", "/etc/hosts");
	await daemon.stop();
});

await scenario("a peer that is away for a moment is found when it is there", async () => {
	const away = LAB_SECOND_ADDR.replace(/\d+$/, "77");
	const netdev = await netdev_of(LAB_SECOND_ADDR);
	const daemon = await Daemon.start("d");

	// A dummy interface would take every address for reachable.
	await run("ip", "link", "set", "dev", netdev, "arp", "on");
	await daemon.ready();
	await daemon.listen({ addr: "0.0.0.0", port: PORT, name: "here" });
	const { id } = await daemon.connect({ dst_addr: away, dst_port: PORT, timeout_ms: 120_000 }, 0);
	await daemon.connection_in(id, "retrying", "failed");
	await run("ip", "addr", "add", `${away}/32`, "dev", netdev);
	await daemon.connection_in(id, "established", "failed");
	equal((await daemon.connection(id)).state, "established", "state");
	await run("ip", "addr", "del", `${away}/32`, "dev", netdev);
	await run("ip", "link", "set", "dev", netdev, "arp", "off");
	await daemon.stop();
});

async function siw_address(row, address) {
	const daemon = await Daemon.start("d");

	await daemon.ready();
	await connects(daemon, address, LAB_SIW_DEV);
	await daemon.stop();
	proof(row, "siw");
}

await scenario("iWARP over IPv4", () => siw_address("ipv4", LAB_SIW_ADDR));
await scenario("iWARP over a global IPv6 address", async () => {
	await run("ip", "addr", "add", `${SIW_ADDR6}/64`, "dev", "siwnet0", "nodad");
	await siw_address("ipv6", SIW_ADDR6);
});
await scenario("iWARP over a link-local IPv6 address", async () =>
	siw_address("ipv6_link_local", await link_local("siwnet0")));
// siw knows an interface by its MAC address, and a VLAN shares the MAC of the interface below.
await scenario("iWARP over a VLAN", async () => {
	await run("ip", "link", "add", "link", "siwnet0", "name", SIW_VLAN, "type", "vlan", "id", "8");
	await run("ip", "addr", "add", `${SIW_VLAN_ADDR}/24`, "dev", SIW_VLAN);
	await run("ip", "link", "set", SIW_VLAN, "up");
	await siw_address("vlan", SIW_VLAN_ADDR);
});

finish();
