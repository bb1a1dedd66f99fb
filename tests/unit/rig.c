/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/slabs.h"
#include "tests/unit/rig.h"

#include "base/log.h"
#include "rdma/data/worker.h"
#include "rdma/device/cq.h"

#include <arpa/inet.h>
#include <poll.h>

/* More turns than any test needs; a rig that still moves after them runs in a circle. */
#define TURNS_MAX 20000

static void __attribute__((format(printf, 2, 3))) tell(struct rig *rig, const char *fmt, ...)
{
	size_t used = rig->story ? strlen(rig->story) : 0;
	va_list ap;

	if (!rig->story)
		return;
	va_start(ap, fmt);
	used += (size_t)vsnprintf(rig->story + used, RIG_STORY_BYTES - used, fmt, ap);
	va_end(ap);
	assert_in_range(used, 0, RIG_STORY_BYTES - 2);
	memcpy(rig->story + used, "\n", 2);
}

static void on_log(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	struct rig *rig = arg;

	if (level != VBD_LOG_DEBUG)
		rig->warnings++;
	tell(rig, "%s: %s", object, text);
}

void rig_tell_story(struct rig *rig)
{
	rig->story = calloc(1, RIG_STORY_BYTES);
	assert_non_null(rig->story);
	vbd_log_setup(VBD_LOG_DEBUG, VBD_LOG_TEXT);
}

/* As it would be written in a test. */
static void print_story(char *story)
{
	for (char *line = strtok(story, "\n"); line; line = strtok(NULL, "\n"))
		print_message("\t\t\"%s\\n\"\n", line);
}

void rig_assert_story(struct rig *rig)
{
	unit_golden(rig->story);
	rig->story[0] = '\0';
}

void rig_assert_told(struct rig *rig, const char *line)
{
	size_t length = strlen(line);
	const char *at = rig->story;

	while ((at = strstr(at, line))) {
		if ((at == rig->story || at[-1] == '\n') && at[length] == '\n')
			return;
		at += length;
	}
	print_story(rig->story);
	fail_msg("nothing told: %s", line);
}

/* Devices. */

static void on_added(struct vbd_device *device, void *arg)
{
	(void)device;
	((struct rig *)arg)->added++;
}

static void on_removing(struct vbd_device *device, void *arg)
{
	struct rig *rig = arg;

	rig->removing++;
	for (unsigned int i = 0; i < rig->conn_count; i++) {
		struct vbd_conn *conn = rig->conns[i].conn;

		if (conn && strcmp(conn->device.name, device->name) == 0)
			vbd_conn_device_removed(conn);
	}
}

static void on_removed(struct vbd_device *device, void *arg)
{
	assert_null(device->context);
	((struct rig *)arg)->removed++;
}

static void on_async(struct vbd_device *device, int type, int port_num, void *arg)
{
	struct rig *rig = arg;

	(void)device;
	rig->async_events++;
	rig->last_async_type = type;
	rig->last_async_port = port_num;
}

static void on_cm_opened(void *arg)
{
	((struct rig *)arg)->cm_opened++;
}

static const struct vbd_fabric_ops fabric_ops = {
	.device_added = on_added,
	.device_removing = on_removing,
	.device_removed = on_removed,
	.async_event = on_async,
	.cm_opened = on_cm_opened,
};

bool rig_start(struct rig *rig, unsigned int workers)
{
	if (vbd_fabric_create(workers, RIG_CQ_DEPTH, 1000, &fabric_ops, rig, &rig->fabric,
		    &rig->err) != VBD_OK) {
		rig->fabric = NULL;
		return false;
	}
	unit_rescan(rig->fabric);
	return true;
}

void rig_make_iwarp(struct rig *rig)
{
	rig->device->ibv.transport_type = IBV_TRANSPORT_IWARP;
	vbd_fabric_device(rig->fabric, "fake0")->transport = "iwarp";
}

static bool readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&poll_fd, 1, 0) == 1;
}

