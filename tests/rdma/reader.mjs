// SPDX-License-Identifier: Apache-2.0
//
// A client of the role read learns no secrets. Markers are put wherever peers' bytes can be, keys and addresses are learnt
// from the daemon and from the kernel, and all of them are searched for, in several notations, in every answer that a
// reader can get and in the logs. The role control must see them, or else the search would prove nothing.

import { randomBytes, randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";

import { Contract } from "../api/lib/contract.mjs";
import { scratch_path } from "../scratch.mjs";
import { Daemon, PATIENCE_MS, WAIT_S, addr, dev, equal, finish, ok, run, scenario } from "./lib.mjs";

const FORMATS = ["json", "journal", "text"]; // of the logs of the daemons
const FIELDS_CHARS = 900; // the contract has a limit for `fields`
const contract = Contract.load();
const { document } = contract;

// --- secrets -----------------------------------------------------------------------------------------------------

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

// A text that stands nowhere else, of whole bytes in every notation.
const text_marker = () => `mark${Array.from({ length: 12 }, () => LETTERS[randomInt(LETTERS.length)]).join("")}`;
// Values without a zero byte, as hex.
const number_marker = (bytes) => Array.from({ length: bytes }, () => randomInt(0x81, 0xff).toString(16)).join("");

const reversed = (hex) => hex.match(/../g).reverse().join("");

// The parts of a text in BASE64 that the bytes determine wherever they begin in it.
const base64_parts = (bytes) => [0, 1, 2].map((before) => {
	const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");

	return text.slice(Math.ceil(before * 4 / 3), Math.floor((before + bytes.length) * 4 / 3));
});

// Ways to write a text.
const texts_of = (marker) => {
	const bytes = Buffer.from(marker);

	return [marker, bytes.toString("hex"), ...base64_parts(bytes)];
};

// A number of 16 bits may well be a port or a size, so that of such a secret only the hex with 0x counts.
const DECIMAL_FROM = 1n << 16n;
// Soft-RoCE counts its keys up in steps of 256: after so many registrations they are longer than that.
const REGISTRATIONS = 288;

// Ways to write a number, in either order of its bytes.
const numbers_of = (hex) => [hex, reversed(hex)].flatMap((digits) => {
	const value = BigInt(`0x${digits}`);
	const bare = value.toString(16);

	return [`0x${bare}`, `0x${digits}`, ...(value >= DECIMAL_FROM ? [String(value), digits, bare] : [])];
});

class Secrets {
	texts = new Map(); // name -> ways to write it, found anywhere
	numbers = new Map(); // name -> ways to write it, found as whole words

	text(name) {
		const marker = text_marker();

		this.texts.set(name, texts_of(marker));
		return marker;
	}

	number(name, hex) {
		this.numbers.set(name, numbers_of(hex));
		return hex;
	}

	// Names of the secrets that stand in `said`.
	in(said) {
		const words = words_of(said);
		const has = [...this.texts].filter(([, ways]) => ways.some((way) => said.includes(way)));
		const had = [...this.numbers].filter(([, ways]) => ways.some((way) => words.has(way)));

		return [...has, ...had].map(([name]) => name);
	}
}

// Durations and times are many, and may be any number.
const TIMES = /"[a-z0-9_]*(_ns|_at|at|now|uptime)":\s*(\{[^}]*\}|[\d.]+)|^\S*_seconds\S* .*$/gm;

// Whole numbers in decimal and hex; a fraction is none.
const words_of = (said) => new Set(said.replace(TIMES, "").toLowerCase().match(/(?<![\w.])(0x)?[0-9a-f]+(?![\w.]*\w)/g));

// --- what there is to see ----------------------------------------------------------------------------------------

// The paths of the members of a schema, each with its x-role.
function members_of(schema, prefix = "", depth = 0) {
	const whole = contract.resolve(schema);
	const member = (name, part) => {
		const path = prefix ? `${prefix}.${name}` : name;

		return [{ path, role: part["x-role"] ?? "read" }, ...members_of(part, path, depth + 1)];
	};

	if (depth > 6)
		return [];
	return [
		...Object.entries(whole.properties ?? {}).flatMap(([name, part]) => member(name, part)),
		...["anyOf", "oneOf"].flatMap((word) => (whole[word] ?? []).flatMap((part) => members_of(part, prefix, depth))),
		...(whole.items ? members_of(whole.items, prefix, depth) : []),
	];
}

