/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/object.h"
#include "daemon/core/registry.h"

#include "tests/unit/unit.h"

static struct {
	bool failing;
	unsigned int calls_before_failure;
} g_memory;

static bool fails_now(void)
{
	return g_memory.failing && g_memory.calls_before_failure-- == 0;
}

/* The linker redirects the registry's allocations to this function. clang turns malloc() and
 * memset() into calloc(). */
void *__real_malloc(size_t len_bytes);
void *__wrap_malloc(size_t len_bytes);
void *__wrap_malloc(size_t len_bytes)
{
	return fails_now() ? NULL : __real_malloc(len_bytes);
}

void *__real_calloc(size_t count, size_t len_bytes);
void *__wrap_calloc(size_t count, size_t len_bytes);
void *__wrap_calloc(size_t count, size_t len_bytes)
{
	return fails_now() ? NULL : __real_calloc(count, len_bytes);
}

struct thing {
	char before;
	struct vbd_object object;
};

struct fixture {
	struct vbd_registry registry;
	struct vbd_error err;
	struct thing things[100];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	vbd_registry_init(&f->registry, "thing", "things", "objects");
	f->registry.limit = 100;
	g_memory.failing = false;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vbd_registry_fini(&f->registry);
	free(f);
	return 0;
}

#define REGISTRY_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void add(struct fixture *f, size_t i, const char *name)
{
	f->things[i].object.registry = &f->registry;
	assert_int_equal(
		vbd_registry_add(&f->registry, NULL, &f->things[i].object, name, &f->err), VBD_OK);
}

REGISTRY_TEST(test_registry__ids_start_at_1_and_are_never_given_twice)
{
	add(f, 0, NULL);
	add(f, 1, "");
	assert_int_equal(f->things[0].object.id, 1);
	assert_int_equal(f->things[1].object.id, 2);
	vbd_registry_remove(&f->registry, &f->things[1].object);
	assert_int_equal(f->things[1].object.id, 0);
	add(f, 1, NULL);
	assert_int_equal(f->things[1].object.id, 3);
}

REGISTRY_TEST(test_registry__an_adopted_object_keeps_its_id_beyond_the_limit)
{
	f->registry.limit = 1;
	add(f, 0, NULL);
	assert_int_equal(
		vbd_registry_adopt(&f->registry, &f->things[1].object, 7, "made", &f->err), VBD_OK);
	assert_ptr_equal(vbd_registry_find_id(&f->registry, 7), &f->things[1].object);
	assert_ptr_equal(vbd_registry_find_name(&f->registry, "made"), &f->things[1].object);
	assert_int_equal(vbd_registry_check(&f->registry, NULL, "made", NULL), VBD_E_NAME_TAKEN);
	assert_int_equal(vbd_registry_check(&f->registry, NULL, "", NULL), VBD_E_LIMIT_REACHED);
	f->registry.limit = 3;
	add(f, 2, NULL);
	assert_int_equal(f->things[2].object.id, 8);
}

REGISTRY_TEST(test_registry__an_object_is_found_by_id_by_name_and_by_ref)
{
	add(f, 0, "alpha");
	add(f, 1, NULL);
	assert_ptr_equal(vbd_registry_find_id(&f->registry, 1), &f->things[0].object);
	assert_ptr_equal(vbd_registry_find_name(&f->registry, "alpha"), &f->things[0].object);
	assert_ptr_equal(vbd_registry_find_for(&f->registry, NULL, "alpha", VBD_TO_USE, &f->err),
		&f->things[0].object);
	assert_ptr_equal(vbd_registry_find_for(&f->registry, NULL, "2", VBD_TO_USE, &f->err),
		&f->things[1].object);
	assert_null(vbd_registry_find_id(&f->registry, 0));
	assert_null(vbd_registry_find_name(&f->registry, ""));
}

