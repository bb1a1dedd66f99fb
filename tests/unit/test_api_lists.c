/* SPDX-License-Identifier: Apache-2.0 */
/* Each list by each of its sort keys and filters, over the fake provider. */
#include "tests/unit/rest.h"

struct row {
	const char *path;
	const char *ids; /* of the items, in their order */
};

static void expect_ids(struct rest *rest, const char *path, const char *ids)
{
	const json_t *items = json_object_get(rest_call(rest, 200, "GET", path, NULL), "items");
	char seen[128] = "";
	const json_t *item;
	size_t at;

	json_array_foreach(items, at, item)
	{
		size_t len = strlen(seen);

		(void)snprintf(seen + len, sizeof(seen) - len, "%s%u", len ? "," : "",
			(unsigned int)rest_number(item, "id"));
	}
	if (strcmp(seen, ids) != 0)
		fail_msg("%s: not %s but %s", path, ids, seen);
}

static void expect_rows(struct rest *rest, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect_ids(rest, rows[i].path, rows[i].ids);
}

static void make(struct rest *rest, const char *path, const char *body)
{
	(void)rest_call(rest, 201, "POST", path, "%s", body);
}

/* The first object of a test is the greater one by most keys. The default PD has no name, and
 * neither has the CQ that verbsd chose for the shared receive queues. */

REST_TEST(test_api_lists__connections_and_listeners)
{
	static const struct row rows[] = {
		{"/v1/listeners?sort=name", "2,1"},
		{"/v1/listeners?sort=-name", "1,2"},
		{"/v1/listeners?sort=port", "2,1"},
		{"/v1/listeners?sort=-port", "1,2"},
		{"/v1/listeners?sort=requests", "2,1"},
		{"/v1/listeners?sort=-created_at", "2,1"},
		{"/v1/listeners?sort=state", "1,2"},
		{"/v1/listeners?state=listening", "1,2"},
		{"/v1/listeners?state=ended", ""},
		{"/v1/listeners?name=a", "2"},
		{"/v1/listeners?device=fake0", "1,2"},
		{"/v1/listeners?device=fake1", ""},
		{"/v1/connections?state=open&sort=-created_at", "2,1"},
		{"/v1/connections?state=open&sort=duration", "2,1"},
		{"/v1/connections?state=open&sort=-duration", "1,2"},
		{"/v1/connections?sort=name&state=open,ended&name=c", "1"},
		{"/v1/connections?state=open,ended&sort=-created_at&listener=l", "4,2"},
		{"/v1/connections?state=open,ended&sort=-established_at&listener=l", "4,2"},
		{"/v1/connections?state=open,ended&listener=a", ""},
		{"/v1/connections?state=open,ended&device=fake0", "1,2,3,4"},
		{"/v1/connections?state=open,ended&device=fake1", ""},
		{"/v1/connections?state=ended&sort=end_code", "3,4"},
		{"/v1/connections?state=ended&sort=-end_code", "4,3"},
		{"/v1/connections?state=open,ended&end_code=peer_disconnect", "4"},
		{"/v1/connections?state=open,ended&sort=state&listener=l", "2,4"},
		{"/v1/connections?state=open,ended&sort=-state&listener=l", "4,2"},
	};
	unsigned int port;

	(void)rest_pair(rest, "", "");
	port = (unsigned int)rest_number(
		rest_call(rest, 200, "GET", "/v1/listeners/l", NULL), "port");
	(void)rest_call(rest, 201, "POST", "/v1/connections",
		"{'name':'b','dst_addr':'10.0.0.1','dst_port':%u}", port);
	(void)rest_call(
		rest, 200, "GET", "/v1/connections/4?until=established&wait_ms=60000", NULL);
	(void)rest_call(rest, 200, "POST", "/v1/connections/b/close", NULL);
	(void)rest_call(rest, 200, "GET", "/v1/connections/4?until=ended&wait_ms=60000", NULL);
	make(rest, "/v1/listeners", "{'name':'a','device':'fake0','addr':'10.0.0.1','port':1000}");
	expect_rows(rest, rows, VBD_ARRAY_LEN(rows));
}

