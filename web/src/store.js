// SPDX-License-Identifier: Apache-2.0
//
// The data of the page: lists and single objects while a view shows them, the newest events, and the state of the link to
// the daemon. An event marks lists and objects as out of date; they are then read again, not more often than the daemon
// can bear. Timers are the only functions of the browser used here.
import { ITEMS_MAX, collections as allCollections, isOpen, listPath, merged } from "./collections.js";
import { RateBook } from "./rates.js";
import { SeriesBook } from "./series.js";

const EVENTS_KEPT = 2000;
const SETTLE_MS = 300; /* events come in bunches */
const SHARE = 8; /* reading one list takes at most one part in so many of the time */
const PATIENCE_MS = 3000; /* a daemon that hung for a while is read again soon after */
const ITEM_POLL_MS = 1000;
const PART_POLL_MS = 5000;

/* The object of an event without one, as an entry whose ref is "" names it. */
const THE_DAEMON = { kind: "daemon", id: null, name: "" };

// Whether an event about an object makes an entry out of date.
function concerns(object, { spec, items, item, ref }) {
	if (object.kind === "kept_object" && item?.[spec.keptAs]?.id === object.id) return true;
	if (!spec.kinds.includes(object.kind)) return false;
	const shown = String(item?.id ?? item?.[object.kind]?.id ?? ref);
	return Boolean(items) || shown === String(object.id) || shown === object.name;
}

export class Store {
	/** request(method, path) as in api.js; onProblem is called with each failed read; now() is in ms */
	constructor({ request, onProblem = () => {}, now = () => performance.now(), collections = allCollections }) {
		Object.assign(this, { request, onProblem, now, collections });
		this.listeners = new Set();
		this.entries = new Map();
		this.events = [];
		this.missed = 0;
		this.link = { state: "connecting", since: null, problem: null };
		this.index = null;
		this.restarts = 0;
		this.rates = new RateBook();
		this.series = new SeriesBook();
		this.paused = false;
		this.scheduled = false;
	}

	// --- subscribers

	/** subscribe - call `tell` after every change; returns the function that ends the subscription */
	subscribe(tell) {
		this.listeners.add(tell);
		return () => this.listeners.delete(tell);
	}

	changed() {
		if (this.scheduled) return;
		this.scheduled = true;
		queueMicrotask(() => {
			this.scheduled = false;
			for (const tell of this.listeners) tell();
		});
	}

	// --- lists and items

	entry(key, make) {
		if (!this.entries.has(key))
			this.entries.set(key, { key, watchers: 0, problem: null, loadedAt: null, busy: false, ...make() });
		return this.entries.get(key);
	}

	list(name) {
		return this.entry(name, () => ({ name, spec: this.collections[name], items: new Map(), total: null }));
	}

	item(name, ref, part = "") {
		const path = `${encodeURIComponent(ref)}${part && `/${part}`}`;
		return this.entry(`${name}/${path}`, () => ({
			name,
			ref,
			part,
			path,
			spec: this.collections[name],
			item: null,
		}));
	}

	/** watch - keep a list, one object (ref) or a part of it (`explain`) up to date until the returned function is called */
	watch(name, ref = null, part = "") {
		const entry = ref === null ? this.list(name) : this.item(name, ref, part);
		entry.watchers++;
		if (entry.watchers === 1) this.load(entry);
		return () => {
			entry.watchers--;
			if (entry.watchers > 0) return;
			clearTimeout(entry.timer);
			entry.timer = null;
		};
	}

	/** refresh - read again now all that is watched, or one collection of it */
	refresh(name = null) {
		for (const entry of this.entries.values()) {
			if (entry.watchers > 0 && (name === null || entry.name === name)) this.load(entry);
		}
	}

	/** pause - stop polling while the page is hidden */
	pause(paused) {
		if (this.paused === paused) return;
		this.paused = paused;
		if (!paused) this.refresh();
	}

	async load(entry, { only = null } = {}) {
		if (entry.busy) {
			entry.again = true;
			return;
		}
		entry.busy = true;
		entry.again = false;
		entry.dirty = false;
		clearTimeout(entry.timer);
		const generation = this.restarts;
		const started = this.now();
		try {
			await (entry.items ? this.loadList(entry, only, generation) : this.loadItem(entry, generation));
			entry.problem = null;
		} catch (problem) {
			entry.problem = problem;
			this.onProblem(problem);
		}
		entry.busy = false;
		entry.took = this.now() - started;
		this.changed();
		if (entry.watchers > 0) this.schedule(entry);
	}

