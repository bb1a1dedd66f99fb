// SPDX-License-Identifier: Apache-2.0
//
// The hooks by which views read the store.
import { createContext } from "preact";
import { useContext, useEffect, useReducer, useState } from "preact/hooks";
import { onNavigate } from "./router.js";
import { onTheme, currentTheme } from "./theme.js";

export const Page = createContext(null); /* {store, link} */

export function usePage() {
	return useContext(Page);
}

/** useStore - the store; the component is drawn again after every change of it */
export function useStore() {
	const { store } = usePage();
	const [, redraw] = useReducer((n) => n + 1, 0);
	useEffect(() => store.subscribe(redraw), [store]);
	return store;
}

/* Returns the same array for the same items, so that views can find out whether anything is new. */
const arrays = new WeakMap();

function arrayOf(items) {
	if (!arrays.has(items)) arrays.set(items, [...items.values()]);
	return arrays.get(items);
}

/** useList - {items (array), total, problem, loadedAt} of a collection, kept up to date while it is shown */
export function useList(name) {
	const store = useStore();
	useEffect(() => store.watch(name), [store, name]);
	const { items, total, problem, loadedAt } = store.list(name);
	return { items: arrayOf(items), byId: items, total, problem, loadedAt };
}

/** useItem - {item, problem, loadedAt} of one object with all its members, or of a part of it as in …/7/explain; item is
 * null until it is there */
export function useItem(name, ref, part = "") {
	const store = useStore();
	useEffect(() => store.watch(name, ref, part), [store, name, ref, part]);
	const { item, problem, loadedAt } = store.item(name, ref, part);
	return { item, problem, loadedAt };
}

/** useConnectionNames - a function from a connection's id to its name, or to "connection 7" where it has none */
export function useConnectionNames() {
	const { byId } = useList("connectionNames");
	return (id) => byId.get(id)?.name ?? `connection ${id}`;
}

/** useStats - {item, problem, loadedAt} of /v1/stats */
export function useStats() {
	return useItem("stats", "");
}

/** useTraffic - {times (s), out, in} of the samples of /v1/stats/traffic, in bytes per second; null before they are known */
export function useTraffic() {
	const items = useItem("traffic", "").item?.items;
	return (
		items && {
			times: items.map(({ at }) => Date.parse(at) / 1000),
			out: items.map(({ out_bytes_per_s: out }) => out),
			in: items.map(({ in_bytes_per_s: into }) => into),
		}
	);
}

const ROLES = ["read", "operate", "control"];

/** useMay - whether this page may make objects and act on them, or may do what needs another role */
export function useMay(needed = "operate") {
	return ROLES.indexOf(useStore().index?.role) >= ROLES.indexOf(needed);
}

/** useDrain - whether the daemon takes on work, as GET /v1/drain says; null until it is known */
export function useDrain() {
	return useItem("drain", "").item;
}

export function useRoute() {
	const [route, setRoute] = useState(null);
	useEffect(() => onNavigate(setRoute), []);
	return route;
}

export function useTheme() {
	const [theme, setTheme] = useState(currentTheme);
	useEffect(() => onTheme(() => setTheme(currentTheme())), []);
	return theme;
}

/** useNow - the time in ms, drawn again every so often */
export function useNow(everyMs = 1000) {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), everyMs);
		return () => clearInterval(timer);
	}, [everyMs]);
	return now;
}
