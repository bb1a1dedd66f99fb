// SPDX-License-Identifier: Apache-2.0
//
// The mixed load (mixed.mjs) for as long as one likes, with faults, with clients that follow the events, and with clients that
// read (readers.lua) as dashboards do: memory stays flat, nothing is left in the kernel, no answer is wrong. scripts/soak runs it,
// in a guest or over the scripted provider.
//
//     SOAK_REQUESTS=N   how many requests, at most; reads count as well
//     SOAK_READERS=N    connections that read all the time; 0 is the default
//     SOAK_SECONDS=N    how long, at most
//     SOAK_OUT=FILE     where the samples go, as JSON

import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { fileURLToPath } from "node:url";

import { Daemon, Failure, PATIENCE_MS, Program, equal, finish, ok, open_fds, run, scenario, sleep, until, write_file } from "./lib.mjs";
import { LANES, SEED, complaints, counts, delete_all, kinds_of, number_from, send_requests, warm_up } from "./mixed.mjs";
import { scratch_file, scratch_folder } from "../scratch.mjs";

const REQUESTS = number_from("SOAK_REQUESTS", 20_000);
const READERS = number_from("SOAK_READERS", 0);
const SECONDS = number_from("SOAK_SECONDS", 3600);
const OUT = process.env.SOAK_OUT;
const SAMPLES = 200;
const SAMPLE_MS = 250; // between looks at their number
const FOLLOWERS = 3;
// Memory of ended objects and events fills once, early.
const CONFIG = `records: {ended: 32, events: 1000}
log_level: error
fault_injection: true
state_dir: ${scratch_folder("soak")}
`;
// After each round all objects are deleted, so that what is held and memory can be compared.
const ROUNDS = 10;
// Caches and pools have filled after that round, if there are enough requests. Memory is flat if it has not grown by more since.
const FULL_AFTER = 3;
const LAST_ROUNDS = 3;
const ENOUGH = 20_000;
const GROWTH = 1.1;
const SLACK_BYTES = 1 << 20;

const rss_bytes = ({ pid }) => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;

// --- followers of the events --------------------------------------------------------------------------------------

const followed = { events: 0, streams: 0 };

// Follows the events for a while, leaves, and goes on where it was.
async function follow(daemon, is_over) {
	let last = "";

	while (!is_over()) {
		followed.streams++;
		await new Promise((done) => {
			const path = "/v1/events/stream?limit=2000";
			const headers = last && { "Last-Event-ID": last };
			const request = http.get({ host: "127.0.0.1", port: daemon.port, path, headers, agent: false }, (answer) => {
				answer.setEncoding("utf8");
				answer.on("data", (text) => {
					followed.events += text.match(/^data: /gm)?.length ?? 0;
					last = text.match(/(?<=^id: )\S+(?=\n)/gm)?.at(-1) ?? last;
					if (is_over())
						request.destroy();
				});
				answer.on("close", done);
				answer.on("error", done);
			});
			request.on("error", done);
		});
	}
}

// --- readers ------------------------------------------------------------------------------------------------------

const READS = fileURLToPath(new URL("readers.lua", import.meta.url));
const FINE = new Set([200, 404, 409]); // 409: the bytes of a buffer whose state has none

// Begins to read; the returned function ends that, and returns the number of answers of each status.
function read(daemon) {
	if (!READERS)
		return async () => ({});
	const program = new Program("wrk", ["-t", "1", "-c", String(READERS), "-d", `${SECONDS + 3600}s`, "--timeout", "90s", "-s", READS,
		`http://127.0.0.1:${daemon.port}`, String(SEED)]);

	return async () => {
		program.kill("SIGINT");
		const text = await program.success(PATIENCE_MS);
		const answers = Object.fromEntries([...text.matchAll(/^(\d+) (\d+)$/gm)].map(([, status, count]) => [status, Number(count)]));
		const wrong = Object.keys(answers).filter((status) => !FINE.has(Number(status)));

		ok(answers[200], `no reads: ${text}`);
		equal(wrong.join(), "", "statuses of reads that are wrong");
		return answers;
	};
}

// --- what is held -------------------------------------------------------------------------------------------------

const KERNEL = /^kernel_objects_/;

// The kernel's count is of the daemon's objects; the fake provider's has the same place.
async function held(daemon) {
	const stats = await daemon.get("/v1/stats");
	const objects = Object.entries(stats).filter(([name]) => KERNEL.test(name));

	return { ...Object.fromEntries(objects), transfers: stats.transfers, probes: stats.probes, benchmarks: stats.benchmarks,
		leaked_objects: stats.leaked_objects };
}

// Returns the stacks of the daemon's threads and what the kernel lists, for the message of a failure.
async function who_holds({ pid }) {
	const threads = readdirSync(`/proc/${pid}/task`).map((thread) => ["comm", "stack"].map((file) => {
		try {
			return readFileSync(`/proc/${pid}/task/${thread}/${file}`, "utf8").trim();
		} catch ({ code }) {
			return code;
		}
	}).join(": "));
	const listed = process.env.LAB ? await Promise.all(["qp", "cm_id", "pd"].map((kind) => run("rdma", "resource", "show", kind))) : [];

	return [...listed, ...threads].join("\n");
}

