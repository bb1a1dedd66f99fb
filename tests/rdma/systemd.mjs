// SPDX-License-Identifier: Apache-2.0
//
// The packages on the host of docs/production.md, where systemd is process 1: their installation starts the service;
// credentials, reload, journal, watchdog, crash, socket activation, a second daemon; all kinds of RDMA objects, and each
// option, in the sandbox of the unit; upgrade, stop and purge.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";

import { blocks } from "../production_host.mjs";
import { addr, equal, finish, ok, run, until, write_file } from "./lib.mjs";
import { play_options } from "./sandbox.mjs";
import { AUDIT, HTTP_SOCKET, INSTANCE, INSTANCE_SOCKET, NEWER, RDMA_PORT, SERVICE, SOCKET, STATE, call, connect_to_itself, dpkg, drop_in, is, is_restarted_after, is_up, journal, main_gets, make_production_host, newer_packages, packages, property, ready, request, run_of_daemon, systemctl, token, with_journal } from "./systemd_host.mjs";

const SECOND = { device: process.env.LAB_SECOND_DEV, addr: process.env.LAB_SECOND_ADDR };
const on_second = (method, path, body) => call(method, path, body, INSTANCE_SOCKET);

const kept_are_up = async () => { for (const name of ["door", "self", "pool"]) await is_up(name); };
const checksum = async () => (await call("GET", "/v1/buffers/pool/checksum")).checksum;

// Writes from a buffer to another one again and again, until a write fails.
async function is_busy(connection) {
	const source = await call("POST", "/v1/buffers", { size_bytes: 65536 });
	const remote = await call("POST", "/v1/buffers", { size_bytes: 65536, access: ["remote_write"] });
	const body = { op: "write", connection: connection.id, buffer: source.id, remote: { addr: remote.addr, rkey: remote.rkey } };
	const write = () => request("POST", "/v1/transfers", { body }).catch(() => ({}));

	equal((await write()).status, 201, "status of a write");
	return { ended: (async () => { while ((await write()).status === 201); })() };
}

// --- scenarios ---------------------------------------------------------------------------------------------------

await with_journal("the installation starts the service, and leaves the socket and further daemons alone", async () => {
	await dpkg("-i", ...packages);
	await is("ActiveState", "active");
	equal((await run("find", "/etc/systemd/system", "-type", "l", "-printf", "%P")), `multi-user.target.wants/${SERVICE}`, "enabled units");
	equal(JSON.parse(await run("verbsctl", "--json", "status")).caller.role, "control", "role of root");
});

await make_production_host();

await with_journal("the service is ready when its start returns, and RDMA works in its sandbox", async () => {
	await systemctl("daemon-reload");
	await systemctl("restart", SERVICE);
	await is("ActiveState", "active");
	await is("Type", "notify");
	await is("StatusText", "serving");
	await is("User", "verbsd");
	await ready();
	await connect_to_itself();
});

await with_journal("the credentials are the tokens of the roles", async () => {
	for (const [name, role] of [["control", "control"], ["read", "read"]])
		equal((await request("GET", "/v1", { as: token(name) })).body.role, role, "role");
	equal((await request("GET", "/v1", { as: "x".repeat(64) })).status, 401, "status of a wrong token");
});

await with_journal("the audit file is in the folder of logs, for the service only", async () => {
	const uid = Number((await run("id", "-u", "verbsd")).trim());
	const folder = statSync("/var/log/verbsd");

	equal(folder.uid, uid, "owner of the folder");
	equal(folder.mode & 0o7777, 0o750, "mode of the folder");
	equal(statSync(AUDIT).uid, uid, "owner of the audit file");
	ok(/listener/.test(readFileSync(AUDIT, "utf8")), "the listener is not in the audit file");
});

await with_journal("the lines of the journal have their priorities and the name of the program", async () => {
	const said = await run("journalctl", "-o", "json", "-u", SERVICE, "_COMM=verbsd");
	const lines = said.trim().split("\n").map((line) => JSON.parse(line));

	for (const [text, priority] of [[/^verbsd: serves HTTP on /, "5"], [/^verbsd: no interface has the address of /, "4"]]) {
		const line = lines.find(({ MESSAGE }) => text.test(MESSAGE));

		equal(line?.PRIORITY, priority, `priority of ${text}`);
		equal(line.SYSLOG_IDENTIFIER, "verbsd", "name");
	}
});

