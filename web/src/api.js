// SPDX-License-Identifier: Apache-2.0
//
// Requests to the daemon's HTTP API. The token stays in this tab only.
//
// A reverse proxy may serve several daemons, each below a path of its own.
const TOKEN_KEY = `verbsd.token ${globalThis.location?.pathname}`;
const TIMEOUT_MS = 8000; /* until the head of an answer */
const WHOLE_MS = 20000; /* from there until the end of an answer that is read whole */

/** Problem - a refusal of the daemon: the members of problem+json; status is 0 if the daemon did not answer */
export class Problem extends Error {
	constructor(members) {
		super(members.detail || members.title || "the request failed");
		Object.assign(this, members);
	}

	get unanswered() {
		return this.status === 0;
	}
}

export function getToken() {
	return sessionStorage.getItem(TOKEN_KEY) ?? "";
}

export function setToken(token) {
	if (token) sessionStorage.setItem(TOKEN_KEY, token);
	else sessionStorage.removeItem(TOKEN_KEY);
}

// The daemon wants the Content-Type of whatever a page asks it to do, also without a body.
function headersOf(method, { headers }) {
	const token = getToken();
	return {
		...(method === "GET" ? {} : { "Content-Type": "application/json" }),
		...(token ? { Authorization: `Bearer ${token}` } : {}),
		...headers,
	};
}

async function problemOf(response) {
	let members = {};
	try {
		members = await response.json();
	} catch {
		// The answer is not JSON. It may come from a proxy.
	}
	return new Problem({ title: response.statusText, code: "unknown", ...members, status: response.status });
}

/** baseUrl - the URL of the daemon as the browser sees it, without a slash at its end */
export function baseUrl() {
	return new URL(".", location.href).href.slice(0, -1);
}

/**
 * open - the response to a request, with its body unread
 * Throws a Problem if the request is refused or not answered in time.
 */
export async function open(method, path, { json, headers, signal, timeoutMs = TIMEOUT_MS } = {}) {
	const aborter = new AbortController();
	const abort = () => aborter.abort();
	const timer = setTimeout(abort, timeoutMs);
	signal?.addEventListener("abort", abort);
	let response;
	try {
		response = await fetch(`.${path}`, {
			method,
			headers: headersOf(method, { headers }),
			body: json === undefined ? undefined : JSON.stringify(json),
			signal: aborter.signal,
			cache: "no-store",
		});
	} catch (error) {
		throw new Problem({
			status: 0,
			code: "unanswered",
			title: "verbsd does not answer",
			detail: String(error.message),
		});
	} finally {
		clearTimeout(timer);
	}
	if (!response.ok) throw await problemOf(response);
	return response;
}

/**
 * request - the JSON of the answer to a request; null for an empty answer
 * Options: json (a body), headers, timeoutMs.
 */
export async function request(method, path, { timeoutMs = TIMEOUT_MS, ...options } = {}) {
	const signal = AbortSignal.timeout(timeoutMs + WHOLE_MS);
	const response = await open(method, path, { ...options, timeoutMs, signal });
	if (response.status === 204) return null;
	try {
		return await response.json();
	} catch (error) {
		throw new Problem({
			status: 0,
			code: "unanswered",
			title: "The answer was cut off",
			detail: String(error.message),
		});
	}
}
