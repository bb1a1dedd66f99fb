/* SPDX-License-Identifier: Apache-2.0 */
/* A device that allows no further object, and a pool of queue pairs that gives its own for them. */
#include "daemon/core/devices.h"
#include "daemon/datagrams/endpoints.h"
#include "daemon/datagrams/peers.h"
#include "daemon/memory/shared.h"
#include "daemon/memory/srqs.h"
#include "daemon/memory/windows.h"
#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/fabric.h"
#include "tests/unit/svc.h"
#include "tests/unit/unit.h"

#include <string.h>

#define SIZE 12
#define PORT 7174

static struct vbd_qp_pools *pools(const struct svc *svc)
{
	return &svc->daemon->fabric->qp_pools;
}

/* A pair of connections, whose opens the pool has learned, and no room for anything beside it. */
static struct svc_pair set_scene(struct svc *svc)
{
	struct svc_pair pair;

	vbd_fabric_set_qp_pool(svc->daemon->fabric, SIZE);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	pools(svc)->last_open_ns = 0;
	vbd_fabric_turn_qp_pools(svc->daemon->fabric);
	SVC_UNTIL(svc, pools(svc)->queue_pairs == SIZE);
	return pair;
}

static void assert_gave(struct svc *svc, unsigned int queue_pairs)
{
	assert_int_equal(pools(svc)->queue_pairs, SIZE - queue_pairs);
	assert_int_equal(pools(svc)->failures, 0);
}

static void test_pool__gives_way_to_buffers_until_it_is_empty(void **state)
{
	const struct vbd_buffer_spec spec = {.size_bytes = 4096};
	struct svc *svc = *state;
	struct vbd_buffer *buffer = NULL;

	(void)set_scene(svc);
	fake_objects_full(true);
	for (unsigned int i = 1; i <= SIZE; i++) {
		(void)svc_buffer(svc, "", 4096, 0);
		assert_gave(svc, i);
	}
	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_FAILED);
	assert_int_equal(buffer->error.status, VBD_E_DEVICE_LIMIT);
}

static void test_pool__gives_way_to_buffers_that_are_made_together(void **state)
{
	const struct vbd_buffer_spec spec = {.size_bytes = 4096};
	struct vbd_buffer *buffers[SIZE];
	struct svc *svc = *state;

	(void)set_scene(svc);
	fake_objects_full(true);
	for (unsigned int i = 0; i < SIZE; i++)
		assert_int_equal(
			vbd_buffer_create(svc->daemon, &spec, &buffers[i], &svc->err), VBD_OK);
	for (unsigned int i = 0; i < SIZE; i++) {
		SVC_UNTIL(svc, buffers[i]->state != VBD_BUFFER_REGISTERING);
		assert_int_equal(buffers[i]->state, VBD_BUFFER_READY);
	}
	assert_gave(svc, SIZE);
}

static void test_pool__gives_way_to_windows(void **state)
{
	struct svc *svc = *state;
	struct svc_pair pair = set_scene(svc);
	struct vbd_buffer *buffer = svc_buffer(svc, "", 8192, VBD_ACCESS_MW_BIND);
	const struct vbd_window_spec spec = {
		.buffer = buffer,
		.connection = pair.passive,
		.range = {.type = 2, .offset = 4096, .length_bytes = 100},
		.timeout_ms = 60000,
	};
	struct vbd_window_record *record = NULL;

	/* There a window of a part has a memory region of its own. */
	buffer->mem.pd->device->attr.vendor_id = VBD_VENDOR_RXE;
	fake_objects_full(true);
	assert_int_equal(vbd_window_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_READY);
	assert_gave(svc, 2);
}

static void test_pool__gives_way_to_what_queue_pairs_share(void **state)
{
	struct svc *svc = *state;
	const struct vbd_cq_spec cq_spec = {.cqe = 16};
	struct vbd_shared *shared = NULL;

	(void)set_scene(svc);
	fake_objects_full(true);
	assert_int_equal(vbd_pd_request(svc->daemon, "", "", &shared, &svc->err), VBD_OK);
	assert_gave(svc, 1);
	assert_int_equal(vbd_cq_request(svc->daemon, &cq_spec, &shared, &svc->err), VBD_OK);
	assert_gave(svc, 2);
	assert_int_equal(svc->err.status, VBD_OK);
}

