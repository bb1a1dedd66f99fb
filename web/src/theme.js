// SPDX-License-Identifier: Apache-2.0
//
// Dark or light: what the system says, until somebody chooses. Styles read data-theme of the root element; what draws
// on a canvas listens here.
const KEY = "verbsd.theme";
const listeners = new Set();
const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

system?.addEventListener("change", () => listeners.forEach((tell) => tell()));

export function currentTheme() {
	return document.documentElement.dataset.theme ?? (system?.matches ? "dark" : "light");
}

export function toggleTheme() {
	const theme = currentTheme() === "dark" ? "light" : "dark";
	document.documentElement.dataset.theme = theme;
	try {
		localStorage.setItem(KEY, theme);
	} catch {
		// It then lasts as long as the page.
	}
	listeners.forEach((tell) => tell());
}

/** onTheme - call when colours change; returns what ends that */
export function onTheme(tell) {
	listeners.add(tell);
	return () => listeners.delete(tell);
}

/** token - value of a custom property, as in token("--series-1") */
export function token(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
