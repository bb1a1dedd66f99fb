/* SPDX-License-Identifier: Apache-2.0 */
/* POST of a transfer, which may wait for a kept connection that is being made again. */
#include "api/http/waiter.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/transfers.h"
#include "base/clock.h"
#include "daemon/kept/reconciler.h"
#include "daemon/work/transfers.h"

#define HINT_KEPT                                                                               \
	"verbsd makes the connection again. A transfer with if_not_established wait waits for " \
	"it; "                                                                                  \
	"/v1/kept_objects tells when the next try is."

struct create_waiter {
	struct vbd_waiter waiter; /* first */
	uint64_t kept_id;
	uint64_t begun_ns;
};

/* @begun_ns: the time that has passed since then is taken off the deadline */
static enum vbd_status create(struct vbd_request *req, uint64_t begun_ns,
	struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t waited_ms = (vbd_clock_mono_ns() - begun_ns) / VBD_NS_PER_MS;
	const struct vbd_origin origin = vbd_request_origin(req);
	struct vbd_transfer_record *record;
	enum vbd_status status =
		vbd_transfer_decode(daemon, &origin, req->json, spec, &req->faults, err);

	if (status != VBD_OK)
		return status;
	spec->timeout_ms =
		waited_ms < spec->timeout_ms ? spec->timeout_ms - (uint32_t)waited_ms : 1;
	status = vbd_transfer_create(daemon, spec, &record, err);
	if (status == VBD_OK)
		vbd_transfer_answer(req, record);
	return status;
}

static bool is_coming(const struct vbd_kept *kept)
{
	return kept && vbd_reconciler_will_make(kept);
}

static struct vbd_kept *kept_of(struct vbd_object *object)
{
	return object ? VBD_CONTAINER_OF(object, struct vbd_kept, object) : NULL;
}

/* By the id of the connection, which stays the same, or by its name, also before its first try. */
static struct vbd_kept *find_kept(const struct vbd_request *req, const json_t *ref)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_json_ref wanted = {
		(uint64_t)json_integer_value(ref), json_string_value(ref)};
	char text[VBD_REF_TEXT_BYTES];
	const char *name = vbd_ref_text(&wanted, text);
	const struct vbd_object *object;
	struct vbd_kept *kept;
	uint64_t id;

	if (!vbd_ref_is_id(name, &id)) {
		kept = vbd_registry_find_for(
			daemon->kept_objects, req->caller, name, VBD_TO_USE, NULL);
		return kept && kept->of == VBD_KIND_CONNECTION ? kept : NULL;
	}
	object = vbd_registry_find_for(daemon->connections, req->caller, name, VBD_TO_USE, NULL);
	return object ? vbd_kept_of(object) : NULL;
}

/* The kept connection of the body that is to come, and for which the transfer was refused; NULL:
 * none. */
static struct vbd_kept *coming(struct vbd_request *req, const struct vbd_error *err)
{
	bool refused = err->status == VBD_E_WRONG_STATE || err->status == VBD_E_NOT_FOUND;
	struct vbd_kept *kept =
		refused ? find_kept(req, json_object_get(req->json, "connection")) : NULL;

	return is_coming(kept) ? kept : NULL;
}

static void refuse(struct vbd_request *req, struct vbd_error *err)
{
	if (err->status == VBD_E_WRONG_STATE && coming(req, err))
		err->hint = HINT_KEPT;
	vbd_reply_problem(req, err);
}

static void go_on(struct vbd_waiter *base, enum vbd_wake why)
{
	const struct create_waiter *waiter = VBD_CONTAINER_OF(base, struct create_waiter, waiter);
	struct vbd_request *req = base->req;
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_transfer_spec spec;
	struct vbd_error err = {0};

	if (why == VBD_WAKE_CHANGED &&
		is_coming(kept_of(vbd_registry_find_id(daemon->kept_objects, waiter->kept_id))))
		return;
	base->handed_on = true;
	if (create(req, waiter->begun_ns, &spec, &err) != VBD_OK) {
		vbd_request_acted(req, false);
		refuse(req, &err);
	}
}

void vbd_create_transfer(struct vbd_request *req)
{
	struct create_waiter waiter = {.waiter.answer = go_on, .begun_ns = vbd_clock_mono_ns()};
	struct vbd_transfer_spec spec = {0};
	struct vbd_error err = {0};
	struct vbd_kept *kept;

	if (create(req, waiter.begun_ns, &spec, &err) == VBD_OK)
		return;
	kept = spec.awaits_connection ? coming(req, &err) : NULL;
	if (!kept) {
		refuse(req, &err);
		return;
	}
	waiter.kept_id = kept->object.id;
	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, &kept->object.watches, spec.timeout_ms);
}
