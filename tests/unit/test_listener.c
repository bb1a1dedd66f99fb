/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/listener.h"

#include "base/clock.h"
#include "tests/unit/rig.h"

#include <arpa/inet.h>

static struct sockaddr_in address(const char *text, uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};

	assert_int_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	return addr;
}

static enum vbd_status open_at(struct rig *rig, struct vbd_cm_listener *listener,
	const struct sockaddr_in *addr, struct vbd_error *err)
{
	static const struct vbd_cm_listener_ops no_ops;

	return vbd_cm_listener_open(listener, rig->fabric, (const struct sockaddr *)addr, &rig->cm,
		8, &no_ops, NULL, err);
}

static uint16_t port_of(const struct vbd_cm_listener *listener)
{
	return ntohs(((const struct sockaddr_in *)&listener->addr)->sin_port);
}

RIG_TEST(test_listener__a_port_of_0_is_picked)
{
	struct rig_listener *one = rig_listener(rig);
	struct rig_listener *two = rig_listener(rig);

	rig_listen(one);
	rig_listen(two);
	assert_int_not_equal(port_of(&one->cm), 0);
	assert_int_not_equal(port_of(&one->cm), port_of(&two->cm));
	assert_string_equal(one->cm.device.name, "");
	assert_int_equal(fake_id_asked(one->cm.cm_id).backlog, 8);
}

RIG_TEST(test_listener__an_address_belongs_to_its_device)
{
	const struct sockaddr_in ours = address("10.0.0.1", 7471);
	const struct sockaddr_in nobodys = address("10.9.9.9", 7471);
	struct vbd_cm_listener listener = {0};
	struct vbd_error err = {0};

	assert_int_equal(open_at(rig, &listener, &nobodys, &err), VBD_E_ADDRESS_NOT_AVAILABLE);
	assert_null(listener.cm_id);
	assert_int_equal(open_at(rig, &listener, &ours, &rig->err), VBD_OK);
	assert_string_equal(listener.device.name, "fake0");
	assert_int_equal(port_of(&listener), 7471);
	vbd_cm_listener_close(&listener);
}

RIG_TEST(test_listener__a_taken_port_is_an_error_of_its_own)
{
	const struct sockaddr_in any = address("0.0.0.0", 7471);
	struct vbd_cm_listener one = {0}, two = {0};
	struct vbd_error err = {0};

	assert_int_equal(open_at(rig, &one, &any, &rig->err), VBD_OK);
	assert_int_equal(open_at(rig, &two, &any, &err), VBD_E_ADDRESS_IN_USE);
	assert_string_equal(err.param, "port");
	assert_int_equal(err.raw, EADDRNOTAVAIL);
	assert_null(two.cm_id);
	vbd_cm_listener_close(&one);
	rig_finish_calls(rig);
	assert_int_equal(open_at(rig, &two, &any, &rig->err), VBD_OK);
	vbd_cm_listener_close(&two);
	vbd_cm_listener_close(&two);
}

/* rdma_cm has one errno for both. */
RIG_TEST(test_listener__an_address_of_another_host_is_no_taken_port)
{
	const struct sockaddr_in other = address("10.0.0.1", 7471);
	struct vbd_cm_listener listener = {0};
	struct vbd_error err = {0};

	fake_fail_next("rdma_bind_addr", EADDRNOTAVAIL);
	assert_int_equal(open_at(rig, &listener, &other, &err), VBD_E_ADDRESS_NOT_AVAILABLE);
	assert_null(err.param);
	assert_null(listener.cm_id);
}

RIG_TEST(test_listener__each_call_failing_leaves_nothing)
{
	static const char *const calls[] = {"rdma_create_id", "rdma_bind_addr", "rdma_listen"};
	const struct sockaddr_in any = address("0.0.0.0", 0);

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		struct vbd_cm_listener listener = {0};
		struct vbd_error err = {0};

		fake_fail_next(calls[i], EIO);
		assert_int_not_equal(open_at(rig, &listener, &any, &err), VBD_OK);
		assert_string_equal(err.call, calls[i]);
		assert_null(listener.cm_id);
		rig_finish_calls(rig);
		assert_int_equal(fake_live().ids, 0);
	}
}

RIG_TEST(test_listener__requests_come_one_by_one)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *one, *two;

	rig_listen(listener);
	one = rig_request(listener);
	two = rig_request(listener);
	assert_ptr_not_equal(one, two);
	assert_int_equal(vbd_conn_accept(two->conn, -1, NULL, &rig->err), VBD_OK);
	assert_int_equal(vbd_conn_reject(one->conn, NULL, false, &rig->err), VBD_OK);
	rig_settle(rig);
	assert_int_equal(one->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(two->conn->state, VBD_CONN_ACCEPTING);
}

static bool refuse_slowly(struct vbd_cm_listener *listener, const struct vbd_pv_cm_event *request,
	void *arg, const char **ret_reason)
{
	const uint64_t end_ns = vbd_clock_mono_ns() + 3 * VBD_NS_PER_MS;

	(void)listener;
	(void)request;
	(void)ret_reason;
	++*(unsigned int *)arg;
	while (vbd_clock_mono_ns() < end_ns)
		continue;
	return false;
}

