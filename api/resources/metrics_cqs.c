/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/metrics_parts.h"
#include "base/attr.h"
#include "daemon/core/context.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/fabric.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	const char *name, *type, *help;
	size_t offset; /* in struct vbd_cq_totals */
} rows[] = {
	{"verbsd_cq_outstanding_cqe", "gauge", "Work requests without a completion yet.",
		offsetof(struct vbd_cq_totals, outstanding_cqe)},
	{"verbsd_cq_high_water_cqe", "gauge",
		"Most work requests outstanding at a time in one queue.",
		offsetof(struct vbd_cq_totals, high_water_cqe)},
	{"verbsd_cq_reserved_cqe", "gauge", "Entries reserved for queue pairs.",
		offsetof(struct vbd_cq_totals, reserved_cqe)},
	{"verbsd_cq_capacity_cqe", "gauge", "Completions that the queues hold.",
		offsetof(struct vbd_cq_totals, capacity_cqe)},
	{"verbsd_cq_completions_total", "counter", "Completions taken from the queues.",
		offsetof(struct vbd_cq_totals, completions)},
	{"verbsd_cq_error_completions_total", "counter",
		"Completions in error taken from the queues.",
		offsetof(struct vbd_cq_totals, error_completions)},
};

static uint64_t value_of(const struct vbd_cq_totals *totals, size_t row)
{
	return *(const uint64_t *)(const void *)((const char *)totals + rows[row].offset);
}

static void put_devices(struct vbd_metrics_text *out, const struct vbd_fabric *fabric, size_t row)
{
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);
		struct vbd_cq_totals totals;

		/* Two devices of one name never have a context at the same time. */
		if (!device->context)
			continue;
		vbd_fabric_cq_totals(fabric, device, &totals);
		vbd_metrics_put(
			out, VBD_LABELS(VBD_LABEL("device", device->name)), value_of(&totals, row));
	}
}

static bool is_for(const struct vbd_daemon *daemon, const struct vbd_caller *caller, uint64_t cq)
{
	const struct vbd_object *object = vbd_registry_find_id(daemon->cqs, cq);

	return object && vbd_caller_sees(caller, object->owner);
}

static void put_each(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *caller, size_t row)
{
	vbd_list_for_each (link, &daemon->fabric->cqs) {
		const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);
		const struct vbd_cq_totals totals = {
			.outstanding_cqe = vbd_counter_get(&cq->outstanding),
			.high_water_cqe = vbd_counter_get(&cq->high_water),
			.reserved_cqe = cq->reserved_cqe,
			.capacity_cqe = cq->capacity_cqe,
			.completions = vbd_counter_get(&cq->completions),
			.error_completions = vbd_counter_get(&cq->error_completions),
		};
		char id[24];

		if (!is_for(daemon, caller, cq->id))
			continue;
		(void)snprintf(id, sizeof(id), "%" PRIu64, cq->id);
		vbd_metrics_put(out,
			VBD_LABELS(VBD_LABEL("device", cq->device->name), VBD_LABEL("cq", id)),
			value_of(&totals, row));
	}
}

void vbd_metrics_put_cqs(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *caller, bool each)
{
	for (size_t row = 0; row < VBD_ARRAY_LEN(rows); row++) {
		vbd_metrics_family(out, rows[row].name, rows[row].type, rows[row].help);
		if (each)
			put_each(out, daemon, caller, row);
		else
			put_devices(out, daemon->fabric, row);
	}
}
