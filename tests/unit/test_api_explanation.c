/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of explanations: each member of ConnectionExplanation and Reachability. */
#include "api/connections/connections.h"
#include "daemon/observe/explain.h"
#include "tests/unit/document.h"
#include "tests/unit/svc.h"

#include <arpa/inet.h>

/* An explanation that a test makes up, of a connection that is alive. */
struct fixture {
	struct svc *svc;
	struct vbd_connection *connection;
	struct vbd_explanation explanation;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct vbd_connection_spec spec;
	void *svc = NULL;

	assert_non_null(f);
	assert_int_equal(svc_setup(&svc), 0);
	f->svc = svc;
	spec = svc_spec_to(svc_listen(f->svc, NULL));
	(void)snprintf(spec.name, sizeof(spec.name), "c");
	f->connection = svc_connect(f->svc, &spec);
	SVC_UNTIL(f->svc, f->connection->conn->state == VBD_CONN_ESTABLISHED);
	f->explanation.facts.lock_limit_bytes = UINT64_MAX;
	f->explanation.facts.incident.op = -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *svc = f->svc;

	free(f);
	return svc_teardown(&svc);
}

#define EXPLANATION_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static json_t *explained_for(const struct fixture *f, enum vbd_role role)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_explanation(&out, f->connection, &f->explanation, role);
	return document_end(&out);
}

static void expect(
	const struct fixture *f, enum vbd_role role, const char *name, const char *wanted)
{
	json_t *json = explained_for(f, role);
	json_t *member = json_object_get(json, name);

	assert_non_null(member);
	document_is(json_incref(member), wanted);
	json_decref(json);
}

static void expect_fact(const struct fixture *f, const char *wanted)
{
	json_t *json = explained_for(f, VBD_ROLE_READ);

	document_part_is(json_object_get(json, "facts"), wanted);
	json_decref(json);
}

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage addr = {.ss_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&addr)->sin_addr), 1);
	return addr;
}

static void set_gid(uint8_t gid[16], uint8_t last)
{
	memset(gid, 0, 16);
	gid[0] = 0x20;
	gid[1] = 0x01;
	gid[15] = last;
}

/* --- facts ----------------------------------------------------------------------------------- */

EXPLANATION_TEST(test_explanation__has_each_member_also_when_nothing_is_known)
{
	(void)snprintf(f->explanation.summary, sizeof(f->explanation.summary), "It is well.");
	document_is(explained_for(f, VBD_ROLE_CONTROL),
		"{'connection':{'id':1,'name':'c'},'state':'established','summary':'It is well.',"
		"'cause':null,'evidence':[],'possible_causes':[],'request':null,'peer_report':null,"
		"'causes':[],"
		"'hints':[],'findings':[],'facts':{'device':null,'device_state':null,"
		"'port_num':null,'port_state':null,'link_layer':null,'port_mtu_bytes':null,"
		"'sgid':null,'dgid':null,'path_mtu_bytes':null,'ack_timeout_ns':null,"
		"'retry_count':null,'dead_peer_detect_ms':null,'min_rnr_timer_ns':null,"
		"'rnr_retry':null,'listener':null,'memlock':{'locked_bytes':0,'limit_bytes':null},"
		"'route':null,'neighbour':null},'end_code':null,'error':null,'preceded_by':null,"
		"'followed_by':{'flushed':0,'flushed_sends':0,'flushed_receives':0,'errors':0}}");
}

EXPLANATION_TEST(test_explanation__facts_of_the_device)
{
	struct vbd_facts *facts = &f->explanation.facts;

	facts->device_id = 4;
	(void)snprintf(facts->device, sizeof(facts->device), "rxe0");
	expect_fact(
		f, "{'device':{'id':4,'name':'rxe0'},'device_state':'present','port_num':null}");
	facts->device_removed = true;
	facts->port = (struct vbd_port){.port_num = 2,
		.state = IBV_PORT_DOWN,
		.link_layer = "ethernet",
		.active_mtu_bytes = 1024};
	expect_fact(f, "{'device_state':'removed','port_num':null,'port_state':null,"
		       "'link_layer':null,'port_mtu_bytes':null}");
	facts->port_known = true;
	expect_fact(f, "{'port_num':2,'port_state':'down','link_layer':'ethernet',"
		       "'port_mtu_bytes':1024}");
}

