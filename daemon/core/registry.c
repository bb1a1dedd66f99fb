/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/registry.h"

#include "base/text.h"
#include "daemon/core/caller.h"
#include "daemon/core/context.h"
#include "daemon/core/object.h"

/* A misspelt name is compared with so many names; two of 63 characters take 6 us. */
#define SIMILAR_LOOKS 200

enum vbd_object_kind vbd_registry_kind(const struct vbd_registry *registry)
{
	return (enum vbd_object_kind)(registry - registry->daemon->registries);
}

struct vbd_registry *vbd_registry_at(struct vbd_daemon *daemon, const char *path)
{
	size_t len = strncmp(path, "/v1/", 4) == 0 ? strcspn(path + 4, "/") : 0;

	for (size_t i = 0; len && i < VBD_KIND_COUNT; i++) {
		struct vbd_registry *registry = &daemon->registries[i];

		if (registry->kind && strlen(registry->plural) == len &&
			memcmp(registry->plural, path + 4, len) == 0)
			return registry;
	}
	return NULL;
}

struct vbd_tally *vbd_tally_of(struct vbd_registry *registry, struct vbd_caller *owner)
{
	return owner ? &owner->tallies[vbd_registry_kind(registry)] : &registry->of_daemon;
}

struct vbd_tally vbd_tally_seen(const struct vbd_registry *registry, const struct vbd_caller *scope)
{
	const struct vbd_tally *own;

	if (!scope)
		return (struct vbd_tally){vbd_registry_count(registry), registry->open};
	own = &scope->tallies[vbd_registry_kind(registry)];
	return (struct vbd_tally){
		own->objects + registry->of_daemon.objects, own->open + registry->of_daemon.open};
}

static const char digits[] = "0123456789";
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char name_chars[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.-";

bool vbd_name_valid(const char *name)
{
	size_t len = strspn(name, name_chars);

	return len > 0 && len < VBD_NAME_BYTES && name[len] == '\0' && strchr(letters, name[0]);
}

void vbd_registry_init(struct vbd_registry *registry, const char *singular, const char *plural,
	const char *limit_name)
{
	*registry = (struct vbd_registry){
		.singular = singular,
		.plural = plural,
		.limit_name = limit_name,
	};
	vbd_history_init(&registry->ended);
	vbd_history_init(&registry->past_ended);
}

void vbd_registry_fini(struct vbd_registry *registry)
{
	HASH_CLEAR(by_name, registry->by_name);
	vbd_places_fini(&registry->places);
}

char *vbd_registry_path(const struct vbd_registry *registry, uint64_t id, char path[VBD_PATH_BYTES])
{
	(void)snprintf(
		path, VBD_PATH_BYTES, "/v1/%s/%llu", registry->plural, (unsigned long long)id);
	return path;
}

static enum vbd_status set_name_taken(const struct vbd_registry *registry,
	const struct vbd_caller *caller, const struct vbd_object *holder, struct vbd_error *err)
{
	char path[VBD_PATH_BYTES];

	if (!vbd_caller_sees(caller, holder->owner))
		return vbd_error_input(
			err, VBD_E_NAME_TAKEN, "/name", "the name '%s' is taken", holder->name);
	vbd_registry_path(registry, holder->id, path);
	if (err && err->status == VBD_OK)
		(void)snprintf(err->object, sizeof(err->object), "%s", path);
	return vbd_error_input(
		err, VBD_E_NAME_TAKEN, "/name", "the name '%s' belongs to %s", holder->name, path);
}

/* An ended object of the history is no hindrance. */
static bool holds_name(const struct vbd_registry *registry, const struct vbd_object *object)
{
	return !(object->ended && registry->kind && registry->kind->keeps_history);
}

static enum vbd_status check_name(const struct vbd_registry *registry,
	const struct vbd_caller *caller, const char *name, struct vbd_error *err)
{
	const struct vbd_object *holder;

	if (name[0] && !vbd_name_valid(name))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/name",
			"a name has 1 to 63 characters of A-Z a-z 0-9 . _ - and starts with a "
			"letter or _");
	holder = vbd_registry_find_name(registry, name);
	if (holder && holds_name(registry, holder))
		return set_name_taken(registry, caller, holder, err);
	return VBD_OK;
}

