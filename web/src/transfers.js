// SPDX-License-Identifier: Apache-2.0
//
// What is to be told of a transfer. Pure.
const UNDER_WAY = ["queued", "running", "cancelling"];

export function isRunning({ state }) {
	return UNDER_WAY.includes(state);
}

/** progressOf - from 0 to 1; one of no bytes is done when it says so */
export function progressOf({ state, bytes_done: done, length_bytes: all }) {
	if (all === 0) return state === "done" ? 1 : 0;
	/* What a receive was given room for need not have come. */
	return state === "done" ? 1 : Math.min(1, done / all);
}

/** speedOf - bytes per second between its first post and its last completion; null before that */
export function speedOf({ bytes_done: done, wire_ns: wire }) {
	return wire > 0 && done > 0 ? (done * 1e9) / wire : null;
}
