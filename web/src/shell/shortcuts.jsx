// SPDX-License-Identifier: Apache-2.0
//
// Keys that work everywhere, and the list of them that "?" opens.
import { useEffect } from "preact/hooks";
import { Dialog } from "../forms/dialog.jsx";
import { openDialog } from "../forms/host.jsx";
import { navigate, nextView, parseHash } from "../router.js";
import { views } from "../views.js";

const CHORD_MS = 1200;

const letters = [...new Set(views.map(({ view }) => view[0]))];

/* [keys, effect]; g goes to the next view that begins with the letter, so two views may share one. */
const KEYS = [
	[["/"], "search"],
	...letters.map((letter) => [
		["g", letter],
		views
			.filter(({ view }) => view.startsWith(letter))
			.map(({ title }) => title)
			.join(", "),
	]),
	[["↑", "↓"], "to the row above or below"],
	[["Esc"], "empty the search; close a dialog"],
	[["?"], "this list"],
];

function Keys({ onClose }) {
	return (
		<Dialog title="Keys" onClose={onClose}>
			<dl class="keys dialog-body">
				{KEYS.map(([keys, effect]) => (
					<div key={effect}>
						<dt>
							{keys.map((key) => (
								<kbd key={key}>{key}</kbd>
							))}
						</dt>
						<dd>{effect}</dd>
					</div>
				))}
			</dl>
		</Dialog>
	);
}

export function showKeys() {
	openDialog((close) => <Keys onClose={close} />);
}

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
			} else if (event.key === "?" && !document.querySelector("dialog[open]")) {
				showKeys();
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
