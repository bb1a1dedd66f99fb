/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/why.h"

#include "rdma/diagnose/why_rows.h"
#include "rdma/names/names.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <strings.h>

/* IBTA 12.6.7.2; names and numbers as in the kernel's rdma/ib_cm.h (6.1). */
#define IB_REJECT_MAP(X)                             \
	X(1, IB_CM_REJ_NO_QP)                        \
	X(2, IB_CM_REJ_NO_EEC)                       \
	X(3, IB_CM_REJ_NO_RESOURCES)                 \
	X(4, IB_CM_REJ_TIMEOUT)                      \
	X(5, IB_CM_REJ_UNSUPPORTED)                  \
	X(6, IB_CM_REJ_INVALID_COMM_ID)              \
	X(7, IB_CM_REJ_INVALID_COMM_INSTANCE)        \
	X(8, IB_CM_REJ_INVALID_SERVICE_ID)           \
	X(9, IB_CM_REJ_INVALID_TRANSPORT_TYPE)       \
	X(10, IB_CM_REJ_STALE_CONN)                  \
	X(11, IB_CM_REJ_RDC_NOT_EXIST)               \
	X(12, IB_CM_REJ_INVALID_GID)                 \
	X(13, IB_CM_REJ_INVALID_LID)                 \
	X(14, IB_CM_REJ_INVALID_SL)                  \
	X(15, IB_CM_REJ_INVALID_TRAFFIC_CLASS)       \
	X(16, IB_CM_REJ_INVALID_HOP_LIMIT)           \
	X(17, IB_CM_REJ_INVALID_PACKET_RATE)         \
	X(18, IB_CM_REJ_INVALID_ALT_GID)             \
	X(19, IB_CM_REJ_INVALID_ALT_LID)             \
	X(20, IB_CM_REJ_INVALID_ALT_SL)              \
	X(21, IB_CM_REJ_INVALID_ALT_TRAFFIC_CLASS)   \
	X(22, IB_CM_REJ_INVALID_ALT_HOP_LIMIT)       \
	X(23, IB_CM_REJ_INVALID_ALT_PACKET_RATE)     \
	X(24, IB_CM_REJ_PORT_CM_REDIRECT)            \
	X(25, IB_CM_REJ_PORT_REDIRECT)               \
	X(26, IB_CM_REJ_INVALID_MTU)                 \
	X(27, IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES) \
	X(28, IB_CM_REJ_CONSUMER_DEFINED)            \
	X(29, IB_CM_REJ_INVALID_RNR_RETRY)           \
	X(30, IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID)     \
	X(31, IB_CM_REJ_INVALID_CLASS_VERSION)       \
	X(32, IB_CM_REJ_INVALID_FLOW_LABEL)          \
	X(33, IB_CM_REJ_INVALID_ALT_FLOW_LABEL)      \
	X(35, IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)

enum ib_reject {
#define IB_REJECT_NUMBER(number, sym) sym = number,
	IB_REJECT_MAP(IB_REJECT_NUMBER)
#undef IB_REJECT_NUMBER
};

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
#define ROW(kind, sym, causes, hint) {VBD_WHY_##kind, NUMBER_##kind(sym), #sym, causes, hint},
#define PROBLEM_ROW(sym, causes)     {VBD_WHY_PROBLEM, VBD_E_##sym, #sym, causes, NULL},
	VBD_WHY_MAP(ROW, PROBLEM_ROW)
#undef PROBLEM_ROW
#undef ROW
};

VBD_ENUM_NAMES(vbd_why_kind_name, enum vbd_why_kind, VBD_WHY_KIND_MAP)

const char *vbd_why_kind_heading(enum vbd_why_kind kind)
{
	static const char *const headings[VBD_WHY_KIND_COUNT] = {
#define KIND_HEADING(sym, json, heading) [sym] = heading,
		VBD_WHY_KIND_MAP(KIND_HEADING)
#undef KIND_HEADING
	};

	return headings[kind];
}

static const char *qp_state_detail(int state)
{
	switch (state) {
	case IBV_QPS_RESET:
		return "The QP exists, and neither sends nor receives";
	case IBV_QPS_INIT:
		return "Port and access of the QP are set; receives can be posted";
	case IBV_QPS_RTR:
		return "Ready to receive";
	case IBV_QPS_RTS:
		return "Ready to send and receive";
	case IBV_QPS_SQD:
		return "The send queue drains; nothing new is sent";
	case IBV_QPS_SQE:
		return "The send queue failed; receiving goes on";
	default:
		return "The QP failed or was closed: all posted work is flushed";
	}
}

static struct vbd_why why_of(const struct row *row)
{
	struct vbd_why why = {
		.kind = row->kind,
		.number = row->number,
		.name = row->symbol,
		.causes = row->causes,
		.hint = row->hint,
	};

	switch (row->kind) {
	case VBD_WHY_CM_EVENT:
		why.name = vbd_cm_event_name(row->number);
		why.detail = vbd_cm_event_text(row->number);
		break;
	case VBD_WHY_IB_REJECT:
		why.detail = vbd_cm_reject_name(row->number);
		break;
	case VBD_WHY_IWARP_REJECT:
		why.detail = vbd_cm_reject_name(-row->number);
		break;
	case VBD_WHY_WC_STATUS:
		why.name = vbd_wc_status_name(row->number);
		why.detail = vbd_wc_status_text(row->number);
		break;
	case VBD_WHY_ASYNC_EVENT:
		why.name = vbd_async_event_name(row->number);
		why.detail = vbd_async_event_text(row->number);
		break;
	case VBD_WHY_QP_STATE:
		why.detail = qp_state_detail(row->number);
		break;
	case VBD_WHY_PROBLEM:
		why.name = vbd_status_code((enum vbd_status)row->number);
		why.detail = vbd_status_text((enum vbd_status)row->number);
		why.hint = vbd_status_hint((enum vbd_status)row->number);
		break;
	case VBD_WHY_KIND_COUNT:
		break;
	}
	return why;
}

static const struct row *find_row(enum vbd_why_kind kind, int number)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		if (rows[i].kind == kind && rows[i].number == number)
			return &rows[i];
	}
	return NULL;
}

/* A problem code without a row has the hint of its status. */
static struct vbd_why why_of_status(enum vbd_status status)
{
	const struct row *row = find_row(VBD_WHY_PROBLEM, (int)status);

	return row ? why_of(row)
		   : (struct vbd_why){
			     .kind = VBD_WHY_PROBLEM,
			     .number = (int)status,
			     .name = vbd_status_code(status),
			     .detail = vbd_status_text(status),
			     .causes = "",
			     .hint = vbd_status_hint(status),
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
