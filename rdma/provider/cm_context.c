/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/provider_parts.h"

#include "base/list.h"
#include "base/log.h"

#include <infiniband/verbs.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct cm_context {
	struct vbd_link link;
	const struct ibv_device *device;
	int cmd_fd;
	int async_fd;
	dev_t uverbs; /* the device of cmd_fd: librdmacm may have closed cmd_fd by itself */
	unsigned int ids;
	bool gone;
};

/* Ids are destroyed on call threads too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vbd_link contexts = {&contexts, &contexts};

static struct cm_context *find_context(const struct ibv_device *device)
{
	vbd_list_for_each_of (struct cm_context, context, link, &contexts) {
		if (context->device == device)
			return context;
	}
	return NULL;
}

static bool is_file_open(const struct cm_context *context)
{
	struct stat file;

	return fstat(context->cmd_fd, &file) == 0 && S_ISCHR(file.st_mode) &&
	       file.st_rdev == context->uverbs;
}

static void replace_files(struct cm_context *context)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0) {
		vbd_log(VBD_LOG_WARNING, "rdma_cm",
			"librdmacm keeps a removed device open, because /dev/null can't be opened");
		return;
	}
	if (is_file_open(context)) {
		(void)dup3(null_fd, context->async_fd, O_CLOEXEC);
		(void)dup3(null_fd, context->cmd_fd, O_CLOEXEC);
	}
	(void)close(null_fd);
}

static void close_if_unused(struct cm_context *context)
{
	if (!context->gone || context->ids > 0)
		return;
	replace_files(context);
	vbd_list_remove(&context->link);
	free(context);
}

/* Returns NULL without memory, or if the file is closed: librdmacm then keeps the files of the
 * context open when the device goes. */
static struct cm_context *add_context(const struct ibv_context *context)
{
	struct cm_context *known = NULL;
	struct stat file;

	if (fstat(context->cmd_fd, &file) == 0)
		known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	vbd_list_append(&contexts, &known->link);
	known->device = context->device;
	known->cmd_fd = context->cmd_fd;
	known->async_fd = context->async_fd;
	known->uverbs = file.st_rdev;
	return known;
}

static void count_bound_id(const struct ibv_context *context)
{
	struct cm_context *known = find_context(context->device);

	if (!known)
		known = add_context(context);
	if (known)
		known->ids++;
}

void vbd_cm_context_bound(const struct ibv_context *context)
{
	if (!context)
		return;
	(void)pthread_mutex_lock(&lock);
	count_bound_id(context);
	(void)pthread_mutex_unlock(&lock);
}

void vbd_cm_context_unbound(const struct ibv_device *device)
{
	struct cm_context *context;

	(void)pthread_mutex_lock(&lock);
	context = device ? find_context(device) : NULL;
	if (context && context->ids > 0) {
		context->ids--;
		close_if_unused(context);
	}
	(void)pthread_mutex_unlock(&lock);
}

static bool is_device_listed(const struct ibv_device *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;

	if (!list)
		return false;
	for (struct ibv_device **other = list; *other; other++)
		found |= *other == device;
	ibv_free_device_list(list);
	return found;
}

void vbd_cm_context_device_closed(const struct ibv_device *device)
{
	bool gone = !is_device_listed(device);
	struct cm_context *context;

	(void)pthread_mutex_lock(&lock);
	context = find_context(device);
	if (context && gone) {
		context->gone = true;
		close_if_unused(context);
	}
	(void)pthread_mutex_unlock(&lock);
}

void vbd_cm_context_count(unsigned int *ret_contexts, unsigned int *ret_used)
{
	*ret_contexts = 0;
	*ret_used = 0;
	(void)pthread_mutex_lock(&lock);
	vbd_list_for_each (link, &contexts) {
		*ret_contexts += 1;
		*ret_used += VBD_CONTAINER_OF(link, struct cm_context, link)->ids > 0;
	}
	(void)pthread_mutex_unlock(&lock);
}
