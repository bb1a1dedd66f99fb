// SPDX-License-Identifier: Apache-2.0
//
// Copies of files between two daemons: pushed and pulled, files and trees, with verbsctl as a user runs it; what is refused;
// what is left when a copy is cancelled, when a daemon is killed, when the disk is full.
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";

import { scratch_folder } from "../scratch.mjs";
import { Daemon, Program, WAIT_S, addr, build, equal, finish, ok, resources, resources_are_back, run, scenario, until, write_file } from "./lib.mjs";

const PORT = 7474;
const SECRET = randomBytes(16).toString("hex");
const FILE_BYTES = 3_000_001;

// A host: its folders are exports, and its listener serves them.
class Host {
	static async start(name, { secret = SECRET, folder = scratch_folder(`copies-${name}`) } = {}) {
		const host = new Host();

		host.folder = folder;
		host.config = `${folder}/verbsd.yaml`;
		write_file(`${folder}/secret`, secret, 0o600);
		for (const part of ["out", "in"])
			mkdirSync(`${folder}/${part}`, { recursive: true });
		write_file(host.config, "exports:\n" + [["out", "[read]"], ["in", "[read, write]"]].map(([part, access]) =>
			`  - {name: ${part}, path: ${folder}/${part}, access: ${access}, secret_file: ${folder}/secret}\n`).join(""));
		host.daemon = await Daemon.start(name, ["--config", host.config]);
		await host.daemon.ready();
		return host;
	}

	listen() { return this.daemon.listen({ port: PORT, service: "files" }); }

	ctl(...words) {
		return new Program("env", [`VERBSD_URL=http://127.0.0.1:${this.daemon.port}`, `${build}/cmd/verbsctl`, ...words]);
	}

	cp(...words) { return this.ctl("cp", ...words).success(); }
	write(path, bytes) { writeFileSync(`${this.folder}/${path}`, bytes); }
	read(path) { return readFileSync(`${this.folder}/${path}`); }
	names(path) { return readdirSync(`${this.folder}/${path}`, { encoding: "buffer", recursive: false }).map(String); }
	copy(body, wait_s) { return this.daemon.post("/v1/copies", body, wait_s); }
}

const to = (path) => ({ export: "in", addr, port: PORT, ...(path && { path }) });

async function with_hosts(play, options = {}) {
	const before = await resources();
	const a = await Host.start("a"), b = await Host.start("b", options);

	await b.listen();
	await play(a, b);
	for (const host of [a, b])
		await host.daemon.stop();
	await resources_are_back(before);
}

await scenario("a file is pushed by verbsctl", () => with_hosts(async (a, b) => {
	const bytes = randomBytes(FILE_BYTES);

	a.write("out/model.bin", bytes);
	utimesSync(`${a.folder}/out/model.bin`, 1e9, 1e9);
	const said = await a.cp("out:model.bin", `${addr}:${PORT}:in/`);
	ok(/1 of 1 files done/.test(said), `verbsctl said: ${said}`);
	ok(bytes.equals(b.read("in/model.bin")), "the file that arrived is another");
	equal(statSync(`${b.folder}/in/model.bin`).mtimeMs, 1e12, "the time of its change");
	ok(/1 skipped/.test(await a.cp("out:model.bin", `${addr}:${PORT}:in/`)), "the same file is not skipped");
	const { items } = await b.daemon.get("/v1/copies?state=ended&fields=*");

	equal(items[0].role, "server", "the role of the copy there");
	equal(items[0].files_done, 1, "its files");
}));

const tree = (host, path) => run("sh", "-c", `cd '${host.folder}/${path}' && find . -type f -exec sha256sum {} + | sort -k2; find . -type d | sort`);

function make_tree(folder) {
	for (let i = 0; i < 12; i++) {
		mkdirSync(`${folder}/d${i}/deep/er`, { recursive: true });
		for (let k = 0; k < 20; k++)
			writeFileSync(`${folder}/d${i}/deep/f${k}`, randomBytes((i * 977 + k * 4099) % 70000));
	}
	writeFileSync(`${folder}/empty`, "");
	writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe, 0x41])]), "not UTF-8");
	mkdirSync(`${folder}/nothing`);
}

