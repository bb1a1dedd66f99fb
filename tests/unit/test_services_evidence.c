/* SPDX-License-Identifier: Apache-2.0 */
/* A connection keeps what explains a request that fails. */
#include "base/clock.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/memory/shared.h"
#include "daemon/observe/explain.h"
#include "daemon/observe/report.h"
#include "tests/unit/svc.h"

#define LOOPBACK_INDEX 1 /* index of "lo", in every network namespace */

static struct vbd_explanation explained; /* too large for a stack frame */

struct scene {
	struct svc *svc;
	struct svc_pair pair;
	struct vbd_buffer *here, *there;
	uint64_t addr; /* of `there` */
};

static struct scene make_scene(struct svc *svc, unsigned int access)
{
	struct vbd_buffer *there = svc_buffer(svc, "there", 4096, access);

	return (struct scene){
		.svc = svc,
		.pair = svc_pair(svc, svc_listen(svc, NULL)),
		.here = svc_buffer(svc, "here", 4096, 0),
		.there = there,
		.addr = (uintptr_t)there->mem.addr,
	};
}

static struct vbd_transfer_record *begin(
	const struct scene *scene, enum vbd_op op, uint64_t offset, uint32_t rkey)
{
	const struct vbd_transfer_spec spec = {
		.origin = scene->svc->origin,
		.qp = &scene->pair.active->conn->qp,
		.buffer = scene->here,
		.op = op,
		.length_bytes = vbd_ops[op].is_atomic ? 8 : 64,
		.wr.remote_addr = scene->addr + offset,
		.wr.rkey = rkey,
		.chunk_bytes = 64,
		.timeout_ms = 30000,
	};
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(
		vbd_transfer_create(scene->svc->daemon, &spec, &record, &scene->svc->err), VBD_OK);
	return record;
}

static void move(const struct scene *scene, enum vbd_op op, uint64_t offset, uint32_t rkey)
{
	const struct vbd_transfer_record *record = begin(scene, op, offset, rkey);

	SVC_UNTIL(scene->svc, vbd_transfer_state_ended(record->transfer.state));
}

static const struct vbd_incident *end_of(struct svc *svc, const struct vbd_connection *connection)
{
	SVC_UNTIL(svc, connection->object.ended && !connection->keeping);
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	return &explained.facts.incident;
}

/* The passive side may ask first, while the active one has not seen the failed completion: the
 * report of its request comes after that. */
static void wait_until_judged(struct svc *svc, const struct vbd_connection *passive)
{
	SVC_UNTIL(svc,
		passive->peer_report && passive->peer_report->memory != VBD_REPORT_MEMORY_UNJUDGED);
}

static void leads_to(enum vbd_cause_code code)
{
	assert_true(explained.verdicts.cause_count > 0);
	assert_string_equal(explained.verdicts.causes[0].row->name, vbd_cause_rows[code].name);
}

SVC_TEST(test_evidence__memory_that_was_closed_has_no_key_any_more)
{
	struct scene scene = make_scene(svc, VBD_ACCESS_REMOTE_WRITE);
	uint32_t rkey = scene.there->mem.rkey;

	move(&scene, VBD_OP_WRITE, 64, rkey);
	move(&scene, VBD_OP_WRITE, 0, rkey);
	assert_int_equal(vbd_buffer_delete(scene.there, &svc->err), VBD_OK);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	move(&scene, VBD_OP_WRITE, 32, rkey);
	(void)end_of(svc, scene.pair.active);
	leads_to(VBD_CAUSE_ACCESS_REFUSED);
	wait_until_judged(svc, scene.pair.passive);
	(void)end_of(svc, scene.pair.passive);
	leads_to(VBD_CAUSE_REFUSED_HERE);
	assert_non_null(strstr(explained.verdicts.causes[0].text, "with a key that no memory"));
}

SVC_TEST(test_evidence__a_key_that_no_memory_has_is_told_here)
{
	struct scene scene = make_scene(svc, VBD_ACCESS_REMOTE_WRITE);

	move(&scene, VBD_OP_WRITE, 0, scene.there->mem.rkey + 1000);
	(void)end_of(svc, scene.pair.active);
	leads_to(VBD_CAUSE_ACCESS_REFUSED);
	wait_until_judged(svc, scene.pair.passive);
	(void)end_of(svc, scene.pair.passive);
	leads_to(VBD_CAUSE_REFUSED_HERE);
	assert_non_null(strstr(explained.verdicts.causes[0].text, "with a key that no memory"));
}

SVC_TEST(test_evidence__no_memory_is_open_to_the_peer)
{
	struct scene scene = make_scene(svc, 0);

	move(&scene, VBD_OP_WRITE, 0, 4711);
	wait_until_judged(svc, scene.pair.passive);
	assert_true(end_of(svc, scene.pair.passive)->nothing_open);
	leads_to(VBD_CAUSE_REFUSED_HERE);
	assert_non_null(strstr(explained.verdicts.causes[0].text, "with a key that no memory"));
	assert_ptr_equal(explained.verdicts.causes[1].row, &vbd_cause_rows[VBD_CAUSE_NOTHING_OPEN]);
}

