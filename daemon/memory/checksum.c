/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/checksum.h"

#include <gnutls/crypto.h>
#include <isa-l/crc.h>

/* crc32_iscsi() takes its length as an int. */
#define CRC_STEP_BYTES (1U << 30)

/* Bytes that are copied out of the memory at a time. */
#define PIECE_BYTES ((size_t)65536)

/* Bytes of one turn on the thread pool: some ms. */
#define SLICE_BYTES (64 * PIECE_BYTES)

struct vbd_summation {
	struct vbd_buffer *buffer; /* referenced */
	const void *caller;	   /* never accessed: it may be gone */
	enum vbd_checksum algorithm;
	uint64_t offset, left_bytes; /* of the range that is not summed yet */
	uint32_t crc32c;
	gnutls_hash_hd_t sha256; /* NULL for CRC-32C */
	atomic_bool cancelled;
	struct vbd_error error;
	vbd_checksum_cb cb;
	void *arg;
};

uint32_t vbd_crc32c_add(uint32_t crc32c, const void *bytes, uint64_t len_bytes)
{
	unsigned int crc = ~crc32c;

	for (uint64_t at = 0; at < len_bytes; at += CRC_STEP_BYTES) {
		uint64_t left = len_bytes - at;
		/* crc32_iscsi() does not write, though its declaration lets it. */
		unsigned char *part = (unsigned char *)(uintptr_t)bytes + at;

		crc = crc32_iscsi(part, (int)(left < CRC_STEP_BYTES ? left : CRC_STEP_BYTES), crc);
	}
	return ~crc;
}

static enum vbd_status add_piece(
	struct vbd_summation *summation, uint8_t *piece, struct vbd_error *err)
{
	uint64_t left = summation->left_bytes;
	size_t len = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
	enum vbd_status status =
		vbd_mem_read(&summation->buffer->mem, summation->offset, piece, len, err);

	if (status)
		return status;
	if (!summation->sha256)
		summation->crc32c = vbd_crc32c_add(summation->crc32c, piece, len);
	else if (gnutls_hash(summation->sha256, piece, len) < 0)
		return vbd_error_set(err, VBD_E_INTERNAL, "gnutls_hash failed");
	summation->offset += len;
	summation->left_bytes -= len;
	return VBD_OK;
}

static bool is_unwanted(const struct vbd_summation *summation)
{
	return atomic_load(&summation->cancelled) ||
	       summation->buffer->object.registry->daemon->closing;
}

/* Pool thread. */
static void add_slice(void *arg)
{
	struct vbd_summation *summation = arg;
	uint8_t *piece;

	if (is_unwanted(summation))
		return;
	piece = malloc(PIECE_BYTES);
	if (!piece)
		(void)vbd_error_set(&summation->error, VBD_E_NO_MEMORY, "no memory for a checksum");
	for (size_t done = 0; done < SLICE_BYTES && summation->left_bytes; done += PIECE_BYTES) {
		if (summation->error.status || add_piece(summation, piece, &summation->error))
			break;
	}
	free(piece);
}

static void end_summation(struct vbd_summation *summation)
{
	struct vbd_daemon *daemon = summation->buffer->object.registry->daemon;

	vbd_buffer_unref(summation->buffer);
	if (summation->sha256)
		gnutls_hash_deinit(summation->sha256, NULL);
	free(summation);
	vbd_memory_work_done(daemon);
}

static void report_checksum(struct vbd_summation *summation)
{
	uint8_t digest[32];
	char hex[65];

	if (summation->error.status) {
		summation->cb(NULL, &summation->error, summation->arg);
		return;
	}
	(void)snprintf(hex, sizeof(hex), "%08x", summation->crc32c);
	if (summation->sha256) {
		gnutls_hash_output(summation->sha256, digest);
		for (size_t i = 0; i < sizeof(digest); i++)
			(void)snprintf(hex + i * 2, 3, "%02x", digest[i]);
	}
	summation->cb(hex, &summation->error, summation->arg);
}

static void on_slice_added(void *arg);

static enum vbd_status start_slice(struct vbd_summation *summation, struct vbd_error *err)
{
	return vbd_loop_work(summation->buffer->object.registry->daemon->loop, VBD_WORK_BYTES,
		summation->caller, add_slice, on_slice_added, summation, err);
}

static void on_slice_added(void *arg)
{
	struct vbd_summation *summation = arg;
	struct vbd_error *error = &summation->error;

	if (!error->status && summation->left_bytes && is_unwanted(summation))
		(void)vbd_error_set(error, VBD_E_STOPPING, "the daemon stops");
	else if (!error->status && summation->left_bytes && start_slice(summation, error) == VBD_OK)
		return;
	if (!atomic_load(&summation->cancelled))
		report_checksum(summation);
	end_summation(summation);
}

static enum vbd_status begin_summation(struct vbd_summation *summation, struct vbd_error *err)
{
	int rc = 0;

	if (summation->algorithm == VBD_CHECKSUM_SHA256)
		rc = gnutls_hash_init(&summation->sha256, GNUTLS_DIG_SHA256);
	if (rc < 0)
		return vbd_error_set(err, VBD_E_INTERNAL, "gnutls_hash_init: %d", rc);
	return start_slice(summation, err);
}

enum vbd_status vbd_buffer_checksum(struct vbd_buffer *buffer, struct vbd_caller *caller,
	enum vbd_checksum algorithm, uint64_t offset, uint64_t length_bytes, vbd_checksum_cb cb,
	void *arg, struct vbd_summation **ret_summation, struct vbd_error *err)
{
	struct vbd_daemon *daemon = buffer->object.registry->daemon;
	enum vbd_status status = vbd_buffer_has_bytes(buffer, err);
	struct vbd_summation *summation;

	if (status)
		return status;
	summation = calloc(1, sizeof(*summation));
	if (!summation)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a checksum");
	summation->buffer = buffer;
	summation->caller = caller;
	summation->algorithm = algorithm;
	summation->offset = offset;
	summation->left_bytes = length_bytes;
	summation->cb = cb;
	summation->arg = arg;
	vbd_buffer_ref(buffer);
	daemon->pool_jobs++;
	status = begin_summation(summation, err);
	if (status)
		end_summation(summation);
	else
		*ret_summation = summation;
	return status;
}

void vbd_summation_cancel(struct vbd_summation *summation)
{
	atomic_store(&summation->cancelled, true);
}
