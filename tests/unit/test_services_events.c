/* SPDX-License-Identifier: Apache-2.0 */
/* The events of each kind of object, word for word: one line for each event. */
#include "daemon/core/eventlog.h"

#include "daemon/drain.h"
#include "daemon/memory/windows.h"
#include "daemon/work/benchmarks.h"
#include "daemon/work/probes.h"
#include "tests/unit/svc.h"

static const char *word(const struct vbd_event *event, enum vbd_event_word which)
{
	return event->words[which] ? event->words[which] : "-";
}

/* One line: type, severity, state before and after, code: detail. What a connection logs on its way
 * may come in another order. */
static void expect(struct svc *svc, enum vbd_object_kind kind, uint64_t id)
{
	const struct vbd_event_filter filter = {.kind = kind,
		.object_id = id,
		.min_severity =
			kind == VBD_KIND_CONNECTION ? VBD_SEVERITY_INFO : VBD_SEVERITY_DEBUG};
	const struct vbd_event *event;
	static char text[8192];
	size_t used = 0;

	text[0] = '\0';
	for (uint64_t at = 0; (event = vbd_eventlog_next(svc->daemon->eventlog, at, &filter));
		at = event->seq) {
		if (event->kind != kind)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s %s>%s %s: %s\n",
			vbd_event_type_name(event->type), vbd_severity_name(event->severity),
			word(event, VBD_EVENT_PREVIOUS_STATE), word(event, VBD_EVENT_STATE),
			word(event, VBD_EVENT_CODE), event->detail);
		assert_true(used < sizeof(text));
	}
	unit_golden(text);
}

/* The states that a connection went through, and why. */
static void expect_way(struct svc *svc, const struct vbd_connection *connection)
{
	const struct vbd_event_filter filter = {.by_type = true,
		.types[VBD_EVENT_CONNECTION_STATE_CHANGED] = true,
		.kind = VBD_KIND_CONNECTION,
		.object_id = connection->object.id};
	const struct vbd_event *event;
	char text[2048] = "";
	size_t used = 0;

	for (uint64_t at = 0; (event = vbd_eventlog_next(svc->daemon->eventlog, at, &filter));
		at = event->seq) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", event->detail);
		assert_true(used < sizeof(text));
	}
	unit_golden(text);
}

/* --- memory ---------------------------------------------------------------------------------- */

SVC_TEST(test_services_events__a_buffer)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 5000, VBD_ACCESS_MW_BIND);
	const struct vbd_buffer_spec spec = {.size_bytes = 4096};

	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, svc->daemon->pool_jobs == 0);
	expect(svc, VBD_KIND_BUFFER, 1);
	fake_fail_next("ibv_reg_mr", EAGAIN);
	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_FAILED);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	expect(svc, VBD_KIND_BUFFER, 2);
	(void)svc_buffer(svc, "", 4096, 0);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	expect(svc, VBD_KIND_BUFFER, 3);
	expect(svc, VBD_KIND_DEVICE, 1);
}

struct scene {
	struct svc_pair pair;
	struct vbd_buffer *here, *there;
};

static struct scene set_scene(struct svc *svc)
{
	return (struct scene){
		.pair = svc_pair(svc, svc_listen(svc, NULL)),
		.here = svc_buffer(svc, "here", 8192, 0),
		.there = svc_buffer(svc, "there", 8192,
			VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_MW_BIND),
	};
}

SVC_TEST(test_services_events__a_window)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = {.name = "mine",
		.buffer = scene.there,
		.connection = scene.pair.passive,
		.range = {.type = 2, .length_bytes = 100, .access = VBD_ACCESS_REMOTE_READ},
		.timeout_ms = 5000};
	struct vbd_window_record *record = NULL;

	assert_int_equal(vbd_window_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_READY);
	vbd_object_delete(&record->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->windows) == 0);
	expect(svc, VBD_KIND_WINDOW, 1);
	spec.name[0] = '\0';
	assert_int_equal(vbd_window_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_READY);
	svc_close(svc, scene.pair.active);
	SVC_UNTIL(svc, scene.pair.passive->object.ended && scene.there->users == 0);
	expect(svc, VBD_KIND_WINDOW, 2);
}

