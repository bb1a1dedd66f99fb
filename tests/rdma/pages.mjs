// SPDX-License-Identifier: Apache-2.0
//
// The commands of README.md, of the tour and of the first minutes after an installation, run as they are printed.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { URL_OF } from "../contrib/example.mjs";
import { blocks_of, play } from "../contrib/page.mjs";
import { scratch_file, scratch_folder } from "../scratch.mjs";
import { Program, addr, build, equal, finish, ok, run, scenario, start_ready, until } from "./lib.mjs";

const PATH = `${build}/cmd:${process.env.PATH}`;
// The headings of README.md with commands, and the test that tries them.
const README = { "A connection that fails": "here", "Try it": "scripts/quickstart --once", "Install": "scripts/package --test", "Two hosts": "here" };
const SSH_PORT = 7422;
const WEB_PORT = 7423;

// Two hosts: daemons that serve unix sockets in a folder of their own each, and sshd on the second one.
async function two_hosts() {
	const folder = scratch_folder("hosts");
	const host = async (name) => {
		const program = new Program(`${build}/cmd/verbsd`, ["--listen", "", "--unix-socket", join(folder, `${name}.sock`)]);
		const url = `unix:${join(folder, `${name}.sock`)}`;

		await until(`the daemon of ${name} to be ready`, () => new Program(`${build}/cmd/verbsctl`, ["-s", url, "status"]).end().then(({ status }) => status === 0));
		return { program, url };
	};
	const hosts = [await host("hosta"), await host("hostb")];

	for (const key of ["host_key", "user_key"])
		await run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", join(folder, key));
	mkdirSync("/run/sshd", { recursive: true });
	// Its log is a file, since the process of a session keeps a pipe open.
	const log = scratch_file("sshd.log", "");
	const sshd = new Program("sh", ["-c", `exec "$@" 2>'${log}'`, "-", "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", join(folder, "host_key"),
		"-o", `ListenAddress=127.0.0.1:${SSH_PORT}`, "-o", `AuthorizedKeysFile=${join(folder, "user_key.pub")}`,
		"-o", "StrictModes=no", "-o", "UsePAM=no", "-o", "PidFile=none"]);

	await until("sshd to listen", () => /listening/.test(readFileSync(log, "utf8")));
	return { folder, hosts, sshd };
}

// The user's programs that a test must not use: sudo, and ssh with the user's own configuration.
function stand_ins(folder) {
	const options = ["-F", "/dev/null", "-p", SSH_PORT, "-i", join(folder, "user_key"), "-o", "HostName=127.0.0.1",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ControlMaster=auto", "-S", join(folder, "ssh")];

	scratch_file("sudo", '#!/bin/sh\nexec "$@"\n', 0o755);
	return scratch_file("ssh", `#!/bin/sh\nexec /usr/bin/ssh ${options.join(" ")} "$@" >'${folder}/ssh.log' 2>&1\n`, 0o755).replace(/\/ssh$/, "");
}

await scenario("README: two hosts by ssh, and a connection that fails", async () => {
	const { folder, hosts: [a, b], sshd } = await two_hosts();
	const set = { PATH: `${stand_ins(folder)}:${PATH}`, HOME: folder, VERBSD_URL: a.url };
	const here = (text) => text.replaceAll("/run/verbsd/verbsd.sock", join(folder, "hostb.sock"))
		.replaceAll("7481:", `${WEB_PORT}:`).replace(/(?<!@)\bhostb\b(?!\.sock)/g, addr);
	const blocks = blocks_of("README.md");
	const under = (heading) => blocks.filter((block) => block.heading === heading);
	const b_does = (...args) => run(`${build}/cmd/verbsctl`, "-s", b.url, ...args);

	equal([...new Set(blocks.map(({ heading }) => heading))].join(", "), Object.keys(README).join(", "), "headings with commands");
	const [transfer, removal] = under("Two hosts");
	try {
		await play("README.md", [{ language: "sh", text: `cd ${folder}; head -c 100000 /dev/urandom >file\n` }, transfer, removal, transfer,
			{ language: "sh", text: "b buf sum sink --length 100000 --algorithm sha256 | grep -qF $(sha256sum file | cut -c 1-64)\n" }], { set, here });
		await play("docs/install.md", [...blocks_of("docs/install.md").filter(({ heading }) => heading === "The first minutes"),
			{ language: "sh", text: `curl -fsS http://127.0.0.1:${WEB_PORT}/v1\n` }], { set, here });
	} finally {
		await new Program("ssh", ["-S", join(folder, "ssh"), "-O", "exit", "hostb"]).end();
		sshd.kill("SIGTERM");
	}

	// The failure of the first block: memory that is gone, beside other memory that is not.
	const { addr: at, rkey } = JSON.parse(await b_does("buf", "show", "sink", "--json"));
	await b_does("buf", "create", "pool", "--size", "4K", "--access", "remote_write");
	await b_does("buf", "rm", "sink");
	const [write, explain] = under("A connection that fails");

	await play("README.md", [write], { set, here: (text) => text.replace(/(?<=--remote-addr )\w+/, at).replace(/(?<=--remote-rkey )\w+/, rkey) });
	// The block of two hosts ran twice, so the connection is the second one.
	await until("the report of host A's verbsd", async () => /reports a write/.test(await b_does("explain", "2")), 20_000);
	await play("README.md", [explain], { set: { ...set, VERBSD_URL: b.url }, here: (text) => text.replace("explain 1", "explain 2") });
	for (const { program } of [a, b]) {
		program.kill("SIGTERM");
		await program.success();
	}
});

await scenario("tour: each block of docs/tour.md does what the page says", async () => {
	const [a, b] = await start_ready("a b");
	const blocks = blocks_of("docs/tour.md");
	const here = (text) => text.replaceAll("http://127.0.0.1:7480", URL_OF(a)).replaceAll("http://127.0.0.1:7481", URL_OF(b)).replaceAll("10.76.0.1", addr);

	const printed = await play("docs/tour.md", [{ language: "sh", text: `cd ${scratch_folder("tour")}\n` }, ...blocks], { set: { PATH }, here });
	for (const said of ["by hand", "a datagram", "to all", "0x0000000000000029"])
		ok(printed.some((text) => text.includes(said)), `nothing printed "${said}": ${printed.join("")}`);
	for (const daemon of [a, b])
		await daemon.stop();
});

finish();