bool rig_turn_workers(struct rig *rig)
{
	struct vbd_fabric *fabric = rig->fabric;
	bool any = false;

	assert_false(rig->threads);

	for (unsigned int i = 0; i < fabric->worker_count; i++) {
		struct vbd_worker *worker = fabric->workers[i];

		if (!readable(worker->epoll_fd) && vbd_list_empty(&worker->active_cqs))
			continue;
		vbd_worker_turn(worker, false);
		/* A worker that only polled on for nothing stands still, unless it has not looked
		 * at the events of other CQs yet. */
		any |= !worker->spun_at_ns || readable(worker->epoll_fd);
	}
	return any;
}

static bool drain_async(struct rig *rig)
{
	bool any = false;

	vbd_list_for_each (link, &rig->fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (!readable(vbd_device_async_fd(device)))
			continue;
		vbd_device_drain_async(device);
		any = true;
	}
	return any;
}

static void free_removed(struct rig *rig)
{
	vbd_list_for_each (link, &rig->fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->state == VBD_DEVICE_REMOVED)
			vbd_device_destroy(device);
	}
}

/* Wait until a call has returned, or until those that are under way are blocked by the fake. A call
 * thread is idle a moment before the control thread is woken: its load tells too little. */
static void wait_for_calls(struct rig *rig)
{
	struct pollfd control = {.fd = vbd_fabric_control_fd(rig->fabric), .events = POLLIN};

	while (rig->fabric->calls->under_way > fake_blocked() + rig->queued_calls &&
		poll(&control, 1, 1) == 0)
		;
}

void rig_settle(struct rig *rig)
{
	unsigned int turns = 0;
	bool any;

	do {
		any = false;
		if (readable(vbd_fabric_cm_fd(rig->fabric))) {
			vbd_fabric_dispatch_cm(rig->fabric);
			any = true;
		}
		any |= rig_turn_workers(rig);
		wait_for_calls(rig);
		if (readable(vbd_fabric_control_fd(rig->fabric))) {
			vbd_fabric_dispatch_control(rig->fabric);
			any = true;
		}
		any |= drain_async(rig);
	} while (any && turns++ < TURNS_MAX);
	assert_in_range(turns, 0, TURNS_MAX);
	if (rig->free_removed)
		free_removed(rig);
}

void rig_ask_ports(struct rig *rig)
{
	vbd_fabric_forget_recent(rig->fabric);
	rig_settle(rig);
}

/* Connections. */

static void on_state(struct vbd_conn *conn, enum vbd_conn_state old, void *arg)
{
	struct rig_conn *rc = arg;

	assert_int_not_equal(conn->state, old);
	assert_in_range(rc->state_count, 0, RIG_STATES - 1);
	rc->states[rc->state_count++] = conn->state;
	if (vbd_conn_state_terminal(conn->state)) {
		assert_null(conn->cm_id);
		assert_null(conn->qp.ibv_qp);
		assert_null(conn->qp.channel);
		assert_null(conn->qp.device);
		assert_int_equal(rc->deadline_ms, 0);
	}
}

static void on_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms, void *arg)
{
	struct rig_conn *rc = arg;

	(void)conn;
	rc->deadline_ms = timeout_ms;
	tell(rc->rig, "deadline %llu ms", (unsigned long long)timeout_ms);
}

static enum vbd_status on_look_up(struct vbd_conn *conn, void *arg, struct vbd_error *err)
{
	struct rig_conn *rc = arg;

	(void)conn;
	rc->looked_up++;
	return rc->look_up_fails ? vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to look up")
				 : VBD_OK;
}

static void on_message(void *reader, struct vbd_recv_slot *slot)
{
	struct rig_conn *rc = reader;

	assert_in_range(rc->message_count, 0, RIG_MESSAGES - 1);
	rc->messages[rc->message_count++] = slot;
	rc->messages_ever++;
}

static void on_memory_goes(void *reader)
{
	struct rig_conn *rc = reader;

	assert_non_null(rc->conn->qp.channel);
	assert_false(rc->memory_went);
	/* A try that has failed frees its receives before the next try gets its own. */
	rc->memory_went = rc->conn->state != VBD_CONN_RETRYING;
	rc->message_count = 0;
}

