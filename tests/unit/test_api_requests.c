/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that change objects, and what the answers tell of them, over the fake provider. */
#include "tests/unit/rest.h"

static unsigned int port_of(struct rest *rest, const char *listener)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/v1/listeners/%s", listener);
	return (unsigned int)rest_number(rest_call(rest, 200, "GET", path, NULL), "port");
}

/* --- requests of peers -------------------------------------------------------------------------
 */

/* A connection "c" to the listener "m", which leaves it to the client: connection 2. */
static void ask(struct rest *rest)
{
	(void)rest_call(rest, 201, "POST", "/v1/listeners",
		"{'name':'m','addr':'10.0.0.1','port':0,'accept':'manual'}");
	rest->headers = "";
	(void)rest_call(rest, 202, "POST", "/v1/connections",
		"{'name':'c','dst_addr':'10.0.0.1','dst_port':%u,'private_data':{'data':'ask'}}",
		port_of(rest, "m"));
	rest->headers = REST_WAIT;
	while (rest_number(rest_call(rest, 200, "GET", "/v1/connections?state=requested", NULL),
		       "total") == 0)
		svc_turn(rest->svc);
}

REST_TEST(test_api_requests__a_request_is_accepted_as_the_client_wants)
{
	ask(rest);
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/2", NULL),
		"{'name':null,'state':'requested','waits_for':'a client\\u0027s decision to accept "
		"or reject',"
		"'private_data':{'local':null,'peer':{'carried_by':'request','data':'ask',"
		"'encoding':'text','length_bytes':56}}}");
	rest_expect(rest_call(rest, 200, "POST", "/v1/connections/2/accept",
			    "{'name':'in','service':'echo','private_data':{'data':'0102',"
			    "'encoding':'hex'}}"),
		"{'id':2,'name':'in','state':'established','service':'echo','waits_for':null}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/c?until=established&wait_ms=60000",
			    NULL),
		"{'private_data':{'peer':{'carried_by':'reply','data':'0102','encoding':'hex',"
		"'length_bytes':196}}}");
	rest_expect(rest_call(rest, 409, "POST", "/v1/connections/2/accept", "{}"),
		"{'code':'wrong_state'}");
}

REST_TEST(test_api_requests__what_an_accept_does_not_name_stays)
{
	ask(rest);
	rest_refuse(rest, "/v1/connections/2/accept", "{'service':'x'}", "bad_value", "/service");
	rest_refuse(rest, "/v1/connections/2/accept",
		"{'private_data':{'data':'x','encoding':'hex'}}", "bad_value",
		"/private_data/data");
	rest_expect(rest_call(rest, 200, "POST", "/v1/connections/2/accept", NULL),
		"{'name':null,'state':'established','service':'inbox'}");
}

static void expect_rejected(struct rest *rest, const char *reason, const char *data)
{
	const json_t *error;

	rest_expect(
		rest_call(rest, 200, "GET", "/v1/connections/c?until=ended&wait_ms=60000", NULL),
		"{'state':'failed','end_code':'rejected'}");
	error = json_object_get(json_object_get(rest->document, "error"), "first");
	assert_string_equal(rest_text(error, "cm_event"), "RDMA_CM_EVENT_REJECTED");
	assert_string_equal(rest_text(error, "reject_reason"), reason);
	rest_expect(json_object_get(rest->document, "private_data"), data);
}

REST_TEST(test_api_requests__a_request_is_rejected_with_data)
{
	ask(rest);
	rest_refuse(rest, "/v1/connections/2/reject", "{'reason':'x'}", "bad_value", "/reason");
	rest_expect(rest_call(rest, 200, "POST", "/v1/connections/2/reject",
			    "{'reason':'consumer_defined','private_data':{'data':'no'}}"),
		"{'id':2}");
	expect_rejected(rest, "IB_CM_REJ_CONSUMER_DEFINED", "{'peer':{'data':'no'}}");
}

