/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of buffers: download, upload, checksum. Each has a reference to its buffer, so that the
 * buffer can be deleted meanwhile.
 */
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/json/writer.h"
#include "daemon/memory/checksum.h"

/* The buffer of the path if its memory can be accessed; else NULL, with `err` of the request. */
static struct vbd_buffer *find_accessible_buffer(struct vbd_request *req)
{
	struct vbd_buffer *buffer = vbd_registry_find_for(
		vbd_request_daemon(req)->buffers, req->caller, req->ref, VBD_TO_USE, &req->err);

	if (buffer && vbd_buffer_has_bytes(buffer, &req->err) != VBD_OK)
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
	struct vbd_error err = {0};

	if (size > left)
		size = (size_t)left;
	if (vbd_mem_read(&download->buffer->mem, download->offset + offset, buf, size, &err) !=
		VBD_OK) {
		vbd_log(VBD_LOG_ERROR, "buffer", "a download breaks off: %s", err.text);
		return 0;
	}
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
	struct vbd_reader reader = {
		.read = read_download,
		.free = free_download,
		.arg = download,
		.length_bytes = length_bytes,
	};

	if (!download) {
		(void)vbd_error_set(&req->err, VBD_E_NO_MEMORY, "no memory for the download");
		return;
	}
	vbd_buffer_ref(buffer);
	download->buffer = buffer;
	download->offset = offset;
	download->length_bytes = length_bytes;
	vbd_reply_stream(req, status, &reader);
}

static void reply_range_outside(struct vbd_request *req, const struct vbd_buffer *buffer)
{
	char text[48];

	(void)snprintf(text, sizeof(text), "bytes */%zu", buffer->mem.size_bytes);
	vbd_reply_add_header(&req->reply, "Content-Range", text);
	(void)vbd_error_input(&req->err, VBD_E_RANGE_NOT_SATISFIABLE, "Range",
		"the Range begins after the end of buffer %" PRIu64 ", which has %zu bytes",
		buffer->object.id, buffer->mem.size_bytes);
}

/* The Range header that is in force. The bytes have no validator, since peers write them unseen, so
 * no If-Range holds: the answer is the whole (RFC 9110, 13.1.5). */
static const char *asked_range(struct vbd_request *req)
{
	return vbd_request_header(req, VBD_HEADER_IF_RANGE) || vbd_condition_is_known(req, NULL)
		       ? NULL
		       : vbd_request_header(req, VBD_HEADER_RANGE);
}

static void reply_by_header(struct vbd_request *req, struct vbd_buffer *buffer)
{
	uint64_t first = 0, length_bytes = 0;
	char text[96];

	vbd_reply_add_header(&req->reply, "Accept-Ranges", "bytes");
	switch (vbd_range_parse(asked_range(req), buffer->mem.size_bytes, &first, &length_bytes)) {
	case VBD_RANGE_WHOLE:
		reply_range(req, buffer, 200, 0, buffer->mem.size_bytes);
		break;
	case VBD_RANGE_PART:
		(void)snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%zu", first,
			first + length_bytes - 1, buffer->mem.size_bytes);
		vbd_reply_add_header(&req->reply, "Content-Range", text);
		reply_range(req, buffer, 206, first, length_bytes);
		break;
	case VBD_RANGE_OUTSIDE:
		reply_range_outside(req, buffer);
		break;
	}
}

static bool has_param(const struct vbd_request *req, const char *name)
{
	return vbd_uri_param(&req->uri, name) != NULL;
}

/* The range of the parameters: from offset_bytes on, to the end without length_bytes. */
static enum vbd_status parse_range(const struct vbd_request *req, const struct vbd_buffer *buffer,
	uint64_t *ret_offset, uint64_t *ret_length_bytes, struct vbd_error *err)
{
	const uint64_t size_bytes = buffer->mem.size_bytes;
	enum vbd_status status = vbd_query_u64(req, "offset_bytes", 0, INT64_MAX, ret_offset, err);

	*ret_length_bytes = *ret_offset < size_bytes ? size_bytes - *ret_offset : 0;
	if (status == VBD_OK)
		status = vbd_query_u64(req, "length_bytes", 0, INT64_MAX, ret_length_bytes, err);
	if (status == VBD_OK)
		status = vbd_buffer_check_range(buffer, *ret_offset, *ret_length_bytes,
			has_param(req, "length_bytes") ? "length_bytes" : "offset_bytes", err);
	return status;
}

