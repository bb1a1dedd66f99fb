// SPDX-License-Identifier: Apache-2.0
//
// Things that users take from the project, used as they would use them: the examples as programs, over an API that
// loses answers; the recipes of the documentation; the filters of the event log, in all three ways of
// reading it; Prometheus with the rules and the dashboard.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { filled_in, queries } from "../contrib/dashboard_queries.mjs";
import { BadWay, Example, URL_OF } from "../contrib/example.mjs";
import { begin, finished, read_recipes } from "../contrib/recipes.mjs";
import { scratch_folder } from "../scratch.mjs";
import { Daemon, Failure, Program, WAIT_S, addr, busy, dev, equal, finish, ok, scenario, until, write_file, wrote_something } from "./lib.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PORT = 7471;

const pair = async (far_args) => {
	const [near, far] = await Promise.all([Daemon.start("near"), Daemon.start("far", far_args)]);

	await Promise.all([near, far].map((daemon) => until(`${daemon.name} to have its device`, async () =>
		(await daemon.try("GET", "/readyz")).status === 200)));
	return { near, far };
};

await scenario("a file is copied into a buffer of another host, and all that it took is deleted", async () => {
	const { near, far } = await pair();
	const file = join(scratch_folder(), "file");
	const bytes = randomBytes(300_007);
	const target = await far.buffer(2 * bytes.length, { device: dev, name: "target", access: ["remote_write"] });

	write_file(file, bytes);
	const copy = new Example("file", [file, URL_OF(near), `${URL_OF(far)}#target`]);

	await copy.ends_with(0);
	ok(/^[0-9a-f]{8}\n$/.test(copy.output), `it printed: ${copy.output}`);
	ok(bytes.equals((await far.bytes(target)).subarray(0, bytes.length)), "the bytes that arrived are others");
	await until("its connection to be gone", async () => (await near.get("/v1/connections?state=open,ended")).total === 0);
	equal((await near.get("/v1/buffers")).total, 0, "buffers that it left");
	equal((await far.get("/v1/listeners")).total, 0, "listeners that it left");

	for (const [access, said] of [["remote_write", /past the end/], ["remote_read", /needs the access remote_write/], ["mw_bind", /no remote access/]]) {
		const cup = await far.buffer(8, { device: dev, name: "cup", access: [access] });
		const refused = new Example("file", [file, URL_OF(near), `${URL_OF(far)}#cup`]);

		await refused.ends_with(1);
		ok(said.test(refused.said), `it said: ${refused.said}`);
		equal((await near.get("/v1/buffers")).total, 0, "buffers that a failed copy left");
		equal((await far.get("/v1/listeners")).total, 0, "listeners that a failed copy left");
		await far.call("DELETE", `/v1/buffers/${cup.id}`);
	}
	await Promise.all([near.stop(), far.stop()]);
});