REST_TEST(test_api_requests__a_request_is_rejected_for_a_vendor_option)
{
	ask(rest);
	(void)rest_call(rest, 200, "POST", "/v1/connections/2/reject",
		"{'reason':'vendor_option_not_supported'}");
	expect_rejected(rest, "IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED", "{'peer':null}");
}

REST_TEST(test_api_requests__a_connection_that_failed_has_ended_before_its_answer)
{
	for (int i = 0; i < 2; i++) {
		(void)rest_call(rest, 424, "POST", "/v1/connections?wait_ms=60000",
			"{'name':'nobody','dst_addr':'10.0.0.1','dst_port':1}");
		rest_expect(rest_call(rest, 200, "GET", "/v1/connections/nobody", NULL),
			"{'state':'failed','end_code':'rejected'}");
	}
}

/* --- queues ------------------------------------------------------------------------------------
 */

REST_TEST(test_api_requests__a_completion_queue_is_changed)
{
	(void)rest_call(rest, 201, "POST", "/v1/cqs", "{'name':'q','device':'fake0','cqe':100}");
	rest_expect(rest_call(rest, 200, "PATCH", "/v1/cqs/q",
			    "{'moderation':{'count':3,'period_us':4}}"),
		"{'name':'q','moderation':{'count':3,'period_us':4}}");
	rest_expect(rest_call(rest, 200, "PATCH", "/v1/cqs/q", "{'moderation':{'count':5}}"),
		"{'moderation':{'count':5,'period_us':4}}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/cqs/q", "{}"), "{'code':'missing_field'}");
	rest_expect(rest_call(rest, 200, "PATCH", "/v1/cqs/q", "{'cqe':200}"),
		"{'cqe':200,'moderation':{'count':5,'period_us':4}}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/cqs/q", "{'cqe':0}"),
		"{'code':'out_of_range','errors':[{'pointer':'/cqe'}]}");
	rest_expect(
		rest_call(rest, 404, "PATCH", "/v1/cqs/x", "{'cqe':1}"), "{'code':'not_found'}");
}

REST_TEST(test_api_requests__the_limit_of_a_shared_receive_queue_is_changed)
{
	(void)rest_call(rest, 201, "POST", "/v1/srqs", "{'name':'s','max_wr':8,'srq_limit':1}");
	rest_expect(rest_call(rest, 200, "PATCH", "/v1/srqs/s", "{'srq_limit':8}"),
		"{'name':'s','srq_limit':8}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/srqs/s", "{'srq_limit':9}"),
		"{'code':'out_of_range','errors':[{'pointer':'/srq_limit'}],"
		"'detail':'limit is 9; the queue holds 8 receives'}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/srqs/s", "{}"),
		"{'code':'missing_field','errors':[{'pointer':'/srq_limit'}]}");
	rest_expect(rest_call(rest, 404, "PATCH", "/v1/srqs/x", "{'srq_limit':1}"),
		"{'code':'not_found'}");
}

/* --- listeners ---------------------------------------------------------------------------------
 */

REST_TEST(test_api_requests__a_listener_tells_its_rules)
{
	rest_expect(rest_call(rest, 201, "POST", "/v1/listeners",
			    "{'addr':'10.0.0.1','port':1000,'tos':0,'reuse_addr':true,"
			    "'allow':['10.0.0.0/8','fe80::/10'],'max_connections':5,"
			    "'max_per_peer':4,'connects_per_s':3,'connects_burst':2}"),
		"{'id':1,'name':null,'addr':'10.0.0.1','port':1000,'tos':0,'reuse_addr':true,"
		"'v6_only':null,'allow':['10.0.0.0/8','fe80::/10'],'max_connections':5,"
		"'max_per_peer':4,'connects_per_s':3,'connects_burst':2}");
	rest_expect(rest_call(rest, 201, "POST", "/v1/listeners",
			    "{'addr':'::','port':1001,'v6_only':true}"),
		"{'tos':null,'reuse_addr':false,'v6_only':true,'allow':[]}");
	rest_expect(rest_call(rest, 201, "POST", "/v1/listeners",
			    "{'addr':'::','port':1002,'v6_only':false}"),
		"{'v6_only':false}");
}

