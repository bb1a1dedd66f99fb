// SPDX-License-Identifier: Apache-2.0
//
// The second guest of two_guests.mjs: a daemon with a listener and a buffer, whose values it writes to the shared
// folder.

import { renameSync } from "node:fs";

import { Daemon, write_file } from "./lib.mjs";

const told = `${process.env.LAB_SHARED}/peer.json`;
const daemon = await Daemon.start("peer");

await daemon.ready();
const { port } = await daemon.listen({ port: 0 });
const buffer = await daemon.buffer(4 << 20, { access: ["remote_write", "remote_read"] });
write_file(`${told}.new`, JSON.stringify({ port, buffer }));
renameSync(`${told}.new`, told);
await daemon.ended;
