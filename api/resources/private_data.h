/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schemas PrivateData and PrivateDataFull of openapi.yaml: private data of CM messages.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_PRIVATE_DATA_H
#define VBD_API_RESOURCES_PRIVATE_DATA_H

#include "api/json/codec.h"
#include "api/json/decode.h"
#include "rdma/device/private_data.h"

struct vbd_encoder;

/* Decoded with VBD_PRIVATE_DATA_FIELD. */
struct vbd_private_data_input {
	const char *data; /* points into the document; NULL: absent */
	uint32_t encoding;
};

#define VBD_PRIVATE_DATA_FIELD_COUNT 2
extern const struct vbd_field vbd_private_data_fields[VBD_PRIVATE_DATA_FIELD_COUNT];

/* The member `private_data` of a struct that has `struct vbd_private_data_input private_data`. */
#define VBD_PRIVATE_DATA_FIELD(type_)                                                 \
	{                                                                             \
		.name = "private_data", .type = VBD_FIELD_OBJECT,                     \
		VBD_FIELD_AT(type_, private_data), .fields = vbd_private_data_fields, \
		.n_fields = VBD_PRIVATE_DATA_FIELD_COUNT,                             \
	}

/** vbd_private_data_decode - decode the bytes; length 0 if absent. vbd_private_data_check() checks
 * the length for a CM message. */
enum vbd_status vbd_private_data_decode(const struct vbd_private_data_input *input,
	struct vbd_private_data *ret_data, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_put_private_data - put schema PrivateDataFull of the first @shown_bytes: text if printable,
 * else hex; null if there are none */
void vbd_put_private_data(struct vbd_encoder *out, const char *name,
	const struct vbd_private_data *data, uint8_t shown_bytes);

#endif
