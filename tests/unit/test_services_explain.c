/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "daemon/core/traces.h"
#include "daemon/observe/explain.h"
#include "rdma/data/worker.h"
#include "rdma/diagnose/why.h"
#include "tests/unit/svc.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOPBACK_INDEX 1 /* index of "lo", in every network namespace */

static struct vbd_explanation explained; /* too large for a stack frame */

static bool has(enum vbd_finding_code code)
{
	for (size_t i = 0; i < explained.verdicts.finding_count; i++) {
		if (explained.verdicts.findings[i].row == &vbd_finding_rows[code])
			return true;
	}
	return false;
}

static void assert_said(const char *part)
{
	if (!strstr(explained.summary, part))
		fail_msg("'%s' is not in: %s", part, explained.summary);
	assert_int_equal(explained.summary[strlen(explained.summary) - 1], '.');
}

/* In @expected "#" stands for any number. */
static void assert_first_line(const char *expected)
{
	const char *is = explained.summary, *wanted = expected;

	while (*wanted && (*wanted == '#' ? *is >= '0' && *is <= '9' : *is == *wanted)) {
		is += *wanted == '#' ? strspn(is, "0123456789") : 1;
		wanted++;
	}
	if (*wanted || *is)
		fail_msg("it says '%s', not '%s'", explained.summary, expected);
}

static struct sockaddr_storage four(const char *text)
{
	struct sockaddr_storage addr = {.ss_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&addr)->sin_addr), 1);
	return addr;
}

/* The names are those of the first error and of the reason. */
static void assert_names(const struct vbd_connection *connection, const char *error,
	enum vbd_why_kind kind, const char *reason)
{
	const struct vbd_qp *qp = &connection->conn->qp;
	struct vbd_why why;

	assert_int_not_equal(qp->first_error.at_ns, 0);
	assert_true(vbd_why_find_error(&qp->first_error.error, &why));
	assert_int_equal(why.kind, kind);
	assert_string_equal(why.name, error);
	assert_string_equal(vbd_reason_name(qp->reason), reason);
}

/* --- connections ----------------------------------------------------------------------------- */

