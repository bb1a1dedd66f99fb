// SPDX-License-Identifier: Apache-2.0
// Objects of openapi.yaml with all required members; `over` replaces some.
const at = (ms) => `2026-03-04T05:06:07.${String(ms).padStart(3, '0')}456789Z`;

export const qpParams = (over = {}) => ({
  sq_depth: 15, rq_depth: 16, recv_size_bytes: 1024, max_send_sge: 4, max_recv_sge: 1, inline_bytes: 64,
  signal_every: 1, poll: 'events', spin_us: null, heartbeat_ms: null, retry_count: 4, rnr_retry: 7, ack_timeout: 14, ack_timeout_ns: 67108864, min_rnr_timer: 12, min_rnr_timer_ns: 640000, responder_resources: 16,
  initiator_depth: 16, pd: null, cq: null, srq: null, path_mtu_bytes: null,
  remote_access: ['remote_write', 'remote_read', 'remote_atomic'], ...over,
});

const none = { posted: 0, completed: 0, errors: 0, flushed: 0, bytes: 0, signalled: 0 };

export const connection = (over = {}) => ({
  id: 7, owner: null, labels: {}, name: 'to-b', state: 'established', waits_for: null, side: 'active', qp_type: 'rc', bringup: 'cm', manual: null, device: { id: 1, name: 'rxe0' },
  port_num: 1, listener: null, local: { addr: '192.0.2.1', port: 40001 }, peer: { addr: '192.0.2.2', port: 7471 },
  qp_attr: {
    lqpn: 17, rqpn: 18, state: 'RTS', sq_psn: 3223814, rq_psn: 1881236, path_mtu_bytes: 1024, ack_timeout: 14,
    ack_timeout_ns: 67108864, retry_count: 4, rnr_retry: 7, min_rnr_timer: 12, min_rnr_timer_ns: 640000,
    responder_resources: 16, initiator_depth: 16, gid_index: 1, dgid: '::ffff:192.0.2.2',
    sgid: '::ffff:192.0.2.1', gid_type: 'roce_v2', netdev: 'eth0', vlan_id: null, traffic_class: 0, hop_limit: 64,
    dead_peer_detect_ms: 336,
  },
  cq: { id: 1, name: null },
  dst_addr: 'hostb', dst_port: 7471, src_addr: null, src_port: null, tos: null, reuse_addr: false,
  counters: {
    send: { ...none, posted: 2, completed: 2, bytes: 1024 }, recv: { ...none, posted: 16 },
    write: { ...none, posted: 4, completed: 3, errors: 1, bytes: 1048576 },
  },
  inbox: { messages: 2, capacity: 16 }, lost_packets: null, rtt: null, heartbeats: null, share: null, desired: null, previous_id: null,
  end_code: null, error: null, created_at: at(100), established_at: at(112),
  ended_at: null, service: 'inbox', qp: qpParams(), timeout_ms: 10000,
  ...over,
});

export const timeline = () => ({
  total: 3, next: null, dropped: 0,
  items: [
    { at: at(100), since_start_ns: 0, kind: 'call', what: 'rdma_resolve_addr', from: null, to: null, detail: 'to 192.0.2.2:7471' },
    { at: at(101), since_start_ns: 1234567, kind: 'cm_event', what: 'RDMA_CM_EVENT_ADDR_RESOLVED', from: null, to: null, detail: null },
    { at: at(112), since_start_ns: 12345678, kind: 'qp', what: 'RTR -> RTS', from: 'RTR', to: 'RTS', detail: null },
  ],
});

export const firstError = (over = {}) => ({
  at: at(120), source: 'wc', code: 'remote_access', detail: 'the peer refused the access', hint: 'Check the rkey.', op: null,
  cm_event: null, cm_status: null, reject_reason: null, wc_status: null, vendor_err: null, async_event: null, call: null,
  errno: null, transfer: null, ...over,
});

