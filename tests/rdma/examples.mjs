// SPDX-License-Identifier: Apache-2.0
//
// What others take from here, used as they would: the examples, by programs in two languages, over an API that loses
// answers; the filters of the event log, by all three ways of reading it; Prometheus, with the rules and the dashboard.

import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import http from "node:http";
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { filled_in, queries } from "../contrib/dashboard_queries.mjs";
import { Daemon, Failure, PATIENCE_MS, Program, addr, busy, dev, equal, finish, ok, scenario, until, write_file, wrote_something } from "./lib.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PORT = 7471;
const URL_OF = ({ port }) => `http://127.0.0.1:${port}`;

// By name: the program in each language.
const EXAMPLES = {
	bash: { copy: "bash/copy-buffer", wait: "bash/wait-for-event", drain: "bash/drain-listener" },
	python: { copy: "python/copy_buffer.py", wait: "python/wait_for_event.py", drain: "python/drain_listener.py" },
};

// A run of an example: stdout and stderr apart.
class Example {
	constructor(language, name, args, env = {}) {
		this.said = "";
		this.output = "";
		this.child = spawn(`${root}examples/${EXAMPLES[language][name]}`, args.map(String),
			{ stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, PATH: `/usr/bin:${process.env.PATH}`, ...env } });
		this.child.stdout.on("data", (data) => { this.output += data; });
		this.child.stderr.on("data", (data) => { this.said += data; });
		this.ended = new Promise((done, fail) => {
			this.child.on("error", fail);
			this.child.on("close", (status, signal) => done(status ?? signal));
		});
	}

	async ends_with(status) {
		const timer = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE_MS);
		const seen = await this.ended;

		clearTimeout(timer);
		ok(seen === status, `${this.child.spawnargs.join(" ")}: status ${seen}, not ${status}; it said: ${this.said}${this.output}`);
		return this.output;
	}

	async says(pattern) {
		await until(`${this.child.spawnfile} to say ${pattern}`, () => pattern.test(this.said) || this.child.exitCode !== null);
		ok(pattern.test(this.said), `${this.child.spawnfile} said, instead of ${pattern}: ${this.said}`);
	}

	get lines() { return this.output.split("\n").filter(Boolean).map((line) => JSON.parse(line)); }
}

// A way to a daemon that is worse than any real one: the daemon never waits (202 instead of 201), of each second request
// the answer is lost, and now and then it is full. Streams are cut after some of their text.
class BadWay {
	static async to(daemon) {
		const way = new BadWay();

		way.target = daemon;
		way.lost = 0;
		way.refused = 0;
		way.count = 0;
		way.server = http.createServer((request, response) => way.pass(request, response));
		await new Promise((done) => way.server.listen(0, "127.0.0.1", done));
		way.port = way.server.address().port;
		return way;
	}

	pass(request, response) {
		const { prefer, ...headers } = request.headers;
		const number = ++this.count;

		if (number % 7 === 3) {
			this.refused++;
			response.writeHead(429, { "Content-Type": "application/problem+json" })
				.end('{"type":"about:blank","title":"Full","status":429,"code":"limit_reached","detail":"try later"}');
			return;
		}
		const onward = http.request({ host: "127.0.0.1", port: this.target.port, method: request.method, path: request.url,
			headers: { ...headers, host: `127.0.0.1:${this.target.port}` }, agent: false }, (answer) => {
			if (/event-stream/.test(answer.headers["content-type"] ?? ""))
				this.stream(answer, response);
			else if (number % 2)
				this.lose(answer, response);
			else
				answer.pipe(response.writeHead(answer.statusCode, answer.headers));
		});

		onward.on("error", () => response.destroy());
		request.pipe(onward);
	}

	lose(answer, response) {
		this.lost++;
		answer.resume();
		answer.on("end", () => response.destroy());
	}

	stream(answer, response) {
		let left = 1000;

		response.writeHead(answer.statusCode, answer.headers);
		answer.on("error", () => {});
		response.on("close", () => answer.destroy());
		answer.on("data", (data) => {
			response.write(data.subarray(0, left), () => {
				if (left <= 0)
					response.destroy();
			});
			left = Math.max(0, left - data.length);
		});
		answer.on("close", () => response.destroy());
	}

	close() {
		this.server.closeAllConnections?.();
		this.server.close();
	}
}

