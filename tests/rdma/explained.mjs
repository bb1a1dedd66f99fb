// SPDX-License-Identifier: Apache-2.0
//
// Checks the explanation of a connection's end, in the API and in verbsctl, and the predicted time
// of detection.

import { build, equal, ok, run } from "./lib.mjs";

export const explain = (daemon, { id }) => daemon.get(`/v1/connections/${id}/explain`);

// Checks that a live connection has no causes. Returns the predicted time until a dead peer is
// detected.
export async function foretold_ms(daemon, connection) {
	const { state, causes, error, followed_by, facts } = await explain(daemon, connection);

	equal(state, "established", "state");
	equal(causes.length, 0, "causes of what has not happened");
	equal(error, null, "error");
	equal(followed_by.flushed, 0, "flushes");
	equal(facts.dead_peer_detect_ms, Math.ceil(facts.ack_timeout_ns * (facts.retry_count + 1) / 1e6),
		"ACK timeout x (retries + 1)");
	return facts.dead_peer_detect_ms;
}

// Checks that the reason, one of `reasons`, is the same everywhere, and that flushed work is counted
// and is no cause.
export async function names_its_end(daemon, connection, ...reasons) {
	const { end_code, counters } = await daemon.connection(connection.id);
	const told = await explain(daemon, connection);
	const flushed = Object.values(counters).reduce((sum, each) => sum + each.flushed, 0);
	const names = told.causes.map(({ name }) => name);

	ok(reasons.includes(end_code), `it ended with ${end_code}, not ${reasons.join(" or ")}`);
	equal(names.at(-1), end_code, "the last cause");
	ok(told.cause, `it has no cause: ${told.summary}`);
	ok(told.summary.toLowerCase().endsWith(told.cause.detail.toLowerCase()), `the summary does not name its cause: ${told.summary}`);
	ok(told.hints.length > 0, "there is no hint");
	if (told.error?.first?.wc_status)
		equal(names[0], told.error.first.wc_status, "the first cause");
	ok(!names.includes("IBV_WC_WR_FLUSH_ERR"), `a flush is a cause: ${names}`);
	ok(flushed > 0, "nothing was flushed");
	equal(told.followed_by.flushed, flushed, "flushes");
	ok(told.findings.some(({ code, severity }) => code === "flushed" && severity === "info"),
		"the flushes are not told as what they are");
	const said = await run(`${build}/cmd/verbsctl`, "-s", `http://127.0.0.1:${daemon.port}`, "explain",
		String(connection.id));
	ok(said.startsWith(told.summary), `verbsctl said: ${said}`);
	ok(said.includes(`${end_code}: `) && said.includes(`${flushed} flushes`), `verbsctl said: ${said}`);
	return told;
}
