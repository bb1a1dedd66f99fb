// SPDX-License-Identifier: Apache-2.0
//
// The one-line mutants of a C source: each changes what a line does, and no line moves.

const RETURN_SWAPS = [
	[/\breturn VBD_OK;/g, "return VBD_E_INTERNAL;"],
	[/\breturn VBD_E_\w+;/g, "return VBD_OK;"],
	[/\breturn true;/g, "return false;"],
	[/\breturn false;/g, "return true;"],
];

// clang-format puts spaces around binary operators, and around nothing else that looks like one.
const OPERATOR_SWAPS = {
	relation: { "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==" },
	arithmetic: { "+": "-", "-": "+", "*": "+", "/": "*", "+=": "-=", "-=": "+=" },
	logic: { "&&": "||", "||": "&&" },
	bits: { "&": "|", "|": "&", "<<": ">>", ">>": "<<" },
};

const STATEMENT_BEFORE = /(^|[;{}:)]|\belse)\s*$/;
const DECLARATION = /^\s*(?!return\b)(?:\w+ )+\**\w+\[/;
const NO_CALLS = /^(if|while|for|switch|return|sizeof|static_assert|_Static_assert)$/;

// Returns the source with a space for each character of comments and preprocessor lines, and "_" for each of
// string and character literals, so that operators are looked for in code only. Lines and columns stay.
export function mask(source) {
	const blank = (text, filler) => text.replace(/[^\n]/g, filler);
	const parts = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/g;
	const code = source.replace(parts, (part) => blank(part, part[0] === "/" ? " " : "_"));

	return code.replace(/^[ \t]*#(?:\\\n|[^\n])*/gm, (line) => blank(line, " "));
}

// Returns the column of the parenthesis that closes the one at `open`, or -1 when it is on another line.
function closing(code, open) {
	let depth = 0;

	for (let at = open; at < code.length; at++) {
		if (code[at] === "(")
			depth++;
		else if (code[at] === ")" && --depth === 0)
			return at;
	}
	return -1;
}

function* conditions(code) {
	for (const { 0: { length }, index } of code.matchAll(/\b(?:if|while) \(/g)) {
		const open = index + length - 1;
		const end = closing(code, open);

		if (end >= 0)
			yield { operator: "negated condition", from: open, to: end + 1, put: (text) => `(!${text})` };
	}
}

function* operators(code) {
	for (const [operator, swaps] of Object.entries(OPERATOR_SWAPS)) {
		for (const { 1: sign, index } of code.matchAll(/(?<= )(\S{1,2})(?= )/g)) {
			if (Object.hasOwn(swaps, sign))
				yield { operator, from: index, to: index + sign.length, put: () => swaps[sign] };
		}
	}
	for (const { 0: sign, index } of code.matchAll(/\+\+|--/g))
		yield { operator: "arithmetic", from: index, to: index + 2, put: () => (sign === "++" ? "--" : "++") };
}

// An array that has one element more is the same program, and one less seldom shows: the arrays of a declaration lose half.
function* arrays(code) {
	if (!DECLARATION.test(code))
		return;
	for (const { 0: digits, index } of code.matchAll(/(?<=\w\[)\d+(?=\])/g)) {
		if (Number(digits) > 1)
			yield { operator: "array", from: index, to: index + digits.length, put: () => String(Math.floor(Number(digits) / 2)) };
	}
}

function* constants(code) {
	const is_array = DECLARATION.test(code);

	for (const { 0: text, 1: digits, index } of code.matchAll(/(?<![\w.])(0[xX][\da-fA-F]+|\d+)[uUlL]*(?![\w.])/g)) {
		const span = { operator: "constant", from: index, to: index + text.length };
		const suffix = text.slice(digits.length);
		const around = code[index - 1] + code[index + text.length];

		// calloc(3) of one element more is the same program as well.
		const grows = !code.slice(0, index).endsWith("calloc(");
		// "{0}" is how C says that all is zero, not a number.
		if ((is_array && around === "[]") || (text === "0" && around === "{}"))
			continue;
		if (grows)
			yield { ...span, put: () => `${BigInt(digits) + 1n}${suffix}` };
		if (BigInt(digits) > 0n)
			yield { ...span, put: () => `${BigInt(digits) - 1n}${suffix}` };
	}
}

function* returns(code) {
	for (const [pattern, put] of RETURN_SWAPS) {
		for (const { 0: text, index } of code.matchAll(pattern))
			yield { operator: "return code", from: index, to: index + text.length, put: () => put };
	}
}

// A call is a statement when the line before ends one, or is a condition.
function* removals(code, before) {
	const [, indent, name] = /^(\t+)(?:\(void\))?([A-Za-z_]\w*(?:(?:->|\.)\w+)*)\(/.exec(code) ?? [];
	const end = code.trimEnd().length;

	if (name && !NO_CALLS.test(name) && STATEMENT_BEFORE.test(before) && code[end - 1] === ";" &&
	    closing(code, code.indexOf("(", indent.length + (code[indent.length] === "(" ? 6 : 0))) === end - 2)
		yield { operator: "removed call", from: indent.length, to: end, put: () => ";" };
	if (/^\t{2,}(return|goto|continue)\b.*;\s*$/.test(code))
		yield { operator: "removed early exit", from: code.search(/\S/), to: end, put: () => ";" };
}

// Returns each mutant of a source file: { file, line, operator, before, after }, the latter two being the line.
export function mutants_of(file, source) {
	const lines = source.split("\n");
	const codes = mask(source).split("\n");
	const found = [];
	let before = "";

	codes.forEach((code, at) => {
		for (const { operator, from, to, put } of [
			...conditions(code), ...operators(code), ...arrays(code), ...constants(code), ...returns(code), ...removals(code, before),
		]) {
			const text = lines[at];
			const after = text.slice(0, from) + put(text.slice(from, to)) + text.slice(to);

			found.push({ file, line: at + 1, operator, before: text, after });
		}
		if (code.trim() !== "")
			before = code;
	});
	return found;
}