static void on_noted(struct vbd_conn *conn, const struct vbd_timeline_entry *entry, void *arg)
{
	struct rig_conn *rc = arg;

	assert_ptr_equal(entry, conn->timeline.entries[conn->timeline.count - 1]);
	if (entry->from && entry->kind != VBD_TIMELINE_QP)
		tell(rc->rig, "%s %s -> %s (%s)", vbd_timeline_kind_name(entry->kind), entry->from,
			entry->to, entry->detail);
	else
		tell(rc->rig, "%s %s (%s)", vbd_timeline_kind_name(entry->kind), entry->what,
			entry->detail);
}

static void on_stepped(struct vbd_conn *conn, void *arg)
{
	struct rig_conn *rc = arg;

	assert_false(vbd_conn_stepping(conn));
	rc->stepped++;
}

static const struct vbd_conn_ops conn_ops = {
	.state_changed = on_state,
	.set_deadline = on_set_deadline,
	.look_up = on_look_up,
	.noted = on_noted,
	.stepped = on_stepped,
};

struct vbd_conn_params rig_params(void)
{
	struct vbd_conn_params params = vbd_conn_params_default();

	params.qp.sq_depth = 4;
	params.qp.signal_every = 1;
	params.qp.rq_depth = 4;
	params.qp.recv_size_bytes = 64;
	return params;
}

static void read_messages(struct rig_conn *rc)
{
	static const struct vbd_qp_reader_ops ops = {
		.on_message = on_message,
		.before_memory_freed = on_memory_goes,
	};

	rc->conn->qp.reader_ops = &ops;
	rc->conn->qp.reader = rc;
}

static struct rig_conn *new_conn(struct rig *rig)
{
	struct rig_conn *rc = &rig->conns[rig->conn_count];

	assert_in_range(rig->conn_count, 0, RIG_CONNS - 1);
	rig->conn_count++;
	memset(rc, 0, sizeof(*rc));
	rc->rig = rig;
	return rc;
}

struct rig_conn *rig_conn_create_unresolved(struct rig *rig, const struct vbd_conn_params *params)
{
	const struct vbd_conn_params own = params ? *params : rig_params();
	struct rig_conn *rc = new_conn(rig);

	if (vbd_conn_create(rig->fabric, rig->conn_count, &own, &rig->cm, 5000, &conn_ops, rc,
		    &rc->conn, &rig->err) != VBD_OK) {
		rc->conn = NULL;
		return NULL;
	}
	read_messages(rc);
	return rc;
}

struct rig_conn *rig_conn_create(struct rig *rig, const struct vbd_conn_params *params)
{
	const struct sockaddr_in dst = {
		.sin_family = AF_INET,
		.sin_port = htons(7471),
		.sin_addr.s_addr = htonl(0x0a0000fe),
	};
	struct rig_conn *rc = rig_conn_create_unresolved(rig, params);

	if (rc)
		vbd_conn_resolve(rc->conn, (const struct sockaddr *)&dst);
	return rc;
}

struct rig_conn *rig_manual(
	struct rig *rig, const struct vbd_conn_params *params, const struct vbd_manual_params *how)
{
	const struct vbd_conn_params own = params ? *params : rig_params();
	const struct vbd_manual_params first_port = {.port_num = 1};
	const struct vbd_device *device = vbd_fabric_device(rig->fabric, rig->device->ibv.name);
	struct rig_conn *rc = new_conn(rig);
	struct vbd_manual_local local;

	how = how ? how : &first_port;
	if (vbd_manual_choose(device, how, &local, &rig->err) != VBD_OK ||
		vbd_conn_create_manual(rig->fabric, rig->conn_count, &own, device, &local, 0,
			&conn_ops, rc, &rc->conn, &rig->err) != VBD_OK) {
		rc->conn = NULL;
		return NULL;
	}
	read_messages(rc);
	vbd_conn_open_manual(rc->conn, how->stay_in_reset);
	rig_settle(rig);
	rc->stepped = 0;
	return rc;
}

