// SPDX-License-Identifier: Apache-2.0
//
// Compares the forms of the dashboard with openapi.yaml: the bodies that they send, their ranges, choices and defaults. It
// needs the packages of tests/api and is skipped without them.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { collections } from "../../web/src/collections.js";
import { collect, pointerOf } from "../../web/src/forms/fields.js";
import { first } from "../../web/src/first.js";
import { forms } from "../../web/src/forms/specs.js";
import { wholeContract } from "../contract.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, "../api/node_modules");
const skip = !existsSync(join(packages, "ajv")) && "run npm ci in tests/api";
const contract = skip ? {} : await read_contract();
const schemas = contract.components?.schemas;

async function read_contract() {
	const { parse } = await import(join(packages, "yaml/dist/index.js")).then((found) => found.default);

	return wholeContract(parse);
}

// An optional member of a request may be null as well.
function resolve(schema) {
	if (schema.anyOf?.[1]?.type === "null") return { ...resolve(schema.anyOf[0]), ...schema, anyOf: undefined };
	return schema.$ref ? { ...resolve(schemas[schema.$ref.split("/").pop()]), ...schema, $ref: undefined } : schema;
}

function schema_of(form) {
	return resolve(contract.paths[form.path].post.requestBody.content["application/json"].schema);
}

// The members of a schema. A request for a list or one object, as for transfers, has those of the object.
function members_of(schema) {
	const found = schema.anyOf ?? schema.oneOf;

	return found && !schema.properties ? resolve(found[0]).properties : schema.properties;
}

function member(form, field) {
	let schema = schema_of(form);

	for (const key of pointerOf(field).split("/").slice(1)) {
		schema = members_of(schema)[key];
		assert.ok(schema, `${pointerOf(field)} is no member of ${form.path}`);
		schema = resolve(schema);
	}
	return schema;
}

const values_of = (field) => field.options.map((option) => option.value ?? option).filter((value) => value !== "");
const each_field = (look) =>
	Object.values(forms).forEach((form) =>
		form.fields.forEach((field) => look(form, field, `${form.path} ${field.name}`)),
	);

test("each field is a member of the request, of the same kind", { skip }, () => {
	const kinds = { text: "string", hex: "string", integer: "integer", bytes: "integer", flags: "array" };

	each_field((form, field, what) => {
		if (kinds[field.kind]) assert.equal([member(form, field).type].flat()[0], kinds[field.kind], what);
	});
});

test("ranges are the contract's", { skip }, () => {
	each_field((form, field, what) => {
		if (field.kind !== "integer" && field.kind !== "bytes") return;
		const { minimum, maximum } = member(form, field);

		assert.equal(field.min ?? 0, minimum, `the least ${what}`);
		assert.equal(field.max, maximum, `the most ${what}`);
	});
});

test("a value that is left out is the default of the daemon", { skip }, () => {
	each_field((form, field, what) => {
		const { default: taken, description = "" } = member(form, field);

		if (field.omit !== undefined && taken === undefined)
			assert.match(description, new RegExp(`\\b${field.omit} when absent`), what);
		else if (field.omit !== undefined) assert.equal(field.omit, taken, what);
	});
});

test("choices are all those of the contract", { skip }, () => {
	each_field((form, field, what) => {
		if (!field.options) return;
		const schema = member(form, field);
		const { enum: all } = field.kind === "flags" ? resolve(schema.items) : schema;
		const chosen = values_of(field).map((value) => (field.number ? Number(value) : value));

		const allowed = [...(all ?? range(schema))].filter((value) => value !== null);

		assert.deepEqual(
			[...chosen].sort(),
			field.subset ? allowed.filter((value) => chosen.includes(value)).sort() : allowed.sort(),
			what,
		);
	});
});

const range = ({ minimum, maximum }) => Array.from({ length: maximum - minimum + 1 }, (_, i) => minimum + i);

// A value for every field that is shown, so that all fields are tested.
function filled(form, choice) {
	const samples = {
		text: "sample",
		integer: (field) => String(field.min ?? 1),
		bytes: (field) => String(field.min ?? 8),
		hex: "0x10",
		ref: "sample",
		flags: (field) => values_of(field),
		choice: (field) => values_of(field).at(-1),
	};
	const sample = (field) =>
		typeof samples[field.kind] === "function" ? samples[field.kind](field) : samples[field.kind];

	return { ...Object.fromEntries(form.fields.map((field) => [field.name, sample(field)])), ...choice };
}

let ajv = null;

async function assert_allowed(path, body, what) {
	if (!ajv) {
		const { default: Ajv } = await import(join(packages, "ajv/dist/2020.js"));

		ajv = new (Ajv.default ?? Ajv)({ strict: false, validateFormats: false });
		ajv.addSchema({ $id: "contract", components: contract.components });
	}
	const { schema } = contract.paths[path].post.requestBody.content["application/json"];
	const check = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"contract#/components')));

	assert.ok(check(body), `${what}: ${JSON.stringify(body)}: ${ajv.errorsText(check.errors)}`);
}

test("a body with every field filled in is one that the contract allows", { skip }, async () => {
	for (const [name, form] of Object.entries(forms)) {
		const [op] = form.fields;
		const choices = op.name === "op" ? values_of(op).map((value) => ({ op: value })) : [{}];

		for (const choice of choices) {
			const { body, errors } = collect(form.fields, filled(form, choice));

			assert.deepEqual(errors, {}, `${name} ${JSON.stringify(choice)}`);
			await assert_allowed(form.path, body, name);
		}
	}
});

test("the commands of empty lists have bodies that the contract allows", { skip }, async () => {
	for (const [name, [, , body]] of Object.entries(first)) await assert_allowed(collections[name].path, body, name);
});
