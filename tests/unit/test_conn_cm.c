/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters that a connection passes to the CM, over the scripted provider. */
#include "rdma/device/source.h"
#include "tests/unit/rig.h"

#include <arpa/inet.h>

static void say(struct vbd_private_data *data, const char *text)
{
	*data = (struct vbd_private_data){.length_bytes = (uint8_t)strlen(text)};
	memcpy(data->bytes, text, data->length_bytes);
}

static void assert_said(
	const struct vbd_private_data *data, enum vbd_cm_message message, const char *text)
{
	assert_int_equal(data->message, message);
	assert_int_equal(vbd_private_data_shown_bytes(data), strlen(text));
	assert_memory_equal(data->bytes, text, strlen(text));
}

static void assert_failed(struct rig_conn *rc, enum vbd_reason reason, enum vbd_status status)
{
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_string_equal(vbd_reason_name(rc->conn->qp.reason), vbd_reason_name(reason));
	assert_int_equal(rc->conn->qp.first_error.error.status, status);
}

static const struct sockaddr_in *source_of(const struct rig_conn *rc)
{
	return &rc->conn->cm_id->route.addr.src_sin;
}

/* Private data. */

RIG_TEST(test_conn_cm__private_data_goes_both_ways)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *active, *passive;

	say(&rig->cm.private_data, "hello");
	rig_loop_connect(listener, &active, &passive);
	assert_said(&active->conn->cm.private_data, VBD_CM_MESSAGE_REQUEST, "hello");
	assert_said(&passive->conn->peer_private_data, VBD_CM_MESSAGE_REQUEST, "hello");
	assert_int_equal(passive->conn->peer_private_data.length_bytes, 56);
	assert_said(&passive->conn->cm.private_data, VBD_CM_MESSAGE_REPLY, "hello");
	assert_said(&active->conn->peer_private_data, VBD_CM_MESSAGE_REPLY, "hello");
	assert_int_equal(active->conn->peer_private_data.length_bytes, 196);
}

/* The error of the side that is refused says why, and what helps. */
RIG_TEST(test_conn_cm__the_reason_of_a_verbsd_is_told)
{
	static const struct {
		const char *words, *text, *hint;
	} rows[] = {
		{"verbsd: draining", "refused: the verbsd there drains, and begins nothing new",
			"verbsctl undrain"},
		{"verbsd: no_such_code", "the program there refused (consumer defined)", NULL},
		{"go away", "the program there refused (consumer defined)", NULL},
		{"", "the program there refused, or listens at another address (consumer defined)",
			NULL},
	};
	struct rig_listener *listener = rig_listener(rig);
	struct vbd_private_data why;

	fake_loopback(true);
	rig_listen(listener);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *active = rig_conn_create_to(listener);
		const struct vbd_error *error = &active->conn->qp.first_error.error;

		rig_settle(rig);
		say(&why, rows[i].words);
		assert_int_equal(
			vbd_conn_reject(listener->last->conn, &why, false, &rig->err), VBD_OK);
		assert_failed(active, VBD_REASON_REJECTED, VBD_E_REJECTED);
		assert_string_equal(error->text, rows[i].text);
		assert_int_equal(error->raw, 28);
		if (rows[i].hint)
			assert_non_null(strstr(error->hint, rows[i].hint));
		else
			assert_null(error->hint);
	}
	vbd_cm_listener_close(&listener->cm);
}

RIG_TEST(test_conn_cm__a_rejection_carries_a_reason_and_private_data)
{
	struct rig_listener *listener = rig_listener(rig);
	struct vbd_private_data why;
	struct rig_conn *active;

	fake_loopback(true);
	rig_listen(listener);
	say(&why, "full");
	for (int vendor_option = 0; vendor_option < 2; vendor_option++) {
		active = rig_conn_create_to(listener);
		rig_settle(rig);
		assert_int_equal(listener->last->conn->state, VBD_CONN_REQUESTED);
		assert_int_equal(
			vbd_conn_reject(listener->last->conn, &why, vendor_option, &rig->err),
			VBD_OK);
		assert_said(&listener->last->conn->cm.private_data, VBD_CM_MESSAGE_REJECT, "full");
		assert_failed(active, VBD_REASON_REJECTED, VBD_E_REJECTED);
		assert_int_equal(active->conn->qp.first_error.error.raw, vendor_option ? 35 : 28);
		assert_said(&active->conn->peer_private_data, VBD_CM_MESSAGE_REJECT, "full");
	}
	vbd_cm_listener_close(&listener->cm);
}

