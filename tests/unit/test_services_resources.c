/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/shared.h"

#include "daemon/core/quota.h"
#include "tests/unit/svc.h"

#include <sched.h>

static struct vbd_pd *make_pd(struct svc *svc, const char *name)
{
	struct vbd_shared *pd = NULL;

	assert_int_equal(
		vbd_pd_request(svc->daemon, &svc->origin, name, "", &pd, &svc->err), VBD_OK);
	return pd->pd;
}

static struct vbd_cq *make_cq(struct svc *svc, const char *name, uint32_t cqe)
{
	struct vbd_cq_spec spec = {.origin = svc->origin, .cqe = cqe};
	struct vbd_shared *cq = NULL;

	(void)snprintf(spec.name, sizeof(spec.name), "%s", name);
	assert_int_equal(vbd_cq_request(svc->daemon, &spec, &cq, &svc->err), VBD_OK);
	return cq->cq;
}

/* The creation of an SRQ fills it in. */
struct outcome {
	struct vbd_shared *srq;
	bool ended;
	struct vbd_error error;
};

static void on_made(struct vbd_shared *srq, const struct vbd_error *err, void *arg)
{
	struct outcome *outcome = arg;

	assert_false(outcome->ended);
	outcome->srq = srq;
	outcome->ended = true;
	outcome->error = *err;
}

static struct vbd_srq_creation *begin_srq(
	struct svc *svc, const struct vbd_srq_spec *spec, struct outcome *outcome)
{
	struct vbd_srq_creation *creation = NULL;

	*outcome = (struct outcome){0};
	assert_int_equal(
		vbd_srq_request(svc->daemon, spec, on_made, outcome, &creation, &svc->err), VBD_OK);
	assert_false(outcome->ended);
	return creation;
}

static enum vbd_status request_srq(struct svc *svc, const struct vbd_srq_spec *spec,
	struct vbd_shared **ret_srq, struct vbd_error *err)
{
	struct vbd_srq_creation *creation;
	struct outcome outcome = {0};
	enum vbd_status status =
		vbd_srq_request(svc->daemon, spec, on_made, &outcome, &creation, err);

	if (status)
		return status;
	SVC_UNTIL(svc, outcome.ended);
	*ret_srq = outcome.srq;
	if (err)
		*err = outcome.error;
	return outcome.error.status;
}

/* Begin a creation whose registration lasts until fake_unblock(). */
static struct vbd_srq_creation *begin_slow_srq(
	struct svc *svc, const struct vbd_srq_spec *spec, struct outcome *outcome)
{
	struct vbd_srq_creation *creation;

	fake_block("ibv_reg_mr");
	creation = begin_srq(svc, spec, outcome);
	UNIT_UNTIL (fake_blocked() + fake_on_control())
		(void)sched_yield();
	assert_int_equal(fake_on_control(), 0);
	return creation;
}

static struct vbd_srq *make_srq(struct svc *svc, uint32_t depth, uint32_t limit)
{
	const struct vbd_srq_spec spec = {
		.name = "shared",
		.params = {.depth = depth, .recv_size_bytes = 64, .limit = limit},
	};
	struct vbd_shared *srq = NULL;

	assert_int_equal(request_srq(svc, &spec, &srq, &svc->err), VBD_OK);
	return srq->srq;
}

static struct vbd_shared *record_of(struct vbd_registry *registry, uint64_t id)
{
	struct vbd_object *object = vbd_registry_find_id(registry, id);

	assert_non_null(object);
	return VBD_CONTAINER_OF(object, struct vbd_shared, object);
}

static enum vbd_status delete_shared(
	struct vbd_registry *registry, uint64_t id, struct vbd_error *err)
{
	struct vbd_users users;

	return vbd_shared_delete(record_of(registry, id), NULL, &users, err);
}

/* A listener whose connections use @srq. */
static struct vbd_listener *listen_shared(
	struct svc *svc, const struct vbd_srq *srq, enum vbd_service service)
{
	struct vbd_listener_spec spec = svc_listener_spec();

	spec.params.qp.srq_id = srq->id;
	spec.params.qp.service = service;
	return svc_listen(svc, &spec);
}

