/* SPDX-License-Identifier: Apache-2.0 */
/* UD endpoints, their peers and groups as clients see them, over the fake provider. */
#include "tests/unit/rest.h"

static void make_endpoints(struct rest *rest)
{
	rest_expect(rest_call(rest, 201, "POST", "/v1/ud_endpoints",
			    "{'name':'there','addr':'10.0.0.1','port':7174}"),
		"{'state':'ready','addr':'10.0.0.1','port':7174,"
		"'device':{'id':1,'name':'fake0'}}");
	rest_expect(rest_call(rest, 201, "POST", "/v1/ud_endpoints", "{'name':'here'}"),
		"{'id':2,'addr':null,'port':null,'ud_peer_count':0,'multicast_membership_count':"
		"0}");
}

/* "p" is what "here" knows of "there". */
static void make_peer(struct rest *rest)
{
	rest_expect(
		rest_call(rest, 201, "POST", "/v1/ud_peers",
			"{'name':'p','ud_endpoint':'here','dst_addr':'10.0.0.1','dst_port':7174,"
			"'private_data':{'data':'hello'}}"),
		"{'id':1,'name':'p','owner':'control','labels':{},'state':'ready','waits_for':null,"
		"'ud_endpoint':{'id':2,'name':'here'},'dst_addr':'10.0.0.1','dst_port':7174,"
		"'message_seq':null,'qpn':17,'qkey':'0x01234567','path':{'gid':'::ffff:10.0.0.1',"
		"'gid_index':0,'lid':0,'sl':0,'port_num':1},'private_data':{'local':{'carried_by':'"
		"sidr_request','data':'hello','length_bytes':5},'peer':null},'user_count':0,'"
		"timeout_ms':10000,'error':null}");
}

REST_TEST(test_api_datagrams__a_peer_that_was_asked_is_told_with_its_path)
{
	make_endpoints(rest);
	make_peer(rest);
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/ud_endpoints/here", NULL), "{'ud_peer_count':1}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/ud_endpoints/there", NULL),
		"{'sidr':{'requests':1,'answered':1,'refused':0},'ud_peer_count':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/ud_peers?ud_endpoint=here&state=ready", NULL),
		"{'total':1,'items':[{'name':'p'}]}");
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/ud_peers?ud_endpoint=there", NULL), "{'total':0}");
	(void)rest_call(rest, 204, "DELETE", "/v1/ud_peers/p", NULL);
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/ud_endpoints/here", NULL), "{'ud_peer_count':0}");
}

REST_TEST(test_api_datagrams__nobody_there_is_a_failed_peer)
{
	make_endpoints(rest);
	rest_refuse(rest, "/v1/ud_peers",
		"{'name':'q','ud_endpoint':'here','dst_addr':'10.0.0.1','dst_port':7199}",
		"rejected", NULL);
	rest_expect(rest_call(rest, 200, "GET", "/v1/ud_peers/q", NULL),
		"{'state':'failed','qpn':null,'path':null,'qkey':null,'error':{'code':'rejected'}"
		"}");
}

REST_TEST(test_api_datagrams__a_message_goes_to_the_peer_and_its_sender_is_one)
{
	make_endpoints(rest);
	make_peer(rest);
	rest_expect(rest_call(rest, 201, "POST", "/v1/ud_endpoints/here/messages",
			    "{'ud_peer':'p','data':'hello','imm':7}"),
		"{'op':'send_imm','state':'done','connection':null,'ud_endpoint':{'id':2,'name':'"
		"here'},"
		"'ud_peer':{'id':1,'name':'p'},'multicast_membership':null,'length_bytes':5}");
	rest_expect(rest_call(rest, 200, "GET",
			    "/v1/ud_endpoints/there/messages?after=0&wait_ms=60000", NULL),
		"{'total':1,'items':[{'seq':1,'length_bytes':5,'data':'hello'}]}");
	rest_expect(rest_call(rest, 201, "POST", "/v1/ud_peers",
			    "{'ud_endpoint':'there','message_seq':1,'qkey':'0x7'}"),
		"{'state':'ready','dst_addr':null,'dst_port':null,'message_seq':1,'qpn':18,"
		"'qkey':'0x00000007','timeout_ms':null}");
	rest_expect(rest_call(rest, 400, "DELETE", "/v1/ud_endpoints/there/messages", NULL),
		"{'errors':[{'parameter':'through'}]}");
	(void)rest_call(rest, 204, "DELETE", "/v1/ud_endpoints/there/messages?through=1", NULL);
	rest->headers = ""; /* or it would wait for a message */
	rest_expect(rest_call(rest, 200, "GET", "/v1/ud_endpoints/there/messages", NULL),
		"{'total':0}");
}

