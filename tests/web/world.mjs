// SPDX-License-Identifier: Apache-2.0
//
// The tools of a scenario: fresh daemons, the API, and pages that report exceptions and forbidden requests.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { ask } from "./lab.mjs";

const AXE = new URL("node_modules/axe-core/axe.min.js", import.meta.url);

export class Failure extends Error {}

export function ok(condition, why) {
	if (!condition)
		throw new Failure(why);
}

export function equal(seen, wanted, what) {
	ok(seen === wanted, `${what} is ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
}

export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export class World {
	constructor({ guest, browser, artefacts, patience_ms, late_ms = 0 }) {
		Object.assign(this, { guest, browser, artefacts, patience_ms, late_ms, passed: 0, failed: 0, contexts: [], wrongs: [] });
		this.running = new Set();
	}

	get addr() { return this.guest.addr; }

	// --- daemons

	/** fresh - start all daemons again, so that ids begin at 1 and no objects are left */
	async fresh(more = {}) {
		for (const name of this.guest.names) {
			await this.kill(name);
			await this.start(name, more[name]);
		}
	}

	/** some - make sure that all daemons run, in any state */
	async some() {
		if (this.running.size < this.guest.names.length)
			await this.fresh();
	}

	async start(name, more) {
		await this.guest.start(name, more);
		this.running.add(name);
		this.tokens = { ...this.tokens, [name]: more?.tokens?.control };
	}

	async kill(name) {
		if (this.running.delete(name))
			await this.guest.signal(name, "SIGKILL");
	}

	async stop() {
		const ends = await this.guest.quit();

		for (const [name, { status, signal }] of Object.entries(ends))
			ok(status === 0, `daemon ${name} ended with ${status ?? signal}`);
	}

	// --- the API

	async try(name, method, path, body, wait_s) {
		const token = this.tokens[name];

		return ask(this.guest[name], method, path, body, {
			...(wait_s !== undefined && { Prefer: `wait=${wait_s}` }),
			...(token && { Authorization: `Bearer ${token}` }),
		});
	}

	/** call - the body of the answer to a request, which must succeed */
	async call(name, method, path, body, wait_s) {
		const answer = await this.try(name, method, path, body, wait_s);

		ok(answer.status < 300, `${name}: ${method} ${path}: ${answer.status} ${answer.body.code}: ${answer.body.detail}`);
		return answer.body;
	}

	get(name, path) { return this.call(name, "GET", path); }
	make(name, path, body) { return this.call(name, "POST", path, body, 60); }

	/** until - read `path` after every event until pleases(body) is true, and return the body; `what` is for the message */
	async until(name, path, what, pleases) {
		const end = Date.now() + this.patience_ms;

		for (;;) {
			const { next } = await this.get(name, "/v1/events?after=now");
			const seen = await this.get(name, path);

			if (pleases(seen))
				return seen;
			ok(Date.now() < end, `${name}: ${path}: waited in vain for ${what}: ${JSON.stringify(seen).slice(0, 300)}`);
			await this.get(name, `/v1/events?after=${next}&limit=1&wait_ms=500`);
		}
	}

	/** connection - a new connection from a to b; b listens at `port` */
	async connection(more = {}, port = 7471) {
		await this.try("b", "POST", "/v1/listeners", { addr: "0.0.0.0", port });
		return this.make("a", "/v1/connections", { dst_addr: this.addr, dst_port: port, timeout_ms: 60000, ...more });
	}

	// --- pages

	/** page - a page of a new visitor at the dashboard of daemon `name`; before(page) is called before it is loaded */
	async page(name, hash = "", { viewport = WIDE, scheme = "light", scale = 1, before } = {}) {
		const context = await this.browser.newContext({ viewport, colorScheme: scheme, deviceScaleFactor: scale,
			permissions: ["clipboard-read", "clipboard-write"] });

		this.contexts.push(context);
		context.setDefaultTimeout(this.patience_ms);
		const page = await context.newPage();

		this.listen_for_wrongs(page);
		await this.delay_requests(page);
		await before?.(page);
		await page.goto(this.guest.url(name) + hash);
		return page;
	}

	// Each request to the daemon, but those for streams, waits up to late_ms first.
	async delay_requests(page) {
		if (this.late_ms === 0)
			return;
		await page.route(({ pathname }) => pathname.startsWith("/v1") && !pathname.endsWith("/stream"), async (route) => {
			await setTimeout(Math.random() * this.late_ms);
			await route.continue().catch(() => {}); // The page may have gone meanwhile.
		});
	}

	listen_for_wrongs(page) {
		const origins = new Set([this.guest.url("a"), this.guest.url("b")].map((url) => new URL(url).origin));

		page.on("pageerror", (error) => this.wrongs.push(`the page threw: ${error.message}`));
		page.on("console", (message) => {
			if (/Content Security Policy/.test(message.text()))
				this.wrongs.push(`the page broke its own policy: ${message.text()}`);
		});
		// A page must send requests to its own daemon only.
		page.on("request", (request) => {
			const url = new URL(request.url());

			if (/^(http|ws)/.test(url.protocol) && !origins.has(url.origin))
				this.wrongs.push(`the page asked for ${url}`);
		});
	}

	/** shot - keep a screenshot */
	async shot(page, name) {
		await page.screenshot({ path: join(this.artefacts, `${name}.png`), animations: "disabled" });
	}

	/** fits - fail if the page is wider than the window, or if a part of it scrolls sideways in a wide window */
	async fits(page, what) {
		const { over, inside } = await page.evaluate((wide) => ({
			over: document.scrollingElement.scrollWidth - innerWidth,
			inside: [...document.querySelectorAll(innerWidth < wide ? "nav" : "nav, .scroll-x")]
				.filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.getAttribute("aria-label")),
		}), WIDE.width);

		ok(over <= 0, `${what} is ${over} px wider than the window`);
		ok(inside.length === 0, `${what}: not all of "${inside}" is in sight`);
	}

	/** accessible - the scenario fails if axe finds anything wrong on the page; no rule of axe is switched off */
	async accessible(page, what) {
		await page.evaluate(readFileSync(AXE, "utf8"));
		const found = await page.evaluate(async () => (await window.axe.run()).violations.flatMap(({ id, nodes }) =>
			nodes.map(({ html }) => `${id}: ${html.slice(0, 300)}`)));

		this.wrongs.push(...found.map((wrong) => `${what}: ${wrong}`));
	}

	// --- scenarios

	async play(name, scenario) {
		const began = Date.now();

		this.wrongs = [];
		try {
			await scenario(this);
			ok(this.wrongs.length === 0, this.wrongs.join("; "));
			this.passed++;
			console.log(`ok ${name} (${Date.now() - began} ms)`);
		} catch (error) {
			this.failed++;
			console.log(`not ok ${name}: ${error instanceof Failure ? error.message : error.stack}`);
			for (const wrong of this.wrongs)
				console.log(`     ${wrong}`);
			await this.keep_evidence(name).catch((why) => console.log(`     no evidence: ${why.message}`));
		}
		for (const context of this.contexts.splice(0))
			await context.close();
	}

	async keep_evidence(name) {
		const slug = name.replaceAll(/[^a-z0-9]+/gi, "-").slice(0, 60);
		const pages = this.contexts.flatMap((context) => context.pages());

		for (const [i, page] of pages.entries()) {
			await page.screenshot({ path: join(this.artefacts, `failed-${slug}-${i}.png`), timeout: 10_000 });
			writeFileSync(join(this.artefacts, `failed-${slug}-${i}.html`), await page.content());
		}
		for (const daemon of this.guest.names) {
			const log = await this.guest.log(daemon);

			console.log(log.split("\n").slice(-12).map((line) => `     ${daemon}: ${line}`).join("\n"));
		}
	}
}