bool rig_conn_answer(struct rig_conn *rc)
{
	switch (rc->conn->state) {
	case VBD_CONN_RESOLVING_ADDR:
		fake_addr_resolved(rc->conn->cm_id, rc->rig->device);
		return true;
	case VBD_CONN_RESOLVING_ROUTE:
		fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		return true;
	case VBD_CONN_CONNECTING:
		fake_connect_response(rc->conn->cm_id);
		return true;
	case VBD_CONN_ACCEPTING:
		fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ESTABLISHED, 0);
		return true;
	case VBD_CONN_QUEUED:
	case VBD_CONN_RETRYING:
	case VBD_CONN_REQUESTED:
	case VBD_CONN_AWAITING_REMOTE:
	case VBD_CONN_ESTABLISHED:
	case VBD_CONN_DRAINING:
	case VBD_CONN_CLOSED:
	case VBD_CONN_FAILED:
	case VBD_CONN_STATE_COUNT:
		break;
	}
	return false;
}

struct rig_conn *rig_conn_connect(struct rig *rig, const struct vbd_conn_params *params)
{
	struct rig_conn *rc = rig_conn_create(rig, params);

	if (!rc)
		return NULL;
	for (int i = 0; i < 4; i++) {
		if (rc->conn->state != VBD_CONN_ESTABLISHED && !rig_conn_answer(rc))
			break;
		rig_settle(rig);
	}
	return rc;
}

static struct rig_conn *passive_in(struct rig *rig, enum vbd_conn_state state)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *rc;

	rig_listen(listener);
	rc = rig_request(listener);
	assert_non_null(rc);
	if (state == VBD_CONN_ACCEPTING)
		assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	rig_settle(rig);
	vbd_cm_listener_close(&listener->cm);
	rig->listener_count--;
	return rc;
}

struct rig_conn *rig_conn_in(struct rig *rig, enum vbd_conn_state state)
{
	struct rig_conn *rc;

	if (state == VBD_CONN_REQUESTED || state == VBD_CONN_ACCEPTING) {
		rc = passive_in(rig, state);
	} else {
		rc = rig_conn_create(rig, NULL);
		assert_non_null(rc);
		while (rc->conn->state != state && rc->conn->state != VBD_CONN_ESTABLISHED) {
			assert_true(rig_conn_answer(rc));
			rig_settle(rig);
		}
		if (state == VBD_CONN_DRAINING) {
			fake_flushes_withheld(true);
			vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
			fake_flushes_withheld(false);
		} else if (state == VBD_CONN_CLOSED) {
			vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
		} else if (state == VBD_CONN_FAILED) {
			fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_UNREACHABLE, -110);
		}
		rig_settle(rig);
	}
	assert_int_equal(rc->conn->state, state);
	return rc;
}

/* Listeners. */

static bool on_request(struct vbd_cm_listener *cm, const struct vbd_pv_cm_event *request, void *arg,
	const char **ret_reason)
{
	struct rig_listener *listener = arg;
	struct rig *rig = listener->rig;
	struct rig_conn *rc;

	(void)cm;
	(void)ret_reason;
	listener->last = NULL;
	if (listener->refuse)
		return false;
	rc = new_conn(rig);
	rc->accept_as = listener->params;
	if (vbd_conn_create_passive(rig->fabric, rig->conn_count, &rc->accept_as, &rig->cm,
		    rig->decide_timeout_ms, request, &conn_ops, rc, &rc->conn,
		    &rig->err) != VBD_OK) {
		rc->conn = NULL;
		return false;
	}
	read_messages(rc);
	listener->last = rc;
	if (listener->accept)
		assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	return true;
}

static void on_lost(struct vbd_cm_listener *cm, void *arg)
{
	(void)cm;
	((struct rig_listener *)arg)->lost = true;
}

static const struct vbd_cm_listener_ops listener_ops = {
	.request = on_request,
	.lost = on_lost,
};

struct rig_listener *rig_listener(struct rig *rig)
{
	struct rig_listener *listener = &rig->listeners[rig->listener_count];

	assert_in_range(rig->listener_count, 0, RIG_LISTENERS - 1);
	rig->listener_count++;
	memset(listener, 0, sizeof(*listener));
	listener->rig = rig;
	listener->params = rig_params();
	return listener;
}

