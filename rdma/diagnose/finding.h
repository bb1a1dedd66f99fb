/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings about a connection: code, severity, condition, hint. Explanations, the dashboard
 * and docs/why.md read this table; rdma/diagnose/facts.h makes the findings.
 *
 * Any thread. All strings are static.
 */
#ifndef VBD_RDMA_DIAGNOSE_FINDING_H
#define VBD_RDMA_DIAGNOSE_FINDING_H

#include "base/enum.h"
#include "rdma/diagnose/finding_rows.h"

/* X(SYMBOL, json name): the worst first */
#define VBD_FINDING_SEVERITY_MAP(X)          \
	X(VBD_FINDING_IS_ERROR, "error")     \
	X(VBD_FINDING_IS_WARNING, "warning") \
	X(VBD_FINDING_IS_INFO, "info")

enum vbd_finding_severity { VBD_FINDING_SEVERITY_MAP(VBD_ENUM_ROW) VBD_FINDING_SEVERITY_COUNT };

/* Rows and findings are in the order of severity. */
enum vbd_finding_code {
#define VBD_FINDING_ENUM(sym, code, severity, when, hint) VBD_FINDING_##sym,
	VBD_FINDING_MAP(VBD_FINDING_ENUM)
#undef VBD_FINDING_ENUM
		VBD_FINDING_COUNT
};

/** vbd_finding_name - "dead_peer_slow" */
const char *vbd_finding_name(enum vbd_finding_code code);

/** vbd_finding_severity - the severity of @code */
enum vbd_finding_severity vbd_finding_severity(enum vbd_finding_code code);

/** vbd_finding_severity_name - "warning" */
const char *vbd_finding_severity_name(enum vbd_finding_severity severity);

/** vbd_finding_when - the condition, a clause without a full stop */
const char *vbd_finding_when(enum vbd_finding_code code);

/** vbd_finding_hint - the remedy */
const char *vbd_finding_hint(enum vbd_finding_code code);

#endif
