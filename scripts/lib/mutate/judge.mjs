// SPDX-License-Identifier: Apache-2.0
//
// Whether a test notices a mutant. Those that execute its line run one after another, the likeliest first.

import { relative } from "node:path";

import { guest_tests, passes_in_guest } from "./guests.mjs";
import { deadline_ms, run_test } from "./suites.mjs";

// Unit tests are linked in groups that double, since most mutants are killed by one of the first.
const FIRST_GROUP = 4;

const words_of = (text) => new Set(text.split(/[^a-z0-9]+|_/).filter((word) => word.length > 1));

// Tests whose name has words of the file's path come first, then the quick ones.
function likeliest_first(tests, file, normal_ms) {
	const words = words_of(file.replace(/\.c$/, ""));
	const shared = ({ name }) => [...words_of(name)].filter((word) => words.has(word)).length;

	return [...tests].sort((a, b) => shared(b) - shared(a) || normal_ms.get(a.name) - normal_ms.get(b.name));
}

export class Judge {
	// `tests` are those that pass without a mutant.
	constructor(tree, reach, tests) {
		this.tree = tree;
		this.reach = reach;
		this.tests = tests;
		this.sound = new Map();
	}

	#target({ command: [program] }) {
		return relative(this.tree.build_folder, program);
	}

	// A failure of a suite of processes counts when it comes again.
	async #notices(test, limit_ms) {
		const { outcome } = await run_test(test, limit_ms);

		if (outcome !== "failed" || test.kind === "unit")
			return outcome === "failed" || outcome === "hung" ? outcome : undefined;
		return (await run_test(test, limit_ms)).outcome === "passed" ? undefined : outcome;
	}

	async #first_to_notice(tests) {
		for (const test of tests) {
			const outcome = await this.#notices(test, deadline_ms(test, this.reach.normal_ms.get(test.name) ?? test.timeout_ms));
			if (outcome)
				return { test: test.name, kind: test.kind, outcome };
		}
		return undefined;
	}

	// Returns { skipped: why } when the build fails, a killer of #first_to_notice(), or undefined.
	async #by_unit_tests(tests) {
		let size = FIRST_GROUP;

		for (let at = 0; at < tests.length; at += size, size *= 2) {
			const group = tests.slice(at, at + size);
			if (this.tree.build(group.map((test) => this.#target(test))))
				return { skipped: "does not link" };
			const killer = await this.#first_to_notice(group);
			if (killer)
				return killer;
		}
		return undefined;
	}

	async #by_native_suites(tests) {
		const units = new Set(this.tests.filter(({ kind }) => kind === "unit").map((test) => this.#target(test)));
		const programs = this.tree.programs().filter((name) => !units.has(name));

		if (tests.length === 0)
			return undefined;
		return this.tree.build(programs) ? { skipped: "does not link" } : this.#first_to_notice(tests);
	}

	// Whether a suite of the guest passes without the mutant, which is put back. A suite that does not can't notice anything.
	async #is_sound(test, mutant) {
		if (!this.sound.has(test.name)) {
			this.tree.restore();
			this.sound.set(test.name, await passes_in_guest(this.tree, test));
			this.tree.apply(mutant);
		}
		return this.sound.get(test.name);
	}

	async #by_guests(mutant) {
		for (const test of guest_tests(this.tree, mutant.file)) {
			const killer = this.sound.get(test.name) === false ? undefined : await this.#first_to_notice([test]);
			if (killer && (await this.#is_sound(test, mutant)))
				return killer;
		}
		return undefined;
	}

	// Returns { skipped: why }, or { reached, killer }: how many tests execute the line, and the one that noticed.
	async judge(mutant, with_guests) {
		const reached = likeliest_first(this.reach.of(mutant, this.tests), mutant.file, this.reach.normal_ms);
		const of_kind = (wanted) => reached.filter(({ kind }) => kind === wanted);
		const skipped = this.tree.apply(mutant);

		try {
			if (skipped)
				return { skipped };
			const killer = (await this.#by_unit_tests(of_kind("unit"))) ?? (await this.#by_native_suites(of_kind("native"))) ??
				(with_guests ? await this.#by_guests(mutant) : undefined);
			return killer?.skipped ? killer : { reached: reached.length, killer };
		} finally {
			this.tree.restore();
			this.reach.discard();
		}
	}
}

// The text of a survivor: a diff of one line.
export const diff_of = ({ file, line, before, after }) =>
	`--- a/${file}\n+++ b/${file}\n@@ -${line} +${line} @@\n-${before}\n+${after}\n`;

export const label_of = ({ file, line, operator }) => `${file}:${line} ${operator}`;
