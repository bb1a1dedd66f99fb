// SPDX-License-Identifier: Apache-2.0
//
// What others take from here, used as they would: the examples, by programs in two languages, over an API that loses
// answers; the filters of the event log, by all three ways of reading it; Prometheus, with the rules and the dashboard.

import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import http from "node:http";
import { mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { filled_in, queries } from "../contrib/dashboard_queries.mjs";
import { Daemon, PATIENCE_MS, Program, addr, busy, dev, equal, finish, ok, scenario, until, write_file, wrote_something } from "./lib.mjs";

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
			{ stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
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
		way.cut = 0;
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
		let left = 400;

		response.writeHead(answer.statusCode, answer.headers);
		answer.on("error", () => {});
		response.on("close", () => answer.destroy());
		answer.on("data", (data) => {
			response.write(data.subarray(0, left));
			left -= data.length;
			if (left <= 0) {
				this.cut++;
				response.destroy();
			}
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

const nothing_is_left = async (near, far) => {
	equal((await near.connections("open")).total, 0, "connections left open");
	equal((await far.get("/v1/listeners")).total, 0, "listeners left");
};

for (const language of Object.keys(EXAMPLES)) {
	await scenario(`${language}: a buffer is copied from host to host`, async () => {
		const { near, far } = await pair();
		const bytes = randomBytes(700_001);
		const source = await near.buffer(bytes.length, { device: dev, name: "pail" });

		await near.fill(source, bytes);
		const copy = (from, to, more = ["--addr", addr]) =>
			new Example(language, "copy", [...more, `${URL_OF(near)}#${from}`, `${URL_OF(far)}#${to}`]);
		const first = copy("pail", "well");

		await first.ends_with(0);
		equal(first.lines[0].bytes, bytes.length, "bytes that it says to have copied");
		ok(first.lines[0].wire_ns > 0, "the time on the wire");
		ok(bytes.equals(await far.bytes({ id: "well" })), "the bytes that arrived are others");
		await nothing_is_left(near, far);

		// Onto one that is there, over ways that lose answers.
		const [bad_near, bad_far] = await Promise.all([BadWay.to(near), BadWay.to(far)]);
		const changed = randomBytes(bytes.length);

		await near.fill(source, changed);
		await new Example(language, "copy", ["--addr", addr, "--timeout", 0, `${URL_OF(bad_near)}#pail`, `${URL_OF(bad_far)}#well`])
			.ends_with(0);
		ok(changed.equals(await far.bytes({ id: "well" })), "the bytes that arrived over a bad way are others");
		ok(bad_near.lost > 2 && bad_far.lost > 2 && bad_near.refused > 0, "answers that were lost");
		equal((await far.get("/v1/stats")).connections_closed, 2, "connections that the copies took");
		equal((await near.get("/v1/stats")).transfers_done, 2, "transfers that the copies took");
		await nothing_is_left(near, far);
		bad_near.close();
		bad_far.close();

		// What goes wrong is told, and leaves nothing.
		await far.buffer(8, { device: dev, name: "cup", access: ["remote_write"] });
		await far.buffer(bytes.length, { device: dev, name: "sealed" });
		const failures = await Promise.all([
			[copy("pail", "cup"), 1, /fewer than the 700001/], [copy("pail", "sealed"), 1, /closed to peers/],
			[copy("nothing", "well"), 1, /nothing.*no such thing|There is no such thing/], [copy("pail", "well", []), 2, /--addr is needed/],
		].map(async ([run, status, pattern]) => {
			await run.ends_with(status);
			ok(pattern.test(run.said), `it said: ${run.said}`);
		}));
		equal(failures.length, 4, "failures tried");
		const lonely = copy("pail", "fresh", ["--addr", "10.76.0.77"]);

		await lonely.ends_with(1);
		ok(/connection to 10\.76\.0\.77 failed: .+\. .+/.test(lonely.said), `of an address that nobody has it said: ${lonely.said}`);
		equal((await far.get("/v1/buffers")).total, 3, "buffers left at the destination");
		await nothing_is_left(near, far);
		await near.stop();
		await far.stop();
	});

	await scenario(`${language}: an event is waited for`, async () => {
		const { near, far } = await pair();
		const way = await BadWay.to(near);
		const wait = (...args) => new Example(language, "wait", [...args, URL_OF(way)]);

		await far.listen({ port: PORT });
		const after = await near.newest_event();
		const patient = wait("--type", "connection_ended", "--reason", "local_close", "--count", 3);
		const late = wait("--object", "connection", "--after", 999_999_999);

		await late.ends_with(4);
		await patient.says(/waiting for events behind number/);
		for (let i = 0; i < 3; i++) {
			const { id } = await near.connect({ dst_port: PORT });

			await near.call("DELETE", `/v1/connections/${id}`, undefined, { wait_s: 30 });
		}
		await patient.ends_with(0);
		const wanted = (await near.get(`/v1/events?after=${after}&type=connection_ended`)).items;

		equal(JSON.stringify(patient.lines), JSON.stringify(wanted), "what it saw over a bad way");
		const all = wait("--after", after, "--count", wanted.at(-1).seq - after);

		await all.ends_with(0);
		equal(all.lines.map(({ seq }) => seq).join(), Array.from({ length: all.lines.length }, (_, i) => after + 1 + i).join(),
			"numbers that it saw, without a gap");
		await wait("--type", "device_removed", "--timeout", 1).ends_with(3);
		await wait("--type", "party").ends_with(1);

		// Another run of the daemon behind the same URL.
		const waits = wait("--type", "device_removed");
		await waits.says(/waiting for events/);
		way.target = far;
		await near.stop();
		await waits.ends_with(4);
		ok(/restarted/.test(waits.said), `of a restart it said: ${waits.said}`);
		way.close();
		await far.stop();
	});

	await scenario(`${language}: a listener is drained`, async () => {
		const token = randomBytes(16).toString("hex");
		const token_file = join(tmpdir(), "examples.token");

		write_file(token_file, `${token}\n`);
		const { near, far } = await pair();
		const door = await far.listen({ port: PORT, name: "door" });
		const other = await far.listen({ port: PORT + 1 });
		const drain = (...args) => new Example(language, "drain", [...args, URL_OF(far)], { VERBSD_TOKEN_FILE: token_file });
		const connections = await Promise.all([1, 2, 3].map(() => near.connect({ dst_port: PORT })));
		const apart = await near.connect({ dst_port: PORT + 1 });

		// Interrupted: all is as before.
		const given_up = drain("--grace", 60, "door");
		await given_up.says(/takes no more; 3 connections are open/);
		equal((await near.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: PORT }, 30)).code, "rejected",
			"what who comes too late gets");
		given_up.child.kill("SIGINT");
		await given_up.ends_with(130);
		equal((await far.get("/v1/listeners/door")).accept, "auto", "accept of one that was not drained");

		const done = drain("--grace", 4, "door");
		await done.says(/takes no more; 3 connections are open/);
		await near.call("DELETE", `/v1/connections/${connections[0].id}`, undefined, { wait_s: 30 });
		await done.ends_with(0);
		equal(JSON.stringify(done.lines[0]), JSON.stringify({ listener: door.id, ended: 1, closed: 2 }), "what it says");
		await far.refused("GET", "/v1/listeners/door");
		equal((await far.connections("established")).total, 1, "connections of another listener");

		const kept = drain("--keep", "--grace", 0, other.id);
		await kept.ends_with(0);
		equal((await far.get(`/v1/listeners/${other.id}`)).accept, "reject", "accept of one that is kept");
		await near.ended_with(apart.id, "peer_disconnect");
		await drain("door").ends_with(1);
		await near.stop();
		await far.stop();
	});
}

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
	const rate = await prometheus.until('rate(verbsd_connection_bytes_total{op="write"}[30s]) > 0 and verbsd_bytes_total{op="write"} > 0'
		.replace(/ and .*/, ""));

	console.log(`# by Prometheus the busy connection moves ${(Number(rate.value[1]) / 1e6).toFixed(1)} MB/s`);
	await dashboard_is_filled(prometheus);
	equal((await get_json(PROMETHEUS_PORT, "/api/v1/alerts")).data.alerts.map(({ labels }) => labels.alertname).join(), "",
		"alerts while all is well");

	// A real fault: the peer's memory is closed to a key that it never gave.
	const wrong = await near.connect({ dst_port: PORT, name: "wrong" });

	await near.refused("POST", "/v1/transfers", { op: "write", connection: wrong.id, buffer: source.id,
		remote: { addr: target.addr, rkey: "0x00000bad" } }, 30);
	const alert = await prometheus.firing("VerbsdRemoteAccess");
	const { meaning, causes, advice } = await near.get("/v1/explain?name=remote_access");

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

	for (const { panel, expr } of asked) {
		const filled = filled_in(expr);

		if (MAY_BE_EMPTY.test(filled))
			await prometheus.query(filled);
		else
			await prometheus.until(filled).catch((error) => { throw new Error(`panel ${panel}: ${error.message}`); });
	}
	ok(asked.length > 60, `the dashboard asks ${asked.length} queries`);
	console.log(`# all ${asked.length} queries of the dashboard are answered`);
}

finish();
