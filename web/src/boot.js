// SPDX-License-Identifier: Apache-2.0
//
// Before anything is drawn: the theme that was chosen last, if it was.
(() => {
	try {
		const theme = localStorage.getItem("verbsd.theme");
		if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
	} catch {
		// Without storage the system decides.
	}
})();
