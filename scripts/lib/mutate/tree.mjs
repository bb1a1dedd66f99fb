// SPDX-License-Identifier: Apache-2.0
//
// A copy of the source tree and its build: mutants are written into the copy only.

import { spawnSync } from "node:child_process";
import {
	copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, readdirSync, rmSync, statSync, symlinkSync,
	writeFileSync,
} from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";

// The folders beside the sources that tests need: the copy refers to the originals.
const SHARED = ["tests/api/node_modules", "tests/contract/node_modules", "tests/web/node_modules", "web/node_modules", "build/lab"];
const OUTPUT_MAX_BYTES = 256 * 1024 * 1024;

// ccache must tell two copies apart: an object with coverage has the path of its build.
const { CCACHE_BASEDIR, CCACHE_NOHASHDIR, ...environment } = process.env;

const run = (command, args, cwd) => spawnSync(command, args, { cwd, env: environment, encoding: "utf8", maxBuffer: OUTPUT_MAX_BYTES });

const said = ({ stdout, stderr, error }) => `${error ?? ""}${stdout ?? ""}${stderr ?? ""}`.split("\n").slice(-30).join("\n");

// Returns the paths of the sources, relative to the root: those git knows or would add, and all without git.
export function sources_of(root) {
	const { status, stdout } = run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root);
	const walk = (folder) => readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
		const path = join(folder, entry.name);
		if (entry.name === "build" || entry.name === "node_modules")
			return [];
		return entry.isDirectory() ? walk(path) : [path];
	});

	return (status === 0 ? stdout.split("\0").filter((path) => path && existsSync(join(root, path))) : walk(".")).sort();
}

function copy_file(from, to) {
	mkdirSync(dirname(to), { recursive: true });
	if (lstatSync(from).isSymbolicLink()) {
		rmSync(to, { force: true });
		symlinkSync(readlinkSync(from), to);
	} else if (!existsSync(to) || !readFileSync(from).equals(readFileSync(to)) || statSync(from).mode !== statSync(to).mode) {
		copyFileSync(from, to);
	}
}

export class Tree {
	// Copies the sources (paths) of `origin` to `folder`, where an older copy may be.
	constructor(origin, sources, folder) {
		this.root = folder;
		this.build_folder = join(folder, "build/asan");
		this.objects = new Map();
		for (const path of sources)
			copy_file(join(origin, path), join(folder, path));
		for (const path of SHARED) {
			if (existsSync(join(origin, path)) && !existsSync(join(folder, path))) {
				mkdirSync(dirname(join(folder, path)), { recursive: true });
				symlinkSync(join(origin, path), join(folder, path));
			}
		}
	}

	path(file) {
		return join(this.root, file);
	}

	// Builds all with sanitizers, which notice what a mutant leaks or reads too far, and with coverage.
	configure() {
		const result = run("cmake", ["--preset", "asan", "-DCMAKE_C_FLAGS=--coverage"], this.root);

		if (result.status !== 0)
			throw new Error(`the copy can't be configured:\n${said(result)}`);
		this.commands = JSON.parse(readFileSync(join(this.build_folder, "compile_commands.json"), "utf8"));
	}

	// Builds targets (ninja's names, default all). Returns undefined, or what the build said when it failed.
	build(targets = ["all"], folder = this.build_folder) {
		const result = run("cmake", ["--build", folder, "-j", String(cpus().length), "--target", ...targets], this.root);

		return result.status === 0 ? undefined : said(result);
	}

	// Returns the names of all programs of the build.
	programs() {
		const { stdout } = run("ninja", ["-C", this.build_folder, "-t", "targets", "all"], this.root);

		return [...stdout.matchAll(/^(\S+): C_EXECUTABLE_LINKER__/gm)].map(([, name]) => name);
	}

	// Returns the machine code of a source file, optimised and without what depends on how it is tested, or undefined
	// when it does not compile.
	#object(file) {
		const { command, directory } = this.commands.find((entry) => entry.file === this.path(file)) ?? {};
		const object = join(this.root, "build/mutant.o");

		if (!command)
			return undefined;
		const plain = command.replace(/ -o \S+/, "").replace(/ --coverage\b| -fsanitize=\S+| -fno-sanitize\S+/g, "");
		const { status } = run("bash", ["-c", `${plain} -O2 -g0 -o '${object}'`], directory);

		return status === 0 ? readFileSync(object) : undefined;
	}

	// Writes a mutant into the copy. Returns undefined, or why there is nothing to test: the line is another one, it does
	// not compile, or the compiler makes the same code of it. What is written stays until restore().
	apply({ file, line, before, after }) {
		const path = this.path(file);

		if (!this.objects.has(file))
			this.objects.set(file, this.#object(file));
		this.original = { path, text: readFileSync(path, "utf8") };
		const lines = this.original.text.split("\n");
		if (lines[line - 1] !== before)
			return "the line is another one";
		lines[line - 1] = after;
		writeFileSync(path, lines.join("\n"));
		const object = this.#object(file);
		if (object === undefined)
			return "does not compile";
		return this.objects.get(file)?.equals(object) ? "is the same code" : undefined;
	}

	restore() {
		writeFileSync(this.original.path, this.original.text);
	}
}