export const rejected = (over = {}) => connection({
  state: 'failed', qp_attr: null, established_at: null, ended_at: at(120),
  end_code: 'rejected',
  error: {
    code: 'rejected', detail: 'the peer rejected the connection', hint: 'Is something listening there?',
    first: firstError({
      source: 'cm_event', code: 'rejected', detail: 'the peer rejected the connection', hint: 'Is something listening there?',
      cm_event: 'RDMA_CM_EVENT_REJECTED', cm_status: 8,
    }),
  },
  ...over,
});

export const listener = (over = {}) => ({
  id: 1, owner: null, labels: {}, name: 'front', state: 'listening', addr: '0.0.0.0', port: 7471, device: null, backlog: 1024, accept: 'auto',
  accept_timeout_ms: 20000, service: 'echo', qp: qpParams(),
  allow: ['192.0.2.0/24'], max_connections: 100, max_per_peer: 0, connects_per_s: 50, connects_burst: 0, connections: 4,
  refused: { policy: 0, not_allowed: 1, rate: 0, max_per_peer: 0, max_connections: 0, reserved: 0, quota: 0, error: 0 },
  tos: null, reuse_addr: false, v6_only: null, share: null, desired: null,
  reachable: [{ device: { id: 1, name: 'rxe0' }, addr: '192.0.2.1', port: 7471 }], requests: 5, accepted: 4, rejected: 1, waiting: 0,
  error: null, created_at: at(1), ...over,
});

export const keptObject = (over = {}) => ({
  id: 2, owner: null, labels: {}, name: 'to-b', kind: 'connection', object_id: 7, previous_id: 5, source: 'config', state: 'waiting', tries: 3,
  last_try_at: at(20), next_try_at: at(24),
  error: { code: 'unreachable', detail: 'the peer did not answer', hint: 'look whether it is there', first: null },
  reconnect: 'always', reconnect_min_ms: 500, reconnect_max_ms: 30000, outlives_restart: true, bytes_outlive_restart: null, created_at: at(1), ...over,
});

export const exported = (over = {}) => ({
  id: 1, owner: null, labels: {}, name: 'models', state: 'failed', path: '/srv/models', access: ['read', 'write'], secret: true,
  allow: ['192.0.2.0/24'], max_bytes: 1073741824, max_files: null, umask: '0022',
  error: { code: 'not_found', detail: '/srv/models: open: No such file or directory (ENOENT)', hint: 'make it', first: null }, created_at: at(1), ...over,
});

export const fault = (over = {}) => ({
  id: 4, owner: null, labels: {}, name: 'slow', effect: 'delay_completions', target: 'to-b', selector: null, call: null, errno: null,
  delay_ms: 200, after: 2, count: 5, probability_percent: 50, fired: 3, created_at: at(1), expires_at: at(61), ...over,
});

export const buffer = (over = {}) => ({
  id: 3, owner: null, labels: {}, name: 'target', state: 'ready', kind: 'anonymous', size_bytes: 1048576, access: ['remote_write'],
  page_size_bytes: 4096, relaxed_ordering: false, on_demand_paging: false, pd: { id: 1, name: null }, error: null,
  device: { id: 1, name: 'rxe0' }, addr: '0x7f0000001000', rkey: '0x1a71', created_at: at(2), user_count: 0, share: null, desired: null, ...over,
});

export const transfer = (over = {}) => ({
  id: 12, owner: null, labels: {}, state: 'done', op: 'write', batch: null, connection: { id: 7, name: 'to-b' }, ud_endpoint: null, ud_peer: null,
  multicast_membership: null, buffer: { id: 3, name: 'source' }, remote: { addr: '0x7f0000001000', rkey: '0x00001a71' }, offset_bytes: 0, length_bytes: 1048576, chunk_bytes: 262144,
  bytes_done: 1048576, tx_depth: 64, wrs_done: 4, messages_done: null, sges: null, inline: false, imm: null,
  old_value: null, received: null, timeout_ms: 30000, created_at: at(200),
  started_at: at(201), ended_at: at(203), queue_ns: 45000, wire_ns: 2000000, error: null, ...over,
});

