/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/reason.h"

#include "tests/unit/unit.h"

TEST(test_reason__each_has_a_name_a_text_and_a_status)
{
	for (unsigned int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		enum vbd_reason reason = (enum vbd_reason)i;
		const char *text = vbd_reason_text(reason);

		assert_string_equal(
			vbd_reason_name(reason), vbd_status_code(vbd_reason_status(reason)));
		assert_true(text[0] >= 'A' && text[0] <= 'Z');
		assert_true(text[strlen(text) - 1] != '.');
		assert_int_not_equal(vbd_reason_status(reason), VBD_OK);
		assert_true(vbd_status_hint(vbd_reason_status(reason))[0] != '\0');
	}
}

TEST(test_reason__none_and_strange_numbers_are_none)
{
	assert_string_equal(vbd_reason_name(VBD_REASON_NONE), "none");
	assert_string_equal(vbd_reason_name((enum vbd_reason)999), "none");
	assert_string_equal(vbd_reason_name((enum vbd_reason) - 1), "none");
	assert_int_equal(vbd_reason_status(VBD_REASON_NONE), VBD_OK);
}

TEST(test_reason__only_what_somebody_wanted_is_clean)
{
	for (unsigned int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		bool clean = i == VBD_REASON_PEER_DISCONNECT || i == VBD_REASON_LOCAL_CLOSE ||
			     i == VBD_REASON_CANCELLED || i == VBD_REASON_STOPPING ||
			     i == VBD_REASON_REJECTED_LOCALLY;

		assert_int_equal(vbd_reason_clean((enum vbd_reason)i), clean);
	}
}

TEST(test_reason__a_failed_completion_has_its_reason)
{
	static const struct {
		enum vbd_status status;
		enum vbd_reason reason;
	} pairs[] = {
		{VBD_E_REMOTE_ACCESS, VBD_REASON_REMOTE_ACCESS},
		{VBD_E_RETRY_EXCEEDED, VBD_REASON_RETRY_EXCEEDED},
		{VBD_E_RNR_EXCEEDED, VBD_REASON_RNR_EXCEEDED},
		{VBD_E_REMOTE_OPERATION, VBD_REASON_REMOTE_OPERATION},
		{VBD_E_REMOTE_INVALID, VBD_REASON_REMOTE_INVALID},
		{VBD_E_LOCAL_ERROR, VBD_REASON_LOCAL_ERROR},
		{VBD_E_QP_FATAL, VBD_REASON_QP_FATAL},
		{VBD_E_TIMED_OUT, VBD_REASON_TIMED_OUT},
		{VBD_E_DEVICE_REMOVED, VBD_REASON_DEVICE_REMOVED},
		{VBD_E_VERBS_ERROR, VBD_REASON_RESOURCE_ERROR},
		{VBD_E_INTERNAL, VBD_REASON_PROTOCOL_ERROR},
		{VBD_E_NO_MEMORY, VBD_REASON_LOCAL_ERROR},
		{VBD_OK, VBD_REASON_LOCAL_ERROR},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(pairs); i++)
		assert_int_equal(vbd_reason_of_status(pairs[i].status), pairs[i].reason);
}