await with_journal("a reload is told to systemd with its time", async () => {
	const before = await run_of_daemon();

	await systemctl("log-level", "debug");
	await systemctl("reload", SERVICE);
	await until("an event", async () => (await call("GET", "/v1/events?type=daemon_reloaded")).items.length === 1);
	const said = await until("the end of the reload in the journal", async () => {
		const text = await journal();
		return /Changed reload -> running/.test(text) && text;
	});
	ok(/RELOADING=1[^)]*MONOTONIC_USEC=\d+/.test(said), "systemd got no RELOADING=1 with MONOTONIC_USEC");
	await systemctl("log-level", "info");
	equal(await run_of_daemon(), before, "run of the daemon");
});

await with_journal("a daemon that is killed is started again, and has its events of before", async () => {
	const store = (await call("GET", "/v1")).store;
	const before = await call("GET", "/v1/events?limit=1000");

	equal(store.status, "ok", `the store: ${store.detail}`);
	equal(statSync(STATE).mode & 0o7777, 0o700, "mode of the folder of state");
	await until("everything kept", async () => (await call("GET", "/v1/stats")).store_waiting === 0);
	await is_restarted_after(() => main_gets("KILL"));
	const after = await call("GET", `/v1/events?limit=1000&after=${before.server_id}-0`);
	equal(after.resumed, true, "resumed");
	equal(JSON.stringify(after.items.slice(0, before.items.length)), JSON.stringify(before.items), "events of before");
	ok(after.items[before.items.length].seq > before.last, "the numbers do not grow");
});

await with_journal("kept objects are back after a crash, a kept shared buffer with its bytes; after a stop it has zeros", async () => {
	await call("POST", "/v1/listeners", { name: "door", addr: "0.0.0.0", port: RDMA_PORT + 1, keep: true });
	await call("POST", "/v1/connections", { name: "self", dst_addr: addr, dst_port: RDMA_PORT + 1, keep: true });
	const { desired } = await call("POST", "/v1/buffers", { name: "pool", kind: "shared", size_bytes: 65536, keep: true });

	equal(desired.bytes_outlive_restart, true, "bytes_outlive_restart");
	const zeros = await checksum();
	await call("PUT", "/v1/buffers/pool/data", Buffer.from("what was there"));
	const bytes = await checksum();
	for (const signal of ["KILL", "SEGV"]) {
		await is_restarted_after(() => main_gets(signal));
		await kept_are_up();
		equal(await checksum(), bytes, `bytes after ${signal}`);
	}
	await systemctl("restart", SERVICE);
	await kept_are_up();
	equal(await checksum(), bytes, "bytes after a restart");
	await is("NFileDescriptorStore", "1");
	await systemctl("stop", SERVICE);
	await is("NFileDescriptorStore", "0");
	await systemctl("start", SERVICE);
	await kept_are_up();
	equal(await checksum(), zeros, "bytes after a stop");
	for (const path of ["buffers/pool", "connections/self", "listeners/door"])
		await call("DELETE", `/v1/${path}`);
	await until("systemd to let go", async () => await property("NFileDescriptorStore") === "0");
});

await with_journal("a daemon that feeds no watchdog is started again", async () => {
	drop_in("watchdog", "[Service]\nWatchdogSec=3\n");
	await systemctl("daemon-reload");
	await systemctl("restart", SERVICE);
	await ready();
	await is_restarted_after(() => main_gets("STOP"));
	ok(/Watchdog timeout/.test(await journal()), "the journal says nothing of the watchdog");
});

await with_journal("a stop with a busy connection is a clean end in time", async () => {
	const { ended } = await is_busy(await connect_to_itself());

	await systemctl("stop", SERVICE);
	await ended;
	await is("ActiveState", "inactive");
	await is("Result", "success");
	await is("ExecMainStatus", "0");
});

await with_journal("the first client of systemd's socket starts the service", async () => {
	await systemctl("disable", "--now", SERVICE);
	await systemctl("enable", "--now", SOCKET);
	await is("ActiveState", "inactive");
	const { gid, mode } = statSync(HTTP_SOCKET);
	equal(gid, Number((await run("getent", "group", "verbsd")).split(":")[2]), "group of the socket");
	equal(mode & 0o7777, 0o660, "mode of the socket");
	await ready();
	await is("ActiveState", "active");
	await systemctl("stop", SERVICE);
	await ready(); // the socket outlives the daemon, and starts another one
	await systemctl("disable", "--now", SOCKET); // takes the file of the socket away
	await systemctl("enable", SERVICE);
	await systemctl("restart", SERVICE);
});

