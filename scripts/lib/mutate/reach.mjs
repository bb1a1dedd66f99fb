// SPDX-License-Identifier: Apache-2.0
//
// Which tests execute a line: each test is run once on the build with coverage, and what it wrote is set aside.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

import { run_test } from "./suites.mjs";

const COUNTS_MAX_BYTES = 64 * 1024 * 1024;

// Returns the paths of the files in a folder whose names end so.
function files_in(folder, ending) {
	return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
		const path = join(folder, entry.name);
		return entry.isDirectory() ? files_in(path, ending) : entry.name.endsWith(ending) ? [path] : [];
	});
}

const counts_in = (folder) => files_in(folder, ".gcda");

// The lines of one source file that one test executed, as gcov counts them.
class Executed {
	constructor({ lines, functions }) {
		this.counts = new Map();
		for (const { line_number, count } of lines)
			this.counts.set(line_number, Math.max(count, this.counts.get(line_number) ?? 0));
		this.functions = functions;
	}

	// Whether the test executed a line. A line without code of its own belongs to the statement above it in its function;
	// a table outside of functions, to every function of the file.
	has(line) {
		const inside = this.functions.find(({ start_line, end_line }) => start_line <= line && line <= end_line);

		if (!inside)
			return this.functions.some(({ execution_count }) => execution_count > 0);
		for (let at = line; at >= inside.start_line; at--) {
			if (this.counts.has(at))
				return this.counts.get(at) > 0;
		}
		return false;
	}
}

export class Reach {
	constructor(tree, folder) {
		this.tree = tree;
		this.folder = folder;
		this.normal_ms = new Map();
		this.executed = new Map();
		this.notes = join(folder, "notes");
		rmSync(folder, { recursive: true, force: true });
		// gcov knows counts by the compiler's notes (.gcno) of the same compilation, and mutants are compiled later.
		for (const path of files_in(tree.build_folder, ".gcno"))
			this.#keep(path, this.notes, copyFileSync);
	}

	#keep(path, folder, how) {
		const kept = join(folder, relative(this.tree.build_folder, path));

		mkdirSync(dirname(kept), { recursive: true });
		how(path, kept);
	}

	// Forgets what the runs of mutants have counted.
	discard() {
		for (const path of counts_in(this.tree.build_folder))
			rmSync(path);
	}

	// Runs a test, and keeps what it executed. Resolves to the result of run_test().
	async measure(test) {
		this.discard();
		const result = await run_test(test, test.timeout_ms);
		this.normal_ms.set(test.name, result.duration_ms);
		for (const path of counts_in(this.tree.build_folder))
			this.#keep(path, join(this.folder, test.name), renameSync);
		return result;
	}

	// Returns what a test executed in a file: one Executed for each program that has the file.
	#executed_in(test, file) {
		const folder = join(this.folder, test.name);
		const key = `${test.name} ${file}`;

		if (!this.executed.has(key)) {
			const counts = existsSync(folder) ? counts_in(folder).filter((path) => basename(path) === `${basename(file)}.gcda`) : [];
			this.executed.set(key, counts.flatMap((path) => this.#read(path, folder, file)));
		}
		return this.executed.get(key);
	}

	// gcov wants the notes beside the counts.
	#read(path, folder, file) {
		const notes = path.replace(/gcda$/, "gcno");

		if (!existsSync(notes))
			symlinkSync(join(this.notes, relative(folder, notes)), notes);
		const { stdout } = spawnSync("gcov", ["--json-format", "--stdout", path],
			{ cwd: folder, encoding: "utf8", maxBuffer: COUNTS_MAX_BYTES });
		const { files = [], current_working_directory = "." } = stdout ? JSON.parse(stdout) : {};

		return files.filter((each) => resolve(current_working_directory, each.file) === this.tree.path(file))
			.map((each) => new Executed(each));
	}

	// Returns those of the tests that execute the line, or may: a process that is killed writes no counts, and the suites of
	// verbsctl kill what goes on for ever. A file without functions has no counts: then all.
	of({ file, line }, tests) {
		const all = tests.map((test) => ({ test, parts: this.#executed_in(test, file) }));

		if (all.every(({ parts }) => parts.length === 0))
			return tests;
		const may = ({ name }) => file.startsWith("cmd/verbsctl/") && name.startsWith("ctl.");
		return all.filter(({ test, parts }) => may(test) || parts.some((part) => part.has(line))).map(({ test }) => test);
	}
}
