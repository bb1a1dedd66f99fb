/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/buffers.h"
#include "daemon/memory/checksum.h"

#include "base/hugepage.h"
#include "tests/unit/slabs.h"
#include "tests/unit/openapi.h"
#include "tests/unit/svc.h"

#include <sys/stat.h>
#include <unistd.h>

/* A watch on a buffer, which is notified once, when the buffer is ready or failed. */
struct made {
	struct vbd_watch watch;
	unsigned int calls;
};

static void on_change(struct vbd_watch *watch, bool gone)
{
	struct made *made = VBD_CONTAINER_OF(watch, struct made, watch);

	made->calls += !gone;
}

static struct vbd_buffer *make(struct svc *svc, const struct vbd_buffer_spec *spec)
{
	struct made made = {.watch.cb = on_change};
	struct vbd_buffer *buffer = NULL;

	vbd_list_init(&made.watch.link);
	assert_int_equal(vbd_buffer_create(svc->daemon, spec, &buffer, &svc->err), VBD_OK);
	assert_int_equal(buffer->state, VBD_BUFFER_REGISTERING);
	vbd_watch_add(&buffer->object.watches, &made.watch);
	SVC_UNTIL(svc, made.calls);
	svc_turn(svc);
	assert_int_equal(made.calls, 1);
	vbd_watch_remove(&made.watch);
	return buffer;
}

static void assert_refused(
	struct svc *svc, const struct vbd_buffer_spec *spec, enum vbd_status status)
{
	struct vbd_buffer *buffer = NULL;
	struct vbd_error err = {0};

	assert_int_equal(vbd_buffer_create(svc->daemon, spec, &buffer, &err), status);
	assert_null(buffer);
}

static void assert_nothing_left(struct svc *svc)
{
	SVC_UNTIL(svc, svc->daemon->pool_jobs == 0 && svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->buffers), 0);
	assert_int_equal(svc->daemon->buffers_bytes, 0);
	assert_int_equal(slabs_other_mrs(svc->daemon->fabric), 0);
}

TEST(test_services_buffers__states_are_those_of_the_contract)
{
	struct openapi_enum contract;

	openapi_read_property_enum("Buffer", "state", &contract);
	assert_int_equal(contract.count, VBD_BUFFER_STATE_COUNT);
	for (unsigned int i = 0; i < VBD_BUFFER_STATE_COUNT; i++)
		assert_true(openapi_enum_has(
			&contract, vbd_buffer_state_name((enum vbd_buffer_state)i)));
}

SVC_TEST(test_services_buffers__one_is_zeroed_registered_and_found)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 5000, VBD_ACCESS_REMOTE_READ);

	assert_int_equal(buffer->state, VBD_BUFFER_READY);
	assert_int_equal(buffer->mem.page_size_bytes, sysconf(_SC_PAGESIZE));
	assert_string_equal(buffer->device.name, "fake0");
	for (size_t i = 0; i < 5000; i++)
		assert_int_equal(UNIT_BYTES(&buffer->mem)[i], 0);
	assert_int_not_equal(buffer->mem.rkey, 0);
	assert_int_equal(svc->daemon->buffers_bytes, 5000);
	assert_ptr_equal(svc_find(svc->daemon->buffers, "mine", &svc->err), buffer);
	assert_null(svc_find(svc->daemon->buffers, "yours", &svc->err));
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	assert_null(svc_find(svc->daemon->buffers, "mine", &svc->err));
	assert_nothing_left(svc);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_BUFFER_CREATED), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_BUFFER_DELETED), 1);
}

SVC_TEST(test_services_buffers__limits_names_and_devices_are_checked_first)
{
	struct vbd_buffer_spec spec = {.name = "mine", .size_bytes = 4096};

	svc->config.limits.buffers = 2;
	svc->config.limits.buffers_bytes = 10000;
	svc_restart(svc);
	(void)svc_buffer(svc, "mine", 4096, 0);
	assert_refused(svc, &spec, VBD_E_NAME_TAKEN);
	spec.name[0] = '\0';
	spec.size_bytes = 10001;
	assert_refused(svc, &spec, VBD_E_LIMIT_EXCEEDED);
	spec.size_bytes = 5905;
	assert_refused(svc, &spec, VBD_E_LIMIT_REACHED);
	(void)snprintf(spec.device_name, sizeof(spec.device_name), "fake7");
	spec.size_bytes = 100;
	assert_refused(svc, &spec, VBD_E_NO_DEVICE);
	spec.device_name[0] = '\0';
	(void)svc_buffer(svc, "other", 5904, 0);
	assert_refused(svc, &spec, VBD_E_LIMIT_REACHED);
	assert_int_equal(svc->daemon->buffers_bytes, 10000);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	assert_refused(svc, &spec, VBD_E_LIMIT_REACHED);
}

