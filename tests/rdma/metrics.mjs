// SPDX-License-Identifier: Apache-2.0
//
// The metrics of a busy daemon for Prometheus and scripts, compared with promtool, the kernel, and
// the API.

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import http from "node:http";

import { WAIT_S, addr, busy, dev, equal, finish, ok, run, scenario, scenario_with, start_ready, until,
	wrote_something } from "./lib.mjs";

const PORT = 7471;
const CHURNED = 6;

// Returns status, headers, text and duration.
const fetch_text = (daemon, path, headers = {}) => new Promise((done, fail) => {
	const began = performance.now();

	http.get({ host: "127.0.0.1", port: daemon.port, path, headers, agent: false }, (response) => {
		let text = "";

		response.setEncoding("utf8");
		response.on("data", (part) => { text += part; });
		response.on("end", () => done({
			status: response.statusCode, headers: response.headers, text, took_ms: performance.now() - began,
		}));
	}).on("error", fail);
});

// A line 'verbsd_transferred_bytes_total{op="write"} 7' with its value.
const parse = (text) => {
	const metrics = new Map();

	for (const line of text.split("\n").filter((line) => line && !line.startsWith("#"))) {
		const space = line.lastIndexOf(" ");

		ok(!metrics.has(line.slice(0, space)), `${line.slice(0, space)} is there twice`);
		metrics.set(line.slice(0, space), Number(line.slice(space + 1)));
	}
	return metrics;
};

const scrape = async (daemon, query = "") => {
	const { status, text, took_ms } = await fetch_text(daemon, `/metrics${query}`);

	equal(status, 200, "status of /metrics");
	const metrics = parse(text);

	equal(metrics.get('verbsd_collector_success{collector="kernel"}'), 1, "the kernel's answer");
	return { text, metrics, took_ms };
};

// The complaints of promtool about a page; empty if there are none.
const promtool = (text) => new Promise((done, fail) => {
	const child = spawn("promtool", ["check", "metrics"], { stdio: ["pipe", "pipe", "pipe"] });
	let said = "";

	child.stdout.on("data", (part) => { said += part; });
	child.stderr.on("data", (part) => { said += part; });
	child.on("error", fail);
	child.on("close", (status) => done(status === 0 ? said : `status ${status}: ${said}`));
	child.stdin.end(text);
});

const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];

const pair = async (args = []) => {
	const [near, far] = await start_ready("near far", args);

	await far.listen({ port: PORT });
	return { near, far };
};

const nothing_leaked = async (daemon, when) => {
	const { metrics, text } = await scrape(daemon);
	const objects = text.split("\n").filter((line) => /^verbsd_(kernel|known)_objects/.test(line)).join("; ");

	equal(metrics.get("verbsd_leaked_objects"), 0, `what ${daemon.name} leaked ${when} (${objects})`);
	equal((await daemon.get("/v1/stats")).leaked_objects, 0, `leaked in the stats of ${daemon.name} ${when}`);
	return metrics;
};