/* The peer's GID has the type of the local one, once both have spoken. */
EXPLANATION_TEST(test_explanation__facts_of_the_gids)
{
	struct vbd_facts *facts = &f->explanation.facts;
	uint64_t established_ns = f->connection->conn->established_ns;

	facts->qp.sgid = (struct vbd_gid){.gid_index = 3,
		.type = "roce_v2",
		.scope = "global",
		.netdev = "eth0",
		.vlan_id = 5};
	set_gid(facts->qp.sgid.raw, 1);
	set_gid(facts->qp.dgid, 2);
	expect_fact(f, "{'sgid':null,'dgid':null}");
	facts->qp.gid_known = true;
	expect_fact(f, "{'sgid':null,'dgid':{'gid':'2001::2','type':null,'scope':'global'}}");
	facts->qp.sgid_known = true;
	expect_fact(f, "{'sgid':{'gid_index':3,'gid':'2001::1','type':'roce_v2','scope':'global',"
		       "'netdev':'eth0','vlan_id':5},"
		       "'dgid':{'gid':'2001::2','type':'roce_v2','scope':'global'}}");
	f->connection->conn->established_ns = 0;
	expect_fact(f, "{'dgid':{'gid':'2001::2','type':null,'scope':'global'}}");
	f->connection->conn->established_ns = established_ns;
}

EXPLANATION_TEST(test_explanation__facts_of_the_timers)
{
	struct vbd_facts *facts = &f->explanation.facts;

	facts->qp.ack_timeout = 14;
	facts->qp.retry_count = 4;
	facts->qp.rnr_retry = 6;
	facts->qp.min_rnr_timer = 12;
	facts->qp.path_mtu_bytes = 2048;
	facts->reliable = true;
	expect_fact(f, "{'path_mtu_bytes':2048,'ack_timeout_ns':null,'retry_count':null,"
		       "'dead_peer_detect_ms':null,'min_rnr_timer_ns':null,'rnr_retry':null}");
	facts->qp.sends_known = true;
	expect_fact(f, "{'ack_timeout_ns':67108864,'retry_count':4,'dead_peer_detect_ms':336,"
		       "'min_rnr_timer_ns':640000,'rnr_retry':6}");
	facts->qp.ack_timeout = 0;
	expect_fact(f, "{'ack_timeout_ns':null,'retry_count':4,'dead_peer_detect_ms':null}");
	facts->qp.ack_timeout = 14;
	facts->reliable = false;
	expect_fact(f, "{'ack_timeout_ns':null,'retry_count':null,'min_rnr_timer_ns':null,"
		       "'rnr_retry':null}");
}

EXPLANATION_TEST(test_explanation__facts_of_the_listener_and_of_locked_memory)
{
	struct vbd_facts *facts = &f->explanation.facts;

	facts->waiting = 2;
	expect_fact(f, "{'listener':null}");
	facts->backlog = 5;
	facts->locked_bytes = 4096;
	facts->lock_limit_bytes = 8192;
	expect_fact(f, "{'listener':{'backlog':5,'waiting':2},"
		       "'memlock':{'locked_bytes':4096,'limit_bytes':8192}}");
}

EXPLANATION_TEST(test_explanation__facts_of_the_route_and_the_neighbour)
{
	struct vbd_facts *facts = &f->explanation.facts;
	struct vbd_pv_netroute *netroute = &facts->netroute;

	*netroute = (struct vbd_pv_netroute){.netdev = "eth0",
		.mtu_bytes = 1500,
		.src = address_of("10.0.0.1"),
		.next = address_of("10.0.0.254"),
		.gateway = true};
	expect_fact(f, "{'route':null,'neighbour':null}");
	facts->netroute_known = true;
	expect_fact(f, "{'route':{'netdev':'eth0','local':false,'src':'10.0.0.1','gateway':true,"
		       "'next_hop':'10.0.0.254','mtu_bytes':1500},'neighbour':null}");
	netroute->neighbour = "failed";
	expect_fact(f, "{'neighbour':{'addr':'10.0.0.254','state':'failed','lladdr':null}}");
	memcpy(netroute->hwaddr, "\x02\x00\x0a\xff\x01\x99", 6);
	netroute->hwaddr_bytes = 6;
	netroute->neighbour = "reachable";
	expect_fact(f, "{'neighbour':{'addr':'10.0.0.254','state':'reachable',"
		       "'lladdr':'02:00:0a:ff:01:99'}}");
	netroute->hwaddr_bytes = 1;
	expect_fact(f, "{'neighbour':{'addr':'10.0.0.254','state':'reachable','lladdr':'02'}}");
	netroute->hwaddr_bytes = sizeof(netroute->hwaddr);
	expect_fact(f, "{'neighbour':{'addr':'10.0.0.254','state':'reachable','lladdr':"
		       "'02:00:0a:ff:01:99:00:00:00:00:00:00:00:00:00:00:"
		       "00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00'}}");
	netroute->route_errnum = ENETUNREACH;
	expect_fact(f, "{'route':null,'neighbour':null}");
	*netroute = (struct vbd_pv_netroute){.local = true, .neighbour = "none"};
	expect_fact(f, "{'route':{'netdev':null,'local':true,'src':null,'gateway':false,"
		       "'next_hop':null,'mtu_bytes':null},"
		       "'neighbour':{'addr':null,'state':'none','lladdr':null}}");
}

