/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/report.h"

#include "base/attr.h"
#include "base/clock.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/memory/buffers.h"
#include "daemon/memory/windows.h"
#include "daemon/observe/explain.h"
#include "rdma/device/pd.h"

#include <assert.h>
#include <netinet/in.h>

/* At most so many buffers and windows are looked at in one turn of the control thread. */
#define LOOKED_AT_MAX 256

/* A host that reports on many connections at once, as at its end, stays below this. */
#define REPORTS_PER_S 64
#define REPORTS_BURST 512

/* --- the report of this side ----------------------------------------------------------------- */

static uint64_t uptime_ms(const struct vbd_daemon *daemon)
{
	return (vbd_clock_mono_ns() - daemon->started_ns) / VBD_NS_PER_MS;
}

/* Set the report of this side. The first error's transfer may be deleted: the kept facts have
 * it. */
static void fill_report(const struct vbd_connection *connection, struct vbd_report *ret_report)
{
	const struct vbd_conn *conn = connection->conn;
	struct vbd_incident incident = {.op = -1};

	*ret_report = (struct vbd_report){
		.known = true,
		.ended = conn->qp.reason != VBD_REASON_NONE,
		.failed = conn->qp.reason != VBD_REASON_NONE && !vbd_reason_clean(conn->qp.reason),
		.refused = conn->refusal != VBD_REFUSAL_NONE,
		.lqpn = conn->qp.info.lqpn,
		.rqpn = conn->qp.info.rqpn,
		.reason = conn->qp.reason,
		.inbox_full = conn->params.qp.service == VBD_SERVICE_INBOX &&
			      !conn->params.qp.srq_id &&
			      connection->inbox.count >= conn->params.qp.rq_depth,
		.recv_size_bytes = conn->params.qp.recv_size_bytes,
		.path_mtu_bytes = conn->qp.info.path_known ? conn->qp.info.path_mtu_bytes : 0,
		.uptime_ms = uptime_ms(connection->object.registry->daemon),
	};
	if (connection->kept)
		incident = connection->kept->incident;
	vbd_explain_request(connection, &incident);
	ret_report->op = incident.op;
	if (!incident.transfer)
		return;
	ret_report->length_bytes = incident.length_bytes;
	ret_report->remote_addr = incident.remote_addr;
	ret_report->rkey = incident.rkey;
}

static bool reply_settles(const uint8_t *bytes, size_t count)
{
	struct vbd_report report;

	return vbd_report_read(bytes, count, &report) && report.known;
}

/* A message of the CM would stop some devices from receiving: see rdma/device/port_counters.h. */
static bool device_may_send(const struct vbd_conn *conn)
{
	struct vbd_device *device = vbd_fabric_device(conn->fabric, conn->device.name);

	return device && device->state == VBD_DEVICE_PRESENT && !vbd_cm_must_not_send(device);
}

static bool may_report(const struct vbd_connection *connection)
{
	const struct vbd_qp_info *info = &connection->conn->qp.info;

	return connection->object.registry->daemon->config->peer_reports && !info->iwarp &&
	       info->lqpn && info->rqpn;
}

void vbd_report_question(
	const struct vbd_connection *connection, bool stopping, struct vbd_pv_question *question)
{
	struct vbd_report report;

	static_assert(VBD_REPORT_BYTES <= VBD_PV_QUESTION_BYTES, "a report fits into a question");
	static_assert(VBD_REPORT_BYTES <= VBD_PV_REPLY_BYTES, "and into a reply");
	if (!device_may_send(connection->conn))
		return;
	question->settles = reply_settles;
	if (!may_report(connection))
		return;
	fill_report(connection, &report);
	if (stopping) {
		report.ended = true;
		report.reason = VBD_REASON_STOPPING;
	}
	vbd_report_write(&report, question->bytes);
	question->count = VBD_REPORT_BYTES;
}

