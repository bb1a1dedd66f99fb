/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_file of the configuration: a line of JSON for each request that changes something. A
 * thread writes the file, so that a full or slow disk stops nothing; lines that find 256 KiB
 * waiting are dropped and counted, and a line in the file says how many.
 *
 * Control thread. A NULL @audit ignores lines.
 */
#ifndef VBD_DAEMON_OBSERVE_AUDIT_H
#define VBD_DAEMON_OBSERVE_AUDIT_H

#include "base/attr.h"
#include "base/error.h"
#include "base/log_queue.h"

struct vbd_audit;

/**
 * vbd_audit_create - open the file to append to it; a new one has mode 0600
 * @path:      "" for none: *ret_audit is NULL then
 * @ret_audit: freed by vbd_audit_destroy()
 *
 * Returns VBD_OK, VBD_E_NO_MEMORY, or the status of the failed open(2), whose text names the key.
 */
enum vbd_status vbd_audit_create(
	const char *path, struct vbd_audit **ret_audit, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_audit_destroy - write what waits, for VBD_LOG_GRACE_MS at most, and close the file */
void vbd_audit_destroy(struct vbd_audit *audit);

/**
 * vbd_audit_put - append a line; does not block
 * @line:      ends with a newline
 * @len_bytes: at most VBD_LOG_LINE_BYTES
 *
 * The log says once when writes begin to fail, and once when they succeed again.
 */
void vbd_audit_put(struct vbd_audit *audit, const char *line, size_t len_bytes);

/** vbd_audit_reopen - open the path again, after a rotation; does not block. If that fails, the old
 * file stays, and the log says so at the next line. */
void vbd_audit_reopen(struct vbd_audit *audit);

/** vbd_audit_lines_dropped - lines that are not in the file */
uint64_t vbd_audit_lines_dropped(struct vbd_audit *audit);

#endif