REGISTRY_TEST(test_registry__a_ref_to_nothing_names_kind_and_ref)
{
	static const char *const refs[] = {"9", "beta", "", "0", "18446744073709551615",
		"99999999999999999999999999", "1x", "-1", " 1", "+1"};

	add(f, 0, "alpha");
	for (size_t i = 0; i < VBD_ARRAY_LEN(refs); i++) {
		struct vbd_error err = {0};

		assert_null(vbd_registry_find_for(&f->registry, NULL, refs[i], VBD_TO_USE, &err));
		assert_int_equal(err.status, VBD_E_NOT_FOUND);
		assert_non_null(strstr(err.text, "thing"));
		assert_non_null(strstr(err.text, refs[i]));
	}
}

REGISTRY_TEST(test_registry__a_taken_name_is_refused_and_names_the_holder)
{
	add(f, 0, "alpha");
	assert_int_equal(
		vbd_registry_add(&f->registry, NULL, &f->things[1].object, "alpha", &f->err),
		VBD_E_NAME_TAKEN);
	assert_string_equal(f->err.object, "/v1/things/1");
	assert_string_equal(f->err.pointer, "/name");
	assert_int_equal(vbd_registry_count(&f->registry), 1);
	vbd_registry_remove(&f->registry, &f->things[0].object);
	add(f, 1, "alpha");
}

REGISTRY_TEST(test_registry__a_name_against_the_rule_is_refused)
{
	assert_int_equal(vbd_registry_add(&f->registry, NULL, &f->things[0].object, "7up", &f->err),
		VBD_E_BAD_VALUE);
	assert_string_equal(f->err.pointer, "/name");
	assert_int_equal(vbd_registry_count(&f->registry), 0);
}

REGISTRY_TEST(test_registry__the_limit_is_refused_and_named)
{
	f->registry.limit = 2;
	add(f, 0, NULL);
	add(f, 1, NULL);
	assert_int_equal(vbd_registry_add(&f->registry, NULL, &f->things[2].object, NULL, &f->err),
		VBD_E_LIMIT_REACHED);
	assert_int_equal(f->err.limit, 2);
	vbd_registry_remove(&f->registry, &f->things[0].object);
	add(f, 2, NULL);
	assert_int_equal(f->things[2].object.id, 3);
}

REGISTRY_TEST(test_registry__a_failed_add_keeps_the_error_that_was_first)
{
	add(f, 0, "alpha");
	(void)vbd_error_set(&f->err, VBD_E_INTERNAL, "first");
	assert_int_equal(
		vbd_registry_add(&f->registry, NULL, &f->things[1].object, "alpha", &f->err),
		VBD_E_NAME_TAKEN);
	assert_int_equal(f->err.status, VBD_E_INTERNAL);
	assert_string_equal(f->err.object, "");
	assert_int_equal(vbd_registry_add(&f->registry, NULL, &f->things[1].object, "alpha", NULL),
		VBD_E_NAME_TAKEN);
}

REGISTRY_TEST(test_registry__the_order_is_that_of_the_ids)
{
	uint64_t last = 0;
	unsigned int seen = 0;

	for (size_t i = 0; i < 100; i++)
		add(f, i, NULL);
	for (size_t i = 0; i < 100; i += 3)
		vbd_registry_remove(&f->registry, &f->things[i].object);
	add(f, 0, "late");
	for (const struct vbd_object *o = vbd_registry_after(&f->registry, 0); o;
		o = vbd_registry_next(o)) {
		assert_true(o->id > last);
		last = o->id;
		seen++;
	}
	assert_int_equal(last, 101);
	assert_int_equal(seen, 67);
	assert_int_equal(vbd_registry_count(&f->registry), 67);
}

