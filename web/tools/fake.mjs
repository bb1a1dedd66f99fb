// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for a daemon with many connections, for looking at the page: it answers the requests of the page, and its
// counters move. The answers have the shapes of openapi.yaml; their values are made up.
import { randomUUID } from "node:crypto";

const OPS = [
	"send",
	"recv",
	"write",
	"read",
	"send_imm",
	"write_imm",
	"fetch_add",
	"compare_swap",
	"bind_window",
	"invalidate_window",
];
const ENDS = {
	retry_exceeded: ["The peer stopped answering", "Is the peer's host up, and is the way to it?"],
	rejected: ["The peer rejected the connection", "Is something listening on that port?"],
	peer_disconnect: ["The peer disconnected", "Nothing to do: the peer has closed."],
};

// The diagnosis of each end, as rdma/diagnose/verdict_rows.h words it.
const CAUSES = {
	retry_exceeded: (host, device) => ({
		cause: {
			code: "not_acknowledged",
			detail: `${host} did not acknowledge a write of 65536 bytes in 3.2 s: its host or queue pair is gone, or a firewall or cable between is cut`,
			hint: `\`ping ${host}\` tells whether the host is up; if it is, see the peer's end of the connection, then UDP 4791 both ways.`,
		},
		evidence: [`no RDMA packet came to ${device}, which sent 36`],
		possible_causes: [
			{
				code: "mtu_too_large",
				detail: "packets with the path MTU of 4096 bytes do not fit through eth0, which carries 1500",
				hint: "Give the interfaces of both sides the same MTU, or connect again with a smaller path_mtu_bytes.",
				evidence: ["the path MTU is 4096, and eth0 carries 1500 with all headers"],
			},
		],
	}),
	rejected: (host) => ({
		cause: {
			code: "nobody_listens",
			detail: `nobody listens for connections at ${host} port 7471`,
			hint: "Start the listener on the peer, or check the port number: `rdma resource show cm_id` there lists the listeners of all programs.",
		},
		evidence: ["the peer's kernel knows no listener on that port"],
		possible_causes: [],
	}),
	peer_disconnect: () => ({
		cause: {
			code: "peer_left",
			detail: "the peer disconnected: its program closed the connection or ended, or its RDMA device was removed",
			hint: "If that was not meant, see the log or the verbsd of the peer.",
		},
		evidence: [],
		possible_causes: [],
	}),
};

function counters(scale) {
	return Object.fromEntries(
		OPS.map((op) => [op, { posted: 0, completed: 0, errors: 0, flushed: 0, bytes: 0, signalled: 0, scale }]),
	);
}

const at = (ms) => new Date(ms).toISOString();

const firstError = (ms, code) => ({
	at: at(ms),
	source: "wc",
	code,
	detail: "IBV_WC_RETRY_EXC_ERR",
	hint: ENDS[code][1],
	op: "write",
	cm_event: null,
	cm_status: null,
	reject_reason: null,
	wc_status: "IBV_WC_RETRY_EXC_ERR",
	vendor_err: 129,
	async_event: null,
	call: null,
	errno: null,
	transfer: null,
});

const OP_COUNTERS = { posted: 900, completed: 880, errors: 0, flushed: 0, bytes: 901120, signalled: 900 };

export class Fake {
	constructor(size = 1000) {
		this.serverId = randomUUID().replaceAll("-", "").slice(0, 16);
		this.startedMs = Date.now() - 3.6e6 - size * 3000;
		this.streams = new Set();
		this.events = [];
		this.connections = Array.from({ length: size }, (_, i) => this.connection(i + 1));
		this.cqs = Array.from({ length: 8 }, (_, i) => this.cq(i + 1));
		for (const one of this.connections.slice(-40))
			this.say(
				"connection_established",
				"notice",
				{ kind: "connection", id: one.id, name: one.name },
				`established with ${one.peer.addr}`,
			);
		for (const one of this.connections.filter(({ state }) => state === "failed").slice(-12))
			this.say(
				"connection_ended",
				"warning",
				{ kind: "connection", id: one.id, name: one.name },
				`failed: ${one.end_code}: ${one.error.detail}`,
				{ state: "failed", previous_state: null, code: one.end_code },
			);
		this.lists = {
			connections: this.connections,
			cqs: this.cqs,
			devices: this.devices(),
			transfers: this.transfers(),
			probes: this.probes(),
			kept_objects: this.keptObjects(),
			...this.datagrams(),
		};
		this.drain = null; /* {since, deadline_at} while it drains */
		setInterval(() => this.tick(), 1000).unref();
	}

