// SPDX-License-Identifier: Apache-2.0
//
// A parser of server-sent events. EventSource would do this as well, but it can't send a token.

/**
 * sseParser - returns feed(text), which takes the stream piece by piece
 * onEvent({id, event, data}) is called for every event. A piece may end anywhere, also within an event.
 */
export function sseParser(onEvent) {
	let rest = "";
	let fields = empty();
	let id = null;

	function line(text) {
		if (text === "") {
			if (fields.data.length) onEvent({ id, event: fields.event || "message", data: fields.data.join("\n") });
			fields = empty();
			return;
		}
		if (text.startsWith(":")) return;
		const colon = text.indexOf(":");
		const name = colon < 0 ? text : text.slice(0, colon);
		const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "");
		if (name === "data") fields.data.push(value);
		else if (name === "event") fields.event = value;
		else if (name === "id") id = value;
	}

	return (text) => {
		const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
		rest = lines.pop();
		lines.forEach(line);
	};
}

function empty() {
	return { event: "", data: [] };
}
