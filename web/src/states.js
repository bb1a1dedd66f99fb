// SPDX-License-Identifier: Apache-2.0
//
// In which tone a state is shown: ok (as it should be), busy (on its way), bad, or idle (over, or of no concern). Pure.
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