await scenario("promtool has nothing to say about a busy daemon, and nothing is leaked", async () => {
	const { near, far } = await pair();
	const idle = await nothing_leaked(near, "when idle");
	const idle_times = [];

	for (let i = 0; i < 5; i++)
		idle_times.push((await scrape(near)).took_ms);
	const connection = await near.connect({ dst_port: PORT, name: "busy" });
	const source = await near.buffer(1 << 20, { device: dev });
	const target = await far.buffer(1 << 20, { device: dev, access: ["remote_write"] });
	const writer = busy(near, connection, source, target);
	const times = [];

	await wrote_something(near);
	const probe = await near.post("/v1/probes", { connection: connection.id, interval_ms: 5 });

	await near.until(`/v1/probes/${probe.id}`, "pings between the writes", ({ completed }) => completed >= 10);
	for (let i = 0; i < CHURNED; i++) {
		const other = await near.connect({ dst_port: PORT });

		await nothing_leaked(near, "when busy");
		await nothing_leaked(far, "when busy");
		times.push((await scrape(near, "?connections=1")).took_ms);
		await near.call("DELETE", `/v1/connections/${other.id}`);
	}
	const { text, metrics } = await scrape(near, "?connections=1");

	equal(await promtool(text), "", "what promtool says");
	equal(await promtool((await scrape(far)).text), "", "what promtool says of the other one");
	ok(metrics.get('verbsd_transferred_bytes_total{op="write"}') > 0, "bytes written");
	ok(metrics.get('verbsd_transfer_wire_seconds_count{op="write"}') > 0, "times of writes");
	equal(metrics.get('verbsd_connect_phase_seconds_count{phase="connect"}'), CHURNED + 1, "connects");
	equal(metrics.get('verbsd_cm_events_total{event="connect_response"}'), CHURNED + 1, "events of the CM");
	ok(text.includes(`verbsd_connection_transferred_bytes_total{connection="${connection.id}",op="write"}`), "its own series");
	ok(metrics.get('verbsd_probe_rtt_seconds_count{kind="ack"}') >= 10, "round trips");
	ok(metrics.get('verbsd_probe_pings_sent_total{kind="ack"}') >= 10, "pings");
	equal(metrics.get('verbsd_probe_pings_lost_total{kind="ack"}'), 0, "lost pings");
	ok(metrics.get(`verbsd_connection_rtt_seconds{connection="${connection.id}"}`) > 0, "its round trip");
	ok((await near.get("/v1/stats")).probe_rtt_ack_p999_ns > 0, "p99.9 of the round trips");
	ok(metrics.get(`verbsd_kernel_cm_tx_msgs_total{device="${dev}",port="1",message="req"}`) > CHURNED, "CM requests");
	ok(metrics.get(`verbsd_port_hw_counters{device="${dev}",port="1",counter="sent_pkts"}`) > 0, "a counter of the driver");
	ok((await near.get(`/v1/devices/${dev}`)).ports[0].hw_counters.sent_pkts > 0, "a counter of the driver at its port");
	equal(metrics.get("verbsd_connections_limit"), 16_384, "the limit of connections");
	equal(metrics.get(`verbsd_connection_state{connection="${connection.id}",state="established"}`), 1, "its state");
	ok(metrics.get(`verbsd_cq_completions_total{device="${dev}"}`) > 0, "completions");
	ok(metrics.get('verbsd_http_request_duration_seconds_count{operation="metrics",code="200"}') >= CHURNED, "requests for the metrics");
	ok(metrics.get("process_resident_memory_bytes") > 1e6, "memory of the process");
	ok(metrics.get("process_open_fds") < metrics.get("process_max_fds"), "open file descriptors");
	ok(Math.abs(metrics.get("process_start_time_seconds") - Date.now() / 1e3) < 3600, "the start of the process");
	ok(metrics.get("verbsd_loop_lag_seconds_count") > idle.get("verbsd_loop_lag_seconds_count"), "turns of the loop");
	console.log(`# a scrape takes ${middle(idle_times).toFixed(1)} ms of an idle daemon and ` +
		`${middle(times).toFixed(1)} ms of a busy one, the kernel's part of it ` +
		`${(metrics.get('verbsd_collector_duration_seconds{collector="kernel"}') * 1e3).toFixed(1)} ms; the page has ${text.length} bytes`);
	await near.call("DELETE", `/v1/connections/${connection.id}`);
	await writer;
	await nothing_leaked(near, "when idle again");
	await nothing_leaked(far, "when idle again");
	await near.stop();
	await far.stop();
});

