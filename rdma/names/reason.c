/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/reason.h"

struct row {
	enum vbd_status status;
	bool clean;
};

static const struct row rows[VBD_REASON_COUNT] = {[VBD_REASON_NONE] = {VBD_OK, true},
#define VBD_REASON_ROW(sym, clean) [VBD_REASON_##sym] = {VBD_E_##sym, clean},
	VBD_REASON_MAP(VBD_REASON_ROW)
#undef VBD_REASON_ROW
};

static const struct row *row_of(enum vbd_reason reason)
{
	return &rows[(unsigned int)reason < VBD_REASON_COUNT ? reason : VBD_REASON_NONE];
}

const char *vbd_reason_name(enum vbd_reason reason)
{
	enum vbd_status status = vbd_reason_status(reason);

	return status == VBD_OK ? "none" : vbd_status_code(status);
}

const char *vbd_reason_text(enum vbd_reason reason)
{
	enum vbd_status status = vbd_reason_status(reason);

	return status == VBD_OK ? "It has not ended" : vbd_status_text(status);
}

enum vbd_status vbd_reason_status(enum vbd_reason reason)
{
	return row_of(reason)->status;
}

bool vbd_reason_clean(enum vbd_reason reason)
{
	return row_of(reason)->clean;
}

enum vbd_reason vbd_reason_of_status(enum vbd_status status)
{
	if (status == VBD_E_VERBS_ERROR)
		return VBD_REASON_RESOURCE_ERROR;
	if (status == VBD_E_INTERNAL)
		return VBD_REASON_PROTOCOL_ERROR;
	for (unsigned int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		if (rows[i].status == status)
			return (enum vbd_reason)i;
	}
	return VBD_REASON_LOCAL_ERROR;
}

static const char *const refusal_names[] = {VBD_REFUSAL_MAP(VBD_ENUM_NAME)};

const char *vbd_refusal_name(enum vbd_refusal refusal)
{
	return refusal_names[refusal];
}
