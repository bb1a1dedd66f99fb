// SPDX-License-Identifier: Apache-2.0
//
// docs/tls.md as a new user follows it: its commands make the certificates, its configuration starts two daemons, and
// curl, verbsctl and the examples reach them.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import tls from "node:tls";
import { promisify } from "node:util";

import { scratch_folder } from "../scratch.mjs";
import { VERBSD, daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };
const guide = readFileSync(new URL("../../docs/tls.md", import.meta.url), "utf8");
const examples = new URL("../../examples/", import.meta.url).pathname;
const PATH = `${dirname(process.env.VBD_CTL)}:${process.env.PATH}`;

// Returns the blocks of a language in the guide, for this host.
function blocks(language) {
	const fence = new RegExp("```" + language + "\n(.*?)```", "gs");
	const here = guide.replaceAll("a.example", "localhost").replaceAll("192.0.2.10", "127.0.0.1");

	return [...here.matchAll(fence)].map(([, text]) => text);
}

const [makeCa, makeServer, makeClient, makeTokens, useClients] = blocks("sh");
const [configuration, callers] = blocks("yaml");
const run = promisify(execFile);
const shell = (cwd, text, env) => run("bash", ["-euc", text], { cwd, env: { PATH, ...env } });

async function prepare() {
	const folder = scratch_folder("guide");

	for (const text of [makeCa, makeServer, makeClient, makeTokens]) await shell(folder, text);
	return folder;
}

function configure(folder, listen = "https://127.0.0.1:0") {
	const path = join(folder, "verbsd.yaml");

	writeFileSync(path, configuration.replace(/^listen: .*$/m, `listen: ["${listen}"]`)
		.replace(/: (\S+\.(pem|key|token))$/gm, (_, name) => `: ${join(folder, name)}`));
	return path;
}

async function serve(t, folder) {
	const daemon = daemon_of(t, { args: ["--config", configure(folder), "--listen", "https://127.0.0.1:0"] });
	const [, port] = await until(() => {
		if (daemon.process.exitCode !== null) throw new Error(daemon.log);
		return /serves HTTPS on 127.0.0.1, port (\d+)/.exec(daemon.log);
	});
	return { daemon, url: `https://localhost:${port}`, port };
}

const environment = (folder, url) => ({ VERBSD_URL: url, VERBSD_CA: join(folder, "ca.pem"), VERBSD_CERT: join(folder, "alice.pem"),
	VERBSD_KEY: join(folder, "alice.key"), VERBSD_TOKEN_FILE: join(folder, "control.token") });