/* --- work ------------------------------------------------------------------------------------ */

static struct vbd_transfer_spec write_of(const struct scene *scene)
{
	return (struct vbd_transfer_spec){
		.qp = &scene->pair.active->conn->qp,
		.buffer = scene->here,
		.op = VBD_OP_WRITE,
		.length_bytes = 8000,
		.wr.remote_addr = (uintptr_t)scene->there->mem.addr,
		.wr.rkey = scene->there->mem.rkey,
		.chunk_bytes = 1000,
		.timeout_ms = 30000,
	};
}

static struct vbd_transfer_record *transfer(struct svc *svc, const struct vbd_transfer_spec *spec)
{
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(vbd_transfer_create(svc->daemon, spec, &record, &svc->err), VBD_OK);
	return record;
}

SVC_TEST(test_services_events__a_transfer)
{
	struct scene scene = set_scene(svc);
	struct vbd_transfer_spec spec = write_of(&scene);
	struct vbd_transfer_record *record = transfer(svc, &spec);

	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_TRANSFER, 1);
	fake_loopback(false);
	(void)transfer(svc, &spec);
	record = transfer(svc, &spec);
	vbd_object_cancel(&record->object);
	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_TRANSFER, 3);
	record = transfer(svc, &spec);
	SVC_UNTIL(svc, record->transfer.state == VBD_TRANSFER_RUNNING);
	vbd_timer_set(record->object.deadline, 0);
	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_TRANSFER, 4);
	vbd_object_delete(&record->object);
	svc_turn(svc);
	expect(svc, VBD_KIND_TRANSFER, 4);
}

SVC_TEST(test_services_events__a_transfer_that_the_peer_refuses)
{
	struct scene scene = set_scene(svc);
	struct vbd_transfer_spec spec = write_of(&scene);
	struct vbd_transfer_record *record;

	spec.wr.rkey += 1000;
	record = transfer(svc, &spec);
	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_TRANSFER, 1);
	SVC_UNTIL(svc, scene.pair.active->object.ended && scene.pair.passive->object.ended);
	svc_turn(svc);
	expect(svc, VBD_KIND_CONNECTION, scene.pair.active->object.id);
	expect(svc, VBD_KIND_CONNECTION, scene.pair.passive->object.id);
}

static struct vbd_probe_record *probe(struct svc *svc, const struct vbd_probe_spec *spec)
{
	struct vbd_probe_record *record = NULL;

	assert_int_equal(vbd_probe_create(svc->daemon, spec, &record, &svc->err), VBD_OK);
	return record;
}

SVC_TEST(test_services_events__a_probe)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_probe_spec spec = {
		.connection = pair.active, .kind = VBD_PROBE_ACK, .count = 3, .timeout_ms = 30000};
	struct vbd_probe_record *record = probe(svc, &spec);

	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_PROBE, 1);
	fake_loopback(false);
	record = probe(svc, &spec);
	vbd_object_cancel(&record->object);
	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_PROBE, 2);
	spec.timeout_ms = 1;
	spec.interval_ms = 1;
	record = probe(svc, &spec);
	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_PROBE, 3);
	spec.count = 0;
	spec.timeout_ms = 0;
	record = probe(svc, &spec);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, record->object.ended);
	expect(svc, VBD_KIND_PROBE, 4);
	expect(svc, VBD_KIND_CONNECTION, pair.active->object.id);
}

/* --- connections ----------------------------------------------------------------------------- */

SVC_TEST(test_services_events__a_connection)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_connection_spec to;
	struct vbd_listener *listener;
	struct vbd_connection *refused;
	struct svc_pair pair;
	uint64_t id;

	(void)snprintf(spec.name, sizeof(spec.name), "door");
	spec.port = 7171;
	listener = svc_listen(svc, &spec);
	to = svc_spec_to(listener);
	(void)snprintf(to.name, sizeof(to.name), "mine");
	pair.active = svc_connect(svc, &to);
	SVC_UNTIL(svc, pair.active->conn->state == VBD_CONN_ESTABLISHED);
	pair.passive = svc_newest_of(svc, listener);
	SVC_UNTIL(svc, pair.passive->conn->state == VBD_CONN_ESTABLISHED);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	svc_turn(svc);
	expect(svc, VBD_KIND_CONNECTION, pair.active->object.id);
	expect(svc, VBD_KIND_CONNECTION, pair.passive->object.id);
	expect_way(svc, pair.active);
	expect_way(svc, pair.passive);
	to = svc_spec_to(NULL);
	refused = svc_connect(svc, &to);
	SVC_UNTIL(svc, refused->object.ended);
	svc_turn(svc);
	expect_way(svc, refused);
	id = refused->object.id;
	vbd_object_delete(&refused->object);
	svc_turn(svc);
	expect(svc, VBD_KIND_CONNECTION, id);
	vbd_listener_delete(listener);
	svc_turn(svc);
	expect(svc, VBD_KIND_LISTENER, 1);
}