await scenario("a tree is pushed, and pulled back", () => with_hosts(async (a, b) => {
	make_tree(`${a.folder}/out`);
	await a.cp("-r", "out:", `${addr}:${PORT}:in/`);
	equal(await tree(b, "in"), await tree(a, "out"), "the tree that arrived");
	await a.daemon.listen({ port: PORT + 1, service: "files" });
	await a.cp("-r", `${addr}:${PORT}:in/`, "in:back/");
	equal(await tree(a, "in/back"), await tree(a, "out"), "the tree that came back");
}));

await scenario("what can't be copied has its reason, and the rest is copied", () => with_hosts(async (a, b) => {
	a.write("out/good", "good");
	symlinkSync("/etc/passwd", `${a.folder}/out/link`);
	await run("mkfifo", `${a.folder}/out/pipe`);
	const cp = a.ctl("cp", "-r", "out:", `${addr}:${PORT}:in/`);
	const { status } = await cp.end();

	equal(status, 1, `the status (${cp.output})`);
	ok(/not_regular/.test(cp.output), `verbsctl said: ${cp.output}`);
	equal(b.names("in").join(" "), "good", "what has arrived");
}));

await scenario("a wrong secret, export or path is refused", () => with_hosts(async (a, b) => {
	a.write("out/good", "good");
	for (const destination of [to("x"), { ...to("x"), export: "nobody" }, { ...to("x"), export: "out" }]) {
		const { code, detail } = await a.daemon.refused("POST", "/v1/copies", { source: { export: "out", path: "good" }, destination }, WAIT_S);

		equal(code, "copy_failed", `the code (${detail})`);
	}
	equal(b.names("in").length, 0, "the number of files there");
}, { secret: randomBytes(16).toString("hex") }));

await scenario("no path leads out of an export", () => with_hosts(async (a, b) => {
	a.write("out/good", "good");
	a.write("outside", "secret");
	for (const path of ["../outside", "/etc/passwd", "d/../../outside"]) {
		const { code } = await a.daemon.refused("POST", "/v1/copies", { source: { export: "out", path }, destination: to("x") }, WAIT_S);

		ok(["copy_failed", "bad_value"].includes(code), `${path}: ${code}`);
		const there = await a.daemon.refused("POST", "/v1/copies", { source: { export: "out", path: "good" }, destination: to(path) }, WAIT_S);

		ok(["copy_failed", "bad_value"].includes(there.code), `${path} there: ${there.code}`);
	}
	equal(b.read("secret").toString().length, SECRET.length, "the file beside the export");
}));

async function begin_long(a, b) {
	const old = randomBytes(1000);

	b.write("in/big", old);
	await run("sh", "-c", `head -c ${64 << 20} /dev/urandom >'${a.folder}/out/big'`);
	const { id } = await a.copy({ source: { export: "out", path: "big" }, destination: to("big") });

	await until("bytes have moved", async () => (await a.daemon.get(`/v1/copies/${id}`)).bytes_moved > 1 << 20);
	return { id, old };
}

await scenario("a cancelled copy leaves the old file, and no part", () => with_hosts(async (a, b) => {
	const { id, old } = await begin_long(a, b);

	await a.daemon.post(`/v1/copies/${id}/cancel`, {}, WAIT_S);
	equal((await a.daemon.get(`/v1/copies/${id}`)).state, "cancelled", "the state");
	await until("the copy there has ended", async () => (await b.daemon.get("/v1/copies?state=open")).total === 0);
	ok(old.equals(b.read("in/big")), "the old file has changed");
	equal(b.names("in").join(" "), "big", "what is there");
}));

await scenario("a receiver that is killed has the old file, and the copy fails", () => with_hosts(async (a, b) => {
	const { id, old } = await begin_long(a, b);

	b.daemon.kill("SIGKILL");
	await b.daemon.ended;
	ok(old.equals(b.read("in/big")), "the old file has changed");
	const copy = await a.daemon.until(`/v1/copies/${id}`, "its end", ({ state }) => state === "failed");

	equal(copy.fault, "disconnected", "the fault");
	b.daemon = (await Host.start("b", { folder: b.folder })).daemon;
	await b.listen();
	await a.cp("out:big", `${addr}:${PORT}:in/big`);
	const sum = (host, path) => createHash("sha256").update(host.read(path)).digest("hex");

	equal(sum(b, "in/big"), sum(a, "out/big"), "the file after another copy");
}));

finish();