SVC_TEST(test_explain__a_connection_that_is_well)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	uint64_t ms;

	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_first_line("The connection is established with 10.0.0.1 port # on fake0, and "
			  "nothing has failed; "
			  "the peer has sent no message yet.");
	assert_int_equal(pair.active->conn->qp.first_error.at_ns, 0);
	assert_false(vbd_verdicts_bad(&explained.verdicts));
	assert_true(vbd_facts_dead_peer_detect_ms(&explained.facts, &ms));
	assert_int_equal(ms, 336);
	assert_string_equal(explained.facts.device, "fake0");
	assert_true(explained.facts.qp.sgid_known);
	assert_int_equal(explained.facts.qp.path_mtu_bytes, 1024);
	assert_int_equal(explained.facts.backlog, 0);
	assert_false(explained.facts.netroute_known);
	vbd_explain_connection(pair.passive, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_int_equal(explained.facts.backlog, 8);
	assert_first_line("The connection is established with 10.0.0.1 port # on fake0, and "
			  "nothing has failed; "
			  "the peer has sent no message yet.");
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_first_line("The connection with 10.0.0.1 port # on fake0 was closed: a client of "
			  "this verbsd closed it.");
	vbd_explain_connection(pair.passive, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_first_line(
		"The connection with 10.0.0.1 port # on fake0 was closed: the peer "
		"disconnected: its program closed the connection, ended or was killed, or its RDMA "
		"device or its host is gone.");
}

/* A pair of which the active side has @params, with the service echo at the passive one. */
static struct svc_pair pair_with(struct svc *svc, const struct vbd_conn_params *params)
{
	struct vbd_listener_spec listener_spec = svc_listener_spec();
	struct vbd_connection_spec spec;
	struct svc_pair pair;

	listener_spec.params.qp.service = VBD_SERVICE_ECHO;
	spec = svc_spec_to(svc_listen(svc, &listener_spec));
	spec.params = *params;
	pair.active = svc_connect(svc, &spec);
	SVC_UNTIL(svc, pair.active->conn->state == VBD_CONN_ESTABLISHED);
	pair.passive =
		svc_newest_of(svc, VBD_CONTAINER_OF(vbd_registry_find_id(svc->daemon->listeners, 1),
					   struct vbd_listener, object));
	SVC_UNTIL(svc, pair.passive->conn->state == VBD_CONN_ESTABLISHED);
	return pair;
}

SVC_TEST(test_explain__an_inbox_tells_when_the_peer_was_heard_last)
{
	struct vbd_conn_params params = svc_spec_to(NULL).params;
	struct vbd_transfer_record *record = NULL;
	struct svc_pair pair = pair_with(svc, &params);

	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("and nothing has failed; the peer has sent no message yet.");
	vbd_explain_connection(pair.passive, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said(", and nothing has failed.");
	assert_int_equal(svc_send_message(pair.active, (const uint8_t *)"x", 1, NULL, 60000,
				 &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, pair.active->inbox.last_seq == 1);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("; the last message of the peer came ");
	assert_int_equal(explained.facts.inbox_messages, 1);
	assert_true(explained.facts.incident.heard && explained.facts.incident.acked);
}

SVC_TEST(test_explain__facts_are_those_of_the_connection)
{
	static struct vbd_facts active, passive;
	struct vbd_conn_params params = svc_spec_to(NULL).params;
	struct svc_pair pair;

	params.path_mtu_bytes = 512;
	params.retry_count = 3;
	params.rnr_retry = 5;
	params.ack_timeout = 15;
	params.min_rnr_timer = 9;
	params.initiator_depth = 6;
	params.qp.poll = VBD_POLL_BUSY;
	params.qp.heartbeat_ms = 60000;
	pair = pair_with(svc, &params);
	pair.active->conn->lost_packets = 11;
	/* The worker counts the channel when it has taken it. */
	UNIT_UNTIL (vbd_counter_get(&pair.active->conn->qp.channel->worker->busy_channels))
		svc_turn(svc);
	vbd_explain_gather(pair.active, NULL, &active);
	vbd_explain_gather(pair.passive, NULL, &passive);
	assert_true(active.open && active.established && active.reliable && active.watched);
	assert_false(active.hung_up || passive.watched || active.iwarp || active.qp.soft_roce);
	assert_int_equal(active.deadline_ms, 0);
	assert_int_equal(active.waited_ms, 0);
	assert_true(active.mtu_asked);
	assert_false(passive.mtu_asked);
	assert_int_equal(active.qp.path_mtu_bytes, 512);
	assert_true(active.qp.sends_known);
	assert_int_equal(active.qp.retry_count, 3);
	assert_int_equal(active.qp.rnr_retry, 5);
	assert_int_equal(active.qp.ack_timeout, 15);
	assert_int_equal(active.qp.min_rnr_timer, 9);
	assert_int_equal(active.qp.initiator_depth, 6);
	assert_int_equal(active.busy_on_worker, 1);
	assert_int_equal(passive.busy_on_worker, 0);
	assert_int_equal(active.lost_packets, 11);
	assert_int_equal(active.inbox_capacity, 4);
	assert_int_equal(active.inbox_messages, 0);
	assert_int_equal(passive.inbox_capacity, 0);
	assert_int_equal(active.srq_id, 0);
	assert_true(active.qp.sgid_known && active.qp.gid_known && active.port_known);
	assert_false(active.sgid_gone || active.device_removed || active.port_fell);
	assert_int_equal(active.port.port_num, 1);
	assert_int_equal(active.qp.dgid[15], svc->device->gids[0].gid.raw[15]);
	assert_int_equal(active.backlog, 0);
	assert_int_equal(passive.backlog, 8);
	assert_int_equal(passive.waiting, 0);
	pair.active->conn->lost_packets = 0;
}

/* iWARP has neither these timers nor GIDs, and an unreliable connection resends nothing. */
/* No message of the CM tells the peer of a limit; and a program may take more than it was offered.
 */
SVC_TEST(test_explain__sides_that_differ_are_told_while_nothing_has_failed)
{
	struct vbd_conn_params params = vbd_conn_params_default();
	struct svc_pair pair;

	params.path_mtu_bytes = 256;
	params.responder_resources = 2;
	pair = pair_with(svc, &params);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_MTU_LIMITED_HERE));
	assert_false(has(VBD_FINDING_PEER_READS_MORE));
	vbd_explain_connection(pair.passive, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_false(has(VBD_FINDING_MTU_LIMITED_HERE));
	assert_false(has(VBD_FINDING_PEER_READS_MORE));
	pair.active->conn->peer_responder_resources = 3;
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_PEER_READS_MORE));
}

SVC_TEST(test_explain__facts_that_a_connection_has_not_are_unknown)
{
	static struct vbd_facts facts;
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_conn *conn = pair.active->conn;

	conn->qp.info.iwarp = true;
	vbd_explain_gather(pair.active, NULL, &facts);
	assert_true(facts.iwarp);
	assert_false(facts.qp.sends_known || facts.qp.sgid_known || facts.qp.gid_known);
	assert_int_equal(facts.qp.path_mtu_bytes, 0);
	conn->qp.info.iwarp = false;
	conn->params.qp.transport = VBD_TRANSPORT_UC;
	vbd_explain_gather(pair.active, NULL, &facts);
	assert_false(facts.reliable);
	conn->params.qp.transport = VBD_TRANSPORT_RC;
	conn->qp.info.path_known = false;
	conn->qp.info.sends_known = false;
	vbd_explain_gather(pair.active, NULL, &facts);
	assert_int_equal(facts.qp.path_mtu_bytes, 0);
	assert_false(facts.qp.sends_known);
	conn->qp.info.path_known = true;
	conn->qp.info.sends_known = true;
}

