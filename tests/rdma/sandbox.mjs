// SPDX-License-Identifier: Apache-2.0
//
// Each option of verbsd.yaml in the sandbox of the unit, as shipped: it works there, or the start ends for good with a
// sentence that says so, and what the manual adds to the unit for it lets it work. Part of systemd.mjs.

import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import https from "node:https";

import { Ca } from "../certificates.mjs";
import { Failure, PATIENCE_MS, addr, equal, ok, run, until, write_file } from "./lib.mjs";
import { HTTP_SOCKET, SERVICE, SOCKET, call, config, connect_to_itself, drop_in, drop_ins, is, is_up, journal, property, systemctl, with_journal } from "./systemd_host.mjs";

const FILES = "/etc/verbsd/sandbox";
const ELSEWHERE = "/srv/verbsd";
const HUGEPAGES = "/proc/sys/vm/nr_hugepages";
const manual = readFileSync(new URL("../../docs/verbsd.yaml.5.scd", import.meta.url), "utf8");

// A file that root may change and the daemon's group may read.
const readable = async (name, text) => {
	write_file(`${FILES}/${name}`, text);
	await run("chgrp", "verbsd", `${FILES}/${name}`);
	chmodSync(`${FILES}/${name}`, 0o640);
};

let ca;
async function make_files() {
	const id = async (flag) => Number(await run("id", flag, "verbsd"));

	mkdirSync(FILES, { recursive: true });
	mkdirSync(ELSEWHERE, { recursive: true });
	chownSync(ELSEWHERE, await id("-u"), await id("-g"));
	ca = new Ca(FILES);
	ca.issueServer("server", `IP:${addr}`);
	ca.issue("client");
	ca.revoke();
	await readable("server.key", ca.read("server.key"));
	for (const name of ["control", "read"])
		await readable(name, `${name[0].repeat(64)}\n`);
	await readable("callers", "- {name: paper, role: operate, users: [news]}\n");
}

// --- what a client sees ------------------------------------------------------------------------------------------

// Returns the status and the text of an answer.
const get = (url, options = {}) => new Promise((done, fail) => {
	const { protocol, hostname, port, pathname, search } = new URL(url);
	const sent = (protocol === "https:" ? https : http).get({
		host: hostname.replace(/[[\]]/g, ""), port, path: pathname + search, agent: false, ca: ca.read("ca.pem"), ...options,
	}, (answer) => {
		let text = "";

		answer.on("data", (part) => { text += part; });
		answer.on("error", fail);
		answer.on("end", () => done({ status: answer.statusCode, text }));
	});

	sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error("no answer")));
	sent.on("error", fail);
});

const bearer = (letter) => ({ headers: { Authorization: `Bearer ${letter.repeat(64)}` } });
const serves = async (url, options) => equal((await get(url, options)).status, 200, `status of ${url}`);
const role = async (user, wanted) => {
	const said = await run("setpriv", `--reuid=${user}`, `--regid=${user}`, "--init-groups", "verbsctl", "--server",
		`unix:${HTTP_SOCKET}`, "--json", "status").catch(() => '{"caller": {"role": null}}');
	equal(JSON.parse(said).caller.role, wanted, `role of ${user}`);
};
const threads = async () => (await run("sh", "-c", `cat /proc/${await property("MainPID")}/task/*/comm`))
	.match(/^verbsd-data-/mg).length;

// --- the options -------------------------------------------------------------------------------------------------