static struct vbd_buffer *buffer_in(struct svc *svc, uint64_t size_bytes, unsigned int access,
	uint64_t pd_id, const char *device)
{
	struct vbd_buffer_spec spec = {
		.origin = svc->origin, .size_bytes = size_bytes, .access = access, .pd_id = pd_id};
	struct vbd_buffer *buffer = NULL;

	(void)snprintf(spec.device_name, sizeof(spec.device_name), "%s", device);
	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_READY);
	return buffer;
}

/* Returns what the passive side knows when a request of the active side was refused. */
static const struct vbd_incident *refused(struct svc *svc)
{
	struct scene scene = {.svc = svc,
		.pair = svc_pair(svc, svc_listen(svc, NULL)),
		.here = svc_buffer(svc, "", 64, 0)};

	move(&scene, VBD_OP_WRITE, 4711, 4711);
	return end_of(svc, scene.pair.passive);
}

/* The only buffer that is open to the peer is told whole; several are counted. */
SVC_TEST(test_evidence__the_memory_that_is_open_is_told)
{
	const struct vbd_incident *incident;
	struct vbd_shared *pd = NULL;
	struct vbd_buffer *other, *open;

	(void)fake_device_add("fake1");
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(
		vbd_pd_request(svc->daemon, &svc->origin, "other", "fake0", &pd, &svc->err),
		VBD_OK);
	(void)buffer_in(svc, 100, VBD_ACCESS_REMOTE_READ, 0, "fake1");
	incident = refused(svc);
	assert_true(incident->nothing_open);
	assert_false(incident->other_pd_open);
	assert_int_equal(incident->open_buffers, 0);
	assert_string_equal(incident->open_device, "fake1");
	other = buffer_in(svc, 200, VBD_ACCESS_REMOTE_READ, pd->object.id, "");
	incident = refused(svc);
	assert_false(incident->nothing_open);
	assert_true(incident->other_pd_open);
	assert_int_equal(incident->open_buffers, 0);
	open = buffer_in(svc, 300, VBD_ACCESS_REMOTE_WRITE, 0, "fake0");
	incident = refused(svc);
	assert_false(incident->nothing_open || incident->other_pd_open);
	assert_int_equal(incident->open_buffers, 1);
	assert_int_equal(incident->open_id, open->object.id);
	assert_int_equal(incident->open_bytes, 300);
	assert_int_equal(incident->open_access, VBD_ACCESS_REMOTE_WRITE);
	(void)buffer_in(svc, 400, VBD_ACCESS_REMOTE_READ, 0, "fake0");
	assert_int_equal(refused(svc)->open_buffers, 2);
	assert_int_equal(vbd_buffer_delete(other, &svc->err), VBD_OK);
	assert_int_equal(refused(svc)->open_buffers, 2);
	open->state = VBD_BUFFER_LOST;
	assert_int_equal(refused(svc)->open_buffers, 1);
	open->state = VBD_BUFFER_READY;
	SVC_UNTIL(svc, svc->daemon->pool_jobs == 0);
}

/* Everybody sees what is the daemon's, as the connections here are, and alice's memory is hers. */
SVC_TEST(test_evidence__memory_of_another_owner_is_not_told)
{
	struct vbd_callers *callers = &svc->daemon->callers;
	struct vbd_caller *alice = vbd_callers_get(callers, "alice");
	struct vbd_buffer *buffers[2];
	const struct vbd_incident *incident;

	(void)fake_device_add("fake1");
	unit_rescan(svc->daemon->fabric);
	svc->origin.caller = alice;
	buffers[0] = buffer_in(svc, 300, VBD_ACCESS_REMOTE_READ, 0, "fake0");
	buffers[1] = buffer_in(svc, 300, VBD_ACCESS_REMOTE_READ, 0, "fake1");
	svc->origin.caller = NULL;
	incident = refused(svc);
	assert_true(incident->nothing_open);
	assert_false(incident->other_pd_open);
	assert_int_equal(incident->open_buffers, 0);
	assert_int_equal(incident->open_id, 0);
	assert_string_equal(incident->open_device, "");
	for (int i = 0; i < 2; i++)
		assert_int_equal(vbd_buffer_delete(buffers[i], &svc->err), VBD_OK);
	SVC_UNTIL(svc, svc->daemon->pool_jobs == 0);
	vbd_caller_unref(alice);
}

