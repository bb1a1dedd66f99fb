// SPDX-License-Identifier: Apache-2.0
//
// The state, progress and speed of a transfer. Pure.
const UNDER_WAY = ["queued", "running", "cancelling"];

export function isRunning({ state }) {
	return UNDER_WAY.includes(state);
}

/** progressOf - from 0 to 1; a transfer of no bytes is at 0 until its state is done */
export function progressOf({ state, bytes_done: done, length_bytes: all }) {
	if (all === 0) return state === "done" ? 1 : 0;
	/* A receive is done with fewer bytes than it has room for. */
	return state === "done" ? 1 : Math.min(1, done / all);
}

/** speedOf - bytes per second between the first post and the last completion; null before that */
export function speedOf({ bytes_done: done, wire_ns: wire }) {
	return wire > 0 && done > 0 ? (done * 1e9) / wire : null;
}