REST_TEST(test_api_datagrams__a_peer_can_be_given_by_its_numbers)
{
	make_endpoints(rest);
	rest_expect(rest_call(rest, 201, "POST", "/v1/ud_peers",
			    "{'ud_endpoint':'here','gid':'fe80::1','qpn':5,'sl':3,'hop_limit':9,"
			    "'traffic_class':8,'flow_label':77,'gid_index':0}"),
		"{'state':'ready','qpn':5,'qkey':'0x01234567','path':{'gid':'fe80::1','gid_index':"
		"0,"
		"'hop_limit':9,'traffic_class':8,'flow_label':77,'lid':0,'sl':3,'port_num':1}}");
	rest_expect(rest_call(rest, 201, "POST", "/v1/ud_peers",
			    "{'ud_endpoint':'here','gid':'fe80::2','qpn':6,'qkey':'0x9'}"),
		"{'qkey':'0x00000009','path':{'gid':'fe80::2','hop_limit':64,'traffic_class':0,"
		"'flow_label':0,'sl':0}}");
}

REST_TEST(test_api_datagrams__each_way_to_give_a_peer_has_its_members)
{
	static const struct {
		const char *body, *code, *pointer;
	} cases[] = {
		{"", "missing_field", "/dst_addr"},
		{",'dst_addr':'10.0.0.1'", "missing_field", "/dst_port"},
		{",'dst_addr':'10.0.0.1','dst_port':1,'qpn':5", "bad_value", "/qpn"},
		{",'dst_addr':'10.0.0.1','dst_port':1,'message_seq':5", "bad_value",
			"/message_seq"},
		{",'dst_addr':'10.0.0.1','dst_port':1,'qkey':'0x1'", "bad_value", "/qkey"},
		{",'message_seq':1,'gid':'fe80::1'", "bad_value", "/gid"},
		{",'message_seq':1,'lid':1", "bad_value", "/lid"},
		{",'message_seq':1,'sl':1", "bad_value", "/sl"},
		{",'message_seq':1,'gid_index':1", "bad_value", "/gid_index"},
		{",'message_seq':1,'hop_limit':1", "bad_value", "/hop_limit"},
		{",'message_seq':1,'traffic_class':1", "bad_value", "/traffic_class"},
		{",'message_seq':1,'flow_label':1", "bad_value", "/flow_label"},
		{",'message_seq':1,'private_data':{'data':'a'}", "bad_value", "/private_data"},
		{",'message_seq':1,'timeout_ms':1", "bad_value", "/timeout_ms"},
		{",'message_seq':1,'dst_port':1", "bad_value", "/dst_port"},
		{",'qpn':5", "missing_field", "/gid"},
		{",'qpn':5,'gid':'nonsense'", "bad_value", "/gid"},
		{",'qpn':5,'gid':'fe80::1','lid':1", "bad_value", "/lid"},
		{",'qpn':5,'gid':'fe80::1','timeout_ms':1", "bad_value", "/timeout_ms"},
	};
	char body[256];

	make_endpoints(rest);
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		(void)snprintf(body, sizeof(body), "{'ud_endpoint':'here'%s}", cases[i].body);
		rest_refuse(rest, "/v1/ud_peers", body, cases[i].code, cases[i].pointer);
	}
	rest_refuse(rest, "/v1/ud_peers", "{'ud_endpoint':'x','qpn':5,'gid':'fe80::1'}",
		"not_found", "/ud_endpoint");
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/ud_peers?state=open,ended", NULL), "{'total':0}");
}

