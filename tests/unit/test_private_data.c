/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/private_data.h"

#include "tests/unit/unit.h"

TEST(test_private_data__each_message_has_a_name_and_room)
{
	for (unsigned int i = 0; i < VBD_CM_MESSAGE_COUNT; i++) {
		enum vbd_cm_message message = (enum vbd_cm_message)i;

		assert_true(vbd_cm_message_name(message)[0] != '\0');
		assert_true(vbd_cm_message_room(message, false) > 0);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(vbd_cm_message_name(message),
				vbd_cm_message_name((enum vbd_cm_message)j));
	}
	assert_int_equal(vbd_cm_message_room(VBD_CM_MESSAGE_REQUEST, false), 56);
	assert_int_equal(vbd_cm_message_room(VBD_CM_MESSAGE_REPLY, false), 196);
	assert_int_equal(vbd_cm_message_room(VBD_CM_MESSAGE_REJECT, false), 148);
	assert_int_equal(vbd_cm_message_room(VBD_CM_MESSAGE_REQUEST, true), 251);
	assert_int_equal(vbd_cm_message_room(VBD_CM_MESSAGE_SIDR_REQUEST, true), 0);
}

TEST(test_private_data__one_byte_too_many_is_refused_with_the_room)
{
	struct vbd_private_data data = {.length_bytes = 56};
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_private_data_check(&data, VBD_CM_MESSAGE_REQUEST, false, "/p", &err), VBD_OK);
	data.length_bytes++;
	assert_int_equal(
		vbd_private_data_check(&data, VBD_CM_MESSAGE_REQUEST, true, "/p", &err), VBD_OK);
	assert_int_equal(vbd_private_data_check(&data, VBD_CM_MESSAGE_REQUEST, false, "/p", &err),
		VBD_E_TOO_LONG);
	assert_string_equal(err.pointer, "/p");
	assert_non_null(strstr(err.text, "57 bytes"));
	assert_non_null(strstr(err.text, "at most 56"));
	assert_non_null(strstr(err.text, "request"));
}

TEST(test_private_data__zeros_at_the_end_say_nothing)
{
	struct vbd_private_data data = {.length_bytes = 196};

	assert_int_equal(vbd_private_data_shown_bytes(&data), 0);
	data.bytes[3] = 1;
	assert_int_equal(vbd_private_data_shown_bytes(&data), 4);
	data.bytes[195] = 1;
	assert_int_equal(vbd_private_data_shown_bytes(&data), 196);
	data.length_bytes = 0;
	assert_int_equal(vbd_private_data_shown_bytes(&data), 0);
}