SVC_TEST(test_explain__the_first_failure_is_the_cause_and_flushes_are_counted)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_connection *active = pair.active;
	uint64_t flushed;

	fake_recv_failed(active->conn->qp.ibv_qp, IBV_WC_RETRY_EXC_ERR, 0x81);
	SVC_UNTIL(svc, active->object.ended);
	vbd_explain_connection(active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("The connection with 10.0.0.1 port ");
	assert_names(active, "IBV_WC_RETRY_EXC_ERR", VBD_WHY_WC_STATUS, "retry_exceeded");
	flushed = explained.facts.flushed_sends + explained.facts.flushed_receives;
	assert_int_equal(flushed, 3); /* one of the 4 receives has failed by itself */
	assert_non_null(explained.preceding);
	assert_int_equal(explained.preceding->kind, VBD_TIMELINE_STATE);
	assert_string_equal(explained.preceding->what, "established");
	/* The completion may be noted after the states that it led to. */
	active->conn->qp.first_error.at_ns = vbd_clock_mono_ns();
	vbd_explain_connection(active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_string_not_equal(explained.preceding->what, "failed");
	assert_true(has(VBD_FINDING_FLUSHED));
	assert_false(has(VBD_FINDING_PEER_BUSY_HANG_UP));
	assert_false(has(VBD_FINDING_DEAD_PEER)); /* an ended connection has no predictions */
}

/* Whether seven retries end on a device of @vendor_id, whose driver defines the meaning of 7. */
static bool seven_retries_end(struct svc *svc, uint32_t vendor_id, uint64_t *ret_ms)
{
	struct vbd_connection_spec spec;
	struct vbd_connection *active;

	svc->device->attr.vendor_id = vendor_id;
	svc_restart(svc);
	spec = svc_spec_to(svc_listen(svc, NULL));
	spec.params.retry_count = 7;
	active = svc_connect(svc, &spec);
	SVC_UNTIL(svc, active->conn->state == VBD_CONN_ESTABLISHED);
	vbd_explain_connection(active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	return vbd_facts_dead_peer_detect_ms(&explained.facts, ret_ms);
}

SVC_TEST(test_explain__seven_retries_are_for_ever_on_soft_roce)
{
	uint64_t ms;

	assert_false(seven_retries_end(svc, VBD_VENDOR_RXE, &ms));
}

SVC_TEST(test_explain__seven_retries_are_counted_on_other_devices)
{
	uint64_t ms;

	assert_true(seven_retries_end(svc, 0x02c9, &ms));
	assert_int_equal(ms, 537);
}

SVC_TEST(test_explain__a_rejection_names_its_reason)
{
	const struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = svc_connect(svc, &spec);

	SVC_UNTIL(svc, connection->object.ended);
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("It failed: nobody listens for connections at 10.0.0.1 port 1.");
	assert_names(connection, "IB_CM_REJ_INVALID_SERVICE_ID", VBD_WHY_IB_REJECT, "rejected");
	assert_false(explained.facts.qp.sends_known);
}

SVC_TEST(test_explain__a_reader_does_not_learn_what_the_peer_said)
{
	const struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = svc_connect(svc, &spec);
	struct vbd_private_data *said = &connection->conn->peer_private_data;

	SVC_UNTIL(svc, connection->object.ended);
	connection->conn->qp.first_error.error.raw = 28; /* IB_CM_REJ_CONSUMER_DEFINED */
	*said = (struct vbd_private_data){.message = VBD_CM_MESSAGE_REJECT, .length_bytes = 7};
	memcpy(said->bytes, "go away", 7);
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("refused: \"go away\"");
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_READ, &explained);
	assert_null(strstr(explained.summary, "go away"));
	assert_string_equal(explained.facts.incident.words, "");
	/* The reason of a verbsd is no word of a user. */
	said->length_bytes = 14;
	memcpy(said->bytes, "verbsd: policy", 14);
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_READ, &explained);
	assert_said("refused: its listener rejects every request");
}

/* The bytes of the reject message, and those of them that are told as text. */
SVC_TEST(test_explain__words_of_the_peer_are_text)
{
	static const struct {
		const char *bytes;
		uint8_t length_bytes;
		const char *words;
	} rows[] = {
		{"go away", 7, "go away"},
		{" ~!#", 4, " ~!#"},
		{"a\0\0\0", 4, "a"},
		{"\0\0", 2, ""},
		{"", 0, ""},
		{"a\0b", 3, ""},
		{"a\x1f", 2, ""},
		{"\x7f"
		 "a",
			2, ""},
		{"a\"", 2, ""},
	};
	const struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = svc_connect(svc, &spec);
	struct vbd_private_data *said = &connection->conn->peer_private_data;

	SVC_UNTIL(svc, connection->object.ended);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		*said = (struct vbd_private_data){
			.message = VBD_CM_MESSAGE_REJECT, .length_bytes = rows[i].length_bytes};
		memcpy(said->bytes, rows[i].bytes, rows[i].length_bytes);
		vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
		assert_string_equal(explained.facts.incident.words, rows[i].words);
	}
	*said = (struct vbd_private_data){
		.message = VBD_CM_MESSAGE_REPLY, .length_bytes = 1, .bytes = "x"};
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_string_equal(explained.facts.incident.words, "");
}

SVC_TEST(test_explain__a_closed_one_says_by_whom)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("The connection with ");
	assert_said("a client of this verbsd closed it");
	vbd_explain_connection(pair.passive, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("the peer disconnected");
	assert_int_equal(pair.passive->conn->qp.first_error.at_ns, 0);
	assert_int_equal(pair.passive->conn->qp.reason, VBD_REASON_PEER_DISCONNECT);
}