bool rig_try_listen(struct rig_listener *listener)
{
	const struct sockaddr_in any = {.sin_family = AF_INET};
	struct rig *rig = listener->rig;

	return vbd_cm_listener_open(&listener->cm, rig->fabric, (const struct sockaddr *)&any,
		       &rig->cm, 8, &listener_ops, listener, &rig->err) == VBD_OK;
}

void rig_listen(struct rig_listener *listener)
{
	assert_true(rig_try_listen(listener));
}

struct rig_conn *rig_request(struct rig_listener *listener)
{
	(void)fake_connect_request(listener->cm.cm_id, listener->rig->device);
	rig_settle(listener->rig);
	return listener->last;
}

struct rig_conn *rig_conn_create_to(struct rig_listener *listener)
{
	struct rig *rig = listener->rig;
	struct sockaddr_in dst = rig->device->addr;
	struct rig_conn *rc = new_conn(rig);
	struct vbd_conn_params params = rig_params();

	dst.sin_port = ((struct sockaddr_in *)(void *)&listener->cm.addr)->sin_port;
	assert_int_equal(vbd_conn_create(rig->fabric, rig->conn_count, &params, &rig->cm, 5000,
				 &conn_ops, rc, &rc->conn, &rig->err),
		VBD_OK);
	read_messages(rc);
	vbd_conn_resolve(rc->conn, (const struct sockaddr *)&dst);
	return rc;
}

void rig_loop_connect(
	struct rig_listener *listener, struct rig_conn **ret_active, struct rig_conn **ret_passive)
{
	struct rig_conn *rc;

	fake_loopback(true);
	listener->accept = true;
	if (!listener->cm.cm_id)
		rig_listen(listener);
	rc = rig_conn_create_to(listener);
	rig_settle(listener->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_non_null(listener->last);
	assert_int_equal(listener->last->conn->state, VBD_CONN_ESTABLISHED);
	*ret_active = rc;
	*ret_passive = listener->last;
}

/* Memory and transfers. */

static void *prepare_mem(void *mem)
{
	(void)!vbd_mem_prepare(mem, NULL);
	return NULL;
}

/* On a thread of its own, as the daemon does: memory may be large. */
struct vbd_mem *rig_mem(struct rig *rig, size_t size_bytes, unsigned int access)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_mem *mem = &rig->mems[rig->mem_count];
	pthread_t thread;

