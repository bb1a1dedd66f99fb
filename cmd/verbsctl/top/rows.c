/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/rows.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"
#include "cmd/verbsctl/common/view.h"

#include "base/clock.h"

/* Over a shorter time the rate would show the jitter of the answers. */
#define SHORTEST_S 0.05

/* Sums all operations, also those that only a newer server has. */
static uint64_t completed_of(json_t *counters)
{
	uint64_t sum = 0;
	const char *operation;
	json_t *of_one;

	json_object_foreach(counters, operation, of_one) sum +=
		vbd_ctl_json_uint(of_one, "completed");
	return sum;
}

static struct vbd_ctl_maybe number_at(const json_t *object, const char *path)
{
	if (!vbd_ctl_json_has_uint(object, path))
		return (struct vbd_ctl_maybe){0};
	return (struct vbd_ctl_maybe){
		.known = true, .value = (double)vbd_ctl_json_uint(object, path)};
}

/* Outstanding share of the completion queue that the connection uses. */
static struct vbd_ctl_maybe cq_share_of(const json_t *connection, const json_t *cqs)
{
	uint64_t id = vbd_ctl_json_uint(connection, "cq.id");

	for (size_t i = 0; id && i < json_array_size(cqs); i++) {
		const json_t *cq = json_array_get(cqs, i);
		uint64_t capacity = vbd_ctl_json_uint(cq, "cqe");

		if (vbd_ctl_json_uint(cq, "id") == id && capacity)
			return (struct vbd_ctl_maybe){.known = true,
				.value = (double)vbd_ctl_json_uint(cq, "outstanding_cqe") /
					 (double)capacity};
	}
	return (struct vbd_ctl_maybe){0};
}

static struct vbd_ctl_row row_of(const json_t *connection, const json_t *cqs)
{
	json_t *counters = vbd_ctl_json_at(connection, "counters");

	return (struct vbd_ctl_row){
		.id = vbd_ctl_json_uint(connection, "id"),
		.name = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "name")),
		.state = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "state")),
		.peer = vbd_ctl_cell_endpoint(vbd_ctl_json_at(connection, "peer")),
		.device = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "device")),
		.end_code = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "end_code")),
		.ended = vbd_ctl_json_is(connection, "state", "closed") ||
			 vbd_ctl_json_is(connection, "state", "failed"),
		.sent_bytes = vbd_ctl_sent_bytes(counters),
		.received_bytes = vbd_ctl_received_bytes(counters),
		.completed = completed_of(counters),
		.cq_share = cq_share_of(connection, cqs),
		.rtt_ns = number_at(connection, "rtt.last_ns"),
		.rtt_p99_ns = number_at(connection, "rtt.p99_ns"),
	};
}

/* A counter that decreased was restarted: its rate is unknown. */
static struct vbd_ctl_maybe rate_of(uint64_t now, uint64_t before, double seconds)
{
	if (now < before)
		return (struct vbd_ctl_maybe){0};
	return (struct vbd_ctl_maybe){.known = true, .value = (double)(now - before) / seconds};
}

static void take_rates(struct vbd_ctl_row *row, const struct vbd_ctl_row *before, double seconds)
{
	/* An ended connection has no current rate. */
	if (row->ended)
		return;
	if (seconds < SHORTEST_S) {
		row->sent_rate = before->sent_rate;
		row->received_rate = before->received_rate;
		row->completed_rate = before->completed_rate;
		return;
	}
	row->sent_rate = rate_of(row->sent_bytes, before->sent_bytes, seconds);
	row->received_rate = rate_of(row->received_bytes, before->received_bytes, seconds);
	row->completed_rate = rate_of(row->completed, before->completed, seconds);
}

static int by_id(const void *a, const void *b)
{
	uint64_t left = ((const struct vbd_ctl_row *)a)->id;
	uint64_t right = ((const struct vbd_ctl_row *)b)->id;

	return (left > right) - (left < right);
}

void vbd_ctl_rows_init(const json_t *connections, const json_t *cqs, uint64_t at_ns,
	const struct vbd_ctl_rows *before, struct vbd_ctl_rows *ret_rows)
{
	size_t room = json_array_size(connections) + 1;
	double seconds;

	*ret_rows = (struct vbd_ctl_rows){.at_ns = at_ns};
	ret_rows->items = vbd_ctl_must(calloc(room, sizeof(*ret_rows->items)));
	for (size_t i = 0; i < json_array_size(connections); i++) {
		const json_t *connection = json_array_get(connections, i);

		if (vbd_ctl_json_has_uint(connection, "id"))
			ret_rows->items[ret_rows->count++] = row_of(connection, cqs);
	}
	qsort(ret_rows->items, ret_rows->count, sizeof(*ret_rows->items), by_id);
	seconds = before ? (double)(at_ns - before->at_ns) / (double)VBD_NS_PER_S : 0;
	for (size_t i = 0; before && i < ret_rows->count; i++) {
		struct vbd_ctl_row *row = &ret_rows->items[i];
		const struct vbd_ctl_row *old = vbd_ctl_rows_find(before, row->id);

		if (old)
			take_rates(row, old, seconds);
		ret_rows->sent_rate += row->sent_rate.value;
		ret_rows->received_rate += row->received_rate.value;
	}
}

void vbd_ctl_rows_fini(struct vbd_ctl_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct vbd_ctl_row *row = &rows->items[i];

		free(row->end_code);
		free(row->device);
		free(row->peer);
		free(row->state);
		free(row->name);
	}
	free(rows->items);
	*rows = (struct vbd_ctl_rows){0};
}

const struct vbd_ctl_row *vbd_ctl_rows_find(const struct vbd_ctl_rows *rows, uint64_t id)
{
	const struct vbd_ctl_row wanted = {.id = id};

	if (rows->count == 0)
		return NULL;
	return bsearch(&wanted, rows->items, rows->count, sizeof(*rows->items), by_id);
}

bool vbd_ctl_row_matches(const struct vbd_ctl_row *row, const char *filter)
{
	const char *const texts[] = {row->name, row->state, row->peer, row->device, row->end_code};
	char *id = vbd_ctl_format("%llu", (unsigned long long)row->id);
	bool matches = strcasestr(id, filter);

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts) && !matches; i++)
		matches = strcasestr(texts[i], filter);
	free(id);
	return matches;
}
