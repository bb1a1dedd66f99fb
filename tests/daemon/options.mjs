// SPDX-License-Identifier: Apache-2.0
//
// The options that print something and end, and options that can't be.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { scratch_folder } from "../scratch.mjs";
import { VERBSD } from "./lib.mjs";

const LIMIT = { timeout: 500000 };

const run = (...args) => spawnSync(VERBSD, args, { encoding: "utf8" });

function prints(...args) {
	const { status, stdout, stderr } = run(...args);
	assert.equal(status, 0, stderr);
	assert.equal(stderr, "");
	return stdout;
}

function refuses(args, said) {
	const { status, stdout, stderr } = run(...args);
	assert.equal(status, 2, args.join(" "));
	assert.equal(stdout, "");
	assert.match(stderr, said);
	assert.match(stderr, /\nTry 'verbsd --help'\.\n$/);
}

const NAMES = ["config", "listen", "unix-socket", "control-token-file", "read-token-file", "workers", "log-level", "log-format",
	"insecure", "set", "check-config", "dump-config", "make-token", "help", "version"];

test("options: --help has a line for each option, in columns", LIMIT, () => {
	const lines = prints("--help").split("\n").filter((line) => line.startsWith("  --"));
	assert.deepEqual(lines.map((line) => /^ {2}--([a-z-]+)/.exec(line)[1]), NAMES);
	for (const line of lines)
		assert.match(line, /^.{31} \S/);
	assert.match(prints("--help"), /^Usage: verbsd \[OPTION\]\.\.\.\n.*\n\n {2}--config FILE {17}read [^]*\n\nOptions override the file\./);
});

const HELP = `Usage: verbsd [OPTION]...
Own RDMA connections and serve them as JSON over HTTP.

  --config FILE                 read the configuration from a YAML file
  --listen ADDR:PORT,...        addresses to serve on, by commas (127.0.0.1:7480; empty: no TCP)
  --unix-socket PATH            unix socket to serve HTTP on
  --control-token-file FILE     file with the token for the control role
  --read-token-file FILE        file with the token for the read role
  --workers N                   number of data worker threads
  --log-level LEVEL             log messages of this level and above: error, warning, notice, info or debug
  --log-format FORMAT           format of the log: text, json or journal
  --insecure                    serve other hosts without TLS, in clear
  --set KEY=VALUE               set any key of the configuration file
  --check-config                check the configuration and exit
  --dump-config                 print the configuration in force and exit
  --make-token                  print a random token and its hash for callers_file
  --help                        print this and exit
  --version                     print the version and exit

Options override the file. See verbsd(8) and verbsd.yaml(5).
`;

test("options: --help is what it was", LIMIT, () => {
	assert.equal(prints("--help"), HELP);
	assert.equal(prints("--check-config", "--help"), HELP);
});

test("options: a key may be as long as 63 characters", LIMIT, () => {
	refuses(["--set", `${"x".repeat(63)}=1`], new RegExp(`^verbsd: .*x{63}`));
});

test("options: an address that no interface has is a warning of --check-config", LIMIT, () => {
	const callers = join(scratch_folder("options"), "callers.yaml");
	writeFileSync(callers, "# nobody\n", { mode: 0o600 });
	assert.equal(prints("--insecure", "--set", `callers_file=${callers}`, "--listen", "127.0.0.1:1,192.0.2.77:1", "--check-config"),
		"warning: listen: no interface has the address of 192.0.2.77:1 now\nthe configuration is fine\n");
});

test("options: what stands where a file is to be made fails --check-config, or is a warning", LIMIT, () => {
	const folder = scratch_folder("options");
	const [fifo, file] = [join(folder, "fifo"), join(folder, "file")];

	execFileSync("mkfifo", [fifo]);
	writeFileSync(file, "");
	for (const [setting, said] of [[`unix_socket=${fifo}`, "exists and is no socket"], [`unix_socket=${file}`, "exists and is no socket"],
		[`unix_socket=${folder}`, "exists and is no socket"], [`audit_file=${folder}`, "is no file"]]) {
		const { status, stdout, stderr } = run("--set", setting, "--check-config");

		assert.equal(stderr, `verbsd: ${setting.replace("=", ": ")} ${said}\n`);
		assert.deepEqual([status, stdout], [2, ""]);
	}
	const fine = "the configuration is fine\n";
	assert.equal(prints("--set", `audit_file=${file}`, "--check-config"), fine);
	assert.equal(prints("--set", `audit_file=${fifo}`, "--check-config"),
		`warning: audit_file: verbsd starts only while ${fifo} has a reader\n${fine}`);
	assert.equal(prints("--set", `state_dir=${file}`, "--check-config"),
		`warning: state_dir: can't write ${file}/.: access: Not a directory (ENOTDIR); verbsd would serve without\n${fine}`);
	assert.equal(prints("--set", `state_dir=${folder}/new`, "--check-config"), fine);
});