const pair = async (far_args) => {
	const [near, far] = await Promise.all([Daemon.start("near"), Daemon.start("far", far_args)]);

	await Promise.all([near, far].map((daemon) => until(`${daemon.name} to have its device`, async () =>
		(await daemon.try("GET", "/readyz")).status === 200)));
	return { near, far };
};

const token = randomBytes(16).toString("hex");
const token_file = (name) => {
	const path = join(tmpdir(), `${name}.token`);

	write_file(path, `${token}\n`);
	chmodSync(path, 0o600);
	return path;
};

const LANGUAGES = Object.keys(EXAMPLES);
const in_each_language = (play) => Promise.all(LANGUAGES.map(play));

await scenario("a buffer is copied from host to host, over ways that lose answers", async () => {
	const { near, far } = await pair();
	const [bad_near, bad_far] = await Promise.all([BadWay.to(near), BadWay.to(far)]);
	const bytes = randomBytes(700_001);
	const source = await near.buffer(bytes.length, { device: dev, name: "pail" });

	await near.fill(source, bytes);
	await in_each_language(async (language) => {
		const copy = new Example(language, "copy", ["--addr", addr, "--timeout", 0, `${URL_OF(bad_near)}#pail`, `${URL_OF(bad_far)}#${language}`]);

		await copy.ends_with(0);
		equal(copy.lines[0].bytes, bytes.length, "bytes that it says to have copied");
		ok(copy.lines[0].wire_ns > 0, "the time on the wire");
		ok(bytes.equals(await far.bytes({ id: language })), "the bytes that arrived are others");
	});
	ok(bad_near.lost > 2 && bad_far.lost > 2 && bad_near.refused > 0, "answers that were lost");
	equal((await far.get("/v1/stats")).connections_closed, LANGUAGES.length, "connections that the copies took");
	equal((await near.get("/v1/stats")).transfers_done, LANGUAGES.length, "transfers that the copies took");
	equal((await near.connections("open")).total, 0, "connections left open");
	equal((await far.get("/v1/listeners")).total, 0, "listeners left");
	bad_near.close();
	bad_far.close();
	await near.stop();
	await far.stop();
});

await scenario("a copy that can't be made says why, and leaves nothing", async () => {
	const { near, far } = await pair(["--set", `control_token_file=${token_file("control")}`]);

	far.token = token;
	await near.buffer(4096, { device: dev, name: "pail" });
	await far.buffer(8, { device: dev, name: "cup", access: ["remote_write"] });
	await far.buffer(4096, { device: dev, name: "sealed" });
	const failures = [
		["pail", "cup", ["--addr", addr], 1, /fewer than the 4096/],
		["pail", "sealed", ["--addr", addr], 1, /closed to peers/],
		["nothing", "cup", ["--addr", addr], 1, /nothing/],
		["pail", "fresh", ["--addr", "192.0.2.1"], 1, /connect to 192\.0\.2\.1 at .+: .+\. .+/],
		["pail", "cup", [], 2, /--addr is needed/],
	];

	await in_each_language(async (language) => {
		for (const [from, to, more, status, pattern] of failures) {
			const copy = new Example(language, "copy", [...more, `${URL_OF(near)}#${from}`, `${URL_OF(far)}#${to}-x`.replace(/(cup|sealed)-x/, "$1")
				.replace("-x", `-${language}`)], { VERBSD_PEER_TOKEN_FILE: token_file("control") });

			await copy.ends_with(status);
			ok(pattern.test(copy.said), `it said: ${copy.said}`);
		}
		const unknown = new Example(language, "copy", ["--addr", addr, `${URL_OF(near)}#pail`, `${URL_OF(far)}#cup`]);

		await unknown.ends_with(1);
		ok(/token/.test(unknown.said), `without a token it said: ${unknown.said}`);
	});
	equal((await far.get("/v1/buffers")).total, 2, "buffers left at the destination");
	equal((await far.get("/v1/listeners")).total, 0, "listeners left at the destination");
	await near.stop();
	await far.stop();
});

