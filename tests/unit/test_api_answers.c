/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole answers of the API over the fake provider, held against api_answers.golden. Values that
 * differ from run to run stand there as "some". If a difference is right: test_api_answers --write
 */
#include "tests/unit/rest.h"

#define GOLDEN VBD_SOURCE_DIR "/tests/unit/api_answers.golden"

static bool writes; /* the golden file, instead of reading it */

/* --- answers --------------------------------------------------------------------------------- */

/* Times, addresses and what the threads count as they please. */
static bool is_of_this_run(const char *name, const json_t *value)
{
	static const char *const names[] = {"since_start_ns", "queue_ns", "wire_ns", "elapsed_ns",
		"last_ns", "jitter_ns", "min", "mean", "p50", "p90", "p99", "p999", "max", "p50_ns",
		"p90_ns", "p99_ns", "p999_ns", "now_ns", "uptime_ms", "polls", "empty_polls",
		"events_armed", "events_taken", "bytes_per_s", "messages_per_s", "server_id",
		"memlock", "high_water_cqe", "outstanding_cqe", "version", "psn", "sq_psn",
		"rq_psn", "routes", "links", "client"};
	const char *text = json_string_value(value);

	if (text && strlen(text) == strlen("2026-01-02T03:04:05.000000006Z") && text[10] == 'T')
		return true;
	if (text &&
		(strstr(name, "addr") ? strncmp(text, "0x", 2) == 0 : strcmp(name, "next") == 0))
		return true;
	for (size_t i = 0; i < VBD_ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return !json_is_null(value);
	}
	return false;
}

static void make_comparable(json_t *json)
{
	const char *name;
	json_t *value;
	size_t at;

	json_object_foreach(json, name, value)
	{
		if (is_of_this_run(name, value))
			assert_int_equal(json_object_set_new(json, name, json_string("some")), 0);
		else
			make_comparable(value);
	}
	json_array_foreach(json, at, value) make_comparable(value);
}

/* All answers of a test. */
struct answers {
	struct rest *rest;
	const char *test;
	char *text;
	size_t len;
	FILE *out;
};

static void begin(struct answers *answers, struct rest *rest, const char *test)
{
	*answers = (struct answers){.rest = rest, .test = test};
	answers->out = open_memstream(&answers->text, &answers->len);
	assert_non_null(answers->out);
	(void)fprintf(answers->out, "=== %s\n", test);
}

/* A line for each member. */
static void put(struct answers *answers, const char *method, const char *path, const json_t *answer)
{
	json_t *copy = json_deep_copy(answer);
	const char *name;
	json_t *value;

	make_comparable(copy);
	(void)fprintf(answers->out, "%s %s\n", method, path);
	json_object_foreach(copy, name, value)
	{
		char *text = json_dumps(value, JSON_ENCODE_ANY);

		assert_non_null(text);
		(void)fprintf(answers->out, " %s: %s\n", name, text);
		free(text);
	}
	json_decref(copy);
}

static void show(struct answers *answers, int status, const char *path)
{
	put(answers, "GET", path, rest_call(answers->rest, status, "GET", path, NULL));
}

/* The part of the golden file that begins with this test; "" if there is none. */
static char *reviewed(const char *test)
{
	FILE *file = fopen(GOLDEN, "re");
	char *text = NULL, *part = NULL, *end;
	size_t room = 0;
	char title[128];

	assert_non_null(file);
	assert_true(getdelim(&text, &room, '\0', file) > 0);
	(void)fclose(file);
	(void)snprintf(title, sizeof(title), "=== %s\n", test);
	part = strstr(text, title);
	end = part ? strstr(part + 1, "\n=== ") : NULL;
	if (end)
		end[1] = '\0';
	part = strdup(part ? part : "");
	assert_non_null(part);
	free(text);
	return part;
}

static void compare(const struct answers *answers, const char *golden)
{
	const char *seen = answers->text;
	size_t line = 0, answer = 0;

	for (size_t at = 0; seen[at] && seen[at] == golden[at]; at++) {
		if (seen[at] != '\n')
			continue;
		line = at + 1;
		if (strchr("GPD", seen[line]))
			answer = line;
	}
	if (strcmp(seen, golden) != 0)
		fail_msg("in %.*s there is\n%.200s\nand not\n%.200s\nif that is right: "
			 "test_api_answers --write",
			(int)strcspn(seen + answer, "\n"), seen + answer, seen + line,
			golden + line);
}

/* Compares the answers with the golden file. */
static void judge(struct answers *answers)
{
	FILE *file;
	char *golden;

	(void)fclose(answers->out);
	if (writes) {
		file = fopen(GOLDEN, "ae");
		assert_non_null(file);
		(void)fputs(answers->text, file);
		(void)fclose(file);
	} else {
		golden = reviewed(answers->test);
		compare(answers, golden);
		free(golden);
	}
	free(answers->text);
}

/* Makes an object. */
static const json_t *make(struct answers *answers, const char *path, const char *body)
{
	const json_t *made = rest_call(answers->rest, 201, "POST", path, "%s", body);

	put(answers, "POST", path, made);
	return made;
}

/* --- tests ----------------------------------------------------------------------------------- */

REST_TEST(test_api_answers__the_daemon)
{
	struct answers answers;

	begin(&answers, rest, "the daemon");
	show(&answers, 200, "/v1");
	show(&answers, 200, "/v1/caller");
	show(&answers, 200, "/v1/drain");
	show(&answers, 200, "/v1/devices");
	show(&answers, 200, "/v1/devices/fake0");
	show(&answers, 200, "/v1/devices?fields=name,ports");
	show(&answers, 200, "/v1/glossary/IBV_WC_RETRY_EXC_ERR");
	show(&answers, 200, "/v1/glossary/rejected");
	show(&answers, 200, "/v1/glossary/connection_established");
	show(&answers, 200, "/v1/glossary/dead_peer_slow");
	show(&answers, 200, "/v1/glossary/host_gone");
	show(&answers, 200, "/v1/glossary/RTS");
	show(&answers, 404, "/v1/glossary/nothing");
	show(&answers, 200, "/livez?verbose");
	judge(&answers);
}

