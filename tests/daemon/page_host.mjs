// SPDX-License-Identifier: Apache-2.0
//
// Runs the blocks of a page for operators: with paths in a folder, addresses of the loopback, and the user and the group of the
// test.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { scratch_folder } from "../scratch.mjs";
import { VERBSD, daemon_of } from "./lib.mjs";

const run = promisify(execFile);
const id = (flag) => execFileSync("id", [flag], { encoding: "utf8" }).trim();
const [user, group] = [id("-un"), id("-gn")];

const HERE = [
	["-o root -g verbsd", `-o ${user} -g ${group}`],
	["-o verbsd -g verbsd", `-o ${user} -g ${group}`],
	["-o root -g prometheus", `-o ${user} -g ${group}`],
	["_group: rdma-admin\n", `_group: ${group}\n`],
	["_group: rdma\n", `_group: ${group}\n`],
	["192.0.2.10:7480", "https://127.0.0.2:0"],
	["127.0.0.1:7480", "127.0.0.1:0"],
];

// Programs that stand for those that would change the machine: they note how they were called.
const STUBS = {
	groupadd: `echo "groupadd $*" >>calls`,
	systemctl: `echo "systemctl $*" >>calls\n[ "$1" != reload ] || kill -HUP "$(cat pid)"`,
};

// A host on which the blocks of a page run.
export class PageHost {
	constructor(t) {
		this.t = t;
		this.folder = scratch_folder("host");
		for (const name of ["bin", "etc/verbsd", "etc/logrotate.d", "etc/prometheus", "etc/systemd/system", "lib/systemd/system", "run/verbsd", "var/lib/verbsd", "var/log/verbsd", "var/backups"])
			mkdirSync(this.path(name), { recursive: true, mode: 0o700 });
		for (const [name, text] of Object.entries(STUBS))
			writeFileSync(this.path(`bin/${name}`), `#!/bin/sh\ncd '${this.folder}' || exit\n${text}\n`, { mode: 0o755 });
		copyFileSync(VERBSD, this.path("bin/verbsd"));
	}

	path(name) {
		return join(this.folder, name);
	}

	// A text of the page for this host.
	here(text) {
		for (const [from, to] of HERE) text = text.replaceAll(from, to);
		return text.replace(/(?<![\w.])\/(etc|run|var|lib|usr)\//g, `${this.folder}/$1/`);
	}

	// Runs the lines of a block, and returns what they print. A line of systemctl acts on the daemon of the test.
	async run(block) {
		let printed = "";

		for (const line of this.here(block).replaceAll("\\\n", "").trim().split("\n")) {
			const [, verb] = /^systemctl (\w+) verbsd$/.exec(line) ?? [];

			// Else a line would act on the machine.
			assert.doesNotMatch(line.replaceAll(`${this.folder}/`, "here/"), /(^|[^\w.])[/~]\w/);
			if (verb === "stop" || verb === "restart") await this.stop();
			if (verb === "start" || verb === "restart") await this.start();
			if (!verb)
				printed += (await run("bash", ["-euo", "pipefail", "-c", line], {
					cwd: this.folder,
					env: { PATH: `${this.path("bin")}:${dirname(process.env.VBD_CTL)}:${process.env.PATH}:/usr/sbin`, VERBSD_URL: `unix:${this.path("run/verbsd/verbsd.sock")}` },
				})).stdout;
		}
		return printed;
	}

	async start() {
		this.daemon = daemon_of(this.t, { socket: this.path("run/verbsd/verbsd.sock"), options: ["--config", this.path("etc/verbsd/verbsd.yaml")],
			env: { STATE_DIRECTORY: this.path("var/lib/verbsd") } });
		writeFileSync(this.path("pid"), `${this.daemon.process.pid}\n`);
		await this.daemon.up();
	}

	async stop() {
		const { daemon } = this;

		this.daemon = undefined;
		if (daemon) assert.equal(await daemon.stop(), 0, daemon.log);
	}
}
