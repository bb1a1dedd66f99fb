/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/faults.h"

#include <stdarg.h>

static void keep(struct vbd_faults *faults, const struct vbd_error *fault)
{
	struct vbd_error *items;

	if (faults->count == VBD_FAULTS_MAX)
		return;
	items = realloc(faults->items, (faults->count + 1) * sizeof(*items));
	if (!items)
		return;
	items[faults->count++] = *fault;
	faults->items = items;
}

enum vbd_status vbd_fault(struct vbd_faults *faults, enum vbd_status status, const char *pointer,
	const char *fmt, ...)
{
	struct vbd_error fault = {0};
	char text[sizeof(fault.text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	status = vbd_error_input(&fault, status, pointer, "%s", text);
	if (faults->total++ == 0)
		faults->first = fault;
	keep(faults, &fault);
	return status;
}

void vbd_faults_fini(struct vbd_faults *faults)
{
	free(faults->items);
	*faults = (struct vbd_faults){0};
}