await scenario("endpoints, peers, groups and what is made by request are accounted for", async () => {
	const { near, far } = await pair();

	await near.listen({ port: PORT + 1, service: "rping" });
	await near.post("/v1/pds", { name: "extra", device: dev });
	await near.post("/v1/cqs", { name: "own", device: dev, cqe: 64 });
	await near.post("/v1/srqs", { name: "shared", device: dev, max_wr: 16, recv_size_bytes: 128 });
	const there = await far.post("/v1/ud_endpoints", { device: dev, addr, port: PORT + 2 });
	const here = await near.post("/v1/ud_endpoints", { device: dev });

	await near.post("/v1/ud_peers", { ud_endpoint: here.id, dst_addr: addr, dst_port: PORT + 2 }, WAIT_S);
	await near.post("/v1/multicast_memberships", { ud_endpoint: here.id, addr: "239.76.0.1" }, WAIT_S);
	const probed = await far.connect({ dst_port: PORT + 1, service: "rping_client" });

	await nothing_leaked(near, "with everything");
	await nothing_leaked(far, "with everything");
	await near.call("DELETE", `/v1/ud_endpoints/${here.id}`);
	await far.call("DELETE", `/v1/ud_endpoints/${there.id}`);
	await far.call("DELETE", `/v1/connections/${probed.id}`);
	const metrics = await nothing_leaked(near, "when most of it is gone");

	equal(metrics.get('verbsd_kernel_objects{type="srq"}'), 1, "shared receive queues");
	equal(metrics.get('verbsd_known_objects{type="pd",owner="verbsd"}'), 2, "protection domains");
	await near.stop();
	await far.stop();
});

await scenario("no kind of object is taken for a leak, in any protection domain", async () => {
	const { near, far } = await pair();
	const nobody_leaks = async (when) => {
		await nothing_leaked(near, when);
		await nothing_leaked(far, when);
	};
	let port = PORT;

	for (const domain of ["", "extra"]) {
		const qp = domain && { pd: domain };
		const place = qp || { device: dev };

		for (const daemon of [near, far])
			qp && await daemon.post("/v1/pds", { name: domain, device: dev });
		await near.post("/v1/srqs", { ...place, name: `shared${domain}`, max_wr: 16, recv_size_bytes: 4096 });
		await nobody_leaks(`with shared receives in domain '${domain}'`);
		const target = await far.buffer(4096, { ...place, access: ["remote_write"] });
		const bound = await near.buffer(8192, { ...place, access: ["mw_bind"] });
		const made = [];

		for (const [service, peers_service] of [["inbox", "inbox"], ["inbox", "echo"], ["inbox", "sink"], ["rping_client", "rping"]]) {
			const when = `with ${service} to ${peers_service} in domain '${domain}'`;

			await far.listen({ port: ++port, service: peers_service, ...(qp && { qp }) });
			const connection = await near.connect({ dst_port: port, service,
				qp: { ...qp, ...(peers_service === "sink" && { srq: `shared${domain}` }) } });
			const probe = await near.post("/v1/probes", { connection: connection.id, interval_ms: 5 });

			made.push(`/v1/connections/${connection.id}`);
			await nobody_leaks(`${when} and a probe`);
			await near.call("DELETE", `/v1/probes/${probe.id}`, undefined, { wait_s: WAIT_S });
			if (service === "rping_client")
				continue;
			for (const type of [1, 2])
				await near.post("/v1/windows", { buffer: bound.id, connection: connection.id, type, buffer_offset_bytes: 4096,
					access: ["remote_write"] }, WAIT_S);
			await near.post("/v1/benchmarks", { connection: connection.id, op: "write", size_bytes: 64, duration_ms: 60_000,
				remote: { addr: target.addr, rkey: target.rkey } });
			await nobody_leaks(`${when}, windows and a benchmark`);
		}
		const there = await far.post("/v1/ud_endpoints", { device: dev, addr, port: ++port, ...(qp && { qp }) });
		const here = await near.post("/v1/ud_endpoints", { device: dev, ...(qp && { qp }) });

		made.push(`/v1/ud_endpoints/${here.id}`);
		await near.post("/v1/ud_peers", { ud_endpoint: here.id, dst_addr: addr, dst_port: port }, WAIT_S);
		await near.post("/v1/multicast_memberships", { ud_endpoint: here.id, addr: "239.76.0.1" }, WAIT_S);
		await nobody_leaks(`with endpoints in domain '${domain}'`);
		const { metrics } = await scrape(near);
		const stats = await near.get("/v1/stats");

		equal(metrics.get("verbsd_receives_bytes"), stats.receives_bytes, "the memory of receives");
		await far.call("DELETE", `/v1/ud_endpoints/${there.id}`);
		for (const path of made) {
			await near.call("DELETE", path);
			await nobody_leaks(`without ${path}`);
		}
	}
	await near.stop();
	await far.stop();
});

