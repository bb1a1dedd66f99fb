// SPDX-License-Identifier: Apache-2.0
//
// Every operation and service over queue pairs that no connection manager brings up: RC and UC by hand.

import { Daemon, dev, equal, finish, resources, resources_are_back, scenario } from "./lib.mjs";
import { close_pair, echo_works, manual_pair, operations_work, recv_works, refuses, rping_works, sink_works } from "./operations.mjs";

const SHARED = ["inbox", "send", "send_imm", "write", "write_imm", "sge_list", "inline", "zero_length", "signal_every"];

async function with_two(transport, play) {
	const before = await resources();
	const a = await Daemon.start("a");
	const b = await Daemon.start("b");

	await Promise.all([a.ready(), b.ready()]);
	await play(a, b, (more) => manual_pair(a, b, { transport, device: dev, gid_index: 1, ...more }));
	await a.stop();
	await b.stop();
	await resources_are_back(before);
}

await scenario("the operations of RC by hand", () => with_two("rc", async (a, b, make) => {
	const pair = await make({});

	await operations_work("rc_manual", pair, [...SHARED, "read", "fetch_add", "compare_swap"]);
	await close_pair(pair);
}));

await scenario("services over RC by hand", () => with_two("rc", async (a, b, make) => {
	await recv_works("rc_manual", make);
	await echo_works("rc_manual", make);
	await sink_works("rc_manual", make);
	await rping_works("rc_manual", make);
}));

await scenario("the operations of UC", () => with_two("uc", async (a, b, make) => {
	const pair = await make({});

	await operations_work("uc", pair, SHARED);
	equal((await a.connection(pair.from.id)).first_error, null, "first error");
	await close_pair(pair);
}));

await scenario("services over UC", () => with_two("uc", async (a, b, make) => {
	await recv_works("uc", make);
	await echo_works("uc", make);
	await sink_works("uc", make);
}));

await scenario("what UC lacks is refused", () => with_two("uc", async (a, b, make) => {
	const pair = await make({});
	const buffer = await a.buffer(4096);
	const transfer = (op, more) => refuses(op, "uc", a, "/v1/transfers", { op, connection: pair.from.id, buffer: buffer.id,
		remote: { addr: "0x1000", rkey: "0x1" }, ...more });
	const by_hand = { bringup: "manual", transport: "uc", device: dev };

	await transfer("read");
	await transfer("fetch_add", { add: "0x1" });
	await transfer("compare_swap", { compare: "0x1", swap: "0x1" });
	for (const service of ["rping", "rping_client"])
		await refuses(service, "uc", a, "/v1/connections", { ...by_hand, service });
	await close_pair(pair);
}));

finish();
