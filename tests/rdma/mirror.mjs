// SPDX-License-Identifier: Apache-2.0
//
// A client that only reads the stream of events has the same objects, in the same states, as the lists of the API.

import http from "node:http";

import { scratch_folder } from "../scratch.mjs";
import { Daemon, WAIT_S, addr, dev, equal, finish, ok, scenario, start_ready, until } from "./lib.mjs";

const PORT = 7471;
const GROUP = "239.76.0.1";
const WITHOUT_STATES = { pd: "pds", cq: "cqs", srq: "srqs" };
const WITH_STATES = {
	device: "devices", buffer: "buffers", window: "windows", listener: "listeners", connection: "connections",
	transfer: "transfers", transfer_batch: "transfer_batches", probe: "probes", benchmark: "benchmarks", ud_endpoint: "ud_endpoints",
	ud_peer: "ud_peers", multicast_membership: "multicast_memberships",
};

// The ended objects that outlive their run.
const LASTING = /^(connection|transfer|transfer_batch|probe|benchmark)\/\d+ (closed|done|failed|cancelled|timed_out)$/;

class Mirror {
	constructor(daemon) {
		this.objects = new Map();
		this.seq = 0;
		this.rest = "";
		this.request = http.get({ host: "127.0.0.1", port: daemon.port, path: "/v1/events/stream?after=oldest", agent: false },
			(response) => {
				response.setEncoding("utf8");
				response.on("data", (text) => this.take(text));
				response.on("error", () => {});
			});
		this.request.on("error", () => {});
	}

	take(text) {
		const lines = (this.rest + text).split("\n");

		this.rest = lines.pop();
		for (const line of lines.filter((one) => one.startsWith("data: ")))
			this.apply(JSON.parse(line.slice(6)));
	}

	// An event about an unknown object adds the object; KIND_deleted removes it, as does the first event of a later run.
	apply({ seq, server_id, type, object, data }) {
		this.seq = seq;
		if (server_id !== this.server_id)
			this.objects = new Map([...this.objects].filter(([key, state]) => LASTING.test(`${key} ${state}`)));
		this.server_id = server_id;
		if (!object)
			return;
		const key = `${object.kind}/${object.id}`;

		if (type === `${object.kind}_deleted`)
			ok(this.objects.delete(key), `${key} is deleted, but no event told of it before`);
		else
			this.objects.set(key, data.state ?? null);
	}

	close() { this.request.destroy(); }
}

async function listed(daemon) {
	const objects = new Map();
	const take = async (kind, path) => {
		for (const { id, state } of (await daemon.get(path)).items)
			objects.set(`${kind}/${id}`, state ?? null);
	};

	for (const [kind, plural] of Object.entries(WITHOUT_STATES))
		await take(kind, `/v1/${plural}?limit=1000`);
	for (const [kind, plural] of Object.entries(WITH_STATES))
		await take(kind, `/v1/${plural}?limit=1000&state=open,ended`);
	return objects;
}

const text_of = (objects) => [...objects].map(([key, state]) => `${key} ${state}`).sort().join("\n");

// Compares when nothing has happened while the lists were read, and the mirror has seen everything before.
async function same(daemon, mirror, when) {
	let last, seen;

	await until(`no event while the lists are read, ${when}`, async () => {
		last = await daemon.newest_event();
		seen = await listed(daemon);
		return await daemon.newest_event() === last;
	});
	await until("the mirror to have seen all", () => mirror.seq >= last);
	equal(text_of(mirror.objects), text_of(seen), `the mirror, ${when}`);
	return seen;
}