REST_TEST(test_api_answers__connections)
{
	struct answers answers;

	begin(&answers, rest, "connections");
	(void)rest_pair(rest, ",'labels':{'job':'x'},'qp':{'heartbeat_ms':60000}",
		",'backlog':5,'max_connections':3,'allow':['10.0.0.0/8'],'labels':{'a':'b'}");
	show(&answers, 200, "/v1/listeners/l");
	show(&answers, 200, "/v1/listeners");
	show(&answers, 200, "/v1/connections/1");
	show(&answers, 200, "/v1/connections/2");
	show(&answers, 200, "/v1/connections/1/timeline");
	(void)rest_call(rest, 424, "POST", "/v1/connections",
		"{'name':'nobody','dst_addr':'10.0.0.1','dst_port':1}");
	put(&answers, "POST", "/v1/connections", rest->document);
	show(&answers, 200, "/v1/connections/nobody?until=ended&wait_ms=60000");
	(void)rest_call(rest, 200, "POST", "/v1/connections/c/close", NULL);
	show(&answers, 200, "/v1/connections/c?until=ended&wait_ms=60000");
	show(&answers, 200, "/v1/connections/2?until=ended&wait_ms=60000");
	show(&answers, 200,
		"/v1/connections?state=open,ended&fields=id,name,state,end_code&sort=id");
	show(&answers, 400, "/v1/connections?state=open,x&limit=0&nothing=1");
	(void)rest_call(rest, 204, "DELETE", "/v1/connections/c", NULL);
	show(&answers, 404, "/v1/connections/c");
	judge(&answers);
}

REST_TEST(test_api_answers__connections_by_hand)
{
	struct answers answers;

	begin(&answers, rest, "connections by hand");
	(void)make(&answers, "/v1/connections",
		"{'name':'m','bringup':'manual','device':'fake0','psn':7,'qp_type':'uc'}");
	(void)rest_call(rest, 200, "POST", "/v1/connections/m/remote",
		"{'qpn':5,'psn':9,'gid':'::ffff:10.0.0.2','port_mtu_bytes':1024,'lid':3,'sl':2,"
		"'hop_limit':8,'traffic_class':4,'flow_label':6}");
	show(&answers, 200, "/v1/connections/m");
	judge(&answers);
}

REST_TEST(test_api_answers__connections_made_together)
{
	struct answers answers;
	char body[128];

	begin(&answers, rest, "connections made together");
	(void)rest_call(
		rest, 201, "POST", "/v1/listeners", "{'name':'l','addr':'10.0.0.1','port':7000}");
	(void)snprintf(body, sizeof(body), "%s",
		"{'count':2,'connections':[{'name':'w','dst_addr':'10.0.0.1','dst_port':7000}]}");
	(void)make(&answers, "/v1/connection_batches", body);
	show(&answers, 200, "/v1/connection_batches/1");
	put(&answers, "POST", "/v1/objects/-/cancel",
		rest_call(rest, 200, "POST",
			"/v1/objects/-/cancel?kind=connection&all=true&dry_run=true", NULL));
	judge(&answers);
}

REST_TEST(test_api_answers__memory)
{
	struct answers answers;

	begin(&answers, rest, "memory");
	(void)make(&answers, "/v1/pds", "{'name':'p','device':'fake0','labels':{'a':'b'}}");
	(void)make(&answers, "/v1/cqs",
		"{'name':'q','device':'fake0','cqe':100,'moderation':{'count':3,'period_us':4}}");
	(void)make(&answers, "/v1/srqs",
		"{'name':'s','pd':'p','cq':'q','max_wr':16,'recv_size_bytes':64,'srq_limit':4}");
	(void)make(&answers, "/v1/buffers",
		"{'name':'b','size_bytes':8192,'pd':'p','access':['remote_write','mw_bind']}");
	(void)make(&answers, "/v1/buffers", "{'size_bytes':100,'kind':'shared'}");
	show(&answers, 200, "/v1/pds/p");
	show(&answers, 200, "/v1/cqs/q");
	show(&answers, 200, "/v1/srqs/s");
	show(&answers, 200, "/v1/buffers/b");
	show(&answers, 200, "/v1/buffers/b/checksum?offset_bytes=4&length_bytes=100");
	show(&answers, 200, "/v1/buffers/b/checksum?algorithm=sha256");
	put(&answers, "PUT", "/v1/buffers/b/data",
		rest_call(rest, 200, "PUT", "/v1/buffers/b/data?offset_bytes=8188", "abcd"));
	put(&answers, "PUT", "/v1/buffers/b/data",
		rest_call(rest, 416, "PUT", "/v1/buffers/b/data?offset_bytes=8189", "abcd"));
	show(&answers, 416, "/v1/buffers/b/data?offset_bytes=8193");
	show(&answers, 416, "/v1/buffers/b/checksum?offset_bytes=8192&length_bytes=1");
	fake_fail_next("ibv_reg_mr", EINVAL);
	rest->headers = "Prefer: respond-async\r\n";
	(void)rest_call(rest, 202, "POST", "/v1/buffers", "{'name':'f','size_bytes':64}");
	show(&answers, 200, "/v1/buffers/f?until=failed&wait_ms=60000");
	put(&answers, "DELETE", "/v1/pds/p", rest_call(rest, 409, "DELETE", "/v1/pds/p", NULL));
	show(&answers, 200, "/v1/events?limit=3");
	judge(&answers);
}

