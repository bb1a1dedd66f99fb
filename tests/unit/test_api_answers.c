/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole answers of the API over the fake provider, held against api_answers.golden. Values that
 * differ from run to run stand there as "some". If a difference is right: test_api_answers --write
 */
#include "tests/unit/rest.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		"rq_psn", "routes", "links", "client", "shared_path"};
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

static void test_api_answers__the_daemon(void **state)
{
	struct answers answers;

	begin(&answers, *state, "the daemon");
	show(&answers, 200, "/v1");
	show(&answers, 200, "/v1/caller");
	show(&answers, 200, "/v1/drain");
	show(&answers, 200, "/v1/devices");
	show(&answers, 200, "/v1/devices/fake0");
	show(&answers, 200, "/v1/devices?fields=name,ports.gids.gid");
	show(&answers, 200, "/v1/glossary/IBV_WC_RETRY_EXC_ERR");
	show(&answers, 200, "/v1/glossary/rejected");
	show(&answers, 200, "/v1/glossary/connection_established");
	show(&answers, 200, "/v1/glossary/dead_peer_slow");
	show(&answers, 200, "/v1/glossary/RTS");
	show(&answers, 404, "/v1/glossary/nothing");
	show(&answers, 200, "/livez?verbose");
	judge(&answers);
}

static void test_api_answers__connections(void **state)
{
	struct answers answers;

	begin(&answers, *state, "connections");
	(void)rest_pair(*state, ",'labels':{'job':'x'},'qp':{'heartbeat_ms':60000}",
		",'backlog':5,'max_connections':3,'allow':['10.0.0.0/8'],'labels':{'a':'b'}");
	show(&answers, 200, "/v1/listeners/l");
	show(&answers, 200, "/v1/listeners");
	show(&answers, 200, "/v1/connections/1");
	show(&answers, 200, "/v1/connections/2");
	show(&answers, 200, "/v1/connections/1/timeline");
	(void)rest_call(*state, 424, "POST", "/v1/connections",
		"{'name':'nobody','dst_addr':'10.0.0.1','dst_port':1}");
	put(&answers, "POST", "/v1/connections", ((struct rest *)*state)->document);
	show(&answers, 200, "/v1/connections/nobody?until=ended&wait_ms=60000");
	(void)rest_call(*state, 200, "POST", "/v1/connections/c/close", NULL);
	show(&answers, 200, "/v1/connections/c?until=ended&wait_ms=60000");
	show(&answers, 200, "/v1/connections/2?until=ended&wait_ms=60000");
	show(&answers, 200,
		"/v1/connections?state=open,ended&fields=id,name,state,end_code&sort=id");
	show(&answers, 400, "/v1/connections?state=open,x&limit=0&nothing=1");
	(void)rest_call(*state, 204, "DELETE", "/v1/connections/c", NULL);
	show(&answers, 404, "/v1/connections/c");
	judge(&answers);
}

static void test_api_answers__connections_by_hand(void **state)
{
	struct answers answers;

	begin(&answers, *state, "connections by hand");
	(void)make(&answers, "/v1/connections",
		"{'name':'m','bringup':'manual','device':'fake0','psn':7,'qp_type':'uc'}");
	(void)rest_call(*state, 200, "POST", "/v1/connections/m/remote",
		"{'qpn':5,'psn':9,'gid':'::ffff:10.0.0.2','port_mtu_bytes':1024,'lid':3,'sl':2,"
		"'hop_limit':8,'traffic_class':4,'flow_label':6}");
	show(&answers, 200, "/v1/connections/m");
	judge(&answers);
}

static void test_api_answers__connections_made_together(void **state)
{
	struct answers answers;
	char body[128];

	begin(&answers, *state, "connections made together");
	(void)rest_call(
		*state, 201, "POST", "/v1/listeners", "{'name':'l','addr':'10.0.0.1','port':7000}");
	(void)snprintf(body, sizeof(body), "%s",
		"{'name':'w','dst_addr':'10.0.0.1','dst_port':7000,'count':2}");
	(void)make(&answers, "/v1/connections", body);
	show(&answers, 200, "/v1/connection_batches/1");
	put(&answers, "POST", "/v1/connections/-/close",
		rest_call(*state, 200, "POST", "/v1/connections/-/close?all=true&dry_run=true",
			NULL));
	judge(&answers);
}

