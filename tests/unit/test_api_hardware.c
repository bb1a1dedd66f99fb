/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, memory and queue pairs that are brought up by hand, as clients see them, over the fake
 * provider. */
#include "tests/unit/rest.h"
#include "tests/unit/scratch.h"

#include <sys/stat.h>

/* --- devices --------------------------------------------------------------------------------- */

REST_TEST(test_api_hardware__a_device_is_told_with_its_ports)
{
	const json_t *device;

	rest_expect(rest_call(rest, 200, "GET", "/v1/devices", NULL),
		"{'total':1,'items':[{'id':1,'name':'fake0','state':'present','transport':'roce',"
		"'fw_ver':'1.2.3','error':null,'removed_at':null}]}");
	device = rest_call(rest, 200, "GET", "/v1/devices/fake0", NULL);
	rest_expect(device,
		"{'id':1,'name':'fake0','state':'present','transport':'roce','vendor_id':0,"
		"'limits':{'max_qp':1000,'max_sge':32,'max_srq':1000,'max_qp_rd_atom':128},"
		"'ports':[{'port_num':1,'state':'active','phys_state':'link_up','link_layer':"
		"'ethernet','lid':0,'sm_lid':0,'max_mtu_bytes':4096,'active_mtu_bytes':1024,"
		"'gids':[{'gid_index':0,'gid':'::ffff:10.0.0.1','type':'roce_v2','scope':"
		"'ipv4_mapped','netdev':null,'vlan_id':null}],'counters':{},'hw_counters':{},"
		"'cm_counters':{'tx_msgs':{},'tx_retries':{},'rx_msgs':{},'rx_duplicates':{}}}],"
		"'async_events':{},'error':null,'removed_at':null}");
	rest_expect(rest_call(rest, 404, "GET", "/v1/devices/x", NULL), "{'code':'not_found'}");
}

REST_TEST(test_api_hardware__a_device_counts_its_events)
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

REST_TEST(test_api_hardware__the_counters_of_a_port_are_read_for_the_answer)
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

REST_TEST(test_api_hardware__a_device_whose_gids_can_not_be_read_has_none)
{
	fake_fail_next("ibv_query_gid_table", EIO);
	rest_expect(rest_call(rest, 200, "GET", "/v1/devices/1", NULL),
		"{'ports':[{'port_num':1,'state':'active','gids':[]}],'ports_error':{'code':"
		"'verbs_error','first':{'errno':'EIO'}}}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/devices/1", NULL), "{'ports_error':null}");
}

/* --- windows --------------------------------------------------------------------------------- */

static void make_window_memory(struct rest *rest)
{
	(void)rest_call(rest, 201, "POST", "/v1/buffers",
		"{'name':'b','size_bytes':8192,'access':['mw_bind']}");
}

REST_TEST(test_api_hardware__a_window_gives_a_part_of_a_buffer)
{
	uint64_t addr;

	(void)rest_pair(rest, "", "");
	make_window_memory(rest);
	addr = strtoull(
		rest_text(rest_call(rest, 200, "GET", "/v1/buffers/b", NULL), "addr"), NULL, 16);
	rest_expect(
		rest_call(rest, 201, "POST", "/v1/windows",
			"{'name':'w','buffer':'b','connection':'c','type':2,"
			"'buffer_offset_bytes':4096,'size_bytes':100,'access':['remote_write']}"),
		"{'id':1,'name':'w','owner':'control','labels':{},'state':'ready','type':2,'buffer'"
		":{"
		"'id':1,'name':'b'},'connection':{'id':1,'name':'c'},'device':{'id':1,'name':'"
		"fake0'},"
		"'buffer_offset_bytes':4096,'size_bytes':100,'access':['remote_write'],'timeout_ms'"
		":"
		"5000,'ended_at':null,'error':null}");
	assert_int_equal(strtoull(rest_text(rest->document, "addr"), NULL, 16), addr + 4096);
	assert_int_equal(strlen(rest_text(rest->document, "rkey")), strlen("0x00000000"));
	(void)rest_text(rest->document, "ready_at");
	rest_expect(rest_call(rest, 201, "POST", "/v1/windows",
			    "{'buffer':'b','connection':'c','type':1,'buffer_offset_bytes':8000,"
			    "'access':['remote_read'],'timeout_ms':60000}"),
		"{'type':1,'size_bytes':192,'timeout_ms':60000}");
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/windows?buffer=b&connection=c&state=ready", NULL),
		"{'total':2}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/windows?device=fake1", NULL), "{'total':0}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/windows?sort=-id&limit=1", NULL),
		"{'items':[{'id':2}]}");
}