/* A connection c, the buffer here, and in @ret_to the member remote of transfers into there. */
static void pair_with_buffers(struct answers *answers, char *ret_to, size_t size)
{
	struct rest *rest = answers->rest;
	const json_t *there;

	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'here','size_bytes':4096}");
	there = rest_call(rest, 201, "POST", "/v1/buffers",
		"{'name':'there','size_bytes':4096,'access':['remote_write','remote_read',"
		"'remote_atomic','mw_bind']}");
	(void)snprintf(ret_to, size, "'remote':{'addr':'%s','rkey':'%s'}", rest_text(there, "addr"),
		rest_text(there, "rkey"));
}

REST_TEST(test_api_answers__transfers)
{
	struct answers answers;
	char to[128], body[400];

	begin(&answers, rest, "transfers");
	pair_with_buffers(&answers, to, sizeof(to));
	(void)snprintf(body, sizeof(body),
		"{'op':'write_imm','connection':'c','buffer':'here','offset_bytes':4,"
		"'length_bytes':10,'chunk_bytes':4,'imm':7,'labels':{'a':'b'},%s}",
		to);
	(void)make(&answers, "/v1/transfers", body);
	(void)make(&answers, "/v1/transfers",
		"{'op':'send','connection':'c','sges':[{'buffer':'here','length_bytes':2},{"
		"'buffer':'here','offset_bytes':4,'length_bytes':3}]}");
	(void)snprintf(
		body, sizeof(body), "{'op':'fetch_add','connection':'c','add':'0x5',%s}", to);
	(void)make(&answers, "/v1/transfers", body);
	(void)make(&answers, "/v1/connections/c/messages", "{'data':'hello','imm':3}");
	show(&answers, 200, "/v1/connections/2/messages?wait_ms=60000");
	(void)snprintf(body, sizeof(body),
		"{'transfers':[{'op':'write','connection':'c','buffer':'here','length_bytes':8,%s}"
		"]}",
		to);
	(void)make(&answers, "/v1/transfer_batches", body);
	(void)rest_call(rest, 424, "POST", "/v1/transfers",
		"{'op':'read','connection':'c','buffer':'here','length_bytes':8,'remote':{'addr':"
		"'0x1000','rkey':'0x99'}}");
	put(&answers, "POST", "/v1/transfers", rest->document);
	show(&answers, 200, "/v1/transfers/6");
	show(&answers, 200, "/v1/transfers?state=done&fields=id,op,bytes_done&sort=-id&limit=2");
	judge(&answers);
}

REST_TEST(test_api_answers__windows_probes_and_benchmarks)
{
	struct answers answers;
	char to[128], body[400];

	begin(&answers, rest, "windows, probes and benchmarks");
	pair_with_buffers(&answers, to, sizeof(to));
	(void)make(&answers, "/v1/windows",
		"{'name':'w','buffer':'there','connection':'c','type':2,'buffer_offset_bytes':64,"
		"'size_bytes':100,'access':['remote_write']}");
	(void)make(&answers, "/v1/probes", "{'connection':'c','count':2,'interval_ms':0}");
	show(&answers, 200, "/v1/connections/c?fields=rtt");
	(void)snprintf(body, sizeof(body),
		"{'connection':'c','op':'write','size_bytes':64,'count':4,'tx_depth':2,%s}", to);
	(void)make(&answers, "/v1/benchmarks", body);
	show(&answers, 200, "/v1/windows/w");
	show(&answers, 200, "/v1/probes/1");
	show(&answers, 200, "/v1/benchmarks/1");
	judge(&answers);
}

REST_TEST(test_api_answers__datagrams)
{
	struct answers answers;

	begin(&answers, rest, "datagrams");
	(void)make(&answers, "/v1/ud_endpoints",
		"{'name':'there','addr':'10.0.0.1','port':7174,'qkey':'0x1234567'}");
	(void)make(&answers, "/v1/ud_endpoints", "{'name':'here','labels':{'a':'b'}}");
	(void)make(&answers, "/v1/ud_peers",
		"{'name':'p','ud_endpoint':'here','dst_addr':'10.0.0.1','dst_port':7174}");
	(void)make(&answers, "/v1/ud_peers",
		"{'ud_endpoint':'here','gid':'fe80::1','qpn':5,'qkey':'0x9','sl':3,'hop_limit':9,"
		"'traffic_class':2,'flow_label':1}");
	(void)make(&answers, "/v1/multicast_memberships",
		"{'name':'g','ud_endpoint':'here','addr':'239.1.2.3','mode':'full'}");
	(void)make(&answers, "/v1/ud_endpoints/here/messages",
		"{'ud_peer':'p','data':'hello','imm':7}");
	show(&answers, 200, "/v1/ud_endpoints/there/messages?wait_ms=60000");
	show(&answers, 200, "/v1/ud_endpoints/here");
	show(&answers, 200, "/v1/ud_peers/p");
	show(&answers, 200, "/v1/multicast_memberships/g");
	judge(&answers);
}

static bool has_one_of(const char *line, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strstr(line, words[i]))
			return true;
	}
	return false;
}

/* Each sample of the metrics but for those of the host, some with their value; or only their
 * number. */