REST_TEST(test_api_requests__a_listener_is_on_the_device_that_is_asked_for)
{
	rest_expect(rest_call(rest, 503, "POST", "/v1/listeners",
			    "{'addr':'10.0.0.1','port':1000,'device':'fake9'}"),
		"{'code':'no_device','errors':[{'pointer':'/device'}]}");
}

/* --- many at once ------------------------------------------------------------------------------
 */

REST_TEST(test_api_requests__connections_of_a_label_are_closed_together)
{
	(void)rest_pair(rest, ",'labels':{'job':'x'}", "");
	rest_expect(
		rest_call(rest, 200, "POST",
			"/v1/objects/-/cancel?kind=connection&label=job%3Dx&dry_run=true", NULL),
		"{'selected':1,'objects':[{'kind':'connection','id':1}],'dry_run':true,'done':0,'"
		"pending':0,'failed':0,"
		"'failures':[]}");
	rest_expect(rest_call(rest, 200, "POST",
			    "/v1/objects/-/cancel?kind=connection&label=job%3Dx", NULL),
		"{'selected':1,'objects':[{'kind':'connection','id':1}],'dry_run':false,'done':1,'"
		"pending':0,'failed':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/c", NULL),
		"{'state':'closed','end_code':'local_close'}");
	rest_expect(rest_call(rest, 200, "POST",
			    "/v1/objects/-/cancel?kind=connection&label=job%3Dx", NULL),
		"{'selected':0,'objects':[],'done':0}");
	(void)rest_call(rest, 200, "GET", "/v1/connections/2?until=ended&wait_ms=60000", NULL);
	rest_expect(rest_call(rest, 200, "DELETE", "/v1/objects?kind=connection&all=true", NULL),
		"{'selected':2,'objects':[{'kind':'connection','id':1},"
		"{'kind':'connection','id':2}],'done':2,'pending':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections?state=open,ended", NULL),
		"{'total':0}");
}

REST_TEST(test_api_requests__headers_tell_of_lists_and_of_waits)
{
	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 200, "GET", "/v1/connections?limit=1", NULL);
	assert_non_null(strstr(rest->reply, "Verbsd-Event: "));
	(void)rest_call(rest, 200, "GET", "/v1/connections/c?until=ended&wait_ms=1", NULL);
	assert_non_null(strstr(rest->reply, "Verbsd-Until: timed_out"));
	(void)rest_call(rest, 200, "GET", "/v1/connections/c?until=open&wait_ms=1000", NULL);
	assert_null(strstr(rest->reply, "Verbsd-Until"));
	rest_expect(rest_call(rest, 201, "POST", "/v1/buffers", "{'size_bytes':64,'access':[]}"),
		"{'state':'ready','rkey':null,'access':[]}");
}

REST_TEST(test_api_requests__objects_go_before_those_that_they_use)
{
	(void)rest_call(
		rest, 201, "POST", "/v1/pds", "{'name':'p','device':'fake0','labels':{'job':'x'}}");
	(void)rest_call(rest, 201, "POST", "/v1/buffers",
		"{'name':'b','size_bytes':64,'pd':'p','labels':{'job':'x'}}");
	(void)rest_pair(rest, ",'labels':{'job':'x'},'qp':{'pd':'p'}", "");
	rest_expect(rest_call(rest, 400, "POST", "/v1/objects/-/cancel?kind=buffer&all=true", NULL),
		"{'code':'bad_value','errors':[{'parameter':'kind'}]}");
	rest_expect(rest_call(rest, 200, "DELETE", "/v1/objects?label=job%3Dx&wait_ms=60000", NULL),
		"{'selected':3,'objects':[{'kind':'connection'},{'kind':'buffer'},{'kind':'pd'}],"
		"'done':3,'pending':0,'failed':0}");
	(void)rest_call(rest, 404, "GET", "/v1/pds/p", NULL);
}

