// SPDX-License-Identifier: Apache-2.0
//
// What the page knows: lists and single objects for as long as somebody looks at them, the newest events, and how
// things stand with the daemon. Events say what is out of date; it is then asked for again, at most as often as the
// daemon takes it well. Nothing of the browser is in here but timers.
import { ITEMS_MAX, collections as allCollections, isOpen, listPath, merged } from "./collections.js";
import { RateBook } from "./rates.js";
import { SeriesBook } from "./series.js";

const EVENTS_KEPT = 2000;
const SETTLE_MS = 300; /* events come in bunches */
const SHARE = 8; /* of the time at most one part is spent on one list */
const ITEM_POLL_MS = 1000;
const PART_POLL_MS = 5000;

/** kindOf - "connection/7" -> "connection" */
export function kindOf(object) {
	return (object ?? "").split("/")[0];
}

// Whether an event about an object makes an entry out of date.
function concerns(object, { spec, items, item, ref }) {
	const [kind, id] = (object ?? "").split("/");
	if (!spec.kinds.includes(kind)) return false;
	return Boolean(items) || id === String(item?.id ?? item?.[kind] ?? ref);
}

export class Store {
	/** request(method, path) as in api.js; onProblem is told of what can't be read; now() is in ms */
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

	// --- telling

	/** subscribe - call when anything changed; returns what ends that */
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

	/** watch - keep a list, one object (ref) or a part of it (`explain`) up to date until what is returned is called */
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

	/** refresh - ask again now for all that is looked at; of one collection, if it is named */
	refresh(name = null) {
		for (const entry of this.entries.values()) {
			if (entry.watchers > 0 && (name === null || entry.name === name)) this.load(entry);
		}
	}

	/** pause - while nobody sees the page, nothing is polled */
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
		const items = [];
		let after = 0;
		let total = 0;
		do {
			const page = await this.request("GET", listPath(entry.spec, { after, only: only ?? {} }));
			if (generation !== this.restarts) return;
			items.push(...page.items);
			total = page.total;
			after = page.next;
		} while (after && items.length < ITEMS_MAX);
		if (only) {
			const { items: next, left } = merged(entry.items, items, entry.spec.moves);
			entry.items = next;
			/* An event that came meanwhile may be about one that was not asked for. */
			entry.dirty ||= left.length > 0;
		} else {
			entry.items = new Map(items.map((item) => [item.id, item]));
			entry.total = total;
		}
		entry.loadedAt = this.now();
		if (entry.name === "connections") this.noteRates(entry, items);
	}

	noteRates(entry, items) {
		for (const item of items) this.rates.note(item.id, entry.loadedAt, item.counters);
		this.rates.keep(entry.items);
	}

	async loadItem(entry, generation) {
		const item = await this.request("GET", `${entry.spec.path}/${entry.path}`);
		if (generation !== this.restarts) return;
		entry.item = item;
		entry.loadedAt = this.now();
		if (entry.name === "connections" && !entry.part && isOpen(item))
			this.series.note(entry.loadedAt, Date.now(), item);
	}

	schedule(entry) {
		const patience = Math.max(SETTLE_MS, entry.took * SHARE);
		const pollMs = entry.items ? entry.spec.pollMs : entry.part ? PART_POLL_MS : ITEM_POLL_MS;
		clearTimeout(entry.timer);
		if (entry.dirty || entry.again) entry.timer = setTimeout(() => this.load(entry), patience);
		else if (pollMs && !this.isFinal(entry))
			entry.timer = setTimeout(() => this.poll(entry), Math.max(pollMs, patience));
	}

	// What has ended does not move any more; what is not there comes with an event, if it comes.
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
		for (const event of events) this.outdate(event.object);
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

	/** addMissed - the event log went on without us */
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

	/** setIndex - what GET /v1 says; another server_id means that everything known is of another run */
	setIndex(index) {
		const restarted = this.index !== null && this.index.server_id !== index.server_id;
		this.index = index;
		if (restarted) this.forget();
		this.changed();
		return restarted;
	}

	forget() {
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
