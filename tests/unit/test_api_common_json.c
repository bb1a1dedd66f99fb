/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON that all kinds of objects share: references and errors. */
#include "api/core/common_json.h"
#include "base/clock.h"
#include "rdma/names/names.h"

#include "tests/unit/document.h"

static const char *text_at(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

/* The reference or error as the member `x` of a document. */
static json_t *ref_of(const struct vbd_registry *registry, uint64_t id)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_ref(&out, "x", registry, id);
	return document_end(&out);
}

static json_t *error_of(const struct vbd_error *err, const struct vbd_first_error *first)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_error(&out, "x", NULL, err, first);
	return document_end(&out);
}

static bool is_null(json_t *document)
{
	bool null = json_is_null(json_object_get(document, "x"));

	json_decref(document);
	return null;
}

TEST(test_ref__has_the_id_and_the_name)
{
	struct vbd_registry registry;
	struct vbd_object named = {0};
	struct vbd_object nameless = {0};
	struct vbd_error err = {0};
	json_t *document;
	const json_t *ref;

	vbd_registry_init(&registry, "connection", "connections", "connections");
	registry.limit = 4;
	assert_int_equal(vbd_registry_add(&registry, NULL, &named, "to-b", &err), VBD_OK);
	assert_int_equal(vbd_registry_add(&registry, NULL, &nameless, "", &err), VBD_OK);

	document = ref_of(&registry, named.id);
	ref = json_object_get(document, "x");
	assert_int_equal(json_integer_value(json_object_get(ref, "id")), (json_int_t)named.id);
	assert_string_equal(text_at(ref, "name"), "to-b");
	json_decref(document);

	document = ref_of(&registry, nameless.id);
	ref = json_object_get(document, "x");
	assert_true(json_is_null(json_object_get(ref, "name")));
	json_decref(document);

	vbd_registry_remove(&registry, &named);
	document = ref_of(&registry, 1);
	ref = json_object_get(document, "x");
	assert_int_equal(json_integer_value(json_object_get(ref, "id")), 1);
	assert_true(json_is_null(json_object_get(ref, "name")));
	json_decref(document);

	assert_true(is_null(ref_of(&registry, 0)));
	vbd_registry_remove(&registry, &nameless);
	vbd_registry_fini(&registry);
}

TEST(test_error__no_error_is_null)
{
	const struct vbd_error none = {0};

	assert_true(is_null(error_of(&none, NULL)));
}

TEST(test_error__a_failed_call_is_the_first_error)
{
	struct vbd_error err = {0};
	json_t *document;
	const json_t *error;
	const json_t *first;

	(void)vbd_error_errno(&err, VBD_OK, "ibv_reg_mr", ENOMEM, "can't register");
	document = error_of(&err, NULL);
	error = json_object_get(document, "x");
	assert_int_equal(json_object_size(error), 4);
	assert_string_equal(text_at(error, "code"), "no_memory");
	assert_string_equal(text_at(error, "detail"), err.text);
	assert_non_null(text_at(error, "hint"));
	first = json_object_get(error, "first");
	assert_int_equal(json_object_size(first), 15);
	assert_string_equal(text_at(first, "source"), "call");
	assert_string_equal(text_at(first, "call"), "ibv_reg_mr");
	assert_string_equal(text_at(first, "errno"), "ENOMEM");
	assert_true(json_is_null(json_object_get(first, "at")));
	assert_true(json_is_null(json_object_get(first, "wc_status")));
	json_decref(document);
}

TEST(test_error__one_without_a_source_has_no_first_error)
{
	struct vbd_error err = {0};
	json_t *document;
	const json_t *error;

	(void)vbd_error_set(&err, VBD_E_CANCELLED, "it was cancelled");
	document = error_of(&err, NULL);
	error = json_object_get(document, "x");
	assert_true(json_is_null(json_object_get(error, "first")));
	json_decref(document);
}

TEST(test_error__every_member_of_the_first_error_stands)
{
	struct vbd_first_error first = {.at_ns = vbd_clock_mono_ns(), .op = -1};
	json_t *document;
	const json_t *error;
	const json_t *encoded;

	(void)vbd_error_set(&first.error, VBD_E_REJECTED, "rejected");
	first.error.source = VBD_SOURCE_CM_EVENT;
	first.error.raw = 8;
	document = error_of(&first.error, &first);
	error = json_object_get(document, "x");
	encoded = json_object_get(error, "first");
	assert_int_equal(json_object_size(encoded), 15);
	assert_string_equal(text_at(encoded, "code"), "rejected");
	assert_non_null(text_at(encoded, "at"));
	assert_non_null(text_at(encoded, "reject_reason"));
	assert_int_equal(json_integer_value(json_object_get(encoded, "cm_status")), 8);
	assert_true(json_is_null(json_object_get(encoded, "op")));
	assert_true(json_is_null(json_object_get(encoded, "vendor_err")));
	assert_true(json_is_null(json_object_get(encoded, "transfer")));
	json_decref(document);
}
