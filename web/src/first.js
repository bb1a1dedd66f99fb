// SPDX-License-Identifier: Apache-2.0
//
// The text of each empty list, and the two commands that make its first row. The commands use the names of one another's
// objects: to-b, source and beacon. Pure; web.fake runs every command, and web.contract checks every body.
const PEER = "192.0.2.10";

/* By collection: [text, operands of verbsctl, body of the POST to the path of the collection]. */
export const first = {
	connections: [
		"A connection is made when a peer connects to a listener here, by the button above, or by one of these commands:",
		`connect ${PEER}:7471 --name to-b`,
		{ dst_addr: PEER, dst_port: 7471, name: "to-b" },
	],
	listeners: [
		"A listener accepts connections at an address and a port.",
		"listen 0.0.0.0:7471",
		{ addr: "0.0.0.0", port: 7471 },
	],
	endpoints: [
		"An endpoint sends and receives datagrams: single messages, to any peer, without a connection.",
		"ud-endpoints create beacon",
		{ name: "beacon" },
	],
	peers: [
		"A peer is the address of another endpoint: messages are sent to peers and to groups.",
		`ud-peers resolve ${PEER}:7174 --endpoint beacon`,
		{ ud_endpoint: "beacon", dst_addr: PEER, dst_port: 7174 },
	],
	groups: [
		"A member of a multicast group receives the messages that are sent to the group.",
		"multicast-memberships create --endpoint beacon --addr 239.1.1.1",
		{ ud_endpoint: "beacon", addr: "239.1.1.1" },
	],
	transfers: [
		"A transfer moves bytes between a buffer and a peer: it writes to the peer's memory, reads from it, or sends messages.",
		"send to-b --buffer source --length 64",
		{ op: "send", connection: "to-b", buffer: "source", length_bytes: 64 },
	],
	buffers: [
		"A buffer is memory that a device can read and write. Transfers take their bytes from buffers and put them there.",
		"buffers create source --size 1M --access remote_read,mw_bind",
		{ name: "source", size_bytes: 1048576, access: ["remote_read", "mw_bind"] },
	],
	windows: [
		"A window gives a peer access to a range of a buffer, with a key that can be revoked.",
		"windows create --buffer source --connection to-b --type 2 --access remote_read",
		{ buffer: "source", connection: "to-b", type: 2, access: ["remote_read"] },
	],
	benchmarks: [
		"A benchmark repeats one message over a connection, and measures the bytes and messages per second and the latency. " +
			"For send, the peer's service must be sink.",
		"benchmarks create to-b --op send --size 1K --count 100",
		{ connection: "to-b", op: "send", size_bytes: 1024, count: 100 },
	],
	probes: [
		"A probe pings the peer of a connection and measures how long the round trips take.",
		"probes create to-b --count 3",
		{ connection: "to-b", count: 3 },
	],
};
