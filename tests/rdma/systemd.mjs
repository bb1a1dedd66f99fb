// SPDX-License-Identifier: Apache-2.0
//
// systemd runs the installed service on the host of docs/production.md: start, credentials, reload, watchdog,
// crash, stop, socket activation; and each option in the sandbox of the unit.

import { cpSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";

import { blocks } from "../production_host.mjs";
import { equal, finish, ok, run, until, write_file } from "./lib.mjs";
import { play_options } from "./sandbox.mjs";
import { AUDIT, HTTP_SOCKET, SERVICE, SOCKET, STATE, TREE, UNITS, call, config, connect_to_itself, drop_in, find, is, is_restarted_after, journal, main_gets, property, ready, request, run_of_daemon, systemctl, token, with_journal } from "./systemd_host.mjs";

// --- scenarios ---------------------------------------------------------------------------------------------------

await with_journal("the service is ready when its start returns, and RDMA works in its sandbox", async () => {
	await systemctl("start", SERVICE);
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

await with_journal("a kept shared buffer has its bytes after a kill and a restart, and zeros after a stop", async () => {
	const checksum = async () => (await call("GET", "/v1/buffers/pool/checksum")).checksum;
	const is_up = () => until("the buffer to be there", async () => (await call("GET", "/v1/kept_objects/pool")).state === "up");
	const { desired } = await call("POST", "/v1/buffers", { name: "pool", kind: "shared", size_bytes: 65536, keep: true });

	equal(desired.bytes_outlive_restart, true, "bytes_outlive_restart");
	const zeros = await checksum();
	await call("PUT", "/v1/buffers/pool/data", Buffer.from("what was there"));
	const bytes = await checksum();
	await is_restarted_after(() => main_gets("KILL"));
	await is_up();
	equal(await checksum(), bytes, "bytes after a kill");
	await systemctl("restart", SERVICE);
	await ready();
	await is_up();
	equal(await checksum(), bytes, "bytes after a restart");
	await is("NFileDescriptorStore", "1");
	await systemctl("stop", SERVICE);
	await is("NFileDescriptorStore", "0");
	await systemctl("start", SERVICE);
	await ready();
	await is_up();
	equal(await checksum(), zeros, "bytes after a stop");
	await call("DELETE", "/v1/buffers/pool");
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

await with_journal("a stop with a connection open is a clean end in time", async () => {
	await connect_to_itself();
	await systemctl("stop", SERVICE);
	await is("ActiveState", "inactive");
	await is("Result", "success");
	await is("ExecMainStatus", "0");
});

await with_journal("the first client of systemd's socket starts the service", async () => {
	cpSync(`/${find(TREE, SOCKET)}`, `${UNITS}/${SOCKET}`);
	await systemctl("daemon-reload");
	await systemctl("start", SOCKET);
	await is("ActiveState", "inactive");
	const { gid, mode } = statSync(HTTP_SOCKET);
	equal(gid, Number((await run("getent", "group", "verbsd")).split(":")[2]), "group of the socket");
	equal(mode & 0o7777, 0o660, "mode of the socket");
	await ready();
	await is("ActiveState", "active");
	await systemctl("stop", SERVICE);
	await ready(); // the socket outlives the daemon, and starts another one
});

await with_journal("a second daemon runs beside the first one, with folders of its own", async () => {
	const [make_unit] = blocks("A second daemon on the host", "sh")[0].split(/^systemctl/m);
	const socket = "/run/verbsd-b/verbsd.sock";
	const second = config.replace("/verbsd/", "/verbsd-b/");

	mkdirSync(dirname(second), { recursive: true });
	write_file(second, `unix_socket: ${socket}\nlisten: ""\n`);
	await run("sh", "-ec", make_unit.replaceAll(/\/(lib|etc)\/systemd\/system/g, UNITS));
	await systemctl("daemon-reload");
	await systemctl("start", SERVICE, "verbsd-b.service");
	await run("curl", "-fsS", "--unix-socket", socket, "http://verbsd/readyz");
	await ready();
	equal(statSync(`${STATE}-b`).uid, statSync(STATE).uid, "owner of the second folder of state");
	await systemctl("stop", "verbsd-b.service");
});

await play_options();
finish();
