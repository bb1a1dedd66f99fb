/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that have only the commands of all objects: pds, kept-objects, faults, cqs, srqs,
 * ud-endpoints, ud-peers, multicast-memberships, windows.
 */
#include "cmd/verbsctl/commands/commands.h"

static const struct vbd_ctl_column pd_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_TEXT("DEVICE", "device"),
	VBD_CTL_TEXT("DEFAULT", "default"), VBD_CTL_NUMBER("USERS", "user_count")};
const struct vbd_ctl_object vbd_ctl_object_pd = {"/v1/pds", "pd", VBD_CTL_COLUMNS(pd_columns)};

static const struct vbd_ctl_column kept_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_TEXT("KIND", "kind"), VBD_CTL_STATE("STATE", "state"),
	VBD_CTL_TEXT("SOURCE", "source"), VBD_CTL_NUMBER("OBJECT", "object_id"),
	VBD_CTL_NUMBER("TRIES", "tries"), VBD_CTL_TIME("NEXT TRY", "next_try_at"),
	VBD_CTL_WIDE("ERROR", "error.detail")};
const struct vbd_ctl_object vbd_ctl_object_kept_object = {
	"/v1/kept_objects", "kept_object", VBD_CTL_COLUMNS(kept_columns), .good_state = "up"};

static const struct vbd_ctl_column fault_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_TEXT("EFFECT", "effect"),
	VBD_CTL_TEXT("CALL", "call"), VBD_CTL_TEXT("TARGET", "target"),
	VBD_CTL_TEXT("SELECTOR", "selector"), VBD_CTL_NUMBER("COUNT", "count"),
	VBD_CTL_NUMBER("FIRED", "fired"), VBD_CTL_TIME("EXPIRES", "expires_at")};
const struct vbd_ctl_object vbd_ctl_object_fault = {
	"/v1/faults", "fault", VBD_CTL_COLUMNS(fault_columns)};

static const struct vbd_ctl_column cq_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_TEXT("DEVICE", "device"),
	VBD_CTL_NUMBER("WORKER", "worker"), VBD_CTL_NUMBER("CQE", "cqe"),
	VBD_CTL_NUMBER("RESERVED", "reserved_cqe"),
	VBD_CTL_NUMBER("OUTSTANDING", "outstanding_cqe"), VBD_CTL_NUMBER("HIGH", "high_water_cqe"),
	VBD_CTL_NUMBER("COMPLETIONS", "completions"), VBD_CTL_NUMBER("ERRORS", "error_completions"),
	VBD_CTL_NUMBER("POLLS", "polls"), VBD_CTL_NUMBER("EMPTY", "empty_polls"),
	VBD_CTL_NUMBER("ARMED", "events_armed"), VBD_CTL_NUMBER("TAKEN", "events_taken"),
	VBD_CTL_NUMBER("QPS", "qp_count")};
const struct vbd_ctl_object vbd_ctl_object_cq = {"/v1/cqs", "cq", VBD_CTL_COLUMNS(cq_columns)};

static const struct vbd_ctl_column srq_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_TEXT("DEVICE", "device"), VBD_CTL_NUMBER("PD", "pd"),
	VBD_CTL_NUMBER("CQ", "cq"), VBD_CTL_NUMBER("WRS", "max_wr"),
	VBD_CTL_NUMBER("POSTED", "posted"), VBD_CTL_NUMBER("LIMIT", "srq_limit"),
	VBD_CTL_NUMBER("EVENTS", "limit_events"), VBD_CTL_NUMBER("REFILLS", "refills"),
	VBD_CTL_NUMBER("USERS", "user_count")};
const struct vbd_ctl_object vbd_ctl_object_srq = {"/v1/srqs", "srq", VBD_CTL_COLUMNS(srq_columns)};

static const struct vbd_ctl_column endpoint_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_STATE("STATE", "state"),
	VBD_CTL_TEXT("DEVICE", "device"), VBD_CTL_HEX("QPN", "qp_attr.lqpn"),
	VBD_CTL_TEXT("GID", "qp_attr.sgid"), VBD_CTL_NUMBER("MTU", "mtu_bytes"),
	VBD_CTL_TEXT("ADDR", "addr"), VBD_CTL_NUMBER("PORT", "port"),
	VBD_CTL_TEXT("SERVICE", "service")};