async function are_held_again(daemon, before) {
	let seen;

	await until("what was there before", async () => {
		seen = await held(daemon);
		return JSON.stringify(seen) === JSON.stringify(before);
	}, 2 * PATIENCE_MS).catch(async () => {
		throw new Failure(`held before: ${JSON.stringify(before)}; and after: ${JSON.stringify(seen)}\n${await who_holds(daemon)}`);
	});
}

// --- samples ------------------------------------------------------------------------------------------------------

class Samples {
	began = Date.now();
	requests = 0; // that had an answer, of all clients
	items = [];

	constructor(daemon) { this.daemon = daemon; }

	elapsed_s() { return (Date.now() - this.began) / 1000; }

	// How much of the soak is over, from 0 to 1.
	part() { return Math.max(this.requests / REQUESTS, this.elapsed_s() / SECONDS); }

	look() {
		return { requests: this.requests, elapsed_s: Math.round(this.elapsed_s() * 10) / 10, rss_bytes: rss_bytes(this.daemon),
			fds: open_fds(this.daemon.pid) };
	}

	async count() { this.requests = (await this.daemon.get("/v1/stats")).http_request_duration_count; }

	// Takes samples until the soak is over, or the daemon.
	async take() {
		while (this.part() < 1 && !this.daemon.gone) {
			await this.count();
			if (this.part() * SAMPLES >= this.items.length)
				this.items.push(this.look());
			await sleep(SAMPLE_MS);
		}
	}
}

// Sends the requests of a round, deletes all objects, and returns what is held then.
async function play_round(daemon, kinds, before, samples, round) {
	const count = await send_requests(daemon, kinds, () => samples.part() >= round / ROUNDS).catch(async (error) => {
		throw new Failure(`${error.message}; the daemon ended with ${JSON.stringify(await daemon.end())}`);
	});

	await daemon.is_fine();
	await delete_all(daemon, kinds);
	await are_held_again(daemon, before);
	await samples.count();
	return { ...samples.look(), drawn: count };
}

const mib = (bytes) => `${(bytes / (1 << 20)).toFixed(1)} MiB`;

await scenario("a long mixed load leaves memory flat and the kernel as it was", async () => {
	const daemon = await Daemon.start("d", ["--workers", "2", "--config", scratch_file("soak.yaml", CONFIG)]);

	await daemon.ready();
	const kinds = await kinds_of(daemon);
	await warm_up(daemon);
	const before = await held(daemon);
	const samples = new Samples(daemon);
	let is_over = false;
	const followers = Array.from({ length: FOLLOWERS }, () => follow(daemon, () => is_over));
	const end_reading = read(daemon);
	const sampled = samples.take();
	const idle = [];

	for (let round = 1; round <= ROUNDS; round++) {
		idle.push(await play_round(daemon, kinds, before, samples, round));
		console.log(`round ${round}: ${samples.requests} requests after ${Math.round(samples.elapsed_s())} s`);
	}
	const reads = await end_reading();
	await sampled;
	is_over = true;
	// The followers hear of the end by another event.
	await daemon.refused("DELETE", "/v1/buffers/99999999");
	await Promise.all(followers);
	// The allocator does not give all back at once that was free at that moment. What is lost stays in each of the last rounds.
	const then = idle[FULL_AFTER - 1].rss_bytes;
	const now = Math.min(...idle.slice(-LAST_ROUNDS).map(({ rss_bytes }) => rss_bytes));
	await samples.count();
	const { requests } = samples;
	const drawn = idle.reduce((sum, round) => sum + round.drawn, 0);
	const { process_cpu_ns } = await daemon.get("/v1/stats");
	const result = { where: process.env.LAB ? "guest" : "fake", seed: SEED, lanes: LANES, requests, drawn, reads, seconds: Math.round(samples.elapsed_s()),
		cpu_seconds: Math.round(process_cpu_ns / 1e9), events: followed.events, streams: followed.streams,
		answers: Object.fromEntries([...counts].sort(([, a], [, b]) => b - a)), held: before, idle, samples: samples.items };

	if (OUT)
		write_file(OUT, `${JSON.stringify(result)}\n`);
	console.log(`seed ${SEED}: ${requests} requests in ${result.seconds} s, ${drawn} of them drawn, ${followed.events} events seen; memory without objects: ` +
		idle.map(({ rss_bytes }) => mib(rss_bytes)).join(", "));
	console.log(Object.entries(result.answers).map(([what, count]) => `${what} ${count}`).join(", "));
	ok(REQUESTS < ENOUGH || now <= then * GROWTH + SLACK_BYTES, "memory grows");
	equal([...complaints.values()].join("\n"), "", "complaints");
	ok(!/fake provider: /.test(daemon.log()), `the provider complains: ${daemon.log().slice(-500)}`);
	await daemon.stop();
	if (process.env.LAB)
		console.log(`     held at the end: ${await run("rdma", "resource", "show")}`);
});

finish();