static void put_metrics(struct answers *answers, const char *path, bool each)
{
	static const char *const of_host[] = {
		"#", "process_", "collector", "kernel", "build_info", "_bucket{"};
	static const char *const with_value[] = {"verbsd_connection_", "verbsd_listeners ",
		"verbsd_buffers ", "verbsd_buffers_bytes ", "verbsd_pds ", "verbsd_devices{",
		"verbsd_transfers_ended", "verbsd_connections{", "capacity_cqe", "reserved_cqe"};
	unsigned int count = 0;
	char *line, *rest = NULL;

	assert_int_equal(rest_perform(answers->rest, "GET", path, NULL), 200);
	(void)fprintf(answers->out, "GET %s\n", path);
	line = strtok_r(strstr(answers->rest->reply, "\r\n\r\n"), "\r\n", &rest);
	for (; line; line = strtok_r(NULL, "\r\n", &rest)) {
		size_t len = strlen(line);

		if (has_one_of(line, of_host, VBD_ARRAY_LEN(of_host)))
			continue;
		if (!has_one_of(line, with_value, VBD_ARRAY_LEN(with_value)))
			len = (size_t)(strrchr(line, ' ') - line);
		if (each)
			(void)fprintf(answers->out, " %.*s\n", (int)len, line);
		count++;
	}
	(void)fprintf(answers->out, " %u samples\n", count);
}

REST_TEST(test_api_answers__metrics)
{
	struct answers answers;
	char to[128];

	begin(&answers, rest, "metrics");
	pair_with_buffers(&answers, to, sizeof(to));
	(void)rest_call(rest, 201, "POST", "/v1/transfers",
		"{'op':'write','connection':'c','buffer':'here','length_bytes':10,%s}", to);
	put_metrics(&answers, "/metrics", false);
	put_metrics(&answers, "/metrics?connections=1", false);
	put_metrics(&answers, "/metrics?cqs=1", false);
	put_metrics(&answers, "/metrics?connections=1&cqs=1", true);
	judge(&answers);
}

/* A line for each fault of a request that must be refused. */
static void refuse(struct answers *answers, const char *method, const char *path, const char *body)
{
	struct rest *rest = answers->rest;
	const char *at;
	const json_t *fault;
	json_t *problem, *faults;
	char text[2048];
	int status;
	size_t i;

	(void)snprintf(text, sizeof(text), "%s", body ? body : "");
	for (char *quote = strchr(text, '\''); quote; quote = strchr(quote, '\''))
		*quote = '"';
	status = rest_perform(rest, method, path, body ? text : NULL);
	at = strstr(rest->reply, "\r\n\r\n");
	assert_non_null(at);
	problem = json_loads(at + 4, 0, NULL);
	if (status < 400 || !problem)
		fail_msg("%s %s %s: not refused: %s", method, path, text, rest->reply);
	(void)fprintf(answers->out, "%s %s %.120s\n %d %s", method, path, body ? body : "", status,
		rest_text(problem, "code"));
	faults = json_object_get(problem, "errors");
	if (!faults)
		(void)fprintf(answers->out, ": %s", rest_text(problem, "detail"));
	(void)fputc('\n', answers->out);
	json_array_foreach(faults, i, fault)
	{
		const char *pointer = json_string_value(json_object_get(fault, "pointer"));
		const char *parameter = json_string_value(json_object_get(fault, "parameter"));

		(void)fprintf(answers->out, "  %s %s: %s\n",
			pointer	    ? pointer
			: parameter ? parameter
				    : "-",
			rest_text(fault, "code"), rest_text(fault, "detail"));
	}
	json_decref(problem);
}

struct refused {
	const char *path, *body;
};

static void refuse_all(struct answers *answers, const struct refused *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		refuse(answers, "POST", rows[i].path, rows[i].body);
}

#define LONG_16	 "xxxxxxxxxxxxxxxx"
#define LONG_64	 LONG_16 LONG_16 LONG_16 LONG_16
#define LONG_256 LONG_64 LONG_64 LONG_64 LONG_64