const struct vbd_ctl_object vbd_ctl_object_endpoint = {"/v1/ud_endpoints", "ud_endpoint",
	VBD_CTL_COLUMNS(endpoint_columns), .delete_wait_s = VBD_CTL_END_WAIT_S};

static const struct vbd_ctl_column peer_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_STATE("STATE", "state"),
	VBD_CTL_NUMBER("ENDPOINT", "ud_endpoint"), VBD_CTL_HEX("QPN", "qpn"),
	VBD_CTL_TEXT("GID", "path.gid"), VBD_CTL_NUMBER("LID", "path.lid"),
	VBD_CTL_TEXT("ASKED AT", "dst_addr"), VBD_CTL_NUMBER("PORT", "dst_port")};
const struct vbd_ctl_object vbd_ctl_object_peer = {
	"/v1/ud_peers", "ud_peer", VBD_CTL_COLUMNS(peer_columns), .good_state = "ready"};

static const struct vbd_ctl_column group_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_STATE("STATE", "state"),
	VBD_CTL_NUMBER("ENDPOINT", "ud_endpoint"), VBD_CTL_TEXT("ADDR", "addr"),
	VBD_CTL_TEXT("MODE", "mode"), VBD_CTL_TEXT("MGID", "mgid")};
const struct vbd_ctl_object vbd_ctl_object_group = {"/v1/multicast_memberships",
	"multicast_membership", VBD_CTL_COLUMNS(group_columns), .delete_wait_s = VBD_CTL_END_WAIT_S,
	.good_state = "joined"};

static const struct vbd_ctl_column window_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_STATE("STATE", "state"),
	VBD_CTL_NUMBER("TYPE", "type"), VBD_CTL_NUMBER("BUFFER", "buffer"),
	VBD_CTL_NUMBER("CONN", "connection"), VBD_CTL_NUMBER("OFFSET", "buffer_offset_bytes"),
	VBD_CTL_BYTES("SIZE", "size_bytes"), VBD_CTL_LIST("ACCESS", "access")};
const struct vbd_ctl_object vbd_ctl_object_window = {"/v1/windows", "window",
	VBD_CTL_COLUMNS(window_columns), .delete_wait_s = VBD_CTL_END_WAIT_S,
	.good_state = "ready"};

static const struct vbd_ctl_column probe_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_TEXT("KIND", "kind"),
	VBD_CTL_TEXT("CONN", "connection"), VBD_CTL_NUMBER("SENT", "sent"),
	VBD_CTL_NUMBER("COMPLETED", "completed"), VBD_CTL_NUMBER("MISMATCHED", "mismatched"),
	VBD_CTL_NS("P50", "rtt_ns.p50"), VBD_CTL_NS("P99", "rtt_ns.p99")};
const struct vbd_ctl_object vbd_ctl_object_probe = {"/v1/probes", "probe",
	VBD_CTL_COLUMNS(probe_columns), .delete_wait_s = VBD_CTL_END_WAIT_S, .good_state = "done"};

static const struct vbd_ctl_column benchmark_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_TEXT("OP", "op"),
	VBD_CTL_TEXT("CONN", "connection"), VBD_CTL_BYTES("SIZE", "size_bytes"),
	VBD_CTL_NUMBER("TXDEPTH", "tx_depth"), VBD_CTL_NUMBER("MESSAGES", "messages"),
	VBD_CTL_BYTES("BYTES/S", "bytes_per_s"), VBD_CTL_NS("P50", "latency_ns.p50"),
	VBD_CTL_NS("P99", "latency_ns.p99")};
const struct vbd_ctl_object vbd_ctl_object_benchmark = {"/v1/benchmarks", "benchmark",
	VBD_CTL_COLUMNS(benchmark_columns), .delete_wait_s = VBD_CTL_END_WAIT_S,
	.good_state = "done"};