/* The second of two objects is the first one of the table, and there may be no others in it. */
REGISTRY_TEST(test_registry__two_objects_exchange_their_ids_without_memory)
{
	struct vbd_object *one, *other;

	for (size_t i = 0; i < 100; i++) {
		add(f, i, i == 0 ? "one" : "");
		one = &f->things[0].object;
		other = &f->things[i].object;
		if (i == 0)
			continue;
		g_memory.failing = true;
		g_memory.calls_before_failure = 0;
		vbd_registry_exchange(one, other);
		assert_int_equal(one->id, i + 1);
		assert_int_equal(other->id, 1);
		assert_ptr_equal(vbd_registry_find_id(&f->registry, i + 1), one);
		assert_ptr_equal(vbd_registry_find_id(&f->registry, 1), other);
		assert_ptr_equal(vbd_registry_find_name(&f->registry, "one"), one);
		assert_ptr_equal(vbd_registry_after(&f->registry, 0), other);
		assert_ptr_equal(vbd_registry_before(&f->registry, i + 2), one);
		assert_int_equal(vbd_registry_count(&f->registry), i + 1);
		vbd_registry_exchange(other, one);
		g_memory.failing = false;
		assert_ptr_equal(vbd_registry_find_id(&f->registry, 1), one);
	}
}

REGISTRY_TEST(test_registry__removing_what_was_never_added_is_fine)
{
	vbd_registry_remove(&f->registry, &f->things[0].object);
	add(f, 0, "alpha");
	vbd_registry_remove(&f->registry, &f->things[0].object);
	vbd_registry_remove(&f->registry, &f->things[0].object);
	assert_int_equal(vbd_registry_count(&f->registry), 0);
	assert_null(vbd_registry_after(&f->registry, 0));
}

REGISTRY_TEST(test_registry__an_object_may_get_another_name)
{
	struct vbd_object *object = &f->things[0].object;

	add(f, 0, NULL);
	add(f, 1, "taken");
	assert_int_equal(vbd_registry_set_name(&f->registry, NULL, object, "one", &f->err), VBD_OK);
	assert_ptr_equal(vbd_registry_find_name(&f->registry, "one"), object);
	assert_int_equal(vbd_registry_set_name(&f->registry, NULL, object, "one", &f->err), VBD_OK);
	assert_int_equal(vbd_registry_set_name(&f->registry, NULL, object, "two", &f->err), VBD_OK);
	assert_null(vbd_registry_find_name(&f->registry, "one"));
	assert_ptr_equal(vbd_registry_find_name(&f->registry, "two"), object);
	assert_int_equal(vbd_registry_set_name(&f->registry, NULL, object, "taken", &f->err),
		VBD_E_NAME_TAKEN);
	assert_int_equal(
		vbd_registry_set_name(&f->registry, NULL, object, "3", NULL), VBD_E_BAD_VALUE);
	assert_string_equal(object->name, "two");
	assert_int_equal(vbd_registry_set_name(&f->registry, NULL, object, "", NULL), VBD_OK);
	assert_null(vbd_registry_find_name(&f->registry, "two"));
	assert_ptr_equal(vbd_registry_find_id(&f->registry, 1), object);
}

REGISTRY_TEST(test_registry__a_name_leads_to_the_newest_that_has_it)
{
	static const struct vbd_kind kind = {.keeps_history = true};
	struct vbd_object *first = &f->things[0].object;
	struct vbd_object *second = &f->things[1].object;
	struct vbd_object *third = &f->things[2].object;

	f->registry.kind = &kind;
	add(f, 0, "same");
	assert_int_equal(
		vbd_registry_add(&f->registry, NULL, second, "same", &f->err), VBD_E_NAME_TAKEN);
	first->ended = true;
	add(f, 1, "same");
	second->ended = true;
	add(f, 2, "same");
	assert_ptr_equal(vbd_registry_find_name(&f->registry, "same"), third);
	assert_string_equal(first->name, "same");
	assert_ptr_equal(third->named_before, second);
	assert_ptr_equal(second->named_before, first);

	/* One in the middle, the newest, and the last one are deleted. */
	vbd_registry_remove(&f->registry, second);
	assert_ptr_equal(third->named_before, first);
	assert_ptr_equal(vbd_registry_find_name(&f->registry, "same"), third);
	vbd_registry_remove(&f->registry, third);
	assert_ptr_equal(vbd_registry_find_name(&f->registry, "same"), first);
	vbd_registry_remove(&f->registry, first);
	assert_null(vbd_registry_find_name(&f->registry, "same"));
}

