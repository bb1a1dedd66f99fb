/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/incident.h"

static const struct {
	enum vbd_counter_set set;
	const char *name;
	const char *other;
} traces[] = {
#define TRACE(sym, set, name, other) [sym] = {set, name, other},
	VBD_TRACE_MAP(TRACE)
#undef TRACE
};

enum vbd_trace vbd_trace_of(enum vbd_counter_set set, const char *name)
{
	for (unsigned int i = 0; i < VBD_TRACE_COUNT; i++) {
		if (traces[i].set == set &&
			(strcmp(traces[i].name, name) == 0 || strcmp(traces[i].other, name) == 0))
			return (enum vbd_trace)i;
	}
	return VBD_TRACE_COUNT;
}
