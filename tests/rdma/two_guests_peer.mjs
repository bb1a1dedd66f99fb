// SPDX-License-Identifier: Apache-2.0
//
// The second guest of two_guests.mjs: a daemon with a listener and a buffer, whose values it writes to the shared
// folder, and the peers' ports of its connections that have ended.

import { renameSync } from "node:fs";

import { Daemon, WAIT_S, write_file } from "./lib.mjs";

const tell = (name, what) => {
	const path = `${process.env.LAB_SHARED}/${name}.json`;

	write_file(`${path}.new`, JSON.stringify(what));
	renameSync(`${path}.new`, path);
};
const daemon = await Daemon.start("peer");

await daemon.ready();
const { port } = await daemon.listen({ port: 0 });
const { port: rping_port } = await daemon.listen({ port: 0, service: "rping" });
const buffer = await daemon.buffer(4 << 20, { access: ["remote_write", "remote_read"] });
tell("peer", { port, rping_port, buffer });
for (let ended = "oldest"; !daemon.gone;) {
	const { items, next } = await daemon.get(`/v1/events?type=connection_ended&after=${ended}`, WAIT_S);

	ended = next;
	if (items.length)
		tell("ended", (await daemon.connections("ended")).items.map(({ peer }) => peer.port));
}
