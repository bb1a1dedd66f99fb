/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/names/reason.h"

struct row {
	const char *name;
	enum vbd_status status;
	bool clean;
	const char *text;
};

static const struct row rows[VBD_REASON_COUNT] = {
	[VBD_REASON_NONE] = {"none", VBD_OK, true, "It has not ended"},
#define VBD_REASON_ROW(sym, json, status, clean, text) \
	[VBD_REASON_##sym] = {json, VBD_E_##status, clean, text},
	VBD_REASON_MAP(VBD_REASON_ROW)
#undef VBD_REASON_ROW
};

static const struct row *row_of(enum vbd_reason reason)
{
	return &rows[(unsigned int)reason < VBD_REASON_COUNT ? reason : VBD_REASON_NONE];
}

const char *vbd_reason_name(enum vbd_reason reason)
{
	return row_of(reason)->name;
}

const char *vbd_reason_text(enum vbd_reason reason)
{
	return row_of(reason)->text;
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
	for (unsigned int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		if (rows[i].status == status)
			return (enum vbd_reason)i;
	}
	return VBD_REASON_LOCAL_ERROR;
}
