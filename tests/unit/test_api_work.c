/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers, batches, probes, benchmarks and messages as clients see them, over the fake provider.
 */
#include "tests/unit/rest.h"

/* --- memory ---------------------------------------------------------------------------------- */

/* Text of a member "remote": 4096 bytes of the buffer "there". */
static const char *remote(struct rest *rest)
{
	static char text[128];
	const json_t *there = rest_call(rest, 201, "POST", "/v1/buffers",
		"{'name':'there','size_bytes':4096,'access':['remote_write','remote_read',"
		"'remote_atomic']}");

	(void)snprintf(text, sizeof(text), "'remote':{'addr':'%s','rkey':'%s'}",
		rest_text(there, "addr"), rest_text(there, "rkey"));
	return text;
}

static void make_here(struct rest *rest)
{
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'here','size_bytes':4096}");
	rest_expect(rest_call(rest, 200, "PUT", "/v1/buffers/here/data", "0123456789abcdef"),
		"{'checksum':'42d3119e','length_bytes':16}");
}

/* A connection c, and the buffers here and there; returns the member remote of a transfer into
 * there. */
static const char *pair_with_buffers(struct rest *rest)
{
	(void)rest_pair(rest, "", "");
	make_here(rest);
	return remote(rest);
}

static void expect_bytes(struct rest *rest, const char *path, const char *bytes)
{
	(void)rest_call(rest, 200, "GET", path, NULL);
	assert_string_equal(strstr(rest->reply, "\r\n\r\n") + 4, bytes);
}

/* --- transfers ------------------------------------------------------------------------------- */

REST_TEST(test_api_work__a_write_tells_what_it_was_cut_into)
{
	const char *to = pair_with_buffers(rest);

	rest_expect(rest_call(rest, 201, "POST", "/v1/transfers",
			    "{'op':'write','connection':'c','buffer':'here','offset_bytes':4,"
			    "'length_bytes':10,'chunk_bytes':4,'tx_depth':2,%s}",
			    to),
		"{'id':1,'state':'done','op':'write','connection':{'id':1,'name':'c'},"
		"'buffer':{'id':1,'name':'here'},'ud_endpoint':null,'ud_peer':null,"
		"'multicast_membership':null,'batch':null,'offset_bytes':4,'length_bytes':10,"
		"'sges':null,'chunk_bytes':4,'tx_depth':2,'bytes_done':10,'wrs_done':3,"
		"'messages_done':null,'inline':true,'imm':null,'old_value':null,'received':null,"
		"'timeout_ms':30000,'error':null}");
	expect_bytes(rest, "/v1/buffers/there/data?length_bytes=10", "456789abcd");
}

static void expect_metric(const struct rest *rest, const char *line)
{
	if (!strstr(rest->reply, line))
		fail_msg("no metric: %s", line);
}

REST_TEST(test_api_work__metrics_count_what_was_done)
{
	const char *to = pair_with_buffers(rest);

	(void)rest_call(rest, 201, "POST", "/v1/transfers",
		"{'op':'write','connection':'c','buffer':'here','length_bytes':10,'chunk_bytes':4,%"
		"s}",
		to);
	(void)rest_call(rest, 424, "POST", "/v1/transfers",
		"{'op':'read','connection':'c','buffer':'here','length_bytes':8,'remote':{'addr':"
		"'0x1000','rkey':'0x99'}}");
	(void)rest_call(rest, 200, "GET", "/metrics", NULL);
	expect_metric(rest, "verbsd_work_requests_posted_total{op=\"write\"} 3\n");
	expect_metric(rest, "verbsd_work_requests_completed_total{op=\"write\",result=\"ok\"} 3\n");
	expect_metric(rest, "verbsd_transferred_bytes_total{op=\"write\"} 10\n");
	expect_metric(rest, "verbsd_work_requests_posted_total{op=\"read\"} 1\n");
	expect_metric(
		rest, "verbsd_work_requests_completed_total{op=\"read\",result=\"error\"} 1\n");
	expect_metric(rest, "verbsd_transferred_bytes_total{op=\"read\"} 0\n");
}