await with_journal("a second daemon has folders of its own, and a second device", async () => {
	write_file("/etc/verbsd/b.yaml", `unix_socket: ${INSTANCE_SOCKET}\nlisten: ""\n`);
	await run("sh", "-ec", blocks("A second daemon on the host", "sh")[0]);
	await is("ActiveState", "active", INSTANCE);
	await on_second("POST", "/v1/listeners", { addr: SECOND.addr, port: RDMA_PORT + 2 });
	equal(statSync(`${STATE}/b/state.db`).uid, statSync(STATE).uid, "owner of the second state");
	ok((await on_second("GET", "/v1")).server_id !== await run_of_daemon(), "both are one daemon");
});

// Moves bytes from a buffer of each kind of one daemon to the other one, and a datagram to a group.
async function they_talk() {
	const { device, addr } = SECOND;
	const size_bytes = 2 << 20;
	const connection = (await call("POST", "/v1/connections", { dst_addr: addr, dst_port: RDMA_PORT + 2 })).id;
	const there = await on_second("POST", "/v1/ud_endpoints", { device, addr });
	const here = await call("POST", "/v1/ud_endpoints", { device, addr });

	for (const kind of ["anonymous", "shared", "hugepage"]) {
		const bytes = randomBytes(size_bytes);
		const from = await call("POST", "/v1/buffers", { device, kind, size_bytes });
		const to = await on_second("POST", "/v1/buffers", { device, kind, size_bytes, access: ["remote_write"] });
		const sum = async (of, { id }) => (await of("GET", `/v1/buffers/${id}/checksum`)).checksum;

		await call("PUT", `/v1/buffers/${from.id}/data`, bytes);
		await call("POST", "/v1/transfers", { op: "write", connection, buffer: from.id, remote: { addr: to.addr, rkey: to.rkey } });
		equal(await sum(on_second, to), await sum(call, from), `checksum of a buffer of the kind ${kind}`);
	}
	await on_second("POST", "/v1/multicast_memberships", { ud_endpoint: there.id, addr: "239.1.2.3" });
	const { id } = await call("POST", "/v1/multicast_memberships", { ud_endpoint: here.id, addr: "239.1.2.3", mode: "send_only" });
	await call("POST", `/v1/ud_endpoints/${here.id}/messages`, { multicast_membership: id, data: "to all" });
	await until("the datagram", async () => (await on_second("GET", `/v1/ud_endpoints/${there.id}/messages`)).items[0]?.data === "to all");
	for (const [of, endpoint] of [[call, here], [on_second, there]])
		await of("DELETE", `/v1/ud_endpoints/${endpoint.id}`);
}

await with_journal("sandbox: two daemons exchange all kinds of data, also after their device was unplugged", async () => {
	const is_present = async (of) => (await of("GET", `/v1/devices/${SECOND.device}`)).state === "present";
	const { netdev } = JSON.parse(await run("rdma", "-j", "link", "show", `${SECOND.device}/1`))[0];

	write_file("/proc/sys/vm/nr_hugepages", "16");
	await they_talk();
	await run("rdma", "link", "delete", SECOND.device);
	for (const of of [call, on_second])
		await until("no device", async () => !await is_present(of));
	await run("rdma", "link", "add", SECOND.device, "type", "rxe", "netdev", netdev);
	for (const of of [call, on_second])
		await until("the device", () => is_present(of));
	await they_talk();
});

await with_journal("an upgrade under load restarts both daemons, and a kept shared buffer has its bytes", async () => {
	const runs = async () => [await run_of_daemon(), (await on_second("GET", "/v1")).server_id];
	const before = await runs();
	const newer = await newer_packages();

	await call("POST", "/v1/buffers", { name: "pool", kind: "shared", size_bytes: 65536, keep: true });
	await call("PUT", "/v1/buffers/pool/data", randomBytes(65536));
	const bytes = await checksum();
	const { ended } = await is_busy(await connect_to_itself());
	await dpkg("-i", ...newer);
	await ended;
	await is_up("pool");
	equal(await checksum(), bytes, "bytes after the upgrade");
	equal((await run("dpkg-query", "-W", "-f", "${Version}", "verbsd")), NEWER, "version");
	for (const [i, id] of (await runs()).entries())
		ok(id !== before[i], `daemon ${i} was not restarted`);
	await call("DELETE", "/v1/buffers/pool");
});

await play_options();

await with_journal("a purge stops both daemons, and takes away what they kept", async () => {
	await dpkg("--purge", "verbsd", "verbsctl");
	for (const name of [SERVICE, INSTANCE])
		await is("ActiveState", "inactive", name);
	for (const path of ["/usr/bin/verbsd", "/usr/bin/verbsctl", STATE, "/var/log/verbsd", "/run/verbsd"])
		ok(!existsSync(path), `${path} is left`);
});

finish();
