/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>

/* Returns whether this is the first error. */
static VBD_PRINTF(4, 0) bool record_first_error(struct vbd_error *err, enum vbd_status status,
	enum vbd_error_source source, const char *fmt, va_list ap)
{
	if (!err || err->status != VBD_OK)
		return false;
	err->status = status;
	if (source)
		err->source = source;
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	return true;
}

/* The parentheses keep the preprocessor from expanding the macro of the same name. */
enum vbd_status(vbd_error_set)(struct vbd_error *err, enum vbd_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)record_first_error(err, status, VBD_SOURCE_NONE, fmt, ap);
	va_end(ap);
	return status;
}

/* The kernel's own "not supported", which libc has no name for. Drivers return it by mistake. */
#define KERNEL_ENOTSUPP 524

static const char *text_of_errno(int errnum)
{
	return strerror(errnum == KERNEL_ENOTSUPP ? EOPNOTSUPP : errnum);
}

static enum vbd_status status_of_errno(int errnum)
{
	switch (errnum) {
	case ENOMEM:
		return VBD_E_NO_MEMORY;
	case EMFILE:
	case ENFILE:
		return VBD_E_FD_LIMIT;
	case EACCES:
	case EPERM:
	case EROFS:
		return VBD_E_PERMISSION_DENIED;
	case EADDRINUSE:
		return VBD_E_ADDRESS_IN_USE;
	case EADDRNOTAVAIL:
		return VBD_E_ADDRESS_NOT_AVAILABLE;
	case ENODEV:
		return VBD_E_NO_DEVICE;
	case EOPNOTSUPP:
	case ENOSYS:
	case KERNEL_ENOTSUPP:
		return VBD_E_NOT_SUPPORTED;
	case EAGAIN: /* the rdma cgroup fails a call with this errno at its limit; seen on rxe */
		return VBD_E_DEVICE_LIMIT;
	default:
		return VBD_E_VERBS_ERROR;
	}
}

enum vbd_status(vbd_error_errno)(struct vbd_error *err, enum vbd_status status, const char *call,
	int errnum, const char *fmt, ...)
{
	char what[160];
	va_list ap;

	/* Drivers return errnos of both signs: siw's library -ENOMEM when a queue is full. */
	errnum = abs(errnum);
	if (status == VBD_OK || status_of_errno(errnum) == VBD_E_FD_LIMIT)
		status = status_of_errno(errnum);
	if (!err || err->status != VBD_OK)
		return status;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	err->source = VBD_SOURCE_ERRNO;
	err->raw = errnum;
	err->call = call;
	if (!errnum)
		return vbd_error_set(err, status, "%s: %s failed and gave no reason", what, call);
	return vbd_error_set(err, status, "%s: %s: %s (%s)", what, call, text_of_errno(errnum),
		vbd_errno_name(errnum));
}

enum vbd_status(vbd_error_input)(
	struct vbd_error *err, enum vbd_status status, const char *pointer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (record_first_error(err, status, VBD_SOURCE_INPUT, fmt, ap))
		(void)snprintf(err->pointer, sizeof(err->pointer), "%s", pointer);
	va_end(ap);
	return status;
}

enum vbd_status vbd_error_hint(struct vbd_error *err, enum vbd_status status, const char *hint)
{
	if (err && !err->hint)
		err->hint = hint;
	return status;
}

void vbd_error_limit(struct vbd_error *err, const char *name, uint64_t limit)
{
	if (!err || err->status != VBD_OK)
		return;
	err->limit = limit;
	(void)snprintf(err->limit_name, sizeof(err->limit_name), "limits.%s", name);
}

enum vbd_status(vbd_error_param)(
	struct vbd_error *err, enum vbd_status status, const char *param, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (record_first_error(err, status, VBD_SOURCE_INPUT, fmt, ap))
		err->param = param;
	va_end(ap);
	return status;
}

const char *vbd_errno_name(int errnum)
{
	const char *name = errnum == KERNEL_ENOTSUPP ? "ENOTSUPP" : strerrorname_np(errnum);

	if (!errnum)
		return "";
	return name ? name : "E?";
}