/* The bounds stand in the text. */
REST_TEST(test_api_answers__bounds_of_members)
{
	static const struct refused rows[] = {
		{"/v1/pds", "{'name':'" LONG_64 "','device':'" LONG_64 "'}"},
		{"/v1/pds", "{'device':''}"},
		{"/v1/cqs", "{'device':'" LONG_64
			    "','cqe':0,'moderation':{'count':-1,'period_us':-1}}"},
		{"/v1/srqs", "{'device':'" LONG_64
			     "','max_wr':0,'recv_size_bytes':0,'srq_limit':-1,'pd':'','cq':false}"},
		{"/v1/buffers", "{'size_bytes':0,'kind':'x','page_size_bytes':1,'access':['x'],"
				"'relaxed_ordering':1,'on_demand_paging':'','device':'" LONG_64
				"x','pd':[]}"},
		{"/v1/listeners",
			"{'addr':'','port':-1,'backlog':0,'accept':'x','accept_timeout_ms':"
			"0,'device':'" LONG_64 "','tos':-1}"},
		{"/v1/listeners", "{'addr':'" LONG_256 "','reuse_addr':1,'v6_only':1,'allow':1,"
				  "'max_connections':-1,'max_per_peer':-1,'connects_per_s':-1,"
				  "'connects_burst':-1}"},
		{"/v1/listeners", "{'addr':'::','keep':1,'reconnect':'x','service':'x',"
				  "'private_data':{'data':1,'encoding':'x'},'qp':{}}"},
		{"/v1/connections", "{'dst_addr':'','dst_port':0,'src_addr':'','timeout_ms'"
				    ":0,'tos':-1,'device':''}"},
		{"/v1/connection_batches", "{'count':0,'connections':[]}"},
		{"/v1/connections",
			"{'dst_addr':'" LONG_256 "','dst_port':65536,'src_addr':'" LONG_256
			"','src_port':0,'reuse_addr':1}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'keep':1,'reconnect':'x',"
				    "'reconnect_min_ms':-1,'reconnect_max_ms':-1,'service':'x',"
				    "'qp_type':'ud','bringup':'x'}"},
		{"/v1/connections",
			"{'dst_addr':'a','dst_port':1,'qp':{'sq_depth':-1,'rq_depth':-1,"
			"'recv_size_bytes':-1,'max_send_sge':-1,'max_recv_sge':-1,"
			"'inline_bytes':-1,'signal_every':-1,'retry_count':-1}}"},
		{"/v1/connections",
			"{'dst_addr':'a','dst_port':1,'qp':{'rnr_retry':-1,'ack_timeout':-1,"
			"'min_rnr_timer':-1,'responder_resources':-1,'initiator_depth':-1,'pd':[],"
			"'cq':[],'srq':[]}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp':{'path_mtu_bytes':-1,'"
				    "remote_access':'x',"
				    "'heartbeat_ms':-1,'poll':'x','spin_us':-1,'ack_timeout_ns':0,"
				    "'min_rnr_timer_ns':0}}"},
		{"/v1/connections", "{'bringup':'manual','device':'','timeout_ms':0,'port_num':0,"
				    "'gid_index':-1,'pkey_index':-1,'sl':-1}"},
		{"/v1/connections",
			"{'bringup':'manual','psn':-1,'initial_state':'x','device':'" LONG_64 "'}"},
		{"/v1/connections/m/remote", "{'lid':-1,'gid':'','gid_index':-1,'qpn':1,'psn':-1,"
					     "'port_mtu_bytes':255,'sl':-1}"},
		{"/v1/connections/m/remote", "{'qpn':2,'psn':1,'hop_limit':-1,'traffic_class':-1,"
					     "'flow_label':-1,'qp_type':'x','gid_type':''}"},
		{"/v1/connections/m/remote", "{'qpn':2,'psn':1,'path_mtu_bytes':255,"
					     "'responder_resources':-1,'initiator_depth':-1,"
					     "'recv_size_bytes':0,'bring_to':'x','gid':'" LONG_64
					     "','gid_type':'" LONG_16 "'}"},
		{"/v1/connections/m/qp_state", "{'state':'x'}"},
		{"/v1/connections/2/accept", "{'name':1,'service':'x'}"},
		{"/v1/connections/2/reject", "{'reason':'x'}"},
		{"/v1/windows", "{'buffer':[],'connection':[],'type':0,'buffer_offset_bytes':-1,"
				"'size_bytes':0,'access':['x'],'timeout_ms':0}"},
		{"/v1/transfers",
			"{'op':'x','buffer':[],'offset_bytes':-1,'length_bytes':-1,'sges':[],"
			"'chunk_bytes':0,'message_bytes':0}"},
		{"/v1/transfers", "{'op':'send','tx_depth':0,'inline':1,'imm':-1,'timeout_ms':0,"
				  "'if_not_established':'x','connection':[],'ud_peer':[]}"},
		{"/v1/transfers",
			"{'op':'fetch_add','connection':'c','add':'x','swap':'x','compare':"
			"'0x10000000000000000','sges':[{'buffer':[],'offset_bytes':-1,"
			"'length_bytes':-1}]}"},
		{"/v1/transfers",
			"{'op':'write','connection':'c','buffer':'here','remote':{'addr':'x',"
			"'rkey':'0x100000000','offset_bytes':-1,'size_bytes':-1}}"},
		{"/v1/transfer_batches", "{'transfers':[]}"},
		{"/v1/connections", "{'connections':[]}"},
		{"/v1/probes",
			"{'connection':[],'kind':'x','count':0,'interval_ms':-1,'size_bytes':-1,"
			"'timeout_ms':0}"},
		{"/v1/benchmarks",
			"{'connection':[],'op':'x','size_bytes':-1,'tx_depth':0,'count':0,"
			"'duration_ms':0,'buffer':[]}"},
		{"/v1/benchmarks",
			"{'connection':'c','op':'send','size_bytes':1,'timeout_ms':0,'remote':1}"},
		{"/v1/ud_endpoints", "{'addr':'','port':-1,'device':'','port_num':0,'gid_index':-1,"
				     "'pkey_index':-1,'qkey':'x'}"},
		{"/v1/ud_endpoints", "{'psn':-1,'qkey':'0x100000000','device':'" LONG_64
				     "','service':'x','qp':{'sq_depth':-1}}"},
		{"/v1/ud_peers", "{'ud_endpoint':[],'dst_addr':'','dst_port':0,'timeout_ms':0,"
				 "'message_seq':0,'gid':'','lid':0}"},
		{"/v1/ud_peers",
			"{'ud_endpoint':'here','qpn':0,'qkey':'0x100000000','sl':-1,"
			"'gid_index':-1,'hop_limit':-1,'traffic_class':-1,'flow_label':-1}"},
		{"/v1/multicast_memberships",
			"{'ud_endpoint':[],'addr':'','mode':'x','timeout_ms':0}"},
		{"/v1/connections/c/messages", "{'data':1,'encoding':'x','imm':-1,'timeout_ms':0}"},
		{"/v1/ud_endpoints/here/messages", "{'ud_peer':[],'multicast_membership':[]}"},
		{"/v1/drain", "{'deadline_ms':0}"},
	};
	struct answers answers;

	begin(&answers, rest, "bounds of members");
	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/connections",
		"{'name':'m','bringup':'manual','device':'fake0'}");
	(void)rest_call(rest, 201, "POST", "/v1/ud_endpoints", "{'name':'here'}");
	refuse_all(&answers, rows, VBD_ARRAY_LEN(rows));
	judge(&answers);
}