REST_TEST(test_api_work__ranges_are_gathered_in_one_request)
{
	const char *to = pair_with_buffers(rest);

	rest_expect(rest_call(rest, 201, "POST", "/v1/transfers",
			    "{'op':'write','connection':'c','sges':[{'buffer':'here',"
			    "'offset_bytes':10,'length_bytes':3},{'buffer':'here','length_bytes':"
			    "2}],%s}",
			    to),
		"{'state':'done','buffer':null,'length_bytes':5,'bytes_done':5,'wrs_done':1,"
		"'sges':[{'buffer':{'id':1,'name':'here'},'offset_bytes':10,'length_bytes':3},"
		"{'buffer':{'id':1,'name':'here'},'offset_bytes':0,'length_bytes':2}]}");
	expect_bytes(rest, "/v1/buffers/there/data?length_bytes=5", "abc01");
}

REST_TEST(test_api_work__an_atomic_brings_the_old_value)
{
	const char *to;

	(void)rest_pair(rest, "", "");
	to = remote(rest);
	rest_expect(rest_call(rest, 201, "POST", "/v1/transfers",
			    "{'op':'fetch_add','connection':'c','add':'0x5',%s}", to),
		"{'state':'done','length_bytes':8,'old_value':'0x0000000000000000'}");
	rest_expect(
		rest_call(rest, 201, "POST", "/v1/transfers",
			"{'op':'compare_swap','connection':'c','compare':'0x5','swap':'0x9',%s}",
			to),
		"{'state':'done','old_value':'0x0000000000000005'}");
	rest_expect(rest_call(rest, 201, "POST", "/v1/transfers",
			    "{'op':'fetch_add','connection':'c','add':'0x1',%s}", to),
		"{'state':'done','old_value':'0x0000000000000009'}");
}

REST_TEST(test_api_work__what_an_operation_does_not_have_is_refused)
{
	static const struct {
		const char *body, *code, *pointer;
	} cases[] = {
		{"{'op':'write','connection':'c','buffer':'here'}", "missing_field", "/remote"},
		{"{'op':'send','connection':'c','buffer':'here','imm':1}", "bad_value", "/imm"},
		{"{'op':'send_imm','connection':'c','buffer':'here'}", "missing_field", "/imm"},
		{"{'op':'send','connection':'c','buffer':'here','add':'0x1'}", "bad_value", "/add"},
		{"{'op':'send','connection':'c','buffer':'here','swap':'0x1'}", "bad_value",
			"/swap"},
		{"{'op':'send','connection':'c','buffer':'here','compare':'0x1'}", "bad_value",
			"/compare"},
		{"{'op':'send','connection':'c','buffer':'here','remote':{'addr':'0x1000',"
		 "'rkey':'0x1'}}",
			"bad_value", "/remote"},
		{"{'op':'send','connection':'c','sges':[{'buffer':'here'}],'message_bytes':4}",
			"bad_value", "/message_bytes"},
		{"{'op':'send','connection':'c','sges':[{'buffer':'here'}],'chunk_bytes':4}",
			"bad_value", "/chunk_bytes"},
		{"{'op':'send','connection':'c','sges':[{'buffer':'here'}],'buffer':'here'}",
			"bad_value", "/buffer"},
		{"{'op':'send','connection':'c','sges':[{'buffer':'here'}],'length_bytes':4}",
			"bad_value", "/length_bytes"},
		{"{'op':'send','connection':'c','sges':[{'buffer':'here'}],'offset_bytes':4}",
			"bad_value", "/offset_bytes"},
		{"{'op':'send','connection':'c','sges':[{'buffer':'here'},{'buffer':'x'}]}",
			"not_found", "/sges/1/buffer"},
		{"{'op':'send','connection':'c'}", "missing_field", "/buffer"},
		{"{'op':'send','connection':'c','buffer':'x'}", "not_found", "/buffer"},
		{"{'op':'send','buffer':'here'}", "missing_field", "/connection"},
		{"{'op':'send','connection':'c','ud_endpoint':'c','buffer':'here'}", "bad_value",
			"/ud_endpoint"},
		{"{'op':'send','connection':'x','buffer':'here'}", "not_found", "/connection"},
		{"{'op':'send','ud_endpoint':'x','buffer':'here'}", "not_found", "/ud_endpoint"},
		{"{'op':'send','connection':'c','ud_peer':'x','buffer':'here'}", "not_found",
			"/ud_peer"},
		{"{'op':'send','connection':'c','multicast_membership':'x','buffer':'here'}",
			"not_found", "/multicast_membership"},
		{"{'op':'recv','connection':'c','buffer':'here'}", "wrong_state", "/connection"},
		{"{'op':'send','connection':'c','buffer':'here','offset_bytes':4097}",
			"range_not_satisfiable", NULL},
	};

	(void)rest_pair(rest, "", "");
	make_here(rest);
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++)
		rest_refuse(rest, "/v1/transfers", cases[i].body, cases[i].code, cases[i].pointer);
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/transfers?state=open,ended", NULL), "{'total':0}");
}