test("guide: two daemons are reached by curl, verbsctl and the examples, with certificates of both sides", LIMIT, async (t) => {
	const here = await prepare();
	const there = await prepare();
	// The hosts have a CA in common.
	for (const name of ["ca.pem", "ca.key"]) copyFileSync(join(here, name), join(there, name));
	await shell(there, makeServer);
	const daemons = [await serve(t, here), await serve(t, there)];

	const { stdout } = await shell(here, useClients.replaceAll(":7480", `:${daemons[0].port}`));
	assert.match(stdout, /^\{"total":\d+,.*"items":\[/);
	for (const { url } of daemons) {
		const env = environment(here, url);
		if (url === daemons[1].url) env.VERBSD_TOKEN_FILE = join(there, "control.token");
		assert.match((await shell(here, "verbsctl pds --json", env)).stdout, /^\{/);
		assert.match((await shell(here, `${examples}bash/wait-for-event --quiet --after oldest --timeout 30 --type daemon_started`, env)).stdout, /"type": ?"/);
	}
	for (const { daemon } of daemons) assert.equal(await daemon.stop(), 0, daemon.log);
});

test("guide: without the certificate, by HTTP or with another host's CA nobody gets in", LIMIT, async (t) => {
	const folder = await prepare();
	const { daemon, url, port } = await serve(t, folder);
	const env = environment(folder, url);
	const refused = async (says, variables) => {
		const failed = await shell(folder, "verbsctl devices", { ...env, ...variables }).catch((error) => error);
		assert.match(failed.stderr ?? "", says);
	};

	await refused(/certificate required/, { VERBSD_CERT: "", VERBSD_KEY: "" });
	await refused(/malformed_request: .*serves HTTPS/, { VERBSD_URL: `http://localhost:${port}` });
	await refused(/--ca names the file/, { VERBSD_CA: "" });
	await refused(/unauthorized/, { VERBSD_TOKEN_FILE: "" });
	const events = JSON.parse((await shell(folder, "verbsctl events --json", env)).stdout);
	assert.ok(events.items.some(({ type, detail }) => type === "request_refused" && /certificate is refused: there is none/.test(detail)),
		JSON.stringify(events));
	assert.equal(await daemon.stop(), 0, daemon.log);
});

// Returns the serial number of the certificate that a new connection is shown.
function serialAt(port, folder) {
	return new Promise((done, failed) => {
		const socket = tls.connect({ host: "127.0.0.1", port, ca: readFileSync(join(folder, "ca.pem")) }, () => {
			done(socket.getPeerCertificate().serialNumber);
			socket.destroy();
		});
		socket.on("error", failed);
	});
}

test("guide: a certificate names its caller, and a renewed one is served after a reload", LIMIT, async (t) => {
	const folder = await prepare();
	writeFileSync(join(folder, "callers.yaml"), callers, { mode: 0o600 });
	const daemon = daemon_of(t, { args: ["--config", configure(folder), "--listen", "https://127.0.0.1:0",
		"--set", `callers_file=${join(folder, "callers.yaml")}`, "--set", "tls.client_certificate=optional"] });
	const [, port] = await until(() => /serves HTTPS on 127.0.0.1, port (\d+)/.exec(daemon.log));
	const alice = { ...environment(folder, `https://localhost:${port}`), VERBSD_TOKEN_FILE: "" };
	const before = await serialAt(port, folder);

	await shell(folder, "verbsctl devices", alice);
	const who = JSON.parse((await shell(folder, "verbsctl status --json || true", alice)).stdout).caller;
	const { validTo } = new X509Certificate(readFileSync(join(folder, "alice.pem")));
	assert.deepEqual([who.name, who.authenticated_by, who.certificate_name], ["alice", "certificate", "CN:alice"]);
	assert.equal(Date.parse(who.expires_at), Date.parse(validTo));
	await assert.rejects(shell(folder, "verbsctl devices", { ...alice, VERBSD_CERT: "", VERBSD_KEY: "" }), /unauthorized/);
	await shell(folder, makeServer);
	assert.equal(await serialAt(port, folder), before);
	const reload = () => daemon.request("POST", "/v1/reload", { headers: { "Content-Type": "application/json" } });
	const reloaded = await reload();
	assert.equal(reloaded.status, 200, reloaded.text);
	const renewed = await serialAt(port, folder);
	assert.notEqual(renewed, before);
	copyFileSync(join(folder, "alice.key"), join(folder, "server.key"));
	const refused = await reload();
	assert.ok(refused.status >= 400, refused.text);
	assert.match(refused.text, /tls\.key: .*match/);
	assert.equal(await serialAt(port, folder), renewed);
	await shell(folder, "verbsctl devices", alice);
	assert.equal(await daemon.stop(), 0, daemon.log);
});

function check(...args) {
	try {
		return { status: 0, text: execFileSync(VERBSD, [...args, "--check-config"], { encoding: "utf8", stdio: "pipe" }) };
	} catch (error) {
		return { status: error.status, text: error.stdout + error.stderr };
	}
}

test("guide: --check-config reads the files, and warns of an address that no interface has", LIMIT, async () => {
	const folder = await prepare();
	const good = check("--config", configure(folder, "192.0.2.7:7480")); // RFC 5737

	assert.equal(good.status, 0);
	assert.match(good.text, /warning: listen: no interface has the address of 192\.0\.2\.7:7480 now\n.*is fine/);
	copyFileSync(join(folder, "alice.key"), join(folder, "server.key"));
	const bad = check("--config", configure(folder));
	assert.equal(bad.status, 2);
	assert.match(bad.text, /verbsd: tls\.key: .*server\.key: .*match/);
	const open = check("--listen", "192.0.2.7:7480", "--control-token-file", join(folder, "control.token"));
	assert.equal(open.status, 2);
	assert.match(open.text, /served by TLS and needs tls\.certificate and tls\.key/);
	assert.equal(check("--insecure", "--listen", "192.0.2.7:7480", "--control-token-file", join(folder, "control.token")).status, 0);
});