// The members of the objects of a list; none for another path.
function members_of_list(template) {
	const schema = document.paths[template]?.get?.responses["200"].content?.["application/json"]?.schema;
	const item = contract.resolve(schema ?? {})?.properties?.items?.items?.$ref;

	return item && contract.resolve({ $ref: item })["x-short"] ? members_of({ $ref: item }) : [];
}

// Values of `fields`: each member alone, and many together.
function fields_of(template) {
	const paths = [...new Set(members_of_list(template).map(({ path }) => path.replace(/\..*/, "")))];
	const together = [[]];

	for (const path of paths) {
		if ([...together.at(-1), path].join().length > FIELDS_CHARS || together.at(-1).length === 60)
			together.push([]);
		together.at(-1).push(path);
	}
	return paths.length ? [...paths, ...together.map((some) => some.join())] : [];
}

// The values of a path's {ref}.
async function refs_of(daemon, template, lists) {
	const list = template.slice(0, template.indexOf("/{ref}"));

	if (list === "/assets")
		return [...(await daemon.get("/")).toString().matchAll(/\/assets\/([\w.-]+)/g)].map(([, ref]) => ref);
	return lists.get(list).map(({ id, name }) => String(id ?? name));
}

const has = (template, parameter) => contract.operation("GET", template).parameters.some(({ name }) => name === parameter);

// The queries of a path that show all that it can show.
function queries_of(template, each_member) {
	const queries = new URLSearchParams({
		...(has(template, "limit") && { limit: 1000 }),
		...(has(template, "state") && template !== "/v1/devices" && { state: "open,ended" }),
	});
	const list = has(template, "fields") && template.includes("{ref}") ? template.replace("/{ref}", "") : template;
	const more = [
		...(has(template, "fields") ? ["", "fields=*"] : [""]),
		...(each_member && has(template, "fields") && list === template ? fields_of(list).map((fields) => `fields=${fields}`) : []),
		...(template === "/metrics" ? ["connections=1&cqs=1"] : []),
		...(template === "/v1/reachability" ? [`dst_addr=${addr}`] : []),
	];

	return more.map((one) => [queries.toString(), one].filter(Boolean).join("&"));
}

// Every path with its query that a role can GET, of the objects that there are.
async function* targets(daemon, roles, each_member) {
	const operations = contract.operations().filter(({ method, role }) => method === "GET" && roles.includes(role));
	const lists = new Map();

	for (const { template } of operations.filter(({ template }) => has(template, "limit") && !template.includes("{ref}")
		&& !template.startsWith("/v1/events")))
		lists.set(template, (await daemon.get(`${template}?${queries_of(template)[0]}`)).items);
	lists.set("/v1/glossary", (await daemon.get("/v1/glossary")).items.slice(0, 5));
	for (const { template } of operations) {
		const refs = template.includes("{ref}") ? await refs_of(daemon, template, lists) : [null];

		for (const ref of refs)
			for (const query of queries_of(template, each_member))
				yield { template, target: `${template.replace("{ref}", ref)}${query && `?${query}`}` };
	}
}

const text_of = (body) => Buffer.isBuffer(body) ? body.toString("utf8") : JSON.stringify(body);

// Returns how many events a client may see: a reader sees none of the audit.
async function events_of(daemon, token) {
	const control = daemon.token;
	let count = 0;
	let page = { next: "oldest" };

	daemon.token = token;
	try {
		do {
			page = await daemon.get(`/v1/events?after=${page.next}&limit=1000`);
			count += page.items.length;
		} while (page.items.length === 1000);
	} finally {
		daemon.token = control;
	}
	return count;
}