REST_TEST(test_api_work__a_member_of_another_operation_is_refused)
{
	static const struct {
		const char *body, *pointer;
	} cases[] = {
		{"'op':'read','inline':true", "/inline"},
		{"'op':'write','message_bytes':4", "/message_bytes"},
		{"'op':'fetch_add','add':'0x1','message_bytes':4", "/message_bytes"},
		{"'op':'write','imm':1", "/imm"},
	};
	char body[512];
	const char *to = pair_with_buffers(rest);

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		(void)snprintf(body, sizeof(body), "{'connection':'c','buffer':'here',%s,%s}",
			cases[i].body, to);
		rest_refuse(rest, "/v1/transfers", body, "bad_value", cases[i].pointer);
	}
	(void)snprintf(body, sizeof(body),
		"{'connection':'c','op':'fetch_add','add':'0x1','sges':[{'buffer':'here'}],%s}",
		to);
	rest_refuse(rest, "/v1/transfers", body, "bad_value", "/sges");
}

/* --- batches --------------------------------------------------------------------------------- */

REST_TEST(test_api_work__a_batch_counts_its_transfers)
{
	const char *to = pair_with_buffers(rest);

	rest_expect(rest_call(rest, 201, "POST", "/v1/transfer_batches",
			    "{'labels':{'a':'b'},'transfers':[{'op':'write','connection':'c',"
			    "'buffer':'here','length_bytes':10,%s},{'op':'send','connection':'c',"
			    "'buffer':'here','length_bytes':5,'message_bytes':2}]}",
			    to),
		"{'id':1,'owner':'control','labels':{'a':'b'},'state':'done','counts':{'queued':0,"
		"'running':0,'cancelling':0,'done':2,'failed':0,'cancelled':0,'timed_out':0},"
		"'transfers':[{'id':1,'name':null},{'id':2,'name':null}],'error':null}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/transfers/2", NULL),
		"{'batch':{'id':1},'messages_done':3}");
	rest_refuse(rest, "/v1/transfer_batches",
		"{'transfers':[{'op':'send','connection':'c','buffer':'here'},{'op':'send',"
		"'connection':'c','buffer':'x'}]}",
		"not_found", "/transfers/1/buffer");
	rest_expect(rest_call(rest, 200, "GET", "/v1/transfer_batches?state=done,failed", NULL),
		"{'total':1}");
}

REST_TEST(test_api_work__a_batch_names_its_first_failure)
{
	const json_t *batch;

	(void)rest_pair(rest, "", "");
	make_here(rest);
	rest->headers = "";
	(void)rest_call(rest, 202, "POST", "/v1/transfer_batches",
		"{'transfers':[{'op':'write','connection':'c','buffer':'here','length_bytes':8,"
		"'remote':{'addr':'0x1000','rkey':'0x99'}},{'op':'send','connection':'c',"
		"'buffer':'here','length_bytes':8}]}");
	rest->headers = REST_WAIT;
	batch = rest_call(
		rest, 200, "GET", "/v1/transfer_batches/1?until=ended&wait_ms=60000", NULL);
	rest_expect(batch,
		"{'state':'failed','error':{'code':'remote_access','first':{'transfer':1,"
		"'wc_status':'IBV_WC_REM_ACCESS_ERR'}}}");
	assert_in_range(rest_number(json_object_get(batch, "counts"), "failed"), 1, 2);
}

