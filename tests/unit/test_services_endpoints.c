/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/datagrams/endpoints.h"

#include "daemon/drain.h"
#include "rdma/conn/manual.h"
#include "rdma/device/calls.h"
#include "rdma/fabric/fabric.h"
#include "tests/unit/slabs.h"
#include "tests/unit/svc.h"

#include <sched.h>

#define PORT	  7174
#define GROUP_QPN 0xffffff

static struct vbd_endpoint_spec endpoint_spec(uint16_t port)
{
	struct vbd_endpoint_spec spec = {
		.port = port,
		.params = vbd_endpoint_params_default(),
	};

	spec.params.qp.rq_depth = 4;
	if (port)
		(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	return spec;
}

static struct vbd_endpoint_record *begin(struct svc *svc, const struct vbd_endpoint_spec *spec)
{
	struct vbd_endpoint_record *record = NULL;

	assert_int_equal(vbd_endpoint_create(svc->daemon, spec, &record, &svc->err), VBD_OK);
	assert_int_equal(record->endpoint->state, VBD_ENDPOINT_OPENING);
	return record;
}

static struct vbd_endpoint_record *open_as(struct svc *svc, const struct vbd_endpoint_spec *spec)
{
	struct vbd_endpoint_record *record = begin(svc, spec);

	SVC_UNTIL(svc, record->endpoint->state == VBD_ENDPOINT_READY);
	return record;
}

static struct vbd_endpoint_record *endpoint(struct svc *svc, uint16_t port)
{
	const struct vbd_endpoint_spec spec = endpoint_spec(port);

	return open_as(svc, &spec);
}

/* Begin an endpoint with large receives, whose registration lasts until fake_unblock(). */
static struct vbd_endpoint_record *begin_slow(struct svc *svc, uint16_t port)
{
	struct vbd_endpoint_spec spec = endpoint_spec(port);
	struct vbd_endpoint_record *record;

	spec.params.qp.rq_depth = 64;
	spec.params.qp.recv_size_bytes = 65536;
	fake_block("ibv_reg_mr");
	record = begin(svc, &spec);
	UNIT_UNTIL (fake_blocked())
		(void)sched_yield();
	return record;
}

/* Without those of the report ports. */
static unsigned int ids(const struct svc *svc)
{
	return fake_live().ids - svc->daemon->fabric->report_port_count;
}

static void expect_nothing_left(struct svc *svc)
{
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0 &&
			       svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(fake_live().qps + ids(svc), 0);
	assert_int_equal(slabs_use(svc->daemon->fabric).taken_bytes, 0);
	assert_int_equal(slabs_other_mrs(svc->daemon->fabric), 0);
	assert_int_equal(svc->daemon->qp_receives_bytes, 0);
	assert_int_equal(svc->daemon->ud_endpoints->open, 0);
}

static struct vbd_peer_record *ask_for(struct svc *svc, struct vbd_endpoint_record *from,
	const char *addr, uint16_t port, uint32_t timeout_ms)
{
	struct vbd_peer_spec spec = {
		.endpoint = from, .dst_port = port, .timeout_ms = timeout_ms, .gid_index = -1};
	struct vbd_peer_record *record = NULL;

	(void)snprintf(spec.dst_addr, sizeof(spec.dst_addr), "%s", addr);
	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	return record;
}

static struct vbd_peer_record *ask(
	struct svc *svc, struct vbd_endpoint_record *from, const char *addr, uint16_t port)
{
	return ask_for(svc, from, addr, port, 60000);
}

static struct vbd_peer_record *asked(struct svc *svc, struct vbd_endpoint_record *from)
{
	struct vbd_peer_record *record = ask(svc, from, "10.0.0.1", PORT);

	SVC_UNTIL(svc, record->peer.state == VBD_PEER_READY);
	return record;
}

static struct vbd_group_record *joined(
	struct svc *svc, struct vbd_endpoint_record *endpoint, enum vbd_group_mode mode)
{
	const struct vbd_group_spec spec = {
		.endpoint = endpoint, .addr = "239.1.2.3", .mode = mode, .timeout_ms = 60000};
	struct vbd_group_record *record = NULL;

	assert_int_equal(vbd_group_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->group.state == VBD_GROUP_IS_JOINED);
	return record;
}

static struct vbd_transfer_record *say(struct svc *svc, struct vbd_endpoint_record *from,
	struct vbd_peer_record *peer, struct vbd_group_record *group, const char *text)
{
	const struct vbd_transfer_spec to = {
		.qp = &from->endpoint->qp, .peer = peer, .group = group};
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(vbd_transfer_send(svc->daemon, &to, (const uint8_t *)text,
				 (uint32_t)strlen(text), NULL, 10000, &record, &svc->err),
		VBD_OK);
	return record;
}

static bool is_over(const struct vbd_transfer_record *record)
{
	return vbd_transfer_state_ended(record->transfer.state);
}

static void assert_newest(const struct vbd_endpoint_record *record, const char *text)
{
	const struct vbd_message *message =
		vbd_inbox_find(&record->inbox, vbd_inbox_newest(&record->inbox));

	assert_non_null(message);
	assert_int_equal(message->received.length_bytes, strlen(text));
	assert_memory_equal(vbd_message_data(message), text, strlen(text));
}

/* The qp of a request has the parameters of any queue pair, with the transport of a connection. */
SVC_TEST(test_services_endpoints__its_queue_pair_is_ud)
{
	struct vbd_endpoint_spec spec = endpoint_spec(0);
	const struct vbd_endpoint_record *record;

	spec.params.qp = vbd_conn_params_default().qp;
	record = open_as(svc, &spec);
	assert_int_equal(record->endpoint->qp.channel->limits.transport, VBD_TRANSPORT_UD);
}

SVC_TEST(test_services_endpoints__its_event_names_an_address_only_if_it_listens)
{
	const struct vbd_event_filter filter = {
		.by_type = true, .types[VBD_EVENT_UD_ENDPOINT_CREATED] = true};
	const struct vbd_event *event;

	(void)endpoint(svc, 0);
	event = vbd_eventlog_next(svc->daemon->eventlog, 0, &filter);
	assert_non_null(event);
	assert_null(strstr(event->detail, " port "));
	(void)endpoint(svc, PORT);
	event = vbd_eventlog_next(svc->daemon->eventlog, event->seq, &filter);
	assert_non_null(event);
	assert_non_null(strstr(event->detail, "listens on 10.0.0.1 port 7174"));
}

static void refuse_endpoint(struct svc *svc, const struct vbd_endpoint_spec *spec,
	enum vbd_status status, const char *pointer)
{
	struct vbd_endpoint_record *record = NULL;
	struct vbd_error err = {0};

