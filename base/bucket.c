/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bucket.h"

#include "base/clock.h"

uint64_t vbd_bucket_take(uint64_t full_ns, uint32_t per_s, uint32_t burst, uint64_t now_ns)
{
	uint64_t each_ns = VBD_NS_PER_S / per_s;
	uint64_t from_ns = full_ns > now_ns ? full_ns : now_ns;

	return from_ns - now_ns > (burst - 1) * each_ns ? 0 : from_ns + each_ns;
}

uint64_t vbd_bucket_taken(uint64_t full_ns, uint32_t per_s, uint64_t now_ns)
{
	uint64_t each_ns = VBD_NS_PER_S / per_s;

	return full_ns > now_ns ? (full_ns - now_ns + each_ns - 1) / each_ns : 0;
}