await scenario("a buffer is copied over ways that lose answers, while somebody waits for the end of it", async () => {
	const { near, far } = await pair();
	const [bad_near, bad_far] = await Promise.all([BadWay.to(near), BadWay.to(far)]);
	const bytes = randomBytes(700_001);
	const source = await near.buffer(bytes.length, { device: dev, name: "pail" });
	const after = await near.newest_place();

	await near.fill(source, bytes);
	const ways = { forth: [near, bad_far], back: [bad_near, far] };
	const count = Object.keys(ways).length;
	const waiting = new Example("wait", ["--type", "connection_ended", "--code", "local_close", "--count", count, "--after", after, URL_OF(near)]);

	await Promise.all(Object.entries(ways).map(async ([target, [from, to]]) => {
		const copy = new Example("copy", ["--timeout", 0, `${URL_OF(from)}#pail`, `${URL_OF(to)}#${target}`]);

		await copy.ends_with(0);
		equal(copy.lines[0].bytes, bytes.length, "bytes that it says to have copied");
		ok(copy.lines[0].wire_ns > 0, "the time on the wire");
		ok(bytes.equals(await far.bytes({ id: target })), "the bytes that arrived are others");
	}));
	const ended = (await near.get(`/v1/events?after=${after}&type=connection_ended`)).items;

	await waiting.ends_with(0);
	equal(JSON.stringify(waiting.lines), JSON.stringify(ended), "what was seen of the connections' ends");
	// Answers about connection and transfer, and about buffer and listener, were lost, and
	// sometimes others.
	ok(bad_near.lost >= 2 && bad_far.lost >= 2 && bad_near.refused + bad_far.refused > 0, "answers that were lost");
	equal((await far.get("/v1/stats")).connections_ended, count, "connections that the copies took");
	equal((await near.get("/v1/stats")).transfers_ended_done, count, "transfers that the copies took");
	bad_near.close();
	bad_far.close();

	// A copy that fails leaves no objects behind.
	await far.buffer(8, { device: dev, name: "cup", access: ["remote_write"] });
	const failures = [["cup", addr, /fewer than the 700001/], ["fresh", "192.0.2.1", /connections\/\S+ at .+: .+\. .+/]];

	await Promise.all(failures.map(async ([to, at, pattern]) => {
		const copy = new Example("copy", ["--addr", at, `${URL_OF(near)}#pail`, `${URL_OF(far)}#${to}`]);

		await copy.ends_with(1);
		ok(pattern.test(copy.said), `it said: ${copy.said}`);
	}));
	equal((await near.connections("open")).total, 0, "connections left open");
	equal((await far.get("/v1/listeners")).total, 0, "listeners left");
	equal((await far.get("/v1/buffers")).total, count + 1, "buffers at the destination");
	await near.stop();
	await far.stop();
});

await scenario("a listener is drained, and one that is not accepts as before", async () => {
	const { near, far } = await pair();

	const door = await far.listen({ port: PORT, name: "door" });
	const drain = (...args) => new Example("drain", [...args, "door", URL_OF(far)]);
	const connections = await Promise.all([1, 2, 3].map(() => near.connect({ dst_port: PORT })));
	const patient = drain("--grace", 600);

	await patient.says(/takes no more; 3 connections are open/);
	equal((await near.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: PORT }, WAIT_S)).code, "rejected",
		"what who comes too late gets");
	patient.child.kill("SIGTERM");
	await patient.ends_with(143);
	equal((await far.get("/v1/listeners/door")).accept, "auto", "accept of one that was not drained");

	// One connection ends by itself, two are left at the end of the grace period.
	const done = drain("--grace", 8);

	await done.says(/takes no more; 3 connections are open/);
	await near.call("DELETE", `/v1/connections/${connections[0].id}`, undefined, { wait_s: WAIT_S });
	await done.ends_with(0);
	const [{ listener, ended, closed }] = done.lines;

	equal(listener, door.id, "the listener that it says to have drained");
	equal(ended + closed, 3, "connections that it saw end");
	ok(closed >= 2, `it says to have closed ${closed}`);
	await far.refused("GET", "/v1/listeners/door");
	equal((await far.connections("open")).items.filter((one) => one.listener?.id === door.id).length, 0, "connections left");
	await near.stop();
	await far.stop();
});