SVC_TEST(test_services_buffers__without_a_device_there_is_none)
{
	const struct vbd_buffer_spec spec = {.size_bytes = 4096};

	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	assert_refused(svc, &spec, VBD_E_NO_DEVICE);
	assert_nothing_left(svc);
}

SVC_TEST(test_services_buffers__a_registration_that_fails_leaves_its_error)
{
	const struct vbd_buffer_spec specs[] = {
		{.name = "anonymous", .size_bytes = 4096},
		{.name = "shared", .size_bytes = 4096, .kind = VBD_MEM_SHARED},
	};
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");
	unsigned int refs = device->refs;

	for (size_t i = 0; i < VBD_ARRAY_LEN(specs); i++) {
		struct vbd_buffer *buffer;
		struct vbd_error err = {0};

		fake_fail_next("ibv_reg_mr", EAGAIN);
		buffer = make(svc, &specs[i]);
		assert_int_equal(buffer->state, VBD_BUFFER_FAILED);
		assert_int_equal(buffer->error.status, VBD_E_DEVICE_LIMIT);
		assert_int_equal(vbd_buffer_has_bytes(buffer, &err), VBD_E_WRONG_STATE);
		assert_null(UNIT_BYTES(&buffer->mem));
		assert_int_equal(svc->daemon->buffers_bytes, 0);
		assert_int_equal(device->refs, refs);
		assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
		assert_nothing_left(svc);
	}
	assert_int_equal(svc_count_events(svc, VBD_EVENT_BUFFER_FAILED), 2);
}

SVC_TEST(test_services_buffers__a_failed_buffer_is_freed_with_the_daemon)
{
	const struct vbd_buffer_spec spec = {.name = "mine", .size_bytes = 4096};

	fake_fail_next("ibv_reg_mr", EAGAIN);
	assert_int_equal(make(svc, &spec)->state, VBD_BUFFER_FAILED);
}

SVC_TEST(test_services_buffers__each_allocation_failing_leaves_nothing)
{
	const struct vbd_buffer_spec spec = {
		.name = "mine", .size_bytes = 4096, .kind = VBD_MEM_SHARED};
	unsigned int nth = 0;
	bool failed;

	do {
		struct vbd_buffer *buffer = NULL;
		struct vbd_error err = {0};

		fake_memory_fail_nth(++nth);
		if (vbd_buffer_create(svc->daemon, &spec, &buffer, &err) == VBD_OK) {
			SVC_UNTIL(svc, buffer->state != VBD_BUFFER_REGISTERING);
			err = buffer->error;
		}
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		assert_int_equal(err.status, failed ? VBD_E_NO_MEMORY : VBD_OK);
		if (buffer)
			assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
		assert_nothing_left(svc);
	} while (failed);
	assert_in_range(nth, 4, 20);
}

SVC_TEST(test_services_buffers__a_deleted_shared_one_keeps_no_memory)
{
	const struct vbd_buffer_spec spec = {.size_bytes = 4096, .kind = VBD_MEM_SHARED};
	struct vbd_buffer *buffer = make(svc, &spec);
	struct stat found;
	int theirs;

	assert_int_equal(buffer->state, VBD_BUFFER_READY);
	theirs = dup(buffer->mem.fd);
	assert_int_equal(fstat(theirs, &found), 0);
	assert_int_equal(found.st_size, 4096);
	assert_int_not_equal(found.st_blocks, 0);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	assert_nothing_left(svc);
	assert_int_equal(fstat(theirs, &found), 0);
	assert_int_equal(found.st_blocks, 0);
	assert_int_equal(close(theirs), 0);
}