static void send_text(struct svc *svc, struct vbd_connection *connection, const char *text)
{
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(svc_send_message(connection, (const uint8_t *)text, (uint32_t)strlen(text),
				 NULL, 10000, &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
}

/* Names. */

SVC_TEST(test_resources__each_is_found_by_name_and_id)
{
	const struct vbd_pd *pd = make_pd(svc, "mine");
	const struct vbd_cq *cq = make_cq(svc, "mine", 100);
	const struct vbd_srq *srq = make_srq(svc, 8, 0);
	struct vbd_error err = {0};
	struct vbd_shared *other;
	char id[24];

	assert_ptr_equal(svc_find_shared(svc->daemon->pds, "mine", &svc->err), pd);
	assert_ptr_equal(svc_find_shared(svc->daemon->cqs, "mine", &svc->err), cq);
	assert_ptr_equal(svc_find_shared(svc->daemon->srqs, "shared", &svc->err), srq);
	(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)pd->id);
	assert_ptr_equal(svc_find_shared(svc->daemon->pds, id, &svc->err), pd);
	assert_int_equal(vbd_pd_request(svc->daemon, &svc->origin, "mine", "", &other, &err),
		VBD_E_NAME_TAKEN);
	assert_string_equal(err.pointer, "/name");
	assert_null(svc_find_shared(svc->daemon->srqs, "nobody", &err));
	assert_int_equal(vbd_pd_request(svc->daemon, &svc->origin, "x", "fake9", &other, NULL),
		VBD_E_NO_DEVICE);
}

SVC_TEST(test_resources__one_that_the_device_refuses_says_why)
{
	const struct vbd_cq_spec cq_spec = {.cqe = 16};
	const struct vbd_srq_spec srq_spec = {.params = {.depth = 4, .recv_size_bytes = 64}};
	struct vbd_srq_spec in_cq = {.params = {.depth = 64, .recv_size_bytes = 64}};
	struct vbd_shared *shared = NULL;
	struct vbd_error err = {0};

	fake_fail_next("ibv_alloc_pd", ENOMEM);
	assert_int_not_equal(
		vbd_pd_request(svc->daemon, &svc->origin, "", "", &shared, &err), VBD_OK);
	assert_string_equal(err.call, "ibv_alloc_pd");
	err = (struct vbd_error){0};
	fake_fail_next("ibv_create_cq", ENOMEM);
	assert_int_not_equal(vbd_cq_request(svc->daemon, &cq_spec, &shared, &err), VBD_OK);
	assert_string_equal(err.call, "ibv_create_cq");
	err = (struct vbd_error){0};
	fake_fail_next("ibv_create_srq", ENOMEM);
	assert_int_not_equal(request_srq(svc, &srq_spec, &shared, &err), VBD_OK);
	assert_string_equal(err.call, "ibv_create_srq");
	assert_null(shared);
	err = (struct vbd_error){0};
	in_cq.cq = make_cq(svc, "small", 16);
	assert_int_not_equal(request_srq(svc, &in_cq, &shared, &err), VBD_OK);
	assert_null(shared);
	assert_int_equal(in_cq.cq->reserved_cqe, 0);
	assert_int_equal(svc->daemon->qp_receives_bytes, 0);
	assert_int_equal(request_srq(svc, &srq_spec, &shared, &svc->err), VBD_OK);
	assert_non_null(shared);
}

SVC_TEST(test_resources__what_verbsd_made_goes_by_itself)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_cq *cq;

	(void)svc_pair(svc, listener);
	cq = svc_find_shared(svc->daemon->cqs, "1", &svc->err);
	assert_non_null(cq);
	assert_false(cq->asked_for);
	assert_int_equal(delete_shared(svc->daemon->cqs, cq->id, NULL), VBD_E_WRONG_STATE);
	assert_int_equal(delete_shared(svc->daemon->pds, 1, NULL), VBD_E_WRONG_STATE);
}

SVC_TEST(test_resources__what_verbsd_made_only_gets_deeper)
{
	struct vbd_error err = {0};
	struct vbd_cq *cq;
	uint32_t depth;

	(void)svc_pair(svc, svc_listen(svc, NULL));
	cq = svc_find_shared(svc->daemon->cqs, "1", &svc->err);
	assert_non_null(cq);
	depth = cq->capacity_cqe - 1;
	assert_int_equal(vbd_cq_change(cq, &depth, NULL, &err), VBD_E_WRONG_STATE);
	assert_string_equal(err.pointer, "/cqe");
	depth = cq->capacity_cqe + 1;
	assert_int_equal(vbd_cq_change(cq, &depth, NULL, &svc->err), VBD_OK);
	assert_true(cq->capacity_cqe >= depth);
}

/* Completion queues. */

SVC_TEST(test_resources__a_queue_is_never_smaller_than_what_is_reserved)
{
	struct vbd_cq *cq = make_cq(svc, "small", 20);
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_error err = {0};
	struct vbd_listener *listener;
	struct svc_pair pair;
	uint32_t need, depth;

	spec.params.qp.cq_id = cq->id;
	need = spec.params.qp.sq_depth + spec.params.qp.rq_depth;
	depth = need - 1;
	listener = svc_listen(svc, &spec);
	depth = 2 * need;
	assert_int_equal(vbd_cq_change(cq, &depth, NULL, &svc->err), VBD_OK);
	pair = svc_pair(svc, listener);
	assert_int_equal(cq->reserved_cqe, need);
	assert_int_equal(pair.passive->conn->qp.cq_id, cq->id);
	depth = need - 1;
	assert_int_equal(vbd_cq_change(cq, &depth, NULL, &err), VBD_E_IN_USE);
	assert_int_equal(cq->capacity_cqe, 2 * need);
	depth = need;
	send_text(svc, pair.active, "before");
	assert_int_equal(vbd_cq_change(cq, &depth, NULL, &svc->err), VBD_OK);
	send_text(svc, pair.active, "behind");
	SVC_UNTIL(svc, pair.passive->inbox.count == 2);
	assert_int_equal(cq->capacity_cqe, need);
}