	connection(id) {
		const failed = id % 11 === 0;
		const closed = id % 7 === 0;
		const created = this.startedMs + id * 3000;
		const state = failed ? "failed" : closed ? "closed" : id % 29 === 0 ? "connecting" : "established";
		const reason = failed ? (id % 2 ? "rejected" : "retry_exceeded") : closed ? "peer_disconnect" : null;
		const peer = { addr: `10.76.${id >> 8}.${id & 255}`, port: 7471 };
		return {
			id,
			name: id % 3 ? `node-${String(id).padStart(4, "0")}` : null,
			state,
			waits_for: state === "connecting" ? "the peer's answer" : null,
			side: id % 2 ? "active" : "passive",
			qp_type: "rc",
			bringup: "cm",
			manual: null,
			device: id % 5 ? "mlx5_0" : "mlx5_1",
			port_num: 1,
			listener: id % 2 ? null : { id: 1, name: "front" },
			local: { addr: "10.76.0.1", port: 40000 + (id % 20000) },
			peer,
			dst_addr: id % 2 ? peer.addr : null,
			dst_port: id % 2 ? 7471 : null,
			src_addr: null,
			src_port: null,
			tos: null,
			reuse_addr: false,
			desired: id % 9 ? undefined : this.desired(id, state),
			heartbeats: id % 9 ? undefined : { sent: 12 * id, answered: 12 * id - (failed ? 3 : 0) },
			qp_attr: this.qp(id, state),
			cq: { id: (id % 8) + 1, name: null },
			counters: counters(id % 4 ? 0 : (id % 13) * 4e7),
			lost_packets: null,
			inbox: { messages: 0, capacity: 16 },
			rtt:
				state === "established" && id % 3
					? {
							probe: { id, name: null },
							sent: 900,
							completed: 899,
							lost: id % 5 ? 0 : 3,
							last_ns: 5200,
							jitter_ns: 610,
							p50_ns: 5100,
							p90_ns: 6900,
							p99_ns: 411800,
							p999_ns: 940100,
						}
					: null,
			end_code: reason,
			error: failed
				? {
						code: reason,
						detail: ENDS[reason][0],
						hint: ENDS[reason][1],
						first: reason === "retry_exceeded" ? firstError(created + 9e5, reason) : null,
					}
				: null,
			created_at: at(created),
			established_at: state === "connecting" || reason === "rejected" ? null : at(created + 11),
			ended_at: reason ? at(created + 9e5) : null,
			service: "inbox",
			qp: {
				sq_depth: 15,
				rq_depth: 16,
				recv_size_bytes: 1024,
				heartbeat_ms: id % 9 ? undefined : 5000,
			},
			timeout_ms: 5000,
		};
	}

	desired(id, state) {
		const away = state === "failed";
		return {
			id,
			source: id % 2 ? "config" : "api",
			state: away ? "waiting" : state === "established" ? "up" : "stopped",
			tries: away ? 4 : 1,
			last_try_at: at(Date.now() - 9000),
			next_try_at: away ? at(Date.now() + 21000) : null,
			error: null,
			outlives_restart: true,
		};
	}

	qp(id, state) {
		const states = { failed: "ERR", closed: "ERR", connecting: "INIT", established: "RTS" };
		return {
			lqpn: 16 + id,
			rqpn: 4096 + id,
			state: states[state],
			sq_psn: 7713044,
			rq_psn: 120933,
			path_mtu_bytes: 4096,
			ack_timeout: 14,
			ack_timeout_ns: 67108864,
			retry_count: 4,
			rnr_retry: 7,
			min_rnr_timer: 12,
			min_rnr_timer_ns: 640000,
			responder_resources: 16,
			initiator_depth: 16,
			gid_index: 3,
			dgid: "::ffff:10.76.0.9",
			sgid: "::ffff:10.76.0.1",
			gid_type: "roce_v2",
			netdev: "ens1f0",
			vlan_id: null,
			traffic_class: 106,
			hop_limit: 64,
			dead_peer_detect_ms: 336,
		};
	}