export const device = (over = {}) => ({
  id: 1, name: 'rxe0', state: 'present', transport: 'roce', node_guid: '0x505400fffe123456',
  sys_image_guid: '0x505400fffe123456', fw_ver: '1.0', vendor_id: 16777215, vendor_part_id: 0, error: null,
  capabilities: ['rc', 'uc', 'ud', 'srq', 'multicast', 'atomics'],
  limits: {
    max_qp: 1048560, max_qp_wr: 1048576, max_sge: 32, max_sge_rd: 32, max_cq: 1048576, max_cqe: 32767, max_mr: 524287,
    max_mr_size_bytes: 9007199254740991, max_pd: 1048576, max_qp_rd_atom: 128, max_qp_init_rd_atom: 128,
    max_srq: 917503, max_srq_wr: 32767, max_mw: 524287, max_ah: 32767, max_mcast_grp: 8192,
    max_cq_moderation_count: 0, max_cq_moderation_period_us: 0,
  },
  ports: [{
    port_num: 1, state: 'active', phys_state: 'link_up', link_layer: 'ethernet', lid: 0, sm_lid: 0,
    max_mtu_bytes: 4096, active_mtu_bytes: 1024,
    gids: [
      { gid_index: 0, gid: 'fe80::5054:ff:fe12:3456', type: 'roce_v2', scope: 'link_local', netdev: 'eth0', vlan_id: null },
      { gid_index: 1, gid: '::ffff:192.0.2.1', type: 'roce_v2', scope: 'ipv4_mapped', netdev: 'eth0', vlan_id: null },
    ],
    counters: {}, hw_counters: { sent_pkts: 42 },
    cm_counters: { tx_msgs: { req: 3 }, tx_retries: { req: 1 }, rx_msgs: {}, rx_duplicates: {} },
  }],
  async_events: { port_active: 1 },
  memlock: { locked_bytes: 1048576, limit_bytes: null }, added_at: at(0), removed_at: null, ...over,
});

export const cq = (over = {}) => ({
  id: 1, owner: null, labels: {}, name: null, device: { id: 1, name: 'rxe0' }, auto: true, worker: 0, cqe: 1023, reserved_cqe: 80, outstanding_cqe: 16, high_water_cqe: 20,
  completions: 9, error_completions: 0, polls: 30, empty_polls: 21, events_armed: 10, events_taken: 9, failed: false, qp_count: 1,
  moderation: { count: 0, period_us: 0 }, user_count: 0, created_at: at(0), ...over,
});

export const pd = (over = {}) => ({
  id: 2, owner: null, labels: {}, name: 'tenant', device: { id: 1, name: 'rxe0' }, default: false, user_count: 1, created_at: at(3), ...over,
});

export const srq = (over = {}) => ({
  id: 4, owner: null, labels: {}, name: 'pool', device: { id: 1, name: 'rxe0' }, pd: { id: 2, name: 'tenant' }, cq: { id: 1, name: null }, max_wr: 512, recv_size_bytes: 4096, srq_limit: 64, posted: 500, messages: 90,
  limit_events: 3, refills: 3, qp_count: 2, user_count: 2, created_at: at(4), ...over,
});

export const window = (over = {}) => ({
  id: 5, owner: null, labels: {}, name: 'slit', state: 'ready', type: 2, buffer: { id: 3, name: 'target' }, connection: { id: 7, name: 'to-b' }, device: { id: 1, name: 'rxe0' }, buffer_offset_bytes: 4096, size_bytes: 4096,
  access: ['remote_write'], addr: '0x7f0000002000', rkey: '0x0000beef', timeout_ms: 5000, created_at: at(5), ready_at: at(6),
  ended_at: null, error: null, ...over,
});