test("options: a certificate that can't be read fails --check-config", LIMIT, () => {
	const { status, stdout, stderr } = run("--set", "tls.certificate=/nowhere/c", "--set", "tls.key=/nowhere/k", "--check-config");
	assert.equal(status, 2);
	assert.equal(stdout, "");
	assert.match(stderr, /^verbsd: .*\/nowhere\/c.*\n$/);
});

// A status of 2, which systemd does not repeat. What depends on the user only the start tells.
test("options: what the process may not do ends the start and --check-config with status 2", LIMIT, () => {
	const tls = ["--set", "tls.certificate=/nowhere/c", "--set", "tls.key=/nowhere/k"];
	const rows = [
		[["--set", "cpu_affinity=1023"], /cpu_affinity: .* processor 1023/, true],
		[tls, /tls\.certificate: .*nowhere/, true],
		[["--set", "audit_file=/sys/verbsd-audit"], /audit_file: .*\/sys\/verbsd-audit/, false],
	];

	for (const [args, said, checked] of rows)
		for (const check of checked ? [[], ["--check-config"]] : [[]]) {
			const { status, stderr } = run("--listen", "127.0.0.1:0", ...args, ...check);

			assert.match(stderr, said);
			assert.equal(status, 2, args.join(" "));
		}
});

test("options: --version tells name and version", LIMIT, () => {
	assert.match(prints("--version"), /^verbsd \d+\.\d+\.\d+\n$/);
});

test("options: --make-token prints another token each time, with its hash", LIMIT, () => {
	const made = () => /^token: ([0-9a-f]{64})\ntoken_sha256: ([0-9a-f]{64})\n$/.exec(prints("--make-token")).slice(1);
	const [[token, hash], [other]] = [made(), made()];
	assert.equal(hash, createHash("sha256").update(token).digest("hex"));
	assert.notEqual(token, other);
});

test("options: --dump-config prints what is in force, which can be read again", LIMIT, () => {
	const path = join(scratch_folder("options"), "verbsd.yaml");
	writeFileSync(path, "workers: 3\nlog_level: error\n");
	const text = prints("--workers", "5", "--set", "limits.http_body_bytes=70000", "--config", path, "--dump-config");
	for (const line of ["workers: 5", "log_level: error", "  http_body_bytes: 70000", 'listen: "127.0.0.1:7480"'])
		assert.ok(text.split("\n").includes(line), `${line}: ${text}`);
	writeFileSync(path, text);
	assert.equal(prints("--config", path, "--dump-config"), text);
	assert.equal(prints("--config", path, "--check-config"), "the configuration is fine\n");
});

test("options: what can't be printed is a failure", LIMIT, () => {
	for (const args of [["--help"], ["--version"], ["--make-token"], ["--dump-config"], ["--check-config"], ["--check-config", "--dump-config"]])
		for (const [where, why] of [["> /dev/full", "No space left on device"], [">&-", "Bad file descriptor"]]) {
			const { status, stderr } = spawnSync("/bin/sh", ["-c", `exec "$0" "$@" ${where}`, VERBSD, ...args], { encoding: "utf8" });

			assert.equal(stderr, `verbsd: standard output: ${why}\n`, args.join(" "));
			assert.equal(status, 1, args.join(" "));
		}
});

test("options: what can not be is refused with a hint", LIMIT, () => {
	refuses(["now"], /^verbsd: it takes no arguments, only options\n/);
	refuses(["--nope"], /unrecognized option '--nope'\nTry 'verbsd --help'\.\n/);
	refuses(["--set", "workers"], /^verbsd: --set takes KEY=VALUE, not 'workers'\n/);
	refuses(["--set", `${"x".repeat(64)}=1`], /^verbsd: --set takes KEY=VALUE, not 'x{64}=1'\n/);
	refuses(["--set", "nokey=1"], /nokey/);
	refuses(["--workers", "0"], /^verbsd: workers: 0 is not between 1 and 64\n/);
});
