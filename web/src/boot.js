// SPDX-License-Identifier: Apache-2.0
//
// Runs before the page is drawn: applies the theme that the user chose last.
(() => {
	try {
		const theme = localStorage.getItem("verbsd.theme");
		if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
	} catch {
		// Without storage, the theme is that of the system.
	}
})();
