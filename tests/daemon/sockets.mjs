// SPDX-License-Identifier: Apache-2.0
//
// The sockets that systemd passes belong to systemd.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { daemon_of, until } from "./lib.mjs";

const LIMIT = { timeout: 500000 };

// Listens on the path of its first argument, and runs the others as systemd does (sd_listen_fds(3)).
const SYSTEMD = `
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
`;

const systemd = (path) => ["python3", "-c", SYSTEMD, path];

test("the socket of systemd stays when the daemon ends", LIMIT, async (t) => {
	const path = join(scratch_folder("systemd"), "socket");
	const daemon = daemon_of(t, { command: systemd(path), socket: path });

	await daemon.up();
	assert.equal(await daemon.stop(), 0);
	assert.ok(existsSync(path));
});

test("the log names the socket of systemd, not that of the configuration", LIMIT, async (t) => {
	const path = join(scratch_folder("systemd"), "socket");
	const daemon = daemon_of(t, { command: systemd(path), socket: path, args: ["--unix-socket", "/nowhere/socket"] });

	await daemon.up();
	assert.equal(await daemon.stop(), 0);
	assert.ok(daemon.log.includes(`serves HTTP on ${path}\n`), daemon.log);
	assert.ok(!daemon.log.includes("/nowhere/socket"), daemon.log);
});

test("a socket of its own is removed at the end, also that of a daemon that was killed", LIMIT, async (t) => {
	const killed = await daemon_of(t).up();

	assert.equal(await killed.stop("SIGKILL"), "SIGKILL");
	assert.ok(existsSync(killed.socket));
	const daemon = await daemon_of(t, { socket: killed.socket }).up();
	assert.equal(await daemon.stop(), 0);
	assert.ok(!existsSync(daemon.socket));
});

test("the socket that another daemon has made on the same path stays", LIMIT, async (t) => {
	const first = await daemon_of(t).up();

	rmSync(first.socket);
	const second = await daemon_of(t, { socket: first.socket }).up();
	assert.equal(await first.stop(), 0);
	assert.equal((await second.get("/livez")).status, 200);
	assert.equal(await second.stop(), 0);
	assert.ok(!existsSync(second.socket));
});

// The first daemon waits for a client whose request is not complete, and listens no more.
test("a daemon that starts while another one stops keeps its socket", LIMIT, async (t) => {
	const first = await daemon_of(t).up();
	const client = net.connect(first.socket);

	client.on("error", () => {});
	client.write("POST /v1/drain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{");
	await once(client, "connect");
	assert.equal((await first.get("/livez")).status, 200);
	first.process.kill("SIGTERM");
	await until(() => first.get("/livez").then(() => false, () => true));
	const second = await daemon_of(t, { socket: first.socket }).up();
	await first.ended;
	client.destroy();
	assert.equal((await second.get("/livez")).status, 200);
	assert.equal(await second.stop(), 0);
});