// Returns the answers to all GETs of a client, with the whole event log as a stream.
async function seen_by(daemon, token, roles, each_member) {
	const control = daemon.token;
	const seen = [];
	const events = await events_of(daemon, token);

	try {
		for await (const { template, target } of targets(daemon, roles, each_member)) {
			const stream = template === "/v1/events/stream";
			const path = stream ? `${template}?after=oldest&limit=${events}` : target;

			daemon.token = token;
			const { status, body } = await daemon.try("GET", path);
			daemon.token = control;
			seen.push({ template, path, status, body, text: text_of(body) });
		}
	} finally {
		daemon.token = control;
	}
	return seen;
}

// The answers to a client that asks for what it may not have, and for what makes no sense.
async function refusals_of(daemon, token) {
	const control = daemon.token;
	const seen = [];

	daemon.token = token;
	for (const { method, template, role } of contract.operations()) {
		const path = template.replace("{ref}", "1");
		const target = ["none", "read"].includes(role) ? `${path}?fields=rkey,nonsense` : path;
		const { status, body } = await daemon.try(method, target, method === "GET" ? undefined : {});

		if (status >= 400)
			seen.push({ template, path: `${method} ${target}`, status, body, text: text_of(body) });
	}
	daemon.token = control;
	return seen;
}

// --- the world ---------------------------------------------------------------------------------------------------

const CONNECTION = "/v1/connections";
const OPEN = ["remote_write", "remote_read", "remote_atomic"];
const remote = ({ addr: at, rkey }) => ({ addr: at, rkey });

async function start(name, format) {
	const token = (role) => {
		const value = `${role}-${randomBytes(16).toString("hex")}`;
		const path = scratch_path(`${name}-${role}.token`);

		writeFileSync(path, `${value}\n`, { mode: 0o600 });
		return [path, value];
	};
	const [control_path, control] = token("control");
	const [read_path, read] = token("read");
	const daemon = await Daemon.start(name, ["--control-token-file", control_path, "--read-token-file", read_path,
		"--log-level", "debug", "--log-format", format]);

	daemon.token = control;
	daemon.read_token = read;
	await daemon.ready();
	return daemon;
}

async function listen(daemon, body) {
	const { port, id } = await daemon.listen({ port: 0, ...body });

	return { dst_port: port, listener: id };
}

const end_of = async (daemon, listener) => (await daemon.until("/v1/connections?fields=*&limit=1000", "its side",
	({ items }) => items.some((item) => item.listener?.id === listener))).items.find((item) => item.listener?.id === listener);

// Connections whose private data goes with the request, the reply and the rejection.
async function private_data(near, far, secrets) {
	const { dst_port, listener } = await listen(far, { accept: "manual", private_data: { data: secrets.text("private data of a listener") } });
	const dial = () => near.post(CONNECTION, { dst_addr: addr, dst_port, timeout_ms: PATIENCE_MS,
		private_data: { data: secrets.text("private data of a request") } });
	const asked = async () => (await far.until("/v1/connections?state=requested", "a request", ({ total }) => total === 1)).items[0];
	const accepted = await dial();

	await far.post(`${CONNECTION}/${(await asked()).id}/accept`, { private_data: { data: secrets.text("private data of an accept") } }, WAIT_S);
	await near.connection_in(accepted.id, "established");
	const rejected = await dial();
	await far.post(`${CONNECTION}/${(await asked()).id}/reject`, { private_data: { data: secrets.text("private data of a reject") } });
	await near.end_of(rejected.id);
	return listener;
}