REST_TEST(test_api_answers__members_that_do_not_go_together)
{
	static const struct refused rows[] = {
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'bringup':'manual'}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'psn':1}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp_type':'uc'}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'src_addr':'b'}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'device':'x'}"},
		{"/v1/connection_batches", "{'count':501,'connections':[{},{}]}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'keep':true}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'reconnect':'always'}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'name':'x','keep':true,"
				    "'reconnect_min_ms':2000,'reconnect_max_ms':1000}"},
		{"/v1/connections", "{'bringup':'manual','keep':true,'name':'x'}"},
		{"/v1/connections",
			"{'dst_addr':'a','dst_port':1,'name':'x','keep':true,'device':1}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'name':'x','keep':true,"
				    "'device':{'id':1,'name':null}}"},
		{"/v1/listeners", "{'name':'x','keep':true,'device':'1'}"},
		{"/v1/connections", "{'bringup':'manual','device':'x'}"},
		{"/v1/connections", "{'bringup':'manual','device':9}"},
		{"/v1/connections", "{'bringup':'manual','qp':{'srq':'s'}}"},
		{"/v1/connections", "{'bringup':'manual','dst_port':2}"},
		{"/v1/connections", "{'bringup':'manual','qp':{'pd':'x'}}"},
		{"/v1/connections", "{'bringup':'manual','qp':{'cq':'x'}}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','qp':{'pd':'x'}}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','qp':{'cq':'x'}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp':{'srq':'x'}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp':{'cq':'x'}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp':{'pd':'x'}}"},
		{"/v1/connections",
			"{'dst_addr':'a','dst_port':1,'qp':{'signal_every':9,'sq_depth':8}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp':{'path_mtu_bytes':1000}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp':{'spin_us':5}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'qp':{'heartbeat_ms':1}}"},
		{"/v1/connections",
			"{'dst_addr':'a','dst_port':1,'qp':{'ack_timeout':14,'ack_timeout_ns':1}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'name':'c'}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'labels':{'a':1}}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'labels':[]}"},
		{"/v1/connections", "{'dst_addr':'a','dst_port':1,'labels':{'a b':''}}"},
		{"/v1/connections",
			"{'dst_addr':'a','dst_port':1,'private_data':{'data':'" LONG_64 "'}}"},
		{"/v1/connection_batches", "{'connections':[{'dst_addr':'a'},{'dst_port':1}]}"},
		{"/v1/connections/m/remote", "{'qpn':2,'psn':1,'gid':'x'}"},
		{"/v1/connections/m/remote", "{'qpn':2,'psn':1,'gid':'::ffff:10.0.0.2',"
					     "'port_mtu_bytes':1000}"},
		{"/v1/connections/m/remote", "{'qpn':2,'psn':1,'gid':'::ffff:10.0.0.2',"
					     "'path_mtu_bytes':300}"},
		{"/v1/connections/m/remote",
			"{'qpn':2,'psn':1,'gid':'::ffff:10.0.0.2','qp_type':'uc'}"},
		{"/v1/connections/m/remote",
			"{'qpn':2,'psn':1,'gid':'::ffff:10.0.0.2','gid_type':'ib'}"},
		{"/v1/connections/m/remote", "{'qpn':2,'psn':1}"},
		{"/v1/connections/c/remote", "{'qpn':2,'psn':1,'gid':'::ffff:10.0.0.2'}"},
		{"/v1/connections/c/qp_state", "{'state':'RTS'}"},
		{"/v1/connections/m/qp_state", "{'state':'RTS'}"},
		{"/v1/connections/c/accept", "{}"},
		{"/v1/connections/c/reject", NULL},
		{"/v1/listeners", "{'addr':'10.0.0.1','device':'x'}"},
		{"/v1/listeners", "{'addr':'x'}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','allow':['10.0.0.0/33']}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','allow':[1]}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','v6_only':true}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','name':'l'}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','keep':true}"},
		{"/v1/listeners", "{'addr':'10.0.0.1','qp':{'srq':'x'}}"},
		{"/v1/srqs", "{'device':'x'}"},
		{"/v1/srqs", "{'pd':'x'}"},
		{"/v1/srqs", "{'cq':'x'}"},
		{"/v1/srqs", "{'max_wr':4,'srq_limit':5}"},
		{"/v1/cqs", "{'device':'x'}"},
		{"/v1/pds", "{'device':'x'}"},
		{"/v1/buffers", "{'size_bytes':1,'pd':'x'}"},
		{"/v1/buffers", "{'size_bytes':1,'device':'x'}"},
		{"/v1/buffers", "{'size_bytes':1,'page_size_bytes':8192}"},
		{"/v1/buffers", "{'size_bytes':1,'name':'here'}"},
		{"/v1/windows", "{'buffer':'here','connection':'c','type':2,'access':[]}"},
		{"/v1/windows", "{'buffer':'here','connection':'c','type':2,'access':['mw_bind']}"},
		{"/v1/windows",
			"{'buffer':'here','connection':'x','type':2,'access':['remote_read']}"},
		{"/v1/windows",
			"{'buffer':'x','connection':'c','type':2,'access':['remote_read']}"},
		{"/v1/windows",
			"{'buffer':'here','connection':'c','type':2,'access':['remote_read']}"},
		{"/v1/windows", "{'buffer':'here','type':1,'access':['remote_read']}"},
		{"/v1/transfers", "{'op':'write','connection':'c','buffer':'here'}"},
		{"/v1/transfers", "{'op':'write','connection':'c','buffer':'here','remote':{}}"},
		{"/v1/transfers",
			"{'op':'write','connection':'c','buffer':'here','remote':{'addr':'0x1'"
			"}}"},
		{"/v1/transfers", "{'op':'write','connection':'c','buffer':'here','remote':{'addr':"
				  "'0x1','rkey':'0x1','size_bytes':4095}}"},
		{"/v1/transfers", "{'op':'write','connection':'c','buffer':'here','remote':{'addr':"
				  "'0x1','rkey':'0x1','size_bytes':4,'offset_bytes':5}}"},
		{"/v1/transfers", "{'op':'send','connection':'c','buffer':'here','imm':1}"},
		{"/v1/transfers", "{'op':'send_imm','connection':'c','buffer':'here'}"},
		{"/v1/transfers", "{'op':'send','connection':'c','buffer':'here','add':'0x1'}"},
		{"/v1/transfers", "{'op':'fetch_add','connection':'c'}"},
		{"/v1/transfers", "{'op':'compare_swap','connection':'c','compare':'0x1'}"},
		{"/v1/transfers", "{'op':'read','connection':'c','buffer':'here','inline':true}"},
		{"/v1/transfers", "{'op':'recv','connection':'c','buffer':'here'}"},
		{"/v1/transfers", "{'op':'send','connection':'c'}"},
		{"/v1/transfers", "{'op':'send','connection':'c','buffer':'here','sges':[{'buffer':"
				  "'here'}]}"},
		{"/v1/transfers", "{'op':'send','connection':'c','sges':[{'buffer':'here'}],'"
				  "length_bytes':4}"},
		{"/v1/transfers", "{'op':'send','connection':'c','sges':[{'buffer':'here'}],'"
				  "offset_bytes':4}"},
		{"/v1/transfers", "{'op':'send','connection':'c','sges':[{'buffer':'here'}],'chunk_"
				  "bytes':4}"},
		{"/v1/transfers", "{'op':'send','connection':'c','sges':[{'buffer':'here'}],'"
				  "message_bytes':4}"},
		{"/v1/transfers",
			"{'op':'write','connection':'c','buffer':'here','message_bytes':4,"
			"'remote':{'addr':'0x1','rkey':'0x1'}}"},
		{"/v1/transfers",
			"{'op':'send','connection':'c','buffer':'here','offset_bytes':4097}"},
		{"/v1/transfers",
			"{'op':'send','connection':'c','ud_endpoint':'here','buffer':'here'}"},
		{"/v1/transfers", "{'op':'send','buffer':'here'}"},
		{"/v1/transfers",
			"{'op':'send','ud_endpoint':'here','buffer':'here','length_bytes':8}"},
		{"/v1/transfers", "{'op':'write','ud_endpoint':'here','buffer':'here'}"},
		{"/v1/transfers", "{'op':'send','connection':'c','ud_peer':'x','buffer':'here'}"},
		{"/v1/transfers", "{'op':'send','ud_endpoint':'here','buffer':'here',"
				  "'if_not_established':'wait'}"},
		{"/v1/transfer_batches",
			"{'transfers':[{'op':'send','connection':'c','buffer':'here',"
			"'if_not_established':'wait'}]}"},
		{"/v1/transfer_batches", "{'transfers':[1]}"},
		{"/v1/transfer_batches",
			"{'transfers':[{'op':'send','connection':'c','buffer':'x'}]}"},
		{"/v1/probes", "{'connection':'c','kind':'rping'}"},
		{"/v1/probes", "{'connection':'c','kind':'ack','size_bytes':1}"},
		{"/v1/probes", "{'connection':'x'}"},
		{"/v1/benchmarks", "{'connection':'c','op':'write','size_bytes':1,'count':1}"},
		{"/v1/benchmarks",
			"{'connection':'c','op':'send','size_bytes':1,'count':1,'remote':{}}"},
		{"/v1/benchmarks",
			"{'connection':'c','op':'send','size_bytes':1,'count':1,'duration_ms':1}"},
		{"/v1/benchmarks",
			"{'connection':'c','op':'send','size_bytes':1,'count':1,'buffer':'x'}"},
		{"/v1/benchmarks", "{'connection':'c','op':'send','size_bytes':4097,'count':1,'"
				   "buffer':'here'}"},
		{"/v1/ud_endpoints", "{'port':1}"},
		{"/v1/ud_endpoints", "{'service':'echo'}"},
		{"/v1/ud_endpoints", "{'service':'rping'}"},
		{"/v1/ud_endpoints", "{'addr':'x'}"},
		{"/v1/ud_endpoints", "{'device':'x'}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here'}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','dst_addr':'10.0.0.1'}"},
		{"/v1/ud_peers",
			"{'ud_endpoint':'here','dst_addr':'10.0.0.1','dst_port':1,'qpn':2}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','message_seq':1,'qpn':2}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','qpn':2,'dst_port':2}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','qpn':2,'gid':'::1','timeout_ms':2}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','qpn':2}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','qpn':2,'gid':'::1','lid':3}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','qpn':2,'gid':'xx'}"},
		{"/v1/ud_peers", "{'ud_endpoint':'here','message_seq':1}"},
		{"/v1/ud_peers", "{'ud_endpoint':'x','message_seq':1}"},
		{"/v1/multicast_memberships", "{'ud_endpoint':'here','addr':'10.0.0.1'}"},
		{"/v1/multicast_memberships", "{'ud_endpoint':'x','addr':'239.1.2.3'}"},
		{"/v1/ud_endpoints/here/messages", "{'data':'a'}"},
		{"/v1/ud_endpoints/here/messages",
			"{'data':'a','ud_peer':'x','multicast_membership':'x'}"},
		{"/v1/ud_endpoints/here/messages", "{'data':'a','ud_peer':'x'}"},
		{"/v1/ud_endpoints/here/messages", "{'data':'a','multicast_membership':'x'}"},
		{"/v1/connections/c/messages", "{'data':'a','encoding':'hex'}"},
		{"/v1/connections/x/messages", "{'data':'a'}"},
		{"/v1/connections/x/close", NULL},
		{"/v1/objects/-/cancel?kind=connection", NULL},
		{"/v1/objects/-/cancel?kind=connection&all=true&label=a", NULL},
		{"/v1/objects/-/cancel?kind=connection&all=x", NULL},
		{"/v1/transfers/9/cancel", NULL},
		{"/v1/faults", "{'effect':'delay_completions','delay_ms':1}"},
		{"/v1/reload", NULL},
	};
	struct answers answers;

	begin(&answers, rest, "members that do not go together");
	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/connections",
		"{'name':'m','bringup':'manual','device':'fake0'}");
	(void)rest_call(rest, 201, "POST", "/v1/ud_endpoints", "{'name':'here'}");
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'here','size_bytes':4096}");
	(void)rest_call(rest, 201, "POST", "/v1/srqs", "{'name':'s','device':'fake0'}");
	refuse_all(&answers, rows, VBD_ARRAY_LEN(rows));
	judge(&answers);
}