static void test_api_answers__memory(void **state)
{
	struct answers answers;

	begin(&answers, *state, "memory");
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
		rest_call(*state, 200, "PUT", "/v1/buffers/b/data?offset_bytes=8188", "abcd"));
	put(&answers, "PUT", "/v1/buffers/b/data",
		rest_call(*state, 416, "PUT", "/v1/buffers/b/data?offset_bytes=8189", "abcd"));
	show(&answers, 416, "/v1/buffers/b/data?offset_bytes=8193");
	show(&answers, 416, "/v1/buffers/b/checksum?offset_bytes=8192&length_bytes=1");
	put(&answers, "DELETE", "/v1/pds/p", rest_call(*state, 409, "DELETE", "/v1/pds/p", NULL));
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

static void test_api_answers__transfers(void **state)
{
	struct answers answers;
	char to[128], body[400];

	begin(&answers, *state, "transfers");
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
	(void)make(&answers, "/v1/batches", body);
	(void)rest_call(*state, 424, "POST", "/v1/transfers",
		"{'op':'read','connection':'c','buffer':'here','length_bytes':8,'remote':{'addr':"
		"'0x1000','rkey':'0x99'}}");
	put(&answers, "POST", "/v1/transfers", ((struct rest *)*state)->document);
	show(&answers, 200, "/v1/transfers/6");
	show(&answers, 200, "/v1/transfers?state=done&fields=id,op,bytes_done&sort=-id&limit=2");
	judge(&answers);
}

static void test_api_answers__windows_probes_and_benchmarks(void **state)
{
	struct answers answers;
	char to[128], body[400];

	begin(&answers, *state, "windows, probes and benchmarks");
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

static void test_api_answers__datagrams(void **state)
{
	struct answers answers;

	begin(&answers, *state, "datagrams");
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

static void test_api_answers__faults_of_requests(void **state)
{
	static const struct {
		const char *path, *body;
	} wrong[] = {
		{"/v1/listeners", "{'port':65536,'backlog':0,'allow':['x'],'accept':'never'}"},
		{"/v1/connections",
			"{'dst_port':1,'timeout_ms':0,'service':'x','qp':{'sq_depth':0}}"},
		{"/v1/connections", "{'dst_addr':'','dst_port':0,'tos':256,'labels':{'':'x'}}"},
		{"/v1/buffers", "{'size_bytes':0,'kind':'x','access':['x','remote_write',1]}"},
		{"/v1/cqs", "{'cqe':0,'moderation':{'count':65536}}"},
		{"/v1/srqs", "{'max_wr':0,'srq_limit':-1}"},
		{"/v1/windows", "{'type':3,'access':[]}"},
		{"/v1/transfers", "{'op':'x','connection':[],'length_bytes':-1}"},
		{"/v1/batches", "{'transfers':[]}"},
		{"/v1/probes", "{'connection':'x','count':0,'interval_ms':-1,'kind':'y'}"},
		{"/v1/benchmarks", "{'connection':'x','op':'send','size_bytes':-1,'count':0}"},
		{"/v1/ud_endpoints", "{'port':0,'qkey':'x','name':'-'}"},
		{"/v1/ud_peers", "{'ud_endpoint':'x','qpn':16777216}"},
		{"/v1/multicast_memberships", "{'ud_endpoint':'x','addr':'10.0.0.1','mode':'x'}"},
	};
	struct answers answers;

	begin(&answers, *state, "faults of requests");
	for (size_t i = 0; i < VBD_ARRAY_LEN(wrong); i++) {
		(void)fprintf(answers.out, "%s\n", wrong[i].body);
		put(&answers, "POST", wrong[i].path,
			rest_call(*state, 400, "POST", wrong[i].path, "%s", wrong[i].body));
	}
	judge(&answers);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(test_api_answers__##name, rest_setup, rest_teardown)
		TEST(the_daemon),
		TEST(connections),
		TEST(connections_by_hand),
		TEST(connections_made_together),
		TEST(memory),
		TEST(transfers),
		TEST(windows_probes_and_benchmarks),
		TEST(datagrams),
		TEST(faults_of_requests),
#undef TEST
	};

	writes = argc > 1 && strcmp(argv[1], "--write") == 0;
	if (writes)
		(void)remove(GOLDEN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