SVC_TEST(test_resources__a_full_queue_takes_nobody_more)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_cq *cq = make_cq(svc, "full", spec.params.qp.sq_depth + spec.params.qp.rq_depth);
	struct vbd_listener *listener;
	struct vbd_connection *active;
	struct vbd_connection_spec to;

	spec.params.qp.cq_id = cq->id;
	listener = svc_listen(svc, &spec);
	(void)svc_pair(svc, listener);
	to = svc_spec_to(listener);
	active = svc_connect(svc, &to);
	SVC_UNTIL(svc, active->object.ended);
	assert_int_equal(cq->reserved_cqe, cq->capacity_cqe);
	assert_int_equal(svc_newest_of(svc, listener)->conn->qp.first_error.error.status,
		VBD_E_LIMIT_REACHED);
}

SVC_TEST(test_resources__moderation_is_the_devices)
{
	const struct vbd_cq_moderation how = {.count = 16, .period_us = 50};
	struct vbd_cq_spec spec = {.cqe = 64, .moderation = how};
	const struct vbd_cq_moderation off = {0};
	uint16_t count, period_us;
	struct vbd_shared *cq;

	assert_int_equal(vbd_cq_request(svc->daemon, &spec, &cq, &svc->err), VBD_OK);
	fake_cq_moderation(cq->cq->cq, &count, &period_us);
	assert_int_equal(count, 16);
	assert_int_equal(period_us, 50);
	assert_int_equal(vbd_cq_change(cq->cq, NULL, &off, &svc->err), VBD_OK);
	fake_cq_moderation(cq->cq->cq, &count, &period_us);
	assert_int_equal(count + period_us, 0);
	fake_fail_next("ibv_modify_cq", EINVAL);
	assert_int_equal(vbd_cq_request(svc->daemon, &spec, &cq, NULL), VBD_E_VERBS_ERROR);
}

SVC_TEST(test_resources__a_device_without_moderation_refuses_it_before_anything_is_made)
{
	struct vbd_cq_spec spec = {.cqe = 64, .moderation = {.count = 2}};
	const struct vbd_cq_moderation off = {0};
	struct vbd_error err = {0};
	unsigned int made;
	struct vbd_shared *shared;
	struct vbd_cq *cq;

	svc->device->cq_mod_caps.max_cq_count = 0;
	svc->device->resizes_cqs = false;
	svc_restart(svc);
	made = fake_count("ibv_create_cq");
	assert_int_equal(vbd_cq_request(svc->daemon, &spec, &shared, &err), VBD_E_NOT_SUPPORTED);
	assert_string_equal(err.device, "fake0");
	assert_string_equal(err.capability, "cq_moderation");
	assert_int_equal(fake_count("ibv_create_cq"), made);
	cq = make_cq(svc, "plain", 64);
	assert_int_equal(vbd_cq_change(cq, NULL, &spec.moderation, NULL), VBD_E_NOT_SUPPORTED);
	assert_int_equal(vbd_cq_change(cq, NULL, &off, &svc->err), VBD_OK);
	err = (struct vbd_error){0};
	assert_int_equal(vbd_cq_change(cq, &(uint32_t){128}, NULL, &err), VBD_E_NOT_SUPPORTED);
	assert_string_equal(err.capability, "cq_resize");
}

SVC_TEST(test_resources__numbers_beyond_the_device_are_refused)
{
	struct vbd_cq_spec cq_spec = {.cqe = 40001};
	struct vbd_srq_spec srq_spec = {.params = {.depth = 20001, .recv_size_bytes = 1}};
	const struct vbd_cq_moderation how = {.count = 101};
	struct vbd_shared *shared;
	struct vbd_cq *cq;

	svc->device->cq_mod_caps.max_cq_count = 100;
	svc->device->cq_mod_caps.max_cq_period = 10;
	svc_restart(svc);
	assert_int_equal(vbd_cq_request(svc->daemon, &cq_spec, &shared, NULL), VBD_E_OUT_OF_RANGE);
	assert_int_equal(request_srq(svc, &srq_spec, &shared, NULL), VBD_E_OUT_OF_RANGE);
	srq_spec.params = (struct vbd_srq_params){.depth = 4, .recv_size_bytes = 8, .limit = 5};
	assert_int_equal(request_srq(svc, &srq_spec, &shared, NULL), VBD_E_OUT_OF_RANGE);
	cq = make_cq(svc, "c", 64);
	assert_int_equal(vbd_cq_change(cq, NULL, &how, NULL), VBD_E_OUT_OF_RANGE);
	assert_int_equal(vbd_cq_change(cq, NULL,
				 &(struct vbd_cq_moderation){.count = 1, .period_us = 11}, NULL),
		VBD_E_OUT_OF_RANGE);
}

