// SPDX-License-Identifier: Apache-2.0
//
// A thread with clients that have no token and do what they can with their connections. Each one connects again as soon as
// it is cut. workerData: {port, count}. Says "on" when half of them are connected.
import { parentPort, workerData } from "node:worker_threads";
import { Client, head } from "./lib.mjs";

const BEHAVIOURS = [
	() => {},
	(socket) => socket.write("GET /v1/ping HTTP/1.1\r\nHost: 127."),
	(socket) => socket.write(head("GET", "/v1/ping")),
	(socket) => socket.write(head("GET", "/livez").repeat(20)),
	(socket) => socket.write(head("POST", "/v1/echo", { "Content-Length": 60000 }) + "x"),
	(socket) => socket.end("GET /v1/ping HTTP/1.1\r\nHost"),
];

let connects = 0;

async function misbehave(behaviour) {
	const client = await Client.connect({ host: "127.0.0.1", port: workerData.port }).catch(() => null);
	if (client) {
		if (++connects === workerData.count / 2) parentPort.postMessage("on");
		behaviour(client.socket);
		await client.whenClosed();
		client.destroy();
	}
	setImmediate(misbehave, behaviour);
}

for (let i = 0; i < workerData.count; i++) misbehave(BEHAVIOURS[i % BEHAVIOURS.length]);
