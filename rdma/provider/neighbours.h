/* SPDX-License-Identifier: Apache-2.0 */
/*
 * News of the kernel's table of neighbours. Nothing wakes anybody: who is about to rely on an entry
 * asks whether one was lost since.
 *
 * Any thread; nothing blocks.
 */
#ifndef VBD_RDMA_PROVIDER_NEIGHBOURS_H
#define VBD_RDMA_PROVIDER_NEIGHBOURS_H

#include <stdbool.h>

/** vbd_pv_neighbours_watch - begin to watch the table; returns a file descriptor, or -1 if the
 * kernel gives none. close(2) it. */
int vbd_pv_neighbours_watch(void);

/**
 * vbd_pv_neighbours_lost - was an entry deleted, or did one become invalid, since the last call?
 * @watch: of vbd_pv_neighbours_watch(); with -1 the answer is true
 *
 * True also if there were more news than the socket holds.
 */
bool vbd_pv_neighbours_lost(int watch);

#endif