REST_TEST(test_api_lists__memory_and_queues)
{
	static const struct row rows[] = {
		{"/v1/pds?sort=name", "1,3,2"},
		{"/v1/pds?sort=-name", "2,3,1"},
		{"/v1/pds?sort=device", "1,2,3"},
		{"/v1/pds?name=y", "3"},
		{"/v1/pds?device=fake0", "1,2,3"},
		{"/v1/pds?device=fake1", ""},
		{"/v1/buffers?sort=name", "2,1"},
		{"/v1/buffers?sort=size_bytes", "2,1"},
		{"/v1/buffers?sort=-created_at", "2,1"},
		{"/v1/buffers?sort=user_count", "2,1"},
		{"/v1/buffers?sort=-user_count", "1,2"},
		{"/v1/buffers?sort=state", "1,2"},
		{"/v1/buffers?state=ready", "1,2"},
		{"/v1/buffers?state=ended", ""},
		{"/v1/buffers?name=y", "2"},
		{"/v1/buffers?pd=y", "2"},
		{"/v1/buffers?pd=z", ""},
		{"/v1/buffers?device=fake0", "1,2"},
		{"/v1/buffers?device=fake1", ""},
		{"/v1/cqs?sort=name", "3,2,1"},
		{"/v1/cqs?sort=-name", "1,2,3"},
		{"/v1/cqs?sort=worker", "1,2,3"},
		{"/v1/cqs?sort=-reserved_cqe", "3,1,2"},
		{"/v1/cqs?sort=reserved_cqe", "2,1,3"},
		{"/v1/cqs?sort=device", "1,2,3"},
		{"/v1/cqs?name=y", "2"},
		{"/v1/cqs?device=fake0", "1,2,3"},
		{"/v1/cqs?device=fake1", ""},
		{"/v1/srqs?sort=name", "2,1"},
		{"/v1/srqs?sort=-name", "1,2"},
		{"/v1/srqs?sort=device", "1,2"},
		{"/v1/srqs?name=y", "2"},
		{"/v1/srqs?device=fake0", "1,2"},
		{"/v1/srqs?device=fake1", ""},
		{"/v1/windows?sort=name", "2,1"},
		{"/v1/windows?sort=-name", "1,2"},
		{"/v1/windows?sort=-created_at", "2,1"},
		{"/v1/windows?sort=state", "1,2"},
		{"/v1/windows?sort=buffer", "1,2"},
		{"/v1/windows?sort=connection", "2,1"},
		{"/v1/windows?name=y", "2"},
		{"/v1/windows?buffer=z", "1,2"},
		{"/v1/windows?buffer=y", ""},
		{"/v1/windows?connection=c", "2"},
		{"/v1/windows?device=fake0", "1,2"},
		{"/v1/devices?sort=name", "1"},
		{"/v1/devices?sort=state", "1"},
		{"/v1/devices?sort=added_at", "1"},
		{"/v1/devices?name=fake0", "1"},
		{"/v1/devices?name=fake1", ""},
	};

	make(rest, "/v1/cqs", "{'name':'z','device':'fake0'}");
	make(rest, "/v1/cqs", "{'name':'y','device':'fake0'}");
	make(rest, "/v1/pds", "{'name':'z','device':'fake0'}");
	make(rest, "/v1/pds", "{'name':'y','device':'fake0'}");
	make(rest, "/v1/srqs", "{'name':'z','pd':'z'}");
	make(rest, "/v1/srqs", "{'name':'y','pd':'y'}");
	(void)rest_pair(rest, ",'qp':{'cq':'z'}", ",'qp':{'cq':'z'}");
	make(rest, "/v1/buffers", "{'name':'z','size_bytes':8192,'access':['mw_bind']}");
	make(rest, "/v1/buffers", "{'name':'y','size_bytes':4096,'pd':'y'}");
	make(rest, "/v1/windows",
		"{'name':'z','buffer':'z','connection':'2','type':2,'access':['remote_read']}");
	make(rest, "/v1/windows",
		"{'name':'y','buffer':'z','connection':'c','type':2,'access':['remote_read']}");
	expect_rows(rest, rows, VBD_ARRAY_LEN(rows));
}

