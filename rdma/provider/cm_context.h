/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts that librdmacm opens for itself, one on each device that an id is bound to.
 *
 * librdmacm closes the context of a removed device only after another device has come: it does not
 * read its device list while that list is empty (sync_devices_list() of rdma-core 44 and later).
 * Until then the kernel blocks the removal of the device. Therefore the files of such a context are
 * closed here, once our own context and the last id are gone; /dev/null takes their descriptor
 * numbers, which librdmacm closes later. Nothing is sent to these files any more, as no id is left.
 *
 * Part of the provider of librdmacm. Any thread.
 */
#ifndef VBD_RDMA_PROVIDER_CM_CONTEXT_H
#define VBD_RDMA_PROVIDER_CM_CONTEXT_H

struct ibv_context;
struct ibv_device;

/** vbd_cm_context_bound - an id was bound to a device; @context is librdmacm's (NULL: to none) */
void vbd_cm_context_bound(const struct ibv_context *context);

/** vbd_cm_context_unbound - an id that was bound to @device (NULL: to none) is destroyed */
void vbd_cm_context_unbound(const struct ibv_device *device);

/**
 * vbd_cm_context_device_closed - our own context on @device is about to be closed
 *
 * Does nothing when the device still exists: librdmacm will use its context again.
 */
void vbd_cm_context_device_closed(const struct ibv_device *device);

/** vbd_cm_context_count - the number of contexts, and of contexts that an id uses (librdmacm has a
 * protection domain on each used one) */
void vbd_cm_context_count(unsigned int *ret_contexts, unsigned int *ret_used);

#endif