// Messages, and the transfers of every operation, with marked bytes, immediates and results.
async function data(near, far, secrets) {
	const imm = (name) => parseInt(secrets.number(name, number_marker(4)), 16);
	const { dst_port, listener } = await listen(far, { private_data: { data: secrets.text("private data of a reply") } });
	const connection = await near.connect({ dst_port });
	const there = await end_of(far, listener);
	const source = await near.buffer(4096, { device: dev, kind: "shared" });
	const target = await far.buffer(4096, { device: dev, access: [...OPEN, "mw_bind"] });
	const word = number_marker(8);
	const transfer = (op, more) => near.post("/v1/transfers", { op, connection: connection.id, timeout_ms: PATIENCE_MS, ...more }, WAIT_S);
	const part = { buffer: source.id, length_bytes: 64 };

	await near.fill(source, Buffer.from(secrets.text("bytes of a buffer").repeat(4)));
	await transfer("write", { ...part, remote: remote(target) });
	await transfer("send", part);
	await transfer("send_imm", { ...part, imm: imm("immediate of a message") });
	await transfer("write_imm", { ...part, remote: remote(target), imm: imm("immediate of a write") });
	await far.fill(target, Buffer.from(reversed(word), "hex"));
	secrets.number("old value of an atomic", word);
	await transfer("fetch_add", { add: "0x1", remote: remote(target) });
	await near.post(`${CONNECTION}/${connection.id}/messages`, { data: secrets.text("message") }, WAIT_S);
	await near.post("/v1/transfer_batches", { transfers: [{ op: "write", connection: connection.id, ...part, remote: remote(target) }] }, WAIT_S);
	await near.post("/v1/benchmarks", { connection: connection.id, op: "write", buffer: source.id, size_bytes: 64, count: 8,
		remote: remote(target) }, WAIT_S);
	await near.post("/v1/probes", { connection: connection.id, kind: "ack", count: 3, remote: undefined }, WAIT_S);
	await far.post("/v1/windows", { buffer: target.id, connection: there.id, type: 2, size_bytes: 4096, access: ["remote_read"] }, WAIT_S);
	return { connection, target };
}

// A receive that a client posted.
async function received(near, far, secrets) {
	const { dst_port, listener } = await listen(far, { service: "none" });
	const connection = await near.connect({ dst_port });
	const there = await end_of(far, listener);
	const buffer = await far.buffer(4096, { device: dev });
	const imm = parseInt(secrets.number("immediate of a receive", number_marker(4)), 16);
	const { id } = await far.post("/v1/transfers", { op: "recv", connection: there.id, buffer: buffer.id, timeout_ms: PATIENCE_MS });
	const source = await near.buffer(4096, { device: dev });

	await near.fill(source, Buffer.from(secrets.text("bytes of a receive")));
	await near.post("/v1/transfers", { op: "send_imm", connection: connection.id, buffer: source.id, length_bytes: 16, imm, timeout_ms: PATIENCE_MS }, WAIT_S);
	await far.until(`/v1/transfers/${id}`, "its end", ({ state }) => state === "done");
}

// A transfer that fails, for its error and the explanation of its connection.
async function denied(near, far, { target }) {
	const { dst_port } = await listen(far, {});
	const connection = await near.connect({ dst_port });
	const buffer = await near.buffer(64, { device: dev });
	const { rkey } = target;
	const wrong = `0x${((parseInt(rkey, 16) ^ 0xff) >>> 0).toString(16).padStart(8, "0")}`;

	await near.refused("POST", "/v1/transfers", { op: "write", connection: connection.id, buffer: buffer.id, timeout_ms: PATIENCE_MS,
		remote: { addr: target.addr, rkey: wrong } }, WAIT_S);
	await near.end_of(connection.id);
}

async function pings(near, far) {
	const { dst_port } = await listen(far, { service: "rping" });
	const connection = await near.connect({ dst_port, service: "rping_client" });

	await near.post("/v1/probes", { connection: connection.id, kind: "rping", count: 3 }, WAIT_S);
}

async function by_hand(near, far) {
	const make = (daemon) => daemon.post(CONNECTION, { bringup: "manual", qp_type: "rc", device: dev });
	const [here, there] = [await make(near), await make(far)];

	await near.post(`${CONNECTION}/${here.id}/remote`, there.manual.local, WAIT_S);
	await far.post(`${CONNECTION}/${there.id}/remote`, here.manual.local, WAIT_S);
	return [here, there];
}

