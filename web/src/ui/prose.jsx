// SPDX-License-Identifier: Apache-2.0
//
// Text of the daemon, with what it has between backquotes as code.
import { proseParts } from "../words.js";

/** Prose - `text` may be undefined */
export function Prose({ text }) {
	return proseParts(text ?? "").map(({ code, text: part }, i) => (code ? <code key={i}>{part}</code> : part));
}
