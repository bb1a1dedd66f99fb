/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that were answered before the whole request was read. When a socket with unread bytes is
 * closed, the kernel sends a reset, which can overtake the answer at the client. So the rest is
 * read and thrown away for a while.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_LINGER_H
#define VBD_API_HTTP_LINGER_H

#include "daemon/core/loop.h"

struct vbd_linger;

/** vbd_linger_create - owned by the caller; NULL without memory */
struct vbd_linger *vbd_linger_create(struct vbd_loop *loop);

/** vbd_linger_destroy - close all lingering sockets; @linger may be NULL */
void vbd_linger_destroy(struct vbd_linger *linger);

/**
 * vbd_linger_take - as vbd_linger_add(), with @fd itself
 * @fd: owned by the linger from now on; closed at once if it can't linger
 */
void vbd_linger_take(struct vbd_linger *linger, int fd);

/**
 * vbd_linger_add - read from a socket until the client closes it, 2 s have passed or 64 MiB are
 * read
 * @fd: a duplicate of it lingers, so the caller still closes @fd; its sending side is shut already
 *
 * Does nothing if 32 sockets linger already, or without memory or descriptors: the client may see a
 * reset then.
 */
void vbd_linger_add(struct vbd_linger *linger, int fd);

#endif