	async loadList(entry, only, generation) {
		const { load } = entry.spec;
		const { items, total } = load
			? { items: await load(this.request), total: null }
			: await this.pages(entry, only);
		if (generation !== this.restarts) return;
		if (only) {
			const { items: next, left } = merged(entry.items, items, entry.spec.moves);
			entry.items = next;
			/* An event that came meanwhile may be about an item that this poll did not ask for. */
			entry.dirty ||= left.length > 0;
		} else {
			entry.items = new Map(items.map((item) => [item.id, item]));
			entry.total = total ?? items.length;
		}
		entry.loadedAt = this.now();
		if (entry.name === "connections") this.noteRates(entry, items);
	}

	async pages(entry, only) {
		const items = [];
		let after = null;
		let total = 0;
		do {
			const page = await this.request("GET", listPath(entry.spec, { after, only: only ?? {} }));
			items.push(...page.items);
			total = page.total;
			after = page.next;
		} while (after && items.length < ITEMS_MAX);
		return { items, total };
	}

	noteRates(entry, items) {
		for (const item of items) this.rates.note(item.id, entry.loadedAt, item.counters);
		this.rates.keep(entry.items);
	}

	async loadItem(entry, generation) {
		const { path } = entry.spec;
		const item = await this.request("GET", entry.path ? `${path}/${entry.path}` : path);
		if (generation !== this.restarts) return;
		entry.item = item;
		entry.loadedAt = this.now();
		if (entry.name === "connections" && !entry.part && isOpen(item))
			this.series.note(entry.loadedAt, Date.now(), item);
	}

	schedule(entry) {
		const patience = Math.min(Math.max(SETTLE_MS, entry.took * SHARE), PATIENCE_MS);
		const itemMs = entry.part ? PART_POLL_MS : (entry.spec.itemMs ?? ITEM_POLL_MS);
		const pollMs = entry.items ? entry.spec.pollMs : itemMs;
		clearTimeout(entry.timer);
		if (entry.dirty || entry.again) entry.timer = setTimeout(() => this.load(entry), patience);
		else if (pollMs && !this.isFinal(entry))
			entry.timer = setTimeout(() => this.poll(entry), Math.max(pollMs, patience));
	}

	// An object that has ended does not change any more. An object that is missing is announced by an event.
	isFinal(entry) {
		if (entry.problem?.status === 404) return true;
		if (entry.name === "connections") return entry.item != null && !isOpen(entry.item);
		return Boolean(entry.item?.ended_at);
	}

	poll(entry) {
		if (this.paused || this.link.state !== "live") {
			this.schedule(entry);
			return;
		}
		this.load(entry, { only: entry.items ? entry.spec.pollOnly : null });
	}

	// --- events

	/** addEvents - newest last */
	addEvents(events) {
		if (!events.length) return;
		this.events = [...this.events, ...events].slice(-EVENTS_KEPT);
		for (const event of events) this.outdate(event.object ?? THE_DAEMON);
		this.changed();
	}

	outdate(object) {
		for (const entry of this.entries.values()) {
			if (!entry.watchers || entry.dirty) continue;
			if (!concerns(object, entry)) continue;
			entry.dirty = true;
			if (!entry.busy) this.schedule(entry);
		}
	}

	/** addMissed - the daemon dropped `count` events before this page could read them */
	addMissed(count) {
		this.missed += count;
		this.refresh();
		this.changed();
	}

	// --- the daemon

	/** setLink - state is connecting, live, stale or unauthorized; since in ms of Date.now() */
	setLink(link) {
		const was = this.link.state;
		this.link = { since: null, problem: null, ...link };
		if (link.state === "live" && was !== "live") this.refresh();
		this.changed();
	}

	/** setIndex - the answer of GET /v1; another server_id means that all data is of an earlier run of the daemon */
	setIndex(index) {
		const restarted = this.index !== null && this.index.server_id !== index.server_id;
		this.index = index;
		if (restarted) this.clear();
		this.changed();
		return restarted;
	}

	clear() {
		this.restarts++;
		this.events = [];
		this.missed = 0;
		this.rates = new RateBook();
		this.series = new SeriesBook();
		for (const entry of this.entries.values()) {
			if (entry.items) Object.assign(entry, { items: new Map(), total: null });
			else entry.item = null;
			Object.assign(entry, { problem: null, loadedAt: null });
		}
	}
}
