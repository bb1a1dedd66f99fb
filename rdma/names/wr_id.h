/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a wr_id: generation (16 bits), channel index (24), receive or send (1), slot (23).
 * A wr_id is no pointer: the lookup fails for a completion that comes after its QP was destroyed,
 * instead of reading freed memory.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_NAMES_WR_ID_H
#define VBD_RDMA_NAMES_WR_ID_H

#include <stdbool.h>
#include <stdint.h>

#define VBD_WR_INDEX_MAX ((1U << 24) - 1)
#define VBD_WR_RECV	 (1U << 23)

static inline uint64_t vbd_wr_id(uint16_t generation, uint32_t index, bool recv, uint32_t slot)
{
	return ((uint64_t)generation << 48) | ((uint64_t)index << 24) | (recv ? VBD_WR_RECV : 0) |
	       slot;
}

static inline uint16_t vbd_wr_id_generation(uint64_t wr_id)
{
	return (uint16_t)(wr_id >> 48);
}

static inline uint32_t vbd_wr_id_index(uint64_t wr_id)
{
	return (uint32_t)(wr_id >> 24) & VBD_WR_INDEX_MAX;
}

static inline bool vbd_wr_id_is_recv(uint64_t wr_id)
{
	return wr_id & VBD_WR_RECV;
}

static inline uint32_t vbd_wr_id_slot(uint64_t wr_id)
{
	return (uint32_t)wr_id & (VBD_WR_RECV - 1);
}

/*
 * The id->context of every CM id points to a tag, which gives an event its object and the object's
 * kind before any cast.
 *
 * Control thread.
 */

struct vbd_cm_tag {
	enum vbd_cm_kind {
		VBD_CM_CONN,
		VBD_CM_LISTENER,
		VBD_CM_ENDPOINT,
		VBD_CM_PEER,
		VBD_CM_GROUP,
		VBD_CM_OVER, /* the id is being destroyed */
		VBD_CM_GOODBYE,
		VBD_CM_REPORT_PORT,
	} kind;
	bool disconnect_failed; /* no DISCONNECTED follows it */
};

#endif