SVC_TEST(test_services_buffers__a_range_lies_inside_or_not)
{
	const struct vbd_buffer *buffer = svc_buffer(svc, "mine", 100, 0);
	static const struct {
		uint64_t offset, length_bytes;
		bool inside;
	} rows[] = {
		{0, 100, true},
		{100, 0, true},
		{99, 1, true},
		{0, 101, false},
		{101, 0, false},
		{1, UINT64_MAX, false},
		{UINT64_MAX, 1, false},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_error err = {0};

		assert_int_equal(vbd_buffer_check_range(buffer, rows[i].offset,
					 rows[i].length_bytes, "/offset", &err),
			rows[i].inside ? VBD_OK : VBD_E_RANGE_NOT_SATISFIABLE);
		assert_string_equal(err.pointer, rows[i].inside ? "" : "/offset");
	}
}

/* The default huge page size of this machine's kernel. */
SVC_TEST(test_services_buffers__a_page_size_is_the_kernels)
{
	struct vbd_buffer_spec spec = {.size_bytes = 4096, .page_size_bytes = 8192};
	struct vbd_error err = {0};
	uint64_t page_size_bytes;

	assert_refused(svc, &spec, VBD_E_BAD_VALUE);
	if (vbd_hugepage_choose(0, &page_size_bytes, &err) != VBD_OK) {
		assert_int_equal(err.status, VBD_E_NOT_SUPPORTED);
		return;
	}
	spec.kind = VBD_MEM_HUGEPAGE;
	assert_refused(svc, &spec, VBD_E_BAD_VALUE);
	spec.page_size_bytes = page_size_bytes;
	svc->config.limits.buffers_bytes = page_size_bytes - 1;
	assert_refused(svc, &spec, VBD_E_LIMIT_EXCEEDED);
}

SVC_TEST(test_services_buffers__huge_pages_that_are_missing_are_told)
{
	struct vbd_buffer_spec spec = {.kind = VBD_MEM_HUGEPAGE};
	const struct vbd_buffer *buffer;
	struct vbd_error err = {0};
	uint64_t page_size_bytes;

	if (vbd_hugepage_choose(0, &page_size_bytes, &err) != VBD_OK)
		skip();
	/* More than any machine has reserved. */
	spec.size_bytes = page_size_bytes << 18;
	svc->config.limits.buffers_bytes = spec.size_bytes;
	buffer = make(svc, &spec);
	assert_int_equal(buffer->state, VBD_BUFFER_FAILED);
	assert_int_equal(buffer->error.status, VBD_E_NO_MEMORY);
	assert_non_null(strstr(buffer->error.text, "/nr_hugepages"));
	assert_non_null(strstr(buffer->error.text, "262144 huge pages"));
}

SVC_TEST(test_services_buffers__what_the_device_can_not_is_refused)
{
	static const struct {
		struct vbd_buffer_spec spec;
		uint64_t lacks;
		const char *capability;
	} rows[] = {
		{{.on_demand_paging = true}, 1ULL << VBD_CAP_ON_DEMAND_PAGING, "on_demand_paging"},
		{{.relaxed_ordering = true}, 1ULL << VBD_CAP_RELAXED_ORDERING, "relaxed_ordering"},
		{{.access = VBD_ACCESS_REMOTE_ATOMIC}, 1ULL << VBD_CAP_ATOMICS, "atomics"},
		{{.access = VBD_ACCESS_MW_BIND},
			1ULL << VBD_CAP_MW_TYPE_1 | 1ULL << VBD_CAP_MW_TYPE_2, "mw_type_2"},
	};
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_buffer_spec spec = rows[i].spec;
		struct vbd_buffer *buffer = NULL;
		struct vbd_error err = {0};

		spec.size_bytes = 4096;
		device->caps = ~rows[i].lacks;
		assert_int_equal(
			vbd_buffer_create(svc->daemon, &spec, &buffer, &err), VBD_E_NOT_SUPPORTED);
		assert_string_equal(err.capability, rows[i].capability);
		device->caps = UINT64_MAX;
		assert_int_equal(make(svc, &spec)->state, VBD_BUFFER_READY);
	}
	/* One type of window is sufficient. */
	device->caps = 1ULL << VBD_CAP_MW_TYPE_1;
	(void)svc_buffer(svc, "", 4096, VBD_ACCESS_MW_BIND);
}

/* In use. */