static void make_group(struct rest *rest, const char *name, const char *mode)
{
	(void)rest_call(rest, 201, "POST", "/v1/multicast_memberships",
		"{'name':'%s','ud_endpoint':'%s','addr':'239.1.2.3','mode':'%s'}", name, name,
		mode);
}

REST_TEST(test_api_datagrams__a_group_tells_what_it_was_given)
{
	make_endpoints(rest);
	rest_expect(rest_call(rest, 201, "POST", "/v1/multicast_memberships",
			    "{'name':'g','ud_endpoint':'here','addr':'239.1.2.3'}"),
		"{'id':1,'name':'g','owner':'control','labels':{},'state':'joined','waits_for':"
		"null,"
		"'ud_endpoint':{'id':2,'name':'here'},'addr':'239.1.2.3','mode':'full','user_count'"
		":0,"
		"'timeout_ms':10000,'error':null}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/ud_endpoints/here", NULL),
		"{'multicast_membership_count':1}");
	rest_expect(rest_call(rest, 200, "GET",
			    "/v1/multicast_memberships?ud_endpoint=here&state=joined", NULL),
		"{'total':1}");
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/multicast_memberships?ud_endpoint=there", NULL),
		"{'total':0}");
	rest_refuse(rest, "/v1/multicast_memberships", "{'ud_endpoint':'x','addr':'239.1.2.3'}",
		"not_found", "/ud_endpoint");
	rest_refuse(rest, "/v1/multicast_memberships", "{'ud_endpoint':'here'}", "missing_field",
		"/addr");
	(void)rest_call(rest, 204, "DELETE", "/v1/multicast_memberships/g", NULL);
}

REST_TEST(test_api_datagrams__all_members_of_a_group_get_its_messages)
{
	make_endpoints(rest);
	make_group(rest, "here", "send_only");
	make_group(rest, "there", "full");
	rest_expect(rest_call(rest, 201, "POST", "/v1/ud_endpoints/here/messages",
			    "{'multicast_membership':'here','data':'all'}"),
		"{'state':'done','ud_peer':null,'multicast_membership':{'id':1,'name':'here'}}");
	rest_expect(rest_call(rest, 200, "GET",
			    "/v1/ud_endpoints/there/messages?after=0&wait_ms=60000", NULL),
		"{'items':[{'data':'all'}]}");
}

REST_TEST(test_api_datagrams__a_datagram_needs_one_destination_of_its_endpoint)
{
	static const struct {
		const char *body, *code, *pointer;
	} cases[] = {
		{"{'data':'a'}", "missing_field", "/ud_peer"},
		{"{'data':'a','ud_peer':'x'}", "not_found", "/ud_peer"},
		{"{'data':'a','multicast_membership':'x'}", "not_found", "/multicast_membership"},
		{"{'data':'a','ud_peer':'p','multicast_membership':'here'}", "bad_value",
			"/multicast_membership"},
		{"{'data':'a','multicast_membership':'there'}", "bad_value",
			"/multicast_membership"},
		{"{'ud_peer':'p'}", "missing_field", "/data"},
	};

	make_endpoints(rest);
	make_peer(rest);
	make_group(rest, "here", "full");
	make_group(rest, "there", "full");
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++)
		rest_refuse(rest, "/v1/ud_endpoints/here/messages", cases[i].body, cases[i].code,
			cases[i].pointer);
	rest_refuse(rest, "/v1/ud_endpoints/there/messages", "{'data':'a','ud_peer':'p'}",
		"bad_value", "/ud_peer");
	rest_refuse(rest, "/v1/ud_endpoints/x/messages", "{'data':'a'}", "not_found", NULL);
	rest_refuse(rest, "/v1/transfers",
		"{'op':'recv','ud_endpoint':'here','ud_peer':'p','length_bytes':0}",
		"not_supported", "/op");
	rest_refuse(rest, "/v1/transfers",
		"{'op':'write','ud_endpoint':'here','ud_peer':'p','length_bytes':0,'remote':{'addr'"
		":"
		"'0x1000','rkey':'0x1'}}",
		"not_supported", "/op");
}
