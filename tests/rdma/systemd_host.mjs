// SPDX-License-Identifier: Apache-2.0
//
// The installed package on the host of docs/production.md, in a guest with systemd (lab/run --systemd). Besides, the tokens
// of two roles are credentials of the unit.

import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import http from "node:http";

import { Ca } from "../certificates.mjs";
import { callers, files, settings, unit } from "../production_host.mjs";
import { scratch_folder } from "../scratch.mjs";
import { PATIENCE_MS, WAIT_S, addr, build, equal, ok, run, scenario, until, write_file } from "./lib.mjs";

export const SERVICE = "verbsd.service";
export const SOCKET = "verbsd.socket";
export const INSTANCE = "verbsd@b.service";
export const INSTANCE_SOCKET = "/run/verbsd/b.sock";
const UNITS = "/etc/systemd/system";
export const HTTP_SOCKET = "/run/verbsd/verbsd.sock";
export const AUDIT = "/var/log/verbsd/audit";
export const STATE = "/var/lib/verbsd";
export const RDMA_PORT = 7471;

// --- the machine -------------------------------------------------------------------------------------------------

export const config = "/etc/verbsd/verbsd.yaml";

// As `apt install` does at the end. Triggers would index all man pages of the host.
export const dpkg = (...words) => run("dpkg", "--no-triggers", ...words);

export const packages = readdirSync(`${build}/package`).filter((name) => /^verbs(d|ctl)_.*\.deb$/.test(name))
	.map((name) => `${build}/package/${name}`);

// The same packages as a later version.
export const NEWER = "99";
export async function newer_packages() {
	const folder = scratch_folder("newer");

	return Promise.all(packages.map(async (deb, i) => {
		const tree = `${folder}/${i}`;

		await run("dpkg-deb", "-R", deb, tree);
		await run("sed", "-i", `s/^Version: .*/Version: ${NEWER}/`, `${tree}/DEBIAN/control`);
		await run("dpkg-deb", "-Znone", "-b", tree, `${tree}.deb`);
		return `${tree}.deb`;
	}));
}

export const drop_ins = `${UNITS}/${SERVICE}.d`;

export function drop_in(name, text) {
	mkdirSync(drop_ins, { recursive: true });
	write_file(`${drop_ins}/${name}.conf`, text);
}

const ROLES = ["control", "read"];

export async function make_production_host() {
	const made = scratch_folder("made");
	const lines = (text) => ROLES.map((role) => `${text(role)}\n`).join("");

	new Ca(made).issueServer();
	write_file(`${made}/callers.yaml`, callers);
	await run("sh", "-ec", `cd ${made}\n${files}`);
	await run("sh", "-ec", `umask 077\n${lines((role) => `openssl rand -hex 32 >/etc/verbsd/${role}.token`)}`);
	drop_in("override", `${unit}${lines((role) => `LoadCredential=${role}:/etc/verbsd/${role}.token`)}`);
	write_file(config, `${settings}${lines((role) => `${role}_token_file: /run/credentials/verbsd.service/${role}`)}`);
}

export const systemctl = (...words) => run("systemctl", "--no-pager", ...words);
export const journal = (...words) => run("journalctl", "--no-pager", "-o", "cat", "-u", SERVICE, ...words);
export const property = async (name, of = SERVICE) => (await systemctl("show", "--value", "-p", name, of)).trim();
export const is = async (name, wanted, of) => equal(await property(name, of), wanted, name);

// --- the daemon --------------------------------------------------------------------------------------------------

export const token = (name) => readFileSync(`/etc/verbsd/${name}.token`, "utf8").trim();

// Sends a request to the unix socket, or with a token to the loopback. A body is JSON, or the bytes of a buffer.
export function request(method, path, { body, as, socket = HTTP_SOCKET } = {}) {
	const where = as ? { host: "127.0.0.1", port: 7480 } : { socketPath: socket };
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

export async function call(method, path, body, socket) {
	const answer = await request(method, path, { body, socket });

	ok(answer.status < 300, `${method} ${path}: ${answer.status}: ${answer.body?.detail}`);
	return answer.body;
}

export const ready = () => until("/readyz 200", async () =>
	(await request("GET", "/readyz").catch(() => ({}))).status === 200);
export const run_of_daemon = async () => (await call("GET", "/v1")).server_id;

export async function connect_to_itself() {
	await request("POST", "/v1/listeners", { body: { addr: "0.0.0.0", port: RDMA_PORT } }); // refused where one is there
	const connection = await call("POST", "/v1/connections", { dst_addr: addr, dst_port: RDMA_PORT, timeout_ms: PATIENCE_MS });

	equal(connection.state, "established", "state of the connection");
	return connection;
}

export const is_up = (name) => until(`${name} to be up`, async () =>
	(await request("GET", `/v1/kept_objects/${name}`).catch(() => ({}))).body?.state === "up");

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