RIG_TEST(test_conn_cm__what_was_meant_for_the_reply_is_not_in_a_rejection)
{
	struct rig_conn *rc;

	say(&rig->cm.private_data, "welcome");
	rc = rig_conn_in(rig, VBD_CONN_REQUESTED);
	assert_said(&rc->conn->cm.private_data, VBD_CM_MESSAGE_REPLY, "welcome");
	rig_deadline(rc);
	assert_failed(rc, VBD_REASON_TIMED_OUT, VBD_E_TIMED_OUT);
	assert_said(&rc->conn->cm.private_data, VBD_CM_MESSAGE_REJECT, "verbsd: timed_out");
}

RIG_TEST(test_conn_cm__a_client_that_rejects_without_words_says_none)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	assert_int_equal(vbd_conn_reject(rc->conn, NULL, false, &rig->err), VBD_OK);
	assert_said(&rc->conn->cm.private_data, VBD_CM_MESSAGE_REJECT, "");
}

RIG_TEST(test_conn_cm__a_request_whose_listener_is_deleted_is_told_so)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	rc->conn->listener_deleted = true;
	vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
	rig_settle(rig);
	assert_said(&rc->conn->cm.private_data, VBD_CM_MESSAGE_REJECT, "verbsd: listener_deleted");
	assert_int_equal(fake_count("rdma_reject"), 1);
}

RIG_TEST(test_conn_cm__an_accept_that_fails_tells_the_peer_why)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	fake_fail_next("ibv_create_qp", ENOMEM);
	assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	assert_failed(rc, VBD_REASON_RESOURCE_ERROR, VBD_E_NO_MEMORY);
	assert_said(&rc->conn->cm.private_data, VBD_CM_MESSAGE_REJECT, "verbsd: no_memory");
	assert_int_equal(fake_count("rdma_reject"), 1);
}

RIG_TEST(test_conn_cm__an_accept_after_the_peer_gave_up_says_so)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	fake_fail_next("rdma_accept", EINVAL);
	assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	assert_failed(rc, VBD_REASON_CONNECT_ERROR, VBD_E_CONNECT_ERROR);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "the peer has given up"));
}

/* The source of a connection. */

RIG_TEST(test_conn_cm__a_device_is_asked_for_by_its_address)
{
	struct fake_device *second = fake_device_add("fake1");
	struct rig_conn *rc;

	unit_rescan(rig->fabric);
	strcpy(rig->cm.device, "fake1");
	rig->cm.src_port = 4711;
	rc = rig_conn_create(rig, NULL);
	assert_int_equal(source_of(rc)->sin_addr.s_addr, second->addr.sin_addr.s_addr);
	assert_int_equal(source_of(rc)->sin_port, htons(4711));
	fake_addr_resolved(rc->conn->cm_id, second);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ROUTE);
	assert_string_equal(rc->conn->device.name, "fake1");
}

RIG_TEST(test_conn_cm__a_route_to_another_device_names_both)
{
	struct rig_conn *rc;

	(void)fake_device_add("fake1");
	unit_rescan(rig->fabric);
	strcpy(rig->cm.device, "fake1");
	rc = rig_conn_create(rig, NULL);
	fake_addr_resolved(rc->conn->cm_id, rig->device);
	assert_failed(rc, VBD_REASON_ROUTE_ERROR, VBD_E_ROUTE_ERROR);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "fake0"));
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "fake1"));
}

