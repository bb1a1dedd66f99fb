// SPDX-License-Identifier: Apache-2.0
//
// The course of a connection while a page shows it, for charts. Pure.
import { difference, totals } from "./rates.js";

const KEPT = 900;
const BOOKS = 8;
const COLUMNS = ["out", "in", "last", "p50", "p99"];

class Series {
	constructor() {
		this.times = []; /* s */
		this.columns = Object.fromEntries(COLUMNS.map((name) => [name, []]));
		this.sample = null;
	}

	note(at, epochMs, connection) {
		const sample = { at, ...totals(connection.counters) };
		const rate = this.sample && difference(this.sample, sample);
		const { rtt } = connection;
		this.sample = sample;
		if (!rate && !rtt) return;
		this.times.push(epochMs / 1000);
		const values = { out: rate?.out, in: rate?.in, last: rtt?.last_ns, p50: rtt?.p50_ns, p99: rtt?.p99_ns };
		for (const name of COLUMNS) this.columns[name].push(values[name] ?? null);
		if (this.times.length <= KEPT) return;
		this.times.shift();
		for (const name of COLUMNS) this.columns[name].shift();
	}

	/** data - the data of a chart for uPlot: the times, then a row for each name */
	data(names) {
		return [this.times, ...names.map((name) => this.columns[name])];
	}
}

/** The series of the connections that were shown last, by id. */
export class SeriesBook {
	constructor() {
		this.rows = new Map();
	}

	/** note - add a sample {id, counters, rtt}; at is in ms of a monotonic clock, epochMs in ms since 1970 */
	note(at, epochMs, connection) {
		const series = this.rows.get(connection.id) ?? new Series();
		this.rows.delete(connection.id);
		this.rows.set(connection.id, series);
		series.note(at, epochMs, connection);
		if (this.rows.size > BOOKS) this.rows.delete(this.rows.keys().next().value);
	}

	of(id) {
		return this.rows.get(id) ?? null;
	}
}

/** hasValues - whether one of these columns has a value to draw */
export function hasValues(series, names) {
	return Boolean(series) && names.some((name) => series.columns[name].some((value) => value !== null));
}
