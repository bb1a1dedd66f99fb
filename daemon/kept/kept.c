/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/kept.h"

#include "daemon/kept/held.h"
#include "daemon/kept/kept_made.h"
#include "daemon/kept/reconciler.h"
#include "daemon/store/keeper.h"

VBD_ENUM_NAMES(vbd_kept_source_name, enum vbd_kept_source, VBD_KEPT_SOURCE_MAP)
VBD_ENUM_NAMES(vbd_reconnect_name, enum vbd_reconnect, VBD_RECONNECT_MAP)

static struct vbd_kept *kept_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_kept, object);
}

/* --- in state_dir ---------------------------------------------------------------------------- */

static uint64_t drop_row(const struct vbd_kept *kept)
{
	const struct vbd_daemon *daemon = kept->object.registry->daemon;

	return daemon->keeper && kept->source == VBD_KEPT_FROM_API
		       ? vbd_keeper_drop_desired(daemon->keeper, kept->object.name)
		       : VBD_TICKET_NONE;
}

bool vbd_kept_outlives(const struct vbd_kept *kept)
{
	return kept->source == VBD_KEPT_FROM_CONFIG ||
	       vbd_keeper_has(kept->object.registry->daemon->keeper, kept->ticket);
}

bool vbd_kept_bytes_outlive(const struct vbd_kept *kept)
{
	return vbd_held_is_stored(kept) && vbd_kept_outlives(kept);
}

/* --- life ------------------------------------------------------------------------------------ */

static void log_created(struct vbd_kept *kept)
{
	vbd_object_log(&kept->object, VBD_EVENT_KEPT_OBJECT_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"%s %s, from the %s", kept->object.registry->daemon->registries[kept->of].singular,
		kept->object.name, kept->source == VBD_KEPT_FROM_CONFIG ? "configuration" : "API");
}

enum vbd_status vbd_kept_prepare(struct vbd_daemon *daemon, const struct vbd_kept_spec *spec,
	struct vbd_kept **ret_kept, struct vbd_error *err)
{
	char *body = strdup(spec->body);
	struct vbd_object *object;
	enum vbd_status status;

	if (!body)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep an object");
	status = vbd_object_create(daemon->kept_objects, &spec->origin, spec->name, &object, err);
	if (status != VBD_OK) {
		free(body);
		return status;
	}
	*ret_kept = kept_of(object);
	(*ret_kept)->of = spec->of;
	(*ret_kept)->source = spec->source;
	(*ret_kept)->policy = spec->policy;
	(*ret_kept)->body = body;
	(*ret_kept)->ticket = spec->stored ? VBD_TICKET_KNOWN : VBD_TICKET_NONE;
	vbd_reconciler_enter(*ret_kept);
	return VBD_OK;
}

enum vbd_status vbd_kept_add(struct vbd_daemon *daemon, const struct vbd_kept_spec *spec,
	struct vbd_kept **ret_kept, struct vbd_error *err)
{
	enum vbd_status status = vbd_kept_prepare(daemon, spec, ret_kept, err);

	if (status != VBD_OK)
		return status;
	log_created(*ret_kept);
	vbd_reconciler_soon(*ret_kept);
	return VBD_OK;
}

/* The kept object of this name and kind; NULL: none. */
static struct vbd_kept *find_kept(const struct vbd_registry *registry, const char *name)
{
	const struct vbd_daemon *daemon = registry->daemon;
	struct vbd_object *found = vbd_registry_find_name(daemon->kept_objects, name);

	return found && &daemon->registries[kept_of(found)->of] == registry ? kept_of(found) : NULL;
}

static bool is_prepared(const struct vbd_kept *kept)
{
	return !kept->object.announced;
}

bool vbd_kept_prepared(const struct vbd_daemon *daemon, enum vbd_object_kind of, const char *name)
{
	struct vbd_object *found = vbd_registry_find_name(daemon->kept_objects, name);

	return found && kept_of(found)->of == of && is_prepared(kept_of(found));
}

void vbd_kept_adopt(struct vbd_object *object)
{
	struct vbd_kept *kept = find_kept(object->registry, object->name);

	if (!kept || !is_prepared(kept))
		return;
	log_created(kept);
	vbd_kept_put_row(kept);
	kept->tries = 1;
	kept->last_try_ns = kept->object.created_ns;
	vbd_reconciler_watch(kept, object);
	vbd_reconciler_saw(kept);
}