RIG_TEST(test_conn_cm__a_device_that_is_not_there_or_has_no_address)
{
	struct rig_conn *rc;

	strcpy(rig->cm.device, "nope");
	rc = rig_conn_create(rig, NULL);
	assert_failed(rc, VBD_REASON_RESOURCE_ERROR, VBD_E_NO_DEVICE);
	strcpy(rig->cm.device, "fake0");
	rig->device->gid_count = 0;
	rc = rig_conn_create(rig, NULL);
	assert_failed(rc, VBD_REASON_RESOURCE_ERROR, VBD_E_ADDRESS_NOT_AVAILABLE);
	assert_int_equal(fake_count("rdma_create_id"), 0);
}

RIG_TEST(test_conn_cm__options_are_set_before_the_address_is_bound)
{
	struct fake_id_asked asked;
	struct rig_conn *rc;

	rig->cm.tos = 32;
	rig->cm.reuse_addr = true;
	rig->cm.src_port = 4711;
	rc = rig_conn_create(rig, NULL);
	asked = fake_id_asked(rc->conn->cm_id);
	assert_int_equal(asked.tos, 32);
	assert_int_equal(asked.reuse_addr, 1);
	assert_true(fake_last("rdma_set_option") < fake_first("rdma_resolve_addr"));
	assert_int_equal(source_of(rc)->sin_addr.s_addr, INADDR_ANY);
	assert_int_equal(source_of(rc)->sin_port, htons(4711));
	assert_int_equal(rc->conn->local.ss_family, AF_INET);
	/* Without a port the kernel chooses the source. */
	rig->cm.src_port = 0;
	assert_int_equal(rig_conn_create(rig, NULL)->conn->local.ss_family, 0);
}

RIG_TEST(test_conn_cm__a_port_in_use_says_so)
{
	struct rig_conn *rc;

	rig->cm.src_port = 4711;
	fake_fail_next("rdma_resolve_addr", EADDRINUSE);
	rc = rig_conn_create(rig, NULL);
	assert_failed(rc, VBD_REASON_RESOURCE_ERROR, VBD_E_ADDRESS_IN_USE);
}

RIG_TEST(test_conn_cm__the_peer_is_told_the_parameters)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *connecting, *accepting;
	struct rdma_conn_param asked;

	params.retry_count = 3;
	params.rnr_retry = 5;
	params.responder_resources = 7;
	params.initiator_depth = 9;
	connecting = rig_conn_create(rig, &params);
	while (connecting->conn->state != VBD_CONN_CONNECTING) {
		assert_true(rig_conn_answer(connecting));
		rig_settle(rig);
	}
	asked = fake_id_asked(connecting->conn->cm_id).param;
	assert_int_equal(asked.responder_resources, 7);
	assert_int_equal(asked.initiator_depth, 9);
	assert_int_equal(asked.retry_count, 3);
	assert_int_equal(asked.rnr_retry_count, 5);
	/* The credits of messages end to end, without which a sender overruns the receives. */
	assert_int_equal(asked.flow_control, 1);
	assert_int_equal(asked.qp_num, connecting->conn->qp.ibv_qp->qp_num);
	assert_int_equal(asked.private_data_len, 0);
	assert_null(asked.private_data);
	accepting = rig_conn_in(rig, VBD_CONN_ACCEPTING);
	asked = fake_id_asked(accepting->conn->cm_id).param;
	assert_int_equal(asked.flow_control, 1);
	assert_int_equal(asked.qp_num, accepting->conn->qp.ibv_qp->qp_num);
}

/* The attributes of the QP. */

RIG_TEST(test_conn_cm__the_mtu_is_capped_and_no_more)
{
	static const struct {
		uint32_t asked, given;
	} caps[] = {{0, 1024}, {256, 256}, {512, 512}, {1024, 1024}, {4096, 1024}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(caps); i++) {
		struct vbd_conn_params params = rig_params();

		params.path_mtu_bytes = caps[i].asked;
		assert_int_equal(rig_conn_connect(rig, &params)->conn->qp.info.path_mtu_bytes,
			caps[i].given);
	}
}

