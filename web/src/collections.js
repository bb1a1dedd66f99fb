// SPDX-License-Identifier: Apache-2.0
//
// What the store can hold, one row each:
//   path     of the list; an item is at path/REF
//   kinds    objects whose events make the list out of date
//   fields   members that the list needs; all when absent
//   pollMs   how often to ask while somebody looks, where counters move without events; 0 for never
//   pollOnly parameters of those polls: what can't change needs no asking; moves(item) says whether it is among those
const COUNTED =
	"id,name,state,role,transport,bringup,device,peer,local,dst,listener,qp,cq,counters,first_error,end,rtt,created_at,established_at,ended_at,waits_for";

export const collections = {
	connections: {
		path: "/v1/connections",
		kinds: ["connection"],
		fields: COUNTED,
		pollMs: 2000,
		pollOnly: { state: "open" },
		moves: isOpen,
	},
	connectionNames: { path: "/v1/connections", kinds: ["connection"], fields: "id,name", pollMs: 0 },
	devices: { path: "/v1/devices", kinds: ["device"], pollMs: 5000 },
	listeners: { path: "/v1/listeners", kinds: ["listener", "connection"], pollMs: 0 },
	buffers: { path: "/v1/buffers", kinds: ["buffer", "window", "transfer"], pollMs: 5000 },
	windows: { path: "/v1/windows", kinds: ["window"], pollMs: 0 },
	transfers: {
		path: "/v1/transfers",
		kinds: ["transfer"],
		pollMs: 1000,
		pollOnly: { state: "running" },
		moves: ({ state }) => state === "running",
	},
	benchmarks: {
		path: "/v1/benchmarks",
		kinds: ["benchmark"],
		pollMs: 1000,
		pollOnly: { state: "running" },
		moves: ({ state }) => state === "running",
	},
	probes: { path: "/v1/probes", kinds: ["probe"], pollMs: 1000 },
	cqs: { path: "/v1/cqs", kinds: ["cq"], pollMs: 2000 },
	endpoints: { path: "/v1/endpoints", kinds: ["endpoint"], pollMs: 5000 },
};

export const PAGE_ITEMS = 1000;
/* A page that holds more than this is of no use to anybody; the list then says how many it left out. */
export const ITEMS_MAX = 5000;

/** listPath - where a page of a collection is */
export function listPath(spec, { after = 0, only = {} } = {}) {
	const query = new URLSearchParams({ limit: PAGE_ITEMS, ...(after ? { after } : {}), ...only });
	if (spec.fields) query.set("fields", spec.fields);
	return `${spec.path}?${query}`;
}

/**
 * merged - a collection's items after a poll that only asked for some of them
 * Returns {items, left}: left are the ids that were among those asked for and are not any more.
 */
export function merged(items, polled, isAsked) {
	const next = new Map(items);
	const seen = new Set();
	for (const item of polled) {
		next.set(item.id, item);
		seen.add(item.id);
	}
	const left = [...items.values()].filter((item) => isAsked(item) && !seen.has(item.id)).map((item) => item.id);
	return { items: next, left };
}

export const ENDED = ["closed", "failed"];

export function isOpen(connection) {
	return !ENDED.includes(connection.state);
}
