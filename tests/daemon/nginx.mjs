// SPDX-License-Identifier: Apache-2.0
//
// Starts nginx with servers of a test.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";

import { until } from "./lib.mjs";

const PATH = { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } };

export function has_nginx() {
	try {
		execFileSync("nginx", ["-v"], { stdio: "ignore", ...PATH });
		return true;
	} catch (error) {
		if (error.code !== "ENOENT") throw error;
		return false;
	}
}

// Runs nginx with the servers of a configuration until the test is over.
export async function start_nginx(t, folder, servers, port) {
	const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`).join(" ");
	const config = join(folder, "nginx.conf");

	mkdirSync(join(folder, "logs"), { recursive: true });
	writeFileSync(config, `daemon off; master_process off; pid nginx.pid; error_log stderr; events {}
http { access_log off; ${temporary}\n${servers}\n}\n`);
	const nginx = spawn("nginx", ["-p", folder, "-c", config], { stdio: ["ignore", "ignore", "pipe"], ...PATH });
	let errors = "";

	nginx.stderr.on("data", (data) => (errors += data));
	t.after(async () => {
		if (nginx.exitCode !== null) return;
		nginx.kill("SIGKILL");
		await once(nginx, "exit");
	});
	await until(async () => {
		if (nginx.exitCode !== null) throw new Error(`nginx ended: ${errors}`);
		const socket = net.connect(port, "127.0.0.1");

		return Promise.race([once(socket, "connect").then(() => true), once(socket, "error").then(() => false)])
			.catch(() => false).finally(() => socket.destroy());
	});
}
