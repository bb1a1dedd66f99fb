// SPDX-License-Identifier: Apache-2.0
//
// The theme, dark or light: that of the system until the user chooses one. Styles read data-theme of the root element; the
// charts, which draw on a canvas, call onTheme().
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
		// Without storage, the choice lasts as long as the page.
	}
	listeners.forEach((tell) => tell());
}

/** onTheme - call `tell` after every change of the colours; returns the function that ends that */
export function onTheme(tell) {
	listeners.add(tell);
	return () => listeners.delete(tell);
}

/** token - value of a custom property, as in token("--series-1") */
export function token(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
