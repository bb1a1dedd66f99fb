// SPDX-License-Identifier: Apache-2.0
//
// systemd runs the installed service on the production host of verbsd.yaml(5): start, credentials, reload, watchdog,
// crash, stop, socket activation.
//
// A systemd of its own is process 1 of a PID namespace in the guest. It knows only the units that this suite gives it.

import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import http from "node:http";

import { Ca } from "../certificates.mjs";
import { commands, settings, unit } from "../production_host.mjs";
import { PATIENCE_MS, WAIT_S, addr, build, equal, finish, ok, run, scenario, until, write_file } from "./lib.mjs";

const SERVICE = "verbsd.service";
const SOCKET = "verbsd.socket";
const UNITS = "/run/units";
const GENERATORS = "/run/no-generators";
const TREE = `${build}/tests/rdma/systemd/tree`;
const HTTP_SOCKET = "/run/verbsd/verbsd.sock";
const AUDIT = "/var/log/verbsd/audit";
const STATE = "/var/lib/verbsd";
const RDMA_PORT = 7471;

// Units of the system that the service refers to, and those of the journal.
const SYSTEM_UNITS = ["basic.target", "network.target", "shutdown.target", "sockets.target", "sysinit.target", "umount.target",
	"modprobe@.service", "systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket"];

// --- the machine -------------------------------------------------------------------------------------------------

const find = (folder, name) => readdirSync(folder, { recursive: true }).find((path) => path.endsWith(name));
let config = "";

async function install() {
	await run("cp", "-r", `${TREE}/.`, "/");
	const installed = `/${find(TREE, `system/${SERVICE}`)}`;

	mkdirSync(UNITS);
	mkdirSync(GENERATORS);
	cpSync(installed, `${UNITS}/${SERVICE}`);
	for (const name of SYSTEM_UNITS)
		cpSync(`/lib/systemd/system/${name}`, `${UNITS}/${name}`);
	write_file(`${UNITS}/suite.target`, "[Unit]\nRequires=basic.target systemd-journald.service\nAfter=basic.target\n");
	config = readFileSync(installed, "utf8").match(/^ExecStart=.* --config (\S+)$/m)[1];
	await run("systemd-sysusers");
}

function drop_in(name, text) {
	mkdirSync(`${UNITS}/${SERVICE}.d`, { recursive: true });
	write_file(`${UNITS}/${SERVICE}.d/${name}.conf`, text);
}

async function make_production_host() {
	mkdirSync("/etc/verbsd", { recursive: true });
	await run("sh", "-ec", commands);
	new Ca("/etc/verbsd").issueServer();
	chmodSync("/etc/verbsd/server.key", 0o600);
	drop_in("override", unit);
	write_file(config, `${settings}audit_file: ${AUDIT}\n`);
}

// With cgroup and mount namespaces, as in a container. Credentials need mounts that spread from the namespace of the
// process that makes them, which systemd itself sees to only outside of a container.
function boot() {
	const child = spawn("sh", ["-ec", `
		mkdir /sys/fs/cgroup/systemd
		echo 0 >/sys/fs/cgroup/systemd/cgroup.procs
		exec unshare --pid --fork --mount --cgroup sh -ec '
			mount --make-rshared /
			mount -t proc proc /proc
			umount /sys/fs/cgroup
			mount -t cgroup2 cgroup2 /sys/fs/cgroup
			exec /lib/systemd/systemd --unit=suite.target --log-target=journal --show-status=no'`], {
		stdio: ["ignore", "inherit", "inherit"],
		env: {
			...process.env, container: "lab", SYSTEMD_UNIT_PATH: UNITS, SYSTEMD_GENERATOR_PATH: GENERATORS,
			SYSTEMD_ENVIRONMENT_GENERATOR_PATH: GENERATORS,
		},
	});
	return until("a process 1", () => {
		const pid = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
		return pid && readFileSync(`/proc/${pid}/comm`, "utf8") === "systemd\n" && pid;
	});
}

let process_1 = "";
const inside = (...command) => ["-t", process_1, "--pid", "--mount", "--cgroup", ...command];
const systemctl = (...words) => run("nsenter", ...inside("systemctl", "--no-pager", ...words));
const journal = (...words) => run("nsenter", ...inside("journalctl", "--no-pager", "-o", "cat", "-u", SERVICE, ...words));
const property = async (name) => (await systemctl("show", "--value", "-p", name, SERVICE)).trim();
const is = async (name, wanted) => equal(await property(name), wanted, name);

// --- the daemon --------------------------------------------------------------------------------------------------

const token = (name) => readFileSync(`/etc/verbsd/${name}.token`, "utf8").trim();

// Sends a request to the unix socket, or with a token to the loopback. A body is JSON, or the bytes of a buffer.
function request(method, path, { body, as } = {}) {
	const where = as ? { host: "127.0.0.1", port: 7480 } : { socketPath: HTTP_SOCKET };
	const headers = { "Content-Type": Buffer.isBuffer(body) ? "application/octet-stream" : "application/json", Prefer: `wait=${WAIT_S}`, ...(as && { Authorization: `Bearer ${as}` }) };

	return new Promise((done, fail) => {
		const sent = http.request({ ...where, method, path, headers, agent: false }, (answer) => {
			let text = "";

			answer.on("data", (part) => { text += part; });
			answer.on("error", fail);
			answer.on("end", () => done({ status: answer.statusCode, body: JSON.parse(text || "null") }));
		});

		sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error("no answer")));
		sent.on("error", fail);
		sent.end(Buffer.isBuffer(body) ? body : body && JSON.stringify(body));
	});
}

async function call(method, path, body) {
	const answer = await request(method, path, { body });

	ok(answer.status < 300, `${method} ${path}: ${answer.status}: ${answer.body?.detail}`);
	return answer.body;
}

const ready = () => until("/readyz 200", async () =>
	(await request("GET", "/readyz").catch(() => ({}))).status === 200);
const run_of_daemon = async () => (await call("GET", "/v1")).server_id;

async function connect_to_itself() {
	await call("POST", "/v1/listeners", { addr: "0.0.0.0", port: RDMA_PORT });
	const connection = await call("POST", "/v1/connections", { dst_addr: addr, dst_port: RDMA_PORT, timeout_ms: PATIENCE_MS });

	equal(connection.state, "established", "state of the connection");
}

// Performs an act that ends the daemon, and waits for the next one.
async function is_restarted_after(act) {
	const restarts = Number(await property("NRestarts"));
	const before = await run_of_daemon();

	await act();
	await until("another run of the daemon", async () => await run_of_daemon().catch(() => before) !== before);
	equal(Number(await property("NRestarts")), restarts + 1, "number of restarts");
	await ready();
}

// A scenario that prints the end of the journal when it fails.
function with_journal(name, play) {
	return scenario(name, () => play().catch(async (error) => {
		console.log(await journal("-n", "30"));
		throw error;
	}));
}

const main_gets = (signal) => systemctl("kill", "--kill-whom=main", `--signal=${signal}`, SERVICE);

// --- scenarios ---------------------------------------------------------------------------------------------------

await install();
await make_production_host();
process_1 = await boot();
await until("systemd to answer", () => existsSync("/run/systemd/private"));
await systemctl("start", "suite.target");

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
	equal(gid, Number((await run("getent", "group", "rdma")).split(":")[2]), "group of the socket");
	equal(mode & 0o7777, 0o660, "mode of the socket");
	await ready();
	await is("ActiveState", "active");
	await systemctl("stop", SERVICE);
	await ready(); // the socket outlives the daemon, and starts another one
});

finish();
