/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a connection, over a whole daemon on the fake provider. */
#include "api/connections/connections.h"
#include "tests/unit/document.h"
#include "tests/unit/svc.h"

#include <arpa/inet.h>

/* A connection with defaults is no longer: 1000 whole ones on a page are 1.6 MB. */
#define SIZE_MAX_BYTES 1664

static size_t size_of(const struct vbd_connection *connection, const char *side)
{
	struct vbd_encoder out = vbd_encode_begin();
	size_t size_bytes = 0;
	char *text;

	vbd_put_connection(&out, connection);
	text = vbd_encode_end(&out, &size_bytes);
	assert_non_null(text);
	(void)printf("%s: %zu bytes\n%s\n", side, size_bytes, text);
	free(text);
	return size_bytes;
}

SVC_TEST(test_connection__one_with_defaults_is_small)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	vbd_conn_refresh_qp(pair.active->conn);
	vbd_conn_refresh_qp(pair.passive->conn);
	assert_in_range(size_of(pair.active, "active side"), 1, SIZE_MAX_BYTES);
	assert_in_range(size_of(pair.passive, "passive side"), 1, SIZE_MAX_BYTES);
}

SVC_TEST(test_connection__has_counters_of_posted_operations_only)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_encoder out = vbd_encode_begin();
	json_t *json;

	vbd_put_connection(&out, pair.active);
	json = document_end(&out);
	assert_int_equal(json_object_size(json_object_get(json, "counters")), 0);
	json_decref(json);
}

/* --- each member ------------------------------------------------------------------------------ */

/* Copies of a connection, whose members a test sets without touching what is alive. */
struct shown {
	struct vbd_connection connection;
	struct vbd_conn conn;
	struct vbd_conn_manual manual;
	struct vbd_op_counters ops[VBD_OP_COUNT];
};

static struct shown *copy_of(const struct vbd_connection *connection)
{
	struct shown *shown = calloc(1, sizeof(*shown));

	assert_non_null(shown);
	shown->connection = *connection;
	shown->conn = *connection->conn;
	shown->connection.conn = &shown->conn;
	shown->conn.qp.channel = NULL;
	shown->conn.qp.ended_ops = shown->ops;
	return shown;
}

static json_t *json_of(const struct shown *shown)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_connection(&out, &shown->connection);
	return document_end(&out);
}

static void expect_member(const struct shown *shown, const char *name, const char *wanted)
{
	json_t *json = json_of(shown);

	document_is(json_incref(json_object_get(json, name)), wanted);
	json_decref(json);
}

static void set_gid(uint8_t gid[16], uint8_t last)
{
	memset(gid, 0, 16);
	gid[0] = 0x20;
	gid[1] = 0x01;
	gid[15] = last;
}

static void set_attributes(struct vbd_qp_info *info)
{
	*info = (struct vbd_qp_info){.state = IBV_QPS_RTS,
		.lqpn = 17,
		.rqpn = 18,
		.path_known = true,
		.sends_known = true,
		.sq_psn = 19,
		.rq_psn = 20,
		.path_mtu_bytes = 1024,
		.ack_timeout = 1,
		.retry_count = 2,
		.rnr_retry = 3,
		.min_rnr_timer = 4,
		.responder_resources = 5,
		.initiator_depth = 6,
		.gid_known = true,
		.gid_index = 7,
		.traffic_class = 8,
		.hop_limit = 9,
		.sgid_known = true,
		.sgid = {.type = "roce_v2", .netdev = "eth9", .vlan_id = 10}};
	set_gid(info->dgid, 0x21);
	set_gid(info->sgid.raw, 0x22);
}

/* IBTA: an ack_timeout of 1 is 4.096 us * 2, a min_rnr_timer of 4 is 40 us. */
SVC_TEST(test_connection__tells_each_attribute_of_its_queue_pair)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);

	set_attributes(&shown->conn.qp.info);
	expect_member(shown, "qp_attr",
		"{'lqpn':17,'rqpn':18,'state':'RTS','sq_psn':19,'rq_psn':20,"
		"'path_mtu_bytes':1024,'ack_timeout':1,'ack_timeout_ns':8192,'retry_count':2,"
		"'rnr_retry':3,'min_rnr_timer':4,'min_rnr_timer_ns':40000,"
		"'responder_resources':5,'initiator_depth':6,'gid_index':7,'dgid':'2001::21',"
		"'sgid':'2001::22','gid_type':'roce_v2','netdev':'eth9','vlan_id':10,"
		"'traffic_class':8,'hop_limit':9,'dead_peer_detect_ms':1}");
	free(shown);
}

