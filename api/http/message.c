/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/message.h"

#include "daemon/work/transfers.h"

enum vbd_status vbd_message_decode(const struct vbd_message_input *input, uint8_t **ret_bytes,
	uint32_t *ret_len_bytes, struct vbd_error *err)
{
	size_t len_bytes;
	enum vbd_status status = vbd_codec_decode(input->data, (enum vbd_encoding)input->encoding,
		VBD_MESSAGE_BYTES_MAX, "/data", ret_bytes, &len_bytes, err);

	if (status == VBD_OK)
		*ret_len_bytes = (uint32_t)len_bytes;
	return status;
}

const uint32_t *vbd_message_imm(const struct vbd_message_input *input)
{
	return input->imm_seen ? &input->imm : NULL;
}
