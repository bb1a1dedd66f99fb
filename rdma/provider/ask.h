/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the connection manager of a host answer? A question for a service that nobody offers: the
 * kernel of the host answers it, no program is asked, and no connection is made (SIDR of the
 * InfiniBand Architecture). A part of the provider (see rdma/provider/provider.h).
 *
 * Any thread.
 */
#ifndef VBD_RDMA_PROVIDER_ASK_H
#define VBD_RDMA_PROVIDER_ASK_H

#include <stdbool.h>
#include <sys/socket.h>

/* From the beginning to the end: the way to the host is found, and the answer awaited. */
#define VBD_PV_ASK_MS 1500

struct vbd_pv_ask;

/**
 * vbd_pv_ask_begin - let a thread ask
 * @src: the source address, whose device asks; its port does not count. ss_family 0: any
 *
 * Returns NULL without memory, or while too many threads ask. The caller ends it with
 * vbd_pv_ask_end().
 */
struct vbd_pv_ask *vbd_pv_ask_begin(
	const struct sockaddr_storage *src, const struct sockaddr_storage *dst);

/**
 * vbd_pv_ask_end - wait for the answer, and free @ask
 * @ask:       NULL is fine
 * @ret_asked: the question has left. False if nothing leads to the host, or if its device is iWARP,
 *             which has no such question
 *
 * Blocks for VBD_PV_ASK_MS from the beginning, at most.
 */
void vbd_pv_ask_end(struct vbd_pv_ask *ask, bool *ret_asked, bool *ret_answered);

#endif
