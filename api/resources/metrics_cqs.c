/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/metrics_parts.h"
#include "base/attr.h"
#include "daemon/memory/shared.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/fabric.h"

static const struct {
	const char *name, *type, *help;
	size_t offset; /* in struct vbd_cq_totals */
} rows[] = {
	{"verbsd_cq_outstanding_cqe", "gauge", "Work requests without a completion yet.",
		offsetof(struct vbd_cq_totals, outstanding_cqe)},
	{"verbsd_cq_high_water_cqe", "gauge",
		"Highest number of work requests that were outstanding in one queue at a time.",
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

static void put_one(
	struct vbd_metrics_text *out, const char *id, const struct vbd_object *object, size_t row)
{
	const struct vbd_cq *cq = VBD_CONTAINER_OF(object, struct vbd_shared, object)->cq;
	const struct vbd_cq_totals totals = {
		.outstanding_cqe = vbd_counter_get(&cq->outstanding),
		.high_water_cqe = vbd_counter_get(&cq->high_water),
		.reserved_cqe = cq->reserved_cqe,
		.capacity_cqe = cq->capacity_cqe,
		.completions = vbd_counter_get(&cq->completions),
		.error_completions = vbd_counter_get(&cq->error_completions),
	};

	vbd_metrics_put(out, VBD_LABELS(VBD_LABEL("device", cq->device->name), VBD_LABEL("cq", id)),
		value_of(&totals, row));
}

static void begin_family(struct vbd_metrics_text *out, size_t row)
{
	vbd_metrics_family(out, rows[row].name, rows[row].type, rows[row].help);
}

bool vbd_metrics_put_cqs(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope, struct vbd_metrics_place *at)
{
	const struct vbd_metrics_objects cqs = {
		.registry = daemon->cqs,
		.scope = scope,
		.max = UINT64_MAX,
		.families = VBD_ARRAY_LEN(rows),
		.begin_family = begin_family,
		.put = put_one,
	};

	return vbd_metrics_put_objects(out, &cqs, at);
}

void vbd_metrics_put_device_cqs(struct vbd_metrics_text *out, const struct vbd_fabric *fabric)
{
	for (size_t row = 0; row < VBD_ARRAY_LEN(rows); row++) {
		begin_family(out, row);
		put_devices(out, fabric, row);
	}
}