/* --- datagrams ------------------------------------------------------------------------------- */

SVC_TEST(test_services_events__an_endpoint_with_peers_and_groups)
{
	struct vbd_endpoint_spec spec = {.name = "here",
		.addr = "10.0.0.1",
		.port = 7174,
		.params = vbd_endpoint_params_default()};
	struct vbd_peer_spec peer_spec = {
		.dst_addr = "10.0.0.1", .dst_port = 7174, .timeout_ms = 60000, .gid_index = -1};
	struct vbd_group_spec group_spec = {.addr = "239.1.2.3", .timeout_ms = 60000};
	struct vbd_endpoint_record *endpoint = NULL;
	struct vbd_peer_record *peer = NULL;
	struct vbd_group_record *group = NULL;

	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &endpoint, &svc->err), VBD_OK);
	SVC_UNTIL(svc, endpoint->endpoint->state == VBD_ENDPOINT_READY);
	peer_spec.endpoint = group_spec.endpoint = endpoint;
	assert_int_equal(vbd_peer_create(svc->daemon, &peer_spec, &peer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_READY);
	peer_spec.dst_port = 1;
	assert_int_equal(vbd_peer_create(svc->daemon, &peer_spec, &peer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, peer->peer.state == VBD_PEER_FAILED);
	assert_int_equal(vbd_group_create(svc->daemon, &group_spec, &group, &svc->err), VBD_OK);
	SVC_UNTIL(svc, group->group.state == VBD_GROUP_IS_JOINED);
	vbd_object_delete(&group->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->multicast_memberships) == 0);
	fake_fail_next("rdma_join_multicast", EIO);
	group_spec.mode = VBD_GROUP_SEND_ONLY;
	assert_int_equal(vbd_group_create(svc->daemon, &group_spec, &group, &svc->err), VBD_OK);
	SVC_UNTIL(svc, group->group.state == VBD_GROUP_IS_FAILED);
	vbd_object_delete(&endpoint->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0);
	expect(svc, VBD_KIND_UD_ENDPOINT, 1);
	expect(svc, VBD_KIND_UD_PEER, 1);
	expect(svc, VBD_KIND_UD_PEER, 2);
	expect(svc, VBD_KIND_MULTICAST_MEMBERSHIP, 1);
	expect(svc, VBD_KIND_MULTICAST_MEMBERSHIP, 2);
}

SVC_TEST(test_services_events__an_endpoint_that_fails)
{
	struct vbd_endpoint_spec spec = {.params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *endpoint = NULL;

	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &endpoint, &svc->err), VBD_OK);
	SVC_UNTIL(svc, endpoint->endpoint->state == VBD_ENDPOINT_READY);
	fake_qp_async(endpoint->endpoint->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	SVC_UNTIL(svc, endpoint->object.ended);
	expect(svc, VBD_KIND_UD_ENDPOINT, 1);
}

/* --- the daemon ------------------------------------------------------------------------------ */

SVC_TEST(test_services_events__the_daemon)
{
	fake_device_async(svc->device, IBV_EVENT_PORT_ERR, 1);
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_ASYNC_EVENT) == 1);
	(void)svc_pair(svc, svc_listen(svc, NULL));
	vbd_drain_begin(svc->daemon, 0);
	assert_int_equal(vbd_drain_undo(svc->daemon, &svc->err), VBD_OK);
	expect(svc, VBD_KIND_DEVICE, 1);
	expect(svc, VBD_KIND_NONE, 0);
}