	assert_int_equal(vbd_endpoint_create(svc->daemon, spec, &record, &err), status);
	assert_string_equal(err.pointer, pointer);
	assert_null(record);
	expect_nothing_left(svc);
}

SVC_TEST(test_services_endpoints__one_that_nobody_could_ask_is_refused)
{
	struct vbd_endpoint_spec spec = endpoint_spec(PORT);

	(void)snprintf(spec.addr, sizeof(spec.addr), "localhost");
	refuse_endpoint(svc, &spec, VBD_E_BAD_VALUE, "/addr");
	spec = endpoint_spec(PORT);
	spec.params.qkey = VBD_CM_QKEY + 1;
	refuse_endpoint(svc, &spec, VBD_E_BAD_VALUE, "/qkey");
	spec = endpoint_spec(0);
	(void)snprintf(spec.device, sizeof(spec.device), "fake7");
	refuse_endpoint(svc, &spec, VBD_E_NOT_FOUND, "/device");
	(void)snprintf(spec.device, sizeof(spec.device), "fake0");
	spec.params.qkey = VBD_CM_QKEY + 1;
	assert_int_equal(open_as(svc, &spec)->endpoint->params.qkey, VBD_CM_QKEY + 1);
}

SVC_TEST(test_services_endpoints__what_its_device_or_ud_can_not_do_is_refused)
{
	struct vbd_endpoint_spec spec = endpoint_spec(0);

	fake_device_add("fake1")->ibv.transport_type = IBV_TRANSPORT_IWARP;
	unit_rescan(svc->daemon->fabric);
	(void)snprintf(spec.device, sizeof(spec.device), "fake1");
	refuse_endpoint(svc, &spec, VBD_E_NOT_SUPPORTED, "");
	for (int bound = 0; bound < 2; bound++) {
		spec = endpoint_spec(bound ? PORT : 0);
		spec.params.qp.service = VBD_SERVICE_ECHO;
		refuse_endpoint(svc, &spec, VBD_E_NOT_SUPPORTED, "");
	}
}

SVC_TEST(test_services_endpoints__two_ask_and_talk)
{
	struct vbd_endpoint_record *there = endpoint(svc, PORT);
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	struct vbd_peer_record *peer = asked(svc, here);
	struct vbd_transfer_record *sent;

	assert_int_equal(peer->peer.qpn, there->endpoint->qp.info.lqpn);
	assert_int_equal(peer->peer.qkey, VBD_CM_QKEY);
	assert_null(peer->peer.cm_id);
	assert_int_equal(there->endpoint->sidr_answered, 1);
	sent = say(svc, here, peer, NULL, "hello");
	assert_int_equal(peer->users, 1);
	SVC_UNTIL(svc, is_over(sent) && there->inbox.count == 1);
	assert_int_equal(sent->transfer.state, VBD_TRANSFER_DONE);
	assert_int_equal(peer->users, 0);
	assert_newest(there, "hello");
}

SVC_TEST(test_services_endpoints__unread_datagrams_of_ended_ones_are_limited)
{
	struct vbd_endpoint_record *there, *here, *bystander;
	struct vbd_peer_record *peer;

	svc->config.records.messages_bytes = sizeof(struct vbd_message) + 5;
	svc_restart(svc);
	there = endpoint(svc, PORT);
	here = endpoint(svc, 0);
	peer = asked(svc, here);
	(void)say(svc, here, peer, NULL, "one");
	(void)say(svc, here, peer, NULL, "three");
	SVC_UNTIL(svc, there->inbox.count == 2);
	fake_qp_async(there->endpoint->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	SVC_UNTIL(svc, there->object.ended);
	assert_int_equal(there->inbox.count, 1);
	assert_newest(there, "three");
	assert_int_equal(there->inbox.dropped, 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_UD_ENDPOINT_MESSAGE_DROPPED), 1);
	assert_int_equal(svc->daemon->kept_messages_bytes, svc->config.records.messages_bytes);

	/* A newer end needs the room, whichever endpoint it is of. */
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0); /* the port is free */
	bystander = endpoint(svc, PORT);
	peer = asked(svc, here);
	(void)say(svc, here, peer, NULL, "new");
	SVC_UNTIL(svc, bystander->inbox.count == 1);
	fake_qp_async(bystander->endpoint->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	SVC_UNTIL(svc, bystander->object.ended);
	assert_newest(bystander, "new");
	assert_int_equal(there->inbox.count, 0);
	assert_int_equal(there->inbox.dropped, 2);
	assert_int_equal(svc->daemon->messages_dropped, 2);
}

SVC_TEST(test_services_endpoints__a_message_names_its_sender)
{
	struct vbd_endpoint_record *there = endpoint(svc, PORT);
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	struct vbd_peer_spec spec = {.endpoint = there, .message = 1, .gid_index = -1};
	struct vbd_peer_record *back = NULL;
	struct vbd_error err = {0};
	unsigned int *flags;
	uint8_t gid[16];

	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &back, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/message_seq");
	(void)say(svc, here, asked(svc, here), NULL, "from me");
	SVC_UNTIL(svc, there->inbox.count == 1);
	/* Without a GRH only the device knows the way back. */
	flags = &((struct vbd_message *)(uintptr_t)vbd_inbox_find(&there->inbox, 1))
			 ->source.wc_flags;
	*flags = 0;
	err = (struct vbd_error){0};
	assert_int_not_equal(vbd_peer_create(svc->daemon, &spec, &back, &err), VBD_OK);
	assert_null(back);
	assert_string_equal(err.pointer, "/message_seq");
	assert_non_null(strstr(err.text, "ibv_init_ah_from_wc"));
	*flags = IBV_WC_GRH;
	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &back, &svc->err), VBD_OK);
	SVC_UNTIL(svc, back->peer.state == VBD_PEER_READY);
	assert_int_equal(back->peer.qpn, here->endpoint->qp.info.lqpn);
	assert_int_equal(back->peer.path.grh.dgid.raw[15], 99);
	assert_true(vbd_ah_source_gid(&vbd_inbox_find(&there->inbox, 1)->source, gid));
	assert_int_equal(gid[15], 99);
	assert_int_equal(vbd_inbox_delete(&there->inbox, 1, &svc->err), VBD_OK);
	assert_int_equal(there->inbox.count, 0);
}

