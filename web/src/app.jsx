// SPDX-License-Identifier: Apache-2.0
//
// The frame around all views.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { DialogHost } from "./forms/host.jsx";
import { usePage, useRoute, useStore } from "./hooks.js";
import { hashOf } from "./router.js";
import { Banners } from "./shell/banners.jsx";
import { Head } from "./shell/head.jsx";
import { Login } from "./shell/login.jsx";
import { showKeys, useShortcuts } from "./shell/shortcuts.jsx";
import { Icon } from "./ui/icon.jsx";
import { viewOf, views } from "./views.js";

/* A phone has a row for five: these views, and the button that shows the row of the others above it. */
const FIRST = ["overview", "connections", "transfers", "events"];

function Navigation({ current }) {
	const [open, setOpen] = useState(false);
	useEffect(() => setOpen(false), [current]);
	return (
		<nav class="rail" aria-label="Views" data-open={open || undefined}>
			{views.map(({ view, title, icon }) => (
				<a
					key={view}
					class={`rail-link ${FIRST.includes(view) ? "" : "rail-behind"}`}
					href={hashOf({ view })}
					aria-current={view === current ? "page" : undefined}
				>
					<Icon name={icon} />
					<span>{title}</span>
				</a>
			))}
			<button
				type="button"
				class="rail-link rail-more"
				aria-expanded={open}
				aria-current={!FIRST.includes(current) || undefined}
				onClick={() => setOpen(!open)}
			>
				<Icon name={open ? "down" : "up"} />
				<span>{open ? "Fewer" : "More"}</span>
			</button>
			<button type="button" class="rail-hint wide-only" onClick={showKeys}>
				<kbd>?</kbd> keys
			</button>
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