SVC_TEST(test_resources__there_are_as_many_as_the_limits_say)
{
	const struct vbd_srq_spec srq_spec = {.params = {.depth = 4, .recv_size_bytes = 8}};
	struct vbd_error err = {0};
	struct vbd_shared *shared;

	svc->config.limits.objects = 2; /* the device's own PD counts as one */
	svc_restart(svc);
	(void)make_pd(svc, "one");
	assert_int_equal(vbd_pd_request(svc->daemon, &svc->origin, "two", "", &shared, &err),
		VBD_E_LIMIT_REACHED);
	assert_int_equal(err.limit, 2);
	assert_string_equal(err.limit_name, "limits.objects");
	assert_int_equal(request_srq(svc, &srq_spec, &shared, NULL), VBD_OK);
	assert_int_equal(request_srq(svc, &srq_spec, &shared, NULL), VBD_OK);
	assert_int_equal(request_srq(svc, &srq_spec, &shared, NULL), VBD_E_LIMIT_REACHED);
}

SVC_TEST(test_resources__shared_receives_leave_less_for_connections)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;
	struct vbd_error err = {0};

	svc->config.limits.receives_bytes = 1024;
	svc_restart(svc);
	spec.params.qp.rq_depth = 8;
	spec.params.qp.recv_size_bytes = 128;
	(void)make_srq(svc, 4, 0);
	assert_int_equal(vbd_receives_bytes(svc->daemon), 4 * 64);
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_LIMIT_REACHED);
	assert_int_equal(err.limit, 1024);
}