/* --- causes, findings and hints --------------------------------------------------------------- */

static void add_cause(struct fixture *f, enum vbd_cause_code code, vbd_clue_set evidence,
	const char *text, const char *advice)
{
	struct vbd_verdicts *verdicts = &f->explanation.verdicts;
	struct vbd_verdict *cause = &verdicts->causes[verdicts->cause_count++];

	cause->row = &vbd_cause_rows[code];
	cause->evidence = evidence;
	(void)snprintf(cause->text, sizeof(cause->text), "%s", text);
	(void)snprintf(cause->advice, sizeof(cause->advice), "%s", advice);
}

static void add_finding(struct fixture *f, enum vbd_finding_code code, const char *detail)
{
	struct vbd_verdicts *verdicts = &f->explanation.verdicts;
	struct vbd_verdict *finding = &verdicts->findings[verdicts->finding_count++];

	finding->row = &vbd_finding_rows[code];
	(void)snprintf(finding->text, sizeof(finding->text), "%s", detail);
	(void)snprintf(finding->advice, sizeof(finding->advice), "%s", finding->row->advice);
}

EXPLANATION_TEST(test_explanation__clauses_become_sentences)
{
	(void)snprintf(f->explanation.facts.device, sizeof(f->explanation.facts.device), "rxe0");
	(void)snprintf(f->explanation.facts.incident.peer,
		sizeof(f->explanation.facts.incident.peer), "fd00::2");
	add_cause(f, VBD_CAUSE_DEVICE_REMOVED,
		VBD_CLUE_BIT(VBD_CLUE_DEVICE_GONE) | VBD_CLUE_BIT(VBD_CLUE_BY_HAND) |
			VBD_CLUE_BIT(VBD_CLUE_USED_UP), /* which has no text */
		"device rxe0 was removed: it is gone", "Add it.");
	add_cause(f, VBD_CAUSE_NO_ROUTE, 0, "fd00::2 has no route", "Add a route.");
	add_cause(f, VBD_CAUSE_INTERFACE_DOWN, VBD_CLUE_BIT(VBD_CLUE_PORT_FELL), "a", "Add it.");
	expect(f, VBD_ROLE_READ, "cause",
		"{'code':'device_removed','detail':'Device rxe0 was removed: it is gone.',"
		"'hint':'Add it.'}");
	expect(f, VBD_ROLE_READ, "evidence",
		"['Device rxe0 was removed.','The queue pair was brought up by hand.']");
	expect(f, VBD_ROLE_READ, "possible_causes",
		"[{'code':'no_route','detail':'fd00::2 has no route.','hint':'Add a route.',"
		"'evidence':[]},{'code':'interface_down','detail':'A.','hint':'Add it.',"
		"'evidence':['A port of rxe0 went down meanwhile.']}]");
	expect(f, VBD_ROLE_READ, "hints", "['Add it.','Add a route.']");
}

EXPLANATION_TEST(test_explanation__the_longest_clause_is_whole)
{
	char text[sizeof(f->explanation.verdicts.causes[0].text)], sentence[sizeof(text) + 1];
	json_t *json;

	memset(text, 'y', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)snprintf(sentence, sizeof(sentence), "Y%s.", text + 1);
	add_cause(f, VBD_CAUSE_NO_ROUTE, 0, text, "");
	json = explained_for(f, VBD_ROLE_READ);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(json, "cause"), "detail")),
		sentence);
	json_decref(json);
}

