// SPDX-License-Identifier: Apache-2.0
//
// The curl command that makes the same request as the page would. Pure, so that tests hold it against a real shell.

// What no POSIX shell, nor curl, gives a meaning of its own.
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One word of a POSIX shell command that stands for exactly `text`. */
export function quote(text) {
	if (text.includes("\0")) {
		throw new RangeError("a shell command can't have a zero byte in it");
	}
	return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * The command for `request`: method, path, and if it has them body (an object) and waitS (seconds for `Prefer`).
 * With a token the command takes it from $VERBSD_TOKEN: the token itself is not for screens and shell histories.
 */
export function curlCommand(request, { origin, hasToken = false }) {
	const { method, path, body, waitS } = request;
	const parts = [];

	// With data curl POSTs by itself.
	parts.push(method === "GET" || (method === "POST" && body) ? "curl -sS" : `curl -sS -X ${quote(method)}`);
	if (hasToken) {
		parts.push('-H "Authorization: Bearer $VERBSD_TOKEN"');
	}
	if (waitS) {
		parts.push(`-H 'Prefer: wait=${Math.trunc(waitS)}'`);
	}
	if (body) {
		// A JSON object never begins with @, which would have curl read a file.
		parts.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body))}`);
	}
	// -g, or curl takes brackets and braces for patterns.
	parts.push(`${/[[\]{}]/.test(origin + path) ? "-g " : ""}${quote(origin + path)}`);
	return parts.join(" \\\n  ");
}