SVC_TEST(test_services_endpoints__a_wrong_qkey_breaks_nothing)
{
	struct vbd_endpoint_record *there = endpoint(svc, PORT);
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	struct vbd_peer_spec spec = {.endpoint = here,
		.qpn = there->endpoint->qp.info.lqpn,
		.has_qkey = true,
		.qkey = 0xbad,
		.gid_index = -1,
		.path = {.is_global = true}};
	struct vbd_peer_record *wrong = NULL;
	struct vbd_transfer_record *sent;

	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &wrong, &svc->err), VBD_OK);
	SVC_UNTIL(svc, wrong->peer.state == VBD_PEER_READY);
	sent = say(svc, here, wrong, NULL, "lost");
	SVC_UNTIL(svc, is_over(sent));
	assert_int_equal(sent->transfer.state, VBD_TRANSFER_DONE);
	sent = say(svc, here, asked(svc, here), NULL, "heard");
	SVC_UNTIL(svc, is_over(sent) && there->inbox.count == 1);
	assert_newest(there, "heard");
}

SVC_TEST(test_services_endpoints__a_port_where_nobody_listens_rejects)
{
	struct vbd_peer_record *peer = ask(svc, endpoint(svc, 0), "10.0.0.1", 1);

	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_int_equal(peer->peer.error.status, VBD_E_REJECTED);
	assert_null(peer->peer.cm_id);
	assert_int_equal(vbd_peer_delete(peer, &svc->err), VBD_OK);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->ud_peers), 0);
}

SVC_TEST(test_services_endpoints__a_peer_that_no_handle_leads_to_fails)
{
	struct vbd_peer_record *peer;

	(void)endpoint(svc, PORT);
	fake_fail_next("ibv_create_ah", EHOSTUNREACH);
	peer = ask(svc, endpoint(svc, 0), "10.0.0.1", PORT);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_null(peer->peer.ah);
}

/* The thread pool uses the peer, so its memory must stay. */
SVC_TEST(test_services_endpoints__a_peer_is_forgotten_while_its_handle_is_made)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	struct vbd_peer_spec spec = {.endpoint = here, .qpn = 17, .gid_index = -1};
	struct vbd_peer_record *peer = NULL;

	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &peer, &svc->err), VBD_OK);
	assert_true(peer->peer.ah_pending);
	assert_int_equal(vbd_peer_delete(peer, &svc->err), VBD_OK);
	assert_int_equal(vbd_registry_count(svc->daemon->ud_peers), 0);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	assert_int_equal(fake_live().ahs, 0);

	/* The same, but the endpoint is deleted. */
	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &peer, &svc->err), VBD_OK);
	vbd_object_delete(&here->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0 &&
			       svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	assert_int_equal(fake_live().ahs, 0);
}

/* The record is freed at the end of a turn. In that turn the CM may still answer, and the thread
 * pool get the record. */
SVC_TEST(test_services_endpoints__a_peer_is_forgotten_and_answered_in_one_turn)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);

	/* On a busy machine the turn may end before the CM answers; then the record is gone. */
	UNIT_UNTIL (svc->daemon->fabric->calls->under_way) {
		struct vbd_peer_record *peer = ask(svc, here, "10.0.0.1", PORT);

		assert_false(peer->peer.ah_pending);
		assert_int_equal(vbd_peer_delete(peer, &svc->err), VBD_OK);
		vbd_loop_turn(svc->daemon->loop, true);
	}
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	assert_int_equal(fake_live().ahs, 0);
	assert_int_equal(ids(svc), 1); /* the listening id */
}

SVC_TEST(test_services_endpoints__a_peer_in_use_stays)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	struct vbd_peer_record *peer = asked(svc, here);
	struct vbd_transfer_record *sent;
	struct vbd_error err = {0};

	sent = say(svc, here, peer, NULL, "to myself");
	assert_int_equal(vbd_peer_delete(peer, &err), VBD_E_IN_USE);
	SVC_UNTIL(svc, is_over(sent));
	assert_int_equal(vbd_peer_delete(peer, &svc->err), VBD_OK);
}

SVC_TEST(test_services_endpoints__a_group_is_joined_heard_and_left)
{
	struct vbd_endpoint_record *there = endpoint(svc, PORT);
	struct vbd_endpoint_record *here = endpoint(svc, PORT + 1);
	struct vbd_group_record *member = joined(svc, there, VBD_GROUP_FULL);
	struct vbd_group_record *sender = joined(svc, here, VBD_GROUP_SEND_ONLY);
	struct vbd_transfer_record *sent;

	assert_int_equal(fake_attached(there->endpoint->qp.ibv_qp), 1);
	assert_int_equal(fake_attached(here->endpoint->qp.ibv_qp), 0);
	assert_int_equal(member->group.qpn, GROUP_QPN);
	sent = say(svc, here, NULL, sender, "to all");
	SVC_UNTIL(svc, is_over(sent) && there->inbox.count == 1);
	assert_newest(there, "to all");
	assert_int_equal(here->inbox.count, 0);
	vbd_object_delete(&member->object);
	assert_int_equal(fake_attached(there->endpoint->qp.ibv_qp), 0);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->multicast_memberships) == 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_MULTICAST_MEMBERSHIP_LEFT), 1);
}

