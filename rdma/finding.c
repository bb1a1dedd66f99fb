/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/finding.h"

static const struct row {
	const char *name;
	enum vbd_finding_severity severity;
	const char *when;
	const char *advice;
} rows[VBD_FINDING_COUNT] = {
#define ROW(sym, code, severity, when, advice) \
	[VBD_FINDING_##sym] = {code, VBD_FINDING_IS_##severity, when, advice},
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

const char *vbd_finding_severity_name(enum vbd_finding_severity severity)
{
	static const char *const names[VBD_FINDING_SEVERITY_COUNT] = {
#define SEVERITY_NAME(sym, json) [VBD_FINDING_IS_##sym] = json,
		VBD_FINDING_SEVERITY_MAP(SEVERITY_NAME)
#undef SEVERITY_NAME
	};

	return names[severity];
}

const char *vbd_finding_when(enum vbd_finding_code code)
{
	return rows[code].when;
}

const char *vbd_finding_advice(enum vbd_finding_code code)
{
	return rows[code].advice;
}