/* --- probes ---------------------------------------------------------------------------------- */

static void expect_round_trips(const json_t *rtt)
{
	assert_true(rest_number(rtt, "min") > 0);
	assert_true(rest_number(rtt, "min") <= rest_number(rtt, "mean"));
	assert_true(rest_number(rtt, "mean") <= rest_number(rtt, "max"));
	assert_true(rest_number(rtt, "p50") <= rest_number(rtt, "p999"));
}

REST_TEST(test_api_work__a_probe_tells_what_came_back)
{
	const json_t *probe;

	(void)rest_pair(rest, ",'service':'rping_client'", ",'service':'rping'");
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/c", NULL), "{'rtt':null}");
	probe = rest_call(rest, 201, "POST", "/v1/probes", "{'connection':'c'}");
	rest_expect(probe,
		"{'id':1,'owner':'control','labels':{},'state':'done','connection':{'id':1,'name':"
		"'c'},'kind':'rping','count':10,'interval_ms':0,'size_bytes':64,'timeout_ms':30000,"
		"'sent':10,'completed':10,'late':0,'lost':0,'mismatched':0,'error':null}");
	expect_round_trips(json_object_get(probe, "rtt_ns"));
	assert_true(rest_number(probe, "last_ns") > 0);
	assert_true(json_is_integer(json_object_get(probe, "jitter_ns")));
	(void)rest_text(probe, "ended_at");
	probe = json_object_get(rest_call(rest, 200, "GET", "/v1/connections/c", NULL), "rtt");
	rest_expect(probe, "{'probe':{'id':1,'name':null},'sent':10,'completed':10,'lost':0}");
	assert_true(rest_number(probe, "last_ns") > 0);
	assert_true(json_is_integer(json_object_get(probe, "jitter_ns")));
	assert_true(rest_number(probe, "p50_ns") <= rest_number(probe, "p90_ns"));
	assert_true(rest_number(probe, "p90_ns") <= rest_number(probe, "p99_ns"));
	assert_true(rest_number(probe, "p99_ns") <= rest_number(probe, "p999_ns"));
}

REST_TEST(test_api_work__the_kind_of_a_probe_decides_what_is_not_given)
{
	(void)rest_pair(rest, ",'service':'sink'", ",'service':'echo'");
	rest_expect(rest_call(rest, 201, "POST", "/v1/probes", "{'connection':'c','count':1}"),
		"{'kind':'ack','count':1,'interval_ms':1000,'size_bytes':0,'timeout_ms':null,"
		"'completed':1}");
	rest_expect(rest_call(rest, 201, "POST", "/v1/probes",
			    "{'connection':'c','kind':'echo','count':2,'interval_ms':0}"),
		"{'kind':'echo','size_bytes':16,'timeout_ms':30000,'completed':2}");
	rest->headers = "";
	rest_expect(rest_call(rest, 202, "POST", "/v1/probes", "{'connection':'c'}"),
		"{'id':3,'kind':'ack','state':'running','count':null,'ended_at':null}");
	rest->headers = REST_WAIT;
	rest_expect(rest_call(rest, 200, "GET", "/v1/probes?connection=c", NULL), "{'total':1}");
	rest_refuse(rest, "/v1/probes", "{'connection':'c'}", "in_use", "/connection");
	rest_expect(rest_call(rest, 200, "POST", "/v1/probes/3/cancel", NULL),
		"{'state':'done','error':null}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/probes?state=failed", NULL), "{'total':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/probes?state=done&sort=-id", NULL),
		"{'items':[{'id':3},{'id':2},{'id':1}]}");
	rest_refuse(rest, "/v1/probes", "{'connection':'x'}", "not_found", "/connection");
	rest_refuse(rest, "/v1/probes", "{'connection':'c','kind':'rping'}", "bad_value",
		"/connection");
}

