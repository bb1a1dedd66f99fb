// SPDX-License-Identifier: Apache-2.0
//
// The installed service on the host of docs/production.md, for suites with a systemd. Besides, the tokens of two roles are
// credentials of the unit.
//
// A systemd of its own is process 1 of a PID namespace in the guest. It knows only the units that it is given here.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import http from "node:http";

import { Ca } from "../certificates.mjs";
import { callers, files, settings, unit } from "../production_host.mjs";
import { scratch_folder } from "../scratch.mjs";
import { PATIENCE_MS, WAIT_S, addr, build, equal, ok, run, scenario, until, write_file } from "./lib.mjs";

export const SERVICE = "verbsd.service";
export const SOCKET = "verbsd.socket";
export const UNITS = "/run/units";
const GENERATORS = "/run/no-generators";
export const TREE = `${build}/tests/rdma/systemd/tree`;
export const HTTP_SOCKET = "/run/verbsd/verbsd.sock";
export const AUDIT = "/var/log/verbsd/audit";
export const STATE = "/var/lib/verbsd";
const RDMA_PORT = 7471;

// Units of the system that the service refers to, and those of the journal.
const SYSTEM_UNITS = ["basic.target", "network.target", "shutdown.target", "sockets.target", "sysinit.target", "umount.target",
	"modprobe@.service", "systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket"];

// --- the machine -------------------------------------------------------------------------------------------------

export const find = (folder, name) => readdirSync(folder, { recursive: true }).find((path) => path.endsWith(name));
export let config = "";

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

export function drop_in(name, text) {
	mkdirSync(`${UNITS}/${SERVICE}.d`, { recursive: true });
	write_file(`${UNITS}/${SERVICE}.d/${name}.conf`, text);
}

const ROLES = ["control", "read"];

async function make_production_host() {
	const made = scratch_folder("made");
	const lines = (text) => ROLES.map((role) => `${text(role)}\n`).join("");

	mkdirSync("/etc/verbsd", { recursive: true });
	new Ca(made).issueServer();
	write_file(`${made}/callers.yaml`, callers);
	await run("sh", "-ec", `cd ${made}\n${files}`);
	await run("sh", "-ec", `umask 077\n${lines((role) => `openssl rand -hex 32 >/etc/verbsd/${role}.token`)}`);
	drop_in("override", `${unit}${lines((role) => `LoadCredential=${role}:/etc/verbsd/${role}.token`)}`);
	write_file(config, `${settings}${lines((role) => `${role}_token_file: /run/credentials/verbsd.service/${role}`)}`);
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
export const inside = (...command) => ["-t", process_1, "--pid", "--mount", "--cgroup", ...command];
export const systemctl = (...words) => run("nsenter", ...inside("systemctl", "--no-pager", ...words));
export const journal = (...words) => run("nsenter", ...inside("journalctl", "--no-pager", "-o", "cat", "-u", SERVICE, ...words));
export const property = async (name) => (await systemctl("show", "--value", "-p", name, SERVICE)).trim();
export const is = async (name, wanted) => equal(await property(name), wanted, name);

// --- the daemon --------------------------------------------------------------------------------------------------

export const token = (name) => readFileSync(`/etc/verbsd/${name}.token`, "utf8").trim();

// Sends a request to the unix socket, or with a token to the loopback. A body is JSON, or the bytes of a buffer.
export function request(method, path, { body, as } = {}) {
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

export async function call(method, path, body) {
	const answer = await request(method, path, { body });

	ok(answer.status < 300, `${method} ${path}: ${answer.status}: ${answer.body?.detail}`);
	return answer.body;
}

export const ready = () => until("/readyz 200", async () =>
	(await request("GET", "/readyz").catch(() => ({}))).status === 200);
export const run_of_daemon = async () => (await call("GET", "/v1")).server_id;

export async function connect_to_itself() {
	await call("POST", "/v1/listeners", { addr: "0.0.0.0", port: RDMA_PORT });
	const connection = await call("POST", "/v1/connections", { dst_addr: addr, dst_port: RDMA_PORT, timeout_ms: PATIENCE_MS });

	equal(connection.state, "established", "state of the connection");
	return connection;
}

// Performs an act that ends the daemon, and waits for the next one.
export async function is_restarted_after(act) {
	const restarts = Number(await property("NRestarts"));
	const before = await run_of_daemon();

	await act();
	await until("another run of the daemon", async () => await run_of_daemon().catch(() => before) !== before);
	equal(Number(await property("NRestarts")), restarts + 1, "number of restarts");
	await ready();
}

// A scenario that prints the end of the journal when it fails.
export function with_journal(name, play) {
	return scenario(name, () => play().catch(async (error) => {
		console.log(await journal("-n", "30"));
		throw error;
	}));
}

export const main_gets = (signal) => systemctl("kill", "--kill-whom=main", `--signal=${signal}`, SERVICE);

// --- start ------------------------------------------------------------------------------------------------------

await install();
await make_production_host();
process_1 = await boot();
await until("systemd to answer", () => existsSync("/run/systemd/private"));
await systemctl("start", "suite.target");
