// SPDX-License-Identifier: Apache-2.0
//
// The collections that the store can hold, one row each:
//   path     of the list; an item is at path/REF
//   kinds    kinds of objects whose events make the list out of date
//   query    further parameters of the list: views show what has ended too
//   fields   members that the list needs; all when absent
//   keptAs   member of a single object that tells how it is kept, so that events about that concern the object too
//   pollMs   interval of the polls while the list is shown, for counters that change without events; 0 for none
//   itemMs   interval of the polls of a single object, 1000 when absent
//   pollOnly parameters of those polls, which leave out items that can't change; moves(item) says whether an item can
//   load     function of request() that returns the items, for a list that is not read page by page from path
const ALL = { state: "open,ended" };
/* Only what runs changes without an event. */
const RUNNING = { pollMs: 1000, pollOnly: { state: "running" }, moves: ({ state }) => state === "running" };
const WHOLE = { ...ALL, fields: "*" };
const COUNTED =
	"id,name,state,side,qp_type,bringup,manual,device,peer,local,dst_addr,dst_port,listener,qp_attr,cq,counters,end_code,error,rtt,created_at,established_at,ended_at,server_id,waits_for";

export const collections = {
	connections: {
		path: "/v1/connections",
		query: ALL,
		kinds: ["connection"],
		keptAs: "desired",
		fields: COUNTED,
		pollMs: 2000,
		pollOnly: { state: "open" },
		moves: isOpen,
	},
	/* The drain has no id: an event about the daemon itself makes it out of date. */
	drain: { path: "/v1/drain", kinds: ["daemon"], itemMs: 5000 },
	keptObjects: { path: "/v1/kept_objects", query: { fields: "*" }, kinds: ["kept_object"], pollMs: 0 },
	stats: { path: "/v1/stats", kinds: [], itemMs: 2000 },
	traffic: { path: "/v1/stats/traffic", kinds: [], itemMs: 5000 },
	warnings: { path: "/v1/events", kinds: [], pollMs: 0, load: loadWarnings },
	connectionNames: { path: "/v1/connections", query: ALL, kinds: ["connection"], fields: "id,name", pollMs: 0 },
	devices: { path: "/v1/devices", query: WHOLE, kinds: ["device"], pollMs: 5000 },
	listeners: { path: "/v1/listeners", query: WHOLE, kinds: ["listener", "connection"], pollMs: 0 },
	buffers: { path: "/v1/buffers", query: WHOLE, kinds: ["buffer", "window", "transfer"], pollMs: 5000 },
	windows: { path: "/v1/windows", query: WHOLE, kinds: ["window"], pollMs: 0 },
	transfers: { path: "/v1/transfers", query: WHOLE, kinds: ["transfer"], ...RUNNING },
	transfer_batches: { path: "/v1/transfer_batches", query: WHOLE, kinds: ["transfer_batch"], ...RUNNING },
	connectionBatches: { path: "/v1/connection_batches", query: ALL, kinds: ["connection_batch"], ...RUNNING },
	benchmarks: { path: "/v1/benchmarks", query: WHOLE, kinds: ["benchmark"], ...RUNNING },
	probes: { path: "/v1/probes", query: WHOLE, kinds: ["probe"], pollMs: 1000 },
	cqs: { path: "/v1/cqs", query: { fields: "*" }, kinds: ["cq"], pollMs: 2000 },
	endpoints: {
		path: "/v1/ud_endpoints",
		query: WHOLE,
		kinds: ["ud_endpoint", "ud_peer", "multicast_membership"],
		pollMs: 2000,
	},
	peers: { path: "/v1/ud_peers", query: WHOLE, kinds: ["ud_peer", "ud_endpoint"], pollMs: 5000 },
	groups: {
		path: "/v1/multicast_memberships",
		query: WHOLE,
		kinds: ["multicast_membership", "ud_endpoint"],
		pollMs: 5000,
	},
};

export const PAGE_ITEMS = 1000;
/* A longer list would be of no use on a page; the view says how many items it leaves out. */
export const ITEMS_MAX = 5000;

const EVENTS_SEARCHED = 20000;

/* The warnings and errors among the newest events, oldest first, with their numbers as ids. */
async function loadWarnings(request) {
	const { server_id, first, last } = await request("GET", "/v1/events?limit=1");
	const items = [];
	let after = `${server_id}-${Math.max(first - 1, last - EVENTS_SEARCHED, 0)}`;
	for (;;) {
		const page = await request("GET", `/v1/events?severity=warning&limit=${PAGE_ITEMS}&after=${after}`);
		items.push(...page.items.map((event) => ({ ...event, id: event.seq })));
		if (page.items.length < PAGE_ITEMS) return items;
		after = page.next;
	}
}

/** listPath - the path of a page of a collection */
export function listPath(spec, { after = null, only = {} } = {}) {
	const query = new URLSearchParams({ limit: PAGE_ITEMS, ...(after ? { after } : {}), ...spec.query, ...only });
	if (spec.fields) query.set("fields", spec.fields);
	return `${spec.path}?${query}`;
}

/**
 * merged - the items of a collection after a poll that asked for some of them only
 * Returns {items, left}: left are the ids that the poll asked for and that were not in its answer any more.
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