	cq(id) {
		return {
			id,
			name: null,
			device: "mlx5_0",
			auto: true,
			worker: id % 2,
			cqe: 4096,
			reserved_cqe: 3000,
			outstanding_cqe: (id * 517) % 4000,
			high_water_cqe: 3100 + id * 60,
			moderation: null,
			completions: 0,
			error_completions: 0,
			polls: 0,
			empty_polls: 0,
			events_armed: 0,
			events_taken: 0,
			failed: false,
			connections: 90,
			user_count: 0,
			created_at: at(this.startedMs),
		};
	}

	devices() {
		const gid = {
			gid_index: 3,
			gid: "::ffff:10.76.0.1",
			type: "roce_v2",
			scope: "global",
			netdev: "ens1f0",
			vlan_id: null,
		};
		const device = (id, name, state) => ({
			id,
			name,
			state: "present",
			transport: "roce",
			node_guid: "0x506b4b0300f4a1c2",
			sys_image_guid: "0x506b4b0300f4a1c2",
			fw_ver: "22.31.1014",
			vendor_id: 713,
			vendor_part_id: 4125,
			error: null,
			capabilities: ["rc", "ud", "srq"],
			limits: {},
			ports: [
				{
					port_num: 1,
					state,
					phys_state: "link_up",
					link_layer: "ethernet",
					lid: 0,
					sm_lid: 0,
					max_mtu_bytes: 4096,
					active_mtu_bytes: 4096,
					gids: [gid],
					hw_counters: { sent_pkts: 5210, rcvd_pkts: 5180, duplicate_request: 0 },
					cm_counters: { tx_msgs: { req: 4 }, tx_retries: {}, rx_msgs: { rep: 4 }, rx_duplicates: {} },
				},
			],
			async_events: {},
			counters: {},
			memlock: { locked_bytes: 7.4e9, limit_bytes: 8 * 2 ** 30 },
			added_at: at(this.startedMs),
			removed_at: null,
		});
		return [device(1, "mlx5_0", "active"), device(2, "mlx5_1", "down")];
	}

	transfers() {
		return [1, 2].map((id) => ({
			id,
			state: "running",
			op: id === 1 ? "write" : "read",
			connection: { id, name: null },
			ud_endpoint: null,
			ud_peer: null,
			multicast_membership: null,
			buffer: { id: 1, name: null },
			offset_bytes: 0,
			sges: null,
			length_bytes: 2 ** 34,
			chunk_bytes: 262144,
			batch: null,
			tx_depth: 64,
			bytes_done: id * 3e9,
			wrs_done: 9000,
			messages_done: null,
			inline: false,
			imm: null,
			old_value: null,
			received: null,
			timeout_ms: 30000,
			created_at: at(Date.now() - 5000),
			started_at: at(Date.now() - 5000),
			ended_at: null,
			queue_ns: 4000,
			wire_ns: 4e9,
			error: null,
		}));
	}

	probes() {
		return [
			{
				id: 1,
				state: "running",
				connection: { id: 2, name: "node-0002" },
				kind: "ack",
				count: null,
				interval_ms: 1000,
				size_bytes: 0,
				timeout_ms: null,
				sent: 900,
				completed: 899,
				late: 0,
				lost: 1,
				mismatched: 0,
				last_ns: 5100,
				jitter_ns: 600,
				rtt_ns: { min: 4000, mean: 5200, p50: 5100, p90: 6900, p99: 41180, p999: 94010, max: 120000 },
				created_at: at(this.startedMs),
				ended_at: null,
				error: null,
			},
		];
	}

