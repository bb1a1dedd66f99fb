// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const CSS = readFileSync(new URL("../../../web/src/styles/tokens.css", import.meta.url), "utf8");
const READABLE = 4.5; /* WCAG 2.2, 1.4.3 */
const TEXTS = ["text", "muted", "faint", "accent-text", "ok", "busy", "warn", "bad"];
const GROUNDS = ["bg", "surface", "sunken", "hover"];
const PAIRS = [
	["text", "accent-soft"],
	["text", "bad-soft"],
	["text", "warn-soft"],
	["text", "busy-soft"],
	["faint", "accent-soft"],
	["faint", "bad-soft"],
	["muted", "bad-soft"],
	["muted", "idle-soft"],
	["accent-text", "accent-soft"],
	["ok", "ok-soft"],
	["warn", "warn-soft"],
	["bad", "bad-soft"],
	["on-accent", "accent"],
	["on-accent", "bad"],
];

function colours(start) {
	const from = CSS.indexOf(start);
	assert.ok(from >= 0, start);
	const block = CSS.slice(from, CSS.indexOf("}", from));
	return Object.fromEntries(
		[...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
	);
}

const light = colours(":root {");
const dark = colours(':root[data-theme="dark"] {');

function luminance(hex) {
	const [r, g, b] = [1, 3, 5]
		.map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
		.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
	const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
	return (high + 0.05) / (low + 0.05);
}

for (const [theme, values] of Object.entries({ light, dark })) {
	test(`every text of the ${theme} theme can be read on what is behind it`, () => {
		const pairs = [...TEXTS.flatMap((text) => GROUNDS.map((ground) => [text, ground])), ...PAIRS];
		const poor = pairs
			.map(([text, ground]) => [text, ground, contrast(values[text], values[ground])])
			.filter(([, , ratio]) => ratio < READABLE);
		assert.deepEqual(poor, []);
	});
}

test("dark is the same whether the system or the user chose it", () => {
	assert.deepEqual(colours(':root:not([data-theme="light"]) {'), dark);
	assert.deepEqual(Object.keys(dark).sort(), Object.keys(light).sort());
});
