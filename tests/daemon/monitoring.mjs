// SPDX-License-Identifier: Apache-2.0
//
// docs/monitoring.md as an operator follows it: a real Prometheus scrapes the daemon with the token, and through nginx.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";

import { freePort } from "../../bench/lib/programs.mjs";
import { until } from "./lib.mjs";
import { has_nginx, start_nginx } from "./nginx.mjs";
import { PageHost } from "./page_host.mjs";

const page = readFileSync(new URL("../../docs/monitoring.md", import.meta.url), "utf8");
const blocks = (language) => [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter((match) => match[1] === language).map((match) => match[2]);
const [make_token, check] = blocks("sh");
const [settings, scrape] = blocks("yaml");
const [proxy] = blocks("nginx");

const RULES = "usr/share/verbsd/prometheus/verbsd.rules.yml";
const has_prometheus = ["/usr/bin/prometheus", "/usr/local/bin/prometheus"].some(existsSync);
const OPTIONS = { timeout: 500000, skip: has_prometheus && has_nginx() ? false : "prometheus or nginx is not installed" };

class Host extends PageHost {
	async set_up(text) {
		mkdirSync(dirname(this.path(RULES)), { recursive: true });
		copyFileSync(join(process.env.VBD_SOURCE, "contrib/prometheus/verbsd.rules.yml"), this.path(RULES));
		writeFileSync(this.path("etc/verbsd/verbsd.yaml"), this.here(`unix_socket: /run/verbsd/verbsd.sock\n${text}`));
		await this.start();
	}

	// Starts Prometheus with the configuration of the page for a port, and returns its targets once all were scraped.
	async scrape(text, port) {
		const [config, own] = [this.path("etc/prometheus/prometheus.yml"), await freePort()];

		writeFileSync(config, `global: {scrape_interval: 1s}\n${this.here(text).replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`)}`);
		await this.run(check);
		const prometheus = spawn("prometheus", [`--config.file=${config}`, `--storage.tsdb.path=${this.path("data")}`,
			`--web.listen-address=127.0.0.1:${own}`, "--log.level=warn"], { stdio: ["ignore", "ignore", "inherit"] });
		const ended = new Promise((done) => prometheus.on("exit", done));
		const ask = (path) => fetch(`http://127.0.0.1:${own}/api/v1/${path}`).then((answer) => answer.ok ? answer.json() : undefined, () => undefined);

		this.t.after(() => prometheus.kill("SIGKILL"));
		const targets = await until(async () => {
			if (prometheus.exitCode !== null) throw new Error(`Prometheus ended: ${prometheus.exitCode}`);
			const active = (await ask("targets?state=active"))?.data?.activeTargets ?? [];

			return active.length && active.every(({ health }) => health !== "unknown") && active;
		});
		const rules = (await until(() => ask("rules"))).data.groups.flatMap((group) => group.rules);
		prometheus.kill();
		await ended;
		return { targets: targets.map(({ labels, health, lastError }) => [labels.job, health, lastError]), rules: rules.length };
	}
}

test("Prometheus scrapes a port of the loopback with the token, and has all rules", OPTIONS, async (t) => {
	const host = new Host(t);

	await host.run(make_token);
	await host.set_up(settings);
	const [, port] = /serves HTTP on 127\.0\.0\.1, port (\d+)/.exec(host.daemon.log);
	assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 401);
	const [, count] = /(\d+) rules/.exec(page);
	assert.deepEqual(await host.scrape(scrape, port), { targets: [["verbsd", "up", ""]], rules: Number(count) });
	await host.stop();
});

test("Prometheus scrapes the unix socket through nginx", OPTIONS, async (t) => {
	const host = new Host(t);
	const port = await freePort();

	await host.set_up('listen: ""\n');
	assert.doesNotMatch(host.daemon.log, /serves HTTP on 127/);
	await start_nginx(t, host.folder, host.here(proxy).replace("127.0.0.1:9480", `127.0.0.1:${port}`), port);
	const { targets } = await host.scrape(scrape.replace(/^ *authorization:.*\n/m, ""), port);
	assert.deepEqual(targets, [["verbsd", "up", ""]]);
	assert.equal((await fetch(`http://127.0.0.1:${port}/v1`)).status, 404);
	await host.stop();
});
