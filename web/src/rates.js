// SPDX-License-Identifier: Apache-2.0
//
// Makes rates of counters. Pure.
const OUT = ["send", "write", "send_imm", "write_imm"];
const IN = ["recv", "read", "fetch_add", "compare_swap"];
const KEPT = 32;

/** totals - the bytes and completed operations of a connection, out and in, and its errors */
export function totals(counters) {
	const sum = (ops, member) => ops.reduce((all, op) => all + (counters?.[op]?.[member] ?? 0), 0);
	return {
		outBytes: sum(OUT, "bytes"),
		inBytes: sum(IN, "bytes"),
		outMessages: sum(OUT, "completed"),
		inMessages: sum(IN, "completed"),
		errors: sum([...OUT, ...IN], "errors"),
		flushed: sum([...OUT, ...IN], "flushed"),
	};
}

/** difference - per second between two samples {at (ms), …totals}; null when they can't be compared */
export function difference(before, after) {
	const s = (after.at - before.at) / 1000;
	if (!(s > 0)) return null;
	const per = (member) => Math.max(0, after[member] - before[member]) / s;
	return { out: per("outBytes"), in: per("inBytes"), outMessages: per("outMessages"), inMessages: per("inMessages") };
}

/** The last rates of many connections, by id. */
export class RateBook {
	constructor() {
		this.rows = new Map();
	}

	/** note - add the counters of a connection at a time in ms */
	note(id, at, counters) {
		const sample = { at, ...totals(counters) };
		const row = this.rows.get(id) ?? { sample: null, rate: null, history: [] };
		const rate = row.sample && difference(row.sample, sample);
		this.rows.set(id, {
			sample,
			rate: rate ?? row.rate,
			history: rate ? [...row.history.slice(1 - KEPT), rate.out + rate.in] : row.history,
		});
	}

	/** of - {sample, rate, history}; rate is null until two samples are there */
	of(id) {
		return this.rows.get(id) ?? { sample: null, rate: null, history: [] };
	}

	/** keep - drop the connections that are not among ids */
	keep(ids) {
		for (const id of this.rows.keys()) if (!ids.has(id)) this.rows.delete(id);
	}
}