SVC_TEST(test_services_buffers__one_in_use_stays_and_names_its_users)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 4096, 0);
	const struct vbd_transfer_spec spec = {
		.qp = &pair.active->conn->qp,
		.buffer = buffer,
		.op = VBD_OP_WRITE,
		.length_bytes = 4096,
		.chunk_bytes = 4096,
		.timeout_ms = 10000,
	};
	struct vbd_transfer_record *one = NULL, *two = NULL;
	struct vbd_error err = {0};
	struct vbd_users users;

	fake_loopback(false);
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &one, &svc->err), VBD_OK);
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &two, &svc->err), VBD_OK);
	assert_int_equal(vbd_buffer_delete(buffer, &err), VBD_E_IN_USE);
	vbd_buffer_users_of(buffer, NULL, &users);
	assert_int_equal(users.total, 2);
	assert_int_equal(users.shown, 2);
	assert_string_equal(users.paths[0], "/v1/transfers/1");
	assert_string_equal(users.paths[1], "/v1/transfers/2");
	SVC_UNTIL(svc, fake_sends(pair.active->conn->qp.ibv_qp) == 2);
	fake_sends_done(pair.active->conn->qp.ibv_qp, 2);
	SVC_UNTIL(svc, buffer->users == 0);
	vbd_buffer_users_of(buffer, NULL, &users);
	assert_int_equal(users.total, 0);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_nothing_left(svc);
}

SVC_TEST(test_services_buffers__readers_keep_the_bytes_and_no_more)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 4096, VBD_ACCESS_REMOTE_WRITE);

	UNIT_BYTES(&buffer->mem)[7] = 42;
	vbd_buffer_ref(buffer);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, slabs_other_mrs(svc->daemon->fabric) == 0);
	SVC_UNTIL(svc, svc->daemon->pool_jobs == 0);
	/* No peer can access the deleted buffer, its name is free, and its reader continues. */
	assert_int_equal(UNIT_BYTES(&buffer->mem)[7], 42);
	assert_int_equal(svc->daemon->buffers_bytes, 4096);
	(void)svc_buffer(svc, "mine", 100, 0);
	vbd_buffer_unref(buffer);
	SVC_UNTIL(svc, svc->daemon->buffers_bytes == 100);
}

SVC_TEST(test_services_buffers__a_buffer_stays_while_it_is_registered)
{
	const struct vbd_buffer_spec spec = {.name = "mine", .size_bytes = 4096};
	struct vbd_buffer *buffer = NULL;
	struct vbd_summation *summation;
	struct vbd_error err = {0};

	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	assert_ptr_equal(svc_find(svc->daemon->buffers, "mine", &svc->err), buffer);
	assert_int_equal(buffer->state, VBD_BUFFER_REGISTERING);
	assert_int_equal(vbd_buffer_delete(buffer, &err), VBD_E_IN_USE);
	assert_int_equal(vbd_buffer_checksum(buffer, NULL, VBD_CHECKSUM_CRC32C, 0, 1, NULL, NULL,
				 &summation, NULL),
		VBD_E_WRONG_STATE);
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_READY);
}

/* Checksums. */

struct summed {
	unsigned int calls;
	char hex[80];
};

static void on_summed(const char *hex, const struct vbd_error *err, void *arg)
{
	struct summed *summed = arg;

	(void)err;
	summed->calls++;
	(void)snprintf(summed->hex, sizeof(summed->hex), "%s", hex ? hex : "");
}

static void assert_sum(struct svc *svc, struct vbd_buffer *buffer, enum vbd_checksum algorithm,
	uint64_t offset, uint64_t length_bytes, const char *hex)
{
	struct vbd_summation *summation;
	struct summed summed = {0};

	assert_int_equal(vbd_buffer_checksum(buffer, NULL, algorithm, offset, length_bytes,
				 on_summed, &summed, &summation, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, summed.calls);
	assert_string_equal(summed.hex, hex);
}

SVC_TEST(test_services_buffers__checksums_are_the_known_ones)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 20, 0);

	/* Expected values: RFC 3720, B.4 (CRC32C of "123456789") and FIPS 180-4 (SHA-256). */
	memcpy(UNIT_BYTES(&buffer->mem), "xx123456789abc", 14);
	assert_sum(svc, buffer, VBD_CHECKSUM_CRC32C, 2, 9, "e3069283");
	assert_sum(svc, buffer, VBD_CHECKSUM_CRC32C, 0, 0, "00000000");
	assert_sum(svc, buffer, VBD_CHECKSUM_SHA256, 11, 3,
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(buffer->refs, 0);
}

