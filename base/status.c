/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

struct row {
	const char *code;
	unsigned int http;
	const char *text;
	const char *hint;
};

static const struct row rows[VBD_STATUS_COUNT] = {[VBD_OK] = {"ok", 200, "Success", ""},
#define VBD_STATUS_ROW(sym, code, http, text, hint) [VBD_E_##sym] = {code, http, text, hint},
	VBD_STATUS_MAP(VBD_STATUS_ROW)
#undef VBD_STATUS_ROW
};

static const struct row *status_row(enum vbd_status status)
{
	if ((unsigned int)status >= VBD_STATUS_COUNT)
		return &rows[VBD_E_INTERNAL];
	return &rows[status];
}

const char *vbd_status_code(enum vbd_status status)
{
	return status_row(status)->code;
}

unsigned int vbd_status_http(enum vbd_status status)
{
	return status_row(status)->http;
}

unsigned int vbd_status_retry_after_s(enum vbd_status status)
{
	if (status == VBD_E_NO_DEVICE)
		return 5;
	if (status == VBD_E_STOPPING)
		return 2; /* a restart */
	return vbd_status_http(status) == 429 || vbd_status_http(status) == 503 ? 1 : 0;
}

const char *vbd_status_text(enum vbd_status status)
{
	return status_row(status)->text;
}

const char *vbd_status_hint(enum vbd_status status)
{
	return status_row(status)->hint;
}
