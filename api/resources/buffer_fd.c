/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor of a shared buffer. Who gets it can map the memory, whatever user it runs as: so
 * the role decides, not the mode of a file.
 */
#include "api/http/condition.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/common_json.h"
#include "api/resources/task.h"
#include "base/attr.h"
#include "daemon/memory/buffers.h"

#include <unistd.h>

enum { ACCESS_WRITE, ACCESS_READ };

static const char *const access_names[] = {
	[ACCESS_WRITE] = "write",
	[ACCESS_READ] = "read",
};

static enum vbd_status pass(
	struct vbd_request *req, const struct vbd_buffer *buffer, struct vbd_error *err)
{
	size_t access = ACCESS_WRITE;
	enum vbd_status status = vbd_query_enum(
		req, "access", access_names, VBD_ARRAY_LEN(access_names), &access, err);
	int fd;

	if (status == VBD_OK)
		status = vbd_buffer_open(buffer, access == ACCESS_WRITE, &fd, err);
	if (status != VBD_OK)
		return status;
	status = vbd_request_pass_fd(req, fd, err);
	(void)close(fd);
	return status;
}

void vbd_get_buffer_fd(struct vbd_request *req)
{
	const struct vbd_buffer *buffer = vbd_task_find(req, &vbd_buffer_task);
	struct vbd_error err = {0};
	enum vbd_status status;
	char tag[VBD_TAG_BYTES];

	if (!buffer)
		return;
	status = vbd_task_unchanged(req, &vbd_buffer_task, buffer, &err);
	if (status == VBD_OK &&
		!vbd_condition_is_known(req, vbd_task_tag(req, &vbd_buffer_task, buffer, tag)))
		status = pass(req, buffer, &err);
	if (status == VBD_OK)
		vbd_task_reply(req, 200, &vbd_buffer_task, buffer);
	else
		vbd_reply_problem(req, &err);
}