	datagrams() {
		const common = {
			waits_for: null,
			user_count: 0,
			timeout_ms: 10000,
			error: null,
			created_at: at(this.startedMs),
		};
		const endpoint = (id, name, addr) => ({
			id,
			name,
			state: "ready",
			addr,
			port: addr && 7174,
			device: "mlx5_0",
			port_num: 1,
			lid: 0,
			gid: "::ffff:10.76.0.1",
			gid_index: 3,
			pkey_index: 0,
			qpn: 200 + id,
			qkey: "0x01234567",
			psn: 0,
			private_data: null,
			mtu_bytes: 4096,
			max_message_bytes: 4096,
			service: "inbox",
			qp: { sq_depth: 15, rq_depth: 16, recv_size_bytes: 1024 },
			cq: 1,
			counters: { send: OP_COUNTERS, send_imm: counters(0).send_imm, recv: OP_COUNTERS, grh_bytes: 36000 },
			inbox: { messages: 3 * id, capacity: 16 },
			sidr: { requests: 4, answered: 3, refused: 1 },
			peers: 1,
			groups: 1,
			end_code: null,
			error: null,
			created_at: at(this.startedMs),
			ended_at: null,
		});
		const path = {
			gid: "::ffff:10.76.0.9",
			gid_index: 3,
			hop_limit: 64,
			traffic_class: 0,
			flow_label: 0,
			lid: 0,
			sl: 0,
			port_num: 1,
		};
		return {
			endpoints: [endpoint(1, "beacon", "10.76.0.1"), endpoint(2, null, null)],
			peers: [
				{
					id: 1,
					name: "b",
					state: "ready",
					endpoint: 1,
					dst: "10.76.0.9:7174",
					message: null,
					qpn: 17,
					qkey: "0x01234567",
					path,
					...common,
				},
				{
					id: 2,
					name: null,
					state: "failed",
					endpoint: 1,
					dst: "10.76.0.8:7174",
					message: null,
					qpn: null,
					path: null,
					...common,
					error: {
						code: "unreachable",
						detail: "Nobody answered in 10 s.",
						hint: "Is the endpoint there?",
						first: null,
					},
				},
			],
			groups: [
				{
					id: 1,
					name: "alarms",
					state: "joined",
					endpoint: 1,
					addr: "239.1.1.1",
					mode: "full",
					mgid: "ff0e::ffff:ef01:101",
					mlid: null,
					sl: null,
					qkey: "0x01234567",
					...common,
				},
			],
		};
	}

	keptObjects() {
		const kept = (id, name, kind, state, error = null) => ({
			id,
			owner: null,
			labels: {},
			name,
			kind,
			object_id: null,
			previous_id: null,
			source: "config",
			state,
			tries: error ? 4 : 1,
			last_try_at: at(Date.now() - 9000),
			next_try_at: state === "waiting" ? at(Date.now() + 21000) : null,
			error: error && { ...error, first: null },
			reconnect: kind === "connection" ? "always" : null,
			reconnect_min_ms: 500,
			reconnect_max_ms: 30000,
			outlives_restart: true,
			created_at: at(this.startedMs),
		});
		return [
			kept(1, "front", "listener", "up"),
			kept(2, "to-archive", "connection", "waiting", {
				code: "rejected",
				detail: "nobody listens on that port (invalid service id)",
				hint: ENDS.rejected[1],
			}),
			kept(3, "side", "listener", "lost", {
				code: "device_removed",
				detail: "The device was removed",
				hint: "It comes back with the device.",
			}),
		];
	}

	/* GET, POST and DELETE of /v1/drain. No transfer of the stand-in ends, so nothing is ever drained. */
	serveDrain(method, json) {
		if (method === "POST") {
			this.drain = { since: at(Date.now()), deadline_at: null };
			this.say("daemon_draining", "notice", null, "begins nothing new");
		} else if (method === "DELETE") {
			this.drain = null;
			this.say("daemon_undrained", "notice", null, "begins what it is asked to");
			return json(null);
		}
		return json({
			state: this.drain ? "draining" : "serving",
			since: null,
			deadline_at: null,
			...this.drain,
			transfer_count: this.lists.transfers.length,
			connection_count: this.connections.filter(({ end_code: end }) => !end).length,
		});
	}

	stats() {
		const number = (test) => this.connections.filter(test).length;
		const stats = {
			server_id: this.serverId,
			connections: number(({ end }) => !end),
			connections_established: number(({ state }) => state === "established"),
			connections_connecting: number(({ state }) => state === "connecting"),
			connections_ended: number(({ state }) => state === "closed" || state === "failed"),
			connections_failed: number(({ state }) => state === "failed"),
			transfers: 2,
			probes: 1,
			listeners: 3,
			ud_endpoints: 2,
			buffers: 40,
			buffers_bytes: 7.4e9,
			cq_outstanding_cqe: this.cqs.reduce((sum, cq) => sum + cq.outstanding_cqe, 0),
			cq_capacity_cqe: 8 * 4096,
			connections_limit: 1000,
			listeners_limit: 256,
			objects_limit: 10000,
			buffers_limit: 4096,
			buffers_limit_bytes: 2 ** 36,
			loop_lag_p99_ns: 410000,
			loop_lag_max_ns: 9100000,
			leaked_objects: 0,
		};
		return stats;
	}