SVC_TEST(test_explain__a_connection_in_progress_says_what_it_waits_for)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener;
	struct vbd_connection_spec to;
	struct vbd_connection *active;

	spec.accept = VBD_ACCEPT_MANUAL;
	spec.backlog = 1;
	listener = svc_listen(svc, &spec);
	to = svc_spec_to(listener);
	active = svc_connect(svc, &to);
	SVC_UNTIL(svc, svc_newest_of(svc, listener));
	vbd_explain_connection(active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("The connection is connecting with");
	assert_said("waits for");
	assert_int_equal(explained.facts.deadline_ms, to.timeout_ms);
	vbd_explain_connection(
		svc_newest_of(svc, listener), NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("The connection is requested with");
	assert_true(has(VBD_FINDING_BACKLOG_FULL));
	assert_said("these findings need attention: backlog_full.");
}

SVC_TEST(test_explain__a_request_that_ends_with_its_listener_says_so)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_connection *asked;
	struct vbd_listener *listener;
	struct vbd_connection_spec to;

	spec.accept = VBD_ACCEPT_MANUAL;
	listener = svc_listen(svc, &spec);
	to = svc_spec_to(listener);
	(void)svc_connect(svc, &to);
	SVC_UNTIL(svc, svc_newest_of(svc, listener));
	asked = svc_newest_of(svc, listener);
	vbd_listener_delete(listener);
	SVC_UNTIL(svc, asked->object.ended);
	vbd_explain_connection(asked, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_ptr_equal(explained.verdicts.causes[0].row, &vbd_cause_rows[VBD_CAUSE_CLOSED_HERE]);
	assert_non_null(strstr(explained.summary, "deleted the listener"));
	assert_int_equal(explained.verdicts.cause_count, 1);
}

SVC_TEST(test_explain__a_device_that_went_is_found_gone)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, pair.active->object.ended && pair.passive->object.ended);
	svc_turn(svc);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_said("device fake0 was removed");
	assert_true(has(VBD_FINDING_DEVICE_REMOVED));
	/* The device is back, as another device. */
	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_DEVICE_REMOVED));
	assert_false(explained.facts.port_known);
}

SVC_TEST(test_explain__a_port_that_went_down_is_remembered)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct svc_pair pair = svc_pair(svc, listener);
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");

	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_false(has(VBD_FINDING_PORT_WENT_DOWN));
	fake_device_async(svc->device, IBV_EVENT_PORT_ERR, 1);
	SVC_UNTIL(svc, device->port_err_ns);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_PORT_WENT_DOWN));
	svc_close(svc, pair.active);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_PORT_WENT_DOWN));
	/* A later connection has not seen the port go down. */
	pair = svc_pair(svc, listener);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_false(has(VBD_FINDING_PORT_WENT_DOWN));
}

/* --- evidence -------------------------------------------------------------------------------- */

static void fail_receive(struct svc *svc, struct vbd_connection *connection)
{
	fake_recv_failed(connection->conn->qp.ibv_qp, IBV_WC_LOC_PROT_ERR, 0);
	SVC_UNTIL(svc, connection->object.ended && !connection->keeping);
}

SVC_TEST(test_explain__the_facts_of_the_first_error_are_kept)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_pv_netroute netroute = {.netdev = "eth7", .neighbour = "failed"};

	assert_null(pair.active->kept);
	fake_netroute(&netroute);
	svc->device->port.state = IBV_PORT_DOWN;
	svc_ask_ports(svc);
	fail_receive(svc, pair.active);
	svc->device->port.state = IBV_PORT_ACTIVE;
	svc_ask_ports(svc);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_PORT_NOT_ACTIVE));
	assert_ptr_equal(
		explained.verdicts.causes[0].row, &vbd_cause_rows[VBD_CAUSE_INTERFACE_DOWN]);
	assert_string_equal(explained.facts.netroute.netdev, "eth7");
}

/* Each member that a later look can't find again is that of the first error. */
SVC_TEST(test_explain__what_was_seen_at_the_first_error_stays)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_incident *now = &explained.facts.incident;
	struct vbd_incident *before;

	fail_receive(svc, pair.active);
	before = &pair.active->kept->incident;
	before->traces_known = true;
	for (size_t i = 0; i < VBD_TRACE_COUNT; i++)
		before->traces[i] = 100 + i;
	before->open_buffers = 12;
	before->open_id = 13;
	before->open_bytes = 14;
	before->open_access = 15;
	before->nothing_open = before->other_pd_open = true;
	(void)snprintf(before->open_device, sizeof(before->open_device), "fake7");
	before->tcp_open = true;
	before->transfer = 16;
	before->length_bytes = 17;
	before->done_bytes = 18;
	before->remote_addr = 19;
	before->rkey = 20;
	before->waited_ms = 21;
	before->op = VBD_OP_WRITE;
	pair.active->kept->established = true;
	pair.active->kept->flushed_sends = 1000;
	pair.active->kept->qp.path_mtu_bytes = 4711;
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(now->traces_known && now->nothing_open && now->other_pd_open);
	assert_true(now->tcp_open);
	assert_memory_equal(now->traces, before->traces, sizeof(now->traces));
	assert_int_equal(now->open_buffers, 12);
	assert_int_equal(now->open_id, 13);
	assert_int_equal(now->open_bytes, 14);
	assert_int_equal(now->open_access, 15);
	assert_string_equal(now->open_device, "fake7");
	assert_int_equal(now->transfer, 16);
	assert_int_equal(now->length_bytes, 17);
	assert_int_equal(now->done_bytes, 18);
	assert_int_equal(now->remote_addr, 19);
	assert_int_equal(now->rkey, 20);
	assert_int_equal(now->waited_ms, 21);
	/* The error is one of a receive, which has become known since. */
	assert_int_equal(now->op, VBD_OP_RECV);
	assert_false(explained.facts.established || explained.facts.open);
	assert_int_equal(explained.facts.flushed_sends, 0);
	assert_int_equal(explained.facts.flushed_receives, 3);
	assert_int_equal(explained.facts.qp.path_mtu_bytes, 4711);
	pair.active->conn->qp.first_error.op = VBD_OP_SEND;
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_int_equal(now->op, VBD_OP_SEND);
	pair.active->conn->qp.first_error.op = -1;
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_int_equal(now->op, VBD_OP_WRITE);
}