enum vbd_status vbd_registry_check(const struct vbd_registry *registry,
	const struct vbd_caller *caller, const char *name, struct vbd_error *err)
{
	enum vbd_status status = check_name(registry, caller, name, err);

	if (status != VBD_OK)
		return status;
	if (vbd_registry_count(registry) >= registry->limit) {
		vbd_error_limit(err, registry->limit_name, registry->limit);
		return vbd_error_set(err, VBD_E_LIMIT_REACHED,
			"there are %llu %s, which is the limit",
			(unsigned long long)registry->limit, registry->plural);
	}
	return VBD_OK;
}

/* NOLINTBEGIN(readability-function-size): the length comes from uthash's macros */
/* Until a former holder of the name is removed, there are two objects of one key. uthash leaves the
 * handle's table NULL if it has no memory to grow. */
static bool hash_name(struct vbd_registry *registry, struct vbd_object *object)
{
	HASH_ADD_KEYPTR(by_name, registry->by_name, object->name, strlen(object->name), object);
	return object->by_name.tbl != NULL;
}

static void unhash_name(struct vbd_registry *registry, struct vbd_object *object)
{
	if (object->by_name.tbl)
		HASH_DELETE(by_name, registry->by_name, object);
	memset(&object->by_name, 0, sizeof(object->by_name));
}
/* NOLINTEND(readability-function-size) */

static bool insert_name(struct vbd_registry *registry, struct vbd_object *object)
{
	struct vbd_object *holder;

	if (!object->name[0])
		return true;
	holder = vbd_registry_find_name(registry, object->name);
	if (!hash_name(registry, object))
		return false;
	object->named_before = holder;
	if (!holder)
		return true;
	holder->named_after = object;
	unhash_name(registry, holder);
	return true;
}

/* The object that had the name before is found by it again. */
static void delete_name(struct vbd_registry *registry, struct vbd_object *object)
{
	struct vbd_object *before = object->named_before, *after = object->named_after;

	/* Without memory, that object is found by its id only. */
	if (before && !after)
		(void)hash_name(registry, before);
	unhash_name(registry, object);
	if (before)
		before->named_after = after;
	if (after)
		after->named_before = before;
	object->named_before = NULL;
	object->named_after = NULL;
	object->name[0] = '\0';
}

static bool insert_object(struct vbd_registry *registry, struct vbd_object *object)
{
	if (!vbd_places_add(&registry->places, object->id, object))
		return false;
	if (insert_name(registry, object))
		return true;
	vbd_places_remove(&registry->places, object->id);
	return false;
}

enum vbd_status vbd_registry_adopt(struct vbd_registry *registry, struct vbd_object *object,
	uint64_t id, const char *name, struct vbd_error *err)
{
	(void)snprintf(object->name, sizeof(object->name), "%s", name);
	object->id = id;
	if (!insert_object(registry, object)) {
		object->id = 0;
		object->name[0] = '\0';
		return vbd_error_set(
			err, VBD_E_NO_MEMORY, "no memory for another %s", registry->singular);
	}
	registry->last_id = object->id;
	return VBD_OK;
}

enum vbd_status vbd_registry_add(struct vbd_registry *registry, const struct vbd_caller *caller,
	struct vbd_object *object, const char *name, struct vbd_error *err)
{
	enum vbd_status status;

	if (!name)
		name = "";
	status = vbd_registry_check(registry, caller, name, err);
	if (status != VBD_OK)
		return status;
	return vbd_registry_adopt(registry, object, registry->last_id + 1, name, err);
}

enum vbd_status vbd_registry_set_name(struct vbd_registry *registry,
	const struct vbd_caller *caller, struct vbd_object *object, const char *name,
	struct vbd_error *err)
{
	enum vbd_status status;