/* --- benchmarks ------------------------------------------------------------------------------ */

REST_TEST(test_api_work__a_benchmark_tells_its_figures)
{
	const json_t *bench;
	char body[256];
	const char *to;
	double per_s;

	(void)rest_pair(rest, "", "");
	to = remote(rest);
	bench = rest_call(rest, 201, "POST", "/v1/benchmarks",
		"{'connection':'c','op':'write','size_bytes':64,'count':4,'tx_depth':2,%s}", to);
	rest_expect(bench,
		"{'id':1,'owner':'control','labels':{},'state':'done','connection':{'id':1,'name':"
		"'c'},'transfer':{'id':1},'op':'write','size_bytes':64,'tx_depth':2,'count':4,"
		"'duration_ms':null,'buffer':null,'timeout_ms':30000,'messages':4,'bytes':256,"
		"'error':null}");
	per_s = 256e9 / (double)rest_number(bench, "elapsed_ns");
	assert_true((double)rest_number(bench, "bytes_per_s") >= per_s - 1);
	assert_true((double)rest_number(bench, "bytes_per_s") <= per_s + 1);
	assert_true((double)rest_number(bench, "messages_per_s") >= per_s / 64 - 1);
	assert_true((double)rest_number(bench, "messages_per_s") <= per_s / 64 + 1);
	expect_round_trips(json_object_get(bench, "latency_ns"));
	rest_refuse(rest, "/v1/benchmarks",
		"{'connection':'x','op':'send','size_bytes':8,'count':1}", "not_found",
		"/connection");
	(void)snprintf(body, sizeof(body),
		"{'connection':'x','op':'write','size_bytes':8,'count':1,%s}", to);
	rest_refuse(rest, "/v1/benchmarks", body, "not_found", "/connection");
}

/* --- messages -------------------------------------------------------------------------------- */

REST_TEST(test_api_work__messages_are_read_and_deleted)
{
	uint64_t peer = rest_pair(rest, "", "");
	char path[64], more[96];

	(void)snprintf(path, sizeof(path), "/v1/connections/%" PRIu64 "/messages", peer);
	rest_expect(rest_call(rest, 201, "POST", "/v1/connections/c/messages", "{'data':'hello'}"),
		"{'op':'send','state':'done','length_bytes':5,'buffer':null}");
	(void)rest_call(rest, 201, "POST", "/v1/connections/c/messages",
		"{'data':'ff00','encoding':'hex','imm':7}");
	(void)snprintf(more, sizeof(more), "%s?after=1&wait_ms=60000", path);
	rest_expect(rest_call(rest, 200, "GET", more, NULL),
		"{'items':[{'seq':2,'length_bytes':2,'imm':7,'encoding':'base64','data':'/wA='}]}");
	(void)snprintf(more, sizeof(more), "%s?limit=1&encoding=hex", path);
	rest_expect(rest_call(rest, 200, "GET", more, NULL),
		"{'total':2,'items':[{'seq':1,'encoding':'hex','data':'68656c6c6f'}]}");
	rest_expect(
		rest_call(rest, 400, "DELETE", path, NULL), "{'errors':[{'parameter':'through'}]}");
	(void)snprintf(more, sizeof(more), "%s?through=1", path);
	(void)rest_call(rest, 204, "DELETE", more, NULL);
	rest_expect(rest_call(rest, 200, "GET", path, NULL), "{'total':1,'items':[{'seq':2}]}");
	rest_expect(rest_call(rest, 400, "GET", "/v1/connections/c/messages?limit=1001", NULL),
		"{'errors':[{'parameter':'limit'}]}");
	rest_refuse(rest, "/v1/connections/x/messages", "{'data':'a'}", "not_found", NULL);
}

REST_TEST(test_api_work__a_drain_may_give_transfers_as_little_as_1_ms)
{
	rest_refuse(rest, "/v1/drain", "{'deadline_ms':0}", "out_of_range", "/deadline_ms");
	rest_expect(rest_call(rest, 200, "POST", "/v1/drain", "{'deadline_ms':1}"),
		"{'state':'drained'}");
}
