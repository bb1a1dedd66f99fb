// SPDX-License-Identifier: Apache-2.0
//
// Keys that work everywhere: "/" moves to the search field, "g" and a letter to the next view that begins with the letter.
import { useEffect } from "preact/hooks";
import { navigate, nextView, parseHash } from "../router.js";
import { views } from "../views.js";

const CHORD_MS = 1200;

function isTyping(target) {
	return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

export function useShortcuts() {
	useEffect(() => {
		let leader = 0;
		function pressed(event) {
			if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
			if (event.key === "/") {
				const field = document.querySelector("[data-search]");
				if (!field) return;
				event.preventDefault();
				field.focus();
				field.select();
			} else if (event.key === "g") {
				leader = Date.now();
			} else if (Date.now() - leader < CHORD_MS) {
				leader = 0;
				const found = nextView(views, event.key, parseHash(location.hash).view);
				if (found) navigate({ view: found.view });
			}
		}
		addEventListener("keydown", pressed);
		return () => removeEventListener("keydown", pressed);
	}, []);
}
