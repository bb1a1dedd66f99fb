// SPDX-License-Identifier: Apache-2.0
//
// The device goes away under the daemon, and comes back.

import { Daemon, WAIT_S, addr, busy, dev, equal, finish, ok, run, scenario, transfers_work, with_daemons, write_file,
	wrote_something } from "./lib.mjs";

const PORT = 7471;
const WILD_PORT = 7472;
const NETDEV = (await run("cat", `/sys/class/infiniband/${dev}/ports/1/gid_attrs/ndevs/0`)).trim();
const [{ address: MAC, addr_info }] = JSON.parse(await run("ip", "-j", "address", "show", "dev", NETDEV));
const ADDRESSES = addr_info.filter(({ scope }) => scope === "global").map(({ local, prefixlen }) => `${local}/${prefixlen}`);
const NETWORK = addr.slice(0, addr.lastIndexOf("."));

// Both daemons use the device. The one that learns of the removal first disconnects the other.
const WHY = ["device_removed", "peer_disconnect"];

const add = () => run("rdma", "link", "add", dev, "type", "rxe", "netdev", NETDEV);

// Deleting the device, or the interface below it, must not wait for verbsd, even a busy one: a daemon that blocked it
// would do so for ever.
const unplug = () => run("rdma", "link", "delete", dev);
const delete_interface = () => run("ip", "link", "delete", NETDEV);

async function add_interface() {
	await run("ip", "link", "add", NETDEV, "address", MAC, "type", "dummy");
	for (const address of ADDRESSES)
		await run("ip", "address", "add", address, "dev", NETDEV, "nodad");
	await run("ip", "link", "set", NETDEV, "up");
}

const present = (daemon) => daemon.get("/v1/devices?state=present");

// Checks that all objects of a daemon on the removed device have ended.
async function all_is_lost(daemon) {
	await daemon.is_fine();
	await daemon.ready(false);
	equal((await present(daemon)).total, 0, `${daemon.name}: present devices`);
	equal((await daemon.get("/v1/cqs?fields=*")).total, 0, `${daemon.name}: completion queues`);
	await daemon.until("/v1/connections?fields=*&state=open", "no open connection", ({ total }) => total === 0);
	const { items } = await daemon.get("/v1/buffers");
	ok(items.every(({ state }) => state === "lost"), `${daemon.name}: a buffer that is not lost`);
}

async function refuses_new_work(daemon) {
	const { code, detail } = await daemon.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: PORT }, WAIT_S);

	ok(["no_device", "addr_error", "device_removed"].includes(code), `connecting: ${code}, ${detail}`);
	equal((await daemon.refused("POST", "/v1/buffers", { size_bytes: 4096 })).code, "no_device", "code of a new buffer");
}

const is_there = async () => (await run("rdma", "link", "show")).includes(dev);

// Runs a scenario with a device, which the scenario before may have removed.
const with_device = (name, play) => scenario(name, async () => {
	if (!await is_there())
		await add();
	await play();
});

async function plug(daemons) {
	await add();
	for (const daemon of daemons)
		await daemon.ready();
}

// Two daemons with connections both ways and running transfers.
async function make_busy(a, b) {
	const ways = [];

	for (const [from, to, dst_port] of [[a, b, PORT], [a, b, WILD_PORT], [b, b, PORT], [a, b, WILD_PORT]]) {
		const source = await from.buffer(4 << 20);
		const target = await to.buffer(4 << 20, { access: ["remote_write"] });
		const connection = await from.connect({ dst_port });

		ways.push({ from, connection, end: busy(from, connection, source, target) });
	}
	ways.push({ from: a, connection: await a.connect({ dst_port: PORT }) });
	await wrote_something(a);
	await wrote_something(b);
	return ways;
}