RIG_TEST(test_conn_cm__the_tos_of_a_listener_marks_its_own_packets)
{
	struct rig_conn *rc;

	rig->cm.tos = 64;
	rc = rig_conn_in(rig, VBD_CONN_ACCEPTING);
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	assert_int_equal(rc->conn->qp.info.traffic_class, 64);
	assert_true(rc->conn->qp.info.sgid_known);
	assert_string_equal(rc->conn->qp.info.sgid.type, "roce_v2");
	assert_int_equal(rc->conn->qp.info.sgid.vlan_id, -1);
}

RIG_TEST(test_conn_cm__iwarp_shows_only_attributes_that_it_has)
{
	struct vbd_qp_info *info;
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rig->free_removed = true;
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	rig->device->plugged = true;
	unit_rescan(rig->fabric);
	rc = rig_conn_connect(rig, NULL);
	info = &rc->conn->qp.info;
	assert_true(info->iwarp);
	assert_true(info->path_known);
	assert_false(info->gid_known);
	assert_int_equal(info->state, IBV_QPS_RTS);
}

RIG_TEST(test_conn_cm__a_link_local_peer_gets_the_scope_of_the_gids_interface)
{
	struct sockaddr_in6 peer = {.sin6_family = AF_INET6};
	struct rig_conn *rc;

	rig->device->gids[0].ndev_ifindex = 1; /* "lo", in every network namespace */
	rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	assert_int_equal(inet_pton(AF_INET6, "fe80::9", &peer.sin6_addr), 1);
	memcpy(&rc->conn->peer, &peer, sizeof(peer));
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_string_equal(rc->conn->qp.info.sgid.netdev, "lo");
	assert_int_equal(((const struct sockaddr_in6 *)&rc->conn->peer)->sin6_scope_id, 1);
}

/* A listener. */

/* librdmacm loses the scope. */
RIG_TEST(test_conn_cm__a_link_local_peer_keeps_the_scope_that_was_asked_for)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_RESOLVING_ADDR);
	struct sockaddr_in6 peer = {.sin6_family = AF_INET6};

	assert_int_equal(inet_pton(AF_INET6, "fe80::9", &peer.sin6_addr), 1);
	rc->conn->cm_id->route.addr.dst_sin6 = peer;
	peer.sin6_scope_id = 3;
	memcpy(&rc->conn->peer, &peer, sizeof(peer));
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ROUTE);
	assert_memory_equal(&rc->conn->peer, &peer, sizeof(peer));
	assert_int_equal(
		((const struct sockaddr_in *)&rc->conn->local)->sin_addr.s_addr, htonl(0x0a000001));
	assert_int_equal(rc->conn->port_num, 1);
	assert_string_equal(rc->conn->device.name, "fake0");
}

RIG_TEST(test_conn_cm__options_that_nobody_asked_for_are_left_alone)
{
	struct rig_listener *listener = rig_listener(rig);
	struct fake_id_asked asked;

	rig_listen(listener);
	asked = fake_id_asked(listener->cm.cm_id);
	assert_int_equal(asked.v6_only, -1);
	assert_int_equal(asked.reuse_addr, -1);
	assert_int_equal(asked.tos, -1);
	vbd_cm_listener_close(&listener->cm);
	asked = fake_id_asked(rig_conn_create(rig, NULL)->conn->cm_id);
	assert_int_equal(asked.v6_only, -1);
	assert_int_equal(asked.reuse_addr, -1);
	assert_int_equal(asked.tos, -1);
}

RIG_TEST(test_conn_cm__a_listener_of_one_device_has_one_of_its_addresses)
{
	struct fake_device *second = fake_device_add("fake1");
	struct rig_listener *listener = rig_listener(rig);
	struct fake_id_asked asked;

	unit_rescan(rig->fabric);
	strcpy(rig->cm.device, "fake1");
	rig->cm.reuse_addr = true;
	rig->cm.v6_only = VBD_CHOICE_NO;
	rig_listen(listener);
	assert_string_equal(listener->cm.device.name, "fake1");
	assert_int_equal(((const struct sockaddr_in *)&listener->cm.addr)->sin_addr.s_addr,
		second->addr.sin_addr.s_addr);
	asked = fake_id_asked(listener->cm.cm_id);
	assert_int_equal(asked.reuse_addr, 1);
	assert_int_equal(asked.v6_only, 0);
	assert_int_equal(asked.tos, -1);
	vbd_cm_listener_close(&listener->cm);
}

