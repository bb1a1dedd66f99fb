/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/why.h"

#include "rdma/diagnose/why_rows.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <strings.h>

#define NUMBER_CM_EVENT(sym)	 RDMA_CM_EVENT_##sym
#define NUMBER_IB_REJECT(sym)	 sym
#define NUMBER_IWARP_REJECT(sym) sym
#define NUMBER_WC_STATUS(sym)	 IBV_WC_##sym
#define NUMBER_ASYNC_EVENT(sym)	 IBV_EVENT_##sym
#define NUMBER_QP_STATE(sym)	 IBV_QPS_##sym

static const struct row {
	enum vbd_why_kind kind;
	int number;
	const char *symbol; /* the name, for a kind without a table of names */
	const char *causes;
	const char *hint; /* NULL: that of the status */
} rows[] = {
#define ROW(kind, sym, ...)	 {VBD_WHY_##kind, NUMBER_##kind(sym), #sym, __VA_ARGS__},
#define PROBLEM_ROW(sym, causes) {VBD_WHY_PROBLEM, VBD_E_##sym, #sym, causes, NULL},
	VBD_WHY_MAP(ROW, PROBLEM_ROW)
#undef PROBLEM_ROW
#undef ROW
};

VBD_ENUM_NAMES(vbd_why_kind_name, enum vbd_why_kind, VBD_WHY_KIND_MAP)

VBD_ENUM_COLUMN(const char *, vbd_why_kind_heading, enum vbd_why_kind, VBD_WHY_KIND_MAP, 3)

static const char *iwarp_reject_name(int number)
{
	return vbd_cm_reject_name(-number);
}

/* Problem codes have their texts in base/status.h. */
static const struct {
	const char *(*name)(int number); /* NULL: the symbol */
	const char *(*detail)(int number);
} kinds[] = {
	[VBD_WHY_CM_EVENT] = {vbd_cm_event_name, vbd_cm_event_text},
	[VBD_WHY_IB_REJECT] = {NULL, vbd_cm_reject_name},
	[VBD_WHY_IWARP_REJECT] = {NULL, iwarp_reject_name},
	[VBD_WHY_WC_STATUS] = {vbd_wc_status_name, vbd_wc_status_text},
	[VBD_WHY_ASYNC_EVENT] = {vbd_async_event_name, vbd_async_event_text},
	[VBD_WHY_QP_STATE] = {NULL, vbd_qp_state_text},
};

static const struct row *find_row(enum vbd_why_kind kind, int number)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		if (rows[i].kind == kind && rows[i].number == number)
			return &rows[i];
	}
	return NULL;
}

static struct vbd_why why_of_status(enum vbd_status status)
{
	const struct row *row = find_row(VBD_WHY_PROBLEM, (int)status);

	return (struct vbd_why){
		.kind = VBD_WHY_PROBLEM,
		.number = (int)status,
		.name = vbd_status_code(status),
		.detail = vbd_status_text(status),
		.causes = row ? row->causes : "",
		.hint = vbd_status_hint(status),
	};
}

static struct vbd_why why_of(const struct row *row)
{
	if (row->kind == VBD_WHY_PROBLEM)
		return why_of_status((enum vbd_status)row->number);
	return (struct vbd_why){
		.kind = row->kind,
		.number = row->number,
		.name = kinds[row->kind].name ? kinds[row->kind].name(row->number) : row->symbol,
		.detail = kinds[row->kind].detail(row->number),
		.causes = row->causes,
		.hint = row->hint,
	};
}

/* The rows of other kinds, then every problem code. */
bool vbd_why_at(size_t i, struct vbd_why *ret_why)
{
	for (size_t k = 0; k < VBD_ARRAY_LEN(rows); k++) {
		if (rows[k].kind == VBD_WHY_PROBLEM)
			continue;
		if (i == 0) {
			*ret_why = why_of(&rows[k]);
			return true;
		}
		i--;
	}
	if (i + 1 >= VBD_STATUS_COUNT)
		return false;
	*ret_why = why_of_status((enum vbd_status)(i + 1));
	return true;
}

bool vbd_why_find(enum vbd_why_kind kind, int number, struct vbd_why *ret_why)
{
	const struct row *row = find_row(kind, number);

	if (!row)
		return false;
	*ret_why = why_of(row);
	return true;
}

bool vbd_why_find_reject(int status, struct vbd_why *ret_why)
{
	return status < 0 ? vbd_why_find(VBD_WHY_IWARP_REJECT, -status, ret_why)
			  : vbd_why_find(VBD_WHY_IB_REJECT, status, ret_why);
}

bool vbd_why_find_error(const struct vbd_error *error, struct vbd_why *ret_why)
{
	switch (error->source) {
	case VBD_SOURCE_CM_EVENT:
		return (error->kind == RDMA_CM_EVENT_REJECTED &&
			       vbd_why_find_reject((int)error->raw, ret_why)) ||
		       vbd_why_find(VBD_WHY_CM_EVENT, error->kind, ret_why);
	case VBD_SOURCE_WC:
		return vbd_why_find(VBD_WHY_WC_STATUS, error->kind, ret_why);
	case VBD_SOURCE_ASYNC:
		return vbd_why_find(VBD_WHY_ASYNC_EVENT, error->kind, ret_why);
	case VBD_SOURCE_NONE:
	case VBD_SOURCE_ERRNO:
	case VBD_SOURCE_GAI:
	case VBD_SOURCE_DEADLINE:
	case VBD_SOURCE_INPUT:
		break; /* calls, the resolver and deadlines have no rows */
	}
	return false;
}

const char *vbd_why_reject_name(const struct vbd_error *error)
{
	struct vbd_why why;

	if (error->source != VBD_SOURCE_CM_EVENT || error->status != VBD_E_REJECTED)
		return NULL;
	return vbd_why_find_reject((int)error->raw, &why) ? why.name : NULL;
}

const char *vbd_why_hint(const struct vbd_error *error)
{
	struct vbd_why why;

	if (error->hint)
		return error->hint;
	return vbd_why_find_error(error, &why) ? why.hint : vbd_status_hint(error->status);
}

bool vbd_why_is_named(const struct vbd_why *why, const char *name)
{
	return strcasecmp(why->name, name) == 0;
}