REST_TEST(test_api_hardware__a_window_that_can_not_be_is_refused)
{
	static const struct {
		const char *body, *code, *pointer;
	} cases[] = {
		{"{'buffer':'b','connection':'c','type':2,'access':[]}", "bad_value", "/access"},
		{"{'buffer':'b','connection':'c','type':3,'access':['remote_read']}",
			"out_of_range", "/type"},
		{"{'buffer':'b','connection':'c','type':2,'access':['mw_bind']}", "bad_value",
			"/access/0"},
		{"{'buffer':'x','connection':'c','type':2,'access':['remote_read']}", "not_found",
			"/buffer"},
		{"{'buffer':'b','connection':'x','type':2,'access':['remote_read']}", "not_found",
			"/connection"},
		{"{'buffer':'b','connection':'c','type':2}", "missing_field", "/access"},
		{"{'connection':'c','type':2,'access':['remote_read']}", "missing_field",
			"/buffer"},
	};

	(void)rest_pair(rest, "", "");
	make_window_memory(rest);
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++)
		rest_refuse(rest, "/v1/windows", cases[i].body, cases[i].code, cases[i].pointer);
	rest_expect(
		rest_call(rest, 200, "GET", "/v1/windows?state=open,ended", NULL), "{'total':0}");
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

REST_TEST(test_api_hardware__a_range_of_bytes_is_read)
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

REST_TEST(test_api_hardware__a_long_download_has_each_byte_in_its_place)
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

/* --- brought up by hand ---------------------------------------------------------------------- */

static void make_manual(struct rest *rest, const char *name)
{
	(void)rest_call(rest, 201, "POST", "/v1/connections",
		"{'name':'%s','bringup':'manual','device':'fake0'}", name);
}

REST_TEST(test_api_hardware__one_tells_the_numbers_that_the_other_takes)
{
	char *local;
	const json_t *made;

	make_manual(rest, "m");
	make_manual(rest, "n");
	made = rest_call(rest, 200, "GET", "/v1/connections/n", NULL);
	rest_expect(made,
		"{'state':'awaiting_remote','bringup':'manual','qp_type':'rc','manual':{'local':{"
		"'lid':0,'gid':'::ffff:10.0.0.1','gid_index':0,'qpn':18,'port_mtu_bytes':1024,"
		"'path_mtu_bytes':null,'qp_type':'rc','gid_type':'roce_v2','responder_resources':"
		"16,"
		"'initiator_depth':16,'recv_size_bytes':1024},'remote':null}}");
	local = json_dumps(json_object_get(json_object_get(made, "manual"), "local"), 0);
	rest_expect(rest_call(rest, 200, "POST", "/v1/connections/m/remote", "%s", local),
		"{'state':'established','manual':{'remote':{'lid':0,'gid':'::ffff:10.0.0.1','qpn':"
		"18,"
		"'port_mtu_bytes':1024,'path_mtu_bytes':null,'qp_type':'rc','gid_type':'roce_v2',"
		"'responder_resources':16,'initiator_depth':16,'recv_size_bytes':1024,'sl':0,"
		"'hop_limit':64,'traffic_class':0,'flow_label':0}},'qp_attr':{'rqpn':18,'state':'"
		"RTS',"
		"'path_mtu_bytes':1024}}");
	free(local);
}

REST_TEST(test_api_hardware__what_the_peer_does_not_tell_is_null)
{
	make_manual(rest, "m");
	rest_expect(rest_call(rest, 200, "POST", "/v1/connections/m/remote",
			    "{'gid':'::ffff:10.0.0.9','qpn':99,'psn':7,'sl':3,'traffic_class':8,'"
			    "flow_label':5,"
			    "'hop_limit':9,'bring_to':'RTR'}"),
		"{'manual':{'remote':{'gid':'::ffff:10.0.0.9','qpn':99,'psn':7,'port_mtu_bytes':"
		"null,"
		"'path_mtu_bytes':null,'gid_type':null,'responder_resources':null,"
		"'initiator_depth':null,'recv_size_bytes':null,'sl':3,'hop_limit':9,"
		"'traffic_class':8,'flow_label':5}},'qp_attr':{'state':'RTR','rqpn':99}}");
	rest_expect(rest_call(rest, 200, "POST", "/v1/connections/m/qp_state", "{'state':'RTS'}"),
		"{'state':'established','qp_attr':{'state':'RTS'}}");
}

