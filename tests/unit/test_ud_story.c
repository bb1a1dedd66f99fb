/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints, their peers and their groups tell of their lives. */
#include "daemon/datagrams/endpoints.h"

#include "tests/unit/svc.h"

#define PORT 7174

static char told[8192]; /* lines of the log */

/* Workers and call threads log nothing of these. */
static void on_log(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	static const char *const objects[] = {"endpoint", "peer", "group"};
	size_t used = strlen(told);

	(void)level;
	(void)arg;
	for (size_t i = 0; i < VBD_ARRAY_LEN(objects); i++) {
		if (object && strcmp(object, objects[i]) == 0)
			(void)snprintf(told + used, sizeof(told) - used, "%s %s\n", object, text);
	}
}

static int setup(void **state)
{
	int rc = svc_setup(state);

	told[0] = '\0';
	vbd_log_setup(VBD_LOG_DEBUG, VBD_LOG_TEXT);
	vbd_log_set_observer(on_log, NULL);
	return rc;
}

static int teardown(void **state)
{
	int rc = svc_teardown(state);

	vbd_log_set_observer(NULL, NULL);
	return rc;
}

#define UD_STORY_TEST(name) TEST_WITH(name, struct svc *svc, setup, teardown)

static void assert_told(const char *text)
{
	if (strcmp(told, text) != 0) {
		for (char *line = strtok(told, "\n"); line; line = strtok(NULL, "\n"))
			print_message("\t\t\"%s\\n\"\n", line);
		fail_msg("this is another story");
	}
	told[0] = '\0';
}

static struct vbd_endpoint_record *open_at(struct svc *svc, uint16_t port)
{
	struct vbd_endpoint_spec spec = {.port = port, .params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *record = NULL;

	spec.params.qp.rq_depth = 4;
	if (port)
		(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->endpoint->state == VBD_ENDPOINT_READY);
	return record;
}

static struct vbd_peer_record *ask(struct svc *svc, struct vbd_endpoint_record *from, uint16_t port)
{
	struct vbd_peer_spec spec = {
		.endpoint = from, .dst_port = port, .timeout_ms = 60000, .gid_index = -1};
	struct vbd_peer_record *record = NULL;

	(void)snprintf(spec.dst_addr, sizeof(spec.dst_addr), "10.0.0.1");
	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	return record;
}

static struct vbd_group_record *join(struct svc *svc, struct vbd_endpoint_record *endpoint)
{
	const struct vbd_group_spec spec = {
		.endpoint = endpoint, .addr = "239.1.2.3", .timeout_ms = 60000};
	struct vbd_group_record *record = NULL;

	assert_int_equal(vbd_group_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	return record;
}

UD_STORY_TEST(test_ud_story__an_endpoint_opens_asks_joins_and_ends)
{
	struct vbd_endpoint_record *here = open_at(svc, PORT);
	struct vbd_group_record *group;
	const struct vbd_peer_record *peer;

	assert_told("endpoint 1 opening -> ready (prepared)\n"
		    "endpoint 1: QP RESET -> INIT\n"
		    "endpoint 1: QP INIT -> RTR\n"
		    "endpoint 1: QP RTR -> RTS\n");
	peer = ask(svc, here, PORT);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_READY);
	assert_told("peer 1 resolving_addr -> resolving_route (addr_resolved)\n"
		    "peer 1 resolving_route -> asking (route_resolved)\n"
		    "peer 1 asking -> making_ah (answered)\n"
		    "peer 1 making_ah -> ready (ah_made)\n");
	group = join(svc, here);
	SVC_UNTIL(svc, group->group.state == VBD_GROUP_IS_JOINED);
	assert_told("group 1 resolving -> joining (addr_resolved)\n"
		    "group 1 joining -> joined (member)\n");
	vbd_object_delete(&group->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->multicast_memberships) == 0);
	assert_told("group 1 joined -> leaving (cmd_leave)\n"
		    "group 1 leaving -> left (idle)\n");
	vbd_object_delete(&here->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0);
	assert_told("endpoint 1 ready -> closing (cmd_close)\n"
		    "endpoint 1: QP RTS -> ERR\n"
		    "endpoint 1 closing -> closed (drained_clean)\n"
		    "peer 1 ready -> failed (endpoint_ended)\n");
}