await scenario("an event is waited for, and none is missed", async () => {
	const { near, far } = await pair();
	const way = await BadWay.to(near);

	await far.listen({ port: PORT });
	const after = await near.newest_event();
	const patient = LANGUAGES.map((language) => new Example(language, "wait",
		["--type", "connection_ended", "--reason", "local_close", "--count", 3, "--after", after, URL_OF(way)]));
	const restarted = LANGUAGES.map((language) => new Example(language, "wait", ["--type", "device_removed", URL_OF(way)]));

	for (let i = 0; i < 3; i++) {
		const { id } = await near.connect({ dst_port: PORT });

		await near.call("DELETE", `/v1/connections/${id}`, undefined, { wait_s: 30 });
	}
	const wanted = (await near.get(`/v1/events?after=${after}&limit=1000`)).items;
	const ended = JSON.stringify(wanted.filter(({ type }) => type === "connection_ended"));

	await Promise.all(patient.map(async (example) => {
		await example.ends_with(0);
		equal(JSON.stringify(example.lines), ended, "what it saw over a bad way");
	}));
	await in_each_language(async (language) => {
		const wait = (...args) => new Example(language, "wait", [...args, URL_OF(near)]);
		const all = wait("--after", after, "--count", wanted.length);

		await all.ends_with(0);
		equal(JSON.stringify(all.lines), JSON.stringify(wanted), "all events");
		await wait("--type", "device_removed", "--timeout", 1).ends_with(3);
		await wait("--object", "party").ends_with(1);
		await wait("--after", 999_999_999).ends_with(4);
	});

	// Another run of the daemon behind the same URL.
	await Promise.all(restarted.map((example) => example.says(/waiting for events/)));
	way.target = far;
	await near.stop();
	await Promise.all(restarted.map(async (example) => {
		await example.ends_with(4);
		ok(/restarted/.test(example.said), `of a restart it said: ${example.said}`);
	}));
	way.close();
	await far.stop();
});

await scenario("a listener is drained, and one that is not accepts as before", async () => {
	const { near, far } = await pair();

	await in_each_language(async (language, i) => {
		const port = PORT + i;
		const door = await far.listen({ port, name: language });
		const drain = (...args) => new Example(language, "drain", [...args, language, URL_OF(far)]);
		const connections = await Promise.all([1, 2, 3].map(() => near.connect({ dst_port: port })));
		const given_up = drain("--grace", 600);

		await given_up.says(/takes no more; 3 connections are open/);
		equal((await near.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: port }, 30)).code, "rejected",
			"what who comes too late gets");
		given_up.child.kill("SIGTERM");
		await given_up.ends_with(143);
		equal((await far.get(`/v1/listeners/${language}`)).accept, "auto", "accept of one that was not drained");

		const patient = drain("--keep", "--grace", 600);
		await patient.says(/takes no more; 3 connections are open/);
		await Promise.all(connections.map(({ id }) => near.call("DELETE", `/v1/connections/${id}`, undefined, { wait_s: 30 })));
		await patient.ends_with(0);
		equal(JSON.stringify(patient.lines[0]), JSON.stringify({ listener: door.id, ended: 3, closed: 0 }), "what the patient one says");
		equal((await far.get(`/v1/listeners/${language}`)).accept, "reject", "accept of one that is kept");

		await far.call("PATCH", `/v1/listeners/${language}`, { accept: "auto" });
		const { id } = await near.connect({ dst_port: port });
		const hasty = drain("--grace", 0);
		await hasty.ends_with(0);
		equal(JSON.stringify(hasty.lines[0]), JSON.stringify({ listener: door.id, ended: 0, closed: 1 }), "what the hasty one says");
		await near.ended_with(id, "peer_disconnect");
		await far.refused("GET", `/v1/listeners/${language}`);
		await drain().ends_with(1);
	});
	await near.stop();
	await far.stop();
});

// The first `count` events of a stream.
const read_stream = (daemon, query, count) => new Promise((done, fail) => {
	const events = [];
	let rest = "";
	const request = http.get({ host: "127.0.0.1", port: daemon.port, path: `/v1/events/stream?${query}`, agent: false }, (response) => {
		response.setEncoding("utf8");
		response.on("error", () => {});
		response.on("data", (text) => {
			const lines = (rest + text).split("\n");

			rest = lines.pop();
			events.push(...lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6))));
			if (events.length >= count) {
				request.destroy();
				done(events);
			}
		});
	});

	request.on("error", fail);
});