	traffic() {
		const wave = (i) => Math.round(4e8 * (1.2 + Math.sin((i + Date.now() / 5000) / 9)));
		const sample = (_, i) => ({
			at: at(Date.now() - (179 - i) * 5000),
			out_bytes_per_s: wave(i),
			in_bytes_per_s: wave(i + 20) / 4,
		});
		return { interval_ms: 5000, items: Array.from({ length: 180 }, sample) };
	}

	timeline(one) {
		const start = Date.parse(one.created_at);
		const steps = [
			[0.01, "call", "rdma_resolve_addr"],
			[0.4, "cm_event", "RDMA_CM_EVENT_ADDR_RESOLVED"],
			[0.5, "call", "rdma_resolve_route"],
			[0.9, "cm_event", "RDMA_CM_EVENT_ROUTE_RESOLVED"],
			[1.2, "qp", "RESET -> INIT"],
			[1.3, "call", "rdma_connect"],
			[1.4, "state", "connecting"],
		];
		if (one.established_at)
			steps.push(
				[9.1, "cm_event", "RDMA_CM_EVENT_CONNECT_RESPONSE"],
				[9.3, "qp", "INIT -> RTR"],
				[9.4, "qp", "RTR -> RTS"],
				[9.6, "call", "rdma_establish"],
				[10.9, "state", "established"],
			);
		if (one.error?.first)
			steps.push([9e5, "wc", "IBV_WC_RETRY_EXC_ERR", "write, vendor 129"], [9e5 + 1, "qp", "RTS -> ERR"]);
		if (one.ended_at) steps.push([9e5 + 4, "state", one.state]);
		return steps.map(([ms, kind, what, detail]) => ({
			at: at(start + ms),
			since_start_ns: Math.round(ms * 1e6),
			kind,
			what,
			from: kind === "qp" ? what.split(" -> ")[0] : null,
			to: kind === "qp" ? what.split(" -> ")[1] : kind === "state" ? what : null,
			detail: detail ?? null,
		}));
	}

	explanation(one) {
		const lost = one.end_code === "retry_exceeded";
		const wc = {
			kind: "wc_status",
			name: "IBV_WC_RETRY_EXC_ERR",
			number: 12,
			detail: "The peer did not acknowledge, however often it was sent",
			causes: ["the peer's host or program is gone", "the network between them is cut or drops packets"],
			hint: "See whether the peer's host answers; then look at its port and at the switch.",
		};
		const finding = {
			code: "mtu_of_port",
			severity: "info",
			detail: "The port's MTU is 1024 bytes; the device allows up to 4096.",
			hint: "On RoCE, an interface MTU of 4200 on both ends gives a path MTU of 4096.",
		};
		const slow = {
			code: "dead_peer_slow",
			severity: "warning",
			detail: "A dead peer would go unnoticed for 17 s while data is sent.",
			hint: "Lower ack_timeout or retry_count.",
		};
		const judged = one.end_code
			? CAUSES[one.end_code](one.peer.addr, one.device)
			: { cause: null, evidence: [], possible_causes: [] };
		return {
			connection: { id: one.id, name: one.name },
			state: one.state,
			summary: one.end_code
				? `It ${one.state === "failed" ? "failed" : "was closed"}: ${judged.cause.detail}.`
				: `The connection is ${one.state} with ${one.peer.addr} port 7471 on ${one.device}, and nothing has failed.`,
			...judged,
			causes: lost ? [wc] : [],
			hints: judged.cause ? [judged.cause.hint] : [],
			findings: one.end_code ? [finding] : one.id % 5 ? [finding] : [slow, finding],
			facts: { dead_peer_detect_ms: 336 },
			end_code: one.end_code,
			error: one.error,
			followed_by: {
				flushed: lost ? 47 : 0,
				flushed_sends: lost ? 31 : 0,
				flushed_receives: lost ? 16 : 0,
				errors: 0,
			},
		};
	}

	tick() {
		for (const one of this.connections) {
			if (one.state !== "established") continue;
			for (const op of ["write", "recv"]) {
				const moved = Math.round(
					one.counters[op].scale * (0.6 + Math.random() * 0.5) * (op === "recv" ? 0.4 : 1),
				);
				one.counters[op].bytes += moved;
				one.counters[op].completed += Math.ceil(moved / 65536);
			}
			if (one.rtt) one.rtt.last_ns = Math.round(4600 + Math.random() * 1800);
		}
		for (const cq of this.cqs)
			cq.outstanding_cqe = Math.max(
				0,
				Math.min(4000, cq.outstanding_cqe + Math.round((Math.random() - 0.5) * 300)),
			);
	}