SVC_TEST(test_services_endpoints__a_group_leaves_when_what_was_sent_is_gone)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	struct vbd_group_record *member = joined(svc, here, VBD_GROUP_FULL);

	vbd_group_ref(member);
	vbd_object_delete(&member->object);
	assert_int_equal(member->group.state, VBD_GROUP_IS_LEAVING);
	assert_non_null(member->group.ah);
	assert_null(member->group.cm_id);
	vbd_group_unref(member);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->multicast_memberships) == 0);
}

SVC_TEST(test_services_endpoints__a_group_that_can_not_be_attached_fails)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	const struct vbd_group_spec spec = {
		.endpoint = here, .addr = "239.1.2.3", .timeout_ms = 60000};
	static const char *const calls[] = {
		"rdma_join_multicast", "ibv_create_ah", "ibv_attach_mcast", "rdma_resolve_addr"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		struct vbd_group_record *record = NULL;

		fake_fail_next(calls[i], EIO);
		assert_int_equal(vbd_group_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
		SVC_UNTIL(svc, record->group.state == VBD_GROUP_IS_FAILED);
		assert_null(record->group.ah);
		assert_null(record->group.cm_id);
		assert_int_equal(fake_attached(here->endpoint->qp.ibv_qp), 0);
		vbd_object_delete(&record->object);
		svc_turn(svc);
	}
	assert_int_equal(vbd_registry_count(svc->daemon->multicast_memberships), 0);
}

SVC_TEST(test_services_endpoints__a_peer_that_does_not_answer_in_time_fails)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	struct vbd_peer_record *peer;
	struct vbd_error problem;

	fake_loopback(false);
	peer = ask_for(svc, here, "10.0.0.1", PORT, 5);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	vbd_object_problem(&peer->object, &problem);
	assert_int_equal(problem.status, VBD_E_TIMED_OUT);
	assert_string_equal(problem.object, "/v1/ud_peers/1");
	assert_int_equal(svc_count_events(svc, VBD_EVENT_UD_PEER_FAILED), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_UD_PEER_READY), 0);
	SVC_UNTIL(svc, ids(svc) == 0);
}

SVC_TEST(test_services_endpoints__a_peer_can_be_asked_by_its_name)
{
	struct vbd_endpoint_spec spec = endpoint_spec(PORT);
	struct vbd_endpoint_record *here;
	struct vbd_peer_record *peer;

	(void)snprintf(spec.addr, sizeof(spec.addr), "0.0.0.0");
	(void)open_as(svc, &spec);
	here = endpoint(svc, 0);
	peer = ask(svc, here, "localhost", PORT);
	assert_non_null(peer->resolution);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_READY || peer->peer.state == VBD_PEER_FAILED);
	assert_null(peer->resolution);
	assert_int_equal(peer->peer.error.status, VBD_OK);
	assert_int_equal(peer->peer.state, VBD_PEER_READY);
	peer = ask(svc, here, "nobody.invalid", PORT);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_int_equal(peer->peer.error.status, VBD_E_NAME_NOT_RESOLVED);
	/* A name that is no text is none. */
	peer = ask(svc, here, "\xff.example", PORT);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_int_equal(peer->peer.error.status, VBD_E_NAME_NOT_RESOLVED);
	/* A peer that goes meanwhile is not told. */
	peer = ask(svc, here, "localhost", PORT);
	assert_int_equal(vbd_peer_delete(peer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, !vbd_loop_has_work(svc->daemon->loop));
	assert_int_equal(vbd_registry_count(svc->daemon->ud_peers), 3);
}

static struct vbd_group_spec group_of(struct vbd_endpoint_record *endpoint, const char *addr)
{
	struct vbd_group_spec spec = {.endpoint = endpoint, .timeout_ms = 60000};

	(void)snprintf(spec.addr, sizeof(spec.addr), "%s", addr);
	return spec;
}

static void refuse_group(
	struct svc *svc, struct vbd_group_spec spec, enum vbd_status status, const char *pointer)
{
	struct vbd_group_record *record = NULL;
	uint64_t count = vbd_registry_count(svc->daemon->multicast_memberships);
	struct vbd_error err = {0};

	assert_int_equal(vbd_group_create(svc->daemon, &spec, &record, &err), status);
	assert_string_equal(err.pointer, pointer);
	assert_null(record);
	assert_int_equal(vbd_registry_count(svc->daemon->multicast_memberships), count);
}

static struct vbd_group_record *joining(struct svc *svc, struct vbd_endpoint_record *endpoint)
{
	const struct vbd_group_spec spec = {
		.endpoint = endpoint, .addr = "239.1.2.3", .timeout_ms = 60000};
	struct vbd_group_record *record = NULL;

	fake_block("rdma_join_multicast");
	assert_int_equal(vbd_group_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, fake_blocked() == 1);
	assert_int_equal(record->group.state, VBD_GROUP_IS_JOINING);
	return record;
}

SVC_TEST(test_services_endpoints__a_join_that_waits_keeps_nothing_but_its_id)
{
	static const int errnums[] = {0, EIO};
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	unsigned int before = ids(svc);

	for (size_t i = 0; i < VBD_ARRAY_LEN(errnums); i++) {
		struct vbd_group_record *record = joining(svc, here);

		if (errnums[i])
			fake_fail_next("rdma_join_multicast", errnums[i]);
		fake_multicast_joined(record->group.cm_id);
		SVC_UNTIL(svc, record->group.state == VBD_GROUP_IS_JOINED);
		vbd_object_delete(&record->object);
		SVC_UNTIL(svc, vbd_registry_count(svc->daemon->multicast_memberships) == 0);
		assert_int_equal(ids(svc), before + 1);
		fake_unblock();
		SVC_UNTIL(svc, ids(svc) == before);
	}
}

