// SPDX-License-Identifier: Apache-2.0
//
// Kept objects of two daemons: killed daemons, a device that goes and comes back, a reload; nobody makes anything again
// by hand.

import { Daemon, Program, addr, dev, equal, finish, ok, run, scenario, transfers_work, write_file } from "./lib.mjs";
import { scratch_folder, scratch_path } from "../scratch.mjs";

const PORT = 7471;
const NETDEV = (await run("cat", `/sys/class/infiniband/${dev}/ports/1/gid_attrs/ndevs/0`)).trim();

const door = (port = PORT) => `listeners:\n- {name: door, addr: 0.0.0.0, port: ${port}}\n`;
const POOL = "buffers:\n- {name: pool, size_bytes: 64K, kind: shared, access: [remote_write]}\n";

// The device has 5 s to repeat a heartbeat: a guest whose host is loaded stands still for longer than 0.3 s.
const to_door = (port = PORT) => `connections:\n- name: to-door\n  dst_addr: ${addr}\n  dst_port: ${port}\n` +
	"  timeout_ms: 10s\n  reconnect_min_ms: 50\n  reconnect_max_ms: 1s\n  qp: {ack_timeout: 18}\n";

// A daemon that can be killed, and started again with the same files.
class Host {
	constructor(name, config) {
		this.name = name;
		this.path = scratch_path(`${name}.yaml`);
		this.state_dir = scratch_folder(name);
		this.configure(config);
	}

	configure(config) { write_file(this.path, config, 0o644); }

	async start() {
		this.daemon = await Daemon.start(this.name, ["--config", this.path, "--set", `state_dir=${this.state_dir}`]);
	}

	async kill() {
		this.daemon.kill("SIGKILL");
		await this.daemon.end();
	}

	kept(name, state) {
		return this.daemon.until(`/v1/kept_objects/${name}`, `state ${state}`, (kept) => kept.state === state);
	}

	// Until the connection was made again, and is there. Its id stays the same.
	async again({ id, created_at }) {
		return this.daemon.until(`/v1/connections/${id}`, "the next try",
			(seen) => seen.created_at !== created_at && seen.state === "established");
	}
}

const [a, b] = [new Host("a", to_door()), new Host("b", door() + POOL)];

async function all_is_up() {
	await b.kept("door", "up");
	await b.kept("pool", "up");
	await a.kept("to-door", "up");
	return a.daemon.get("/v1/connections/to-door");
}

// The scenarios share the two daemons, so that each one finds what the one before has left.
async function play() {
	await Promise.all([a.start(), b.start()]);
	let connection = await all_is_up();
	equal(connection.desired.source, "config", "source of the connection");
	equal(connection.qp.heartbeat_ms, 5000, "interval of heartbeats, which the spec does not name");
	await transfers_work(a.daemon, connection, b.daemon);
	await a.daemon.post("/v1/buffers", { name: "own", size_bytes: 4096, keep: true });

	// The passive side dies.
	await b.kill();
	const { error } = await a.daemon.until("/v1/kept_objects/to-door", "a failed try", (kept) => kept.error);
	ok(error.code, "why the connection is gone");
	await b.start();
	const again = await a.again(connection);
	equal((await all_is_up()).id, connection.id, "id of the connection with the name");
	const kept = await a.daemon.get("/v1/kept_objects/to-door");
	equal(kept.object_id, connection.id, "id of the newest connection");
	equal(kept.previous_id, again.previous_id, "id of the record of the try before");
	const before = await a.daemon.get(`/v1/connections/${again.previous_id}`);
	ok(before.ended_at, "the record of the try before does not tell its end");
	const { items } = await a.daemon.get(`/v1/connections/${connection.id}/timeline`);
	const told = items.filter(({ kind }) => kind === "try");
	ok(told.some(({ what, detail }) => what === "waiting" && /^after try 1 \([a-z_]+\), the next in \d+ ms: ./.test(detail)),
		"the timeline does not say why the first try was over");
	equal(told.at(-1).what, "begun", "the newest entry about a try");
	const { items: events } = await a.daemon.get(`/v1/events?object=connection/${connection.id}&type=connection_established`);
	ok(events.length >= 2, "the events of the id are not those of all tries");
	await transfers_work(a.daemon, again, b.daemon);

	// The active side dies.
	await a.kill();
	await a.start();
	connection = await all_is_up();
	await a.kept("own", "up");
	equal((await a.daemon.get("/v1/kept_objects/own")).source, "api", "source of the buffer");
	await transfers_work(a.daemon, connection, b.daemon);

	// The device goes, and comes back.
	const bytes = Buffer.from("bytes that stay");
	await b.daemon.fill({ id: "pool" }, Buffer.concat([bytes, Buffer.alloc(65536 - bytes.length)]));
	equal((await new Program("rdma", ["link", "delete", dev]).end()).status, 0, "status of rdma link delete");
	await a.kept("to-door", "waiting");
	await b.kept("pool", "waiting");
	await run("rdma", "link", "add", dev, "type", "rxe", "netdev", NETDEV);
	connection = await a.again(connection);
	await all_is_up();
	await a.kept("own", "up");
	ok((await b.daemon.bytes({ id: "pool" })).subarray(0, bytes.length).equals(bytes), "the buffer has other bytes");
	await transfers_work(a.daemon, connection, b.daemon);

	// A reload moves the door, and takes the connection away.
	const { tries } = await b.daemon.get("/v1/kept_objects/pool");
	b.configure(door(PORT + 1) + POOL);
	await b.daemon.post("/v1/reload");
	await b.daemon.until("/v1/listeners/door", "the other port", ({ port }) => port === PORT + 1);
	equal((await b.daemon.get("/v1/kept_objects/pool")).tries, tries, "tries for the buffer, whose spec is the same");
	a.configure(to_door(PORT + 1));
	await a.daemon.post("/v1/reload");
	connection = await a.again(connection);
	equal(connection.dst_port, PORT + 1, "port of the connection");
	a.configure("");
	await a.daemon.post("/v1/reload");
	await a.daemon.end_of(connection.id);
	await a.daemon.until("/v1/kept_objects", "nothing but the buffer", ({ total }) => total === 1);
	await a.daemon.stop();
	await b.daemon.stop();
}

await scenario("kept objects are there again after kills, an unplugged device and a reload", play);

finish();
