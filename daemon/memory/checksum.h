/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums over the bytes of a buffer. A large one is computed in slices, so that the thread pool
 * serves others between them, and ends after the present slice when nobody wants its result.
 *
 * Control thread, but for vbd_crc32c_add(); never blocks.
 */
#ifndef VBD_DAEMON_MEMORY_CHECKSUM_H
#define VBD_DAEMON_MEMORY_CHECKSUM_H

#include "daemon/memory/buffers.h"

enum vbd_checksum {
	VBD_CHECKSUM_CRC32C,
	VBD_CHECKSUM_SHA256,
};

struct vbd_summation;

/** vbd_checksum_cb - @hex: lower-case hex text; NULL with an error */
typedef void (*vbd_checksum_cb)(const char *hex, const struct vbd_error *err, void *arg);

/** vbd_crc32c_add - the CRC-32C of bytes whose CRC-32C is @crc32c (0 for none) and @bytes after
 * them; any thread */
uint32_t vbd_crc32c_add(uint32_t crc32c, const void *bytes, uint64_t len_bytes);

/**
 * vbd_buffer_checksum - compute, on the thread pool, the checksum of a range that
 * vbd_buffer_check_range() accepted
 * @caller:        whose work it is on the thread pool; see vbd_loop_work()
 * @cb:            runs later, once, unless the summation is cancelled before; with VBD_E_STOPPING
 *                 when the daemon closes meanwhile
 * @ret_summation: valid until @cb has run or it is cancelled
 *
 * The buffer may be deleted meanwhile. Returns VBD_E_WRONG_STATE for a buffer without bytes,
 * VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_buffer_checksum(struct vbd_buffer *buffer, struct vbd_caller *caller,
	enum vbd_checksum algorithm, uint64_t offset, uint64_t length_bytes, vbd_checksum_cb cb,
	void *arg, struct vbd_summation **ret_summation, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_summation_cancel - the result is not wanted any more: `cb` is not called, and the work ends
 * soon */
void vbd_summation_cancel(struct vbd_summation *summation);

#endif
