// SPDX-License-Identifier: Apache-2.0
//
// The link to the daemon: the event stream. After a break it continues with the first event that the page has not seen. It
// passes the events to the store, and sets there whether the data is live or stale.
import { Problem, open, request } from "./api.js";
import { sseParser } from "./sse.js";

const BACKLOG = 500; /* events from before the page was opened */
const SILENCE_MS = 40000; /* the daemon sends a comment every 15 s */
const RETRY_MS = [300, 700, 1500, 3000];

export class Link {
	constructor(store) {
		this.store = store;
		this.after = null; /* place in the event log: the id of the last event in the stream */
		this.heardAt = null;
		this.tries = 0;
		this.restarting = false;
		this.wake = () => {};
	}

	/** run - follow the events until stop() */
	async run() {
		this.running = true;
		while (this.running) {
			try {
				await this.follow();
			} catch (error) {
				this.lost(error);
			}
			await this.rest();
		}
	}

	stop() {
		this.running = false;
		this.aborter?.abort();
		this.wake();
	}

	/** retry - try again now instead of after the pause */
	retry() {
		this.tries = 0;
		this.wake();
	}

	/** restart - connect again, with another token; resolves when the outcome is known */
	async restart() {
		this.restarting = true;
		this.store.setLink({ state: "connecting" });
		this.aborter?.abort();
		this.retry();
		await new Promise((done) => {
			const stop = this.store.subscribe(() => {
				if (this.store.link.state === "connecting") return;
				stop();
				done();
			});
		});
	}

	/** suspect - another request was not answered, so check whether the stream is dead as well */
	suspect(problem) {
		if (problem.unanswered) this.aborter?.abort();
		if (problem.status === 401) this.lost(problem);
	}

	async follow() {
		this.restarting = false;
		await this.greet();
		this.aborter = new AbortController();
		const response = await open("GET", `/v1/events/stream?after=${this.after}`, { signal: this.aborter.signal });
		this.tries = 0;
		this.heard();
		this.store.setLink({ state: "live" });
		await this.read(response.body.getReader());
		throw new Problem({ status: 0, code: "unanswered", title: "The event stream ended" });
	}

	/* Reads the identity of the daemon, and chooses the first event to follow. */
	async greet() {
		const index = await request("GET", "/v1");
		const restarted = this.store.setIndex(index);
		if (this.after !== null && !restarted) return;
		const { server_id: run, first, last } = await request("GET", "/v1/events?limit=1");
		this.after = `${run}-${Math.max(first - 1, last - BACKLOG, 0)}`;
	}

	async read(reader) {
		const decoder = new TextDecoder();
		const batch = [];
		const feed = sseParser((event) => this.take(event, batch));
		const watchdog = setInterval(() => {
			if (Date.now() - this.heardAt > SILENCE_MS) this.aborter.abort();
		}, SILENCE_MS / 4);
		try {
			for (;;) {
				const { done, value } = await reader.read();
				if (done) return;
				this.heard();
				feed(decoder.decode(value, { stream: true }));
				this.store.addEvents(batch.splice(0));
			}
		} finally {
			clearInterval(watchdog);
		}
	}

	take({ event, id, data }, batch) {
		const value = JSON.parse(data);
		/* The daemon was restarted since greet(), which has to read its identity again. */
		if (event === "restarted") {
			this.aborter.abort();
			return;
		}
		this.after = id;
		if (event === "message") batch.push(value);
		else if (event === "compacted") this.store.addMissed(value.missed);
	}

	heard() {
		this.heardAt = Date.now();
	}

	lost(error) {
		if (this.restarting) return;
		const problem =
			error instanceof Problem ? error : new Problem({ status: 0, code: "unanswered", detail: String(error) });
		const { state, since } = this.store.link;
		if (problem.status === 401) this.store.setLink({ state: "unauthorized", problem });
		else
			this.store.setLink({
				state: "stale",
				since: state === "stale" ? since : (this.heardAt ?? Date.now()),
				problem,
			});
	}

	rest() {
		if (this.restarting || !this.running) return null;
		const ms = RETRY_MS[Math.min(this.tries++, RETRY_MS.length - 1)];
		return new Promise((done) => {
			/* Without a token, another try would fail as well. */
			const timer = this.store.link.state === "unauthorized" ? null : setTimeout(done, ms);
			this.wake = () => {
				clearTimeout(timer);
				done();
			};
		});
	}
}
