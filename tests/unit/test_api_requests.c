/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that the scenes of api_answers.golden can not make, or of whose answers they can not
 * tell enough: headers, long bodies, figures that differ from run to run, and events of the device.
 */
#include "tests/unit/rest.h"
#include "tests/unit/scratch.h"

#include <sys/stat.h>

/* --- devices --------------------------------------------------------------------------------- */

REST_TEST(test_api_requests__a_device_counts_its_events)
{
	fake_device_async(rest->svc->device, IBV_EVENT_PORT_ERR, 1);
	fake_device_async(rest->svc->device, IBV_EVENT_PORT_ERR, 1);
	for (;;) {
		const json_t *device = rest_call(rest, 200, "GET", "/v1/devices/1", NULL);

		if (json_integer_value(json_object_get(
			    json_object_get(device, "async_events"), "port_err")) == 2)
			return;
	}
}

REST_TEST(test_api_requests__the_counters_of_a_port_are_read_for_the_answer)
{
	static const char *const parts[] = {"/ports", "/1", "/hw_counters", "/sent_pkts"};
	struct vbd_device *device = vbd_fabric_device(rest->svc->daemon->fabric, "fake0");
	static char folder[SCRATCH_PATH_BYTES];
	char path[SCRATCH_PATH_BYTES];
	size_t used;
	FILE *file;

	scratch_make(folder);
	device->ibdev_path = folder;
	(void)snprintf(path, sizeof(path), "%s", folder);
	for (size_t i = 0; i < VBD_ARRAY_LEN(parts); i++) {
		used = strlen(path);
		(void)snprintf(path + used, sizeof(path) - used, "%s", parts[i]);
		assert_true(i == 3 || mkdir(path, 0700) == 0);
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs("7\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	rest_expect(rest_call(rest, 200, "GET", "/v1/devices?fields=ports", NULL),
		"{'items':[{'ports':[{'counters':{},'hw_counters':{'sent_pkts':7}}]}]}");
	assert_int_equal(fake_count("rdma netlink"), 0);
	scratch_remove(folder);
}

/* --- the bytes of a buffer ------------------------------------------------------------------- */

static void read_range(struct rest *rest, const char *range, int status, const char *content_range,
	const char *bytes)
{
	char headers[64];

	(void)snprintf(headers, sizeof(headers), "Range: %s\r\n", range);
	rest->headers = headers;
	(void)rest_call(rest, status, "GET", "/v1/buffers/b/data", NULL);
	rest->headers = REST_WAIT;
	assert_non_null(strstr(rest->reply, "Accept-Ranges: bytes\r\n"));
	if (content_range)
		assert_non_null(strstr(rest->reply, content_range));
	if (bytes)
		assert_string_equal(strstr(rest->reply, "\r\n\r\n") + 4, bytes);
}

REST_TEST(test_api_requests__a_range_of_bytes_is_read)
{
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'b','size_bytes':16}");
	(void)rest_call(rest, 200, "PUT", "/v1/buffers/b/data", "0123456789abcdef");
	read_range(rest, "bytes=2-5", 206, "Content-Range: bytes 2-5/16\r\n", "2345");
	read_range(rest, "bytes=12-", 206, "Content-Range: bytes 12-15/16\r\n", "cdef");
	read_range(rest, "bytes=-3", 206, "Content-Range: bytes 13-15/16\r\n", "def");
	read_range(rest, "bytes=16-", 416, "Content-Range: bytes */16\r\n", NULL);
	read_range(rest, "words=1", 200, NULL, "0123456789abcdef");
	rest->headers = "Range: bytes=1-2\r\n";
	rest_expect(rest_call(rest, 400, "GET", "/v1/buffers/b/data?offset_bytes=1", NULL),
		"{'code':'bad_value'}");
	rest->headers = REST_WAIT;
	rest_expect(rest_call(rest, 416, "GET", "/v1/buffers/b/data?offset_bytes=17", NULL),
		"{'errors':[{'parameter':'offset_bytes'}]}");
	rest_expect(rest_call(rest, 416, "GET", "/v1/buffers/b/data?offset_bytes=8&length_bytes=9",
			    NULL),
		"{'errors':[{'parameter':'length_bytes'}]}");
}

REST_TEST(test_api_requests__a_long_download_has_each_byte_in_its_place)
{
	static char wanted[500000];
	const struct vbd_buffer *buffer;
	const char *body;

	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'b','size_bytes':524288}");
	buffer = VBD_CONTAINER_OF(
		vbd_registry_find_name(rest->svc->daemon->buffers, "b"), struct vbd_buffer, object);
	for (size_t i = 0; i < buffer->mem.size_bytes; i++)
		((char *)UNIT_BYTES(&buffer->mem))[i] = (char)('a' + i / 997 % 26);
	memcpy(wanted, (const char *)UNIT_BYTES(&buffer->mem) + 1000, sizeof(wanted));
	assert_int_equal(rest_perform(rest, "GET",
				 "/v1/buffers/b/data?offset_bytes=1000&length_bytes=500000", NULL),
		200);
	body = strstr(rest->reply, "\r\n\r\n") + 4;
	assert_int_equal(strlen(body), sizeof(wanted));
	assert_memory_equal(body, wanted, sizeof(wanted));
}

/* --- work ------------------------------------------------------------------------------------ */

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

static void expect_metric(const struct rest *rest, const char *line)
{
	if (!strstr(rest->reply, line))
		fail_msg("no metric: %s", line);
}

REST_TEST(test_api_requests__metrics_count_what_was_done)
{
	const char *to;

	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'here','size_bytes':4096}");
	to = remote(rest);
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

REST_TEST(test_api_requests__a_batch_names_its_first_failure)
{
	const json_t *batch;

	(void)rest_pair(rest, "", "");
	(void)rest_call(rest, 201, "POST", "/v1/buffers", "{'name':'here','size_bytes':4096}");
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

static void expect_round_trips(const json_t *rtt)
{
	assert_true(rest_number(rtt, "min") > 0);
	assert_true(rest_number(rtt, "min") <= rest_number(rtt, "mean"));
	assert_true(rest_number(rtt, "mean") <= rest_number(rtt, "max"));
	assert_true(rest_number(rtt, "p50") <= rest_number(rtt, "p999"));
}

REST_TEST(test_api_requests__a_probe_tells_what_came_back)
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

REST_TEST(test_api_requests__a_benchmark_tells_its_figures)
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

/* --- headers --------------------------------------------------------------------------------- */

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