/* Keep the object no longer, which clients then see; the object itself stays. */
static void stop_keeping(struct vbd_kept *kept)
{
	struct vbd_object *made = vbd_kept_made(kept);

	kept->made_id = 0;
	if (kept->state != VBD_KEPT_REMOVING)
		vbd_reconciler_step(kept, VBD_KEPT_EV_REMOVED);
	if (!made)
		return;
	made->version++;
	vbd_object_hold(made, false);
	if (made->ended)
		vbd_watch_notify(&made->watches, false);
}

void vbd_kept_settle(struct vbd_kept *kept)
{
	if (is_prepared(kept))
		stop_keeping(kept);
}

struct vbd_kept *vbd_kept_of(const struct vbd_object *object)
{
	struct vbd_kept *kept = find_kept(object->registry, object->name);

	return kept && kept->made_id == object->id ? kept : NULL;
}

struct vbd_kept *vbd_kept_absent(const struct vbd_registry *registry, const char *name)
{
	struct vbd_kept *kept = find_kept(registry, name);

	return kept && !is_prepared(kept) && !vbd_kept_made(kept) ? kept : NULL;
}

uint64_t vbd_kept_ticket(const struct vbd_object *object)
{
	const struct vbd_kept *kept = vbd_kept_of(object);

	return kept ? kept->ticket : VBD_TICKET_NONE;
}

void vbd_kept_rest(struct vbd_kept *kept)
{
	if (!kept || kept->state != VBD_KEPT_WAITING)
		return;
	vbd_list_remove(&kept->due_link);
	vbd_timer_clear(kept->object.deadline);
	kept->next_try_ns = 0;
	vbd_reconciler_step(kept, VBD_KEPT_EV_RESTED);
}

uint64_t vbd_kept_drop(struct vbd_kept *kept)
{
	uint64_t ticket;

	if (!kept)
		return VBD_TICKET_NONE;
	ticket = drop_row(kept);
	stop_keeping(kept);
	return ticket;
}

/* --- the configuration ----------------------------------------------------------------------- */

/* Let a kept object follow its spec. */
static void follow_spec(struct vbd_kept *kept, const struct vbd_kept_spec *spec)
{
	char *body;

	if (strcmp(kept->body, spec->body) == 0 && kept->object.shared == spec->origin.shared &&
		kept->state != VBD_KEPT_REMOVING)
		return;
	body = strdup(spec->body);
	if (!body) {
		vbd_log(VBD_LOG_ERROR, NULL, "no memory for the new %s", spec->name);
		return;
	}
	free(kept->body);
	kept->body = body;
	kept->object.shared = spec->origin.shared;
	kept->policy = spec->policy;
	kept->failures = 0;
	vbd_labels_unref(kept->object.labels);
	kept->object.labels = vbd_labels_ref(spec->origin.labels);
	vbd_reconciler_step(kept, VBD_KEPT_EV_CHANGED);
}

static void use_spec(struct vbd_daemon *daemon, const struct vbd_kept_spec *spec)
{
	struct vbd_object *found = vbd_registry_find_name(daemon->kept_objects, spec->name);
	struct vbd_kept *kept = found ? kept_of(found) : NULL;
	struct vbd_error err = {0};

	if (kept && kept->source == VBD_KEPT_FROM_CONFIG && kept->of == spec->of)
		follow_spec(kept, spec);
	else if (vbd_kept_add(daemon, spec, &kept, &err) != VBD_OK)
		vbd_log(VBD_LOG_ERROR, NULL, "%s %s is not kept: %s",
			daemon->registries[spec->of].singular, spec->name, err.text);
}

static bool is_listed(const struct vbd_kept *kept, const struct vbd_kept_spec *specs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (specs[i].of == kept->of && strcmp(specs[i].name, kept->object.name) == 0)
			return true;
	}
	return false;
}

void vbd_kept_use_config(struct vbd_daemon *daemon, const struct vbd_kept_spec *specs, size_t count)
{
	/* First those that go, so that their names are free. */
	vbd_registry_for_each (object, daemon->kept_objects) {
		struct vbd_kept *kept = kept_of(object);

		if (kept->source == VBD_KEPT_FROM_CONFIG && !is_listed(kept, specs, count))
			vbd_reconciler_step(kept, VBD_KEPT_EV_REMOVED);
	}
	for (size_t i = 0; i < count; i++)
		use_spec(daemon, &specs[i]);
}