// A value that is not the default, and how it shows that the value is in effect. A number without a row here is twice
// its default, and a flag is the other one. Large numbers of what takes descriptors and threads are the largest.
const TOGETHER = {
	"listen": [["127.0.0.1:7480", "[::1]:7480", `http://${addr}:7481`, `https://${addr}:7480`], async () => {
		for (const url of ["http://127.0.0.1:7480/livez", "http://[::1]:7480/livez", `http://${addr}:7481/livez`])
			await serves(url);
	}],
	"unix_socket": [HTTP_SOCKET],
	"unix_socket_group": ["verbsd"],
	"unix_socket_mode": ["0666"],
	"control_token_file": [`${FILES}/control`, () => serves("http://127.0.0.1:7480/v1", bearer("c"))],
	"read_token_file": [`${FILES}/read`, () => serves("http://127.0.0.1:7480/v1", bearer("r"))],
	"callers_file": [`${FILES}/callers`, () => role("news", "operate")],
	"control_group": ["daemon", () => role("daemon", "control")],
	"operate_group": ["bin", () => role("bin", "operate")],
	"read_group": ["games", async () => { await role("games", "read"); await role("mail", null); }],
	"allowed_hosts": [["sandbox.example"], () => serves("http://127.0.0.1:7480/livez", { headers: { Host: "sandbox.example" } })],
	"workers": [64, async () => equal(await threads(), 64, "number of workers")],
	"cpu_affinity": ["0"],
	"log_level": ["debug"],
	"log_format": ["json"],
	"audit_file": ["/var/log/verbsd/other"],
	"state_dir": ["/var/lib/verbsd/other", async () => equal((await call("GET", "/v1")).store.status, "ok", "store")],
	"tls.certificate": [`${FILES}/server.pem`],
	"tls.key": [`${FILES}/server.key`, () => serves(`https://${addr}:7480/livez`, ca.credentials("client"))],
	"tls.client_ca": [`${FILES}/ca.pem`],
	"tls.client_crl": [`${FILES}/ca-crl.pem`],
	"tls.client_certificate": ["required", async () =>
		ok(await get(`https://${addr}:7480/livez`).then(() => false, () => true), "a client without a certificate is served")],
	"shutdown_timeout_ms": ["10m"],
	"limits.http_connections": [65536],
	// Lists, which the file has and the command line has not.
	"listeners": [[{ name: "door", addr: "0.0.0.0", port: 7471 }], () => is_up("door")],
	"buffers": [[{ name: "pool", size_bytes: 65536, kind: "shared" }, { name: "huge", size_bytes: 2097152, kind: "hugepage" }],
		async () => { await is_up("pool"); await is_up("huge"); }],
	"connections": [[{ name: "self", dst_addr: addr, dst_port: 7471 }], () => is_up("self")],
};

// Each row has values that the unit as shipped has no room for, the sentence of the start, and the lines that the manual
// adds to the unit for them.
const ELSE = "ReadWritePaths=/srv/verbsd";
const LOW_PORTS = ["AmbientCapabilities=CAP_NET_BIND_SERVICE", "CapabilityBoundingSet=CAP_NET_BIND_SERVICE"];
const REFUSED = [
	[{ cpu_affinity: "0" }, /cpu_affinity: .*SystemCallFilter=sched_setaffinity/, "SystemCallFilter=sched_setaffinity"],
	[{ listen: ["127.0.0.1:443"] }, /port 443, which needs CAP_NET_BIND_SERVICE/, ...LOW_PORTS],
	[{ unix_socket_group: "rdma" }, /group.*SupplementaryGroups/, "SupplementaryGroups=rdma", "SystemCallFilter=lchown"],
	[{ unix_socket: `${ELSEWHERE}/sock` }, /srv\/verbsd\/sock.*EROFS/, ELSE],
	[{ audit_file: `${ELSEWHERE}/audit` }, /audit_file: .*EROFS/, ELSE],
	[{ control_token_file: "/etc/verbsd/control.token" }, /control_token_file: .*control\.token/],
	[{ "tls.certificate": `${FILES}/server.pem`, "tls.key": "/root/server.key" }, /tls\.key: .*\/root/],
];

// --- the service -------------------------------------------------------------------------------------------------

