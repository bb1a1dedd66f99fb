/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/private_data.h"

#include "api/json/encode.h"
#include "base/utf8.h"

const struct vbd_field vbd_private_data_fields[VBD_PRIVATE_DATA_FIELD_COUNT] = {
	{VBD_FIELD(STRING, "data", struct vbd_private_data_input, data), .required = true,
		.max = 1024, .raw = true},
	{VBD_FIELD(ENUM, "encoding", struct vbd_private_data_input, encoding),
		.names = vbd_encoding_names, .n_names = VBD_ENCODING_AUTO},
};

enum vbd_status vbd_private_data_decode(const struct vbd_private_data_input *input,
	struct vbd_private_data *ret_data, struct vbd_error *err)
{
	enum vbd_status status;
	size_t length_bytes;
	uint8_t *bytes;

	*ret_data = (struct vbd_private_data){0};
	if (!input->data)
		return VBD_OK;
	status = vbd_codec_decode(input->data, (enum vbd_encoding)input->encoding,
		VBD_PRIVATE_DATA_MAX, "/private_data/data", &bytes, &length_bytes, err);
	if (status != VBD_OK)
		return status;
	memcpy(ret_data->bytes, bytes, length_bytes);
	ret_data->length_bytes = (uint8_t)length_bytes;
	free(bytes);
	return VBD_OK;
}

void vbd_put_private_data(struct vbd_encoder *out, const char *name,
	const struct vbd_private_data *data, uint8_t shown_bytes)
{
	enum vbd_encoding encoding =
		vbd_utf8_printable(data->bytes, shown_bytes) ? VBD_ENCODING_TEXT : VBD_ENCODING_HEX;

	if (!shown_bytes) {
		vbd_put_null(out, name);
		return;
	}
	vbd_begin_object(out, name);
	vbd_put_text(out, "carried_by", vbd_cm_message_name(data->message));
	vbd_put_data(out, "data", data->bytes, shown_bytes, encoding);
	vbd_put_text(out, "encoding", vbd_encoding_names[encoding]);
	vbd_put_u64(out, "length_bytes", data->length_bytes);
	vbd_end(out);
}