export const probe = (over = {}) => ({
  id: 6, owner: null, labels: {}, state: 'done', connection: { id: 7, name: 'to-b' }, kind: 'rping', count: 100, interval_ms: 0, size_bytes: 64, timeout_ms: 30000,
  sent: 100, completed: 100, late: 0, lost: 0, mismatched: 0, last_ns: 9500, jitter_ns: 700,
  rtt_ns: { min: 9000, mean: 11000, p50: 10500, p90: 15000, p99: 20000, p999: 30000, max: 31000 }, created_at: at(7),
  ended_at: at(9), error: null, ...over,
});

export const copy = (over = {}) => ({
  id: 3, owner: null, labels: {}, state: 'done', role: 'client', source: { export: 'models', path: 'llama', addr: null, port: null },
  destination: { export: 'incoming', path: 'llama', addr: '192.0.2.2', port: 7474 }, connection: { id: 7, name: null }, recursive: true, overwrite: 'if_different',
  preserve: ['mode', 'mtime'], files: 12, files_done: 10, files_skipped: 1, files_failed: 1, bytes: 104857600, bytes_moved: 104857600, bytes_done: 104857600, counted: true,
  elapsed_ns: 500000000, bytes_per_s: 209715200, left_ms: null, problems: [{ path: 'pipe', fault: 'not_regular', text: 'This is no regular file and no directory.' }],
  timeout_ms: null, created_at: at(5), started_at: at(6), ended_at: at(7), fault: null, error: null, ...over,
});

export const connectionBatch = (over = {}) => ({
  id: 5, owner: null, labels: {}, state: 'done', counts: { queued: 0, connecting: 0, established: 2, failed: 0 },
  connections: [{ id: 8, name: 'w-1' }, { id: 9, name: 'w-2' }], failures: [], created_at: at(100), ended_at: at(130), error: null, ...over,
});

export const batch = (over = {}) => ({
  id: 2, owner: null, labels: {}, state: 'done', counts: { queued: 0, running: 0, cancelling: 0, done: 2, failed: 0, cancelled: 0, timed_out: 0 },
  transfers: [{ id: 12, name: null }, { id: 13, name: null }], failures: [], created_at: at(3), ended_at: at(4), error: null, ...over,
});

export const benchmark = (over = {}) => ({
  id: 4, owner: null, labels: {}, state: 'done', connection: { id: 7, name: 'to-b' }, transfer: { id: 12, name: null }, op: 'write', size_bytes: 65536, tx_depth: 16, count: null, duration_ms: 1000,
  buffer: { id: 3, name: 'source' }, remote: { addr: '0x7f0000001000', rkey: '0x00001a71' }, timeout_ms: 31000, messages: 20000, bytes: 1310720000, elapsed_ns: 1000000000, bytes_per_s: 1310720000,
  messages_per_s: 20000, latency_ns: { min: 9000, mean: 11000, p50: 10500, p90: 15000, p99: 20000, p999: 30000, max: 31000 },
  created_at: at(7), ended_at: at(9), error: null, ...over,
});

export const endpoint = (over = {}) => ({
  id: 2, owner: null, labels: {}, name: 'mail', state: 'ready', addr: '192.0.2.1', port: 7475, device: { id: 1, name: 'rxe0' }, port_num: 1,
  qp_attr: { lqpn: 33, state: 'RTS', sq_psn: 5, qkey: '0x1234567', pkey_index: 0, gid_index: 1, sgid: '::ffff:192.0.2.1', lid: 0 }, mtu_bytes: 1024,
  max_message_bytes: 1024,
  service: 'inbox', qp: { sq_depth: 15, rq_depth: 16, recv_size_bytes: 1024, max_send_sge: 4, max_recv_sge: 1,
    inline_bytes: 64, signal_every: 1, poll: 'events', spin_us: null, pd: null, cq: null },
  cq: { id: 1, name: null }, counters: { send: none, send_imm: none, recv: none, grh_bytes: 0 }, inbox: { messages: 0, capacity: 16, dropped: 0 },
  sidr: { requests: 0, answered: 0, refused: 0 }, ud_peer_count: 1, multicast_membership_count: 0, end_code: null, error: null, created_at: at(8),
  ended_at: null, ...over,
});

