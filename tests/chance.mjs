// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are the same on every machine for the same seed: Mulberry32, which is short.

export class Chance {
	constructor(seed) { this.state = seed; }

	// At least 0, below 1.
	number() {
		this.state = (this.state + 0x6d2b79f5) | 0;
		let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	}

	below(count) { return Math.floor(this.number() * count); }
	is(probability) { return this.number() < probability; }
	one_of(...values) { return values[this.below(values.length)]; }
}