// The effect of each recipe, by its title. `set` prepares the recipe and returns variables; `meanwhile` acts while the
// recipe runs; `check` gets its output.
const RECIPE_CHECKS = ({ near, far, way, write }) => ({
	"Recipes": {
		check: async () => equal((await far.get("/v1/listeners/porch")).state, "listening", "the state of the listener"),
	},
	"Connect, and wait until the connection is established": {
		check: async (_, C) => {
			equal((await near.get("/v1/connections/to-p")).state, "established", "the state of the connection");
			equal((await far.connection(C)).listener.name, "porch", "the listener of the peer's end");
		},
	},
	"Put a file into a buffer of the peer": {
		check: async () => {
			const file = readFileSync("/usr/bin/curl");

			ok(file.equals((await far.bytes({ id: "tray" })).subarray(0, file.length)), "the bytes that arrived are others");
		},
	},
	"Wait for a transfer": {
		set: async () => ({ T: (await near.post("/v1/transfers", await write("to-p"))).id }),
		check: async (output) => equal(output, "done\n", "the state of the transfer"),
	},
	"Find out which transfers of a batch failed": {
		set: async () => {
			await near.connect({ dst_port: 7475, name: "wrong" });
			return { B: (await near.post("/v1/transfer_batches", { transfers: [await write("to-p"), await write("wrong", { rkey: "0x00000bad" })] })).id };
		},
		check: async (output) => {
			const [counts, ...failed] = output.split("\n").filter(Boolean).map((line) => JSON.parse(line));

			equal(`${counts.done} ${counts.failed}`, "1 1", "transfers that are done, and that failed");
			equal(failed.map(({ connection, error }) => `${connection.name}: ${error.code}`).join(), "wrong: remote_access", "what failed");
		},
	},
	"Send a line, read a line": {
		check: async (output) => ok(/^\d+ hello$/m.test(output), `what was read: ${output}`),
	},
	"Repeat a request safely": {
		set: async () => ({ S: URL_OF(way) }),
		check: async (_, C) => {
			await far.until(`/v1/connections/${C}/messages`, "the message", ({ total }) => total >= 2);
			equal((await near.get("/v1/transfers?connection=to-p&state=open,ended&fields=*&limit=1000")).items
				.filter(({ op }) => op === "send").length, 2, "messages that were sent");
			ok(way.lost > 0, "the answer was not lost");
		},
	},
	"Wait until any connection fails": {
		meanwhile: async () => near.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: 9 }, WAIT_S),
		check: async (output) => equal(JSON.parse(output).code, "rejected", "the code of the failure"),
	},
	"Close all connections of a job": {
		check: async () => {
			equal((await near.get("/v1/connections/to-p?until=ended", WAIT_S)).state, "closed", "the state of the job's connection");
		},
	},
	"Ask why a connection ended": {
		check: async (output) => ok(/closed|local_close/.test(output), `the explanation: ${output}`),
	},
	"Count the failures of each peer": {
		check: async (output) => {
			const seen = output.split("\n").filter(Boolean).map((line) => JSON.parse(line)).find(({ code }) => code === "rejected");

			equal(seen?.count, (await near.get("/v1/connections?state=failed&end_code=rejected")).total, "failures by rejection");
			equal(seen.peer, addr, "the peer that rejected");
		},
	},
});

await scenario("each line of docs/recipes.md does what the page says", async () => {
	const { near, far } = await pair();
	const way = await BadWay.to(near);
	const write = async (connection, remote = {}) => ({ connection, op: "write", buffer: "pail", remote: { ...await far.get("/v1/buffers/tray"), ...remote } });
	const recipes = read_recipes();
	const checks = RECIPE_CHECKS({ near, far, way, write });
	let C = "";

	equal(Object.keys(recipes).join(", "), Object.keys(checks).join(", "), "the recipes of the page, beside those that are checked");
	for (const [title, { set, meanwhile, check }] of Object.entries(checks)) {
		const lines = recipes[title].map((line) => line.replaceAll("http://127.0.0.1:7480", URL_OF(near)).replaceAll("http://127.0.0.1:7481", URL_OF(far)));
		const program = begin(lines, { S: URL_OF(near), P: URL_OF(far), FILE: "/usr/bin/curl", C, ...await set?.() });

		while (meanwhile && program.child.exitCode === null)
			await meanwhile();
		const seen = await finished(program).catch((error) => { throw new Failure(`${title}: ${error.message}`); });

		C = seen.C;
		await check(seen.output, C).catch((error) => { throw new Failure(`${title}: ${error.message}`); });
	}
	way.close();
	await near.stop();
	await far.stop();
});