static void on_made(struct vbd_shared *srq, const struct vbd_error *err, void *arg)
{
	assert_int_equal(err->status, VBD_OK);
	*(struct vbd_shared **)arg = srq;
}

static void test_pool__gives_way_to_the_memory_and_the_queue_of_an_srq(void **state)
{
	const struct vbd_srq_spec spec = {.params = {.depth = 8, .recv_size_bytes = 64}};
	struct vbd_srq_creation *creation = NULL;
	struct vbd_shared *srq = NULL;
	struct svc *svc = *state;

	(void)set_scene(svc);
	fake_objects_full(true);
	assert_int_equal(
		vbd_srq_request(svc->daemon, &spec, on_made, &srq, &creation, &svc->err), VBD_OK);
	SVC_UNTIL(svc, srq);
	assert_gave(svc, 2);
}

static void test_pool__gives_way_to_the_memory_of_messages(void **state)
{
	static const uint8_t text[2000] = "too long for a work request";
	struct vbd_transfer_record *record = NULL;
	struct svc *svc = *state;
	struct svc_pair pair = set_scene(svc);

	fake_objects_full(true);
	assert_int_equal(vbd_transfer_send_message(
				 pair.active, text, sizeof(text), NULL, 60000, &record, &svc->err),
		VBD_OK);
	assert_gave(svc, 1);
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
}

static struct vbd_endpoint_record *open_endpoint(struct svc *svc)
{
	struct vbd_endpoint_spec spec = {
		.addr = "10.0.0.1", .port = PORT, .params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *record = NULL;

	/* More than the slab of the connections has left. */
	spec.params.qp.rq_depth = 64;
	spec.params.qp.recv_size_bytes = 65536;
	assert_int_equal(vbd_endpoint_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->endpoint->state != VBD_ENDPOINT_OPENING);
	assert_int_equal(record->endpoint->state, VBD_ENDPOINT_READY);
	return record;
}

static void test_pool__gives_way_to_an_endpoint_and_to_its_peers(void **state)
{
	struct svc *svc = *state;
	struct vbd_peer_spec spec = {
		.dst_addr = "10.0.0.1", .dst_port = PORT, .timeout_ms = 60000, .gid_index = -1};
	struct vbd_peer_record *record = NULL;

	(void)set_scene(svc);
	fake_objects_full(true);
	spec.endpoint = open_endpoint(svc);
	assert_gave(svc, 2);
	assert_int_equal(vbd_peer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->peer.state == VBD_PEER_READY);
	assert_gave(svc, 3);
}

/* The device refuses a connection one part after the other. */
static void test_pool__gives_way_to_each_part_of_a_connection(void **state)
{
	struct svc *svc = *state;
	struct vbd_listener_spec listener = svc_listener_spec();
	struct vbd_connection_spec spec;
	struct vbd_connection *connection;

	(void)set_scene(svc);
	/* Another completion queue, another slab, and queue pairs that the pool has none of. */
	listener.params.qp.sq_depth = 3000;
	spec = svc_spec_to(svc_listen(svc, &listener));
	spec.params.qp.rq_depth = 64;
	spec.params.qp.recv_size_bytes = 65536;
	spec.timeout_ms = 60000;
	fake_objects_full(true);
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(pools(svc)->hits, 0);
	assert_in_range(pools(svc)->queue_pairs, 1, SIZE - 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_pool__##name, svc_setup, svc_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gives_way_to_buffers_until_it_is_empty),
		TEST(gives_way_to_buffers_that_are_made_together),
		TEST(gives_way_to_windows),
		TEST(gives_way_to_what_queue_pairs_share),
		TEST(gives_way_to_the_memory_and_the_queue_of_an_srq),
		TEST(gives_way_to_the_memory_of_messages),
		TEST(gives_way_to_an_endpoint_and_to_its_peers),
		TEST(gives_way_to_each_part_of_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
