// SPDX-License-Identifier: Apache-2.0
//
// Plain words for the names that the daemon's state machines put into events and timelines. Pure.

/* Why an object changed its state. tests/web/unit/words.test.mjs compares the names with those of the C code. */
export const TRIGGERS = {
	name_failed: "the host name was not found",
	addr_resolved: "the address was resolved",
	addr_error: "the address could not be resolved",
	route_resolved: "the route was resolved",
	route_error: "no route was found",
	connect_response: "the peer accepted",
	connect_error: "the connect request failed",
	unreachable: "the peer did not answer",
	rejected: "the peer rejected the request",
	established: "both sides are connected",
	disconnected: "the peer disconnected",
	device_removal: "the device was removed",
	addr_change: "the address moved to another interface",
	timewait_exit: "the time-wait period is over",
	unexpected_cm: "an unexpected CM event came",
	wc_error: "a work request failed",
	qp_error: "the queue pair went to the error state",
	flushed: "work requests were flushed",
	late_error: "another error followed",
	comm_est: "data came before the peer's confirmation",
	drained_clean: "all work requests are completed",
	drained_failed: "all work requests are completed, after an error",
	qp_up: "the queue pair reached RTS",
	qp_down: "the queue pair was moved to ERR",
	call_failed: "a call failed",
	deadline: "the time limit was reached",
	cmd_accept: "a client accepted",
	cmd_reject: "a client rejected",
	cmd_move: "a client moved the queue pair",
	cmd_close: "a client closed it",
	shutdown: "the daemon is stopping",
};

/** words - "peer_disconnect" -> "peer disconnect" */
export function words(name) {
	return name.replaceAll("_", " ");
}

/** triggerOf - the words for "on drained_failed"; "" for a name without words, null for any other text */
function triggerOf(detail) {
	const [, name] = /^on (\w+)$/.exec(detail ?? "") ?? [];
	return name === undefined ? null : (TRIGGERS[name] ?? "");
}

function capitalized(text) {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/* "failed: on drained_failed" -> "failed: all work requests are completed, after an error" */
function stateText(text) {
	const [, state, detail] = /^(\w+)(?:: (.*))?$/.exec(text) ?? [];
	if (state === undefined) return text;
	return [words(state), triggerOf(detail) ?? detail].filter(Boolean).join(": ");
}

/** eventSays - {title, text} of an event: its type and its text in plain words */
export function eventSays({ type, text, reason }) {
	const title = capitalized(words(type)).replace(/^(Qp|Cm)\b/, (name) => name.toUpperCase());
	if (type === "connection_state") return { title, text: stateText(text) };
	const plain = reason ? text.replaceAll(reason, words(reason)) : text;
	return { title, text: plain.replace(/\btimed_out\b/, "timed out") };
}

/** entrySays - {what, detail} of an entry of a timeline in plain words */
export function entrySays({ kind, what, detail = "" }) {
	if (kind === "state") return { what: words(what), detail: triggerOf(detail) ?? detail };
	return kind === "command" ? { what, detail: /^[a-z_]+$/.test(detail) ? words(detail) : detail } : { what, detail };
}