export const peer = (over = {}) => ({
  id: 3, owner: null, labels: {}, name: 'post', state: 'ready', waits_for: null, ud_endpoint: { id: 2, name: 'mail' }, dst_addr: '192.0.2.2', dst_port: 7475, message_seq: null, qpn: 34,
  path: { gid: '::ffff:192.0.2.2', gid_index: 1, hop_limit: 64, traffic_class: 0, flow_label: 0, lid: 0, sl: 0, port_num: 1 },
  qkey: '0x1234567', user_count: 0, timeout_ms: 5000, error: null, created_at: at(9), ...over,
});

export const group = (over = {}) => ({
  id: 4, owner: null, labels: {}, name: 'news', state: 'joined', waits_for: null, ud_endpoint: { id: 2, name: 'mail' }, addr: '239.1.2.3', mode: 'full',
  mgid: '::ffff:239.1.2.3', mlid: 0, sl: 0, qkey: '0x1234567', user_count: 0, timeout_ms: 5000, error: null, created_at: at(10),
  ...over,
});

export const message = (seq, data, over = {}) => ({
  seq, op: 'send', length_bytes: Buffer.byteLength(data), written_bytes: null, imm: null, received_at: at(300 + seq),
  encoding: 'text', data, ...over,
});

export const event = (seq, over = {}) => ({
  seq, server_id: '00000000000000a1', at: at(seq), type: 'connection_established', severity: 'info', object: { kind: 'connection', id: 7, name: null, labels: {} },
  detail: `event number ${seq}`, data: { state: 'established', previous_state: 'connecting' }, ...over,
});

// A page of the event log.
export const logPage = (items, over = {}) => ({
  server_id: '00000000000000a1', now_ns: 5_000_000, first: 1, last: items.at(-1)?.seq ?? 0, next: `00000000000000a1-${items.at(-1)?.seq ?? 0}`,
  restarted: false, compacted: false, items, ...over,
});

export const index = (over = {}) => ({
  service: 'verbsd', version: '0.1.0', role: 'control', caller: 'control', server_id: '00000000000000a1', started_at: at(0), now: at(500),
  uptime_ms: 12300, store: { status: 'none', detail: 'there is no state_dir: events and records end with this run' }, fault_injection: false, links: {}, routes: [], ...over,
});

export const problem = (over = {}) => ({
  type: '/v1/glossary/rejected', title: 'The peer rejected the connection', status: 424, code: 'rejected',
  detail: 'nobody listens for connections at 192.0.2.2:7471', instance: '/v1/connections/7', reject_reason: 'IB_CM_REJ_INVALID_SERVICE_ID',
  cm_event: 'RDMA_CM_EVENT_REJECTED', cm_status: 8, hint: 'Is something listening on that port?', ...over,
});

export const caller = (over = {}) => ({
  name: 'alice', role: 'operate', client: '192.0.2.7:40312', authenticated_by: 'certificate', certificate_name: 'CN:alice', expires_at: '2027-01-31T12:00:00.000000000Z', quotas: {
    connections: { limit: 16, used: 3 }, buffers: { limit: null, used: 2 }, pinned_bytes: { limit: null, used: 0 },
    transfers: { limit: null, used: 0 }, streams: { limit: 4, used: 1 }, requests_per_s: { limit: null, used: null } }, ...over,
});

export const drain = (state) => ({
  state, since: '2026-01-31T12:00:00.000000000Z', deadline_at: '2026-01-31T12:00:30.000000000Z', transfer_count: state === 'draining' ? 3 : 0, connection_count: 17,
});
