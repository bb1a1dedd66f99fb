// SPDX-License-Identifier: Apache-2.0
//
// The curl command that makes the same request as the page would. Pure, so that tests can run it in a real shell.

// Characters that have no special meaning for a POSIX shell or for curl.
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** quote - one word of a POSIX shell command whose value is exactly `text` */
export function quote(text) {
	if (text.includes("\0")) {
		throw new RangeError("a shell command can't have a zero byte in it");
	}
	return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * curlCommand - the command for `request`: method, path, and optionally body (an object) and waitS (seconds for `Prefer`)
 * A command that needs a token takes it from $VERBSD_TOKEN, so that it appears on no screen and in no shell history.
 */
export function curlCommand(request, { base, hasToken = false }) {
	const { method, path, body, waitS } = request;
	const parts = [];

	// With data, curl uses POST.
	parts.push(method === "GET" || (method === "POST" && body) ? "curl -sS" : `curl -sS -X ${quote(method)}`);
	if (hasToken) {
		parts.push('-H "Authorization: Bearer $VERBSD_TOKEN"');
	}
	if (waitS) {
		parts.push(`-H 'Prefer: wait=${Math.trunc(waitS)}'`);
	}
	if (body) {
		// A JSON object never begins with @, which would make curl read a file.
		parts.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body))}`);
	}
	// Without -g, curl treats brackets and braces as patterns.
	parts.push(`${/[[\]{}]/.test(base + path) ? "-g " : ""}${quote(base + path)}`);
	return parts.join(" \\\n  ");
}