UD_STORY_TEST(test_ud_story__errors_name_what_failed)
{
	struct vbd_endpoint_record *here = open_at(svc, PORT);
	const struct vbd_group_record *group = join(svc, here);
	struct vbd_peer_record *peer;

	SVC_UNTIL(svc, group->group.state == VBD_GROUP_IS_JOINED);
	told[0] = '\0';
	peer = ask(svc, here, PORT + 9);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_string_equal(
		peer->peer.error.text, "nobody listens on that port (service id not supported)");
	assert_told("peer 1 resolving_addr -> resolving_route (addr_resolved)\n"
		    "peer 1 resolving_route -> asking (route_resolved)\n"
		    "peer 1 asking -> failed (rejected)\n");
	fake_fail_next("ibv_create_ah", EIO);
	peer = ask(svc, here, PORT);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_string_equal(
		peer->peer.error.text, "by the script: ibv_create_ah: Input/output error (EIO)");
	assert_told("peer 2 resolving_addr -> resolving_route (addr_resolved)\n"
		    "peer 2 resolving_route -> asking (route_resolved)\n"
		    "peer 2 asking -> making_ah (answered)\n"
		    "peer 2 making_ah -> failed (ah_failed)\n");
	peer = ask(svc, here, PORT);
	vbd_peer_deadline(&peer->peer);
	assert_string_equal(
		peer->peer.error.text, "the deadline passed, waiting for the address of the host");
	peer = ask(svc, here, PORT);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_READY);
	fake_cm_event(group->group.cm_id, RDMA_CM_EVENT_MULTICAST_ERROR, -ENETDOWN);
	SVC_UNTIL(svc, group->group.state == VBD_GROUP_IS_FAILED);
	assert_string_equal(group->group.error.text, "The multicast group could not be joined");
	told[0] = '\0';
	fake_recv_failed(here->endpoint->qp.ibv_qp, IBV_WC_LOC_PROT_ERR, 5);
	SVC_UNTIL(svc, here->object.ended);
	assert_told("endpoint 1 ready -> closing (wc_error)\n"
		    "endpoint 1: QP RTS -> ERR\n"
		    "endpoint 1 closing -> failed (drained_failed)\n"
		    "peer 4 ready -> failed (endpoint_ended)\n");
	assert_string_equal(here->endpoint->qp.first_error.error.text,
		"recv: The local key does not cover the local memory (IBV_WC_LOC_PROT_ERR, "
		"vendor_err 5)");
	assert_string_equal(peer->peer.error.text, "the peer's endpoint ended");
}

UD_STORY_TEST(test_ud_story__hints_and_refusals_that_fail_are_logged)
{
	struct fake_device *other = fake_device_add("fake1");
	struct vbd_endpoint_record *here = open_at(svc, PORT);
	struct vbd_endpoint_spec spec = {.port = PORT + 1,
		.addr = "10.0.0.1",
		.device = "fake1",
		.params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *none = NULL;
	struct vbd_error err = {0};

	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	told[0] = '\0';
	fake_cm_event(here->endpoint->listen_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	fake_fail_next("rdma_reject", EIO);
	(void)fake_connect_request(here->endpoint->listen_id, other);
	SVC_UNTIL(svc, here->endpoint->sidr_refused == 1);
	assert_told("endpoint ignores RDMA_CM_EVENT_ADDR_CHANGE\n"
		    "endpoint by the script: rdma_reject: Input/output error (EIO)\n");
	assert_int_equal(here->endpoint->sidr_requests, 1);
	assert_int_equal(here->endpoint->sidr_answered, 0);
	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &none, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.text, "the address belongs to device fake0, not to fake1");
	fake_qp_async(here->endpoint->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	SVC_UNTIL(svc, here->object.ended);
	assert_string_equal(here->endpoint->qp.first_error.error.text, "A QP failed");
}

UD_STORY_TEST(test_ud_story__a_peer_gets_what_an_endpoint_answers)
{
	struct vbd_endpoint_spec spec = {
		.port = PORT, .addr = "10.0.0.1", .params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *there = NULL;
	const struct vbd_peer_record *peer;

	spec.params.reply.length_bytes = 5;
	memcpy(spec.params.reply.bytes, "hello", 5);
	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &there, &svc->err), VBD_OK);
	SVC_UNTIL(svc, there->endpoint->state == VBD_ENDPOINT_READY);
	peer = ask(svc, open_at(svc, 0), PORT);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_READY);
	assert_true(peer->peer.known);
	assert_int_equal(peer->peer.qpn, there->endpoint->qp.info.lqpn);
	assert_int_equal(peer->peer.answer.message, VBD_CM_MESSAGE_SIDR_REPLY);
	/* The CM fills its message up with zeros. */
	assert_in_range(peer->peer.answer.length_bytes, 6, VBD_PRIVATE_DATA_MAX);
	assert_memory_equal(peer->peer.answer.bytes, "hello\0", 6);
	assert_true(peer->peer.path.is_global);
	assert_int_equal(peer->peer.path.port_num, 1);
}

