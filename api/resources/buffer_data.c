/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of buffers: download, upload, checksum. Each has a reference to its buffer, so that the
 * buffer can be deleted meanwhile.
 */
#include "api/http/range.h"
#include "api/json/encode.h"
#include "api/resources/buffers.h"
#include "api/resources/context.h"
#include "daemon/memory/buffers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Find the buffer of the path if its memory can be accessed; else return NULL, with @err. */
static struct vbd_buffer *find_bytes(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_buffer *buffer =
		vbd_object_find(vbd_request_daemon(req)->buffers, req->ref, err);

	if (buffer && vbd_buffer_has_bytes(buffer, err) != VBD_OK)
		return NULL;
	return buffer;
}

/* --- download -------------------------------------------------------------------------------- */

struct download {
	struct vbd_buffer *buffer; /* referenced */
	uint64_t offset;
	uint64_t length_bytes;
};

static size_t read_download(void *arg, uint64_t offset, char *buf, size_t size)
{
	struct download *download = arg;
	uint64_t left = download->length_bytes - offset;

	if (size > left)
		size = (size_t)left;
	memcpy(buf, download->buffer->mem.addr + download->offset + offset, size);
	return size;
}

static void free_download(void *arg)
{
	struct download *download = arg;

	vbd_buffer_unref(download->buffer);
	free(download);
}

static void reply_range(struct vbd_request *req, struct vbd_buffer *buffer, unsigned int status,
	uint64_t offset, uint64_t length_bytes)
{
	struct download *download = calloc(1, sizeof(*download));
	struct vbd_error err = {0};
	struct vbd_reader reader = {
		.read = read_download,
		.free = free_download,
		.arg = download,
		.length_bytes = length_bytes,
	};

	if (!download) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the download");
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_buffer_ref(buffer);
	download->buffer = buffer;
	download->offset = offset;
	download->length_bytes = length_bytes;
	vbd_reply_stream(req, status, &reader);
}

static void reply_outside(struct vbd_request *req, const struct vbd_buffer *buffer)
{
	struct vbd_error err = {0};
	char text[48];

	(void)snprintf(text, sizeof(text), "bytes */%zu", buffer->mem.size_bytes);
	vbd_request_add_header(req, "Content-Range", text);
	(void)vbd_error_input(&err, VBD_E_RANGE_NOT_SATISFIABLE, "Range",
		"the Range begins after the end of buffer %" PRIu64 ", which has %zu bytes",
		buffer->object.id, buffer->mem.size_bytes);
	vbd_reply_problem(req, &err);
}

void vbd_get_buffer_data(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_buffer *buffer = find_bytes(req, &err);
	uint64_t first = 0, length_bytes = 0;
	char text[96];

	if (!buffer) {
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_request_add_header(req, "Accept-Ranges", "bytes");
	switch (vbd_range_parse(
		vbd_request_header(req, "Range"), buffer->mem.size_bytes, &first, &length_bytes)) {
	case VBD_RANGE_WHOLE:
		reply_range(req, buffer, 200, 0, buffer->mem.size_bytes);
		break;
	case VBD_RANGE_PART:
		(void)snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%zu", first,
			first + length_bytes - 1, buffer->mem.size_bytes);
		vbd_request_add_header(req, "Content-Range", text);
		reply_range(req, buffer, 206, first, length_bytes);
		break;
	case VBD_RANGE_OUTSIDE:
		reply_outside(req, buffer);
		break;
	}
}

/* --- upload ---------------------------------------------------------------------------------- */

struct upload {
	struct vbd_buffer *buffer; /* referenced */
	uint64_t at;
};

static enum vbd_status write_upload(
	void *arg, const void *bytes, size_t len_bytes, struct vbd_error *err)
{
	struct upload *upload = arg;
	enum vbd_status status =
		vbd_buffer_check_range(upload->buffer, upload->at, len_bytes, "offset", err);

	if (status != VBD_OK)
		return status;
	memcpy(upload->buffer->mem.addr + upload->at, bytes, len_bytes);
	upload->at += len_bytes;
	return VBD_OK;
}

static void close_upload(void *arg)
{
	struct upload *upload = arg;

	vbd_buffer_unref(upload->buffer);
	free(upload);
}