await scenario("events are filtered alike by page, long poll and stream", async () => {
	const { near, far } = await pair();

	await far.listen({ port: PORT });
	const first = await near.connect({ dst_port: PORT });
	const second = await near.connect({ dst_port: PORT });
	const buffer = await near.buffer(4096, { device: dev });

	await near.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: 9 }, 30);
	await near.call("DELETE", `/v1/connections/${first.id}`, undefined, { wait_s: 30 });
	const all = (await near.get("/v1/events?limit=1000")).items;
	const levels = ["debug", "info", "notice", "warning", "error"];
	const filters = [
		[`object=connection/${first.id}`, ({ object }) => object === `connection/${first.id}`],
		["object=connection", ({ object }) => object?.startsWith("connection/")],
		[`object=buffer/${buffer.id}`, ({ object }) => object === `buffer/${buffer.id}`],
		["type=qp_transition", ({ type }) => type === "qp_transition"],
		["severity=warning", ({ severity }) => levels.indexOf(severity) >= 3],
		[`type=connection_ended&severity=info&object=connection/${first.id}`, ({ type, severity, object }) =>
			type === "connection_ended" && levels.indexOf(severity) >= 1 && object === `connection/${first.id}`],
	];

	for (const [filter, lets_through] of filters) {
		const wanted = all.filter(lets_through);
		const text = JSON.stringify(wanted);

		ok(wanted.length > 0 && wanted.length < all.length, `${filter} lets ${wanted.length} of ${all.length} events through`);
		equal(JSON.stringify((await near.get(`/v1/events?${filter}&limit=1000`)).items), text, `a page with ${filter}`);
		const polled = [];

		for (let after = 0; after < all.at(-1).seq && polled.length < wanted.length;) {
			const page = await near.get(`/v1/events?${filter}&limit=2&after=${after}&wait_ms=1000`);

			polled.push(...page.items);
			after = page.next;
		}
		equal(JSON.stringify(polled), text, `long polls with ${filter}`);
		equal(JSON.stringify(await read_stream(near, `after=0&${filter}`, wanted.length)), text, `a stream with ${filter}`);
	}
	// Waiting goes by the filter as well: what happens to others wakes nobody.
	const last = await near.newest_event();
	const poll = near.get(`/v1/events?after=${last}&object=connection/${second.id}&type=connection_ended&wait_ms=60000`);

	await near.call("DELETE", `/v1/buffers/${buffer.id}`);
	await near.call("DELETE", `/v1/connections/${second.id}`, undefined, { wait_s: 30 });
	equal((await poll).items.map(({ type, object }) => `${type} of ${object}`).join(), `connection_ended of connection/${second.id}`,
		"what a long poll with a filter was answered with");
	await near.stop();
	await far.stop();
});

// --- Prometheus --------------------------------------------------------------------------------------------------

const get_json = (port, path) => new Promise((done, fail) => {
	http.get({ host: "127.0.0.1", port, path, agent: false }, (response) => {
		let text = "";

		response.setEncoding("utf8");
		response.on("data", (part) => { text += part; });
		response.on("end", () => {
			try {
				done(/json/.test(response.headers["content-type"] ?? "") ? JSON.parse(text) : text);
			} catch (error) {
				fail(error);
			}
		});
	}).on("error", fail);
});

const PROMETHEUS_PORT = 9090;

class Prometheus {
	// The rules as they are, but that none waits to be sure; the configuration of the example, but for times and targets.
	static async start(daemons) {
		const folder = join(tmpdir(), "prometheus");
		const example = (name) => readFileSync(`${root}contrib/prometheus/${name}`, "utf8");
		const targets = daemons.map(({ port }) => `'127.0.0.1:${port}'`).join(", ");

		mkdirSync(folder, { recursive: true });
		write_file(join(folder, "verbsd.rules.yml"), example("verbsd.rules.yml").replace(/^ +for: .*\n/gm, ""));
		write_file(join(folder, "prometheus.yml"), example("prometheus.yml").replaceAll("15s", "1s")
			.replace("['127.0.0.1:7480']", `[${targets}]`).replace("#params:", "params:"));
		const prometheus = new Prometheus();

		prometheus.program = new Program("prometheus", [`--config.file=${join(folder, "prometheus.yml")}`,
			`--storage.tsdb.path=${join(folder, "data")}`, `--web.listen-address=127.0.0.1:${PROMETHEUS_PORT}`, "--log.level=warn"]);
		await until("Prometheus to be ready", () => {
			ok(prometheus.program.child.exitCode === null, `Prometheus ended: ${prometheus.program.output.slice(-500)}`);
			return get_json(PROMETHEUS_PORT, "/-/ready").then((said) => /ready/i.test(said), () => false);
		});
		return prometheus;
	}

