/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/why.h"

#include "rdma/diagnose/why_rows.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define NUMBER_CM_EVENT(sym)	 RDMA_CM_EVENT_##sym
#define NUMBER_IB_REJECT(sym)	 sym
#define NUMBER_IWARP_REJECT(sym) sym
#define NUMBER_WC_STATUS(sym)	 IBV_WC_##sym
#define NUMBER_ASYNC_EVENT(sym)	 IBV_EVENT_##sym
#define NUMBER_QP_STATE(sym)	 IBV_QPS_##sym

#define NOTHING(...)

/* The rows of all kinds but problems, whose texts are in base/status.h. */
static const struct row {
	enum vbd_why_kind kind;
	int number;
	const char *symbol; /* the name, for a kind without a table of names */
	const char *causes;
	const char *hint;
} rows[] = {
#define ROW(kind, sym, ...) {VBD_WHY_##kind, NUMBER_##kind(sym), #sym, __VA_ARGS__},
	VBD_WHY_MAP(ROW, NOTHING)
#undef ROW
};

static const char *const problem_causes[VBD_STATUS_COUNT] = {
#define PROBLEM_ROW(sym, causes) [VBD_E_##sym] = causes,
	VBD_WHY_MAP(NOTHING, PROBLEM_ROW)
#undef PROBLEM_ROW
};

static const char *iwarp_reject_name(int number)
{
	return vbd_cm_reject_name(-number);
}

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

bool vbd_why_at(size_t i, struct vbd_why *ret_why)
{
	enum vbd_status status = (enum vbd_status)(i + 1 - VBD_ARRAY_LEN(rows));

	if (i < VBD_ARRAY_LEN(rows))
		*ret_why = (struct vbd_why){
			.kind = rows[i].kind,
			.number = rows[i].number,
			.name = kinds[rows[i].kind].name ? kinds[rows[i].kind].name(rows[i].number)
							 : rows[i].symbol,
			.detail = kinds[rows[i].kind].detail(rows[i].number),
			.causes = rows[i].causes,
			.hint = rows[i].hint,
		};
	else if (status < VBD_STATUS_COUNT)
		*ret_why = (struct vbd_why){
			.kind = VBD_WHY_PROBLEM,
			.number = (int)status,
			.name = vbd_status_code(status),
			.detail = vbd_status_text(status),
			.causes = problem_causes[status] ? problem_causes[status] : "",
			.hint = vbd_status_hint(status),
		};
	else
		return false;
	return true;
}

bool vbd_why_find(enum vbd_why_kind kind, int number, struct vbd_why *ret_why)
{
	size_t i = 0;

	if (kind == VBD_WHY_PROBLEM)
		return number && vbd_why_at(VBD_ARRAY_LEN(rows) + (size_t)number - 1, ret_why);
	while (i < VBD_ARRAY_LEN(rows) && (rows[i].kind != kind || rows[i].number != number))
		i++;
	return i < VBD_ARRAY_LEN(rows) && vbd_why_at(i, ret_why);
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