SVC_TEST(test_connection__attributes_that_are_not_known_are_null)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);

	shown->conn.qp.info = (struct vbd_qp_info){.state = IBV_QPS_INIT, .lqpn = 17};
	expect_member(shown, "qp_attr",
		"{'lqpn':17,'rqpn':null,'state':'INIT','sq_psn':null,'rq_psn':null,"
		"'path_mtu_bytes':null,'ack_timeout':null,'ack_timeout_ns':null,"
		"'retry_count':null,'rnr_retry':null,'min_rnr_timer':null,'min_rnr_timer_ns':null,"
		"'responder_resources':null,'initiator_depth':null,'gid_index':null,'dgid':null,"
		"'sgid':null,'gid_type':null,'netdev':null,'vlan_id':null,'traffic_class':null,"
		"'hop_limit':null,'dead_peer_detect_ms':null}");
	free(shown);
}

SVC_TEST(test_connection__attributes_that_its_transport_does_not_have_are_null)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);
	json_t *json;

	set_attributes(&shown->conn.qp.info);
	shown->conn.qp.info.sgid.vlan_id = -1;
	shown->conn.params.qp.transport = VBD_TRANSPORT_UC;
	json = json_of(shown);
	document_part_is(json_object_get(json, "qp_attr"),
		"{'sq_psn':19,'path_mtu_bytes':1024,'ack_timeout':null,'ack_timeout_ns':null,"
		"'retry_count':null,'rnr_retry':null,'min_rnr_timer':null,'min_rnr_timer_ns':null,"
		"'responder_resources':null,'initiator_depth':null,'vlan_id':null}");
	json_decref(json);
	shown->conn.params.qp.transport = VBD_TRANSPORT_RC;
	shown->conn.qp.info.iwarp = true;
	json = json_of(shown);
	document_part_is(json_object_get(json, "qp_attr"),
		"{'sq_psn':null,'rq_psn':null,'path_mtu_bytes':null,'ack_timeout':null,"
		"'retry_count':null,'rnr_retry':null,'min_rnr_timer':null,"
		"'responder_resources':5,'initiator_depth':6}");
	json_decref(json);
	free(shown);
}

SVC_TEST(test_connection__without_a_queue_pair_has_no_attributes)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);

	shown->conn.qp.info = (struct vbd_qp_info){0};
	expect_member(shown, "qp_attr", "null");
	free(shown);
}

SVC_TEST(test_connection__by_hand_tells_what_both_sides_need)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);

	set_attributes(&shown->conn.qp.info);
	shown->conn.params.qp.service = VBD_SERVICE_INBOX;
	shown->conn.params.qp.recv_size_bytes = 77;
	shown->manual = (struct vbd_conn_manual){.local = {.lid = 1,
							 .gid_index = 2,
							 .gid_type = "roce_v1",
							 .psn = 3,
							 .port_mtu_bytes = 4096,
							 .responder_resources = 4,
							 .initiator_depth = 5},
		.has_remote = true,
		.remote = {.lid = 6,
			.qpn = 7,
			.psn = 8,
			.port_mtu_bytes = 2048,
			.path_mtu_bytes = 512,
			.qp_type = "rc",
			.gid_type = "roce_v2",
			.responder_resources = 9,
			.initiator_depth = 10,
			.recv_size_bytes = 11,
			.sl = 12,
			.hop_limit = 13,
			.traffic_class = 14,
			.flow_label = 15}};
	set_gid(shown->manual.local.gid, 0x31);
	set_gid(shown->manual.remote.gid, 0x32);
	shown->conn.manual = &shown->manual;
	expect_member(shown, "bringup", "'manual'");
	expect_member(shown, "side", "null");
	expect_member(shown, "manual",
		"{'local':{'lid':1,'gid':'2001::31','gid_index':2,'qpn':17,'psn':3,"
		"'port_mtu_bytes':4096,'path_mtu_bytes':1024,'qp_type':'rc','gid_type':'roce_v1',"
		"'responder_resources':4,'initiator_depth':5,'recv_size_bytes':77},"
		"'remote':{'lid':6,'gid':'2001::32','qpn':7,'psn':8,'port_mtu_bytes':2048,"
		"'path_mtu_bytes':512,'qp_type':'rc','gid_type':'roce_v2',"
		"'responder_resources':9,'initiator_depth':10,'recv_size_bytes':11,'sl':12,"
		"'hop_limit':13,'traffic_class':14,'flow_label':15}}");
	free(shown);
}

