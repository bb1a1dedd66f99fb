// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { curlCommand, quote } from "../../../web/src/curl.js";

const base = "http://127.0.0.1:7480";

// The arguments that curl would get: the shell prints them, by a function named curl.
function argumentsOf(command, env = {}) {
	const script = `curl() { for word; do printf '%s\\0' "$word"; done; }\n${command}\n`;
	const said = execFileSync("/bin/sh", ["-c", script], { env: { PATH: process.env.PATH, ...env } });

	return said.toString().split("\0").slice(0, -1);
}

const NASTY = [
	"",
	"plain",
	"two words",
	"it's",
	"'''",
	"$HOME `id` $(id) ${IFS}",
	"\\",
	"\\'",
	'"double"',
	"a;b|c&d>e<f",
	"line\nfeed\ttab\rreturn",
	"!history",
	"~root",
	"*?[a-z]{1,2}",
	"-rf",
	"#comment",
	"ünïcödé ✓ 漢字",
	"\u001b[31m",
];

test("a quoted word is the same word in a shell", () => {
	for (const text of NASTY) {
		assert.deepEqual(argumentsOf(`curl ${quote(text)}`), [text]);
	}
});

test("a word that needs no quotes has none", () => {
	assert.equal(quote("http://127.0.0.1:7480/v1"), "http://127.0.0.1:7480/v1");
});

test("a zero byte is refused, since no command can contain one", () => {
	assert.throws(() => quote("a\0b"), RangeError);
});

test("a text typed into a form arrives unchanged, and no shell runs it", () => {
	for (const text of NASTY) {
		const body = { name: text };
		const words = argumentsOf(curlCommand({ method: "POST", path: "/v1/buffers", body }, { base }));

		assert.deepEqual(JSON.parse(words[words.indexOf("-d") + 1]), body);
		assert.equal(words.at(-1), `${base}/v1/buffers`);
	}
});

test("a POST with a body needs no -X", () => {
	assert.equal(
		curlCommand({ method: "POST", path: "/v1/buffers", body: { size_bytes: 1 }, waitS: 5 }, { base }),
		[
			"curl -sS \\",
			"  -H 'Prefer: wait=5' \\",
			"  -H 'Content-Type: application/json' \\",
			"  -d '{\"size_bytes\":1}' \\",
			"  http://127.0.0.1:7480/v1/buffers",
		].join("\n"),
	);
});

test("a POST without a body and a DELETE name their method", () => {
	const close = argumentsOf(curlCommand({ method: "POST", path: "/v1/connections/7/close" }, { base }));
	const forget = argumentsOf(curlCommand({ method: "DELETE", path: "/v1/connections/7" }, { base }));

	assert.deepEqual(close, ["-sS", "-X", "POST", `${base}/v1/connections/7/close`]);
	assert.deepEqual(forget, ["-sS", "-X", "DELETE", `${base}/v1/connections/7`]);
});

test("the command takes the token from a variable", () => {
	const command = curlCommand({ method: "GET", path: "/v1" }, { base, hasToken: true });

	assert.deepEqual(argumentsOf(command, { VERBSD_TOKEN: "s3cret token" }).slice(0, 3), [
		"-sS",
		"-H",
		"Authorization: Bearer s3cret token",
	]);
});

test("curl does not treat the brackets of an IPv6 address as a pattern", () => {
	const words = argumentsOf(curlCommand({ method: "GET", path: "/v1" }, { base: "http://[::1]:7480" }));

	assert.deepEqual(words, ["-sS", "-g", "http://[::1]:7480/v1"]);
});