SVC_TEST(test_explain__an_end_without_a_failure_keeps_no_facts)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_null(pair.active->kept);
	assert_null(pair.passive->kept);
}

SVC_TEST(test_explain__of_a_request_it_tells_what_is_left)
{
	static const struct {
		enum vbd_op op;
		uint64_t length_bytes, chunk_bytes, done_bytes, repeats;
		uint32_t tx_depth;
		uint64_t left, window, told_bytes;
	} rows[] = {
		{VBD_OP_WRITE, 10000, 1000, 2500, 0, 7, 8, 7, 10000},
		{VBD_OP_WRITE, 10000, 1000, 9000, 0, 0, 1, 4, 10000},
		{VBD_OP_WRITE, 10000, 1000, 10000, 0, 0, 0, 4, 10000},
		{VBD_OP_READ, 10001, 1000, 0, 0, 1, 11, 1, 10001},
		{VBD_OP_SEND, 10000, 1000, 2000, 0, 7, 8, 7, 1000},
		{VBD_OP_SEND, 500, 1000, 0, 0, 7, 1, 7, 500},
		{VBD_OP_WRITE, 10000, 1000, 2500, 9, 7, 0, 0, 1000},
		{VBD_OP_WRITE, 10000, 0, 2500, 0, 7, 0, 0, 10000},
	};
	struct vbd_buffer *buffer = svc_buffer(svc, "", 64, VBD_ACCESS_REMOTE_WRITE);
	const struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_conn *conn = pair.active->conn;
	const struct vbd_transfer_spec spec = {
		.qp = &conn->qp,
		.buffer = buffer,
		.op = VBD_OP_WRITE,
		.length_bytes = 64,
		.chunk_bytes = 64,
		.wr.remote_addr = (uintptr_t)buffer->mem.addr,
		.wr.rkey = buffer->mem.rkey,
		.timeout_ms = 30000,
	};
	struct vbd_transfer_record *record = NULL;
	struct vbd_transfer was;

	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
	was = record->transfer;
	conn->qp.reason = VBD_REASON_TIMED_OUT;
	conn->qp.first_error.at_ns = 1;
	conn->qp.first_error.op = -1;
	conn->qp.first_error.transfer = was.id;
	assert_int_equal(conn->params.qp.sq_depth, 4);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_transfer *transfer = &record->transfer;
		struct vbd_incident incident = {0};

		transfer->op = rows[i].op;
		transfer->length_bytes = rows[i].length_bytes;
		transfer->chunk_bytes = rows[i].chunk_bytes;
		transfer->repeats = rows[i].repeats;
		transfer->tx_depth = rows[i].tx_depth;
		transfer->created_ns = VBD_NS_PER_S;
		vbd_counter_set(&transfer->bytes_done, rows[i].done_bytes);
		vbd_counter_set(&transfer->ended_ns, VBD_NS_PER_S + 1234 * VBD_NS_PER_MS);
		vbd_explain_request(pair.active, &incident);
		assert_int_equal(incident.transfer, was.id);
		assert_int_equal(incident.op, rows[i].op);
		assert_int_equal(incident.remote_addr, spec.wr.remote_addr);
		assert_int_equal(incident.rkey, spec.wr.rkey);
		assert_int_equal(incident.done_bytes, rows[i].done_bytes);
		assert_int_equal(incident.requests_left, rows[i].left);
		assert_int_equal(incident.window, rows[i].window);
		assert_int_equal(incident.length_bytes, rows[i].told_bytes);
		assert_int_equal(incident.since_ns, VBD_NS_PER_S);
		assert_int_equal(incident.waited_ms, 1234);
	}
	record->transfer = was;
	conn->qp.reason = VBD_REASON_NONE;
	conn->qp.first_error = (struct vbd_first_error){.op = -1};
}

/* The counters of the fake device are those of a folder. */
struct counters {
	char folder[64];
	char file[160];
};

static void count(const struct counters *counters, unsigned int value)
{
	FILE *file = fopen(counters->file, "we");

	assert_non_null(file);
	(void)fprintf(file, "%u\n", value);
	assert_int_equal(fclose(file), 0);
}

static void make_folders(struct counters *counters)
{
	static const char *const below[] = {"/ports", "/1", "/hw_counters", NULL};

	(void)snprintf(counters->folder, sizeof(counters->folder), "%.40s/explain-XXXXXX",
		getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(counters->folder));
	(void)snprintf(counters->file, sizeof(counters->file), "%s", counters->folder);
	for (size_t i = 0; below[i]; i++) {
		(void)strcat(counters->file, below[i]); /* NOLINT: there is room */
		assert_int_equal(mkdir(counters->file, 0700), 0);
	}
	(void)strcat(counters->file, "/rcvd_rnr_err"); /* NOLINT: there is room */
}

static void remove_folders(struct counters *counters)
{
	assert_int_equal(unlink(counters->file), 0);
	for (char *end; strlen(counters->file) > strlen(counters->folder);) {
		end = strrchr(counters->file, '/');
		*end = '\0';
		assert_int_equal(rmdir(counters->file), 0);
	}
}

