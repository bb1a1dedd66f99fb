// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
	amount,
	ago,
	bytes,
	count,
	counted,
	endpoint,
	hex,
	ns,
	nsBetween,
	percent,
	rate,
	span,
} from "../../../web/src/format.js";

test("bytes have three digits and a binary unit", () => {
	assert.equal(bytes(0), "0 B");
	assert.equal(bytes(1023), "1023 B");
	assert.equal(bytes(1536), "1.50 KiB");
	assert.equal(bytes(12.5 * 1024 ** 2), "12.5 MiB");
	assert.equal(bytes(2 ** 53), "8.00 PiB");
	assert.equal(bytes(null), "–");
});

test("a rate below one byte per second is shown as 0", () => {
	assert.equal(rate(0.4), "0");
	assert.equal(rate(2048), "2.00 KiB/s");
	assert.equal(rate(undefined), "–");
});

test("counts are grouped", () => {
	assert.equal(count(1234567), "1\u202f234\u202f567");
	assert.equal(count(999), "999");
});

test("nanoseconds become the unit that people read", () => {
	assert.equal(ns(-3.4e9), "−3.40 s");
	assert.equal(ns(850), "850 ns");
	assert.equal(ns(5200), "5.20 µs");
	assert.equal(ns(67108864), "67.1 ms");
	assert.equal(ns(3.4e9), "3.40 s");
	assert.equal(ns(90e9), "1 min 30 s");
});

test("longer times have their two largest units, without zeroes", () => {
	assert.equal(span(900), "0 s");
	assert.equal(span(200e3), "3 min 20 s");
	assert.equal(span(3600e3), "1 h");
	assert.equal(span(187200e3), "2 d 4 h");
	assert.equal(span(86400e3 + 5e3), "1 d");
	assert.equal(span(-5), "0 s");
	assert.equal(span(200e3, 1), "3 min");
});

test("a time of just now is now, also when the clocks differ", () => {
	const at = "2026-01-01T00:00:00.000000000Z";
	assert.equal(ago(at, Date.parse(at) - 3000), "now");
	assert.equal(ago(at, Date.parse(at) + 4000), "4 s ago");
	assert.equal(ago(null), "–");
});

test("addresses of IPv6 are in brackets", () => {
	assert.equal(endpoint({ addr: "10.0.0.1", port: 7471 }), "10.0.0.1:7471");
	assert.equal(endpoint({ addr: "fe80::1%eth0", port: 1 }), "[fe80::1%eth0]:1");
	assert.equal(endpoint({ addr: null, port: 0 }), "–");
	assert.equal(endpoint(null), "–");
});

test("shares and queue pair numbers", () => {
	assert.equal(percent(0.256), "26 %");
	assert.equal(hex(17), "0x000011");
	assert.equal(hex(null), "–");
});

test("an amount is exact unless it is large", () => {
	assert.equal(amount(9876543), "9\u202f876\u202f543");
	assert.equal(amount(12345678), "12.3 M");
	assert.equal(amount(4567890123), "4.57 G");
	assert.equal(amount(null), "–");
});

test("a counted noun has its plural", () => {
	assert.deepEqual(
		[0, 1, 2, 12345].map((value) => counted(value, "peer")),
		["no peers", "1 peer", "2 peers", "12\u202f345 peers"],
	);
});

test("the time between two times of the API has nanoseconds", () => {
	assert.equal(nsBetween("2026-01-31T12:00:00.999999900Z", "2026-01-31T12:00:01.000000200Z"), 300);
	assert.equal(nsBetween("2026-01-31T12:00:00Z", "2026-01-31T12:01:00.5Z"), 60.5e9);
	assert.equal(nsBetween("2026-01-31T12:00:00.000001Z", "2026-01-31T12:00:00.000001Z"), 0);
});