/* Each hint comes once, and "Nothing to do" and remarks are no hints. */
EXPLANATION_TEST(test_explanation__findings_give_hints_where_no_cause_is_known)
{
	enum vbd_finding_code worst = 0, remark = VBD_FINDING_COUNT - 1;
	json_t *json, *hints;

	assert_int_equal(vbd_finding_rows[worst].severity, VBD_FINDING_IS_ERROR);
	assert_int_equal(vbd_finding_rows[remark].severity, VBD_FINDING_IS_INFO);
	add_finding(f, worst, "One.");
	add_finding(f, worst, "Two.");
	add_finding(f, remark, "Three.");
	json = explained_for(f, VBD_ROLE_READ);
	hints = json_object_get(json, "findings");
	assert_int_equal(json_array_size(hints), 3);
	for (size_t i = 0; i < 3; i++) {
		const struct vbd_verdict *finding = &f->explanation.verdicts.findings[i];
		char wanted[1024];

		(void)snprintf(wanted, sizeof(wanted),
			"{\"code\":\"%s\",\"severity\":\"%s\",\"detail\":\"%s\"}",
			finding->row->name, i < 2 ? "error" : "info", finding->text);
		document_part_is(json_array_get(hints, i), wanted);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(hints, i), "hint")),
			finding->row->advice);
		assert_int_equal(json_object_size(json_array_get(hints, i)), 4);
	}
	hints = json_object_get(json, "hints");
	assert_int_equal(json_array_size(hints), 1);
	assert_string_equal(
		json_string_value(json_array_get(hints, 0)), vbd_finding_rows[worst].advice);
	json_decref(json);
	add_cause(f, VBD_CAUSE_NO_ROUTE, 0, "a", "Nothing to do.");
	expect(f, VBD_ROLE_READ, "hints", "[]");
}

EXPLANATION_TEST(test_explanation__names_of_the_end_are_explained)
{
	struct vbd_qp *qp = &f->connection->conn->qp;
	const json_t *causes;
	json_t *json;

	expect(f, VBD_ROLE_READ, "causes", "[]");
	qp->reason = VBD_REASON_RETRY_EXCEEDED;
	qp->first_error.error =
		(struct vbd_error){.source = VBD_SOURCE_WC, .kind = IBV_WC_RETRY_EXC_ERR};
	qp->first_error.at_ns = 1;
	json = explained_for(f, VBD_ROLE_READ);
	causes = json_object_get(json, "causes");
	assert_int_equal(json_array_size(causes), 2);
	document_part_is(json_array_get(causes, 0),
		"{'kind':'wc_status','name':'IBV_WC_RETRY_EXC_ERR','number':12}");
	document_part_is(json_array_get(causes, 1), "{'kind':'problem','name':'retry_exceeded'}");
	json_decref(json);
	qp->first_error.at_ns = 0;
	json = explained_for(f, VBD_ROLE_READ);
	assert_int_equal(json_array_size(json_object_get(json, "causes")), 1);
	json_decref(json);
	qp->reason = VBD_REASON_NONE;
}

/* --- the request and what surrounds it -------------------------------------------------------- */

EXPLANATION_TEST(test_explanation__address_and_key_are_for_operators)
{
	static const char shown[] = "{'op':'write','transfer':7,'length_bytes':64,'bytes_done':32,"
				    "'remote_addr':'0x7f00','rkey':'0x0000001f'}";
	static const char hidden[] = "{'op':'write','transfer':7,'length_bytes':64,"
				     "'bytes_done':32,'remote_addr':null,'rkey':null}";
	struct vbd_incident *incident = &f->explanation.facts.incident;

	incident->outcome = VBD_OUTCOME_ACCESS;
	incident->transfer = 7;
	incident->op = VBD_OP_WRITE;
	incident->length_bytes = 64;
	incident->done_bytes = 32;
	incident->remote_addr = 0x7f00;
	incident->rkey = 0x1f;
	expect(f, VBD_ROLE_READ, "request", hidden);
	expect(f, VBD_ROLE_OPERATE, "request", shown);
	expect(f, VBD_ROLE_CONTROL, "request", shown);
	incident->remote_addr = 0;
	expect(f, VBD_ROLE_CONTROL, "request", hidden);
	incident->op = 0;
	expect(f, VBD_ROLE_CONTROL, "request",
		"{'op':'send','transfer':7,'length_bytes':64,'bytes_done':32,"
		"'remote_addr':null,'rkey':null}");
	incident->op = -1;
	expect(f, VBD_ROLE_CONTROL, "request", "null");
	incident->op = VBD_OP_WRITE;
	incident->transfer = 0;
	expect(f, VBD_ROLE_CONTROL, "request", "null");
	incident->transfer = 7;
	incident->outcome = VBD_OUTCOME_WELL;
	expect(f, VBD_ROLE_CONTROL, "request", "null");
}