/* Has the counters read until a sample has some of them. */
static uint64_t rnr_before(struct svc *svc)
{
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");
	const struct vbd_trace_sample *sample =
		vbd_traces_before(svc->daemon, "fake0", vbd_clock_mono_ns());

	if (sample && sample->counters[VBD_TRACE_RNR_CAME])
		return sample->counters[VBD_TRACE_RNR_CAME];
	device->traced_ns = 0;
	vbd_traces_sample(svc->daemon, device);
	return 0;
}

SVC_TEST(test_explain__a_counter_that_rose_is_evidence)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");
	static struct counters counters;
	struct svc_pair pair;

	make_folders(&counters);
	count(&counters, 7);
	device->ibdev_path = counters.folder;
	device->traced_ns = 0;
	SVC_UNTIL(svc, rnr_before(svc) == 7);
	pair = svc_pair(svc, listener);
	count(&counters, 12);
	fail_receive(svc, pair.active);
	vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(explained.facts.incident.traces_known);
	assert_int_equal(explained.facts.incident.traces[VBD_TRACE_RNR_CAME], 5);
	assert_int_equal(explained.facts.incident.traces[VBD_TRACE_MRA_CAME], 0);
	remove_folders(&counters);
}

SVC_TEST(test_explain__counters_are_those_of_all_ports)
{
	uint64_t sums[VBD_TRACE_COUNT];
	struct counters counters;
	char second[200];

	fake_one_thread();
	make_folders(&counters);
	count(&counters, 3);
	vbd_traces_read(counters.folder, 1, sums);
	assert_int_equal(sums[VBD_TRACE_RNR_CAME], 3);
	vbd_traces_read(counters.folder, 0, sums);
	assert_int_equal(sums[VBD_TRACE_RNR_CAME], 0);
	/* The second port is the first one under another name. */
	(void)snprintf(second, sizeof(second), "%s/ports/2", counters.folder);
	assert_int_equal(symlink("1", second), 0);
	vbd_traces_read(counters.folder, 2, sums);
	assert_int_equal(sums[VBD_TRACE_RNR_CAME], 6);
	assert_int_equal(unlink(second), 0);
	remove_folders(&counters);
}

/* On Soft-iWARP the call of connect lasts until TCP has connected. */
SVC_TEST(test_explain__tcp_of_soft_iwarp_has_connected_or_not)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_conn *conn = pair.active->conn;
	struct vbd_device *device = conn->qp.device;
	const struct {
		uint32_t vendor_id;
		enum vbd_conn_state state;
		enum vbd_conn_calling calling;
		bool open;
	} rows[] = {
		{VBD_VENDOR_SIW, VBD_CONN_CONNECTING, VBD_CONN_CALLS_CONNECT, false},
		{VBD_VENDOR_SIW, VBD_CONN_CONNECTING, VBD_CONN_CALLS_NOTHING, true},
		{VBD_VENDOR_SIW, VBD_CONN_ESTABLISHED, VBD_CONN_CALLS_NOTHING, false},
		{0x02c9, VBD_CONN_CONNECTING, VBD_CONN_CALLS_CONNECT, false},
		{0x02c9, VBD_CONN_CONNECTING, VBD_CONN_CALLS_NOTHING, false},
	};
	uint32_t vendor_id = device->attr.vendor_id;

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		device->attr.vendor_id = rows[i].vendor_id;
		conn->state = rows[i].state;
		conn->calling = rows[i].calling;
		vbd_explain_connection(pair.active, NULL, NULL, VBD_ROLE_OPERATE, &explained);
		conn->state = VBD_CONN_ESTABLISHED;
		conn->calling = VBD_CONN_CALLS_NOTHING;
		assert_int_equal(explained.facts.incident.tcp_open, rows[i].open);
	}
	device->attr.vendor_id = vendor_id;
}

/* The sample before a moment long ago is kept while thousands are taken. */
SVC_TEST(test_explain__samples_are_the_wider_apart_the_older_they_are)
{
	struct vbd_trace_sample sample = {.device = "rxe7"};
	const uint64_t end_ns = 4000;

	for (sample.at_ns = 1; sample.at_ns <= end_ns; sample.at_ns++)
		vbd_traces_add(svc->daemon, &sample);
	for (uint64_t ago_ns = 4; ago_ns < 1500; ago_ns *= 3) {
		const struct vbd_trace_sample *before =
			vbd_traces_before(svc->daemon, "rxe7", end_ns - ago_ns);

		assert_non_null(before);
		assert_in_range(end_ns - before->at_ns, ago_ns, 4 * ago_ns);
	}
}

static bool finds(const struct vbd_connection *connection, enum vbd_finding_code code)
{
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	return has(code);
}

SVC_TEST(test_explain__an_address_that_was_taken_away_is_found)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	svc->device->gids[0].gid.raw[15] = 99;
	fake_device_async(svc->device, IBV_EVENT_GID_CHANGE, 1);
	SVC_UNTIL(svc, finds(pair.active, VBD_FINDING_GID_GONE));
	svc->device->gid_count = 0;
	fake_device_async(svc->device, IBV_EVENT_GID_CHANGE, 1);
	SVC_UNTIL(svc, finds(pair.active, VBD_FINDING_GID_GONE));
	svc->device->gid_count = 1;
	svc->device->gids[0].gid.raw[15] = 1;
	fake_device_async(svc->device, IBV_EVENT_GID_CHANGE, 1);
	SVC_UNTIL(svc, !finds(pair.active, VBD_FINDING_GID_GONE));
}