bool vbd_report_choose(const struct vbd_pv_answer *answer, struct vbd_report *ret_report)
{
	struct vbd_report report;
	bool any = false;

	for (unsigned int i = 0; i < answer->reply_count; i++) {
		const struct vbd_pv_reply *reply = &answer->replies[i];

		if (!vbd_report_read(reply->bytes, reply->count, &report))
			continue;
		if (!any || report.known || report.uptime_ms < ret_report->uptime_ms)
			*ret_report = report;
		any = true;
		if (report.known)
			break;
	}
	return any;
}

/* --- the request of the other side ----------------------------------------------------------- */

/* Memory with a key. */
struct region {
	uint64_t begin, end;
	unsigned int access; /* bits of enum vbd_mem_access */
	const struct vbd_pd *pd;
};

/* Says whether the object is open to peers with @rkey on that device, and then fills in
 * @ret_region. */
typedef bool region_fn(const struct vbd_object *object, const char *device_name, uint32_t rkey,
	struct region *ret_region);

static bool get_buffer_region(const struct vbd_object *object, const char *device_name,
	uint32_t rkey, struct region *ret_region)
{
	const struct vbd_buffer *buffer = VBD_CONTAINER_OF(object, struct vbd_buffer, object);
	const struct vbd_mem *mem = &buffer->mem;

	if (buffer->state != VBD_BUFFER_READY || mem->rkey != rkey ||
		strcmp(buffer->device.name, device_name) != 0)
		return false;
	*ret_region = (struct region){mem->addr, mem->addr + mem->size_bytes, mem->access, mem->pd};
	return true;
}

static bool get_window_region(const struct vbd_object *object, const char *device_name,
	uint32_t rkey, struct region *ret_region)
{
	const struct vbd_window_record *record =
		VBD_CONTAINER_OF(object, struct vbd_window_record, object);
	const struct vbd_window *window = &record->window;

	if (window->state != VBD_WINDOW_READY || window->rkey != rkey ||
		strcmp(record->device.name, device_name) != 0)
		return false;
	*ret_region = (struct region){record->addr, record->addr + window->range.length_bytes,
		window->range.access, window->mem->pd};
	return true;
}

/* Looks at @left objects at most, and subtracts those that it has looked at. */
static bool find_region(struct vbd_registry *registry, region_fn *region_of,
	const struct vbd_connection *connection, uint32_t rkey, unsigned int *left,
	struct region *ret_region)
{
	vbd_registry_for_each (object, registry) {
		if (!*left)
			return false;
		--*left;
		if (vbd_owner_informs(connection->object.owner, vbd_whose(object)) &&
			region_of(object, connection->conn->device.name, rkey, ret_region))
			return true;
	}
	return false;
}

static unsigned int access_wanted(int op)
{
	if (op == VBD_OP_WRITE || op == VBD_OP_WRITE_IMM)
		return VBD_ACCESS_REMOTE_WRITE;
	return vbd_ops[op].is_atomic ? VBD_ACCESS_REMOTE_ATOMIC : VBD_ACCESS_REMOTE_READ;
}

/* An ended connection's queue pair is in no PD any more: its request tells in which it was, unless
 * it had an SRQ. */
static bool is_in_pd(const struct vbd_conn *conn, const struct vbd_pd *pd)
{
	const struct vbd_qp_params *params = &conn->params.qp;

	if (conn->qp.pd)
		return conn->qp.pd == pd;
	if (params->pd_id)
		return params->pd_id == pd->id;
	return params->srq_id || pd->is_default;
}

static enum vbd_report_memory judge_region(const struct vbd_conn *conn, const struct region *region,
	const struct vbd_report *theirs, uint64_t *ret_over_bytes)
{
	uint64_t begin = theirs->remote_addr;
	uint64_t room_bytes = region->end - begin;

	if (!is_in_pd(conn, region->pd))
		return VBD_REPORT_MEMORY_OTHER_PD;
	if (!(region->access & access_wanted(theirs->op)))
		return VBD_REPORT_MEMORY_NO_ACCESS;
	if (begin < region->begin || begin > region->end || theirs->length_bytes > room_bytes) {
		*ret_over_bytes = begin >= region->begin && begin <= region->end
					  ? theirs->length_bytes - room_bytes
					  : 0;
		return VBD_REPORT_MEMORY_PAST_END;
	}
	return VBD_REPORT_MEMORY_GRANTED;
}

