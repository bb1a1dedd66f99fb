/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/counters.h"

#include "cmd/verbsctl/common/json.h"

#include "base/attr.h"

static uint64_t sum_of(const json_t *counters, const char *const *paths, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += vbd_ctl_json_uint(counters, paths[i]);
	return sum;
}

uint64_t vbd_ctl_sent_bytes(const json_t *counters)
{
	static const char *const paths[] = {
		"send.bytes", "send_imm.bytes", "write.bytes", "write_imm.bytes"};

	return sum_of(counters, paths, VBD_ARRAY_LEN(paths));
}

uint64_t vbd_ctl_received_bytes(const json_t *counters)
{
	static const char *const paths[] = {"recv.bytes", "read.bytes"};

	return sum_of(counters, paths, VBD_ARRAY_LEN(paths));
}