SVC_TEST(test_resources__shared_receives_leave_less_for_endpoints)
{
	struct vbd_endpoint_spec spec = {.params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *record;
	struct vbd_error err = {0};

	spec.params.qp.rq_depth = 4;
	spec.params.qp.recv_size_bytes = 216; /* and 40 bytes of GRH */
	svc->config.limits.receives_bytes = 4096;
	svc_restart(svc);
	(void)make_srq(svc, 49, 0);
	assert_int_equal(
		vbd_endpoint_create(svc->daemon, &spec, &record, &err), VBD_E_LIMIT_REACHED);
	assert_int_equal(err.limit, 4096);
	assert_string_equal(err.pointer, "/qp");
	assert_string_equal(err.text,
		"all receives together can have 4096 bytes; 3136 are in use, and 1024 are needed");
}

/* Protection domains. */

SVC_TEST(test_resources__two_domains_do_not_meet)
{
	const struct vbd_pd *pd = make_pd(svc, "apart");
	struct vbd_buffer_spec buffer_spec = {.size_bytes = 64, .pd_id = pd->id};
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_transfer_spec transfer = {.qp = &pair.active->conn->qp, .timeout_ms = 1000};
	struct vbd_conn_params params = vbd_conn_params_default();
	struct vbd_transfer_record *record;
	struct vbd_error err = {0};
	struct vbd_buffer *buffer;

	assert_int_equal(vbd_buffer_create(svc->daemon, &buffer_spec, &buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_READY);
	assert_int_equal(buffer->pd_id, pd->id);
	transfer.op = VBD_OP_SEND;
	transfer.buffer = buffer;
	transfer.length_bytes = 8;
	assert_int_equal(
		vbd_transfer_create(svc->daemon, &transfer, &record, &err), VBD_E_PD_MISMATCH);
	assert_non_null(strstr(err.text, "(apart)"));
	assert_non_null(strstr(err.text, "the default pd of fake0"));
	params.qp.srq_id = make_srq(svc, 4, 0)->id;
	params.qp.pd_id = pd->id;
	assert_int_equal(vbd_shared_check(svc->daemon, &params, NULL), VBD_E_PD_MISMATCH);
}

SVC_TEST(test_resources__two_devices_do_not_meet)
{
	const struct vbd_buffer_spec of_home = {.size_bytes = 64, .device_name = "fake0"};
	struct vbd_conn_params params = vbd_conn_params_default();
	const struct vbd_cq *cq = make_cq(svc, "home", 64);
	struct vbd_buffer_spec buffer_spec = of_home;
	struct vbd_srq_spec srq_spec = {.params = {.depth = 4, .recv_size_bytes = 64}};
	struct vbd_srq_creation *creation = NULL;
	struct vbd_buffer *buffer = NULL;
	struct vbd_shared *away = NULL;
	struct outcome outcome = {0};
	struct vbd_error err = {0};

	(void)fake_device_add("fake1");
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(
		vbd_pd_request(svc->daemon, &svc->origin, "away", "fake1", &away, &svc->err),
		VBD_OK);
	assert_string_equal(away->pd->device->name, "fake1");

	buffer_spec.pd_id = away->pd->id;
	assert_int_equal(
		vbd_buffer_create(svc->daemon, &buffer_spec, &buffer, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/device");
	(void)snprintf(buffer_spec.device_name, sizeof(buffer_spec.device_name), "fake1");
	assert_int_equal(vbd_buffer_create(svc->daemon, &buffer_spec, &buffer, &svc->err), VBD_OK);
	assert_string_equal(buffer->device.name, "fake1");
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_READY);

	params.qp.pd_id = away->pd->id;
	params.qp.cq_id = cq->id;
	memset(&err, 0, sizeof(err));
	assert_int_equal(vbd_shared_check(svc->daemon, &params, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/qp/cq");

	srq_spec.pd = away->pd;
	(void)snprintf(srq_spec.device_name, sizeof(srq_spec.device_name), "fake0");
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		vbd_srq_request(svc->daemon, &srq_spec, on_made, &outcome, &creation, &err),
		VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/device");
	srq_spec.device_name[4] = '1';
	assert_int_equal(request_srq(svc, &srq_spec, &away, &svc->err), VBD_OK);
	assert_string_equal(away->srq->pd->device->name, "fake1");
}

SVC_TEST(test_resources__what_uses_a_domain_is_listed)
{
	const struct vbd_pd *pd = make_pd(svc, "used");
	const struct vbd_buffer_spec buffer_spec = {.size_bytes = 64, .pd_id = pd->id};
	struct vbd_endpoint_spec endpoint_spec = {.params = vbd_endpoint_params_default()};
	struct vbd_shared *shared = record_of(svc->daemon->pds, pd->id);
	struct vbd_endpoint_record *endpoint = NULL;
	struct vbd_buffer *buffer = NULL;
	struct vbd_error err = {0};
	struct vbd_users users;

	assert_int_equal(vbd_buffer_create(svc->daemon, &buffer_spec, &buffer, &svc->err), VBD_OK);
	vbd_shared_users_of(shared, NULL, &users);
	assert_int_equal(users.total, 1);
	assert_string_equal(users.paths[0], "/v1/buffers/1");
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_READY);
	(void)svc_buffer(svc, "elsewhere", 64, 0);
	endpoint_spec.params.qp.pd_id = pd->id;
	assert_int_equal(
		vbd_endpoint_create(svc->daemon, &endpoint_spec, &endpoint, &svc->err), VBD_OK);
	vbd_shared_users_of(shared, NULL, &users);
	assert_int_equal(users.total, 2);
	assert_string_equal(users.paths[0], "/v1/ud_endpoints/1");
	assert_string_equal(users.paths[1], "/v1/buffers/1");
	assert_int_equal(vbd_shared_delete(shared, NULL, &users, &err), VBD_E_IN_USE);
	vbd_object_delete(&endpoint->object);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc,
		vbd_registry_count(svc->daemon->ud_endpoints) == 0 && svc->daemon->pool_jobs == 0);
	vbd_shared_users_of(shared, NULL, &users);
	assert_int_equal(users.total, 0);
	assert_int_equal(vbd_shared_delete(shared, NULL, &users, &svc->err), VBD_OK);
}

SVC_TEST(test_resources__what_is_used_is_not_deleted)
{
	struct vbd_pd *pd = make_pd(svc, "used");
	struct vbd_cq *cq = make_cq(svc, "used", 200);
	const struct vbd_srq_spec spec = {
		.pd = pd, .cq = cq, .params = {.depth = 8, .recv_size_bytes = 64}};
	struct vbd_users users;
	struct vbd_listener *listener;
	struct vbd_shared *srq;
	struct svc_pair pair;

	assert_int_equal(request_srq(svc, &spec, &srq, &svc->err), VBD_OK);
	assert_int_equal(delete_shared(svc->daemon->pds, pd->id, NULL), VBD_E_IN_USE);
	assert_int_equal(delete_shared(svc->daemon->cqs, cq->id, NULL), VBD_E_IN_USE);
	listener = listen_shared(svc, srq->srq, VBD_SERVICE_INBOX);
	pair = svc_pair(svc, listener);
	assert_int_equal(delete_shared(svc->daemon->srqs, srq->object.id, NULL), VBD_E_IN_USE);
	vbd_shared_users_of(srq, NULL, &users);
	assert_int_equal(users.total, 2);
	assert_non_null(strstr(users.paths[0], "/v1/listeners/"));
	assert_non_null(strstr(users.paths[1], "/v1/connections/"));
	vbd_listener_delete(listener);
	assert_int_equal(delete_shared(svc->daemon->srqs, srq->object.id, NULL), VBD_E_IN_USE);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_int_equal(delete_shared(svc->daemon->srqs, srq->object.id, &svc->err), VBD_OK);
	/* The worker may still use the SRQ, so its PD and CQ are freed with it. */
	assert_int_equal(delete_shared(svc->daemon->pds, pd->id, &svc->err), VBD_OK);
	assert_int_equal(delete_shared(svc->daemon->cqs, cq->id, &svc->err), VBD_OK);
	assert_null(svc_find_shared(svc->daemon->pds, "used", NULL));
	assert_null(svc_find_shared(svc->daemon->cqs, "used", NULL));
	SVC_UNTIL(svc, fake_live().srqs == 0 && fake_live().pds == 1);
}

/* Shared receive queues. */

#define SHARERS 3

SVC_TEST(test_resources__each_gets_its_own_messages_in_order)
{
	struct vbd_srq *srq = make_srq(svc, 8, 5);
	struct vbd_listener *listener = listen_shared(svc, srq, VBD_SERVICE_INBOX);
	struct svc_pair pairs[SHARERS];
	char text[16];

	for (unsigned int i = 0; i < SHARERS; i++)
		pairs[i] = svc_pair(svc, listener);
	for (unsigned int n = 1; n <= 50; n++) {
		for (unsigned int i = 0; i < SHARERS; i++) {
			const struct vbd_message *message;

			(void)snprintf(text, sizeof(text), "%u to %u", n, i);
			send_text(svc, pairs[i].active, text);
			SVC_UNTIL(svc, pairs[i].passive->inbox.last_seq == n);
			message = vbd_inbox_find(&pairs[i].passive->inbox, n);
			assert_memory_equal(vbd_message_data(message), text, strlen(text));
			assert_int_equal(message->received.length_bytes, strlen(text));
			assert_int_equal(
				vbd_inbox_delete(&pairs[i].passive->inbox, n, &svc->err), VBD_OK);
		}
	}
	assert_int_equal(vbd_counter_get(&srq->messages), 50 * SHARERS);
	assert_int_not_equal(vbd_counter_get(&srq->limit_events), 0);
	assert_int_not_equal(vbd_counter_get(&srq->refills), 0);
}

static uint32_t reserved_cqe(const struct svc *svc)
{
	uint32_t sum = 0;

	vbd_list_for_each (link, &svc->daemon->fabric->cqs)
		sum += VBD_CONTAINER_OF(link, struct vbd_cq, link)->reserved_cqe;
	return sum;
}

SVC_TEST(test_resources__users_that_have_no_room_in_the_queue_get_another)
{
	struct vbd_listener *listener;
	struct svc_pair pairs[8];
	struct vbd_srq *srq;
	unsigned int elsewhere = 0;

	svc->config.default_cqe = 32;
	svc_restart(svc);
	srq = make_srq(svc, 8, 0);
	listener = listen_shared(svc, srq, VBD_SERVICE_INBOX);
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(pairs); i++)
		pairs[i] = svc_pair(svc, listener);
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(pairs); i++) {
		const struct vbd_cq *cq = pairs[i].passive->conn->qp.channel->cq;

		elsewhere += cq != srq->cq;
		assert_ptr_equal(cq->worker, srq->worker);
		assert_true(cq->reserved_cqe <= cq->capacity_cqe);
		send_text(svc, pairs[i].active, "hello");
		SVC_UNTIL(svc, pairs[i].passive->inbox.last_seq == 1);
	}
	assert_true(elsewhere > 0);
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(pairs); i++)
		svc_close(svc, pairs[i].active);
	/* Only the receives of the SRQ are left, once. */
	SVC_UNTIL(svc, reserved_cqe(svc) == 8);
	assert_true(vbd_list_empty(&srq->more_cqs));
	SVC_UNTIL(svc, vbd_counter_get(&srq->posted) == 8);
}

