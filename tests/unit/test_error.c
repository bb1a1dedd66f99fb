/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "tests/unit/unit.h"

TEST(test_error__the_first_cause_is_kept)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_error_set(&err, VBD_E_IN_USE, "buffer %d is used", 7), VBD_E_IN_USE);
	assert_int_equal(vbd_error_set(&err, VBD_E_INTERNAL, "later"), VBD_E_INTERNAL);
	(void)vbd_error_errno(&err, VBD_OK, "ibv_reg_mr", ENOMEM, "later");
	(void)vbd_error_input(&err, VBD_E_WRONG_TYPE, "/name", "later");
	assert_int_equal(err.status, VBD_E_IN_USE);
	assert_string_equal(err.text, "buffer 7 is used");
	assert_int_equal(err.source, VBD_SOURCE_NONE);
	assert_null(err.call);
	assert_string_equal(err.pointer, "");
}

TEST(test_error__a_null_error_still_gives_the_status)
{
	assert_int_equal(vbd_error_set(NULL, VBD_E_NOT_FOUND, "x"), VBD_E_NOT_FOUND);
	assert_int_equal(vbd_error_errno(NULL, VBD_OK, "open", EMFILE, "x"), VBD_E_FD_LIMIT);
	assert_int_equal(vbd_error_input(NULL, VBD_E_TOO_LONG, "/x", "x"), VBD_E_TOO_LONG);
}

TEST(test_error__a_failure_is_never_ok)
{
	assert_int_equal(vbd_error_set(NULL, VBD_OK, "x"), VBD_E_INTERNAL);
	assert_int_equal(vbd_error_input(NULL, VBD_OK, "/x", "x"), VBD_E_INTERNAL);
}

TEST(test_error__an_errno_names_call_number_and_meaning)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_error_errno(&err, VBD_OK, "ibv_reg_mr", ENOMEM, "buffer %s", "a"),
		VBD_E_NO_MEMORY);
	assert_int_equal(err.source, VBD_SOURCE_ERRNO);
	assert_int_equal(err.raw, ENOMEM);
	assert_string_equal(err.call, "ibv_reg_mr");
	assert_string_equal(err.text, "buffer a: ibv_reg_mr: Cannot allocate memory (ENOMEM)");
}

TEST(test_error__a_call_that_fails_without_an_errno_never_says_success)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_error_errno(&err, VBD_OK, "ibv_create_qp", 0, "inline 64 bytes"),
		VBD_E_VERBS_ERROR);
	assert_int_equal(err.source, VBD_SOURCE_ERRNO);
	assert_string_equal(err.text, "inline 64 bytes: ibv_create_qp failed and gave no reason");
	assert_string_equal(vbd_errno_name((int)err.raw), "");
}

TEST(test_error__an_errno_of_either_sign_means_the_same)
{
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_error_errno(&err, VBD_OK, "ibv_post_send", -ENOMEM, "qp 1"), VBD_E_NO_MEMORY);
	assert_int_equal(err.raw, ENOMEM);
	assert_string_equal(err.text, "qp 1: ibv_post_send: Cannot allocate memory (ENOMEM)");
}

TEST(test_error__a_status_given_beats_the_one_of_the_errno)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_error_errno(&err, VBD_E_MEMLOCK, "ibv_reg_mr", ENOMEM, "buffer"),
		VBD_E_MEMLOCK);
	assert_int_equal(err.status, VBD_E_MEMLOCK);
}

TEST(test_error__a_lack_of_descriptors_is_that_whatever_the_call_was_for)
{
	assert_int_equal(
		vbd_error_errno(NULL, VBD_E_NOT_SUPPORTED, "socket", EMFILE, "x"), VBD_E_FD_LIMIT);
	assert_int_equal(vbd_error_errno(NULL, VBD_E_ADDR_ERROR, "rdma_resolve_addr", ENFILE, "x"),
		VBD_E_FD_LIMIT);
}

TEST(test_error__each_errno_with_a_meaning_of_its_own_has_its_status)
{
	static const struct {
		int errnum;
		enum vbd_status status;
	} pairs[] = {
		{ENOMEM, VBD_E_NO_MEMORY},
		{EMFILE, VBD_E_FD_LIMIT},
		{ENFILE, VBD_E_FD_LIMIT},
		{EACCES, VBD_E_PERMISSION_DENIED},
		{EPERM, VBD_E_PERMISSION_DENIED},
		{EROFS, VBD_E_PERMISSION_DENIED},
		{EADDRINUSE, VBD_E_ADDRESS_IN_USE},
		{EADDRNOTAVAIL, VBD_E_ADDRESS_NOT_AVAILABLE},
		{ENODEV, VBD_E_NO_DEVICE},
		{EOPNOTSUPP, VBD_E_NOT_SUPPORTED},
		{EAGAIN, VBD_E_DEVICE_LIMIT},
		{EINVAL, VBD_E_VERBS_ERROR},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(pairs); i++)
		assert_int_equal(
			vbd_error_errno(NULL, VBD_OK, "x", pairs[i].errnum, "x"), pairs[i].status);
}

TEST(test_error__bad_input_names_its_pointer)
{
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_error_input(&err, VBD_E_OUT_OF_RANGE, "/qp/sq_depth", "%d is above %d", 9, 8),
		VBD_E_OUT_OF_RANGE);
	assert_int_equal(err.source, VBD_SOURCE_INPUT);
	assert_string_equal(err.pointer, "/qp/sq_depth");
	assert_string_equal(err.text, "9 is above 8");
}

TEST(test_error__a_bad_parameter_is_named)
{
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_error_param(&err, VBD_E_OUT_OF_RANGE, "sq_depth", "%d is above %d", 9, 8),
		VBD_E_OUT_OF_RANGE);
	assert_int_equal(
		vbd_error_param(&err, VBD_E_BAD_VALUE, "rq_depth", "late"), VBD_E_BAD_VALUE);
	assert_int_equal(err.source, VBD_SOURCE_INPUT);
	assert_string_equal(err.param, "sq_depth");
	assert_string_equal(err.text, "9 is above 8");
}

TEST(test_error__long_texts_are_cut_and_stay_terminated)
{
	struct vbd_error err = {0};
	char longest[600];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	(void)vbd_error_input(&err, VBD_E_TOO_LONG, longest, "%s", longest);
	assert_int_equal(strlen(err.pointer), sizeof(err.pointer) - 1);
	assert_true(strlen(err.text) < sizeof(err.text));
}

TEST(test_error__an_unknown_errno_has_a_name_too)
{
	assert_string_equal(vbd_errno_name(ENOMEM), "ENOMEM");
	assert_string_equal(vbd_errno_name(4242), "E?");
	assert_string_equal(vbd_errno_name(524), "ENOTSUPP");
}
