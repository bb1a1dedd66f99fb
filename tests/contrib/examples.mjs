// SPDX-License-Identifier: Apache-2.0
//
// The examples without an RDMA device: usage, errors, and waiting for events, over an API that loses answers. (Their
// work on connections is tested in tests/rdma/examples.mjs.)

import http from "node:http";
import { join } from "node:path";

import { Daemon, equal, finish, ok, scenario } from "../rdma/lib.mjs";
import { scratch_folder } from "../scratch.mjs";
import { BadWay, Example, URL_OF, token, token_file } from "./example.mjs";

const NAMES = ["copy", "wait", "drain"];
const in_each = (play) => Promise.all(NAMES.map(play));

// Sends, once a second, a request that every daemon refuses and logs.
const be_refused = ({ port }) => new Promise((done, fail) => {
	http.get({ host: "127.0.0.1", port, path: "/v1", headers: { Host: "elsewhere.example" }, agent: false }, (response) => {
		response.resume();
		response.on("end", done);
	}).on("error", fail);
});

await scenario("each says how it is used, and what was wrong with the way it was", async () => {
	const args = { copy: ["http://127.0.0.1:1#a", "http://127.0.0.1:1#b", "--addr", "192.0.2.1", "--timeout", 1], wait: ["http://127.0.0.1:1", "--timeout", 1],
		drain: ["door", "http://127.0.0.1:1", "--timeout", 1] };

	await in_each(async (name) => {
		const run = async (status, pattern, ...more) => {
			const example = new Example(name, more);

			await example.ends_with(status);
			ok(pattern.test(example.said + example.output), `${name} ${more.join(" ")} said: ${example.said}${example.output}`);
		};

		await run(0, /usage: .*(copy|wait|drain)[\s\S]*--timeout[\s\S]*Exit status: 0/, "--help");
		await run(2, /--nonsense/, ...args[name], "--nonsense");
		await run(2, /number of seconds/, ...args[name], "--timeout", "soon");
		await run(2, /http:\/\/127\.0\.0\.1:7480|URL#NAME/, ...args[name].map((arg) => String(arg).replace("http:", "gopher:")));
		await run(1, /http:\/\/127\.0\.0\.1:1: .*(refused|connect)/i, ...args[name]);
	});
});

await scenario("a daemon may be named by its unix socket", async () => {
	const socket = join(scratch_folder("examples"), "socket");
	const daemon = await Daemon.start("a", ["--unix-socket", socket]);
	const told = new Example("wait", [`unix:${socket}`, "--type", "party"]);

	await told.ends_with(1);
	ok(told.said.includes(` at unix:${socket}: `) && /type/.test(told.said), `it said: ${told.said}`);
	await daemon.stop();
});

await scenario("what the daemon refuses is told in its words", async () => {
	const daemon = await Daemon.start("a");
	const guarded = await Daemon.start("guarded", ["--set", `control_token_file=${token_file()}`]);
	const args = { copy: (to) => [`${URL_OF(to)}#nothing`, `${URL_OF(to)}#a`, "--addr", "192.0.2.1"], wait: (to) => [URL_OF(to), "--type", "party"],
		drain: (to) => ["nothing", URL_OF(to)] };

	await in_each(async (name) => {
		const told = new Example(name, args[name](daemon));

		await told.ends_with(1);
		ok(/can't .+ at http:.+: .+\. .*(nothing|type|party)/.test(told.said), `it said: ${told.said}`);
		const locked_out = new Example(name, args[name](guarded));

		await locked_out.ends_with(1);
		ok(/A valid token is needed/.test(locked_out.said), `without a token it said: ${locked_out.said}`);
		const let_in = new Example(name, args[name](guarded), { VERBSD_TOKEN_FILE: token_file() });

		await let_in.ends_with(1);
		ok(!/A valid token is needed/.test(let_in.said), `with a token it said: ${let_in.said}`);
	});
	guarded.token = token;
	await daemon.stop();
	await guarded.stop();
});

await scenario("an event is waited for, and none is missed", async () => {
	const daemon = await Daemon.start("a");
	const next = await Daemon.start("a-again");
	const way = await BadWay.to(daemon);
	const after = await daemon.newest_event();
	const all = new Example("wait", ["--after", "oldest", "--count", after + 2, URL_OF(way)]);
	const restarted = new Example("wait", ["--type", "device_removed", URL_OF(way)]);

	while (await daemon.newest_event() < after + 2)
		await be_refused(daemon);
	const wanted = JSON.stringify((await daemon.get("/v1/events")).items.slice(0, after + 2));

	await all.ends_with(0);
	equal(JSON.stringify(all.lines), wanted, "what it saw over a bad way");
	const { server_id: run } = await daemon.get("/v1");

	await new Example("wait", ["--type", "device_removed", "--timeout", 1, URL_OF(daemon)]).ends_with(3);
	await new Example("wait", ["--after", `${run}-999999999`, URL_OF(daemon)]).ends_with(4);

	// Another run of the daemon at the same URL.
	await restarted.says(/waiting for events/);
	way.target = next;
	await daemon.stop();
	await restarted.ends_with(4);
	ok(/restarted/.test(restarted.said), `of a restart it said: ${restarted.said}`);
	way.close();
	await next.stop();
});

finish();
