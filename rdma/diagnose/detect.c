/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/facts.h"
#include "rdma/names/names.h"

bool vbd_facts_dead_peer_detect_ms(const struct vbd_facts *facts, uint64_t *ret_ms)
{
	return facts->timers_known && facts->reliable && !facts->iwarp &&
	       vbd_dead_peer_ms(facts->ack_timeout, facts->retry_count, facts->soft_roce, ret_ms);
}