	if (strcmp(object->name, name) == 0)
		return VBD_OK;
	status = check_name(registry, caller, name, err);
	if (status != VBD_OK)
		return status;
	delete_name(registry, object);
	(void)snprintf(object->name, sizeof(object->name), "%s", name);
	if (insert_name(registry, object))
		return VBD_OK;
	object->name[0] = '\0';
	return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the name '%s'", name);
}

void vbd_registry_remove(struct vbd_registry *registry, struct vbd_object *object)
{
	if (!object->id)
		return;
	delete_name(registry, object);
	vbd_places_remove(&registry->places, object->id);
	object->id = 0;
}

void vbd_registry_exchange(struct vbd_object *object, struct vbd_object *other)
{
	uint64_t id = object->id;

	vbd_places_exchange(&object->registry->places, id, other->id);
	object->id = other->id;
	other->id = id;
}

struct vbd_object *vbd_registry_find_id(const struct vbd_registry *registry, uint64_t id)
{
	return vbd_places_find(&registry->places, id);
}

struct vbd_object *vbd_registry_find_name(const struct vbd_registry *registry, const char *name)
{
	struct vbd_object *object;

	HASH_FIND(by_name, registry->by_name, name, strlen(name), object);
	return object;
}

bool vbd_ref_is_id(const char *ref, uint64_t *ret_id)
{
	if (ref[0] == '\0' || ref[strspn(ref, digits)] != '\0')
		return false;
	errno = 0;
	*ret_id = strtoull(ref, NULL, 10);
	return errno == 0;
}

/* The caller gets the last of the objects with the name that the caller may know of. */
static struct vbd_object *find_named(
	const struct vbd_registry *registry, const struct vbd_caller *caller, const char *name)
{
	struct vbd_object *object = vbd_registry_find_name(registry, name);

	while (object && !vbd_caller_sees(caller, object->owner))
		object = object->named_before;
	return object;
}

const char *vbd_registry_similar(
	const struct vbd_registry *registry, const struct vbd_caller *caller, const char *name)
{
	struct vbd_similar similar = {.word = name};
	const struct vbd_object *object = vbd_registry_before(registry, UINT64_MAX);

	for (int i = 0; object && i < SIMILAR_LOOKS; i++) {
		if (vbd_caller_sees(caller, object->owner))
			vbd_similar_try(&similar, object->name);
		object = vbd_registry_before(registry, object->id);
	}
	return similar.like;
}

void *vbd_registry_find_for(const struct vbd_registry *registry, const struct vbd_caller *caller,
	const char *ref, enum vbd_purpose purpose, struct vbd_error *err)
{
	uint64_t id;
	bool by_id = vbd_ref_is_id(ref, &id);
	struct vbd_object *object =
		by_id ? vbd_registry_find_id(registry, id) : find_named(registry, caller, ref);
	const char *like = NULL;

	if (object && !vbd_caller_sees(caller, object->owner))
		object = NULL;
	if (!object && !by_id && err)
		like = vbd_registry_similar(registry, caller, ref);
	if (!object)
		(void)vbd_error_set(err, VBD_E_NOT_FOUND, "there is no %s '%.64s'%s%s%s",
			registry->singular, ref, VBD_DID_YOU_MEAN(like));
	if (!object || vbd_caller_may(caller, object, purpose))
		return object;
	(void)vbd_error_set(err, VBD_E_FORBIDDEN,
		"%s %.64s belongs to verbsd; only the control role may %s it", registry->singular,
		ref, purpose == VBD_TO_USE ? "use" : "change");
	return NULL;
}

uint64_t vbd_registry_count(const struct vbd_registry *registry)
{
	return registry->places.count - registry->places.gaps;
}

struct vbd_object *vbd_registry_next(const struct vbd_object *object)
{
	return object ? vbd_registry_after(object->registry, object->id) : NULL;
}

struct vbd_object *vbd_registry_after(const struct vbd_registry *registry, uint64_t id)
{
	return vbd_places_after(&registry->places, id);
}

struct vbd_object *vbd_registry_before(const struct vbd_registry *registry, uint64_t id)
{
	return vbd_places_before(&registry->places, id);
}