// `go` takes the device away, and `come` brings back what it took. `why` has the reasons of ends.
async function one_unplugging(a, b, { go = unplug, come = async () => {}, why = WHY } = {}) {
	const ways = await make_busy(a, b);
	const [before] = (await present(a)).items;
	const accepted = (await b.connections("established")).items;

	await go();
	await all_is_lost(a);
	await all_is_lost(b);
	for (const { from, connection, end } of ways) {
		await from.ended_with(connection.id, ...why);
		// After a transfer that had just completed, the next one finds the connection
		// ended.
		const code = end ? (await end).code : why[0];
		ok([...why, "wrong_state"].includes(code), `what ended the transfers is ${code}`);
	}
	for (const { id } of accepted)
		await b.ended_with(id, ...why);
	for (const daemon of [a, b]) {
		const { items } = await daemon.get("/v1/transfers?state=failed&limit=1000");
		for (const { id, error } of items)
			ok(why.includes(error.code), `${daemon.name}: the error of transfer ${id} is ${error.code}`);
	}
	equal((await b.get("/v1/listeners/one")).state, "lost", "state of the listener on the device's address");
	await refuses_new_work(a);
	await come();
	await plug([a, b]);
	const [after] = (await present(a)).items;
	ok(after.id !== before.id, "the device that came back has the id of the one that went");
	equal((await a.get(`/v1/devices/${before.id}`)).state, "removed", "state of the old device");
	await b.until("/v1/listeners/one", "state listening", ({ state }) => state === "listening");
	for (const dst_port of [PORT, WILD_PORT]) {
		const connection = await a.connect({ dst_port });

		await transfers_work(a, connection, b);
		await a.post(`/v1/connections/${connection.id}/close`, {}, WAIT_S);
	}
}

// play(a, b) with two daemons of which b listens at both ports; nothing of them is left afterwards.
const with_listeners = (play) => with_daemons("a b", async (a, b) => {
	await b.listen({ addr, port: PORT, name: "one" });
	await b.listen({ port: WILD_PORT, name: "wild" });
	await play(a, b);
});

await with_device("the device is unplugged twice while connections are busy", () => with_listeners(async (a, b) => {
	for (let i = 0; i < 2; i++)
		await one_unplugging(a, b);
	const { items } = await b.get("/v1/events?object=listener&limit=1000");
	equal(items.filter(({ type }) => type === "listener_lost").length, 2, "events listener_lost");
	equal(items.filter(({ type }) => type === "listener_restored").length, 2, "events listener_restored");
}));

await with_device("the interface below the device is deleted while connections are busy", () => with_listeners(async (a, b) => {
	// The interface goes down first, which a work request may notice before anything else.
	await one_unplugging(a, b, { go: delete_interface, come: add_interface, why: [...WHY, "local_error"] });
}));

await with_device("the device is unplugged from an idle daemon", async () => {
	const daemon = await Daemon.start("idle");

	await daemon.ready();
	await unplug();
	await all_is_lost(daemon);
	await refuses_new_work(daemon);
	await plug([daemon]);
	await daemon.listen({ port: PORT });
	await transfers_work(daemon, await daemon.connect({ dst_port: PORT }), daemon);
	await daemon.stop();
});

// One neighbour that never answers, an unused address, and a name server that never answers.
await with_device("the device is unplugged while connections are on their way", async () => {
	const silent = `${NETWORK}.253`;

	await run("ip", "link", "set", "dev", NETDEV, "arp", "on");
	await run("ip", "neigh", "replace", silent, "lladdr", "02:00:00:00:00:99", "dev", NETDEV, "nud", "permanent");
	write_file("/etc/resolv.conf", `nameserver ${silent}\n`);
	const daemon = await Daemon.start("early");
	await daemon.ready();
	const connecting = await daemon.connect({ dst_addr: silent, dst_port: PORT }, 0);
	const resolving = await daemon.connect({ dst_addr: `${NETWORK}.254`, dst_port: PORT, timeout_ms: 3000 }, 0);
	const naming = await daemon.connect({ dst_addr: "slow.example", dst_port: PORT, timeout_ms: 3000 }, 0);
	await daemon.connection_in(connecting.id, "connecting");

	await unplug();
	await daemon.is_fine();
	await daemon.ended_with(connecting.id, "device_removed");
	for (const { id } of [resolving, naming])
		await daemon.ended_with(id, "device_removed", "addr_error", "name_not_resolved", "timed_out", "unreachable");
	await plug([daemon]);
	await daemon.listen({ port: PORT });
	await transfers_work(daemon, await daemon.connect({ dst_port: PORT }), daemon);
	await daemon.stop();
});

