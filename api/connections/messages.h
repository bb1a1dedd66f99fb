/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of connections and endpoints: the schemas MessageSend and UdMessageSend of openapi.yaml,
 * which contain the bytes, and the answer to GET of the messages in an inbox.
 *
 * Control thread.
 */
#ifndef VBD_API_CONNECTIONS_MESSAGES_H
#define VBD_API_CONNECTIONS_MESSAGES_H

#include "api/json/codec.h"
#include "api/json/decode.h"

struct vbd_inbox;
struct vbd_link;
struct vbd_request;

/* Decoded with VBD_MESSAGE_FIELDS; the strings point into the document. */
struct vbd_message_input {
	const char *data;
	uint32_t encoding;
	uint32_t imm;
	bool imm_seen;
	uint32_t timeout_ms;
};

/* The defaults of absent members. */
#define VBD_MESSAGE_INPUT_DEFAULT                                  \
	{                                                          \
		.encoding = VBD_ENCODING_TEXT, .timeout_ms = 30000 \
	}

/* The rows of a struct that has `struct vbd_message_input message`. */
#define VBD_MESSAGE_FIELDS(type_)                                                                  \
	{VBD_FIELD(STRING, "data", type_, message.data), .required = true, .max = 131072,          \
		.raw = true},                                                                      \
		{VBD_FIELD(ENUM, "encoding", type_, message.encoding),                             \
			.names = vbd_encoding_names, .n_names = VBD_ENCODING_AUTO},                \
		{VBD_FIELD(UINT, "imm", type_, message.imm), .max = UINT32_MAX,                    \
			VBD_FIELD_SEEN(type_, message.imm_seen)},                                  \
	{                                                                                          \
		VBD_FIELD(UINT, "timeout_ms", type_, message.timeout_ms), .min = 1, .max = 3600000 \
	}

/**
 * vbd_message_decode - decode the bytes of a message
 * @ret_bytes: from malloc(), owned by the caller; never NULL
 */
enum vbd_status vbd_message_decode(const struct vbd_message_input *input, uint8_t **ret_bytes,
	uint32_t *ret_len_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_message_imm - the immediate data of a message, in @input; NULL if it has none */
const uint32_t *vbd_message_imm(const struct vbd_message_input *input);

/* The inbox of a connection or an endpoint, for GET of its messages. The strings are static. */
struct vbd_inbox_view {
	const struct vbd_inbox *inbox;
	struct vbd_link *watches;
	/* True if no more messages can arrive. */
	bool (*over)(const void *owner);
	const void *owner;
	const char *kind; /* "connection" */
};

/** vbd_reply_inbox - answer a GET of messages, after at most `wait_ms` of the request */
void vbd_reply_inbox(struct vbd_request *req, const struct vbd_inbox_view *view);

/** vbd_query_through - the parameter `through` of a DELETE of messages */
enum vbd_status vbd_query_through(
	const struct vbd_request *req, uint64_t *ret_through, struct vbd_error *err) VBD_MUST_CHECK;

#endif