SVC_TEST(test_connection__what_nobody_told_by_hand_is_null)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);
	json_t *json;

	shown->conn.qp.info = (struct vbd_qp_info){.state = IBV_QPS_INIT, .lqpn = 17};
	shown->conn.params.qp.service = VBD_SERVICE_NONE;
	shown->manual.local.gid_type = "roce_v2";
	shown->conn.manual = &shown->manual;
	json = json_of(shown);
	document_part_is(json_object_get(json, "manual"), "{'remote':null}");
	document_part_is(json_object_get(json_object_get(json, "manual"), "local"),
		"{'path_mtu_bytes':null,'recv_size_bytes':null}");
	json_decref(json);
	shown->manual.has_remote = true;
	shown->manual.remote.responder_resources = VBD_DEPTH_UNKNOWN;
	shown->manual.remote.initiator_depth = VBD_DEPTH_UNKNOWN;
	json = json_of(shown);
	document_part_is(json_object_get(json_object_get(json, "manual"), "remote"),
		"{'port_mtu_bytes':null,'path_mtu_bytes':null,'qp_type':null,'gid_type':null,"
		"'responder_resources':null,'initiator_depth':null,'recv_size_bytes':null}");
	json_decref(json);
	shown->conn.qp.info.lqpn = 0;
	json = json_of(shown);
	document_part_is(json_object_get(json, "manual"), "{'local':null}");
	json_decref(json);
	free(shown);
}

static struct sockaddr_storage address(const char *text, uint16_t port)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	struct sockaddr_in *in = (struct sockaddr_in *)&address;

	assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
	in->sin_port = htons(port);
	return address;
}

SVC_TEST(test_connection__tells_what_was_asked_for_and_where_it_is)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);
	char host[] = "hostb";
	json_t *json;

	shown->connection.dst_addr = host;
	shown->connection.dst_port = 1;
	shown->connection.listener_id = 0;
	shown->connection.inbox.count = 2;
	shown->connection.inbox.dropped = 3;
	shown->conn.cm.src = address("192.0.2.1", 0);
	shown->conn.cm.src_port = 4;
	shown->conn.cm.tos = 0;
	shown->conn.cm.reuse_addr = true;
	shown->conn.timeout_ms = 1;
	shown->conn.port_num = 6;
	shown->conn.local = address("192.0.2.2", 7);
	shown->conn.peer = address("192.0.2.3", 8);
	shown->conn.params.qp.service = VBD_SERVICE_INBOX;
	shown->conn.params.qp.rq_depth = 9;
	json = json_of(shown);
	document_part_is(json,
		"{'dst_addr':'hostb','dst_port':1,'src_addr':'192.0.2.1','src_port':4,'tos':0,"
		"'reuse_addr':true,'timeout_ms':1,'device':{'id':1,'name':'fake0'},'port_num':6,'"
		"listener':null,"
		"'local':{'addr':'192.0.2.2','port':7},'peer':{'addr':'192.0.2.3','port':8},"
		"'service':'inbox','inbox':{'messages':2,'capacity':9,'dropped':3},"
		"'side':'active','bringup':'cm','manual':null,'lost_packets':null}");
	json_decref(json);
	free(shown);
}

SVC_TEST(test_connection__what_was_not_asked_for_is_null)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.passive);
	json_t *json;

	shown->connection.dst_port = 0;
	shown->conn.cm.src.ss_family = 0;
	shown->conn.cm.src_port = 0;
	shown->conn.cm.tos = -1;
	shown->conn.timeout_ms = 0;
	shown->conn.port_num = 0;
	shown->conn.device = (struct vbd_device_id){0};
	shown->conn.cm.device[0] = '\0';
	shown->conn.params.qp.service = VBD_SERVICE_ECHO;
	json = json_of(shown);
	document_part_is(json,
		"{'dst_port':null,'src_addr':null,'src_port':null,'tos':null,'timeout_ms':null,"
		"'device':null,'port_num':null,'listener':{'id':1,'name':null},'side':'passive',"
		"'inbox':{'messages':0,'capacity':0}}");
	assert_null(json_object_get(json_object_get(json, "inbox"), "dropped"));
	json_decref(json);
	(void)snprintf(shown->conn.cm.device, sizeof(shown->conn.cm.device), "fake0");
	expect_member(shown, "device", "{'id':1,'name':'fake0'}");
	free(shown);
}

SVC_TEST(test_connection__counts_each_operation)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct shown *shown = copy_of(pair.active);
	struct vbd_op_counters *write = &shown->ops[VBD_OP_WRITE];
	struct vbd_op_counters *recv = &shown->ops[VBD_OP_RECV];

	shown->conn.params.qp.service = VBD_SERVICE_INBOX;
	vbd_counter_add(&write->posted, 1);
	vbd_counter_add(&write->completed, 2);
	vbd_counter_add(&write->errors, 3);
	vbd_counter_add(&write->flushed, 4);
	vbd_counter_add(&write->bytes, 5);
	vbd_counter_add(&write->signalled, 6);
	vbd_counter_add(&recv->posted, 16);
	expect_member(shown, "counters",
		"{'write':{'posted':1,'completed':2,'errors':3,'flushed':4,'bytes':5,"
		"'signalled':6}}");
	memset(write, 0, sizeof(*write));
	vbd_counter_add(&recv->flushed, 7);
	expect_member(shown, "counters",
		"{'recv':{'posted':16,'completed':0,'errors':0,'flushed':7,'bytes':0,"
		"'signalled':0}}");
	free(shown);
}
