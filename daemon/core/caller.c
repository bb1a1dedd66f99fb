/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/caller.h"

void vbd_callers_init(struct vbd_callers *callers)
{
	*callers = (struct vbd_callers){0};
}

/* NOLINTBEGIN(readability-function-size): the length comes from uthash's macros */
static struct vbd_caller *find_by_name(struct vbd_callers *callers, const char *name)
{
	size_t len = strlen(name);
	struct vbd_caller *caller;

	HASH_FIND(by_name, callers->by_name, name, len, caller);
	return caller;
}

static bool insert_by_name(struct vbd_callers *callers, struct vbd_caller *caller)
{
	HASH_ADD_KEYPTR(by_name, callers->by_name, caller->name, strlen(caller->name), caller);
	return caller->by_name.tbl != NULL;
}
/* NOLINTEND(readability-function-size) */

struct vbd_caller *vbd_callers_get(struct vbd_callers *callers, const char *name)
{
	struct vbd_caller *caller;

	if (strlen(name) >= sizeof(caller->name))
		return NULL;
	caller = find_by_name(callers, name);
	if (caller)
		return vbd_caller_ref(caller);
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return NULL;
	(void)snprintf(caller->name, sizeof(caller->name), "%s", name);
	caller->refs = 1;
	caller->callers = callers;
	caller->number = VBD_OF_CALLERS + callers->numbers++;
	if (insert_by_name(callers, caller))
		return caller;
	free(caller);
	return NULL;
}

struct vbd_caller *vbd_caller_ref(struct vbd_caller *caller)
{
	if (caller)
		caller->refs++;
	return caller;
}

void vbd_caller_unref(struct vbd_caller *caller)
{
	if (!caller || --caller->refs)
		return;
	HASH_DELETE(by_name, caller->callers->by_name, caller);
	free(caller);
}

struct vbd_caller *vbd_caller_scope(struct vbd_caller *caller)
{
	return !caller || caller->role == VBD_ROLE_READ || caller->role == VBD_ROLE_CONTROL
		       ? NULL
		       : caller;
}

bool vbd_caller_sees(const struct vbd_caller *caller, const struct vbd_caller *owner)
{
	/* The cast is safe: the function changes nothing. */
	return !owner || caller == owner || !vbd_caller_scope((struct vbd_caller *)caller);
}

uint64_t vbd_whose(const struct vbd_object *object)
{
	return object->shared ? VBD_OF_ALL : object->owner ? object->owner->number : VBD_OF_VERBSD;
}

bool vbd_owner_informs(const struct vbd_caller *owner, uint64_t whose)
{
	return whose == VBD_OF_ALL || whose == (owner ? owner->number : VBD_OF_VERBSD) ||
	       (owner && owner->role == VBD_ROLE_CONTROL);
}

bool vbd_caller_may_change(const struct vbd_caller *caller, const struct vbd_caller *owner)
{
	return !caller || caller == owner || caller->role == VBD_ROLE_CONTROL;
}

bool vbd_caller_may(
	const struct vbd_caller *caller, const struct vbd_object *object, enum vbd_purpose purpose)
{
	if (purpose == VBD_TO_SEE)
		return vbd_caller_sees(caller, object->owner);
	return vbd_caller_may_change(caller, object->owner) ||
	       (purpose == VBD_TO_USE && object->shared && caller->role != VBD_ROLE_READ);
}