REGISTRY_TEST(test_registry__names_follow_the_rule_of_the_contract)
{
	char longest[65];

	memset(longest, 'a', sizeof(longest));
	longest[63] = '\0';
	assert_true(vbd_name_valid(longest));
	longest[63] = 'a';
	longest[64] = '\0';
	assert_false(vbd_name_valid(longest));
	assert_true(vbd_name_valid("a"));
	assert_true(vbd_name_valid("_"));
	assert_true(vbd_name_valid("Z9._-"));
	assert_false(vbd_name_valid(""));
	assert_false(vbd_name_valid("9a"));
	assert_false(vbd_name_valid(".a"));
	assert_false(vbd_name_valid("-a"));
	assert_false(vbd_name_valid("a b"));
	assert_false(vbd_name_valid("a/b"));
	assert_false(vbd_name_valid("\xc3\xa4"));
}

REGISTRY_TEST(test_registry__a_path_names_kind_and_id)
{
	char path[VBD_PATH_BYTES];

	assert_string_equal(vbd_registry_path(&f->registry, UINT64_MAX, path),
		"/v1/things/18446744073709551615");
}

/* Adds objects with each allocation failing in turn, until an addition succeeds. */
REGISTRY_TEST(test_registry__memory_that_runs_out_anywhere_leaves_the_registry_as_it_was)
{
	enum vbd_status status;
	unsigned int failures = 0;

	for (size_t i = 0; i < 100; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "thing%zu", i);
		for (unsigned int n = 0;; n++) {
			g_memory.calls_before_failure = n;
			g_memory.failing = true;
			status = vbd_registry_add(
				&f->registry, NULL, &f->things[i].object, name, NULL);
			g_memory.failing = false;
			if (status == VBD_OK)
				break;
			assert_int_equal(status, VBD_E_NO_MEMORY);
			assert_int_equal(vbd_registry_count(&f->registry), i);
			assert_null(vbd_registry_find_name(&f->registry, name));
			assert_int_equal(f->things[i].object.id, 0);
			failures++;
		}
		assert_int_equal(f->things[i].object.id, i + 1);
	}
	assert_true(failures >= 2);
}

REGISTRY_TEST(test_registry__a_walk_may_begin_at_any_id_that_was)
{
	for (size_t i = 0; i < 100; i++)
		add(f, i, "");
	for (size_t i = 0; i < 100; i++) {
		if (i % 10 != 4)
			vbd_registry_remove(&f->registry, &f->things[i].object);
	}
	assert_ptr_equal(vbd_registry_after(&f->registry, 0), &f->things[4].object);
	assert_ptr_equal(vbd_registry_after(&f->registry, 5), &f->things[14].object);
	assert_ptr_equal(vbd_registry_after(&f->registry, 40), &f->things[44].object);
	assert_null(vbd_registry_after(&f->registry, 95));
	assert_null(vbd_registry_after(&f->registry, UINT64_MAX));
	assert_ptr_equal(vbd_registry_before(&f->registry, UINT64_MAX), &f->things[94].object);
	assert_ptr_equal(vbd_registry_before(&f->registry, 95), &f->things[84].object);
	assert_ptr_equal(vbd_registry_before(&f->registry, 44), &f->things[34].object);
	assert_null(vbd_registry_before(&f->registry, 5));
	assert_null(vbd_registry_before(&f->registry, 0));
}

REGISTRY_TEST(test_registry__removed_objects_leave_no_more_gaps_than_objects)
{
	for (size_t i = 0; i < 10000; i++) {
		add(f, i % 3, "");
		vbd_registry_remove(&f->registry, &f->things[i % 3].object);
		assert_true(f->registry.places.count <= 100);
	}
}
