// SPDX-License-Identifier: Apache-2.0
//
// Makes the body of a request of the texts in the fields of a form, and finds the field that a refusal is about. Pure.
//
// A field is a row: name, label, kind (text, integer, bytes, hex, choice, flags or ref), and as it needs them
//   pointer   JSON pointer of its value in the body; /NAME when absent
//   required  it must not be empty
//   initial   its initial text
//   omit      the daemon's own default, which is left out of the body
//   min, max  of an integer, and of bytes
//   options   of a choice or flags: strings, or {value, label}; number: the values are numbers; subset: a
//             reason why the form offers some of the contract's values only
//   from      of a ref: the collection of the store to pick from; blank: the text for when none is picked
//   hint      a line below it; more: it is shown on demand only
//   when      function of all values: false hides the field and leaves it out
const UNITS = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** parseBytes - "4096", "64 KiB", "1.5m" -> a whole number of bytes; null for anything else */
export function parseBytes(text) {
	const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?|b)?$/i.exec(text.trim()) ?? [];
	if (number === undefined) return null;
	const value = Number(number) * UNITS[(unit ?? "").toLowerCase()];
	return Number.isSafeInteger(value) ? value : null;
}

function inRange(value, { min = 0, max = Number.MAX_SAFE_INTEGER }) {
	return value >= min && value <= max;
}

function rangeOf({ min = 0, max }) {
	return max === undefined ? `${min} or more` : `${min} to ${max}`;
}

function parseInteger(text, field) {
	const value = /^\d+$/.test(text) ? Number(text) : NaN;
	return inRange(value, field) ? { value } : { error: `a whole number, ${rangeOf(field)}` };
}

function parseSize(text, field) {
	const value = parseBytes(text);
	if (value === null) return { error: "bytes, as in 4096, 64 KiB or 1 GiB" };
	return inRange(value, field) ? { value } : { error: `${rangeOf(field)} bytes` };
}

function parseHex(text) {
	return /^0x[0-9a-f]{1,16}$/.test(text) ? { value: text } : { error: "hexadecimal in lower case, as in 0x7f00" };
}

// An id or a name. A name never begins with a digit.
function parseRef(text) {
	return { value: /^\d+$/.test(text) ? Number(text) : text };
}

function parseChoice(text, { number }) {
	return { value: number ? Number(text) : text };
}

const PARSERS = { integer: parseInteger, bytes: parseSize, hex: parseHex, ref: parseRef, choice: parseChoice };

function parse(field, typed) {
	if (field.kind === "flags") return typed.length || !field.required ? { value: typed } : { error: "at least one" };
	const text = typed.trim();
	if (text === "") return field.required ? { error: "is required" } : {};
	return (PARSERS[field.kind] ?? ((value) => ({ value })))(text, field);
}

function isOmitted(field, value) {
	if (value === undefined) return true;
	if (field.kind === "flags") return value.length === 0;
	return field.omit !== undefined && value === field.omit;
}

function put(body, pointer, value) {
	const keys = pointer.split("/").slice(1);
	const last = keys.pop();
	let target = body;
	for (const key of keys) target = target[key] ??= {};
	target[last] = value;
}

/** pointerOf - the JSON pointer of a field's value in the body */
export function pointerOf(field) {
	return field.pointer ?? `/${field.name}`;
}

/** initialValues - the initial texts of the fields; `given` overrides them, by name */
export function initialValues(fields, given = {}) {
	const blank = (field) => field.initial ?? (field.kind === "flags" ? [] : "");
	return Object.fromEntries(fields.map((field) => [field.name, given[field.name] ?? blank(field)]));
}

/** visibleFields - the fields that apply with these values */
export function visibleFields(fields, values) {
	return fields.filter((field) => !field.when || field.when(values));
}

/** collect - {body, errors}: errors are texts by field name; body has the valid values */
export function collect(fields, values) {
	const body = {};
	const errors = {};
	for (const field of visibleFields(fields, values)) {
		const { value, error } = parse(field, values[field.name] ?? "");
		if (error) errors[field.name] = error;
		else if (!isOmitted(field, value)) put(body, pointerOf(field), value);
	}
	return { body, errors };
}

/** refusedFields - the detail of each fault of a problem, by the name of its field */
export function refusedFields(fields, problem) {
	const found = {};
	for (const fault of problem.errors ?? []) {
		const name = fieldAt(fields, fault.pointer);
		if (name) found[name] ??= fault.detail;
	}
	return found;
}

/** fieldAt - the name of the field that the JSON pointer of a refusal is about; null if there is none */
export function fieldAt(fields, pointer) {
	if (!pointer) return null;
	const at = (field) => pointer === pointerOf(field) || pointer.startsWith(`${pointerOf(field)}/`);
	return fields.find(at)?.name ?? null;
}

/** remoteFrom - {remote_addr, rkey} of a pasted {"addr": "0x…", "rkey": "0x…"}; null for anything else */
export function remoteFrom(text) {
	if (!text.trim().startsWith("{")) return null;
	try {
		const { addr, rkey } = JSON.parse(text);
		return typeof addr === "string" && typeof rkey === "string" ? { remote_addr: addr, rkey } : null;
	} catch {
		return null;
	}
}