SVC_TEST(test_services_buffers__a_checksum_goes_over_all_pieces)
{
	const uint64_t size_bytes = 3 * 65536;
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", size_bytes, 0);
	char hex[16];

	for (uint64_t i = 0; i < size_bytes; i++)
		UNIT_BYTES(&buffer->mem)[i] = (uint8_t)(i * 7 + i / 65536);
	for (uint64_t length_bytes = 65535; length_bytes <= 65537; length_bytes++) {
		(void)snprintf(hex, sizeof(hex), "%08x",
			vbd_crc32c_add(0, UNIT_BYTES(&buffer->mem) + 3, length_bytes));
		assert_sum(svc, buffer, VBD_CHECKSUM_CRC32C, 3, length_bytes, hex);
	}
	(void)snprintf(
		hex, sizeof(hex), "%08x", vbd_crc32c_add(0, UNIT_BYTES(&buffer->mem), size_bytes));
	assert_sum(svc, buffer, VBD_CHECKSUM_CRC32C, 0, size_bytes, hex);
	assert_int_equal(svc->daemon->pool_jobs, 0);
}

SVC_TEST(test_services_buffers__each_allocation_of_a_checksum_may_fail)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 4096, 0);
	struct summed summed = {0};
	unsigned int failed = 0;
	bool is_complete = false;

	while (!is_complete) {
		struct vbd_summation *summation;
		struct vbd_error err = {0};
		unsigned int calls = summed.calls;
		enum vbd_status status;

		fake_memory_fail_nth(failed + 1);
		status = vbd_buffer_checksum(buffer, NULL, VBD_CHECKSUM_CRC32C, 0, 4096, on_summed,
			&summed, &summation, &err);
		if (status == VBD_OK)
			SVC_UNTIL(svc, summed.calls > calls);
		else
			assert_int_equal(status, VBD_E_NO_MEMORY);
		is_complete = !fake_memory_failed();
		fake_memory_fail_nth(0);
		failed += !is_complete;
		assert_int_equal(buffer->refs, 0);
		assert_int_equal(svc->daemon->pool_jobs, 0);
	}
	assert_true(failed >= 2);
	assert_int_equal(strlen(summed.hex), 8);
}

SVC_TEST(test_services_buffers__a_checksum_outlives_a_delete)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 1 << 20, 0);
	struct vbd_summation *summation;
	struct summed summed = {0};

	assert_int_equal(vbd_buffer_checksum(buffer, NULL, VBD_CHECKSUM_SHA256, 0, 1 << 20,
				 on_summed, &summed, &summation, &svc->err),
		VBD_OK);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, summed.calls);
	assert_int_equal(strlen(summed.hex), 64);
	assert_nothing_left(svc);
}

/* Over several slices of SHA-256, so that its end comes several turns later. */
#define LARGE_BYTES (32U << 20)

SVC_TEST(test_services_buffers__a_cancelled_checksum_ends_without_its_result)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", LARGE_BYTES, 0);
	struct vbd_summation *summations[8];
	struct summed summed = {0};

	for (size_t i = 0; i < VBD_ARRAY_LEN(summations); i++)
		assert_int_equal(
			vbd_buffer_checksum(buffer, NULL, VBD_CHECKSUM_SHA256, 0, LARGE_BYTES,
				on_summed, &summed, &summations[i], &svc->err),
			VBD_OK);
	for (size_t i = 0; i < VBD_ARRAY_LEN(summations); i++)
		vbd_summation_cancel(summations[i]);
	SVC_UNTIL(svc, svc->daemon->pool_jobs == 0);
	assert_int_equal(summed.calls, 0);
	assert_int_equal(buffer->refs, 0);
}

SVC_TEST(test_services_buffers__a_checksum_ends_when_the_daemon_closes)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", LARGE_BYTES, 0);
	struct vbd_summation *summation;
	struct summed summed = {0};

	assert_int_equal(vbd_buffer_checksum(buffer, NULL, VBD_CHECKSUM_SHA256, 0, LARGE_BYTES,
				 on_summed, &summed, &summation, &svc->err),
		VBD_OK);
	svc->daemon->closing = true;
	SVC_UNTIL(svc, summed.calls);
	assert_string_equal(summed.hex, "");
	assert_int_equal(svc->daemon->pool_jobs, 0);
}