async function datagrams(near, far, secrets) {
	const qkey = `0x${secrets.number("Q_Key of an endpoint", number_marker(4))}`;
	const there = await far.post("/v1/ud_endpoints", { device: dev, addr, port: 7174,
		private_data: { data: secrets.text("private data of an endpoint") } });
	const quiet = await far.post("/v1/ud_endpoints", { device: dev, qkey });
	const here = await near.post("/v1/ud_endpoints", { device: dev });
	const peer = (body) => near.post("/v1/ud_peers", { ud_endpoint: here.id, ...body }, WAIT_S);
	const asked = await peer({ dst_addr: addr, dst_port: 7174, private_data: { data: secrets.text("private data of a peer") } });

	await peer({ gid: quiet.qp_attr.sgid, qpn: quiet.qp_attr.lqpn, qkey });
	await near.post("/v1/multicast_memberships", { ud_endpoint: here.id, addr: "239.1.2.3" }, WAIT_S);
	await near.post(`/v1/ud_endpoints/${here.id}/messages`, { ud_peer: asked.id, data: secrets.text("datagram"),
		imm: parseInt(secrets.number("immediate of a datagram", number_marker(4)), 16) }, WAIT_S);
	await far.until(`/v1/ud_endpoints/${there.id}/messages`, "the datagram", ({ total }) => total === 1);
}

async function long_keys(near) {
	for (let made = 0; made < REGISTRATIONS; made += 16)
		await Promise.all(Array.from({ length: 16 }, async () => {
			const { id } = await near.buffer(4096, { device: dev });

			await near.call("DELETE", `/v1/buffers/${id}`);
		}));
	const { rkey } = await near.buffer(4096, { device: dev, access: ["remote_read"] });

	ok(BigInt(rkey) >= DECIMAL_FROM, `the key ${rkey} is short`);
}

async function shared_objects(near) {
	await near.post("/v1/pds", { name: "pd", device: dev });
	await near.post("/v1/cqs", { name: "cq", device: dev, cqe: 64 });
	await near.post("/v1/srqs", { name: "srq", device: dev, max_wr: 16, recv_size_bytes: 64 });
}

// The kernel's keys, addresses and sequence numbers.
async function learn_from_the_kernel(secrets) {
	const show = async (what) => JSON.parse(await run("rdma", "-j", "-dd", "resource", "show", what)).flat();
	const learn = (name, value) => secrets.number(name, value.padStart(8, "0"));
	let known = 0;

	for (const { rkey, lkey, iova, mrn } of await show("mr"))
		for (const [name, value] of Object.entries({ rkey, lkey, iova }))
			if (value !== undefined && Number(value) !== 0)
				known += !!learn(`${name} of the kernel's mr ${mrn}`, String(value).replace(/^0x/, ""));
	ok(known > 0, "the kernel shows no keys");
	for (const { lqpn, type, "sq-psn": sq, "rq-psn": rq } of await show("qp"))
		for (const [name, value] of Object.entries({ "sq-psn": sq, "rq-psn": rq }))
			if (value !== undefined && type === "RC")
				learn(`${name} of the kernel's qp ${lqpn}`, Number(value).toString(16));
}

// The keys, addresses and sequence numbers that the daemon shows to the role control.
function learn_from_answers(secrets, answers) {
	const hidden = /^(rkey|addr|qkey|psn|sq_psn|rq_psn)$/;
	const WELL_KNOWN = ["0x01234567", "0x0", "0x00000000"]; // the Q_Key of the connection manager, and nothing
	const walk = (node, path) => {
		for (const [name, value] of Object.entries(node ?? {})) {
			if (typeof value === "object")
				walk(value, `${path}.${name}`);
			else if (hidden.test(name) && /^0x[0-9a-f]+$/.test(value) && !WELL_KNOWN.includes(value))
				secrets.number(`${path}.${name}`, value.slice(2).padStart(8, "0"));
			else if (/psn$/.test(name) && value >= DECIMAL_FROM)
				secrets.number(`${path}.${name}`, value.toString(16).padStart(8, "0"));
		}
	};

	for (const { path, body, status } of answers)
		if (status === 200 && !Buffer.isBuffer(body) && !/fields=/.test(path))
			walk(body, path);
}

// --- scenarios ---------------------------------------------------------------------------------------------------