SVC_TEST(test_services_endpoints__a_join_that_fails_late_ends_the_group)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	unsigned int before = ids(svc);
	struct vbd_group_record *record = joining(svc, here);

	fake_fail_next("rdma_join_multicast", EIO);
	fake_multicast_joined(record->group.cm_id);
	SVC_UNTIL(svc, record->group.state == VBD_GROUP_IS_JOINED);
	fake_unblock();
	SVC_UNTIL(svc, record->group.state == VBD_GROUP_IS_FAILED);
	assert_string_equal(record->group.error.call, "rdma_join_multicast");
	assert_int_equal(fake_attached(here->endpoint->qp.ibv_qp), 0);
	SVC_UNTIL(svc, ids(svc) == before);
}

SVC_TEST(test_services_endpoints__a_group_has_a_multicast_address)
{
	static const struct {
		const char *addr;
		bool is_multicast;
	} rows[] = {
		{"223.255.255.255", false},
		{"224.0.0.0", true},
		{"239.255.255.255", true},
		{"240.0.0.0", false},
		{"10.0.0.1", false},
		{"fe80::1", false},
		{"ff0e::1", true},
		{"localhost", false},
	};
	struct vbd_endpoint_record *here = endpoint(svc, PORT);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const struct vbd_group_spec spec = group_of(here, rows[i].addr);
		struct vbd_group_record *record = NULL;

		if (rows[i].is_multicast)
			assert_int_equal(
				vbd_group_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
		else
			refuse_group(svc, spec, VBD_E_BAD_VALUE, "/addr");
	}
}

SVC_TEST(test_services_endpoints__an_endpoint_is_once_in_a_group)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	struct vbd_group_spec spec = group_of(here, "239.1.2.3");
	struct vbd_group_record *first = joined(svc, here, VBD_GROUP_FULL);
	struct vbd_group_record *other = NULL;

	refuse_group(svc, spec, VBD_E_WRONG_STATE, "/addr");
	spec = group_of(here, "239.1.2.4");
	assert_int_equal(vbd_group_create(svc->daemon, &spec, &other, &svc->err), VBD_OK);
	spec = group_of(here, "ff0e::1");
	assert_int_equal(vbd_group_create(svc->daemon, &spec, &other, &svc->err), VBD_OK);
	refuse_group(svc, spec, VBD_E_WRONG_STATE, "/addr");
	spec = group_of(here, "ff0e::2");
	assert_int_equal(vbd_group_create(svc->daemon, &spec, &other, &svc->err), VBD_OK);
	(void)joined(svc, endpoint(svc, PORT + 1), VBD_GROUP_FULL);
	/* A membership that was lost is none. */
	fake_cm_event(first->group.cm_id, RDMA_CM_EVENT_MULTICAST_ERROR, -ENETDOWN);
	SVC_UNTIL(svc, first->group.state == VBD_GROUP_IS_FAILED);
	(void)joined(svc, here, VBD_GROUP_FULL);
}

SVC_TEST(test_services_endpoints__a_member_needs_the_key_of_groups)
{
	struct vbd_endpoint_spec spec = endpoint_spec(0);
	struct vbd_endpoint_record *here;

	spec.params.qkey = VBD_CM_QKEY + 1;
	here = open_as(svc, &spec);
	refuse_group(svc,
		(struct vbd_group_spec){
			.endpoint = here, .addr = "239.1.2.3", .mode = VBD_GROUP_FULL},
		VBD_E_BAD_VALUE, "/mode");
	(void)joined(svc, here, VBD_GROUP_SEND_ONLY);
}

SVC_TEST(test_services_endpoints__a_group_that_nobody_opens_in_time_fails)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	const struct vbd_group_spec spec = {.endpoint = here, .addr = "239.1.2.3", .timeout_ms = 5};
	struct vbd_group_record *record = NULL;
	struct vbd_error problem;

	fake_loopback(false);
	assert_int_equal(vbd_group_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->group.state == VBD_GROUP_IS_FAILED);
	assert_true(record->object.ended);
	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_TIMED_OUT);
	assert_string_equal(problem.object, "/v1/multicast_memberships/1");
	assert_int_equal(svc_count_events(svc, VBD_EVENT_MULTICAST_MEMBERSHIP_FAILED), 1);
	SVC_UNTIL(svc, ids(svc) == 0);
}

static void refuse_datagram(
	struct svc *svc, const struct vbd_transfer_spec *to, const char *pointer)
{
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0};

	assert_int_equal(vbd_transfer_send(svc->daemon, to, (const uint8_t *)"a", 1, NULL, 1000,
				 &record, &err),
		VBD_E_WRONG_STATE);
	assert_string_equal(err.pointer, pointer);
	assert_null(record);
}

SVC_TEST(test_services_endpoints__a_destination_that_is_not_there_yet_is_refused)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	const struct vbd_group_spec spec = {
		.endpoint = here, .addr = "239.1.2.3", .timeout_ms = 60000};
	struct vbd_group_record *group = NULL;

	fake_loopback(false);
	assert_int_equal(vbd_group_create(svc->daemon, &spec, &group, &svc->err), VBD_OK);
	refuse_datagram(svc,
		&(const struct vbd_transfer_spec){.qp = &here->endpoint->qp, .group = group},
		"/multicast_membership");
	refuse_datagram(svc,
		&(const struct vbd_transfer_spec){
			.qp = &here->endpoint->qp, .peer = ask(svc, here, "10.0.0.1", PORT)},
		"/ud_peer");
}