static void judge_request(const struct vbd_connection *connection, struct vbd_peer_report *report)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_report *theirs = &report->theirs;
	unsigned int left = LOOKED_AT_MAX;
	struct region region;

	if (find_region(
		    daemon->windows, get_window_region, connection, theirs->rkey, &left, &region) ||
		find_region(daemon->buffers, get_buffer_region, connection, theirs->rkey, &left,
			&region))
		report->memory =
			judge_region(connection->conn, &region, theirs, &report->over_bytes);
	else if (left)
		report->memory = VBD_REPORT_MEMORY_NO_SUCH_KEY;
}

/* A peer can claim a request that was never made: only a refusal by the device here shows that one
 * was. */
static bool should_judge(
	const struct vbd_connection *connection, const struct vbd_peer_report *report)
{
	const struct vbd_report *theirs = &report->theirs;

	return report->memory == VBD_REPORT_MEMORY_UNJUDGED && theirs->op >= 0 &&
	       vbd_ops[theirs->op].needs_remote && theirs->reason == VBD_REASON_REMOTE_ACCESS &&
	       connection->conn->refusal != VBD_REFUSAL_NONE;
}

static void keep_report(struct vbd_peer_report *report, const struct vbd_report *theirs)
{
	const struct vbd_report before = report->theirs;

	report->theirs = *theirs;
	/* Only one request can have ended the connection: ignore another one in a later report. */
	if (!before.ended || before.op < 0)
		return;
	report->theirs.op = before.op;
	report->theirs.length_bytes = before.length_bytes;
	report->theirs.remote_addr = before.remote_addr;
	report->theirs.rkey = before.rkey;
}

void vbd_report_take(struct vbd_connection *connection, const struct vbd_report *theirs)
{
	if (!connection->peer_report)
		connection->peer_report = calloc(1, sizeof(*connection->peer_report));
	if (connection->peer_report)
		keep_report(connection->peer_report, theirs);
	vbd_object_counted(&connection->object);
	if (connection->peer_report && should_judge(connection, connection->peer_report))
		judge_request(connection, connection->peer_report);
}

/* Two hosts may share a bucket: then one gets fewer answers while the other asks too often. */
static bool asks_too_often(struct vbd_daemon *daemon, const struct sockaddr *peer)
{
	bool v6 = peer->sa_family == AF_INET6;
	const uint8_t *addr = v6 ? ((const struct sockaddr_in6 *)peer)->sin6_addr.s6_addr
				 : (const uint8_t *)&((const struct sockaddr_in *)peer)->sin_addr;
	uint64_t full_ns, *bucket;
	uint32_t hash = 0;

	for (size_t i = 0; i < (v6 ? 16u : 4u); i++)
		hash = hash * 31 + addr[i];
	bucket = &daemon->reports_full_ns[hash % VBD_ARRAY_LEN(daemon->reports_full_ns)];
	full_ns = vbd_bucket_take(*bucket, REPORTS_PER_S, REPORTS_BURST, vbd_clock_mono_ns());
	if (full_ns)
		*bucket = full_ns;
	return !full_ns;
}

/* The connection of these queue pairs, if @peer is the address of its peer; NULL otherwise. */
static struct vbd_connection *find_connection(struct vbd_daemon *daemon,
	const struct sockaddr *peer, const char *device_name, uint32_t lqpn, uint32_t rqpn)
{
	struct vbd_connection *connection =
		device_name ? vbd_peer_reports_find(daemon, device_name, lqpn, rqpn) : NULL;
	struct sockaddr_storage local, known;

	if (!connection || !vbd_explain_ends(connection, &local, &known) ||
		!vbd_sockaddr_is_same((const struct sockaddr *)&known, peer))
		return NULL;
	return connection;
}