SVC_TEST(test_resources__no_room_for_another_queue_fails_the_user_only)
{
	struct vbd_listener *listener;
	struct vbd_connection_spec to;
	struct vbd_connection *active;
	struct svc_pair first;

	svc->config.default_cqe = 16;
	svc_restart(svc);
	listener = listen_shared(svc, make_srq(svc, 8, 0), VBD_SERVICE_INBOX);
	first = svc_pair(svc, listener);
	to = svc_spec_to(listener);
	to.params.qp.sq_depth = 1; /* has room in a queue that is there */
	to.params.qp.rq_depth = 1;
	fake_fail_next("ibv_create_cq", ENOMEM);
	active = svc_connect(svc, &to);
	SVC_UNTIL(svc, active->object.ended);
	send_text(svc, first.active, "hello");
	SVC_UNTIL(svc, first.passive->inbox.last_seq == 1);
	(void)svc_pair(svc, listener);
}

SVC_TEST(test_resources__who_reads_slowly_holds_all_back_and_loses_nothing)
{
	struct vbd_srq *srq = make_srq(svc, 4, 1);
	struct vbd_listener *listener = listen_shared(svc, srq, VBD_SERVICE_INBOX);
	struct svc_pair slow = svc_pair(svc, listener);
	struct svc_pair other = svc_pair(svc, listener);
	struct vbd_transfer_record *record;

	for (int i = 0; i < 4; i++)
		send_text(svc, slow.active, "full");
	assert_int_equal(svc_send_message(other.active, (const uint8_t *)"more", 4, NULL, 10000,
				 &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, record->transfer.state == VBD_TRANSFER_RUNNING);
	SVC_UNTIL(svc, slow.passive->inbox.count == 4);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_RUNNING);
	/* The end of the connection returns the receives; their messages can still be read. */
	svc_close(svc, slow.active);
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	SVC_UNTIL(svc, slow.passive->object.ended);
	assert_int_equal(slow.passive->inbox.count, 4);
	assert_memory_equal(vbd_message_data(vbd_inbox_find(&slow.passive->inbox, 4)), "full", 4);
	SVC_UNTIL(svc, other.passive->inbox.last_seq == 1);
}