function yaml(values) {
	const tree = {};

	for (const [key, value] of Object.entries(values)) {
		const [name, section] = key.split(".").reverse();

		(section ? tree[section] ??= {} : tree)[name] = value;
	}
	return Object.entries(tree).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`).join("");
}

async function start(values, ...lines) {
	drop_in("override", ["[Service]", ...lines, ""].join("\n"));
	write_file(config, yaml({ listen: [], unix_socket: HTTP_SOCKET, log_format: "journal", ...values }));
	await systemctl("daemon-reload");
	await systemctl("restart", SERVICE);
}

// Returns each key with its default.
async function all_keys() {
	let section = "";

	return (await run("verbsd", "--dump-config")).trim().split("\n").flatMap((line) => {
		const [, indent, name, value] = line.match(/^( *)(\w+):(?: (.*))?$/);

		section = value === undefined ? `${name}.` : indent && section;
		return value === undefined ? [] : [[section + name, value]];
	});
}

function another_value(key, value) {
	ok(/^(\d+|true|false)$/.test(value), `tests/rdma/sandbox.mjs has no row for ${key}`);
	return /^\d+$/.test(value) ? 2 * value : value === "false";
}

const of_this_run = async () => journal(`_SYSTEMD_INVOCATION_ID=${await property("InvocationID")}`);

async function is_refused(said) {
	await until("the end of the service", async () => await property("ActiveState") === "failed");
	await is("ExecMainStatus", "2");
	await is("NRestarts", "0");
	await until(`${said} in the journal`, async () => said.test(await of_this_run()));
}

const fails = (starting) => starting.then(() => { throw new Failure("it started"); }, () => undefined);

export async function play_options() {
	await systemctl("stop", SOCKET, SERVICE);
	rmSync(drop_ins, { recursive: true });
	await make_files();
	write_file(HUGEPAGES, "8");

	await with_journal("sandbox: all options of verbsd.yaml work together", async () => {
		const values = Object.fromEntries(Object.entries(TOGETHER).map(([key, [value]]) => [key, value]));

		for (const [key, value] of await all_keys())
			values[key] ??= another_value(key, value);
		await start(values, "SystemCallFilter=sched_setaffinity");
		for (const [, look] of Object.values(TOGETHER))
			await look?.();
		const metrics = (await get("http://127.0.0.1:7480/metrics", bearer("r"))).text;
		for (const [, metric, key] of metrics.matchAll(/^# HELP (\w+) (limits\.\w+) of the configuration/gm))
			equal(Number(metrics.match(new RegExp(`^${metric} (.*)$`, "m"))[1]), values[key], key);
		const { checks } = JSON.parse((await get("http://127.0.0.1:7480/readyz?verbose", bearer("r"))).text);
		equal(checks.filter(({ status }) => status !== "ok").map(({ name }) => name).join(), "fault_injection", "checks of /readyz");
		const warnings = (await of_this_run()).split("\n").filter((line) => /"level":"(warning|error)"/.test(line));
		equal(warnings.filter((line) => !/insecure|fault_injection/.test(line)).join("\n"), "", "warnings");
	});

	for (const [values, said, ...lines] of REFUSED)
		await with_journal(`sandbox: ${Object.entries(values).at(-1).join(" ")} ends the start for good${lines.length ? `, unless ${lines[0]}` : ""}`, async () => {
			await fails(start(values));
			await is_refused(said);
			const { argv } = (await systemctl("cat", SERVICE)).match(/^ExecStart=(?<argv>.*)$/m).groups;
			drop_in("check", `[Service]\nType=oneshot\nExecStart=\nExecStart=${argv} --check-config\n`);
			await fails(start(values));
			await is_refused(said);
			rmSync(`${drop_ins}/check.conf`);
			for (const line of lines)
				ok(manual.includes(`\n${line}\n`), `the manual has no ${line}`);
			if (lines.length)
				await start(values, ...lines);
		});

	await with_journal("sandbox: a state_dir elsewhere is told, and works with ReadWritePaths", async () => {
		const store = async () => (await call("GET", "/v1")).store;

		await start({ state_dir: `${ELSEWHERE}/state` });
		const { status, detail } = await store();
		ok(status === "degraded" && /EROFS/.test(detail), `the store is ${status}: ${detail}`);
		await start({ state_dir: `${ELSEWHERE}/state` }, ELSE);
		equal((await store()).status, "ok", "status of the store");
	});

	await with_journal("sandbox: a listener at a low RDMA port is told, and works with a capability", async () => {
		const listeners = [{ name: "low", addr: "0.0.0.0", port: 700 }];

		await start({ listeners });
		const error = await until("the error", async () => (await call("GET", "/v1/kept_objects/low")).error);
		ok(/CAP_NET_BIND_SERVICE/.test(error.hint), `the error is ${error.detail}, and the hint ${error.hint}`);
		await start({ listeners }, ...LOW_PORTS);
		await is_up("low");
	});

	await with_journal("sandbox: a stop may take as long as shutdown_timeout_ms, also beyond TimeoutStopSec", async () => {
		await start({ fault_injection: true, drain_timeout_ms: "1s", shutdown_timeout_ms: "41s" }, "TimeoutStopSec=1");
		const connection = await connect_to_itself();
		const buffer = await call("POST", "/v1/buffers", { size_bytes: 4096 });
		await call("POST", "/v1/faults", { effect: "delay_completions", delay_ms: 4000 });
		call("POST", "/v1/transfers", { op: "send", connection: connection.id, buffer: buffer.id, length_bytes: 64 }).catch(() => undefined);
		await until("a transfer", async () => (await call("GET", "/v1/transfers")).items.length);
		await systemctl("stop", SERVICE);
		await is("Result", "success");
		await is("ExecMainStatus", "0");
	});
}
