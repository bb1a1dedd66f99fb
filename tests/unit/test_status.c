/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

#include <ctype.h>

static bool all_of(const char *text, int (*is)(int), const char *others)
{
	for (; *text; text++) {
		if (!is((unsigned char)*text) && !strchr(others, *text))
			return false;
	}
	return true;
}

TEST(test_status__every_status_has_code_text_and_hint)
{
	for (unsigned int i = 1; i < VBD_STATUS_COUNT; i++) {
		const char *code = vbd_status_code(i);
		const char *text = vbd_status_text(i);
		const char *hint = vbd_status_hint(i);

		assert_true(strlen(code) > 0 && all_of(code, islower, "_0123456789"));
		assert_true(strlen(text) > 0);
		assert_true(text[strlen(text) - 1] != '.');
		assert_true(isupper((unsigned char)hint[0]));
		assert_true(strchr(".?", hint[strlen(hint) - 1]) != NULL);
	}
}

TEST(test_status__every_http_status_is_one_of_an_error)
{
	assert_int_equal(vbd_status_http(VBD_OK), 200);
	for (unsigned int i = 1; i < VBD_STATUS_COUNT; i++)
		assert_in_range(vbd_status_http(i), 400, 599);
}

/* These are the statuses after which curl --retry, proxies and libraries send a request again. */
static bool is_repeated_by_clients(unsigned int http)
{
	return http == 408 || http == 429 || http == 500 || http == 502 || http == 503 ||
	       http == 504;
}

TEST(test_status__clients_repeat_only_requests_that_did_nothing)
{
	static const enum vbd_status refusals[] = {VBD_E_TOO_MANY_REQUESTS, VBD_E_THROTTLED,
		VBD_E_TOO_MANY_CLIENTS, VBD_E_NO_DEVICE, VBD_E_DEVICE_REMOVED, VBD_E_FD_LIMIT,
		VBD_E_PERMISSION_DENIED, VBD_E_CONNECT_ERROR, VBD_E_VERBS_ERROR, VBD_E_STOPPING,
		VBD_E_DRAINING, VBD_E_INTERNAL};

	for (unsigned int i = 1; i < VBD_STATUS_COUNT; i++) {
		bool refusal = false;

		for (size_t k = 0; k < VBD_ARRAY_LEN(refusals); k++)
			refusal |= refusals[k] == i;
		if (is_repeated_by_clients(vbd_status_http(i)) != refusal)
			fail_msg("%s is %u", vbd_status_code(i), vbd_status_http(i));
	}
}

TEST(test_status__a_client_is_told_when_to_try_again)
{
	for (unsigned int i = 1; i < VBD_STATUS_COUNT; i++) {
		bool waiting_helps = vbd_status_http(i) == 429 || vbd_status_http(i) == 503;

		assert_int_equal(vbd_status_retry_after_s(i) > 0, waiting_helps);
	}
}

TEST(test_status__codes_are_those_of_the_contract_in_its_order)
{
	struct openapi_enum codes;

	openapi_read_enum("ProblemCode", &codes);
	assert_int_equal(codes.count, VBD_STATUS_COUNT - 1);
	for (unsigned int i = 1; i < VBD_STATUS_COUNT; i++)
		assert_string_equal(codes.values[i - 1], vbd_status_code(i));
}

TEST(test_status__no_code_is_given_twice)
{
	for (unsigned int i = 0; i < VBD_STATUS_COUNT; i++) {
		for (unsigned int j = i + 1; j < VBD_STATUS_COUNT; j++)
			assert_string_not_equal(vbd_status_code(i), vbd_status_code(j));
	}
}

TEST(test_status__a_value_that_is_no_status_is_internal)
{
	assert_string_equal(vbd_status_code(VBD_STATUS_COUNT), "internal");
	assert_string_equal(vbd_status_code((enum vbd_status) - 1), "internal");
	assert_int_equal(vbd_status_http(VBD_STATUS_COUNT), 500);
}