SVC_TEST(test_explain__the_way_to_the_peer_counts)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_look look = {
		.netroute_known = true,
		.netroute = {.netdev = "lo", .neighbour = "failed"},
	};

	svc->device->gids[0].ndev_ifindex = LOOPBACK_INDEX;
	vbd_explain_connection(pair.active, &look, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_NEIGHBOUR_FAILED));
	assert_false(has(VBD_FINDING_ROUTE_WITHOUT_RDMA));
	(void)snprintf(look.netroute.netdev, sizeof(look.netroute.netdev), "eth9");
	vbd_explain_connection(pair.active, &look, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_ROUTE_WITHOUT_RDMA));
	look.netroute.route_errnum = EHOSTUNREACH;
	vbd_explain_connection(pair.active, &look, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(has(VBD_FINDING_NO_ROUTE));
	assert_true(vbd_verdicts_bad(&explained.verdicts));
}

/* A connection whose address was not resolved has no device. */
static void explain_unresolved(struct svc *svc)
{
	const struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;

	fake_fail_next("rdma_resolve_addr", ENETUNREACH);
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->object.ended && !connection->keeping);
	assert_string_equal(connection->conn->device.name, "");
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
}

SVC_TEST(test_explain__a_dead_port_explains_that_an_address_is_not_resolved)
{
	const struct vbd_pv_netroute netroute = {
		.netdev = "lo", .src = four("10.0.0.1"), .neighbour = "failed"};

	fake_netroute(&netroute);
	svc->device->gids[0].ndev_ifindex = LOOPBACK_INDEX;
	explain_unresolved(svc);
	assert_ptr_equal(explained.verdicts.causes[0].row, &vbd_cause_rows[VBD_CAUSE_HOST_GONE]);
	svc->device->port.state = IBV_PORT_DOWN;
	svc_ask_ports(svc);
	explain_unresolved(svc);
	assert_ptr_equal(
		explained.verdicts.causes[0].row, &vbd_cause_rows[VBD_CAUSE_INTERFACE_DOWN]);
	assert_said("port 1 of fake0 is down");
}

SVC_TEST(test_explain__what_is_brought_up_by_hand_is_where_its_gids_are)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_conn *conn = pair.active->conn;
	struct sockaddr_storage local, peer;

	assert_true(vbd_explain_ends(pair.active, &local, &peer));
	assert_memory_equal(&peer, &conn->peer, sizeof(peer));
	/* The addresses of a connection without a CM. */
	conn->peer.ss_family = AF_UNSPEC;
	conn->qp.info.dgid[15] = 9;
	assert_true(vbd_explain_ends(pair.active, &local, &peer));
	assert_int_equal(((const struct sockaddr_in *)&peer)->sin_addr.s_addr, htonl(0x0a000009));
	assert_int_equal(((const struct sockaddr_in *)&local)->sin_addr.s_addr, htonl(0x0a000001));
	conn->qp.info.sgid.type = "ib";
	assert_false(vbd_explain_ends(pair.active, &local, &peer));
	conn->qp.info.sgid_known = false;
	assert_false(vbd_explain_ends(pair.active, &local, &peer));
	conn->peer.ss_family = AF_INET;
}

/* The request for it was answered long before. */
SVC_TEST(test_explain__a_slow_step_by_hand_that_fails_is_in_timeline_and_event_log)
{
	const struct vbd_manual_spec spec = {
		.params = svc_spec_to(NULL).params, .how = {.port_num = 1}};
	const struct vbd_manual_remote remote = {
		.gid = {[10] = 0xff, 0xff, 10, 0, 0, 99},
		.qpn = 0x77,
		.hop_limit = 64,
		.responder_resources = VBD_DEPTH_UNKNOWN,
		.initiator_depth = VBD_DEPTH_UNKNOWN,
	};
	struct vbd_connection *connection = NULL;
	const struct vbd_timeline *timeline;

	assert_int_equal(
		vbd_connection_create_manual(svc->daemon, &spec, &connection, &svc->err), VBD_OK);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_AWAITING_REMOTE);
	SVC_UNTIL(svc, !vbd_conn_stepping(connection->conn));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_STEP_FAILED), 0);
	fake_block("ibv_modify_qp");
	assert_int_equal(
		vbd_conn_remote(connection->conn, &remote, VBD_QP_TO_RTS, &svc->err), VBD_OK);
	fake_fail_next("ibv_modify_qp", ETIMEDOUT);
	fake_unblock();
	SVC_UNTIL(svc, !vbd_conn_stepping(connection->conn));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_STEP_FAILED), 1);
	timeline = &connection->conn->timeline;
	assert_string_equal(timeline->entries[timeline->count - 1]->what, "move failed");
}

/* --- destinations ---------------------------------------------------------------------------- */

static struct vbd_pv_netroute netroute_from(const char *src)
{
	return (struct vbd_pv_netroute){
		.netdev = "lo",
		.mtu_bytes = 1500,
		.src = four(src),
		.next = four("10.0.0.9"),
		.neighbour = "reachable",
	};
}

