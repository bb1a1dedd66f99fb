// SPDX-License-Identifier: Apache-2.0
//
// A peer that is no Linux: speaks RoCE v2 and the CM's messages over a UDP socket, so that it can answer what no kernel
// answers. Runs in a network namespace without an RDMA device, where UDP 4791 is free.
//
//     foreign_peer.mjs ADDR [PEER PORT]
//
// A connect request to port 2000 + R is rejected for the reason R, one to a lower port is not answered. Requests to port 3000 + S are accepted, and each packet
// of the connection is answered by an acknowledgement with the syndrome S, or not at all if S is 255. With PEER it asks for
// a connection with PEER at PORT, and never confirms it.

import { createSocket } from "node:dgram";

const ROCE_PORT = 4791;
const UD_SEND = 0x64;
const RC_ACK = 0x11;
const CM_QPN = 1;
const CM_QKEY = 0x80010000;
const MAD_BYTES = 256;
const CM_AT = 24; // of the CM's message in its MAD
const BTH_BYTES = 12;
const DETH_BYTES = 8;
const REQ = 0x10, REJ = 0x12, REP = 0x13, DREQ = 0x15, DREP = 0x16;
const REJECTS_FROM = 2000;
const ACCEPTS_FROM = 3000;
const NO_ANSWER = 255;
const MY_QPN = 0x77;
const MY_COMM_ID = 0x1234;

const [addr, verbsd, verbsd_port] = process.argv.slice(2);
const socket = createSocket("udp6");
const syndromes = new Map(); // by the QPN that was given to the peer
let next_qpn = MY_QPN;
const peer_qpns = new Map();

function ip_bytes(text) {
	const [head, tail] = text.split("::").map((half) => half.split(":").filter((group) => group));
	const groups = [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail];

	return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
}

const CRC_TABLE = Array.from({ length: 256 }, (_, n) => {
	for (let k = 0; k < 8; k++)
		n = n & 1 ? 0xedb88320 ^ n >>> 1 : n >>> 1;
	return n >>> 0;
});

const crc32 = (bytes) => ~bytes.reduce((crc, byte) => CRC_TABLE[(crc ^ byte) & 0xff] ^ crc >>> 8, ~0) >>> 0;

// The invariant CRC of InfiniBand is that of the packet with all that routers may change set to ones. IPv6, since the
// kernel chooses the identification of a packet of IPv4.
function with_icrc(packet, to) {
	const udp_bytes = 8 + packet.length + 4;
	const head = Buffer.alloc(8 + 40 + 8, 0xff);
	const masked = Buffer.from(packet);

	head[8] = 0x6f;
	head.writeUInt16BE(udp_bytes, 12);
	head[14] = 17;
	ip_bytes(addr).copy(head, 16);
	ip_bytes(to).copy(head, 32);
	head.writeUInt16BE(ROCE_PORT, 48);
	head.writeUInt16BE(ROCE_PORT, 50);
	head.writeUInt16BE(udp_bytes, 52);
	masked[4] = 0xff;
	const icrc = Buffer.alloc(4);

	icrc.writeUInt32LE(crc32(Buffer.concat([head, masked])));
	return Buffer.concat([packet, icrc]);
}

function bth(opcode, qpn, psn) {
	const header = Buffer.alloc(BTH_BYTES);

	header[0] = opcode;
	header.writeUInt16BE(0xffff, 2);
	header.writeUIntBE(qpn, 5, 3);
	header.writeUIntBE(psn, 9, 3);
	return header;
}

const send = (to, ...parts) => socket.send(with_icrc(Buffer.concat(parts), to), ROCE_PORT, to);

function send_cm(to, attribute, fill) {
	const mad = Buffer.alloc(MAD_BYTES);
	const deth = Buffer.alloc(DETH_BYTES);

	mad.set([1, 7, 2, 3]);
	mad.writeUInt32BE(MY_COMM_ID, 12);
	mad.writeUInt16BE(attribute, 16);
	fill(mad.subarray(CM_AT));
	deth.writeUInt32BE(CM_QKEY, 0);
	deth.writeUIntBE(CM_QPN, 5, 3);
	send(to, bth(UD_SEND, CM_QPN, 0), deth, mad);
}

const reject = (to, comm_id, reason) => send_cm(to, REJ, (cm) => {
	cm.writeUInt32BE(MY_COMM_ID, 0);
	cm.writeUInt32BE(comm_id, 4);
	cm.writeUInt16BE(reason, 10);
});

const accept = (to, comm_id, qpn) => send_cm(to, REP, (cm) => {
	cm.writeUInt32BE(qpn, 0);
	cm.writeUInt32BE(comm_id, 4);
	cm.writeUIntBE(qpn, 12, 3);
	cm[24] = cm[25] = 1;
	cm[27] = 7 << 5;
	cm.writeUInt32BE(qpn, 32);
});

const request = (to, port) => send_cm(to, REQ, (cm) => {
	cm.writeUInt32BE(MY_COMM_ID, 0);
	cm.writeUInt32BE(0x01060000 + port, 12);
	cm.writeUInt32BE(MY_QPN, 20);
	cm.writeUIntBE(MY_QPN, 32, 3);
	cm[35] = cm[39] = 1;
	cm[43] = 17 << 3;
	cm[47] = 17 << 3 | 7;
	cm.writeUInt16BE(0xffff, 48);
	cm[50] = 3 << 4 | 7;
	cm[51] = 3 << 4;
	ip_bytes(addr).copy(cm, 56);
	ip_bytes(to).copy(cm, 72);
	cm[93] = 64;
	cm[94] = 1 << 3;
	cm[95] = 14 << 3;
	cm[141] = 6 << 4;
	cm.writeUInt16BE(ROCE_PORT, 142);
	ip_bytes(addr).copy(cm, 144);
	ip_bytes(to).copy(cm, 160);
});

function on_request(to, cm) {
	const comm_id = cm.readUInt32BE(0);
	const port = cm.readUInt16BE(14);

	if (port < REJECTS_FROM)
		return;
	if (port < ACCEPTS_FROM) {
		reject(to, comm_id, port - REJECTS_FROM);
		return;
	}
	const qpn = next_qpn++;

	syndromes.set(qpn, port - ACCEPTS_FROM);
	peer_qpns.set(qpn, cm.readUIntBE(32, 3));
	accept(to, comm_id, qpn);
}

function on_cm(to, mad) {
	const cm = mad.subarray(CM_AT);
	const attribute = mad.readUInt16BE(16);

	if (attribute === REQ)
		on_request(to, cm);
	else if (attribute === DREQ)
		send_cm(to, DREP, (answer) => {
			answer.writeUInt32BE(cm.readUInt32BE(4), 0);
			answer.writeUInt32BE(cm.readUInt32BE(0), 4);
		});
}

function on_packet(packet, { address: to }) {
	if (packet.length < BTH_BYTES)
		return;
	const qpn = packet.readUIntBE(5, 3);

	if (qpn === CM_QPN)
		on_cm(to, packet.subarray(BTH_BYTES + DETH_BYTES));
	else if ((syndromes.get(qpn) ?? NO_ANSWER) !== NO_ANSWER)
		send(to, bth(RC_ACK, peer_qpns.get(qpn), packet.readUIntBE(9, 3)), Buffer.from([syndromes.get(qpn), 0, 0, 1]));
}

socket.on("message", on_packet);
socket.bind(ROCE_PORT, addr, () => {
	console.log("ready");
	if (verbsd)
		request(verbsd, Number(verbsd_port));
});