REST_TEST(test_api_hardware__a_client_that_does_not_wait_gets_the_number_later)
{
	rest->headers = "Prefer: respond-async\r\n";
	rest_expect(rest_call(rest, 202, "POST", "/v1/connections",
			    "{'name':'m','bringup':'manual','device':'fake0'}"),
		"{'name':'m','bringup':'manual'}");
}

REST_TEST(test_api_hardware__a_step_that_the_device_refuses_is_a_problem)
{
	make_manual(rest, "m");
	fake_fail_next("ibv_modify_qp", EINVAL);
	rest_expect(rest_call(rest, 424, "POST", "/v1/connections/m/remote",
			    "{'gid':'::ffff:10.0.0.9','qpn':99,'psn':7}"),
		"{'code':'verbs_error','instance':'/v1/connections/1','call':'ibv_modify_qp',"
		"'errno':'EINVAL'}");
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/m", NULL),
		"{'state':'awaiting_remote','error':null,'qp_attr':{'state':'INIT','rqpn':null}}");
}

REST_TEST(test_api_hardware__numbers_that_can_not_be_are_refused)
{
	static const struct {
		const char *body, *code, *pointer;
	} cases[] = {
		{"{'gid':'::ffff:10.0.0.9','qpn':1,'psn':7}", "out_of_range", "/qpn"},
		{"{'gid':'::ffff:10.0.0.9','qpn':2}", "missing_field", "/psn"},
		{"{'gid':'::ffff:10.0.0.9','psn':2}", "missing_field", "/qpn"},
		{"{'gid':'g','qpn':2,'psn':7}", "bad_value", "/gid"},
		{"{'gid':'::ffff:10.0.0.9','qpn':2,'psn':7,'port_mtu_bytes':1000}", "bad_value",
			"/port_mtu_bytes"},
		{"{'gid':'::ffff:10.0.0.9','qpn':2,'psn':7,'path_mtu_bytes':1000}", "bad_value",
			"/path_mtu_bytes"},
		{"{'gid':'::ffff:10.0.0.9','qpn':2,'psn':7,'bring_to':'ERR'}", "bad_value",
			"/bring_to"},
		{"{'gid':'::ffff:10.0.0.9','qpn':2,'psn':7,'qp_type':'uc'}", "bad_value",
			"/qp_type"},
	};

	make_manual(rest, "m");
	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++)
		rest_refuse(rest, "/v1/connections/m/remote", cases[i].body, cases[i].code,
			cases[i].pointer);
	rest_refuse(rest, "/v1/connections/m/qp_state", "{'state':'GONE'}", "bad_value", "/state");
	rest_refuse(rest, "/v1/connections/x/remote", "{'gid':'::ffff:10.0.0.9','qpn':2,'psn':7}",
		"not_found", NULL);
	rest_refuse(rest, "/v1/connections/x/qp_state", "{'state':'RTS'}", "not_found", NULL);
	rest_expect(rest_call(rest, 200, "GET", "/v1/connections/m", NULL),
		"{'state':'awaiting_remote','manual':{'remote':null}}");
}

REST_TEST(test_api_hardware__a_request_names_a_device_as_answers_do)
{
	static const char *const devices[] = {"'fake0'", "1", "'1'", "{'id':1}",
		"{'id':1,'name':null}", "{'id':7,'name':'fake0'}"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(devices); i++)
		rest_expect(rest_call(rest, 201, "POST", "/v1/pds", "{'device':%s}", devices[i]),
			"{'device':{'id':1,'name':'fake0'}}");
	rest_expect(rest_call(rest, 503, "POST", "/v1/pds", "{'device':2}"),
		"{'code':'no_device','errors':[{'pointer':'/device'}]}");
}