await scenario("completion queues have series by device, and one by one on request", async () => {
	const { near, far } = await pair();

	await near.post("/v1/cqs", { name: "own", device: dev, cqe: 64 });
	await near.connect({ dst_port: PORT });
	const sums = (await scrape(near)).metrics;
	const { metrics, text } = await scrape(near, "?cqs=1");
	const each = [...metrics].filter(([name]) => name.startsWith("verbsd_cq_capacity_cqe{"));
	const sum = each.reduce((total, [, capacity]) => total + capacity, 0);

	ok(each.length >= 2 && each.every(([name]) => /device="[^"]+",cq="\d+"/.test(name)), `${each}`);
	equal(sums.get(`verbsd_cq_capacity_cqe{device="${dev}"}`), sum, "the sum of their capacities");
	equal(sums.get("verbsd_cqs"), each.length, "the number of queues");
	equal(await promtool(text), "", "what promtool says");
	await near.stop();
	await far.stop();
});

await scenario("what the kernel holds for the daemon is what `rdma resource` shows", async () => {
	const { near, far } = await pair();

	await near.connect({ dst_port: PORT });
	await near.buffer(4096, { device: dev });
	const { metrics } = await scrape(near);
	// The kernel names the thread: a thread of the pool registers the buffer.
	const threads = new Set(readdirSync(`/proc/${near.pid}/task`).map(Number));

	for (const type of ["qp", "cq", "mr", "pd", "cm_id"]) {
		const shown = JSON.parse(await run("rdma", "-j", "resource", "show", type));

		equal(metrics.get(`verbsd_kernel_objects{type="${type}"}`),
			shown.filter(({ pid }) => threads.has(pid)).length, `${type} of the daemon`);
	}
	await near.stop();
	await far.stop();
});

await scenario("single connections have series when they are asked for", async () => {
	const { near, far } = await pair();

	for (let i = 0; i < 3; i++)
		await near.connect({ dst_port: PORT });
	const { text, metrics } = await scrape(near, "?connections=1");

	equal(text.match(/^verbsd_connection_info\{/gm).length, 3, "connections shown");
	equal(metrics.get("verbsd_connections_omitted"), 0, "connections without series");
	ok(!(await scrape(near)).text.includes("verbsd_connection_info"), "without being asked for they are not there");
	await near.stop();
	await far.stop();
});

await scenario_with("d", "the tag of the stats changes when something was done, and not by looking", async (daemon) => {
	let tag;
	// The start of the daemon, or the kernel, may change a value between two requests.
	const again = await until("the same tag twice", async () => {
		const first = await fetch_text(daemon, "/v1/stats");

		equal(first.status, 200, "status of the first");
		tag = first.headers.etag;
		const second = await fetch_text(daemon, "/v1/stats", { "If-None-Match": tag });
		return second.status === 304 && second;
	});
	equal(again.text, "", "body of a 304");
	await daemon.buffer(4096, { device: dev });
	const later = await fetch_text(daemon, "/v1/stats", { "If-None-Match": tag });

	equal(later.status, 200, "status after a buffer was made");
	ok(later.headers.etag !== tag, "the tag is another");
});

finish();