UD_STORY_TEST(test_ud_story__an_address_that_can_not_be_asked_for_says_why)
{
	static const char *const calls[] = {"rdma_create_id", "rdma_resolve_addr"};
	struct vbd_endpoint_record *here = open_at(svc, PORT);
	char text[80];

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		const struct vbd_group_record *group;
		const struct vbd_peer_record *peer;

		(void)snprintf(text, sizeof(text), "by the script: %s: Input/output error (EIO)",
			calls[i]);
		fake_fail_next(calls[i], EIO);
		group = join(svc, here);
		SVC_UNTIL(svc, group->group.state == VBD_GROUP_IS_FAILED);
		assert_string_equal(group->group.error.text, text);
		fake_fail_next(calls[i], EIO);
		peer = ask(svc, here, PORT);
		SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
		assert_string_equal(peer->peer.error.text, text);
	}
}

UD_STORY_TEST(test_ud_story__errors_behind_the_first_are_counted)
{
	struct vbd_endpoint_record *here = open_at(svc, PORT);
	struct vbd_qp *qp = &here->endpoint->qp;

	vbd_endpoint_close(here->endpoint, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(qp->errors_after_first, 0);
	qp->ops->on_async(qp, IBV_EVENT_QP_FATAL);
	assert_int_equal(qp->errors_after_first, 1);
	qp->ops->on_async(qp, IBV_EVENT_COMM_EST);
	assert_int_equal(qp->errors_after_first, 1);
	SVC_UNTIL(svc, here->object.ended);
	assert_int_equal(here->endpoint->state, VBD_ENDPOINT_CLOSED);
}

struct cm_row {
	enum rdma_cm_event_type type;
	int status;
	const char *name; /* of the event in the table of states; NULL: the event is ignored */
	enum vbd_status error;
	const char *text;
};

static void assert_outcome(const char *object, unsigned long long id, const char *state,
	const struct cm_row *row, const struct vbd_error *error)
{
	char line[120] = "";

	if (row->name)
		(void)snprintf(line, sizeof(line), "%s %llu %s -> failed (%s)\n", object, id, state,
			row->name);
	assert_told(line);
	assert_int_equal(error->status, row->error);
	assert_string_equal(error->text, row->text);
	if (row->name) {
		assert_int_equal(error->source, VBD_SOURCE_CM_EVENT);
		assert_int_equal(error->kind, row->type);
		assert_int_equal(error->raw, row->status);
	}
}

UD_STORY_TEST(test_ud_story__each_event_of_the_cm_means_one_thing_to_a_peer)
{
	static const struct cm_row rows[] = {
		{RDMA_CM_EVENT_ADDR_ERROR, -1, "addr_error", VBD_E_ADDR_ERROR,
			"The address could not be resolved"},
		{RDMA_CM_EVENT_ROUTE_ERROR, -2, "route_error", VBD_E_ROUTE_ERROR,
			"No path to the peer was found"},
		/* A negative answer. */
		{RDMA_CM_EVENT_UNREACHABLE, 1, "rejected", VBD_E_REJECTED,
			"nobody listens on that port (service id not supported)"},
		{RDMA_CM_EVENT_REJECTED, 1, "rejected", VBD_E_REJECTED,
			"nobody listens on that port (service id not supported)"},
		{RDMA_CM_EVENT_CONNECT_ERROR, -4, "connect_error", VBD_E_CONNECT_ERROR,
			"The connection could not be made"},
		{RDMA_CM_EVENT_DEVICE_REMOVAL, 0, "device_removal", VBD_E_DEVICE_REMOVED,
			"The RDMA device is being removed"},
		{RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, VBD_OK, ""},
		{RDMA_CM_EVENT_ESTABLISHED, 0, NULL, VBD_OK, ""},
		{RDMA_CM_EVENT_DISCONNECTED, 0, NULL, VBD_OK, ""},
		{RDMA_CM_EVENT_ADDR_CHANGE, 0, NULL, VBD_OK, ""},
		{RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, VBD_OK, ""},
	};
	struct vbd_endpoint_record *here = open_at(svc, PORT);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const struct vbd_pv_cm_event event = {
			.type = rows[i].type, .status = rows[i].status};
		struct vbd_peer_record *peer = ask(svc, here, PORT);

		told[0] = '\0';
		vbd_peer_on_cm_event(&peer->peer, &event);
		assert_outcome(
			"peer", peer->peer.id, "resolving_addr", &rows[i], &peer->peer.error);
		assert_int_equal(vbd_peer_delete(peer, &svc->err), VBD_OK);
		svc_turn(svc);
	}
}