await with_device("a daemon that starts without a device takes it up when it comes", async () => {
	await unplug();
	const daemon = await Daemon.start("bare");
	const { checks } = (await daemon.try("GET", "/readyz?verbose")).body;

	equal(checks.find(({ name }) => name === "device").status, "failing", "the check of devices");
	equal((await daemon.get("/v1/devices")).total, 0, "devices");
	await refuses_new_work(daemon);
	equal((await daemon.refused("POST", "/v1/listeners", { addr: "0.0.0.0" })).code, "no_device", "code of a new listener");
	await plug([daemon]);
	await daemon.listen({ port: PORT });
	await transfers_work(daemon, await daemon.connect({ dst_port: PORT }), daemon);
	await daemon.stop();
});

await with_device("a link that goes down and comes up is told of", async () => {
	const daemon = await Daemon.start("link");

	await daemon.ready();
	await daemon.listen({ port: PORT });
	const [{ id }] = (await present(daemon)).items;
	const old = await daemon.connect({ dst_port: PORT });
	await run("ip", "link", "set", "dev", NETDEV, "down");
	await daemon.ready(false);
	await daemon.until(`/v1/devices/${id}`, "a port that is down", ({ ports }) => ports[0].state === "down");
	await run("ip", "link", "set", "dev", NETDEV, "up");
	await daemon.ready();
	const device = await daemon.get(`/v1/devices/${id}`);
	ok(device.async_events.port_err >= 1, `port_err was counted ${device.async_events.port_err} times`);
	ok(device.async_events.port_active >= 1, `port_active was counted ${device.async_events.port_active} times`);
	const { items } = await daemon.get(`/v1/events?type=device_async_event&object=device/${id}`);
	ok(items.some(({ data }) => data.async_event === "port_err" && data.port_num === 1), `events: ${JSON.stringify(items)}`);
	await daemon.post(`/v1/connections/${old.id}/close`, {}, WAIT_S);
	await transfers_work(daemon, await daemon.connect({ dst_port: PORT }), daemon);
	await daemon.stop();
});

await with_device("the device gets another name", async () => {
	const daemon = await Daemon.start("renamed");
	const NEW = "elsewhere0";
	const rename = (from, to) => run("rdma", "dev", "set", from, "name", to);
	const known_as = (name) => daemon.until("/v1/devices?state=present", `a device ${name}`, ({ items }) => items[0].name === name);

	await daemon.ready();
	const [{ id }] = (await present(daemon)).items;
	await daemon.listen({ port: PORT });
	const old = await daemon.connect({ dst_port: PORT });
	try {
		await rename(dev, NEW);
		await known_as(NEW);
		const device = await daemon.get(`/v1/devices/${NEW}`);
		equal(device.id, id, "id of the device");
		await daemon.until(`/v1/devices/${NEW}`, "counters of the driver", ({ ports }) => ports[0].hw_counters?.sent_pkts > 0);
		equal((await daemon.get(`/v1/connections/${old.id}`)).device.name, NEW, "device of a connection");
		await transfers_work(daemon, old, daemon, 1 << 20, NEW);
		await transfers_work(daemon, await daemon.connect({ dst_port: PORT }), daemon, 1 << 20, NEW);
		await daemon.until("/v1/events?type=device_renamed", "an event", ({ items }) => items.length === 1);
	} finally {
		await rename(NEW, dev);
	}
	await known_as(dev);
	await daemon.stop();
});

// The kernel notifies its clients in the reverse order of loading. In this order, as on a machine that boots from
// NVMe over RDMA, no CM event comes, and the uevent is the only sign.
await with_device("the device is unplugged, and no CM event tells of it", async () => {
	await unplug();
	await run("modprobe", "-r", "rdma_ucm", "rdma_cm", "rdma_rxe", "ib_umad", "ib_uverbs");
	for (const module of ["rdma_cm", "ib_uverbs", "rdma_ucm"])
		await run("modprobe", module);
	await add();
	await with_listeners(one_unplugging);
});

finish();