	assert_in_range(rig->mem_count, 0, RIG_MEMS - 1);
	rig->mem_count++;
	*mem = (struct vbd_mem){.access = access, .size_bytes = size_bytes};
	vbd_mem_plan(mem, device->pd);
	assert_int_equal(pthread_create(&thread, NULL, prepare_mem, mem), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_non_null(mem->mr);
	return mem;
}

static void on_transfer_started(struct vbd_transfer *transfer, void *arg)
{
	struct rig_transfer *rt = arg;

	assert_ptr_equal(transfer, &rt->transfer);
	assert_int_equal(rt->ended, 0);
	rt->started++;
}

static void on_transfer_ended(struct vbd_transfer *transfer, void *arg)
{
	struct rig_transfer *rt = arg;

	assert_ptr_equal(transfer, &rt->transfer);
	assert_true(vbd_transfer_state_ended(transfer->state));
	assert_int_equal(rt->ended, 0);
	assert_int_equal(transfer->outstanding_wrs, 0);
	assert_true(transfer->state == VBD_TRANSFER_DONE || transfer->error.text[0] != '\0');
	rt->ended++;
	rt->ended_as = transfer->state;
}

struct rig_transfer *rig_transfer(struct rig_conn *rc, enum vbd_op op, const struct vbd_mem *mem,
	uint64_t length_bytes, uint64_t chunk_bytes)
{
	struct rig *rig = rc->rig;
	struct rig_transfer *rt = &rig->transfers[rig->transfer_count];

	assert_in_range(rig->transfer_count, 0, RIG_TRANSFERS - 1);
	rig->transfer_count++;
	*rt = (struct rig_transfer){
		.transfer =
			{
				.id = rig->transfer_count,
				.op = op,
				.channel = rc->conn->qp.channel,
				.local_addr = mem->addr,
				.lkey = mem->lkey,
				.length_bytes = length_bytes,
				.chunk_bytes = chunk_bytes,
				.wr.remote_addr = 0x10000,
				.wr.rkey = 0x77,
				.started = on_transfer_started,
				.ended = on_transfer_ended,
				.arg = rt,
			},
		.rig = rig,
	};
	return rt;
}

void rig_start_transfer(struct rig_transfer *rt)
{
	vbd_transfer_submit(&rt->transfer);
	rig_settle(rt->rig);
}

void rig_cancel_transfer(struct rig_transfer *rt, bool late)
{
	vbd_transfer_request_cancel(&rt->transfer, late);
	rig_settle(rt->rig);
}

/* Actions of the tests. */

void rig_deadline(struct rig_conn *rc)
{
	assert_int_not_equal(rc->deadline_ms, 0);
	rc->deadline_ms = 0;
	vbd_conn_deadline(rc->conn);
	rig_settle(rc->rig);
}

bool rig_look(struct rig *rig)
{
	bool any = false;

	for (unsigned int i = 0; i < rig->conn_count; i++) {
		struct rig_conn *rc = &rig->conns[i];

		if (!rc->conn || !rc->conn->looks_left || !rc->deadline_ms)
			continue;
		rc->deadline_ms = 0;
		vbd_conn_deadline(rc->conn);
		any = true;
	}
	return any;
}

void rig_close(struct rig_conn *rc)
{
	vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
	rig_settle(rc->rig);
}

void rig_release(struct rig_conn *rc)
{
	assert_in_range(rc->message_count, 1, RIG_MESSAGES);
	vbd_qp_release_message(&rc->conn->qp, rc->messages[0]);
	rc->message_count--;
	memmove(&rc->messages[0], &rc->messages[1],
		rc->message_count * sizeof(struct vbd_recv_slot *));
	rig_settle(rc->rig);
}

bool rig_has_entry(const struct rig_conn *rc, enum vbd_timeline_kind kind, const char *what)
{
	const struct vbd_timeline *timeline = &rc->conn->timeline;

	for (uint32_t i = 0; i < timeline->count; i++) {
		if (timeline->entries[i]->kind == kind &&
			strcmp(timeline->entries[i]->what, what) == 0)
			return true;
	}
	return false;
}

void rig_assert_gone(const struct rig_conn *rc)
{
	assert_true(vbd_conn_state_terminal(rc->conn->state));
	assert_null(rc->conn->cm_id);
	assert_null(rc->conn->qp.ibv_qp);
	assert_null(rc->conn->qp.channel);
	assert_null(rc->conn->qp.device);
	assert_int_not_equal(rc->conn->ended_ns, 0);
	assert_int_not_equal(rc->conn->qp.reason, VBD_REASON_NONE);
	assert_int_equal(rc->deadline_ms, 0);
	assert_true(rc->memory_went || !rc->conn->qp.info.lqpn);
}

void rig_assert_cqs_idle(struct rig *rig)
{
	vbd_list_for_each (link, &rig->fabric->cqs) {
		const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);

		assert_int_equal(cq->connections, 0);
		assert_int_equal(cq->reserved_cqe, 0);
		assert_int_equal(vbd_counter_get(&cq->outstanding), 0);
	}
}

void rig_assert_idle(struct rig *rig)
{
	struct fake_live live = fake_live();

	assert_int_equal(live.ids, 0);
	assert_int_equal(live.qps, 0);
	assert_int_equal(slabs_use(rig->fabric).taken_bytes, 0);
	assert_int_equal(slabs_other_mrs(rig->fabric), 0);
	rig_assert_cqs_idle(rig);
}

/* Setup and teardown. */