RIG_TEST(test_conn_cm__a_listener_on_another_devices_address_is_refused)
{
	static const struct vbd_cm_listener_ops no_ops;
	struct vbd_cm_listener listener;
	struct vbd_error err = {0};

	(void)fake_device_add("fake1");
	unit_rescan(rig->fabric);
	strcpy(rig->cm.device, "fake1");
	assert_int_equal(vbd_cm_listener_open(&listener, rig->fabric,
				 (const struct sockaddr *)&rig->device->addr, &rig->cm, 8, &no_ops,
				 NULL, &err),
		VBD_E_ADDRESS_NOT_AVAILABLE);
	assert_string_equal(err.param, "addr");
	assert_non_null(strstr(err.text, "fake0"));
	assert_non_null(strstr(err.text, "fake1"));
	strcpy(rig->cm.device, "nope");
	assert_int_equal(vbd_cm_listener_open(&listener, rig->fabric,
				 (const struct sockaddr *)&rig->device->addr, &rig->cm, 8, &no_ops,
				 NULL, NULL),
		VBD_E_NO_DEVICE);
}

/* The cause of flushes. */

static struct rig_conn *connected_over_iwarp(struct rig *rig)
{
	rig_make_iwarp(rig);
	rig->free_removed = true;
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	rig->device->plugged = true;
	unit_rescan(rig->fabric);
	return rig_conn_connect(rig, NULL);
}

static struct rig_conn *flushed_over_iwarp(struct rig *rig)
{
	struct rig_conn *rc = connected_over_iwarp(rig);

	fake_qp_to_err(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	assert_false(fake_id_asked(rc->conn->cm_id).disconnected);
	return rc;
}

RIG_TEST(test_conn_cm__a_flush_before_the_peers_hang_up_is_the_peers)
{
	struct rig_conn *rc = flushed_over_iwarp(rig);

	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_string_equal(vbd_reason_name(rc->conn->qp.reason), "peer_disconnect");
	assert_int_equal(rc->conn->qp.first_error.at_ns, 0);
}

RIG_TEST(test_conn_cm__a_flush_that_nobody_explains_is_qp_fatal)
{
	struct rig_conn *rc = flushed_over_iwarp(rig);

	rig_deadline(rc);
	assert_failed(rc, VBD_REASON_QP_FATAL, VBD_E_QP_FATAL);
	assert_int_equal(rc->conn->qp.first_error.error.kind, IBV_WC_WR_FLUSH_ERR);
}

RIG_TEST(test_conn_cm__a_flush_before_the_device_goes_is_the_devices)
{
	struct rig_conn *rc = flushed_over_iwarp(rig);

	vbd_conn_device_removed(rc->conn);
	assert_failed(rc, VBD_REASON_DEVICE_REMOVED, VBD_E_DEVICE_REMOVED);
}

RIG_TEST(test_conn_cm__flushes_that_come_late_are_waited_for_all_the_same)
{
	struct rig_conn *rc;

	rc = flushed_over_iwarp(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	rig_assert_gone(rc);
}

/* The first flush is here, and the others have as long as those of any queue pair. */
RIG_TEST(test_conn_cm__the_other_flushes_have_their_time_when_the_cause_is_known)
{
	struct rig_conn *rc = connected_over_iwarp(rig);
	struct ibv_qp *qp = rc->conn->qp.ibv_qp;

	rig->fabric->drain_timeout_ms = 700;
	fake_flushes_withheld(true);
	vbd_channel_break(rc->conn->qp.channel,
		&(const struct vbd_error){.status = VBD_E_QP_FATAL,
			.source = VBD_SOURCE_WC,
			.kind = IBV_WC_WR_FLUSH_ERR},
		VBD_OP_RECV, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	assert_int_equal(rc->deadline_ms, 1000);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	assert_true(fake_id_asked(rc->conn->cm_id).disconnected);
	assert_int_equal(rc->deadline_ms, 700);
	fake_flushes_withheld(false);
	fake_flush(qp);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	rig_assert_gone(rc);
}
