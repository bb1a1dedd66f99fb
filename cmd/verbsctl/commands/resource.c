/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of objects: where they are, and what lists and sentences show of them. */
#include "cmd/verbsctl/commands/commands.h"

const struct vbd_ctl_object vbd_ctl_object_connection = {"/v1/connections", "connection",
	.columns = "ID=id NAME=name STATE=state SIDE=side PEER=peer SERVICE=service "
		   "LQPN=qp_attr.lqpn RQPN=qp_attr.rqpn SENT=counters:sent RECV=counters:received "
		   "END-CODE=end_code EARLIER-RUN=server_id",
	.brief = "{state} with {peer}, QP {qp_attr.lqpn} -> {qp_attr.rqpn}, service {service}",
	.good_state = "established", .delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_listener = {"/v1/listeners", "listener",
	.columns = "ID=id NAME=name STATE=state ADDRESS=addr,port:endpoint DEVICE=device "
		   "ACCEPT=accept SERVICE=service REQUESTS=requests ACCEPTED=accepted "
		   "REJECTED=rejected WAITING=waiting",
	.brief = "{state} at {addr,port:endpoint}, accept {accept}, service {service}",
	.good_state = "listening"};

const struct vbd_ctl_object vbd_ctl_object_buffer = {"/v1/buffers", "buffer",
	.columns = "ID=id NAME=name STATE=state SIZE=size_bytes KIND=kind ACCESS=access "
		   "DEVICE=device USERS=user_count",
	.good_state = "ready"};

const struct vbd_ctl_object vbd_ctl_object_transfer = {"/v1/transfers", "transfer",
	.columns = "ID=id STATE=state OP=op CONN=connection BUFFER=buffer LENGTH=length_bytes "
		   "DONE=bytes_done WRS=wrs_done QUEUED=queue_ns WIRE=wire_ns "
		   "RATE=bytes_done,wire_ns:rate ERROR=error.code",
	.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_batch = {"/v1/transfer_batches", "transfer_batch",
	.columns = "ID=id STATE=state QUEUED=counts.queued RUNNING=counts.running DONE=counts.done "
		   "FAILED=counts.failed CANCELLED=counts.cancelled TIMEDOUT=counts.timed_out "
		   "ERROR=error.code",
	.brief = "{state}: {counts.done} done, {counts.failed} failed, {counts.cancelled} "
		 "cancelled, {counts.timed_out} timed out, {counts.running} running",
	.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_connection_batch = {"/v1/connection_batches",
	"connection_batch",
	.columns = "ID=id STATE=state QUEUED=counts.queued CONNECTING=counts.connecting "
		   "ESTABLISHED=counts.established FAILED=counts.failed ERROR=error.detail",
	.brief = "{state}: {counts.established} established, {counts.failed} failed, "
		 "{counts.connecting} connecting, {counts.queued} queued",
	.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_device = {"/v1/devices", "device",
	.columns = "NAME=name STATE=state TRANSPORT=transport PORTS=ports:ports GUID=node_guid "
		   "FIRMWARE=fw_ver ERROR=error.detail"};

const struct vbd_ctl_object vbd_ctl_object_pd = {"/v1/pds", "pd",
	.columns = "ID=id NAME=name DEVICE=device DEFAULT=default USERS=user_count"};

const struct vbd_ctl_object vbd_ctl_object_kept_object = {"/v1/kept_objects", "kept_object",
	.columns = "ID=id NAME=name KIND=kind STATE=state SOURCE=source OBJECT=object_id "
		   "TRIES=tries NEXT-TRY=next_try_at ERROR=error.detail",
	.good_state = "up"};

const struct vbd_ctl_object vbd_ctl_object_fault = {"/v1/faults", "fault",
	.columns = "ID=id NAME=name EFFECT=effect CALL=call TARGET=target SELECTOR=selector "
		   "COUNT=count FIRED=fired EXPIRES=expires_at"};

const struct vbd_ctl_object vbd_ctl_object_cq = {"/v1/cqs", "cq",
	.columns = "ID=id NAME=name DEVICE=device WORKER=worker CQE=cqe RESERVED=reserved_cqe "
		   "OUTSTANDING=outstanding_cqe HIGH=high_water_cqe COMPLETIONS=completions "
		   "ERRORS=error_completions POLLS=polls EMPTY=empty_polls ARMED=events_armed "
		   "TAKEN=events_taken QPS=qp_count"};

const struct vbd_ctl_object vbd_ctl_object_srq = {"/v1/srqs", "srq",
	.columns = "ID=id NAME=name DEVICE=device PD=pd CQ=cq WRS=max_wr POSTED=posted "
		   "LIMIT=srq_limit EVENTS=limit_events REFILLS=refills USERS=user_count"};

const struct vbd_ctl_object vbd_ctl_object_endpoint = {"/v1/ud_endpoints", "ud_endpoint",
	.columns = "ID=id NAME=name STATE=state DEVICE=device QPN=qp_attr.lqpn GID=qp_attr.sgid "
		   "MTU=mtu_bytes ADDR=addr PORT=port SERVICE=service",
	.delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_peer = {"/v1/ud_peers", "ud_peer",
	.columns = "ID=id NAME=name STATE=state ENDPOINT=ud_endpoint QPN=qpn GID=path.gid "
		   "LID=path.lid ASKED-AT=dst_addr PORT=dst_port",
	.good_state = "ready"};

const struct vbd_ctl_object vbd_ctl_object_group = {"/v1/multicast_memberships",
	"multicast_membership",
	.columns = "ID=id NAME=name STATE=state ENDPOINT=ud_endpoint ADDR=addr MODE=mode MGID=mgid",
	.good_state = "joined", .delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_window = {"/v1/windows", "window",
	.columns = "ID=id NAME=name STATE=state TYPE=type BUFFER=buffer CONN=connection "
		   "OFFSET=buffer_offset_bytes:text SIZE=size_bytes ACCESS=access",
	.good_state = "ready", .delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_probe = {"/v1/probes", "probe",
	.columns = "ID=id STATE=state KIND=kind CONN=connection SENT=sent COMPLETED=completed "
		   "MISMATCHED=mismatched P50=rtt_ns.p50:ns P99=rtt_ns.p99:ns",
	.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S};

const struct vbd_ctl_object vbd_ctl_object_benchmark = {"/v1/benchmarks", "benchmark",
	.columns = "ID=id STATE=state OP=op CONN=connection SIZE=size_bytes TXDEPTH=tx_depth "
		   "MESSAGES=messages BYTES/S=bytes_per_s P50=latency_ns.p50:ns "
		   "P99=latency_ns.p99:ns",
	.good_state = "done", .delete_wait_s = VBD_CTL_END_WAIT_S};
