/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/tally.h"

#include "daemon/core/context.h"

struct vbd_tally *vbd_tally_of(struct vbd_registry *registry, struct vbd_caller *owner)
{
	return owner ? &owner->tallies[registry - registry->daemon->registries]
		     : &registry->of_daemon;
}

struct vbd_tally vbd_tally_seen(const struct vbd_registry *registry, const struct vbd_caller *scope)
{
	const struct vbd_tally *own;

	if (!scope)
		return (struct vbd_tally){vbd_registry_count(registry), registry->open};
	own = &scope->tallies[registry - registry->daemon->registries];
	return (struct vbd_tally){
		own->objects + registry->of_daemon.objects, own->open + registry->of_daemon.open};
}