UD_STORY_TEST(test_ud_story__each_event_of_the_cm_means_one_thing_to_a_group)
{
	static const struct cm_row rows[] = {
		{RDMA_CM_EVENT_ADDR_ERROR, -1, "addr_error", VBD_E_ADDR_ERROR,
			"The address could not be resolved"},
		{RDMA_CM_EVENT_MULTICAST_ERROR, -2, "no_member", VBD_E_ADDR_ERROR,
			"The multicast group could not be joined"},
		{RDMA_CM_EVENT_DEVICE_REMOVAL, 0, "device_removal", VBD_E_DEVICE_REMOVED,
			"The RDMA device is being removed"},
		{RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, VBD_OK, ""},
		{RDMA_CM_EVENT_UNREACHABLE, -1, NULL, VBD_OK, ""},
		{RDMA_CM_EVENT_ADDR_CHANGE, 0, NULL, VBD_OK, ""},
	};
	struct vbd_endpoint_record *here = open_at(svc, PORT);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const struct vbd_pv_cm_event event = {
			.type = rows[i].type, .status = rows[i].status};
		struct vbd_group_record *group = join(svc, here);

		told[0] = '\0';
		vbd_group_on_cm_event(&group->group, &event);
		assert_outcome(
			"group", group->group.id, "resolving", &rows[i], &group->group.error);
		vbd_object_delete(&group->object);
		svc_turn(svc);
	}
}

static const struct vbd_pv_cm_event silence = {
	.type = RDMA_CM_EVENT_UNREACHABLE, .status = -ETIMEDOUT};

UD_STORY_TEST(test_ud_story__a_peer_that_is_away_is_asked_again)
{
	struct vbd_peer_record *peer = ask(svc, open_at(svc, PORT), PORT);

	told[0] = '\0';
	vbd_peer_on_cm_event(&peer->peer, &silence);
	assert_null(peer->peer.cm_id);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_READY);
	assert_null(peer->peer.tries);
	assert_told("peer 1: a try failed: The peer does not answer, or its neighbour entry "
		    "changed\n"
		    "peer 1 resolving_addr -> retrying (try_failed)\n"
		    "peer 1 retrying -> resolving_addr (next_try)\n"
		    "peer 1 resolving_addr -> resolving_route (addr_resolved)\n"
		    "peer 1 resolving_route -> asking (route_resolved)\n"
		    "peer 1 asking -> making_ah (answered)\n"
		    "peer 1 making_ah -> ready (ah_made)\n");
	vbd_peer_deadline(&peer->peer);
	assert_int_equal(peer->peer.state, VBD_PEER_READY);
}

UD_STORY_TEST(test_ud_story__the_end_of_the_time_says_why_no_peer_answered)
{
	static const char text[] =
		"The peer does not answer, or its neighbour entry changed; 2 tries in ";
	struct vbd_endpoint_record *here = open_at(svc, PORT);
	struct vbd_peer_record *peer = ask(svc, here, PORT);

	vbd_peer_on_cm_event(&peer->peer, &silence);
	vbd_peer_deadline(&peer->peer);
	assert_int_equal(peer->peer.state, VBD_PEER_RESOLVING_ADDR);
	vbd_peer_deadline(&peer->peer);
	assert_int_equal(peer->peer.state, VBD_PEER_FAILED);
	assert_int_equal(peer->peer.error.status, VBD_E_UNREACHABLE);
	assert_memory_equal(peer->peer.error.text, text, strlen(text));
	assert_null(peer->peer.tries);
	/* A client may delete it between two tries, and its endpoint may end. */
	peer = ask(svc, here, PORT);
	vbd_peer_on_cm_event(&peer->peer, &silence);
	assert_int_equal(vbd_peer_delete(peer, &svc->err), VBD_OK);
	peer = ask(svc, here, PORT);
	vbd_peer_on_cm_event(&peer->peer, &silence);
	told[0] = '\0';
	vbd_object_delete(&here->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0);
	assert_non_null(strstr(told, "peer 3 retrying -> failed (endpoint_ended)\n"));
}
