// SPDX-License-Identifier: Apache-2.0
//
// The frame around all views.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { DialogHost } from "./forms/host.jsx";
import { usePage, useRoute, useStore } from "./hooks.js";
import { hashOf } from "./router.js";
import { Banners } from "./shell/banners.jsx";
import { Head } from "./shell/head.jsx";
import { Login } from "./shell/login.jsx";
import { useShortcuts } from "./shell/shortcuts.js";
import { Icon } from "./ui/icon.jsx";
import { viewOf, views } from "./views.js";

function Navigation({ current }) {
	return (
		<nav class="rail" aria-label="Views">
			{views.map(({ view, title, icon }) => (
				<a
					key={view}
					class="rail-link"
					title={title}
					href={hashOf({ view })}
					aria-current={view === current ? "page" : undefined}
				>
					<Icon name={icon} />
					<span>{title}</span>
				</a>
			))}
			<p class="rail-hint wide-only" aria-hidden="true">
				<kbd>/</kbd> search
				<br />
				<kbd>g</kbd> <kbd>o</kbd> overview
				<br />
				<kbd>g</kbd> <kbd>c</kbd> connections
				<br />
				<kbd>g</kbd> <kbd>e</kbd> events …
			</p>
		</nav>
	);
}

/* A new page begins at its top and gets the focus; a page that was left keeps its scroll position. */
const scrolls = new Map();

function useArrival({ view, ref }) {
	const page = `${view}/${ref ?? ""}`;
	const first = useRef(true);
	useLayoutEffect(() => {
		if (!first.current) document.getElementById("main").focus({ preventScroll: true });
		first.current = false;
		scrollTo(0, scrolls.get(page) ?? 0);
		const note = () => scrolls.set(page, scrollY);
		addEventListener("scroll", note, { passive: true });
		return () => removeEventListener("scroll", note);
	}, [page]);
}

function Content({ route }) {
	const { All, One, title } = viewOf(route);
	useEffect(() => {
		document.title = `${route.ref ? `${title} ${route.ref}` : title} · verbsd`;
	}, [title, route.ref]);
	useArrival(route);
	return route.ref && One ? <One key={route.ref} route={route} /> : <All route={route} />;
}

export function App() {
	const route = useRoute();
	const store = useStore();
	const { link } = usePage();
	useShortcuts();
	if (!route) return null;
	const { state } = store.link;
	return (
		<div class="app" data-link={state}>
			<a class="skip" href="#main" onClick={skip}>
				Skip to the content
			</a>
			<Head />
			<Navigation current={viewOf(route).view} />
			<main id="main" class="main" tabIndex={-1}>
				<Banners link={link} />
				{state === "unauthorized" ? <Login /> : <Content route={route} />}
			</main>
			<DialogHost />
		</div>
	);
}

/* The fragment is the route, so the browser must not follow this link. */
function skip(event) {
	event.preventDefault();
	document.getElementById("main").focus();
}
