// SPDX-License-Identifier: Apache-2.0
//
// Numbers and times as people read them. Pure; each gives "–" for null.
export const NONE = "–";

function scaled(value, units, base) {
	let i = 0;
	while (value >= base && i < units.length - 1) {
		value /= base;
		i++;
	}
	return `${digits(value, i)} ${units[i]}`;
}

// Three significant digits; whole units have no decimals.
function digits(value, scale = 1) {
	if (scale === 0) return String(Math.round(value));
	return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** bytes - 1536 -> "1.50 KiB" */
export function bytes(value) {
	return value == null ? NONE : scaled(value, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024);
}

/** rate - bytes per second; "0 B/s" is shown as "0" so that a quiet table is quiet */
export function rate(value) {
	if (value == null) return NONE;
	return value < 1 ? "0" : `${bytes(value)}/s`;
}

/** count - 12345 -> "12 345", with a narrow no-break space */
export function count(value) {
	return value == null ? NONE : String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** counted - "1 transfer", "2 transfers", "no transfers" */
export function counted(value, noun) {
	return `${value === 0 ? "no" : count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** amount - a count, rounded when it is large: "9 876 543", "12.3 M" */
export function amount(value) {
	return value == null || value < 1e7 ? count(value) : scaled(value, ["", "k", "M", "G", "T", "P"], 1000);
}

/** ns - a duration in nanoseconds: "850 ns", "12.3 µs", "1.20 ms", "−3.40 s" */
export function ns(value) {
	if (value == null) return NONE;
	if (value < 0) return `−${ns(-value)}`;
	if (value < 60e9) return scaled(value, ["ns", "µs", "ms", "s"], 1000);
	return span(value / 1e6);
}

/** span - a longer duration in ms, in its largest units, two of them or as asked: "4 s", "3 min 20 s", "2 d 4 h" */
export function span(ms, units = 2) {
	if (ms == null) return NONE;
	const s = Math.max(0, Math.floor(ms / 1000));
	const parts = [
		[Math.floor(s / 86400), "d"],
		[Math.floor(s / 3600) % 24, "h"],
		[Math.floor(s / 60) % 60, "min"],
		[s % 60, "s"],
	];
	const first = parts.findIndex(([value]) => value > 0);
	if (first < 0) return "0 s";
	return parts
		.slice(first, first + units)
		.filter(([value]) => value > 0)
		.map(([value, unit]) => `${value} ${unit}`)
		.join(" ");
}

/** ago - the time since a moment, as "4 s ago" */
export function ago(time, now = Date.now()) {
	if (!time) return NONE;
	const ms = now - Date.parse(time);
	return ms < 1000 ? "now" : `${span(ms)} ago`;
}

/** clock - the local time of day, with milliseconds on request */
export function clock(time, { millis = false } = {}) {
	if (!time) return NONE;
	const at = new Date(time);
	const two = (value) => String(value).padStart(2, "0");
	const text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
	return millis ? `${text}.${String(at.getMilliseconds()).padStart(3, "0")}` : text;
}

/** nsBetween - the time between two times of the API, which have nanoseconds */
export function nsBetween(from, to) {
	const fraction = (time) => Number((/\.(\d+)/.exec(time)?.[1] ?? "").padEnd(9, "0").slice(0, 9));
	const wholeMs = (time) => Date.parse(time.replace(/\.\d+/, ""));
	return (wholeMs(to) - wholeMs(from)) * 1e6 + fraction(to) - fraction(from);
}

/** percent - a share from 0 to 1 */
export function percent(value) {
	return value == null ? NONE : `${Math.round(value * 100)} %`;
}

/** hex - a queue pair number: 0x000011 */
export function hex(value) {
	return value == null ? NONE : `0x${value.toString(16).padStart(6, "0")}`;
}

/** endpoint - {addr, port} -> "10.0.0.1:7471", "[fe80::1]:7471" */
export function endpoint(value) {
	if (!value?.addr) return NONE;
	const host = value.addr.includes(":") ? `[${value.addr}]` : value.addr;
	return value.port == null ? host : `${host}:${value.port}`;
}

/** asked - HOST:PORT that a connection was asked for; null on the passive side */
export function asked({ dst_addr: addr, dst_port: port }) {
	return addr == null ? null : endpoint({ addr, port });
}

/** refText - the name of a reference {id, name}, or "#7" */
export function refText({ id, name }) {
	return name ?? `#${id}`;
}