/* Devices. */

SVC_TEST(test_services_buffers__the_bytes_survive_their_device)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 9, VBD_ACCESS_REMOTE_READ);

	memcpy(UNIT_BYTES(&buffer->mem), "123456789", 9);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(buffer->state, VBD_BUFFER_LOST);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_BUFFER_LOST), 1);
	assert_sum(svc, buffer, VBD_CHECKSUM_CRC32C, 0, 9, "e3069283");
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	assert_nothing_left(svc);
}

static enum vbd_status restore(struct vbd_buffer *buffer, struct vbd_error *err)
{
	const struct vbd_buffer_spec spec = {.size_bytes = 9};

	*err = (struct vbd_error){0};
	return vbd_buffer_restore(buffer, &spec, err);
}

SVC_TEST(test_services_buffers__a_lost_one_is_registered_again_with_its_bytes)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 9, VBD_ACCESS_REMOTE_READ);
	struct vbd_error err;

	memcpy(UNIT_BYTES(&buffer->mem), "123456789", 9);
	assert_int_equal(restore(buffer, &err), VBD_E_WRONG_STATE);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(restore(buffer, &err), VBD_E_NO_DEVICE);
	assert_int_equal(buffer->state, VBD_BUFFER_LOST);
	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	buffer->users = 1;
	assert_int_equal(restore(buffer, &err), VBD_E_IN_USE);
	buffer->users = 0;

	/* The device goes once more, while the memory is registered. */
	assert_int_equal(restore(buffer, &err), VBD_OK);
	assert_int_equal(buffer->state, VBD_BUFFER_REGISTERING);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, buffer->state != VBD_BUFFER_REGISTERING);
	assert_int_equal(buffer->state, VBD_BUFFER_LOST);
	assert_int_equal(buffer->error.status, VBD_E_DEVICE_REMOVED);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);

	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(restore(buffer, &err), VBD_OK);
	SVC_UNTIL(svc, buffer->state != VBD_BUFFER_REGISTERING);
	assert_int_equal(buffer->state, VBD_BUFFER_READY);
	assert_int_equal(buffer->error.status, VBD_OK);
	assert_int_equal(svc->daemon->buffers_bytes, 9);
	assert_sum(svc, buffer, VBD_CHECKSUM_CRC32C, 0, 9, "e3069283");
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	assert_nothing_left(svc);
}

SVC_TEST(test_services_buffers__a_writable_one_is_known_by_its_domain)
{
	static const struct {
		unsigned int access;
		bool writable;
	} rows[] = {
		{0, false},
		{VBD_ACCESS_REMOTE_READ, false},
		{VBD_ACCESS_REMOTE_WRITE, true},
		{VBD_ACCESS_MW_BIND, true},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_buffer *buffer = svc_buffer(svc, "", 9, rows[i].access);

		assert_int_equal(
			vbd_buffers_writable(svc->daemon, buffer->mem.pd), rows[i].writable);
		assert_false(vbd_buffers_writable(svc->daemon, NULL));
		buffer->state = VBD_BUFFER_REGISTERING;
		assert_false(vbd_buffers_writable(svc->daemon, buffer->mem.pd));
		buffer->state = VBD_BUFFER_READY;
		assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	}
}

SVC_TEST(test_services_buffers__a_device_that_goes_waits_for_those_in_use)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 4096, 0);
	const struct vbd_transfer_spec spec = {
		.qp = &pair.active->conn->qp,
		.buffer = buffer,
		.op = VBD_OP_WRITE,
		.length_bytes = 4096,
		.chunk_bytes = 1,
		.timeout_ms = 10000,
	};
	struct vbd_transfer_record *record = NULL;

	fake_loopback(false);
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(buffer->state, VBD_BUFFER_LOST);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_FAILED);
	assert_int_equal(buffer->users, 0);
}

SVC_TEST(test_services_buffers__a_device_that_goes_while_they_are_made)
{
	const struct vbd_buffer_spec spec = {.name = "mine", .size_bytes = 4096};
	struct vbd_buffer *buffer = NULL;

	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, buffer->state == VBD_BUFFER_FAILED);
	assert_int_equal(buffer->error.status, VBD_E_DEVICE_REMOVED);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	assert_nothing_left(svc);
}