SVC_TEST(test_resources__echoes_give_their_receives_back)
{
	struct vbd_srq *srq = make_srq(svc, 2, 0);
	struct vbd_listener *listener = listen_shared(svc, srq, VBD_SERVICE_ECHO);

	for (unsigned int i = 0; i < SHARERS; i++) {
		struct svc_pair pair = svc_pair(svc, listener);

		for (unsigned int n = 1; n <= 4; n++) {
			send_text(svc, pair.active, "again");
			SVC_UNTIL(svc, pair.active->inbox.last_seq == n);
			assert_int_equal(
				vbd_inbox_delete(&pair.active->inbox, n, &svc->err), VBD_OK);
		}
		svc_close(svc, pair.active);
		SVC_UNTIL(svc, pair.passive->object.ended);
	}
	SVC_UNTIL(svc, vbd_counter_get(&srq->posted) == 2);
}

SVC_TEST(test_resources__a_new_limit_is_armed)
{
	struct vbd_srq *srq = make_srq(svc, 8, 0);

	assert_int_equal(fake_srq_limit(srq->srq), 0);
	vbd_srq_set_limit(srq, 3);
	vbd_srq_set_limit(srq, 6);
	SVC_UNTIL(svc, fake_srq_limit(srq->srq) == 6 && !srq->limit_sent);
	assert_int_equal(fake_srq_recvs(srq->srq), 8);
}

SVC_TEST(test_resources__what_does_not_fit_together_is_refused)
{
	const struct vbd_srq *srq = make_srq(svc, 4, 0);
	const struct vbd_cq *cq = make_cq(svc, "other", 64);
	struct vbd_conn_params params = vbd_conn_params_default();

	params.qp.srq_id = srq->id;
	assert_int_equal(vbd_shared_check(svc->daemon, &params, &svc->err), VBD_OK);
	params.qp.cq_id = cq->id;
	assert_int_equal(vbd_shared_check(svc->daemon, &params, NULL), VBD_E_BAD_VALUE);
	params.qp.cq_id = srq->cq->id;
	assert_int_equal(vbd_shared_check(svc->daemon, &params, &svc->err), VBD_OK);
	params.qp.service = VBD_SERVICE_NONE;
	assert_int_equal(vbd_shared_check(svc->daemon, &params, NULL), VBD_E_BAD_VALUE);
}

SVC_TEST(test_resources__a_failing_call_leaves_nothing)
{
	static const char *const calls[] = {"ibv_reg_mr", "ibv_create_srq", "ibv_post_srq_recv"};
	const struct vbd_srq_spec spec = {.params = {.depth = 4, .recv_size_bytes = 64}};
	struct vbd_shared *srq;
	struct vbd_cq *cq;

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		struct vbd_error err = {0};

		fake_fail_next(calls[i], EAGAIN);
		assert_int_not_equal(request_srq(svc, &spec, &srq, &err), VBD_OK);
		assert_string_equal(err.call, calls[i]);
		assert_int_equal(fake_live().srqs + fake_live().mrs, 0);
	}
	cq = svc_find_shared(svc->daemon->cqs, "1", &svc->err);
	assert_int_equal(cq->reserved_cqe, 0);
	svc->device->attr.max_srq = 0;
	svc_restart(svc);
	assert_int_equal(request_srq(svc, &spec, &srq, NULL), VBD_E_NOT_SUPPORTED);
}

static const struct vbd_srq_spec large = {
	.name = "large",
	.params = {.depth = 64, .recv_size_bytes = 65536},
};

SVC_TEST(test_resources__large_receives_do_not_hold_the_control_thread_up)
{
	struct outcome outcome;

	(void)begin_slow_srq(svc, &large, &outcome);
	assert_int_equal(vbd_registry_count(svc->daemon->srqs), 0);
	(void)make_cq(svc, "other", 64); /* others go on */
	svc_turn(svc);
	assert_false(outcome.ended);
	fake_unblock();
	SVC_UNTIL(svc, outcome.ended);
	assert_int_equal(outcome.error.status, VBD_OK);
	assert_ptr_equal(svc_find_shared(svc->daemon->srqs, "large", NULL), outcome.srq->srq);
	assert_int_equal(vbd_counter_get(&outcome.srq->srq->posted), 64);
	assert_int_equal(fake_on_control(), 0);
}

SVC_TEST(test_resources__receives_count_while_they_are_registered)
{
	struct vbd_srq_spec spec = large;
	struct vbd_srq_creation *creation;
	struct vbd_error err = {0};
	struct outcome outcome;

	svc->config.limits.receives_bytes = 64 * 65536;
	svc_restart(svc);
	(void)begin_slow_srq(svc, &large, &outcome);
	(void)snprintf(spec.name, sizeof(spec.name), "more");
	assert_int_equal(vbd_srq_request(svc->daemon, &spec, on_made, NULL, &creation, &err),
		VBD_E_LIMIT_REACHED);
	assert_string_equal(err.pointer, "/max_wr");
	fake_unblock();
	SVC_UNTIL(svc, outcome.ended);
	assert_int_equal(outcome.error.status, VBD_OK);
	assert_int_equal(vbd_receives_bytes(svc->daemon), 64 * 65536);
}