/* The connection is the daemon's; that it waits is told to all. */
SVC_TEST(test_evidence__a_transfer_that_waits_is_told_to_who_sees_it)
{
	struct vbd_callers *callers = &svc->daemon->callers;
	struct vbd_caller *alice = vbd_callers_get(callers, "alice");
	struct vbd_caller *bob = vbd_callers_get(callers, "bob");
	struct vbd_caller *readers[] = {alice, bob, NULL};
	struct vbd_transfer_record *record;
	struct scene scene;

	alice->role = bob->role = VBD_ROLE_OPERATE;
	scene = make_scene(svc, VBD_ACCESS_REMOTE_WRITE);
	fake_loopback(false);
	svc->origin.caller = alice;
	record = begin(&scene, VBD_OP_WRITE, 0, 4711);
	svc->origin.caller = NULL;
	record->transfer.created_ns -= 2 * VBD_NS_PER_S;
	for (size_t i = 0; i < VBD_ARRAY_LEN(readers); i++) {
		const struct vbd_incident *incident = &explained.facts.incident;
		bool told = readers[i] != bob;

		vbd_explain_connection(
			scene.pair.active, NULL, readers[i], VBD_ROLE_OPERATE, &explained);
		assert_int_equal(incident->outcome, VBD_OUTCOME_STUCK);
		assert_int_equal(incident->transfer, told ? record->object.id : 0);
		assert_int_equal(incident->op, told ? VBD_OP_WRITE : -1);
		assert_int_equal(incident->rkey, told ? 4711 : 0);
		assert_int_equal(incident->length_bytes, told ? 64 : 0);
		assert_int_equal(strstr(explained.summary, "write of 64 bytes") != NULL, told);
	}
	vbd_caller_unref(alice);
	vbd_caller_unref(bob);
}

SVC_TEST(test_evidence__of_very_many_buffers_nothing_is_told)
{
	const struct vbd_incident *incident;

	for (int i = 0; i < 300; i++)
		(void)buffer_in(svc, 8, VBD_ACCESS_REMOTE_WRITE, 0, "");
	incident = refused(svc);
	assert_int_equal(incident->open_buffers, 0);
	assert_false(incident->nothing_open || incident->other_pd_open);
}

/* The peer hears of the error that stays. */
SVC_TEST(test_evidence__another_error_is_looked_into_again)
{
	struct scene scene = make_scene(svc, VBD_ACCESS_REMOTE_WRITE);
	struct vbd_connection *connection = scene.pair.active;
	struct vbd_error *now = &connection->conn->qp.first_error.error;
	struct vbd_error was;

	move(&scene, VBD_OP_WRITE, 0, scene.there->mem.rkey + 1);
	(void)end_of(svc, connection);
	SVC_UNTIL(svc, svc->daemon->looks_running == 0);
	/* On a busy machine another error may have taken the place of the first one by now. */
	was = connection->kept->incident.error;
	*now = was;
	vbd_evidence_keep(connection);
	assert_null(connection->keeping);
	for (int i = 0; i < 3; i++) {
		*now = was;
		if (i == 0)
			now->status = VBD_E_TIMED_OUT;
		else if (i == 1)
			now->source = VBD_SOURCE_ERRNO;
		else
			now->kind++;
		vbd_evidence_keep(connection);
		assert_non_null(connection->keeping);
		/* One look at a time. */
		vbd_evidence_keep(connection);
		assert_int_equal(svc->daemon->looks_running, 1);
		SVC_UNTIL(svc, svc->daemon->looks_running == 0);
		assert_null(connection->keeping);
	}
	*now = was;
}

/* As if the queue pair had been found in ERR before the failed completion came. */
SVC_TEST(test_evidence__the_request_of_a_later_first_error_outlives_its_transfer)
{
	struct scene scene = make_scene(svc, VBD_ACCESS_REMOTE_WRITE);
	struct vbd_transfer_record *record =
		begin(&scene, VBD_OP_WRITE, 0, scene.there->mem.rkey + 1);
	struct vbd_incident *before;

	(void)end_of(svc, scene.pair.active);
	before = &scene.pair.active->kept->incident;
	before->transfer = before->rkey = 0;
	before->error.source = VBD_SOURCE_ASYNC;
	vbd_evidence_keep(scene.pair.active);
	vbd_object_free(&record->object);
	assert_int_equal(end_of(svc, scene.pair.active)->rkey, scene.there->mem.rkey + 1);
}

SVC_TEST(test_evidence__a_record_is_deleted_while_its_facts_are_gathered)
{
	struct scene scene = make_scene(svc, VBD_ACCESS_REMOTE_WRITE);
	uint64_t id = scene.pair.active->object.id;

	(void)begin(&scene, VBD_OP_WRITE, 0, scene.there->mem.rkey + 1);
	SVC_UNTIL(svc, scene.pair.active->object.ended);
	vbd_object_free(&scene.pair.active->object);
	SVC_UNTIL(svc, svc->daemon->looks_running == 0);
	assert_null(vbd_registry_find_id(svc->daemon->connections, id));
}