static enum vbd_status open_upload(
	struct vbd_request *req, struct vbd_buffer *buffer, struct vbd_error *err)
{
	struct vbd_sink sink = {.write = write_upload, .close = close_upload};
	struct upload *upload;
	uint64_t offset = 0;
	enum vbd_status status = vbd_query_u64(req, "offset", 0, INT64_MAX, &offset, err);

	if (status == VBD_OK)
		status = vbd_buffer_check_range(buffer, offset,
			req->content_bytes == UINT64_MAX ? 0 : req->content_bytes, "offset", err);
	if (status != VBD_OK)
		return status;
	upload = calloc(1, sizeof(*upload));
	if (!upload)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the upload");
	vbd_buffer_ref(buffer);
	upload->buffer = buffer;
	upload->at = offset;
	sink.arg = upload;
	vbd_request_set_sink(req, &sink);
	return VBD_OK;
}

/* Called before the body, so that an invalid upload is refused before its bytes are sent. */
void vbd_open_buffer_data(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_buffer *buffer = find_bytes(req, &err);

	if (!buffer || open_upload(req, buffer, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
}

void vbd_put_buffer_data(struct vbd_request *req)
{
	vbd_reply_empty(req, 204);
}

/* --- checksum -------------------------------------------------------------------------------- */

static const char *const algorithm_names[] = {
	[VBD_CHECKSUM_CRC32C] = "crc32c",
	[VBD_CHECKSUM_SHA256] = "sha256",
};

struct summing {
	struct vbd_request *req; /* NULL once the client has left */
	size_t algorithm;
	uint64_t offset;
	uint64_t length_bytes;
};

static void on_checksum(const char *hex, const struct vbd_error *err, void *arg)
{
	struct summing *summing = arg;
	struct vbd_encoder out;

	if (!summing->req) {
		free(summing);
		return;
	}
	if (!hex) {
		vbd_reply_problem(summing->req, err);
		free(summing);
		return;
	}
	out = vbd_encode_begin();
	vbd_put_text(&out, "algorithm", algorithm_names[summing->algorithm]);
	vbd_put_text(&out, "checksum", hex);
	vbd_put_u64(&out, "offset", summing->offset);
	vbd_put_u64(&out, "length_bytes", summing->length_bytes);
	vbd_reply_json(summing->req, 200, vbd_encode_end(&out));
	free(summing);
}

static void on_summing_gone(struct vbd_request *req, void *arg)
{
	struct summing *summing = arg;

	(void)req;
	summing->req = NULL;
}

static enum vbd_status parse_summing(const struct vbd_request *req, const struct vbd_buffer *buffer,
	struct summing *summing, struct vbd_error *err)
{
	const uint64_t size_bytes = buffer->mem.size_bytes;
	enum vbd_status status = vbd_query_u64(req, "offset", 0, INT64_MAX, &summing->offset, err);

	summing->length_bytes = summing->offset < size_bytes ? size_bytes - summing->offset : 0;
	if (status == VBD_OK)
		status = vbd_query_u64(
			req, "length_bytes", 0, INT64_MAX, &summing->length_bytes, err);
	if (status == VBD_OK)
		status = vbd_query_enum(req, "algorithm", algorithm_names,
			VBD_ARRAY_LEN(algorithm_names), &summing->algorithm, err);
	if (status == VBD_OK)
		status = vbd_buffer_check_range(buffer, summing->offset, summing->length_bytes,
			vbd_uri_param(&req->uri, "length_bytes") ? "length_bytes" : "offset", err);
	return status;
}

void vbd_get_buffer_checksum(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_buffer *buffer = find_bytes(req, &err);
	struct summing *summing = calloc(1, sizeof(*summing));

	if (!summing)
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the checksum");
	if (buffer && summing && parse_summing(req, buffer, summing, &err) == VBD_OK &&
		vbd_request_park(req, 0, NULL, on_summing_gone, summing, &err) == VBD_OK) {
		summing->req = req;
		if (vbd_buffer_checksum(buffer, (enum vbd_checksum)summing->algorithm,
			    summing->offset, summing->length_bytes, on_checksum, summing,
			    &err) == VBD_OK)
			return;
	}
	free(summing);
	vbd_reply_problem(req, &err);
}