static void expect_report(const struct fixture *f, enum vbd_role role, const char *wanted)
{
	json_t *json = explained_for(f, role);

	document_part_is(json_object_get(json, "peer_report"), wanted);
	json_decref(json);
}

EXPLANATION_TEST(test_explanation__the_peers_report_is_told)
{
	struct vbd_report *report = &f->explanation.facts.peer_report;

	report->known = true;
	report->op = -1;
	expect_report(f, VBD_ROLE_CONTROL,
		"{'state':'open','end_code':null,'op':null,'remote_addr':null,'rkey':null}");
	report->ended = true;
	report->reason = VBD_REASON_LOCAL_CLOSE;
	expect_report(f, VBD_ROLE_CONTROL,
		"{'state':'closed','end_code':'local_close','inbox_full':false}");
	report->inbox_full = true;
	report->failed = true;
	report->op = VBD_OP_WRITE;
	report->length_bytes = 64;
	report->remote_addr = 0x7f00;
	report->rkey = 0x1f;
	report->recv_size_bytes = 32;
	report->path_mtu_bytes = 256;
	expect_report(f, VBD_ROLE_OPERATE,
		"{'state':'failed','inbox_full':true,'op':'write','length_bytes':64,'remote_addr':'"
		"0x7f00',"
		"'rkey':'0x0000001f','recv_size_bytes':32,'path_mtu_bytes':256}");
	expect_report(f, VBD_ROLE_READ, "{'length_bytes':64,'remote_addr':null,'rkey':null}");
}

EXPLANATION_TEST(test_explanation__tells_what_was_before_and_behind_the_end)
{
	struct vbd_conn *conn = f->connection->conn;
	struct vbd_timeline_entry *entry = calloc(1, sizeof(*entry) + sizeof("to x"));
	json_t *json;

	assert_non_null(entry);
	entry->at_ns = conn->created_ns + 17;
	entry->what = "rdma_connect";
	entry->kind = VBD_TIMELINE_CALL;
	(void)snprintf(entry->detail, sizeof("to x"), "to x");
	f->explanation.preceding = entry;
	f->explanation.facts.flushed_sends = 3;
	f->explanation.facts.flushed_receives = 4;
	conn->qp.errors_after_first = 2;
	json = explained_for(f, VBD_ROLE_READ);
	document_part_is(json_object_get(json, "preceded_by"),
		"{'since_start_ns':17,'kind':'call','what':'rdma_connect','from':null,'to':null,"
		"'detail':'to x'}");
	document_is(json_incref(json_object_get(json, "followed_by")),
		"{'flushed':7,'flushed_sends':3,'flushed_receives':4,'errors':2}");
	json_decref(json);
	conn->qp.errors_after_first = 0;
	free(entry);
}

/* --- destinations ----------------------------------------------------------------------------- */

static json_t *reached(
	const struct fixture *f, const struct vbd_destination *destination, uint64_t port)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_reachability(&out, "host", port, destination, &f->explanation);
	return document_end(&out);
}

EXPLANATION_TEST(test_reachability__has_the_request_and_what_follows)
{
	struct vbd_destination destination = {.addr = address_of("10.0.0.2")};
	json_t *json;

	(void)snprintf(f->explanation.summary, sizeof(f->explanation.summary), "By eth0.");
	f->explanation.facts.qp.sgid_known = f->explanation.facts.qp.gid_known = true;
	f->explanation.facts.qp.sgid.type = "roce_v2";
	set_gid(f->explanation.facts.qp.dgid, 2);
	json = reached(f, &destination, 0);
	document_part_is(json,
		"{'dst_addr':'host','dst_port':null,'src_addr':null,'device':null,"
		"'addr':'10.0.0.2','ready':true,'summary':'By eth0.','hints':[],'findings':[]}");
	document_part_is(json_object_get(json, "facts"),
		"{'dgid':{'gid':'2001::2','type':null,'scope':'global'}}");
	json_decref(json);
	destination.src = address_of("10.0.0.1");
	destination.device_id = 4;
	(void)snprintf(destination.device, sizeof(destination.device), "rxe0");
	add_finding(f, 0, "One.");
	json = reached(f, &destination, 7471);
	document_part_is(json, "{'dst_port':7471,'src_addr':'10.0.0.1','ready':false,"
			       "'device':{'id':4,'name':'rxe0'}}");
	assert_int_equal(json_array_size(json_object_get(json, "findings")), 1);
	assert_int_equal(json_array_size(json_object_get(json, "hints")), 1);
	json_decref(json);
}