RIG_TEST(test_listener__slow_requests_leave_the_loop_its_turn)
{
	static const struct vbd_cm_listener_ops ops = {.request = refuse_slowly};
	struct sockaddr_in addr = address("0.0.0.0", 0);
	struct vbd_cm_listener listener = {0};
	unsigned int handled = 0;

	assert_int_equal(
		vbd_cm_listener_open(&listener, rig->fabric, (const struct sockaddr *)&addr,
			&rig->cm, 8, &ops, &handled, &rig->err),
		VBD_OK);
	for (int i = 0; i < 3; i++)
		(void)fake_connect_request(listener.cm_id, rig->device);
	for (unsigned int i = 1; i <= 3; i++) {
		vbd_fabric_dispatch_cm(rig->fabric);
		assert_int_equal(handled, i);
	}
	assert_int_equal(fake_count("rdma_reject"), 3);
	vbd_cm_listener_close(&listener);
}

RIG_TEST(test_listener__a_request_without_memory_is_rejected)
{
	struct rig_listener *listener = rig_listener(rig);

	rig_listen(listener);
	fake_memory_fail_nth(1);
	assert_null(rig_request(listener));
	assert_true(fake_memory_failed());
	assert_int_equal(fake_count("rdma_reject"), 1);
	assert_int_equal(fake_live().ids, 1);
	assert_int_equal(rig->err.status, VBD_E_NO_MEMORY);
	/* The id is destroyed even if rejecting it fails. */
	listener->refuse = true;
	fake_fail_next("rdma_reject", EINVAL);
	assert_null(rig_request(listener));
	assert_int_equal(fake_live().ids, 1);
}

RIG_TEST(test_listener__what_waits_when_it_closes_is_dropped)
{
	struct rig_listener *listener = rig_listener(rig);

	rig_listen(listener);
	(void)fake_connect_request(listener->cm.cm_id, rig->device);
	vbd_cm_listener_close(&listener->cm);
	rig_settle(rig);
	assert_null(listener->last);
	assert_int_equal(fake_live().ids, 0);
}

RIG_TEST(test_listener__one_on_the_device_is_lost_with_it)
{
	struct rig_listener *bound = rig_listener(rig);
	struct rig_listener *any = rig_listener(rig);
	const struct sockaddr_in ours = address("10.0.0.1", 0);

	/* rig_listen() binds to no device; this test calls the observer of `bound` itself. */
	rig_listen(any);
	rig_listen(bound);
	vbd_calls_end_id(rig->fabric->calls, &bound->cm.account, bound->cm.cm_id);
	rig_finish_calls(rig);
	assert_int_equal(vbd_pv_create_id(&bound->cm.account, rig->fabric->cm_channel,
				 &bound->cm.tag, &bound->cm.cm_id, &rig->err),
		VBD_OK);
	assert_int_equal(
		vbd_pv_bind_addr(bound->cm.cm_id, (const struct sockaddr *)&ours, &rig->err),
		VBD_OK);
	assert_int_equal(vbd_pv_listen(bound->cm.cm_id, 8, &rig->err), VBD_OK);
	fake_device_unplug(rig->device);
	fake_device_cm_removal(rig->device);
	rig_settle(rig);
	assert_true(bound->lost);
	assert_null(bound->cm.cm_id);
	assert_false(any->lost);
	assert_int_equal(rig->removed, 1);
	assert_true(fake_device_let_go(rig->device));
}

RIG_TEST(test_listener__what_it_is_not_asked_it_ignores)
{
	struct rig_listener *listener = rig_listener(rig);

	rig_listen(listener);
	for (int type = 0; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT + 1; type++) {
		if (type != RDMA_CM_EVENT_CONNECT_REQUEST && type != RDMA_CM_EVENT_DEVICE_REMOVAL)
			vbd_cm_listener_on_cm_event(
				&listener->cm, &(const struct vbd_pv_cm_event){
						       .type = (enum rdma_cm_event_type)type});
	}
	assert_non_null(listener->cm.cm_id);
	assert_non_null(rig_request(listener));
}

RIG_TEST(test_listener__two_connections_of_one_program_talk)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *active, *passive;

	rig_loop_connect(listener, &active, &passive);
	assert_int_equal(active->conn->qp.info.rqpn, passive->conn->qp.info.lqpn);
	assert_int_equal(passive->conn->qp.info.rqpn, active->conn->qp.info.lqpn);
	rig_close(active);
	assert_int_equal(active->conn->qp.reason, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(passive->conn->qp.reason, VBD_REASON_PEER_DISCONNECT);
	assert_int_equal(passive->conn->state, VBD_CONN_CLOSED);
}

RIG_TEST(test_listener__two_of_iwarp_talk_as_well)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *active, *passive;
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt;

	rig_make_iwarp(rig);
	rig_loop_connect(listener, &active, &passive);
	memcpy(UNIT_BYTES(mem), "over iwarp", 10);
	rt = rig_transfer(active, VBD_OP_SEND, mem, 10, 64);
	rig_start_transfer(rt);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
	assert_int_equal(passive->message_count, 1);
	assert_memory_equal(vbd_channel_recv_data(passive->messages[0]), "over iwarp", 10);
}