REST_TEST(test_api_requests__what_of_a_selection_can_not_be_deleted_is_told)
{
	(void)rest_call(rest, 201, "POST", "/v1/pds", "{'name':'used','device':'fake0'}");
	(void)rest_call(rest, 201, "POST", "/v1/pds", "{'name':'free','device':'fake0'}");
	(void)rest_call(
		rest, 201, "POST", "/v1/buffers", "{'name':'b','size_bytes':64,'pd':'used'}");
	rest_expect(rest_call(rest, 200, "DELETE", "/v1/objects?kind=pd&all=true", NULL),
		"{'selected':3,'done':1,'pending':0,'failed':2,'failures':[{'kind':'pd','id':1,"
		"'name':null,'code':'wrong_state'},{'id':2,'name':'used','code':'in_use',"
		"'detail':'pd 2 has 1 user'}]}");
	rest_expect(rest_call(rest, 400, "DELETE", "/v1/objects?kind=pd", NULL),
		"{'code':'missing_field','errors':[{'parameter':'label'}]}");
	rest_expect(
		rest_call(rest, 400, "DELETE", "/v1/objects?kind=pd&all=true&label=a%3Db", NULL),
		"{'code':'bad_value','errors':[{'parameter':'all'}]}");
}

/* --- what happened -----------------------------------------------------------------------------
 */

REST_TEST(test_api_requests__a_receive_tells_what_came)
{
	fake_receives_optional(true);
	(void)rest_pair(rest, "", ",'service':'none'");
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'b','size_bytes':64}");
	rest->headers = "";
	rest_expect(rest_call(rest, 202, "POST", "/v1/transfers",
			    "{'op':'recv','connection':'2','buffer':'b','length_bytes':32}"),
		"{'received':null}");
	rest->headers = REST_WAIT;
	while (!json_object_size(json_object_get(
		rest_call(rest, 200, "GET", "/v1/connections/2", NULL), "counters")))
		svc_turn(rest->svc);
	rest_expect(rest->document,
		"{'counters':{'recv':{'posted':1,'completed':0,'errors':0,'flushed':0}}}");
	(void)rest_call(rest, 201, "POST", "/v1/transfers",
		"{'op':'send','connection':'c','buffer':'b','length_bytes':5}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/transfers/1?until=ended&wait_ms=60000", NULL),
		"{'state':'done','received':{'op':'send','length_bytes':5,'written_bytes':null,"
		"'imm':null}}");
}

REST_TEST(test_api_requests__a_failed_transfer_says_why)
{
	const json_t *error;

	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'b','size_bytes':64}");
	(void)rest_call(rest, 424, "POST", "/v1/transfers",
		"{'op':'write','connection':'c','buffer':'b','remote':{'addr':'0x1000',"
		"'rkey':'0x99'}}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/transfers/1", NULL),
		"{'state':'failed','error':{'code':'remote_access','first':{'source':'wc',"
		"'code':'remote_access','op':'write','cm_event':null,'cm_status':null,"
		"'reject_reason':null,'wc_status':'IBV_WC_REM_ACCESS_ERR','async_event':null,"
		"'errno':null,'transfer':1}}}");
	error = json_object_get(rest->document, "error");
	assert_true(strlen(rest_text(error, "detail")) && strlen(rest_text(error, "hint")));
	error = json_object_get(error, "first");
	assert_true(strlen(rest_text(error, "detail")) && strlen(rest_text(error, "at")));
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/c/explain", NULL),
		"{'request':{'op':'write','transfer':1,'length_bytes':64,'bytes_done':0,"
		"'remote_addr':'0x1000','rkey':'0x00000099'}}");
}

REST_TEST(test_api_requests__the_timeline_of_a_connection_is_told)
{
	const json_t *items;

	(void)rest_pair(rest, "", "");
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/c/timeline", NULL),
		"{'next':null,'dropped':0}");
	items = json_object_get(rest->document, "items");
	assert_int_equal(json_array_size(items), rest_number(rest->document, "total"));
	rest_expect(json_array_get(items, 0), "{'kind':'state','what':'resolving_addr'}");
}