SVC_TEST(test_services_endpoints__a_membership_can_be_lost)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	struct vbd_group_record *member = joined(svc, here, VBD_GROUP_FULL);

	fake_cm_event(member->group.cm_id, RDMA_CM_EVENT_MULTICAST_ERROR, -ENETDOWN);
	SVC_UNTIL(svc, member->group.state == VBD_GROUP_IS_FAILED);
	assert_int_equal(fake_attached(here->endpoint->qp.ibv_qp), 0);
	assert_int_equal(here->endpoint->state, VBD_ENDPOINT_READY);
}

SVC_TEST(test_services_endpoints__an_end_takes_peers_and_groups_along)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);

	(void)asked(svc, here);
	(void)joined(svc, here, VBD_GROUP_FULL);
	vbd_object_delete(&here->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0);
	assert_int_equal(vbd_registry_count(svc->daemon->ud_peers), 0);
	assert_int_equal(vbd_registry_count(svc->daemon->multicast_memberships), 0);
	assert_int_equal(svc->daemon->qp_receives_bytes, 0);
	SVC_UNTIL(svc, ids(svc) == 0 && fake_live().ahs == 0);
}

SVC_TEST(test_services_endpoints__a_failed_completion_ends_it_with_its_error)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	struct vbd_peer_record *peer = asked(svc, here);

	fake_recv_failed(here->endpoint->qp.ibv_qp, IBV_WC_LOC_PROT_ERR, 5);
	SVC_UNTIL(svc, here->object.ended);
	assert_int_equal(here->endpoint->state, VBD_ENDPOINT_FAILED);
	assert_int_equal(here->endpoint->qp.reason, VBD_REASON_LOCAL_ERROR);
	assert_int_equal(here->endpoint->qp.first_error.error.kind, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(here->endpoint->qp.first_error.op, VBD_OP_RECV);
	assert_int_equal(peer->peer.state, VBD_PEER_FAILED);
	assert_int_equal(svc->daemon->ud_endpoints->open, 0);
	assert_int_equal(svc->daemon->ud_endpoints_ended[VBD_REASON_LOCAL_ERROR], 1);
}

SVC_TEST(test_services_endpoints__an_async_error_of_the_qp_ends_it)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0);

	fake_qp_async(here->endpoint->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	SVC_UNTIL(svc, here->object.ended);
	assert_int_equal(here->endpoint->qp.reason, VBD_REASON_QP_FATAL);
	assert_int_equal(here->endpoint->qp.first_error.error.source, VBD_SOURCE_ASYNC);
}

SVC_TEST(test_services_endpoints__flushes_that_never_come_are_not_waited_for)
{
	struct vbd_endpoint_record *here;

	svc->config.drain_timeout_ms = 20;
	svc_restart(svc);
	here = endpoint(svc, PORT);
	(void)joined(svc, here, VBD_GROUP_FULL);
	fake_flushes_withheld(true);
	vbd_object_delete(&here->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0);
	fake_flushes_withheld(false);
}

SVC_TEST(test_services_endpoints__a_removed_device_is_let_go)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);

	(void)asked(svc, here);
	(void)ask(svc, here, "10.0.0.1", PORT);
	(void)joined(svc, here, VBD_GROUP_FULL);
	fake_device_unplug(svc->device);
	fake_device_cm_removal(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, here->object.ended);
	assert_int_equal(here->endpoint->qp.reason, VBD_REASON_DEVICE_REMOVED);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
}

SVC_TEST(test_services_endpoints__one_of_another_device_is_not_told)
{
	struct vbd_endpoint_spec spec = endpoint_spec(0);
	struct vbd_endpoint_record *here = NULL;
	struct fake_device *other = fake_device_add("fake1");

	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	(void)snprintf(spec.addr, sizeof(spec.addr), "0.0.0.0");
	(void)snprintf(spec.device, sizeof(spec.device), "fake0");
	spec.port = PORT;
	here = open_as(svc, &spec);
	(void)fake_connect_request(here->endpoint->listen_id, other);
	SVC_UNTIL(svc, here->endpoint->sidr_requests == 1);
	assert_int_equal(here->endpoint->sidr_refused, 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_UD_ENDPOINT_RESOLVED), 1);

	/* An address of another device is refused too. */
	(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	(void)snprintf(spec.device, sizeof(spec.device), "fake1");
	spec.port = PORT + 1;
	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &here, NULL), VBD_E_BAD_VALUE);
}

/* The entry that a connection brought up by hand takes on the same port. */
static uint32_t gid_index_of_connection(struct svc *svc)
{
	const struct vbd_manual_params how = {.port_num = 1};
	struct vbd_manual_local local = {.gid_index = 99};

	assert_int_equal(vbd_manual_choose(vbd_fabric_default_device(svc->daemon->fabric), &how,
				 &local, &svc->err),
		VBD_OK);
	return local.gid_index;
}

static void set_gid(struct svc *svc, size_t i, uint32_t type, const char *raw)
{
	struct ibv_gid_entry *entry = &svc->device->gids[i];

	*entry = (struct ibv_gid_entry){.gid_index = (uint32_t)i, .port_num = 1, .gid_type = type};
	memcpy(entry->gid.raw, raw, 16);
	svc->device->gid_count = i + 1;
}