// The part of a path that ends with the member, of an object or of the items of a list.
const shows = (body, path) => (body.items ?? [body]).some((item) => {
	let at = [item];

	for (const part of path.split("."))
		at = at.flat().filter((one) => one !== null && typeof one === "object" && part in one).map((one) => one[part]);
	return at.length > 0;
});

// The texts that are the same for every daemon of this version: the contract, the page and its scripts and styles.
async function said_at_start(daemon) {
	const paths = (await refs_of(daemon, "/assets/{ref}")).map((ref) => `/assets/${ref}`);
	const bodies = await Promise.all(["/", ...paths].map((path) => daemon.get(path)));

	return new Set([contract.text, ...bodies.map(text_of)]);
}

const tell = (found) => found.slice(0, 8).join("; ");

await scenario("a reader finds no marker, key, address or sequence number", async () => {
	const secrets = new Secrets();
	const [near, far, third] = await Promise.all(FORMATS.map((format, i) => start(["near", "far", "third"][i], format)));
	const daemons = [near, far];
	// An answer from before the first secret holds none of them. A minified script is full of numbers, and one may equal a key.
	const harmless = await said_at_start(near);

	await long_keys(near);
	await shared_objects(near);
	await private_data(near, far, secrets);
	const world = await data(near, far, secrets);
	await received(near, far, secrets);
	await by_hand(near, far);
	await datagrams(near, far, secrets);
	await pings(near, far);
	await denied(near, far, world);
	// The third daemon is there for the format of its log.
	const [one] = await by_hand(third, far);
	await third.post(`${CONNECTION}/${one.id}/messages`, { data: secrets.text("message by hand") }, WAIT_S);
	await learn_from_the_kernel(secrets);

	const found = new Set();
	const shown = new Set();
	const hidden = contract.operations().filter(({ method }) => method === "GET").flatMap(({ template }) =>
		members_of_list(template).filter(({ role }) => role !== "read").map(({ path }) => ({ template, path })));

	ok(hidden.length > 10, "the contract hides nothing");
	for (const daemon of daemons) {
		const answers = await seen_by(daemon, daemon.token, ["none", "read", "operate", "control"], false);

		learn_from_answers(secrets, answers);
		for (const text of new Set(answers.map((one) => one.text)))
			for (const name of harmless.has(text) ? [] : secrets.in(text))
				found.add(name);
		for (const { template, path } of hidden)
			if (answers.some((one) => one.template === template && one.body.items && shows(one.body, path)))
				shown.add(`${template} ${path}`);
	}
	const unseen = [...secrets.texts.keys(), ...secrets.numbers.keys()].filter((name) => !found.has(name) && !/kernel|^\/v1/.test(name));

	equal(tell(unseen), "", "what not even control sees");
	equal(tell(hidden.map(({ template, path }) => `${template} ${path}`).filter((one) => !shown.has(one))), "",
		"hidden members that control does not see either");

	const leaks = [];
	const searched = new Set(harmless);
	let answers = 0;
	for (const daemon of daemons) {
		const seen = await seen_by(daemon, daemon.read_token, ["none", "read"], daemon === near);

		if (daemon === near)
			seen.push(...await refusals_of(daemon, daemon.read_token));

		answers += seen.length;
		for (const { path, text } of seen.filter((one) => !searched.has(one.text))) {
			searched.add(text);
			leaks.push(...secrets.in(text).map((name) => `${daemon.name} ${path}: ${name}`));
		}
		for (const { template, path, body } of seen.filter(({ status }) => status === 200))
			for (const one of hidden.filter((member) => member.template === template.replace("/{ref}", "")))
				if (shows(body, one.path))
					leaks.push(`${daemon.name} ${path}: has the member ${one.path}`);
		ok(seen.filter(({ status }) => status === 200).length > 100, "hardly any answer was there to be searched");
	}
	for (const daemon of [...daemons, third])
		leaks.push(...secrets.in(daemon.log()).map((name) => `log of ${daemon.name}: ${name}`));
	equal(tell(leaks), "", "leaks");
	console.log(`     ${answers} answers, ${secrets.texts.size} texts and ${secrets.numbers.size} numbers`);
	for (const daemon of [...daemons, third])
		await daemon.stop();
});

finish();