REST_TEST(test_api_answers__parameters)
{
	static const char *const paths[] = {
		"/v1/connections?limit=0",
		"/v1/connections?limit=1001",
		"/v1/connections?limit=x",
		"/v1/connections?after=x",
		"/v1/connections?sort=x",
		"/v1/connections?view=x",
		"/v1/connections?fields=qp.sq_depth",
		"/v1/connections?fields=nothing",
		"/v1/connections?state=x",
		"/v1/connections?name=",
		"/v1/connections?label=",
		"/v1/connections?x=1",
		"/v1/connections/c?until=x",
		"/v1/connections/c?wait_ms=1",
		"/v1/connections/c?until=ended&wait_ms=x",
		"/v1/connections/x",
		"/v1/connections/9/explain",
		"/v1/connections/x/timeline",
		"/v1/connections/c/messages?limit=0",
		"/v1/connections/c/messages?limit=1001",
		"/v1/connections/c/messages?after=-1",
		"/v1/connections/c/messages?encoding=x",
		"/v1/connections/c/messages?wait_ms=x",
		"/v1/connections/x/messages",
		"/v1/buffers/b/data?offset_bytes=-1",
		"/v1/buffers/b/data?offset_bytes=65",
		"/v1/buffers/b/data?offset_bytes=60&length_bytes=5",
		"/v1/buffers/b/checksum?algorithm=md5",
		"/v1/buffers/b/checksum?length_bytes=65",
		"/v1/buffers/b/fd?access=x",
		"/v1/buffers/b/fd",
		"/v1/buffers/x/data",
		"/v1/buffers/x/checksum",
		"/v1/buffers/x/fd",
		"/v1/events?limit=0",
		"/v1/events?limit=1001",
		"/v1/events?after=x",
		"/v1/events?type=x",
		"/v1/events?object=x",
		"/v1/events?object=connection/",
		"/v1/events?severity=x",
		"/v1/events?code=x",
		"/v1/events/stream?limit=0",
		"/v1/glossary?kind=x",
		"/v1/reachability",
		"/v1/reachability?dst_addr=",
		"/v1/reachability?dst_addr=10.0.0.1&dst_port=0",
		"/v1/reachability?dst_addr=10.0.0.1&dst_port=65536",
		"/v1/reachability?dst_addr=10.0.0.1&device=nothing",
		"/v1/reachability?dst_addr=10.0.0.1&src_addr=x",
		"/v1/devices/x",
		"/v1/drain?wait_ms=x",
		"/livez?verbose=x",
		"/metrics?connections=2",
		"/metrics?cqs=2",
		"/assets/x",
		"/v1/x",
	};
	static const char *const deleted[] = {
		"/v1/objects",
		"/v1/objects?all=true&label=a",
		"/v1/objects?all=x",
		"/v1/objects?all=true&dry_run=x",
		"/v1/objects?kind=pd,conection&all=true",
		"/v1/pds/x",
		"/v1/pds/1",
		"/v1/cqs/x",
		"/v1/cqs/1",
		"/v1/srqs/x",
		"/v1/buffers/x",
		"/v1/listeners/x",
		"/v1/connections/x",
		"/v1/transfers/9",
		"/v1/transfer_batches/9",
		"/v1/connection_batches/9",
		"/v1/probes/9",
		"/v1/benchmarks/9",
		"/v1/windows/x",
		"/v1/faults/x",
		"/v1/kept_objects/x",
		"/v1/ud_endpoints/x",
		"/v1/ud_peers/x",
		"/v1/multicast_memberships/x",
		"/v1/connections/c/messages",
		"/v1/connections/c/messages?through=0",
		"/v1/devices/fake0",
	};
	static const struct refused patched[] = {
		{"/v1/listeners/l", "{}"},
		{"/v1/listeners/l", "{'accept':'x','accept_timeout_ms':0,'allow':1,"
				    "'max_connections':-1,'max_per_peer':-1,'connects_per_s':-1,"
				    "'connects_burst':-1}"},
		{"/v1/listeners/x", "{'accept':'auto'}"},
		{"/v1/cqs/1", "{'cqe':0}"},
		{"/v1/cqs/x", "{'cqe':1}"},
		{"/v1/srqs/s", "{}"},
		{"/v1/srqs/s", "{'srq_limit':65}"},
		{"/v1/srqs/s", "{'srq_limit':-1}"},
		{"/v1/srqs/x", "{'srq_limit':1}"},
	};
	struct answers answers;

	begin(&answers, rest, "parameters");
	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'b','size_bytes':64}");
	(void)rest_call(rest, 201, "POST", "/v1/srqs", "{'name':'s','device':'fake0'}");
	for (size_t i = 0; i < VBD_ARRAY_LEN(paths); i++)
		refuse(&answers, "GET", paths[i], NULL);
	for (size_t i = 0; i < VBD_ARRAY_LEN(deleted); i++)
		refuse(&answers, "DELETE", deleted[i], NULL);
	for (size_t i = 0; i < VBD_ARRAY_LEN(patched); i++)
		refuse(&answers, "PATCH", patched[i].path, patched[i].body);
	judge(&answers);
}

int main(int argc, char **argv)
{
	writes = argc > 1 && strcmp(argv[1], "--write") == 0;
	if (writes)
		(void)remove(GOLDEN);
	return unit_run(argc, argv, NULL, NULL);
}
