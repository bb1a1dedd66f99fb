// SPDX-License-Identifier: Apache-2.0
import { options, render } from "preact";
import { request } from "./api.js";
import { App } from "./app.jsx";
import { Page } from "./hooks.js";
import { Link } from "./link.js";
import { Store } from "./store.js";

/* The page is drawn once a frame at most, however fast events come, and not at all while it is hidden. */
options.debounceRendering = requestAnimationFrame;

const store = new Store({ request, onProblem: (problem) => link.suspect(problem) });
const link = new Link(store);

document.addEventListener("visibilitychange", () => store.pause(document.hidden));
addEventListener("online", () => link.retry());

render(
	<Page.Provider value={{ store, link }}>
		<App />
	</Page.Provider>,
	document.getElementById("app"),
);
link.run();