SVC_TEST(test_services_endpoints__the_gid_is_the_one_that_a_connection_takes)
{
	uint32_t gid_index;

	set_gid(svc, 0, IBV_GID_TYPE_ROCE_V2, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1");
	set_gid(svc, 1, IBV_GID_TYPE_ROCE_V2, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1");
	gid_index = gid_index_of_connection(svc);
	assert_int_equal(gid_index, 1);
	assert_int_equal(endpoint(svc, 0)->endpoint->params.gid_index, gid_index);
}

SVC_TEST(test_services_endpoints__a_datagram_is_not_longer_than_the_mtu)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);
	const struct vbd_transfer_spec to = {.qp = &here->endpoint->qp, .peer = asked(svc, here)};
	struct vbd_transfer_spec from_buffer = {
		.qp = to.qp, .peer = to.peer, .op = VBD_OP_SEND, .timeout_ms = 1000};
	static uint8_t data[8192];
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0}, long_err;
	char mtu[16];

	(void)snprintf(mtu, sizeof(mtu), " %u ", here->endpoint->mtu_bytes);
	assert_int_equal(vbd_transfer_send(svc->daemon, &to, data, here->endpoint->mtu_bytes + 1,
				 NULL, 1000, &record, &err),
		VBD_E_MESSAGE_TOO_LONG);
	assert_string_equal(err.pointer, "/data");
	from_buffer.buffer = svc_buffer(svc, "", sizeof(data), 0);
	from_buffer.length_bytes = here->endpoint->mtu_bytes + 1;
	long_err = (struct vbd_error){0};
	assert_int_equal(vbd_transfer_create(svc->daemon, &from_buffer, &record, &long_err),
		VBD_E_MESSAGE_TOO_LONG);
	assert_string_equal(long_err.pointer, "/length_bytes");
	assert_non_null(strstr(err.text, mtu));
	assert_int_equal(vbd_transfer_send(svc->daemon, &to, data, here->endpoint->mtu_bytes, NULL,
				 10000, &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, is_over(record));
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
}

/* Whether an endpoint gets ready; if not it is deleted. */
static bool opens(struct svc *svc, const struct vbd_endpoint_spec *spec)
{
	struct vbd_endpoint_record *record;

	if (vbd_endpoint_create(svc->daemon, spec, &record, NULL) != VBD_OK)
		return false;
	SVC_UNTIL(svc, record->endpoint->state != VBD_ENDPOINT_OPENING);
	if (record->endpoint->state == VBD_ENDPOINT_READY)
		return true;
	assert_int_equal(record->endpoint->state, VBD_ENDPOINT_FAILED);
	assert_int_equal(record->endpoint->qp.reason, VBD_REASON_RESOURCE_ERROR);
	vbd_object_delete(&record->object);
	return false;
}

/* Each call fails in turn and no object is left: svc_teardown() counts. */
SVC_TEST(test_services_endpoints__each_call_may_fail)
{
	const struct vbd_endpoint_spec spec = endpoint_spec(PORT);

	for (unsigned int n = 1;; n++) {
		bool is_open;

		fake_fail_nth(n, ENOMEM);
		is_open = opens(svc, &spec);
		fake_fail_nth(0, 0);
		if (is_open) {
			assert_true(n > 5);
			break;
		}
		expect_nothing_left(svc);
	}
	assert_int_equal(svc->daemon->ud_endpoints->open, 1);
}

SVC_TEST(test_services_endpoints__each_allocation_may_fail)
{
	const struct vbd_endpoint_spec spec = endpoint_spec(PORT);

	for (unsigned int n = 1;; n++) {
		bool is_open;

		fake_memory_fail_nth(n);
		is_open = opens(svc, &spec);
		if (!fake_memory_failed()) {
			assert_true(is_open);
			break;
		}
		fake_memory_fail_nth(0);
		if (is_open)
			vbd_object_delete(vbd_registry_after(svc->daemon->ud_endpoints, 0));
		expect_nothing_left(svc);
	}
	fake_memory_fail_nth(0);
}

SVC_TEST(test_services_endpoints__large_receives_do_not_hold_the_control_thread_up)
{
	struct vbd_endpoint_record *slow = begin_slow(svc, PORT);
	struct vbd_error err = {0};

	svc_turn(svc);
	assert_int_equal(slow->endpoint->state, VBD_ENDPOINT_OPENING);
	assert_int_equal(
		slow->endpoint->qp.ops->check_usable(&slow->endpoint->qp, &err), VBD_E_WRONG_STATE);
	assert_int_equal(svc->daemon->qp_receives_bytes, slow->receive_bytes);
	fake_unblock();
	SVC_UNTIL(svc, slow->endpoint->state == VBD_ENDPOINT_READY);
	assert_int_equal(fake_on_control(), 0);
	(void)asked(svc, endpoint(svc, 0));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_UD_ENDPOINT_STATE_CHANGED), 2);
}

SVC_TEST(test_services_endpoints__one_that_opens_refuses_to_tell_its_number)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	struct vbd_endpoint_record *slow = begin_slow(svc, PORT);
	struct vbd_peer_record *peer = ask(svc, here, "10.0.0.1", PORT);

	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_int_equal(peer->peer.error.status, VBD_E_REJECTED);
	assert_int_equal(slow->endpoint->sidr_refused, 1);
	fake_unblock();
	SVC_UNTIL(svc, slow->endpoint->state == VBD_ENDPOINT_READY);
	(void)asked(svc, here);
}

SVC_TEST(test_services_endpoints__one_that_is_deleted_while_it_opens_is_not_made)
{
	struct vbd_endpoint_record *slow = begin_slow(svc, PORT);

	assert_false(vbd_object_delete(&slow->object));
	assert_int_equal(slow->endpoint->state, VBD_ENDPOINT_CLOSING);
	SVC_UNTIL(svc, ids(svc) == 0);
	svc_turn(svc);
	assert_int_equal(slow->endpoint->state, VBD_ENDPOINT_CLOSING);
	fake_unblock();
	expect_nothing_left(svc);
	assert_int_equal(fake_count("ibv_create_qp"), 0);
	assert_int_equal(svc->daemon->ud_endpoints_ended[VBD_REASON_LOCAL_CLOSE], 1);
}

SVC_TEST(test_services_endpoints__a_failed_registration_ends_a_deleted_one_cleanly)
{
	struct vbd_endpoint_record *slow;

	fake_fail_next("ibv_reg_mr", ENOMEM);
	slow = begin_slow(svc, PORT);
	vbd_object_delete(&slow->object);
	fake_unblock();
	expect_nothing_left(svc);
	assert_int_equal(svc->daemon->ud_endpoints_ended[VBD_REASON_LOCAL_CLOSE], 1);
}

