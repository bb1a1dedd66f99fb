// SPDX-License-Identifier: Apache-2.0
//
// Shared by the parts of the suite explain: two daemons, and holding what an explanation says.

import { explain } from "./explained.mjs";
import { PATIENCE_MS, WAIT_S, addr, build, dev, equal, ok, run, scenario, start_ready, until } from "./lib.mjs";

export const CONNECTION = "/v1/connections";
export const PAGE = 4096;
// For a connect that only its deadline ends.
export const BRIEF = { timeout_ms: 3000 };
// The time that something has waited grows from one explanation to the next.
const timeless = (text) => text.replaceAll(/[\d.]+ m?s\b/g, "TIME");

export const staged = new Set();
export let near, far;
let port = 7600;

// A port for a listener of its own.
export const next_port = () => port++;

// Holds the first line and the first hint of an explanation by the code of the cause, in the API and in verbsctl. A cause that
// is told in several ways has `words` in its line.
export async function says(daemon, connection, code, words = "") {
	const told = await explain(daemon, connection);
	const { summary, cause, hints } = told;

	equal(cause?.code, code, `${daemon.name}: the cause (${summary} ${JSON.stringify(told.evidence)}) ${JSON.stringify(told.possible_causes)}`);
	ok(cause.detail.includes(words), `'${words}' is not in the first line: ${summary}`);
	ok(summary.toLowerCase().endsWith(cause.detail.toLowerCase()), `the first line does not have its cause: ${summary}`);
	ok(!/IBV_WC|CM status|errno|\(E[A-Z]+|\{/.test(summary), `the first line has a status or a placeholder: ${summary}`);
	if (!/^Nothing/.test(cause.hint))
		equal(hints[0], cause.hint, "the first hint");
	const said = await run(`${build}/cmd/verbsctl`, "-s", `http://127.0.0.1:${daemon.port}`, "explain", String(connection.id));
	equal(timeless(said.split("\n")[0]), timeless(summary), "the first line of verbsctl");
	console.log(`     ${daemon.name}: ${summary}`);
	staged.add(code);
	return told;
}

// Waits until a connection that is open is explained by a cause of this code.
export const says_at_last = async (daemon, connection, code, words = "") => {
	await daemon.until(`${CONNECTION}/${connection.id}/explain`, code, ({ cause }) => cause?.code === code && cause.detail.includes(words));
	return says(daemon, connection, code, words);
};

// Makes connections until one is explained by a cause of this code, for causes that the peer's connection manager tells apart:
// one that has not answered after 1.5 s, since the machine is busy, counts as silent.
export const says_of_one = async (daemon, code, make, words = "") => {
	const connection = await until(code, async () => {
		const made = await make();

		const { cause } = await explain(daemon, made);

		return cause?.code === code && cause.detail.includes(words) && made;
	}, 5 * PATIENCE_MS);

	return says(daemon, connection, code, words);
};

export async function failed(daemon, body, more = {}) {
	const { status, body: answer } = await daemon.try("POST", CONNECTION, { dst_addr: addr, timeout_ms: PATIENCE_MS, ...body }, { wait_s: 0, ...more });

	// A call that fails at once is answered with the problem.
	const id = answer.id ?? answer.instance?.split("/").at(-1);

	ok(id, `${daemon.name}: ${status} ${JSON.stringify(answer)}`);
	return daemon.end_of(id);
}

export const begin = (daemon, body) => daemon.post(CONNECTION, { dst_addr: addr, timeout_ms: PATIENCE_MS, ...body });

// A listener of its own for each pair.
export async function pair(here = {}, there = {}, at = addr) {
	const listener = await far.listen({ addr: at, port: next_port(), ...there });
	const active = await near.connect({ dst_addr: at, dst_port: listener.port, ...here });
	const { items } = await far.until(`${CONNECTION}?fields=*&state=established`, "its side", ({ items }) =>
		items.some(({ listener: of }) => of?.id === listener.id));

	return [active, items.find(({ listener: of }) => of?.id === listener.id), listener];
}

export const requested = async (listener) => (await far.until(`${CONNECTION}?fields=*&state=requested`, "a request", ({ items }) =>
	items.some(({ listener: of }) => of?.id === listener.id))).items.find(({ listener: of }) => of?.id === listener.id);

// Returns the problem with which a transfer ends, or null.
export async function move(op, connection, { daemon = near, remote, size_bytes = 64, message_bytes, timeout_ms = PATIENCE_MS } = {}) {
	const buffer = await daemon.buffer(Math.max(size_bytes, PAGE), { device: connection.device });
	const { status, body } = await daemon.try("POST", "/v1/transfers", { op, connection: connection.id, buffer: buffer.id,
		length_bytes: size_bytes, timeout_ms, ...(remote && { remote }), ...(message_bytes && { message_bytes }) }, { wait_s: WAIT_S });

	return status === 201 ? null : body;
}

export const open_memory = () => far.buffer(PAGE, { device: dev, access: ["remote_read", "remote_write"] });
export const other_key = (rkey) => `0x${((parseInt(rkey, 16) ^ 0xff) >>> 0).toString(16).padStart(8, "0")}`;

async function with_two(play, args) {
	[near, far] = await start_ready("near far", args);
	await play();
	for (const daemon of [near, far])
		if (!daemon.gone)
			await daemon.stop();
}

export const stage = (what, play) => scenario(what, () => with_two(play, []));

// Two in which clients may ask for faults.
export const stage_faulty = (what, play) =>
	scenario(what, () => with_two(play, ["--set", "fault_injection=true"]));

// Two that report nothing to each other, as if each were another program to the other.
export const stage_mute = (what, play) => scenario(`${what}; no reports`, () => with_two(play, ["--set", "peer_reports=false"]));