/* Each work request that was posted has come to one end. */
static void assert_all_ended(const struct vbd_op_counters *counters, enum vbd_op op)
{
	uint64_t posted = vbd_counter_get(&counters->posted);
	uint64_t ended = vbd_counter_get(&counters->completed) +
			 vbd_counter_get(&counters->errors) + vbd_counter_get(&counters->flushed);

	if (posted != ended)
		fail_msg("%s: %llu posted, %llu ended", vbd_op_name(op), (unsigned long long)posted,
			(unsigned long long)ended);
	assert_in_range(vbd_counter_get(&counters->signalled), 0, posted);
}

/* The worker counts the CQs that may wake it. */
static void assert_armed_counted(struct rig *rig, const struct vbd_worker *worker)
{
	unsigned int armed = 0;

	vbd_list_for_each (link, &rig->fabric->cqs) {
		const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);

		armed += cq->worker == worker && cq->armed;
	}
	assert_int_equal(worker->armed_cqs, armed);
}

static void assert_work_ended(struct rig *rig)
{
	for (unsigned int i = 0; i < rig->fabric->worker_count; i++) {
		if (!rig->threads)
			assert_armed_counted(rig, rig->fabric->workers[i]);
		for (int op = 0; op < VBD_OP_COUNT; op++)
			assert_all_ended(&rig->fabric->workers[i]->op_totals[op], (enum vbd_op)op);
	}
}

static void end_conn(struct rig *rig, struct rig_conn *rc)
{
	if (!rc->conn)
		return;
	if (rig->fabric && !rig->threads) {
		vbd_conn_close(rc->conn, VBD_REASON_STOPPING);
		rig_settle(rig);
		while (rc->conn->state == VBD_CONN_DRAINING)
			rig_deadline(rc);
		rig_settle(rig);
		while (rc->conn->calling)
			rig_deadline(rc);
	}
	assert_true(vbd_conn_state_terminal(rc->conn->state));
	vbd_conn_destroy(rc->conn);
	rc->conn = NULL;
}

void rig_free_conns(struct rig *rig)
{
	for (unsigned int i = 0; i < rig->conn_count; i++)
		end_conn(rig, &rig->conns[i]);
	rig->conn_count = 0;
}

void rig_finish_calls(struct rig *rig)
{
	struct pollfd control = {.fd = vbd_fabric_control_fd(rig->fabric), .events = POLLIN};

	UNIT_UNTIL (!rig->fabric->calls->under_way) {
		(void)poll(&control, 1, -1);
		vbd_fabric_dispatch_control(rig->fabric);
	}
}

void rig_stop(struct rig *rig)
{
	rig_free_conns(rig);
	for (unsigned int i = 0; i < rig->listener_count; i++)
		vbd_cm_listener_close(&rig->listeners[i].cm);
	for (unsigned int i = 0; i < rig->mem_count; i++)
		vbd_mem_free(&rig->mems[i]);
	if (rig->fabric) {
		rig_finish_calls(rig);
		assert_work_ended(rig);
	}
	vbd_fabric_destroy(rig->fabric);
	rig->fabric = NULL;
	rig->threads = false;
	rig->listener_count = 0;
	rig->mem_count = 0;
	rig->transfer_count = 0;
}

static struct rig *new_rig(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	fake_reset();
	vbd_log_setup(VBD_LOG_INFO, VBD_LOG_TEXT);
	vbd_log_set_observer(on_log, rig);
	rig->decide_timeout_ms = 5000;
	rig->cm = vbd_cm_params_default();
	rig->device = fake_device_add("fake0");
	return rig;
}

int rig_setup(void **state)
{
	struct rig *rig = new_rig();

	assert_true(rig_start(rig, 1));
	*state = rig;
	return 0;
}

int rig_setup_two_workers(void **state)
{
	struct rig *rig = new_rig();

	assert_true(rig_start(rig, 2));
	*state = rig;
	return 0;
}

int rig_teardown(void **state)
{
	struct rig *rig = *state;
	unsigned int left;

	rig_stop(rig);
	if (fake_misuse())
		fail_msg("%s", fake_misuse());
	left = fake_live_total();
	assert_int_equal(left, 0);
	assert_int_equal(rig->warnings, 0);
	vbd_log_set_observer(NULL, NULL);
	fake_reset();
	free(rig->story);
	free(rig);
	return 0;
}