static void reply_by_params(struct vbd_request *req, struct vbd_buffer *buffer)
{
	uint64_t offset = 0, length_bytes = 0;

	if (asked_range(req))
		(void)vbd_error_input(&req->err, VBD_E_BAD_VALUE, "Range",
			"give Range, or offset_bytes and length_bytes, not both");
	else if (parse_range(req, buffer, &offset, &length_bytes, &req->err) == VBD_OK)
		reply_range(req, buffer, 200, offset, length_bytes);
}

void vbd_get_buffer_data(struct vbd_request *req)
{
	struct vbd_buffer *buffer = find_accessible_buffer(req);
	const struct vbd_condition_of of = {.what = req->path};

	if (!buffer || vbd_condition_check(req, &of, &req->err) != VBD_OK)
		return;
	if (has_param(req, "offset_bytes") || has_param(req, "length_bytes"))
		reply_by_params(req, buffer);
	else
		reply_by_header(req, buffer);
}

/* --- the checksum of a range ----------------------------------------------------------------- */

static const char *const algorithm_names[] = {
	[VBD_CHECKSUM_CRC32C] = "crc32c",
	[VBD_CHECKSUM_SHA256] = "sha256",
};

static void reply_checksum(struct vbd_request *req, size_t algorithm, const char *hex,
	uint64_t offset, uint64_t length_bytes)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "algorithm", algorithm_names[algorithm]);
	vbd_put_text(&out, "checksum", hex);
	vbd_put_u64(&out, "offset_bytes", offset);
	vbd_put_u64(&out, "length_bytes", length_bytes);
	vbd_reply_json(req, 200, &out);
}

/* --- upload ---------------------------------------------------------------------------------- */

struct upload {
	struct vbd_buffer *buffer; /* referenced */
	uint64_t offset;
	uint64_t length_bytes;	  /* written so far */
	uint64_t announced_bytes; /* UINT64_MAX: the client does not say */
	uint32_t crc32c;
};

static enum vbd_status check_announced(
	const struct upload *upload, uint64_t length_bytes, struct vbd_error *err)
{
	if (upload->announced_bytes == UINT64_MAX || upload->announced_bytes == length_bytes)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_BAD_VALUE, "length_bytes",
		"length_bytes is %" PRIu64 ", but the body has another length",
		upload->announced_bytes);
}

/* Name the parameter that makes a range pass the end of the buffer. Without an offset there is
 * none: the body is too long. */
static const char *param_beyond_end(const struct upload *upload)
{
	return upload->offset ? "offset_bytes" : "";
}

static enum vbd_status write_upload(
	void *arg, const void *bytes, size_t len_bytes, struct vbd_error *err)
{
	struct upload *upload = arg;
	uint64_t at = upload->offset + upload->length_bytes;
	enum vbd_status status = vbd_buffer_check_range(
		upload->buffer, at, len_bytes, param_beyond_end(upload), err);

	if (status == VBD_OK && len_bytes > upload->announced_bytes - upload->length_bytes)
		status = check_announced(upload, UINT64_MAX, err);
	if (status != VBD_OK)
		return status;
	status = vbd_mem_write(&upload->buffer->mem, at, bytes, len_bytes, err);
	if (status != VBD_OK)
		return status;
	upload->crc32c = vbd_crc32c_add(upload->crc32c, bytes, len_bytes);
	upload->length_bytes += len_bytes;
	return VBD_OK;
}

static void close_upload(void *arg)
{
	struct upload *upload = arg;

	vbd_buffer_unref(upload->buffer);
	free(upload);
}