	// The series that a query gives.
	async query(expr) {
		const { status, data, error } = await get_json(PROMETHEUS_PORT, `/api/v1/query?query=${encodeURIComponent(expr)}`);

		ok(status === "success", `${expr}: ${error}`);
		return data.result;
	}

	// The first of them that there is, with its value.
	until(expr) { return until(`Prometheus to have ${expr}`, async () => (await this.query(expr))[0]); }

	firing(name) {
		return until(`alert ${name}`, async () => (await get_json(PROMETHEUS_PORT, "/api/v1/alerts")).data.alerts
			.find(({ labels, state }) => labels.alertname === name && state === "firing"));
	}

	async own(metric) {
		const text = await get_json(PROMETHEUS_PORT, "/metrics");

		return Number(new RegExp(`^${metric} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
	}

	async stop() {
		this.program.kill("SIGTERM");
		await this.program.success();
	}
}

// Queries that have nothing to show on this machine, or while all is well; that they are valid is shown all the same.
const MAY_BE_EMPTY = />\s*0$|== 0$|port_counters/;

await scenario("a Prometheus scrapes busy daemons, fills the dashboard, and tells of faults", async () => {
	const { near, far } = await pair();
	const prometheus = await Prometheus.start([near, far]);

	await far.listen({ port: PORT });
	const connection = await near.connect({ dst_port: PORT, name: "busy" });
	const source = await near.buffer(1 << 20, { device: dev });
	const target = await far.buffer(1 << 20, { device: dev, access: ["remote_write"] });
	const writer = busy(near, connection, source, target);

	await wrote_something(near);
	await prometheus.until('count(up{job="verbsd"} == 1) == 2');
	const rate = await prometheus.until('rate(verbsd_connection_bytes_total{op="write"}[30s]) > 0');

	console.log(`# by Prometheus the busy connection moves ${(Number(rate.value[1]) / 1e6).toFixed(1)} MB/s`);
	await dashboard_is_filled(prometheus);
	equal((await get_json(PROMETHEUS_PORT, "/api/v1/alerts")).data.alerts.map(({ labels }) => labels.alertname).join(), "",
		"alerts while all is well");

	// A real fault: the peer's memory is closed to a key that it never gave.
	const wrong = await near.connect({ dst_port: PORT, name: "wrong" });

	await near.refused("POST", "/v1/transfers", { op: "write", connection: wrong.id, buffer: source.id,
		remote: { addr: target.addr, rkey: "0x00000bad" } }, 30);
	const alert = await prometheus.firing("VerbsdRemoteAccess");
	const [{ meaning, causes, advice }] = (await near.get("/v1/explain?name=remote_access&kind=end_reason")).items;

	equal(alert.labels.instance, `127.0.0.1:${near.port}`, "whom the alert names");
	equal(alert.annotations.description, `${meaning}. Likely: ${causes.join("; ")}.`, "what the alert says, beside what the daemon says");
	equal(alert.annotations.runbook, advice, "what the alert advises, beside what the daemon does");

	// Another: a daemon is gone.
	far.kill("SIGKILL");
	await far.end();
	equal((await prometheus.firing("VerbsdDown")).labels.instance, `127.0.0.1:${far.port}`, "who is down");
	await writer;
	equal(await prometheus.own("prometheus_target_scrapes_sample_duplicate_timestamp_total"), 0, "samples that were there twice");
	equal(await prometheus.own("prometheus_target_scrapes_sample_out_of_order_total"), 0, "samples out of order");
	await prometheus.stop();
	await near.stop();
});

// Each query of the dashboard is valid, and has something to show but for those that are fine without.
async function dashboard_is_filled(prometheus) {
	const dashboard = JSON.parse(readFileSync(`${root}contrib/grafana/verbsd.json`, "utf8"));
	const asked = queries(dashboard);

	await Promise.all(asked.map(async ({ panel, expr }) => {
		const filled = filled_in(expr);

		if (MAY_BE_EMPTY.test(filled))
			await prometheus.query(filled);
		else
			await prometheus.until(filled).catch((error) => { throw new Failure(`panel ${panel}: ${error.message}`); });
	}));
	ok(asked.length > 60, `the dashboard asks ${asked.length} queries`);
	console.log(`# all ${asked.length} queries of the dashboard are answered`);
}

finish();
