/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/facts.h"

static const struct row {
	const char *name;
	enum vbd_finding_severity severity;
	const char *when;
	const char *hint;
} rows[VBD_FINDING_COUNT] = {
#define ROW(sym, code, severity, when, hint) \
	[VBD_FINDING_##sym] = {code, VBD_FINDING_IS_##severity, when, hint},
	VBD_FINDING_MAP(ROW)
#undef ROW
};

const char *vbd_finding_name(enum vbd_finding_code code)
{
	return rows[code].name;
}

enum vbd_finding_severity vbd_finding_severity(enum vbd_finding_code code)
{
	return rows[code].severity;
}

VBD_ENUM_NAMES(vbd_finding_severity_name, enum vbd_finding_severity, VBD_FINDING_SEVERITY_MAP)

const char *vbd_finding_when(enum vbd_finding_code code)
{
	return rows[code].when;
}

const char *vbd_finding_hint(enum vbd_finding_code code)
{
	return rows[code].hint;
}
