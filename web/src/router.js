// SPDX-License-Identifier: Apache-2.0
//
// The route of the page, kept in the fragment: #/connections/7?q=text. Pure, except for the last part.

/** parseHash - {view, ref, query}; view "" for an empty or unknown form */
export function parseHash(hash) {
	const [path, search = ""] = hash.replace(/^#/, "").split("?");
	const parts = path.split("/").filter(Boolean).map(decode);
	return { view: parts[0] ?? "", ref: parts[1] ?? null, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** hashOf - the fragment of a route; empty members of the query are left out */
export function hashOf({ view, ref = null, query = {} }) {
	const path = [view, ref].filter((part) => part !== null && part !== "").map((part) => encodeURIComponent(part));
	const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value != null));
	const text = search.toString();
	return `#/${path.join("/")}${text ? `?${text}` : ""}`;
}

/** nextView - the next view after `from` whose name begins with a letter; undefined if there is none */
export function nextView(views, letter, from) {
	const after = views.findIndex(({ view }) => view === from) + 1;
	return [...views.slice(after), ...views.slice(0, after)].find(({ view }) => view.startsWith(letter));
}

/* Kinds that are shown below the main list of a view. */
const BESIDE = {
	transfer_batch: "batch",
	window: "window",
	probe: "probe",
	ud_peer: "peer",
	multicast_membership: "group",
};

/** objectHash - the address at which an object ({kind, id}) of an event is shown; null if it is not shown */
export function objectHash(object) {
	const { kind, id } = object ?? {};
	const views = {
		connection: "connections",
		device: "devices",
		buffer: "buffers",
		transfer: "transfers",
		transfer_batch: "transfers",
		window: "buffers",
		listener: "listeners",
		benchmark: "benchmarks",
		probe: "benchmarks",
		ud_endpoint: "datagrams",
		ud_peer: "datagrams",
		multicast_membership: "datagrams",
	};
	if (!views[kind] || !id) return null;
	if (kind === "connection") return hashOf({ view: views[kind], ref: id });
	return hashOf({ view: views[kind], query: { [BESIDE[kind] ?? "id"]: id } });
}

function decode(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

// --- the browser's part

export function navigate(to, { replace = false } = {}) {
	const hash = typeof to === "string" ? to : hashOf(to);
	if (replace) history.replaceState(null, "", hash);
	else history.pushState(null, "", hash);
	dispatchEvent(new Event("verbsd:navigate"));
}

/** onNavigate - call `tell` with the route now and after every change; returns the function that ends that */
export function onNavigate(tell) {
	const changed = () => tell(parseHash(location.hash));
	addEventListener("hashchange", changed);
	addEventListener("popstate", changed);
	addEventListener("verbsd:navigate", changed);
	changed();
	return () => {
		removeEventListener("hashchange", changed);
		removeEventListener("popstate", changed);
		removeEventListener("verbsd:navigate", changed);
	};
}