// Reads the first `count` events of a stream.
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
	const buffer = await near.buffer(4096, { device: dev, name: "pail" });
	const is = (object, kind, id) => object?.kind === kind && object.id === id;

	await near.refused("POST", "/v1/connections", { dst_addr: addr, dst_port: 9 }, WAIT_S);
	await near.call("DELETE", `/v1/connections/${first.id}`, undefined, { wait_s: WAIT_S });
	const all = (await near.get("/v1/events?limit=1000")).items;
	const levels = ["debug", "info", "notice", "warning", "error"];
	const filters = [
		[`object=connection/${first.id}`, ({ object }) => is(object, "connection", first.id)],
		["object=connection", ({ object }) => object?.kind === "connection"],
		[`object=buffer/${buffer.id}`, ({ object }) => is(object, "buffer", buffer.id)],
		["type=connection_qp_state_changed,buffer_created", ({ type }) =>
			["connection_qp_state_changed", "buffer_created"].includes(type)],
		["code=rejected", ({ data }) => data.code === "rejected"],
		["object=buffer/pail", ({ object }) => object?.name === "pail"],
		["severity=warning", ({ severity }) => levels.indexOf(severity) >= 3],
		[`type=connection_ended&severity=info&object=connection/${first.id}`, ({ type, severity, object }) =>
			type === "connection_ended" && levels.indexOf(severity) >= 1 && is(object, "connection", first.id)],
	];

	for (const [filter, lets_through] of filters) {
		const wanted = all.filter(lets_through);
		const text = JSON.stringify(wanted);

		ok(wanted.length > 0 && wanted.length < all.length, `${filter} lets ${wanted.length} of ${all.length} events through`);
		equal(JSON.stringify((await near.get(`/v1/events?${filter}&limit=1000`)).items), text, `a page with ${filter}`);
		const polled = [];

		for (let after = "oldest", polls = 0; polled.length < wanted.length && polls < all.length; polls++) {
			const page = await near.get(`/v1/events?${filter}&limit=2&after=${after}`, WAIT_S);

			polled.push(...page.items);
			after = page.next;
		}
		equal(JSON.stringify(polled), text, `long polls with ${filter}`);
		equal(JSON.stringify(await read_stream(near, `after=oldest&${filter}`, wanted.length)), text, `a stream with ${filter}`);
	}
	// A waiting request follows the filter too: events of other objects do not wake it.
	const last = await near.newest_place();
	const poll = near.get(`/v1/events?after=${last}&object=connection/${second.id}&type=connection_ended`, WAIT_S);

	await near.call("DELETE", `/v1/buffers/${buffer.id}`);
	await near.call("DELETE", `/v1/connections/${second.id}`, undefined, { wait_s: WAIT_S });
	equal((await poll).items.map(({ type, object }) => `${type} of ${object.kind}/${object.id}`).join(), `connection_ended of connection/${second.id}`,
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
	// The real rules, with `for` set to 0. The example's configuration, with other times and targets.
	static async start(daemons) {
		const folder = scratch_folder("prometheus");
		const example = (name) => readFileSync(`${root}contrib/prometheus/${name}`, "utf8");
		const targets = daemons.map(({ port }) => `'127.0.0.1:${port}'`).join(", ");

		write_file(join(folder, "verbsd.rules.yml"), example("verbsd.rules.yml").replace(/^ +for: .*\n/gm, ""));
		write_file(join(folder, "prometheus.yml"), example("prometheus.yml").replaceAll("15s", "2s")
			.replace("['127.0.0.1:7480']", `[${targets}]`).replace("#params:", "params:")
			.replace("/usr/share/verbsd/prometheus", folder).replace(/^ +authorization:.*\n/m, ""));
		const prometheus = new Prometheus();

		prometheus.program = new Program("prometheus", [`--config.file=${join(folder, "prometheus.yml")}`,
			`--storage.tsdb.path=${join(folder, "data")}`, `--web.listen-address=127.0.0.1:${PROMETHEUS_PORT}`, "--log.level=warn"]);
		await until("Prometheus to be ready", () => {
			ok(prometheus.program.child.exitCode === null, `Prometheus ended: ${prometheus.program.output.slice(-500)}`);
			return get_json(PROMETHEUS_PORT, "/-/ready").then((said) => /ready/i.test(said), () => false);
		});
		return prometheus;
	}

	// The series that a query returns.
	async query(expr) {
		const { status, data, error } = await get_json(PROMETHEUS_PORT, `/api/v1/query?query=${encodeURIComponent(expr)}`);

		ok(status === "success", `${expr}: ${error}`);
		return data.result;
	}

	// The first series, as soon as there is one.
	until(expr) { return until(`Prometheus to have ${expr}`, async () => (await this.query(expr))[0]); }

	async alert(name, { port }) {
		return (await get_json(PROMETHEUS_PORT, "/api/v1/alerts")).data.alerts.find(({ labels, state }) =>
			labels.alertname === name && labels.instance === `127.0.0.1:${port}` && state === "firing");
	}

	firing(name, daemon) { return until(`alert ${name} of ${daemon.name}`, () => this.alert(name, daemon)); }

	async own(metric) {
		const text = await get_json(PROMETHEUS_PORT, "/metrics");

		return Number(new RegExp(`^${metric} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
	}

	async stop() {
		this.program.kill("SIGTERM");
		await this.program.success();
	}
}

// Queries without data on this machine, or while nothing is wrong. They must still be valid.
const MAY_BE_EMPTY = />\s*0$|== 0$|verbsd_port_data_/;

await scenario("a Prometheus scrapes busy daemons, fills the dashboard, and tells of faults", async () => {
	const { near, far } = await pair();
	const prometheus = await Prometheus.start([near, far]);

	await far.listen({ port: PORT });
	const connection = await near.connect({ dst_port: PORT, name: "busy" });
	const source = await near.buffer(1 << 20, { device: dev });
	const target = await far.buffer(1 << 20, { device: dev, access: ["remote_write"] });
	const writer = busy(near, connection, source, target);

	await near.post("/v1/probes", { connection: connection.id, kind: "ack", interval_ms: 500 });
	await wrote_something(near);
	await prometheus.until('count(up{job="verbsd"} == 1) == 2');
	const rate = await prometheus.until('rate(verbsd_connection_transferred_bytes_total{op="write"}[30s]) > 0');

	console.log(`# by Prometheus the busy connection moves ${(Number(rate.value[1]) / 1e6).toFixed(1)} MB/s`);
	await dashboard_is_filled(prometheus);
	equal(await prometheus.alert("VerbsdRemoteAccess", near), undefined, "the alert before there is a fault");

	// A real fault: a write to memory of the peer with a wrong key.
	const wrong = await near.connect({ dst_port: PORT, name: "wrong" });

	await near.refused("POST", "/v1/transfers", { op: "write", connection: wrong.id, buffer: source.id,
		remote: { addr: target.addr, rkey: "0x00000bad" } }, WAIT_S);
	const alert = await prometheus.firing("VerbsdRemoteAccess", near);
	const [{ detail, causes, hint }] = (await near.get("/v1/glossary/remote_access")).items;

	equal(alert.annotations.description, `${detail}. Likely: ${causes.join("; ")}.`, "what the alert says, beside what the daemon says");
	ok(alert.annotations.runbook.startsWith(`${hint} `), `the alert advises what the daemon does: ${alert.annotations.runbook}`);

	// Another fault: a daemon that is gone.
	far.kill("SIGKILL");
	await far.end();
	await prometheus.firing("VerbsdDown", far);
	await writer;
	equal(await prometheus.own("prometheus_target_scrapes_sample_duplicate_timestamp_total"), 0, "samples that were there twice");
	equal(await prometheus.own("prometheus_target_scrapes_sample_out_of_order_total"), 0, "samples out of order");
	await prometheus.stop();
	await near.stop();
});

// Each query of the dashboard is valid and returns data, except those for faults.
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
