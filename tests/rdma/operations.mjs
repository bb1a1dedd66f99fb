// SPDX-License-Identifier: Apache-2.0
//
// Connections of each kind, for the rows of docs/verbs.md.
//
// A pair is {a, b, from, to, device}: a connection `from` of daemon a and its other end, `to`, of daemon b.

import { WAIT_S, equal, ok, refusal } from "./lib.mjs";

// Within every peer's number of receives, and with unsignalled work requests.
export const QP = { signal_every: 4, inline_bytes: 64, rq_depth: 32, retry_count: 7 };

// --- pairs -------------------------------------------------------------------------------------------------------

// Connects by the connection manager; the listener gets `service`, and both sides `qp`.
export async function cm_pair(a, b, { dst_addr, port, device, qp = QP, service = "inbox", here = "inbox" }) {
	const listener = await b.listen({ addr: dst_addr, port, qp, service });
	const from = await a.connect({ dst_addr, dst_port: port, qp, service: here });
	const { items } = await b.until("/v1/connections?fields=*&state=established&limit=1000", "the other end", ({ items }) =>
		items.some((item) => item.listener?.id === listener.id));

	await b.call("DELETE", `/v1/listeners/${listener.id}`);
	return { a, b, from, to: items.find((item) => item.listener?.id === listener.id), device };
}

// Brings two connections up by hand, each with the other's values.
export async function manual_pair(a, b, { qp_type, device, gid_index, qp = QP, service = "inbox", here = "inbox" }) {
	const ends = await Promise.all([[a, here], [b, service]].map(([daemon, service]) =>
		daemon.post("/v1/connections", { bringup: "manual", qp_type, device, gid_index, qp, service }, WAIT_S)));

	for (const [daemon, mine, other] of [[a, ends[0], ends[1]], [b, ends[1], ends[0]]])
		await daemon.post(`/v1/connections/${mine.id}/remote`, other.manual.local, WAIT_S);
	const [from, to] = await Promise.all([a.connection_in(ends[0].id, "established"), b.connection_in(ends[1].id, "established")]);
	return { a, b, from, to, device };
}

export async function close_pair({ a, b, from, to }) {
	await a.post(`/v1/connections/${from.id}/close`, {}, WAIT_S);
	await b.try("POST", `/v1/connections/${to.id}/close`, {}, { wait_s: WAIT_S });
	await b.end_of(to.id);
}

// --- what is refused ---------------------------------------------------------------------------------------------

// Checks that a request is refused with the code. "not_supported" comes from a device, and then names device and
// capability, or from a kind of connection.
export async function refuses(row, column, daemon, path, body, code = "not_supported") {
	const problem = await daemon.refused("POST", path, body, WAIT_S);

	equal(problem.code, code, `the code of the refusal of ${row} (${problem.detail})`);
	if (code === "not_supported")
		ok((problem.device && problem.capability) || /\b(uc|ud|endpoint)\b/.test(problem.detail), `the refusal of ${row} names no device or capability: ${problem.detail}`);
	refusal(row, column, code);
}
