/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/audit.h"

#include "base/clock.h"
#include "base/log.h"

struct vbd_audit {
	struct vbd_log_queue *queue;
	/* The errors that were logged last; 0: none. */
	int error;
	int reopen_error;
};

static size_t format_notice(char line[VBD_LOG_LINE_BYTES], uint64_t lines)
{
	char when[VBD_TIME_TEXT_BYTES];

	(void)vbd_clock_format(vbd_clock_mono_ns(), when);
	return (size_t)snprintf(line, VBD_LOG_LINE_BYTES,
		"{\"time\":\"%s\",\"lines_dropped\":%" PRIu64 "}\n", when, lines);
}

enum vbd_status vbd_audit_create(
	const char *path, struct vbd_audit **ret_audit, struct vbd_error *err)
{
	struct vbd_error cause = {0};
	struct vbd_audit *audit;
	enum vbd_status status;

	*ret_audit = NULL;
	if (!path[0])
		return VBD_OK;
	audit = calloc(1, sizeof(*audit));
	if (!audit)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for audit_file");
	status = vbd_log_queue_create(path, 0600, format_notice, &audit->queue, &cause);
	if (status) {
		free(audit);
		return vbd_error_input(err, status, "audit_file", "audit_file: %s", cause.text);
	}
	*ret_audit = audit;
	return VBD_OK;
}

void vbd_audit_destroy(struct vbd_audit *audit)
{
	if (!audit)
		return;
	vbd_log_queue_destroy(audit->queue, VBD_LOG_GRACE_MS);
	free(audit);
}

static void log_error_change(const char *what, int error, int *told)
{
	if (error == *told)
		return;
	*told = error;
	if (error)
		vbd_log(VBD_LOG_ERROR, NULL, "audit_file: can't %s: %s", what, strerror(error));
	else
		vbd_log(VBD_LOG_NOTICE, NULL, "audit_file: can %s again", what);
}

void vbd_audit_put(struct vbd_audit *audit, const char *line, size_t len_bytes)
{
	struct vbd_log_state state;

	if (!audit)
		return;
	state = vbd_log_queue_state(audit->queue);
	log_error_change("write", state.error, &audit->error);
	log_error_change("open it", state.reopen_error, &audit->reopen_error);
	vbd_log_queue_put(audit->queue, line, len_bytes);
}

void vbd_audit_reopen(struct vbd_audit *audit)
{
	if (audit)
		vbd_log_queue_reopen(audit->queue);
}

uint64_t vbd_audit_lines_dropped(struct vbd_audit *audit)
{
	return audit ? vbd_log_queue_state(audit->queue).lines_dropped : 0;
}