REST_TEST(test_api_requests__each_fault_of_an_item_is_told)
{
	rest_expect(rest_call(rest, 400, "POST", "/v1/transfer_batches",
			    "{'transfers':[{'op':'send','connection':1,'x':1,'y':2}]}"),
		"{'errors_total':2,'errors':[{'pointer':'/transfers/0/x','code':'unknown_field'},"
		"{'pointer':'/transfers/0/y','code':'unknown_field'}]}");
}

REST_TEST(test_api_requests__a_reload_is_refused_without_a_program_that_can)
{
	rest_expect(rest_call(rest, 422, "POST", "/v1/reload", NULL), "{'code':'not_supported'}");
}

REST_TEST(test_api_requests__a_listener_changes_its_service_and_its_queue_pairs)
{
	(void)rest_call(rest, 201, "POST", "/v1/listeners",
		"{'name':'l','addr':'10.0.0.1','qp':{'rq_depth':4}}");
	rest_expect(rest_call(rest, 200, "PATCH", "/v1/listeners/l",
			    "{'service':'echo','qp':{'sq_depth':32}}"),
		"{'service':'echo','accept':'auto','qp':{'sq_depth':32,'rq_depth':4}}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/listeners/l", "{'qp':{'sq_depth':0}}"),
		"{'errors':[{'code':'out_of_range','pointer':'/qp/sq_depth'}]}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/listeners/l?until=idle&wait_ms=60000", NULL),
		"{'connections':0,'service':'echo'}");
	rest_expect(rest_call(rest, 400, "GET", "/v1/listeners/l?until=idel", NULL),
		"{'errors':[{'code':'bad_value','parameter':'until'}]}");
}

REST_TEST(test_api_requests__labels_are_changed)
{
	(void)rest_call(
		rest, 201, "POST", "/v1/pds", "{'name':'p','labels':{'job':'x','draft':'1'}}");
	(void)rest_call(rest, 201, "POST", "/v1/pds", "{'name':'q','labels':{'job':'x'}}");
	rest_expect(rest_call(rest, 200, "PATCH", "/v1/objects?object=pd/p",
			    "{'labels':{'draft':null,'team':'a'}}"),
		"{'selected':1,'done':1,'failed':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/pds/p", NULL),
		"{'labels':{'job':'x','team':'a'}}");
	assert_null(json_object_get(json_object_get(rest->document, "labels"), "draft"));
	rest_expect(rest_call(rest, 200, "PATCH", "/v1/objects?kind=pd&label=job=x",
			    "{'labels':{'job':null}}"),
		"{'selected':2,'done':2,'failed':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/pds?label=job", NULL), "{'total':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/pds?label=team=a", NULL), "{'total':1}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/events?type=labels_changed&limit=1", NULL),
		"{'items':[{'object':{'kind':'pd','name':'p','labels':{'team':'a'}}}]}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/objects?object=pd/p", "{}"),
		"{'errors':[{'code':'missing_field','pointer':'/labels'}]}");
	rest_expect(
		rest_call(rest, 400, "PATCH", "/v1/objects?object=pd/p", "{'labels':{'a b':'1'}}"),
		"{'errors':[{'code':'bad_value','pointer':'/labels'}]}");
	rest_expect(
		rest_call(rest, 404, "PATCH", "/v1/objects?object=pd/x", "{'labels':{'a':'1'}}"),
		"{'code':'not_found'}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/objects?object=kept_object/1",
			    "{'labels':{'a':'1'}}"),
		"{'errors':[{'code':'bad_value','parameter':'object'}]}");
	rest_expect(rest_call(rest, 400, "PATCH", "/v1/objects?object=pd/p&all=true",
			    "{'labels':{'a':'1'}}"),
		"{'errors':[{'code':'bad_value','parameter':'object'}]}");
}