	say(type, severity, object, detail, data = {}) {
		const event = {
			seq: this.events.length + 1,
			server_id: this.serverId,
			at: at(Date.now()),
			type,
			severity,
			object,
			detail,
			data,
		};
		this.events.push(event);
		for (const response of this.streams) this.send(response, event);
	}

	send(response, event) {
		response.write(`id: ${this.serverId}-${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
	}

	serve(request, response) {
		const url = new URL(request.url, "http://fake");
		const json = (value, status = 200) => {
			response.writeHead(status, {
				"Content-Type": status < 400 ? "application/json" : "application/problem+json",
			});
			response.end(JSON.stringify(value));
		};
		const [, , name, ref, more] = url.pathname.split("/");
		if (url.pathname === "/v1")
			return json({
				service: "verbsd",
				version: "0.1.0",
				role: "control",
				server_id: this.serverId,
				started_at: at(this.startedMs),
				now: at(Date.now()),
				uptime_ms: Date.now() - this.startedMs,
				store: { status: "none", detail: "there is no state_dir: events and records end with this run" },
				fault_injection: false,
				links: {},
				routes: [],
			});
		if (name === "events" && ref === "stream") return this.stream(url, response);
		if (name === "events") {
			const after = this.placeOf(url, 0);
			const items = this.events.filter(({ seq, severity }) => seq > after && severity === "warning");
			return json({
				server_id: this.serverId,
				now_ns: Math.round(performance.now() * 1e6),
				first: 1,
				last: this.events.length,
				next: `${this.serverId}-${this.events.length}`,
				restarted: false,
				resumed: false,
				compacted: false,
				items,
			});
		}
		if (name === "stats") return json(ref === "traffic" ? this.traffic() : this.stats());
		if (name === "drain") return this.serveDrain(request.method, json);
		const list = this.lists[name];
		if (list && !ref) return json(this.page(list, url));
		const one = list?.find(({ id, name: own }) => String(id) === ref || own === ref);
		if (one && name !== "connections") return json(one);
		if (one && !more) return json(this.clean(one));
		if (one && more === "timeline") {
			const items = this.timeline(one);
			return json({ total: items.length, next: null, dropped: 0, items });
		}
		if (one && more === "explain") return json(this.explanation(one));
		if (["buffers", "listeners", "windows", "benchmarks"].includes(name) && !ref)
			return json({ total: 0, next: null, items: [] });
		return json(
			{
				type: "/v1/glossary/not_found",
				title: "This verbsd has no such object or path",
				status: 404,
				code: "not_found",
				detail: `${url.pathname}: no such path`,
				hint: "List what there is.",
			},
			404,
		);
	}

	// The number in `after`, which may have the id of the run before it.
	placeOf(url, otherwise) {
		const after = url.searchParams.get("after");
		return after === null ? otherwise : Number(after.split("-").at(-1));
	}

	page(list, url) {
		const limit = Number(url.searchParams.get("limit") ?? 100);
		const after = Number(url.searchParams.get("after") ?? 0);
		const fields = url.searchParams.get("fields")?.split(",");
		const open = url.searchParams.get("state") === "open";
		const all = list.filter((one) => one.id > after && !(open && one.end_code));
		const items = all.slice(0, limit).map((one) => this.clean(one));
		const thin = fields
			? items.map((one) => Object.fromEntries(Object.entries(one).filter(([key]) => fields.includes(key))))
			: items;
		return { total: list.length, next: all.length > limit ? items.at(-1).id : null, items: thin };
	}

	clean(one) {
		if (!one.peer || !one.counters) return one;
		const counted = Object.entries(one.counters).map(([op, { scale, ...rest }]) => [op, rest]);
		return { ...one, counters: Object.fromEntries(counted) };
	}

	stream(url, response) {
		response.writeHead(200, { "Content-Type": "text/event-stream" });
		response.write("retry: 1000\n\n");
		const after = this.placeOf(url, this.events.length);
		for (const event of this.events.filter(({ seq }) => seq > after)) this.send(response, event);
		this.streams.add(response);
		response.on("close", () => this.streams.delete(response));
	}
}