REST_TEST(test_api_lists__work)
{
	static const struct row rows[] = {
		{"/v1/transfers?state=done&sort=connection", "2,3,4,1"},
		{"/v1/transfers?state=done&sort=-connection", "1,4,3,2"},
		{"/v1/transfers?state=done&sort=length_bytes", "4,3,2,1"},
		{"/v1/transfers?state=done&sort=-length_bytes", "1,2,3,4"},
		{"/v1/transfers?state=done&sort=op", "1,2,3,4"},
		{"/v1/transfers?state=done&sort=-created_at", "4,3,2,1"},
		{"/v1/transfers?state=done&connection=c", "2,3,4"},
		{"/v1/transfers?state=done&connection=2", "1"},
		{"/v1/transfers?state=done&buffer=here", "1,2"},
		{"/v1/transfers?state=done&buffer=other", "3,4"},
		{"/v1/transfers?state=done&batch=1", "2"},
		{"/v1/transfers?state=done&batch=9", ""},
		{"/v1/transfers?state=done&ud_endpoint=9", ""},
		{"/v1/transfers?state=done&ud_peer=9", ""},
		{"/v1/transfers?state=done&multicast_membership=9", ""},
		{"/v1/transfer_batches?state=done&sort=state", "1"},
		{"/v1/transfer_batches?state=done&sort=created_at", "1"},
		{"/v1/probes?state=done&sort=connection", "2,1"},
		{"/v1/probes?state=done&sort=state", "1,2"},
		{"/v1/probes?state=done&sort=-created_at", "2,1"},
		{"/v1/probes?state=done&connection=2", "1"},
		{"/v1/benchmarks?state=done&sort=connection", "1"},
		{"/v1/benchmarks?state=done&sort=state", "1"},
		{"/v1/benchmarks?state=done&sort=created_at", "1"},
		{"/v1/benchmarks?state=done&connection=c", "1"},
		{"/v1/benchmarks?state=done&connection=2", ""},
		{"/v1/benchmarks?state=done&buffer=other", "1"},
		{"/v1/benchmarks?state=done&buffer=here", ""},
		{"/v1/benchmarks?state=failed", ""},
	};
	const json_t *other;
	char remote[128];

	(void)rest_pair(rest, ",'service':'sink'", ",'service':'sink'");
	make(rest, "/v1/buffers", "{'name':'here','size_bytes':64}");
	other = rest_call(rest, 201, "POST", "/v1/buffers",
		"{'name':'other','size_bytes':64,'access':['remote_write']}");
	(void)snprintf(remote, sizeof(remote), "'remote':{'addr':'%s','rkey':'%s'}",
		rest_text(other, "addr"), rest_text(other, "rkey"));
	make(rest, "/v1/transfers",
		"{'op':'send','connection':'2','buffer':'here','length_bytes':40}");
	make(rest, "/v1/transfer_batches",
		"{'transfers':[{'op':'send','connection':'c','sges':[{'buffer':'here',"
		"'length_bytes':30}]}]}");
	(void)rest_call(rest, 201, "POST", "/v1/transfers",
		"{'op':'write','connection':'c','buffer':'other','length_bytes':20,%s}", remote);
	(void)rest_call(rest, 201, "POST", "/v1/benchmarks",
		"{'connection':'c','op':'write','buffer':'other','size_bytes':10,'count':1,%s}",
		remote);
	make(rest, "/v1/probes", "{'connection':'2','count':1}");
	make(rest, "/v1/probes", "{'connection':'c','count':1}");
	expect_rows(rest, rows, VBD_ARRAY_LEN(rows));
}

REST_TEST(test_api_lists__connections_say_why_they_failed)
{
	(void)rest_call(
		rest, 424, "POST", "/v1/connections", "{'dst_addr':'10.0.0.1','dst_port':9}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections?state=ended", NULL),
		"{'items':[{'id':1,'error':{'code':'rejected'}}]}");
}