bool vbd_report_answer(struct vbd_daemon *daemon, const struct sockaddr *peer,
	const char *device_name, const struct vbd_report *theirs, struct vbd_report *ret_ours)
{
	struct vbd_connection *connection;

	if (asks_too_often(daemon, peer)) {
		daemon->reports_refused++;
		return false;
	}
	connection = find_connection(daemon, peer, device_name, theirs->rqpn, theirs->lqpn);
	*ret_ours = (struct vbd_report){.op = -1, .uptime_ms = uptime_ms(daemon)};
	/* On a connection to its own address this daemon asks all verbsd of the host, itself among
	 * them. */
	if (!connection)
		return !find_connection(daemon, peer, device_name, theirs->lqpn, theirs->rqpn);
	/* The device has moved the queue pair to ERR if it refused the request. */
	if (theirs->reason == VBD_REASON_REMOTE_ACCESS) {
		vbd_conn_check_qp(connection->conn);
		daemon->reports_refused += connection->conn->refusal == VBD_REFUSAL_NONE;
	}
	fill_report(connection, ret_ours);
	vbd_report_take(connection, theirs);
	return true;
}

/* --- farewells -------------------------------------------------------------------------------- */

/* Records that are looked at, all in one turn: most of them may have ended. */
#define VISITS_MAX 1000

struct farewell {
	struct vbd_call call;
	struct vbd_daemon *daemon;
	unsigned int within_ms;
	bool hangs;
	unsigned int count;
	struct vbd_pv_question questions[VBD_FAREWELLS_MAX];
};

static struct farewell *farewell_of(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct farewell, call);
}

/* Call thread. */
static void send_farewells(struct vbd_call *call)
{
	struct farewell *farewell = farewell_of(call);

	farewell->hangs = !vbd_pv_tell(farewell->questions, farewell->count, farewell->within_ms);
}

static void on_farewells_sent(struct vbd_call *call)
{
	struct farewell *farewell = farewell_of(call);

	farewell->daemon->farewell_hangs = farewell->hangs;
	free(farewell);
}

static void add_report(struct farewell *farewell, const struct vbd_connection *connection)
{
	struct vbd_pv_question *question = &farewell->questions[farewell->count];

	if (connection->conn->state != VBD_CONN_ESTABLISHED ||
		!vbd_explain_ends(connection, &question->src, &question->dst))
		return;
	vbd_report_question(connection, true, question);
	farewell->count += question->count > 0;
}

static void add_reports(struct farewell *farewell, const struct vbd_daemon *daemon)
{
	const struct vbd_object *object = vbd_registry_before(daemon->connections, UINT64_MAX);

	for (int i = 0; i < VISITS_MAX && object && farewell->count < VBD_FAREWELLS_MAX; i++) {
		add_report(farewell, VBD_CONTAINER_OF(object, const struct vbd_connection, object));
		object = vbd_registry_before(daemon->connections, object->id);
	}
}

void vbd_farewell_begin(struct vbd_daemon *daemon)
{
	uint64_t part_ms = daemon->config->shutdown_timeout_ms / 8;
	struct farewell *farewell;

	if (!daemon->config->peer_reports || !daemon->connections->open || !part_ms)
		return;
	farewell = calloc(1, sizeof(*farewell));
	if (!farewell)
		return;
	add_reports(farewell, daemon);
	if (!farewell->count) {
		free(farewell);
		return;
	}
	farewell->daemon = daemon;
	farewell->within_ms = part_ms < VBD_FAREWELL_MS ? (unsigned int)part_ms : VBD_FAREWELL_MS;
	farewell->call.work = send_farewells;
	farewell->call.done = on_farewells_sent;
	vbd_call_start(daemon->fabric->calls, &farewell->call, VBD_LANE_PEER);
}
