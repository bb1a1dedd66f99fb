/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a connection, over a whole daemon on the fake provider. */
#include "api/resources/connections.h"
#include "daemon/connections/connections.h"
#include "tests/unit/document.h"
#include "tests/unit/svc.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The contract's bound for a connection with defaults: 1000 a page are 1.5 MB. */
#define SIZE_MAX_BYTES 1536

static size_t size_of(const struct vbd_connection *connection, const char *side)
{
	struct vbd_encoder out = vbd_encode_begin();
	size_t size_bytes = 0;
	char *text;

	vbd_put_connection(&out, connection);
	text = vbd_encode_end(&out, &size_bytes);
	assert_non_null(text);
	(void)printf("%s: %zu bytes\n%s\n", side, size_bytes, text);
	free(text);
	return size_bytes;
}

static void test_connection__one_with_defaults_is_small(void **state)
{
	struct svc_pair pair = svc_pair(*state, svc_listen(*state, NULL));

	vbd_conn_refresh_qp(pair.active->conn);
	vbd_conn_refresh_qp(pair.passive->conn);
	assert_in_range(size_of(pair.active, "active side"), 1, SIZE_MAX_BYTES);
	assert_in_range(size_of(pair.passive, "passive side"), 1, SIZE_MAX_BYTES);
}

static void test_connection__has_counters_of_posted_operations_only(void **state)
{
	struct svc_pair pair = svc_pair(*state, svc_listen(*state, NULL));
	struct vbd_encoder out = vbd_encode_begin();
	json_t *json;

	vbd_put_connection(&out, pair.active);
	json = document_end(&out);
	assert_int_equal(json_object_size(json_object_get(json, "counters")), 0);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_connection__##name, svc_setup, svc_teardown)
		TEST(one_with_defaults_is_small),
		TEST(has_counters_of_posted_operations_only),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