SVC_TEST(test_explain__a_destination_leads_to_the_device_of_the_source)
{
	const struct vbd_destination to = {.addr = four("10.0.0.9")};
	struct vbd_pv_netroute netroute = netroute_from("10.0.0.1");

	svc->device->gids[0].ndev_ifindex = LOOPBACK_INDEX;
	vbd_explain_destination(svc->daemon, &to, &netroute, &explained);
	assert_false(vbd_verdicts_bad(&explained.verdicts));
	assert_said(
		"A connection to 10.0.0.9 would leave by lo over fake0 port 1 with GID index 0");
	assert_said("(roce_v2, ipv4_mapped), path MTU 1024.");
	assert_string_equal(explained.facts.device, "fake0");
	netroute.mtu_bytes = 700;
	vbd_explain_destination(svc->daemon, &to, &netroute, &explained);
	assert_int_equal(explained.facts.qp.path_mtu_bytes, 512);
	netroute.mtu_bytes = 100;
	vbd_explain_destination(svc->daemon, &to, &netroute, &explained);
	assert_int_equal(explained.facts.qp.path_mtu_bytes, 256);
}

SVC_TEST(test_explain__a_destination_that_rdma_does_not_reach)
{
	const struct vbd_destination to = {.addr = four("10.0.0.9")};
	struct vbd_pv_netroute netroute = netroute_from("10.0.0.77");

	svc->device->gids[0].ndev_ifindex = LOOPBACK_INDEX;
	vbd_explain_destination(svc->daemon, &to, &netroute, &explained);
	assert_said("RDMA does not reach 10.0.0.9: No RDMA device has a GID");
	assert_true(has(VBD_FINDING_NO_GID));
	(void)snprintf(netroute.netdev, sizeof(netroute.netdev), "eth9");
	vbd_explain_destination(svc->daemon, &to, &netroute, &explained);
	assert_true(has(VBD_FINDING_ROUTE_WITHOUT_RDMA));
	assert_false(has(VBD_FINDING_NO_GID));
	netroute.route_errnum = ENETUNREACH;
	vbd_explain_destination(svc->daemon, &to, &netroute, &explained);
	assert_said("There is no route to the peer (ENETUNREACH).");
	assert_int_equal(explained.verdicts.finding_count, 1);
}

SVC_TEST(test_explain__a_destination_is_chosen_as_a_connection_would)
{
	struct vbd_destination to = {.addr = four("10.0.0.9"), .device = "fake0"};
	struct vbd_error err = {0};

	assert_int_equal(vbd_destination_choose(svc->daemon, &to, &err), VBD_OK);
	assert_int_equal(((const struct sockaddr_in *)&to.src)->sin_addr.s_addr, htonl(0x0a000001));
	(void)snprintf(to.device, sizeof(to.device), "none0");
	assert_int_equal(vbd_destination_choose(svc->daemon, &to, &err), VBD_E_NO_DEVICE);
	to = (struct vbd_destination){.addr = four("10.0.0.9"), .src = {.ss_family = AF_INET6}};
	err = (struct vbd_error){0};
	assert_int_equal(vbd_destination_choose(svc->daemon, &to, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "src_addr");
	to = (struct vbd_destination){.addr = {.ss_family = AF_INET6}};
	((struct sockaddr_in6 *)&to.addr)->sin6_addr.s6_addr[0] = 0xfe;
	((struct sockaddr_in6 *)&to.addr)->sin6_addr.s6_addr[1] = 0x80;
	err = (struct vbd_error){0};
	assert_int_equal(vbd_destination_choose(svc->daemon, &to, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "dst_addr");
	/* The device has no link-local address either. */
	(void)snprintf(to.device, sizeof(to.device), "fake0");
	err = (struct vbd_error){0};
	assert_int_equal(
		vbd_destination_choose(svc->daemon, &to, &err), VBD_E_ADDRESS_NOT_AVAILABLE);
}

/* --- requests
 * ---------------------------------------------------------------------------------- */

struct answer {
	unsigned int calls;
	bool found;
	struct vbd_pv_netroute netroute;
	enum vbd_status status;
};

static void on_netroute(const struct vbd_look *look, void *arg)
{
	struct answer *answer = arg;

	answer->calls++;
	answer->found = look->netroute_known;
	answer->netroute = look->netroute;
	answer->status = look->err.status;
}

SVC_TEST(test_explain__the_way_is_asked_for_on_the_pool)
{
	const struct vbd_pv_netroute netroute = {.netdev = "eth7", .gateway = true};
	const struct sockaddr_storage dst = four("10.0.0.9");
	struct answer answer = {0};

	fake_netroute(&netroute);
	assert_int_equal(
		vbd_look_at_route(svc->daemon, NULL, &dst, NULL, on_netroute, &answer, &svc->err),
		VBD_OK);
	assert_int_equal(answer.calls, 0);
	SVC_UNTIL(svc, answer.calls);
	assert_true(answer.found);
	assert_string_equal(answer.netroute.netdev, "eth7");
	fake_fail_next("netlink", EPROTONOSUPPORT);
	assert_int_equal(
		vbd_look_at_route(svc->daemon, NULL, &dst, NULL, on_netroute, &answer, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, answer.calls == 2);
	assert_false(answer.found);
	assert_int_not_equal(answer.status, VBD_OK);
}

SVC_TEST(test_explain__who_asks_when_the_daemon_ends_is_answered)
{
	const struct sockaddr_storage dst = four("10.0.0.9");
	struct answer answer = {0};

	assert_int_equal(
		vbd_look_at_route(svc->daemon, NULL, &dst, NULL, on_netroute, &answer, &svc->err),
		VBD_OK);
	svc_stop(svc);
	assert_int_equal(answer.calls, 1);
}
