// SPDX-License-Identifier: Apache-2.0
//
// The tone in which a state is shown: ok, busy (for a transition), bad, or idle (ended on purpose). Pure.
const TONES = {
	ok: ["established", "listening", "ready", "active", "done", "live", "bound", "joined", "present", "running"],
	bad: ["failed", "lost", "error", "down", "removed", "invalid"],
	idle: ["closed", "deleted", "revoked", "stopped", "cancelled", "left", "gone"],
};

export function stateTone(state) {
	const name = String(state).toLowerCase();
	for (const [tone, names] of Object.entries(TONES)) if (names.includes(name)) return tone;
	return "busy";
}