SVC_TEST(test_services_endpoints__a_device_removed_meanwhile_is_let_go)
{
	struct vbd_endpoint_record *slow = begin_slow(svc, PORT);

	fake_device_unplug(svc->device);
	fake_device_cm_removal(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, slow->endpoint->state == VBD_ENDPOINT_CLOSING);
	SVC_UNTIL(svc, ids(svc) == 0);
	assert_false(slow->object.ended);
	fake_unblock();
	SVC_UNTIL(svc, slow->object.ended);
	assert_int_equal(slow->endpoint->state, VBD_ENDPOINT_FAILED);
	assert_int_equal(slow->endpoint->qp.reason, VBD_REASON_DEVICE_REMOVED);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(fake_count("ibv_create_qp"), 0);
}

static void has_stopped(void *arg)
{
	*(bool *)arg = true;
}

SVC_TEST(test_services_endpoints__a_daemon_that_stops_waits_for_the_registration)
{
	struct vbd_endpoint_record *slow = begin_slow(svc, PORT);
	bool stopped = false;

	vbd_daemon_stop(svc->daemon, has_stopped, &stopped);
	svc_turn(svc);
	assert_false(stopped);
	assert_int_equal(slow->endpoint->state, VBD_ENDPOINT_CLOSING);
	fake_unblock();
	SVC_UNTIL(svc, stopped);
	assert_int_equal(slow->endpoint->state, VBD_ENDPOINT_CLOSED);
	assert_int_equal(fake_live().qps + slabs_other_mrs(svc->daemon->fabric), 0);
	svc->stopped = true;
}

SVC_TEST(test_services_endpoints__a_drain_begins_none_and_asks_nobody)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0), *more = NULL;
	const struct vbd_endpoint_spec spec = endpoint_spec(PORT);
	const struct vbd_peer_spec peer_spec = {.endpoint = here,
		.dst_addr = "10.0.0.1",
		.dst_port = PORT,
		.timeout_ms = 60000,
		.gid_index = -1};
	const struct vbd_group_spec group_spec = {
		.endpoint = here, .addr = "239.1.2.3", .mode = VBD_GROUP_FULL, .timeout_ms = 60000};
	struct vbd_group_record *group = NULL;
	struct vbd_peer_record *peer = NULL;

	vbd_drain_begin(svc->daemon, 0);
	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &more, NULL), VBD_E_DRAINING);
	assert_int_equal(vbd_peer_create(svc->daemon, &peer_spec, &peer, NULL), VBD_E_DRAINING);
	assert_int_equal(vbd_group_create(svc->daemon, &group_spec, &group, NULL), VBD_E_DRAINING);
	assert_int_equal(vbd_drain_undo(svc->daemon, &svc->err), VBD_OK);
	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &more, &svc->err), VBD_OK);
	SVC_UNTIL(svc, more->endpoint->state == VBD_ENDPOINT_READY);
}

/* As a transfer does whose cancel was not heard; no request of the device failed. */
SVC_TEST(test_services_endpoints__an_end_for_a_transfer_names_it_and_no_request)
{
	struct vbd_endpoint_record *here = endpoint(svc, 0);
	struct vbd_qp *qp = &here->endpoint->qp;
	struct vbd_error why = {.source = VBD_SOURCE_DEADLINE, .raw = 5};

	(void)vbd_error_set(&why, VBD_E_TIMED_OUT, "it took too long");
	qp->ops->end(qp, &why, 7);
	assert_int_equal(qp->first_error.op, -1);
	assert_int_equal(qp->first_error.transfer, 7);
	assert_int_equal(qp->first_error.error.status, VBD_E_TIMED_OUT);
	assert_string_equal(qp->first_error.error.text, "it took too long");
	assert_int_equal(qp->reason, VBD_REASON_TIMED_OUT);
	SVC_UNTIL(svc, here->object.ended);
}

SVC_TEST(test_services_endpoints__the_limits_hold)
{
	struct vbd_endpoint_spec spec = endpoint_spec(0);
	struct vbd_endpoint_record *record = NULL;
	struct vbd_error err = {0};

	svc->config.limits.objects = 1;
	svc_restart(svc);
	(void)asked(svc, endpoint(svc, PORT));
	assert_int_equal(
		vbd_endpoint_create(svc->daemon, &spec, &record, &err), VBD_E_LIMIT_REACHED);
	svc->config.limits.objects = 2;
	svc->config.limits.receives_bytes = 4096;
	svc_restart(svc);
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		vbd_endpoint_create(svc->daemon, &spec, &record, &err), VBD_E_LIMIT_EXCEEDED);
	assert_int_equal(err.limit, 4096);
	assert_string_equal(err.pointer, "/qp");
}

SVC_TEST(test_services_endpoints__stopping_ends_what_is_under_way)
{
	struct vbd_endpoint_record *here = endpoint(svc, PORT);

	(void)asked(svc, here);
	(void)joined(svc, here, VBD_GROUP_FULL);
	fake_loopback(false);
	(void)ask(svc, here, "10.0.0.1", PORT);
	svc_stop(svc);
	fake_loopback(true);
}

/* Planted leaks; the fixture finds that nothing is in an account any more. */
SVC_TEST(test_services_endpoints__an_account_ends_with_its_owner)
{
	struct vbd_endpoint_record *from = endpoint(svc, 0);
	struct vbd_endpoint_record *to = endpoint(svc, PORT);

	vbd_account_made(&from->endpoint->account, VBD_PV_CONTEXT);
	vbd_account_made(&asked(svc, from)->peer.account, VBD_PV_CONTEXT);
	vbd_account_made(&joined(svc, to, VBD_GROUP_FULL)->group.account, VBD_PV_CONTEXT);
}
