// SPDX-License-Identifier: Apache-2.0
//
// Plain words for the names of states and types in events and timelines. Pure.

/** words - "peer_disconnect" -> "peer disconnect" */
export function words(name) {
	return name.replaceAll("_", " ");
}

function capitalized(text) {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/** proseParts - "see `ip neigh`." -> [{text: "see "}, {text: "ip neigh", code: true}, {text: "."}] */
export function proseParts(text) {
	// A backquote without another one stays as it is.
	return text
		.split(/(`[^`]+`)/)
		.filter(Boolean)
		.map((part) => (/^`[^`]+`$/.test(part) ? { text: part.slice(1, -1), code: true } : { text: part }));
}

/* "awaiting_remote: the QP is in ERR" -> "awaiting remote: the QP is in ERR" */
function stateText(text) {
	const [, state, detail] = /^(\w+)(?:: (.*))?$/.exec(text) ?? [];
	if (state === undefined) return text;
	return [words(state), detail].filter(Boolean).join(": ");
}

/** eventSays - {title, text} of an event: its type and its detail in plain words */
export function eventSays({ type, detail, data }) {
	const title = capitalized(words(type)).replace(/\b(qp|cm|ud|pd|cq|srq)\b/i, (name) => name.toUpperCase());
	if (type === "connection_state_changed") return { title, text: stateText(detail) };
	const plain = data?.code ? detail.replaceAll(data.code, words(data.code)) : detail;
	return { title, text: plain.replace(/\btimed_out\b/, "timed out") };
}

/** entrySays - {what, detail} of an entry of a timeline in plain words */
export function entrySays({ kind, what, detail: text }) {
	const detail = text ?? "";
	if (kind === "state") return { what: words(what), detail };
	return kind === "command" ? { what, detail: /^[a-z_]+$/.test(detail) ? words(detail) : detail } : { what, detail };
}