static enum vbd_status parse_upload(
	const struct vbd_request *req, struct upload *upload, struct vbd_error *err)
{
	const bool known = req->content_bytes != UINT64_MAX;
	enum vbd_status status =
		vbd_query_u64(req, "offset_bytes", 0, INT64_MAX, &upload->offset, err);

	if (status == VBD_OK)
		status = vbd_query_u64(
			req, "length_bytes", 0, INT64_MAX, &upload->announced_bytes, err);
	if (status == VBD_OK && known)
		status = check_announced(upload, req->content_bytes, err);
	if (status == VBD_OK)
		status = vbd_buffer_check_range(upload->buffer, upload->offset,
			known ? req->content_bytes : 0, param_beyond_end(upload), err);
	return status;
}

static enum vbd_status open_upload(
	struct vbd_request *req, struct vbd_buffer *buffer, struct vbd_error *err)
{
	const struct vbd_condition_of of = {.what = req->path};
	struct vbd_sink sink = {.write = write_upload, .close = close_upload};
	struct upload *upload;
	enum vbd_status status = vbd_condition_check(req, &of, err);

	if (status != VBD_OK)
		return status;
	upload = calloc(1, sizeof(*upload));
	if (!upload)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the upload");
	*upload = (struct upload){.buffer = buffer, .announced_bytes = UINT64_MAX};
	status = parse_upload(req, upload, err);
	if (status != VBD_OK) {
		free(upload);
		return status;
	}
	vbd_buffer_ref(buffer);
	sink.arg = upload;
	req->sink = sink;
	return VBD_OK;
}

/* Called before the body, so that an invalid upload is refused before its bytes are sent. */
void vbd_open_buffer_data(struct vbd_request *req)
{
	struct vbd_buffer *buffer = find_accessible_buffer(req);

	if (buffer)
		(void)!open_upload(req, buffer, &req->err);
}

void vbd_put_buffer_data(struct vbd_request *req)
{
	const struct upload *upload = req->sink.arg;
	char crc32c[9];

	if (check_announced(upload, upload->length_bytes, &req->err) != VBD_OK)
		return;
	(void)snprintf(crc32c, sizeof(crc32c), "%08x", upload->crc32c);
	reply_checksum(req, VBD_CHECKSUM_CRC32C, crc32c, upload->offset, upload->length_bytes);
}

/* --- checksum -------------------------------------------------------------------------------- */

struct summing {
	struct vbd_request *req;
	struct vbd_summation *summation;
	size_t algorithm;
	uint64_t offset;
	uint64_t length_bytes;
};

static void on_checksum_computed(const char *hex, const struct vbd_error *err, void *arg)
{
	struct summing *summing = arg;

	if (hex)
		reply_checksum(summing->req, summing->algorithm, hex, summing->offset,
			summing->length_bytes);
	else
		vbd_reply_problem(summing->req, err);
	free(summing);
}

static void on_summing_gone(struct vbd_request *req, void *arg)
{
	struct summing *summing = arg;

	(void)req;
	vbd_summation_cancel(summing->summation);
	free(summing);
}

static enum vbd_status parse_checksum_query(const struct vbd_request *req,
	const struct vbd_buffer *buffer, struct summing *summing, struct vbd_error *err)
{
	enum vbd_status status =
		parse_range(req, buffer, &summing->offset, &summing->length_bytes, err);

	if (status == VBD_OK)
		status = vbd_query_enum(req, "algorithm", algorithm_names,
			VBD_ARRAY_LEN(algorithm_names), &summing->algorithm, err);
	return status;
}

void vbd_get_buffer_checksum(struct vbd_request *req)
{
	struct vbd_buffer *buffer = find_accessible_buffer(req);
	struct summing *summing = calloc(1, sizeof(*summing));

	if (!summing)
		(void)vbd_error_set(&req->err, VBD_E_NO_MEMORY, "no memory for the checksum");
	if (buffer && summing && parse_checksum_query(req, buffer, summing, &req->err) == VBD_OK &&
		vbd_request_park(req, 0, NULL, on_summing_gone, summing, &req->err) == VBD_OK) {
		summing->req = req;
		if (vbd_buffer_checksum(buffer, req->caller, (enum vbd_checksum)summing->algorithm,
			    summing->offset, summing->length_bytes, on_checksum_computed, summing,
			    &summing->summation, &req->err) == VBD_OK)
			return;
	}
	free(summing);
}
