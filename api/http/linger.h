/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that were answered before their request was read to its end. Closing a socket that
 * has unread bytes makes the kernel send a reset, which can overtake the answer at the client; so
 * the rest is read and thrown away for a while.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_LINGER_H
#define VBD_API_HTTP_LINGER_H

#include "daemon/core/loop.h"

struct vbd_linger;

/** vbd_linger_create - NULL without memory */
struct vbd_linger *vbd_linger_create(struct vbd_loop *loop);

/** vbd_linger_destroy - closes what is left; NULL is fine */
void vbd_linger_destroy(struct vbd_linger *linger);

/**
 * vbd_linger_take - read a socket until its peer has closed, some time has passed, or enough is
 * read
 * @fd: stays the caller's, who closes it: a duplicate lingers. Its sending side is shut already.
 *
 * Nothing happens when too many linger already, or without memory or descriptors: then the client
 * may see a reset.
 */
void vbd_linger_take(struct vbd_linger *linger, int fd);

#endif
