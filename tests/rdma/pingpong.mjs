// SPDX-License-Identifier: Apache-2.0
//
// The exchange of the pingpongs of libibverbs over TCP: each side sends "LID:QPN:PSN:GID" in hex, the client first, and
// then "done".

import net from "node:net";

const LINE_BYTES = "0000:000000:000000:00000000000000000000000000000000".length + 1;

const hex = (number, digits) => number.toString(16).padStart(digits, "0");

// 32 hex digits: 16 bytes in network order.
const gid_digits = (gid) => {
	const v4 = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(gid);
	const text = v4 ? `${v4[1]}${hex(v4[2] * 256 + Number(v4[3]), 4)}:${hex(v4[4] * 256 + Number(v4[5]), 4)}` : gid;
	const [front, back] = text.split("::").map((part) => part.split(":").filter(Boolean));
	const words = back ? [...front, ...Array(8 - front.length - back.length).fill("0"), ...back] : front;

	return words.map((word) => word.padStart(4, "0")).join("");
};

// The line of verbsd's own QP.
export const line_of = ({ lid, qpn, psn, gid }) => `${hex(lid, 4)}:${hex(qpn, 6)}:${hex(psn, 6)}:${gid_digits(gid)}\0`;

export const read_bytes = (socket, count) => new Promise((done, fail) => {
	let seen = Buffer.alloc(0);
	const take = (bytes) => {
		seen = Buffer.concat([seen, bytes]);
		if (seen.length < count)
			return;
		socket.off("data", take);
		done(seen.subarray(0, count).toString());
	};

	socket.on("data", take);
	socket.on("error", fail);
	socket.on("end", () => fail(new Error(`the pingpong hung up after ${seen.length} bytes`)));
});

// The line of a pingpong as {lid, qpn, psn, gid}.
export async function read_line(socket) {
	const [lid, qpn, psn, gid] = (await read_bytes(socket, LINE_BYTES)).replace("\0", "").split(":");

	return { lid: parseInt(lid, 16), qpn: parseInt(qpn, 16), psn: parseInt(psn, 16), gid: gid.match(/.{4}/g).join(":") };
}

export const connected = (port) => new Promise((done, fail) => {
	const socket = net.connect(port, "127.0.0.1", () => done(socket));

	socket.on("error", fail);
});