// Makes at least one object of each kind at `near`.
async function make_all(near, far) {
	await near.post("/v1/pds", { name: "mine", device: dev });
	await near.post("/v1/cqs", { name: "mine", device: dev, cqe: 64 });
	await near.post("/v1/srqs", { name: "mine", pd: "mine", cq: "mine", max_wr: 16, recv_size_bytes: 128 });
	await near.listen({ name: "door", port: PORT + 1 });
	await far.listen({ port: PORT });
	const target = await far.buffer(65536, { device: dev, access: ["remote_write"] });
	const source = await near.buffer(65536, { name: "pail", device: dev, access: ["mw_bind"] });
	const connection = await near.connect({ name: "to-far", dst_port: PORT });

	await far.connect({ dst_port: PORT + 1 });
	await near.connect({ name: "nowhere", dst_port: 9 }, WAIT_S).catch(() => {});
	await near.post("/v1/windows", { name: "slit", buffer: source.id, connection: connection.id, type: 2,
		access: ["remote_write"] }, WAIT_S);
	await near.transfer("write", connection, source, target);
	await near.post("/v1/transfer_batches", { transfers: [0, 1].map(() => ({ op: "write", connection: connection.id,
		buffer: source.id, remote: { addr: target.addr, rkey: target.rkey } })) }, WAIT_S);
	await near.post("/v1/benchmarks", { connection: connection.id, op: "write", size_bytes: 64, count: 16,
		remote: { addr: target.addr, rkey: target.rkey } }, WAIT_S);
	await near.post("/v1/probes", { connection: connection.id, count: 3 }, WAIT_S);
	await far.post("/v1/ud_endpoints", { device: dev, addr, port: PORT + 2 });
	const here = await near.post("/v1/ud_endpoints", { name: "here", device: dev });

	await near.post("/v1/ud_peers", { name: "there", ud_endpoint: here.id, dst_addr: addr, dst_port: PORT + 2 }, WAIT_S);
	await near.post("/v1/multicast_memberships", { name: "all", ud_endpoint: here.id, addr: GROUP }, WAIT_S);
}

async function delete_all(near) {
	const gone = (path) => near.call("DELETE", path, undefined, { wait_s: WAIT_S });

	for (const kind of ["probe", "benchmark", "transfer_batch", "transfer"]) {
		for (const { id } of (await near.get(`/v1/${WITH_STATES[kind]}?limit=1000&state=open,ended`)).items)
			await gone(`/v1/${WITH_STATES[kind]}/${id}`);
	}
	await gone("/v1/windows/slit");
	await gone("/v1/multicast_memberships/all");
	await gone("/v1/ud_peers/there");
	await gone("/v1/ud_endpoints/here");
	for (const { id } of (await near.get("/v1/connections?limit=1000&state=open,ended")).items)
		await gone(`/v1/connections/${id}`);
	for (const path of ["buffers/pail", "listeners/door", "srqs/mine", "cqs/mine", "pds/mine"])
		await gone(`/v1/${path}`);
}

await scenario("a mirror that reads the stream alone has the objects and states of the lists", async () => {
	const [near, far] = await start_ready("near far");
	const mirror = new Mirror(near);
	const before = await same(near, mirror, "at the start");

	await make_all(near, far);
	const alive = await same(near, mirror, "with an object of each kind");

	for (const kind of Object.keys({ ...WITHOUT_STATES, ...WITH_STATES }))
		ok([...alive.keys()].some((key) => key.startsWith(`${kind}/`)), `there is no ${kind}`);
	await near.call("POST", "/v1/connections/to-far/close", undefined, { wait_s: WAIT_S });
	await near.call("PATCH", "/v1/listeners/door", { accept: "manual" });
	await same(near, mirror, "when the connection is closed");
	await delete_all(near);
	const after = await same(near, mirror, "when everything is deleted");
	const own = (objects) => [...objects.keys()].filter((key) => !/^(device|cq|pd)\//.test(key)).join();

	equal(own(after), own(before), "objects that are left");
	mirror.close();
	await Promise.all([near.stop(), far.stop()]);
});

await scenario("a mirror of the events of three runs, of which one was killed, has the objects of the last one", async () => {
	const args = ["--set", `state_dir=${scratch_folder("mirror")}`];
	const far = await Daemon.start("far");

	await far.ready();
	for (const end of ["SIGKILL", "SIGTERM", null]) {
		const near = await Daemon.start("near", args);

		await near.ready();
		await make_all(near, far);
		if (!end) {
			const mirror = new Mirror(near);

			await same(near, mirror, "in the last run");
			mirror.close();
		}
		near.kill(end ?? "SIGTERM");
		await near.end();
		for (const { id } of (await far.get("/v1/listeners")).items)
			await far.call("DELETE", `/v1/listeners/${id}`);
		for (const { id } of (await far.get("/v1/ud_endpoints")).items)
			await far.call("DELETE", `/v1/ud_endpoints/${id}`, undefined, { wait_s: WAIT_S });
	}
	await far.stop();
});

await finish();