SVC_TEST(test_resources__of_two_queues_with_a_name_one_is_made)
{
	struct outcome first, second;

	(void)begin_slow_srq(svc, &large, &first);
	(void)begin_srq(svc, &large, &second);
	fake_unblock();
	SVC_UNTIL(svc, first.ended && second.ended);
	assert_int_equal(!first.srq + !second.srq, 1);
	assert_int_equal((first.srq ? &second : &first)->error.status, VBD_E_NAME_TAKEN);
	assert_int_equal(fake_live().mrs, 1);
}

SVC_TEST(test_resources__what_goes_meanwhile_is_not_used)
{
	struct vbd_srq_spec spec = large;
	struct outcome outcome;

	spec.pd = make_pd(svc, "going");
	(void)begin_slow_srq(svc, &spec, &outcome);
	assert_int_equal(delete_shared(svc->daemon->pds, spec.pd->id, &svc->err), VBD_OK);
	fake_unblock();
	SVC_UNTIL(svc, outcome.ended);
	assert_null(outcome.srq);
	assert_int_equal(outcome.error.status, VBD_E_NOT_FOUND);
	assert_string_equal(outcome.error.pointer, "/pd");
	assert_int_equal(fake_live().pds, 1);
	spec.pd = NULL;
	spec.cq = make_cq(svc, "going", 64);
	(void)begin_slow_srq(svc, &spec, &outcome);
	assert_int_equal(delete_shared(svc->daemon->cqs, spec.cq->id, &svc->err), VBD_OK);
	fake_unblock();
	SVC_UNTIL(svc, outcome.ended);
	assert_null(outcome.srq);
	assert_int_equal(outcome.error.status, VBD_E_NOT_FOUND);
	assert_string_equal(outcome.error.pointer, "/cq");
	assert_int_equal(fake_live().srqs + fake_live().mrs, 0);
}

SVC_TEST(test_resources__a_device_that_goes_meanwhile_is_let_go)
{
	struct outcome outcome;

	(void)begin_slow_srq(svc, &large, &outcome);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	assert_false(outcome.ended);
	fake_unblock();
	SVC_UNTIL(svc, outcome.ended && fake_live().contexts == 0);
	assert_null(outcome.srq);
	assert_int_equal(outcome.error.status, VBD_E_DEVICE_REMOVED);
	assert_int_equal(fake_live().srqs + fake_live().mrs + fake_live().pds, 0);
}

static void has_stopped(void *arg)
{
	*(bool *)arg = true;
}

SVC_TEST(test_resources__a_daemon_that_stops_waits_for_the_registration)
{
	struct outcome outcome;
	bool stopped = false;

	(void)begin_slow_srq(svc, &large, &outcome);
	vbd_daemon_stop(svc->daemon, has_stopped, &stopped);
	svc_turn(svc);
	assert_false(stopped);
	fake_unblock();
	SVC_UNTIL(svc, stopped);
	assert_int_equal(outcome.error.status, VBD_E_STOPPING);
	assert_int_equal(fake_live().srqs + fake_live().mrs, 0);
	svc->stopped = true;
}

SVC_TEST(test_resources__all_goes_with_the_device)
{
	const struct vbd_pd *pd = make_pd(svc, "p");
	const struct vbd_cq *cq = make_cq(svc, "c", 100);
	struct vbd_srq *srq = make_srq(svc, 8, 2);
	struct vbd_listener *listener = listen_shared(svc, srq, VBD_SERVICE_INBOX);
	struct svc_pair pair = svc_pair(svc, listener);

	(void)pd;
	(void)cq;
	send_text(svc, pair.active, "held");
	SVC_UNTIL(svc, pair.passive->inbox.count == 1);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, pair.passive->object.ended && fake_live().contexts == 0);
	assert_null(svc_find_shared(svc->daemon->pds, "p", NULL));
	assert_null(svc_find_shared(svc->daemon->cqs, "c", NULL));
	assert_null(svc_find_shared(svc->daemon->srqs, "shared", NULL));
	assert_int_equal(vbd_registry_count(svc->daemon->pds), 0);
	assert_int_equal(vbd_registry_count(svc->daemon->cqs), 0);
	assert_int_equal(vbd_registry_count(svc->daemon->srqs), 0);
	assert_memory_equal(vbd_message_data(vbd_inbox_find(&pair.passive->inbox, 1)), "held", 4);
}

/* Planted leaks; the fixture finds that nothing is in an account any more. */
SVC_TEST(test_resources__an_account_ends_with_its_owner)
{
	struct vbd_srq *srq = make_srq(svc, 4, 0);

	vbd_account_made(&make_pd(svc, "mine")->account, VBD_PV_CONTEXT);
	vbd_account_made(&make_cq(svc, "mine", 16)->account, VBD_PV_CONTEXT);
	vbd_account_made(&srq->account, VBD_PV_CONTEXT);
	vbd_account_made(&srq->mem.account, VBD_PV_CONTEXT);
}
